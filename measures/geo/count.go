// Package geo is the kind of measure that keeps where members are.
package geo

import (
	"errors"

	"weir/event"
	"weir/sketches/geo"
	"weir/window"
)

// Kind keeps the last position of each member in each window.
var Kind = &window.Kind{
	Name:     "geo",
	ByMember: true,
	Paths:    func(m *window.Measure) []string { return []string{m.Lon, m.Lat} },
	Intake: func(_ *window.Spec, m *window.Measure, also []int) window.Intake {
		return &intake{lon: also[0], lat: also[1], optional: m.Optional}
	},
	Column: func(*window.Measure) window.Column { return new(column) },
}

type intake struct {
	lon, lat int
	optional bool

	at      [window.BlockSize]sighting
	members []byte // one after another
}

// A sighting is a member at a place, at a time, in a window.
type sighting struct {
	window int64
	stamp  geo.Stamp
	score  uint64
	end    int // of the member
}

func (in *intake) Read(d *window.Decoder, at, n int) (bool, string) {
	if in.optional && d.Absent(in.lon) && d.Absent(in.lat) {
		return false, "" // an event with only one of the two is malformed, below
	}
	id, ok := d.Value(at).ID()
	switch {
	case !ok:
		return false, d.Wrong(at, window.NotID)
	case len(id) > window.MaxValue:
		return false, d.Wrong(at, "is longer than 1 KiB")
	}
	lon, lat, reason := d.Position(in.lon, in.lat)
	if reason != "" {
		return false, reason
	}
	from := 0
	if n > 0 {
		from = in.at[n-1].end
	}
	in.members = append(in.members[:from], id...)
	s := sighting{window: int64(d.Window()), stamp: d.Stamp(), end: len(in.members)}
	s.score, _ = geo.Encode(lon, lat)
	in.at[n] = s
	return true, ""
}

// Add does not use the rows' groups: positions are kept by window and member.
func (in *intake) Add(to window.Store, rows []uint32) {
	last, from := &to.(*column).last, 0
	for i := range rows {
		s := &in.at[i]
		last.Put(s.window, in.members[from:s.end], s.stamp, s.score)
		from = s.end
	}
}

type column struct{ last geo.Last }

func (c *column) Grow(int) {}

func (c *column) Merge(uint32, window.Column, uint32) {}

func (c *column) Load(uint32, []byte) error { return errState }

func (c *column) AppendState([]byte, uint32) []byte {
	panic("geo: a geo measure has no state column")
}

func (c *column) Number(uint32) uint64 { panic("geo: a geo measure counts nothing") }

func (c *column) Reset() { c.last.Reset() }

func (c *column) Bytes() int { return c.last.Bytes() }

func (c *column) Len() int { return c.last.Len() }

func (c *column) Gather(from window.Column, r *window.Range) {
	last := &from.(*column).last
	if r.From == window.Oldest && r.Until == window.Newest {
		c.last.Merge(last)
		return
	}
	last.All(func(window int64, member []byte, st geo.Stamp, score uint64) bool {
		if r.Has(event.Time(window)) {
			c.last.Put(window, member, st, score)
		}
		return true
	})
}

var errState = errors.New("a measure with rows of its own has no state column")

// Of returns the last position per (window, member) of measure m of a table; nil if the
// measure is of another kind.
func Of(t *window.Table, m int) *geo.Last {
	if c, ok := t.Column(m).(*column); ok {
		return &c.last
	}
	return nil
}
