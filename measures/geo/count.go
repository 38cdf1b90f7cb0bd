// Package geo is the kind of measure that keeps where members are.
package geo

import (
	"errors"

	"weir/sketches/geo"
	"weir/window"
)

// Kind keeps the last position of each member in each window.
var Kind = &window.Kind{
	Name:     "geo",
	ByMember: true,
	Paths:    func(m *window.Measure) []string { return []string{m.Lon, m.Lat} },
	Intake: func(_ *window.Spec, _ *window.Measure, also []int) window.Intake {
		return &intake{lon: also[0], lat: also[1]}
	},
	Column: func(*window.Measure) window.Column { return new(column) },
}

type intake struct {
	lon, lat int

	at      [window.BlockSize]sighting
	members []byte // one after another
}

// A sighting is a member at a place, at a time, in a window.
type sighting struct {
	window int64
	stamp  geo.Stamp
	score  uint64
	member [2]int // its beginning and its end
}

func (in *intake) Read(d *window.Decoder, at int, events []window.Entry) {
	in.members = in.members[:0]
	for _, e := range events {
		id, ok := d.ID(e, at)
		if !ok {
			continue
		}
		if len(id) > window.MaxValue {
			d.Refuse(e, at, "is longer than 1 KiB")
			continue
		}
		lon, lat, ok := d.Position(e, in.lon, in.lat)
		if !ok {
			continue
		}
		from := len(in.members)
		in.members = append(in.members, id...)
		s := sighting{window: int64(d.Window(e)), stamp: d.Stamp(e), member: [2]int{from, len(in.members)}}
		s.score, _ = geo.Encode(lon, lat)
		in.at[e] = s
	}
}

// Add does not use the rows' groups: positions are kept by window and member.
func (in *intake) Add(to window.Store, _ []uint32, events []window.Entry) {
	last := &to.(*column).last
	for _, e := range events {
		s := &in.at[e]
		last.Put(s.window, in.members[s.member[0]:s.member[1]], s.stamp, s.score)
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

func (c *column) Positions() *geo.Last { return &c.last }

var errState = errors.New("a measure with rows of its own has no state column")
