package window

import (
	"weir/event"
	"weir/sketches/geo"
)

// Geo keeps the last position of each member in each window.
var Geo Kind = geoKind{}

type geoKind struct {
	merged
	count
}

func (geoKind) String() string { return "geo" }

func (geoKind) ByMember() bool { return true }

func (geoKind) HoldsValues() bool { return false }

func (geoKind) paths(m *Measure) []string { return []string{m.Lon, m.Lat} }

func (geoKind) column(*Measure) column { return new(geoColumn) }

func (geoKind) intake(_ *Spec, m *Measure, also []int) intake {
	return &geoIntake{lon: also[0], lat: also[1], optional: m.Optional}
}

type geoIntake struct {
	lon, lat int
	optional bool

	at      [blockSize]sighting
	members []byte // one after another
}

// A sighting is a member at a place, at a time, in a window.
type sighting struct {
	window int64
	stamp  geo.Stamp
	score  uint64
	end    int // of the member
}

func (in *geoIntake) read(d *decoder, at, n int) (bool, string) {
	if in.optional && d.absent(in.lon) && d.absent(in.lat) {
		return false, "" // an event with only one of the two is malformed, below
	}
	id, ok := d.vals[at].ID()
	switch {
	case !ok:
		return false, d.wrong(at, notID)
	case len(id) > maxValue:
		return false, d.wrong(at, "is longer than 1 KiB")
	}
	lon, lat, reason := d.position(in.lon, in.lat)
	if reason != "" {
		return false, reason
	}
	from := 0
	if n > 0 {
		from = in.at[n-1].end
	}
	in.members = append(in.members[:from], id...)
	s := sighting{window: int64(d.window), stamp: d.stamp(), end: len(in.members)}
	s.score, _ = geo.Encode(lon, lat)
	in.at[n] = s
	return true, ""
}

// add does not use the rows' groups: positions are kept by window and member.
func (in *geoIntake) add(to store, rows []uint32) {
	last, from := &to.(*geoColumn).last, 0
	for i := range rows {
		s := &in.at[i]
		last.Put(s.window, in.members[from:s.end], s.stamp, s.score)
		from = s.end
	}
}

type geoColumn struct{ last geo.Last }

func (c *geoColumn) grow(int) {}

func (c *geoColumn) merge(uint32, column, uint32) {}

func (c *geoColumn) load(uint32, []byte) error { return errNoState }

func (c *geoColumn) appendState([]byte, uint32) []byte {
	panic("window: a geo measure has no state column")
}

func (c *geoColumn) number(uint32) uint64 { panic("window: a geo measure counts nothing") }

func (c *geoColumn) reset() { c.last.Reset() }

func (c *geoColumn) bytes() int { return c.last.Bytes() }

func (c *geoColumn) len() int { return c.last.Len() }

func (c *geoColumn) gather(from column, r *Range) {
	last := &from.(*geoColumn).last
	if r.From == Oldest && r.Until == Newest {
		c.last.Merge(last)
		return
	}
	last.All(func(window int64, member []byte, st geo.Stamp, score uint64) bool {
		if r.has(event.Time(window)) {
			c.last.Put(window, member, st, score)
		}
		return true
	})
}

// Places returns the last position per (window, member) of measure m; nil if the
// measure is of another kind.
func (t *Table) Places(m int) *geo.Last {
	if c, ok := t.columns[m].(*geoColumn); ok {
		return &c.last
	}
	return nil
}
