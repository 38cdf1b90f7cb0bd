package window_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"weir/event"
	"weir/measures/geo"
	. "weir/window"
)

// FuzzLoad: Load gets rows of any bytes, because other programs can write to the
// sink too. If Load refuses a row, the table stays usable. If it accepts the row, the
// table can be copied, sealed and written, and Load accepts what was written.
func FuzzLoad(f *testing.F) {
	s := clicks()
	op, err := NewOperator(s)
	if err != nil {
		f.Fatal(err)
	}
	op.Start(Plan{})
	for i, doc := range []string{
		`{"id":"a","ts":1763600000000,"user":7,"page":"/","action":"view"}`,
		`{"id":"b","ts":1763600000000,"user":4294967295,"page":"/p:\u0000","action":"click","geo":{"country":"DE"}}`,
	} {
		b := event.Batch{First: int64(i), Next: int64(i) + 1, Records: []event.Record{{Offset: int64(i), Time: 1_763_600_000_000, Value: []byte(doc)}}}
		if err := op.Observe(&b); err != nil {
			f.Fatal(err)
		}
	}
	c := op.Take()
	c.Table.Seal()
	for row := range c.Table.Rows {
		g := row.Group(nil)
		f.Add(int64(row.Window()), g[0], g[1], uint64(1), uint64(1), row.AppendState(nil, 0), row.AppendState(nil, 1), row.AppendState(nil, 2))
	}
	f.Add(int64(-1), []byte{0xff, 0}, []byte{1, 0}, ^uint64(0), ^uint64(0), []byte{3}, []byte{1, 0}, []byte{0})
	f.Fuzz(func(t *testing.T, at int64, page, country []byte, slot, hits uint64, users, active, seen []byte) {
		states := [][]byte{users, active, seen, nil}
		table := NewTable(s)
		if err := table.Load(event.Time(at), [][]byte{page, country}, map[uint64]uint64{slot: hits}, states); err != nil {
			return
		}
		copied := NewTable(s)
		table.Copy(copied, &Range{From: event.Time(at), Until: event.Time(at) + 1, Group: [][]byte{nil, nil}})
		table.Seal()
		back := NewTable(s)
		for row := range table.Rows {
			written := make([][]byte, len(s.Measures))
			for m := range s.Measures {
				if s.Measures[m].Kind != geo.Kind {
					written[m] = row.AppendState(nil, m)
				}
			}
			if err := back.Load(row.Window(), row.Group(nil), map[uint64]uint64{slot: hits}, written); err != nil {
				t.Fatalf("what was taken and written is refused: %v", err)
			}
		}
		want := render(&Changes{Table: table})
		if got := render(&Changes{Table: back}); got != want {
			t.Fatalf("read back differs:\n%s", diff(want, got))
		}
		if at < 1<<62 {
			if got := render(&Changes{Table: copied}); got != want {
				t.Fatalf("a copy differs:\n%s", diff(want, got))
			}
		}
	})
}

// FuzzStates: a state of any bytes is refused, or merges as the laws say: its bytes are then
// one form of it, the order of two states does not matter, and a repeat changes nothing.
func FuzzStates(f *testing.F) {
	s := clicks()
	log := logOf(rand.New(rand.NewPCG(8, 8)), 60)
	c := whole(f, s, map[int32][]event.Record{0: log}, log[len(log)-1].Offset+1)
	c.Table.Seal()
	for m := range s.Measures {
		if s.Measures[m].Kind.ByMember {
			continue
		}
		var last []byte
		for row := range c.Table.Rows {
			state := row.AppendState(nil, m)
			f.Add(uint8(m), state, last)
			last = state
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, a, b []byte) {
		m := &s.Measures[int(which)%len(s.Measures)]
		if m.Kind.ByMember {
			return
		}
		merge := func(states ...[]byte) []byte {
			t.Helper()
			all, err := m.Merge(states...)
			if err != nil {
				t.Fatalf("%s: %v", m.Kind, err)
			}
			return all
		}
		one, err := m.Merge(a)
		if err != nil {
			return
		}
		if again := merge(one); !bytes.Equal(again, one) {
			t.Fatalf("%s: %x is written as %x, and that as %x", m.Kind, a, one, again)
		}
		n, err := m.Number(one)
		if err != nil {
			t.Fatal(err)
		}
		m.Text(n)
		if m.Kind.Additive {
			if _, err := m.Add(one, one); err != nil {
				t.Fatalf("%s: %v", m.Kind, err)
			}
		}
		if _, err := m.Merge(b); err != nil {
			return
		}
		if ab, ba := merge(a, b), merge(b, a); !bytes.Equal(ab, ba) || !bytes.Equal(merge(ab, a, b), ab) {
			t.Fatalf("%s: %x and %x merge to %x, in the other order to %x, and with both again to %x", m.Kind, a, b, ab, ba, merge(ab, a, b))
		}
	})
}
