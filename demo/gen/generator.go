package gen

import (
	"strconv"

	"weir/event"
)

// A Record is one message for the log, and what it says, for Truth. Next reuses
// the slices' memory: to keep a Record past the next call, pass another one to
// it, or copy.
type Record struct {
	Key   []byte     // the user's id as text, so that a person stays in one partition
	Value []byte     // the JSON event
	Time  event.Time // the record's own timestamp (CreateTime)

	Malformed bool // the value cannot be counted; the fields below then mean nothing
	Stamp     event.Time
	User      uint32
	ID        [16]byte // clicks only
	Page      uint32   // clicks only
	Lon, Lat  int32    // locations only, in millionths of a degree
}

// A Generator makes one stream. It serves one goroutine.
type Generator struct {
	cfg    Config
	stream stream

	i       int64
	random  source
	people  *activity
	stride  uint64 // rank of activity × stride, modulo Users, is the id
	pages   weighted
	homes   weighted
	action  weighted
	faults  [4]uint64 // upper bounds of malformed, late, future, duplicate
	recent  []Record  // ordinary events, without key and value, as a ring
	recentN int
}

type stream uint8

const (
	clicks stream = iota
	locations
)

// Clicks makes a stream of page views, each about 190 bytes:
//
//	{"event_id":"9f2c… 32 hex digits","ts":1763600000123,"user_id":81234,"page":"/p/17",
//	 "action":"view","referrer":"https://…","country":"DE","device":"mobile"}
//
// in one line. Pages follow Zipf's law, the activity of people is log-normal,
// and each has one country and one device.
func Clicks(cfg Config) (*Generator, error) { return newGenerator(cfg, clicks) }

// Locations makes a stream of positions:
//
//	{"ts":1763600000456,"user_id":81234,"lon":13.361389,"lat":38.115556}
//
// People live in one of the cities of this package, walk about it from one
// corner to the next each hour, and spend one day in 32 in another. The
// position of a person depends on the seed, the person and the time alone.
func Locations(cfg Config) (*Generator, error) { return newGenerator(cfg, locations) }

func newGenerator(cfg Config, stream stream) (*Generator, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	g := &Generator{
		cfg:    cfg,
		stream: stream,
		random: source(hash(cfg.Seed, drawStream, uint64(stream), 0)),
		people: newActivity(),
		stride: coprime(uint64(cfg.Users)),
		recent: make([]Record, 0, 1024),
	}
	if stream == clicks {
		g.pages = newWeighted(zipf(cfg.Pages, cfg.Skew))
		g.action = newWeighted(actionWeights)
	}
	g.homes = newWeighted(cityWeights())
	bound := 0.0
	for i, share := range []float64{cfg.MalformedShare, cfg.LateShare, cfg.FutureShare, cfg.DuplicateShare} {
		bound += share
		g.faults[i] = threshold(bound)
	}
	return g, nil
}

// coprime returns a number near n/φ that has no common divisor with n: ranks
// times this number, modulo n, are scattered over all ids.
func coprime(n uint64) uint64 {
	for x := max(n*618/1000, 1); ; x++ {
		a, b := n, x
		for b != 0 {
			a, b = b, a%b
		}
		if a == 1 {
			return x
		}
	}
}

// Next makes the next record; false after the last one.
func (g *Generator) Next(r *Record) bool {
	if g.cfg.Events > 0 && g.i >= g.cfg.Events {
		return false
	}
	now := g.cfg.Start + event.Time(g.i/g.cfg.Rate*1000+g.i%g.cfg.Rate*1000/g.cfg.Rate)
	g.i++

	*r = Record{Key: r.Key[:0], Value: r.Value[:0]}
	switch fault := g.random.next() >> 11; {
	case fault < g.faults[0]:
		g.draw(r, now)
		g.write(r)
		g.spoil(r)
	case fault < g.faults[1]:
		ago := g.cfg.LateBy + g.upTo(g.cfg.LateBy)
		if stamp := now - ago; g.random.below(8) > 0 && stamp > 0 {
			g.draw(r, stamp)
		} else {
			g.draw(r, g.upTo(day-1))
		}
		g.write(r)
	case fault < g.faults[2]:
		ahead := g.cfg.FutureBy + g.upTo(g.cfg.FutureBy)
		if g.random.below(8) > 0 {
			g.draw(r, now+ahead)
		} else {
			g.draw(r, newYear2099+g.upTo(day-1))
		}
		g.write(r)
	case fault < g.faults[3] && len(g.recent) > 0:
		old := g.recent[g.random.below(uint64(len(g.recent)))]
		old.Key, old.Value = r.Key, r.Value
		*r = old
		g.write(r)
	default:
		g.draw(r, max(now-g.upTo(g.cfg.Disorder), 0))
		g.write(r)
		g.remember(r)
	}
	r.Time = now
	r.Key = strconv.AppendUint(r.Key, uint64(r.User), 10)
	return true
}

const (
	day         event.Time = 86_400_000
	newYear2099 event.Time = 4_070_908_800_000
)

// upTo returns a duration from 0 to d.
func (g *Generator) upTo(d event.Time) event.Time {
	return event.Time(g.random.below(uint64(d) + 1))
}

// draw decides the user and the content of an event at a time.
func (g *Generator) draw(r *Record, at event.Time) {
	r.Stamp = at
	n := uint64(g.cfg.Users)
	rank := g.people.choose(g.random.next(), n)
	r.User = uint32(rank*g.stride%n) + 1
	switch g.stream {
	case clicks:
		g.drawClick(r)
	case locations:
		r.Lon, r.Lat = g.place(r.User, at)
	}
}

// write puts a record's value together from what was drawn.
func (g *Generator) write(r *Record) {
	switch g.stream {
	case clicks:
		r.Value = g.appendClick(r.Value, r)
	case locations:
		r.Value = appendLocation(r.Value, r)
	}
}

// remember keeps an ordinary event, so that it can be sent again.
func (g *Generator) remember(r *Record) {
	if g.faults[3] == g.faults[2] {
		return
	}
	kept := *r
	kept.Key, kept.Value = nil, nil
	if len(g.recent) < cap(g.recent) {
		g.recent = append(g.recent, kept)
		return
	}
	g.recent[g.recentN] = kept
	g.recentN = (g.recentN + 1) % len(g.recent)
}
