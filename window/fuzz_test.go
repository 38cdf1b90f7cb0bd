package window

import (
	"testing"

	"weir/event"
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
				if s.Measures[m].Kind != Geo {
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
