package measuretest

import (
	"bytes"
	"fmt"
	"maps"
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
// naive returns the state of all events of one of two windows, in the order of the log. However the log is cut into
// batches and flushes, who reads it again, and in whatever order the flushes are merged, in tables or as
// states, the state is the naive one. The field of the measure is "v", and some events lack it. A chunk has so many
// events.
func Twin(t *testing.T, m window.Measure, chunk int64, value func(*rand.Rand) string, naive func([]Seen) []byte) {
	t.Helper()
	m.Name, m.Path, m.Optional = "m", "v", true
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 17))
		spec := Spec(m)
		spec.Chunk, spec.Lateness, spec.Skew = chunk, 60_000, 60_000
		all, states := map[event.Time][]Seen{}, map[event.Time][][]byte{}
		var tables []*window.Table
		sum := window.NewTable(spec)
		for partition := range int32(2) {
			log := make([]event.Record, 1+r.Int64N(3*chunk))
			for n := range log {
				at := 60_000 + r.Int64N(120_000)
				body := fmt.Sprintf(`{"ts":%d.%03d`, at/1000, at%1000)
				if r.IntN(8) > 0 {
					v := value(r)
					body += `,"v":` + v
					w := event.Time(at) - event.Time(at)%spec.Window
					all[w] = append(all[w], Seen{string(bytes.Trim([]byte(v), `"`)), event.Time(at), window.MakeSlot(0, partition, int64(n)/chunk), int64(n)})
				}
				log[n] = event.Record{Offset: int64(n), Time: event.Time(at), Value: []byte(body + "}")}
			}
			for range 1 + r.IntN(2) { // the second reads what the first has read
				read(t, r, spec, partition, log, func(op *window.Operator) {
					table := taken(t, op)
					table.Seal()
					for row := range table.Rows {
						states[row.Window()] = append(states[row.Window()], row.AppendState(nil, 0))
					}
					if r.IntN(2) == 0 {
						tables = append(tables, table)
						return
					}
					sum.Merge(table)
					op.Reuse(table)
				})
			}
		}
		for _, w := range slices.Sorted(maps.Keys(states)) {
			want, again := naive(all[w]), states[w]
			again = append(again, again[r.IntN(len(again))])
			r.Shuffle(len(again), func(i, j int) { again[i], again[j] = again[j], again[i] })
			if got, err := m.Merge(again...); err != nil || !bytes.Equal(got, want) {
				t.Fatalf("seed %d: %d states are merged to\n%.100x (%v), want\n%.100x", seed, len(again), got, err, want)
			}
			if got, err := m.Merge(want, want, naive(nil)); err != nil || !bytes.Equal(got, want) {
				t.Fatalf("seed %d: %.100x merged with itself and with nothing is %.100x, %v", seed, want, got, err)
			}
		}
		r.Shuffle(len(tables), func(i, j int) { tables[i], tables[j] = tables[j], tables[i] })
		for _, table := range tables {
			sum.Merge(table)
		}
		sum.Seal()
		if sum.Len() != len(states) {
			t.Fatalf("seed %d: %d rows of %d windows", seed, sum.Len(), len(states))
		}
		for row := range sum.Rows {
			want := naive(all[row.Window()])
			if got := row.AppendState(nil, 0); !bytes.Equal(got, want) {
				t.Fatalf("seed %d: the tables are merged to\n%.100x, want\n%.100x", seed, got, want)
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

// read lets an operator of its own read a partition in random batches, and flushes now and then, and in the end.
func read(t *testing.T, r *rand.Rand, spec *window.Spec, partition int32, log []event.Record, flush func(*window.Operator)) {
	t.Helper()
	op, err := window.NewOperator(spec)
	if err != nil {
		t.Fatal(err)
	}
	op.Start(window.Plan{Partition: partition})
	for from := 0; from < len(log); {
		until := min(len(log), from+1+r.IntN(40))
		b := event.Batch{Partition: partition, First: int64(from), Next: int64(until), Records: log[from:until]}
		if err := op.Observe(&b); err != nil {
			t.Fatal(err)
		}
		if from = until; r.IntN(3) == 0 {
			flush(op)
		}
	}
	flush(op)
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
