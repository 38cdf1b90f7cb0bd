package live

import (
	"context"
	"encoding/binary"
	"time"

	"weir/event"
	"weir/sketches/geo"
	"weir/window"
)

// A hundred thousand people who move all day have as many positions in each
// window, and a question about an hour needs only the last one of each person.
// So a series of positions keeps one position per member: the last one before an
// edge. An entry only says that its window is included. A member last seen before
// the range of a question is left out of the answer, so windows need not be
// removed as time goes on. A member seen again after the end of the range would
// be missing, so the edge must be the end of the range.
type positions struct {
	edge  event.Time
	last  *geo.Last // under window 0; of memory as well as of the sink
	bytes int64     // as counted in cache.bytes

	from   event.Time // the earliest that was asked for since…
	tidied time.Time  // …then, when members were last removed
}

// tidyEvery is how often such members are removed.
const tidyEvery = 10 * time.Minute

func newPositions(edge event.Time) *positions {
	return &positions{edge: edge, last: new(geo.Last), from: window.Newest, tidied: time.Now()}
}

// positionsUpTo returns the series of positions with that edge. If there is none, the
// nearest earlier one is moved there, because that is how questions up to now go on.
// The lock is held.
func (j *jobCache) positionsUpTo(m int, edge event.Time) (of *series) {
	id := positionsID(m, edge)
	of = j.nearestPositions(m, edge)
	if of != nil && of.id == id {
		return of
	}
	if of == nil {
		return &series{id: id, job: j, m: m, group: make([][]byte, len(j.spec.By)), entries: map[event.Time]*entry{}, positions: newPositions(edge)}
	}
	delete(j.series, of.id)
	of.id, of.positions.edge = id, edge
	j.series[id] = of
	return of
}

// nearestPositions returns the series with that edge, or with the nearest earlier
// one, or nil. The lock is held.
func (j *jobCache) nearestPositions(m int, edge event.Time) (of *series) {
	if of = j.series[positionsID(m, edge)]; of != nil {
		return of
	}
	for _, other := range j.series {
		if other.m == m && other.positions.edge < edge && (of == nil || other.positions.edge > of.positions.edge) {
			of = other
		}
	}
	return of
}

func positionsID(m int, edge event.Time) string {
	return string(binary.AppendVarint(binary.AppendVarint(nil, int64(m)), int64(edge)))
}

// positions answers where members were last, over a range.
func (s *source) positions(ctx context.Context, took *work, r *window.Range, m int, mem snapshot) (Answer, error) {
	for {
		entries, err := s.entries(ctx, took, r, m, r.From, r.Until)
		if err != nil || len(entries) == 0 {
			return Answer{}, err
		}
		if members, ok := s.cache.members(entries[0].of, r, m, mem); ok {
			return located(members.Set()), nil
		}
	}
}

// members returns the members of a range: those of a series and those in memory. If
// another question has moved the edge of the series from the range's end meanwhile,
// ok is false.
func (j *jobCache) members(of *series, r *window.Range, m int, mem snapshot) (members geo.Members, ok bool) {
	j.all.mu.Lock()
	defer j.all.mu.Unlock()
	if of.positions.edge != j.ceil(r.Until) {
		return members, false
	}
	return j.membersOf(of, r, m, mem), true
}

// membersOf is members of a series whose edge is the range's end, while the lock is
// held.
func (j *jobCache) membersOf(of *series, r *window.Range, m int, mem snapshot) geo.Members {
	from := j.ceil(r.From)
	mem.mergePositions(of.positions.last, r, m) // they may stay in the series: the sink will have them too
	members := of.positions.last.Members(0, int64(from))
	j.all.tidy(of, from)
	return members
}

// mergePositions merges positions that were read into a series.
func (c *cache) mergePositions(of *series, last *geo.Last) {
	c.mu.Lock()
	defer c.mu.Unlock()
	of.positions.last.Merge(last)
}

// tidy removes members that were in no question's range for a while. The lock is
// held.
func (c *cache) tidy(of *series, from event.Time) {
	p := of.positions
	p.from = min(p.from, from)
	if now := time.Now(); now.Sub(p.tidied) > tidyEvery {
		for start, e := range of.entries {
			if start < p.from {
				c.drop(e)
			}
		}
		p.last = p.last.Since(int64(p.from))
		p.from, p.tidied = from, now
	}
	if len(of.entries) > 0 {
		c.bytes += p.weigh()
		c.evict()
	}
}

// weigh records the current size, and returns by how much it has grown.
func (p *positions) weigh() (more int64) {
	n := int64(p.last.Bytes())
	more, p.bytes = n-p.bytes, n
	return more
}
