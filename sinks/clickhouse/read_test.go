package clickhouse

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"weir/event"
	"weir/sinks/sinktest"
	"weir/sketches/geo"
	"weir/window"
)

// TestReadBack: the read functions return what was written, merged: counts by slot, states
// and places, for every selection.
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
			byWindow(t, sink, r, want)
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
					var got, last geo.Last
					if err := sink.Places(ctx, r, m, &got); err != nil {
						t.Fatal(err)
					}
					want.Places(m).All(func(_ int64, member []byte, st geo.Stamp, score uint64) bool {
						last.Put(0, member, st, score)
						return true
					})
					if g, w := positions(&got), positions(&last); !slices.Equal(g, w) {
						t.Errorf("places %v\nwant %v", g, w)
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

// byWindow compares the results of Totals and States with the rows of a table.
func byWindow(t *testing.T, sink *Sink, r *window.Range, want *window.Table) {
	t.Helper()
	spec := want.Spec()
	totals, starts := map[event.Time]uint64{}, map[event.Time]bool{}
	merged := window.NewTable(&window.Spec{Measures: spec.Measures}) // by window alone
	for row := range want.Rows {
		starts[row.Window()] = true
		for _, n := range row.Hits {
			totals[row.Window()] += n
		}
		states := make([][]byte, len(spec.Measures))
		for m := range spec.Measures {
			if spec.Measures[m].Kind != window.Geo {
				states[m] = row.AppendState(nil, m)
			}
		}
		if err := merged.Load(row.Window(), nil, nil, states); err != nil {
			t.Fatal(err)
		}
	}
	merged.Seal()
	if err := sink.Totals(t.Context(), r, func(start event.Time, n uint64) {
		if totals[start] != n {
			t.Errorf("window %d: %d hits, want %d", start, n, totals[start])
		}
		delete(totals, start)
	}); err != nil || len(totals) > 0 {
		t.Errorf("totals are missing: %v, %v", totals, err)
	}
	for m := range spec.Measures {
		if spec.Measures[m].Kind == window.Geo {
			continue
		}
		got := window.NewTable(merged.Spec())
		if err := sink.States(t.Context(), r, m, func(start event.Time, state []byte) error {
			states := make([][]byte, len(spec.Measures))
			states[m] = state
			return got.Load(start, nil, nil, states)
		}); err != nil {
			t.Fatal(err)
		}
		got.Seal()
		if got.Len() != len(starts) {
			t.Errorf("measure %d: %d windows, want %d", m, got.Len(), len(starts))
		}
		bytesOf := map[event.Time][]byte{}
		for row := range merged.Rows {
			bytesOf[row.Window()] = row.AppendState(nil, m)
		}
		for row := range got.Rows {
			if !bytes.Equal(row.AppendState(nil, m), bytesOf[row.Window()]) {
				t.Errorf("measure %d: the state of window %d differs", m, row.Window())
			}
		}
	}
}

// TestReadArchive: windows of which state rows have expired are read from the rollup with
// the same windows; without such a rollup they are gone.
func TestReadArchive(t *testing.T) {
	for name, c := range map[string]struct {
		rollups []Rollup
		expired string // which state rows expire
		want    bool
	}{
		"all expired":  {[]Rollup{{Window: time.Minute}}, "1", true},
		"some expired": {[]Rollup{{Window: time.Minute}, {Window: time.Hour}}, "page = '/p/1'", true},
		"no rollup":    {[]Rollup{{Window: time.Hour}}, "1", false},
	} {
		t.Run(name, func(t *testing.T) {
			client := open(t)
			spec := sinktest.Spec()
			sink := install(t, client, Job{Spec: spec, Topic: "suite", Keep: 24 * time.Hour, Rollups: c.rollups})
			whole, err := sinktest.NewLog(3).Whole(spec)
			if err != nil {
				t.Fatal(err)
			}
			write(t, sink, whole)
			if err := sink.Rollup(t.Context(), true, 0); err != nil {
				t.Fatal(err)
			}
			if err := client.exec(t.Context(), "expire", "ALTER TABLE "+sink.stateTable()+" DELETE WHERE "+c.expired+" SETTINGS mutations_sync = 2", time.Minute); err != nil {
				t.Fatal(err)
			}
			r := &window.Range{From: 0, Until: math.MaxInt64 / 2000, Group: [][]byte{nil, nil}}
			total, err := sink.Total(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			if !c.want {
				if total != 0 {
					t.Errorf("%d hits from nowhere", total)
				}
				return
			}
			byWindow(t, sink, r, whole.Table)
			r.Group = [][]byte{[]byte("/p/1"), nil}
			want := window.NewTable(spec)
			whole.Table.Copy(want, r)
			want.Seal()
			byWindow(t, sink, r, want)
		})
	}
}

// TestProgress: the ledger's positions move with every flush, and Touched then returns the
// windows of the flush, including those of places, whatever the server's clock says.
func TestProgress(t *testing.T) {
	c := open(t)
	spec := sinktest.Spec()
	sink := install(t, c, Job{Spec: spec, Topic: "suite", Keep: 4000 * 24 * time.Hour})
	next, since, err := sink.Progress(t.Context())
	if err != nil || len(next) != 0 || since != 0 {
		t.Errorf("an empty ledger says %v in round %d, %v", next, since, err)
	}
	pieces, err := sinktest.NewLog(5).Pieces(spec, 5)
	if err != nil {
		t.Fatal(err)
	}
	reached := map[window.Origin]int64{}
	b := &backend{c: c}
	for i, p := range pieces[:5] {
		for _, table := range []string{sink.layout.state(), sink.layout.places(&sink.layout.measures[3]), "weir_ledger"} {
			b.exec(t, fmt.Sprintf("ALTER TABLE %s MODIFY COLUMN flushed_at DEFAULT now() + %d", c.name(table), []int{-3600, -7200, 600, -600, 86400}[i]))
		}
		write(t, sink, p)
		for _, l := range p.Lines {
			o := window.Origin{Partition: l.Partition, Epoch: l.Epoch}
			reached[o] = max(reached[o], l.Next)
		}
		next, round, err := sink.Progress(t.Context())
		if err != nil || !maps.Equal(next, reached) || round < since {
			t.Fatalf("flush %d: %v in round %d, %v; want %v", i, next, round, err, reached)
		}
		starts, err := sink.Touched(t.Context(), since)
		if err != nil {
			t.Fatal(err)
		}
		for row := range p.Table.Rows {
			if !slices.Contains(starts, row.Window()) {
				t.Errorf("flush %d: window %d was written and is not named", i, row.Window())
			}
		}
		p.Table.Places(3).All(func(start int64, _ []byte, _ geo.Stamp, _ uint64) bool {
			if !slices.Contains(starts, event.Time(start)) {
				t.Errorf("flush %d: places of window %d were written and it is not named", i, start)
			}
			return true
		})
		since = round
		if i%2 == 1 { // the next round
			roll(t, sink, true)
		}
	}
	roll(t, sink, true)
	_, since, err = sink.Progress(t.Context())
	if err != nil || since == 0 {
		t.Fatalf("round %d, %v", since, err)
	}
	if starts, err := sink.Touched(t.Context(), since); err != nil || len(starts) > 0 {
		t.Errorf("windows written since all was rolled up: %v, %v", starts, err)
	}
}

// TestEndOfTime: a range without ends is read within the times that the server can store.
func TestEndOfTime(t *testing.T) {
	c := open(t)
	spec := sinktest.Spec()
	sink := install(t, c, Job{Spec: spec, Topic: "suite", Keep: 4000 * 24 * time.Hour})
	pieces, err := sinktest.NewLog(5).Pieces(spec, 5)
	if err != nil {
		t.Fatal(err)
	}
	write(t, sink, pieces[0])
	group := make([][]byte, len(spec.By))
	want, err := sink.Total(t.Context(), &window.Range{From: 0, Until: event.Time(math.MaxUint32) * 1000, Group: group})
	if err != nil || want == 0 {
		t.Fatalf("%d events, %v", want, err)
	}
	for _, r := range []window.Range{{From: window.Oldest, Until: window.Newest}, {From: window.Oldest, Until: window.Newest - 1}, {From: -1, Until: (math.MaxUint32 + 3600) * 1000}} {
		r.Group = group
		if got, err := sink.Total(t.Context(), &r); err != nil || got != want {
			t.Errorf("from %d until %d: %d events, %v; want %d", r.From, r.Until, got, err, want)
		}
		last := new(geo.Last)
		if err := sink.Places(t.Context(), &r, 3, last); err != nil || last.Len() == 0 {
			t.Errorf("from %d until %d: %d places, %v", r.From, r.Until, last.Len(), err)
		}
	}
	if got, err := sink.Total(t.Context(), &window.Range{From: window.Newest - 1, Until: window.Newest, Group: group}); err != nil || got != 0 {
		t.Errorf("at the end of time: %d events, %v", got, err)
	}
}

// positions returns the positions of a Last as text.
func positions(l *geo.Last) (all []string) {
	l.Each(func(_ int64, member []byte, st geo.Stamp, score uint64) bool {
		all = append(all, fmt.Sprintf("%s: %+v %d", member, st, score))
		return true
	})
	return all
}
