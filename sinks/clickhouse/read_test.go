package clickhouse

import (
	"bytes"
	"math"
	"testing"
	"time"

	"weir/event"
	"weir/sinks/sinktest"
	"weir/window"
)

// TestReadBack: what the read functions bring back, joined, is what was
// written: counts by slot, merged states, places, for every selection.
func TestReadBack(t *testing.T) {
	c := open(t)
	spec := sinktest.Spec()
	sink := install(t, c, Job{Spec: spec, Topic: "suite", Keep: 3650 * 24 * time.Hour})
	whole, err := sinktest.NewLog(3).Whole(spec)
	if err != nil {
		t.Fatal(err)
	}
	write(t, sink, whole)

	first, last := event.Time(math.MaxInt64), event.Time(0)
	for row := range whole.Table.Rows {
		first, last = min(first, row.Window()), max(last, row.Window())
	}
	ranges := map[string]*window.Range{
		"everything": {From: 0, Until: last + 60_000, Group: [][]byte{nil, nil}},
		"one window": {From: first, Until: first + 1, Group: [][]byte{nil, nil}},
		"a page":     {From: first, Until: last, Group: [][]byte{[]byte("/p/1"), nil}},
		"one group":  {From: 0, Until: last + 60_000, Group: [][]byte{[]byte("/p/2"), []byte("Ünited\nsp ace")}},
		"hostile":    {From: 0, Until: last + 60_000, Group: [][]byte{[]byte(`'); DROP TABLE x; --\`), nil}},
		"no window":  {From: 1, Until: 2, Group: [][]byte{nil, nil}},
	}
	for name, r := range ranges {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			want := window.NewTable(spec)
			whole.Table.Copy(want, r)
			want.Seal()
			var total uint64
			merged := window.NewTable(&window.Spec{Measures: spec.Measures}) // no dimensions: all rows are one
			for row := range want.Rows {
				for _, n := range row.Hits {
					total += n
				}
				states := make([][]byte, len(spec.Measures))
				for m := range spec.Measures {
					if spec.Measures[m].Kind != window.Geo {
						states[m] = row.AppendState(nil, m)
					}
				}
				if err := merged.Load(0, nil, nil, states); err != nil {
					t.Fatal(err)
				}
			}
			merged.Seal()

			got, err := sink.Total(ctx, r)
			if err != nil || got != total {
				t.Errorf("total %d, %v; want %d", got, err, total)
			}
			counts := window.NewTable(spec)
			if err := sink.Counts(ctx, r, counts); err != nil {
				t.Fatal(err)
			}
			counts.Seal()
			if counts.Len() != want.Len() {
				t.Fatalf("%d rows, want %d", counts.Len(), want.Len())
			}
			rows := map[string]map[window.Slot]uint64{}
			for row := range want.Rows {
				rows[rowKey(row)] = slots(row)
			}
			for row := range counts.Rows {
				w := rows[rowKey(row)]
				if g := slots(row); len(g) != len(w) {
					t.Errorf("row %s has %d slots, want %d", rowKey(row), len(g), len(w))
				} else {
					for s, n := range g {
						if w[s] != n {
							t.Errorf("row %s slot %d: %d, want %d", rowKey(row), s, n, w[s])
						}
					}
				}
			}
			for m := range spec.Measures {
				if spec.Measures[m].Kind == window.Geo {
					places := window.NewTable(spec)
					if err := sink.Places(ctx, r, m, places); err != nil {
						t.Fatal(err)
					}
					if g, w := places.Places(m).Len(), want.Places(m).Len(); g != w {
						t.Errorf("%d places, want %d", g, w)
					}
					continue
				}
				state, err := sink.State(ctx, r, m)
				if err != nil {
					t.Fatal(err)
				}
				if want.Len() == 0 {
					if state != nil {
						t.Errorf("measure %d: a state of no rows", m)
					}
					continue
				}
				back := window.NewTable(&window.Spec{Measures: spec.Measures})
				states := make([][]byte, len(spec.Measures))
				states[m] = state
				if err := back.Load(0, nil, nil, states); err != nil {
					t.Fatal(err)
				}
				back.Seal()
				for a := range back.Rows {
					for b := range merged.Rows {
						if !bytes.Equal(a.AppendState(nil, m), b.AppendState(nil, m)) {
							t.Errorf("measure %s: merged state differs", spec.Measures[m].Name)
						}
					}
				}
			}
			listed := 0
			if err := sink.Windows(ctx, r, 1000, func(event.Time, []string) bool { listed++; return true }); err != nil {
				t.Fatal(err)
			}
			if listed != want.Len() {
				t.Errorf("%d windows listed, want %d", listed, want.Len())
			}
		})
	}
}

func rowKey(r window.Row) string {
	return time.UnixMilli(int64(r.Window())).UTC().String() + string(bytes.Join(r.Group(nil), []byte{0}))
}

func slots(r window.Row) map[window.Slot]uint64 {
	m := map[window.Slot]uint64{}
	for s, n := range r.Hits {
		m[s] = n
	}
	return m
}
