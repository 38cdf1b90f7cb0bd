package measuretest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"weir/event"
	"weir/window"
)

// A Seen is an event of which a measure has taken the value of its field.
type Seen struct {
	Value  string // as JSON spells it, a text without its quotes
	Time   event.Time
	Slot   window.Slot
	Offset int64
}

// Twin holds a kind to a naive version and to its laws. value makes the values of random events, as JSON;
// naive returns the state of all events of a window, in the order of the log. However the log is cut into
// batches and flushes, and however often, in whatever order, the flushes are merged, in tables or as states, the
// state is the naive one. The field of the measure is "v", and some events lack it.
func Twin(t *testing.T, m window.Measure, value func(*rand.Rand) string, naive func([]Seen) []byte) {
	t.Helper()
	m.Name, m.Path, m.Optional = "m", "v", true
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 17))
		spec := Spec(m)
		spec.Chunk, spec.Lateness, spec.Skew = 64, 60_000, 60_000
		var all []Seen
		tables := make([]*window.Table, 0, 8)
		for partition := range int32(2) {
			op, err := window.NewOperator(spec)
			if err != nil {
				t.Fatal(err)
			}
			op.Start(window.Plan{Partition: partition})
			end := int64(1 + r.IntN(200))
			for next := int64(0); next < end; {
				b := event.Batch{Partition: partition, First: next}
				for until := min(end, next+1+r.Int64N(40)); next < until; next++ {
					at := 60_000 + r.Int64N(60_000)
					body := fmt.Sprintf(`{"ts":%d.%03d`, at/1000, at%1000)
					if r.IntN(8) > 0 {
						v := value(r)
						body += `,"v":` + v
						all = append(all, Seen{string(bytes.Trim([]byte(v), `"`)), event.Time(at), window.MakeSlot(0, partition, next/spec.Chunk), next})
					}
					b.Records = append(b.Records, event.Record{Offset: next, Time: event.Time(at), Value: []byte(body + "}")})
				}
				b.Next = next
				if err := op.Observe(&b); err != nil {
					t.Fatal(err)
				}
				if r.IntN(3) == 0 {
					tables = append(tables, taken(t, op))
				}
			}
			tables = append(tables, taken(t, op))
		}
		want := naive(all)
		var states [][]byte
		for _, table := range tables {
			table.Seal()
			for row := range table.Rows {
				states = append(states, row.AppendState(nil, 0))
			}
		}
		again := append(slices.Clone(states), states[r.IntN(len(states))])
		r.Shuffle(len(again), func(i, j int) { again[i], again[j] = again[j], again[i] })
		if got, err := m.Merge(again...); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("seed %d: %d states are merged to\n%.100x (%v), want\n%.100x", seed, len(again), got, err, want)
		}
		if got, err := m.Merge(want, want, naive(nil)); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("seed %d: %.100x merged with itself and with nothing is %.100x, %v", seed, want, got, err)
		}
		r.Shuffle(len(tables), func(i, j int) { tables[i], tables[j] = tables[j], tables[i] })
		sum := window.NewTable(spec)
		for _, table := range tables {
			sum.Merge(table)
		}
		sum.Seal()
		for row := range sum.Rows {
			if got := row.AppendState(nil, 0); !bytes.Equal(got, want) {
				t.Fatalf("seed %d: %d tables are merged to\n%.100x, want\n%.100x", seed, len(tables), got, want)
			}
			if n, err := m.Number(want); err != nil || n != row.Number(0) {
				t.Fatalf("seed %d: the number of the state is %d (%v), that of the row %d", seed, n, err, row.Number(0))
			}
		}
	}
	if n, err := m.Number(naive(nil)); n != 0 || err != nil {
		t.Errorf("the number of nothing is %d, %v", n, err)
	}
}

func taken(t *testing.T, op *window.Operator) *window.Table {
	t.Helper()
	c := op.Take()
	if len(c.Dead) > 0 {
		t.Fatalf("dead letters %v", c.Dead)
	}
	return c.Table
}

// Numbers makes the values of random events: whole numbers, some of which come often.
func Numbers(r *rand.Rand) string { return fmt.Sprint(r.IntN(1 + r.IntN(500))) }

// Texts makes the values of random events: texts, some of which come often.
func Texts(r *rand.Rand) string { return fmt.Sprintf(`"user-%d"`, r.IntN(1+r.IntN(500))) }
