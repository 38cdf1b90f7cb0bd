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
// edge. A piece only says that its window is included. A member last seen before
// the range of a question is left out of the answer, so windows need not be
// removed as time goes on. A member seen again after the end of the range would
// be missing, so the edge must be the end of the range.
type places struct {
	edge  event.Time
	last  *geo.Last // under window 0; of memory as well as of the sink
	bytes int64     // as in the books

	from   event.Time // the earliest that was asked for since…
	tidied time.Time  // …then, when members were last forgotten
}

// tidyEvery is how often such members are removed.
const tidyEvery = 10 * time.Minute

func newPlaces(edge event.Time) *places {
	return &places{edge: edge, last: new(geo.Last), from: window.Newest, tidied: time.Now()}
}

// upTo is the series of positions with its edge there: the nearest earlier one
// is moved, for that is how questions up to now go on.
func (s *source) upTo(m int, edge event.Time) (of *series) {
	key := placesKey(m, edge)
	of = s.placesUpTo(m, edge)
	if of != nil && of.key == key {
		return of
	}
	if of == nil {
		return &series{key: key, m: m, group: make([][]byte, len(s.spec.By)), pieces: map[event.Time]*piece{}, places: newPlaces(edge)}
	}
	delete(s.series, of.key)
	of.key, of.places.edge = key, edge
	s.series[key] = of
	return of
}

// placesUpTo is the one with that edge, or the nearest earlier one.
func (s *source) placesUpTo(m int, edge event.Time) (of *series) {
	if of = s.series[placesKey(m, edge)]; of != nil {
		return of
	}
	for _, other := range s.series {
		if other.m == m && other.places.edge < edge && (of == nil || other.places.edge > of.places.edge) {
			of = other
		}
	}
	return of
}

func placesKey(m int, edge event.Time) string {
	return string(binary.AppendVarint(binary.AppendVarint(nil, int64(m)), int64(edge)))
}

// places answers where members were last, over a range.
func (w *Windows) places(ctx context.Context, took *work, s *source, r *window.Range, m int, mem snapshot) (answer, error) {
	for {
		pieces, err := w.pieces(ctx, took, s, r, m, r.From, r.Until)
		if err != nil || len(pieces) == 0 {
			return answer{}, err
		}
		w.mu.Lock()
		if of := pieces[0].of; of.places.edge == s.ceil(r.Until) {
			members := w.members(s, of, r, m, mem)
			w.mu.Unlock()
			return located(members.Set()), nil
		}
		w.mu.Unlock() // another question has moved the edge meanwhile
	}
}

// members returns the members of a range: those in a series whose edge is its
// end, and those in memory. The caller holds the lock.
func (w *Windows) members(s *source, of *series, r *window.Range, m int, mem snapshot) geo.Members {
	from := s.ceil(r.From)
	mem.mergePlaces(of.places.last, r, m) // they may stay in the series: the sink will have them too
	members := of.places.last.Members(0, int64(from))
	w.tidy(of, from)
	return members
}

// tidy removes members that were in no question's range for a while.
func (w *Windows) tidy(of *series, from event.Time) {
	p := of.places
	p.from = min(p.from, from)
	if now := time.Now(); now.Sub(p.tidied) > tidyEvery {
		for start, piece := range of.pieces {
			if start < p.from {
				w.drop(piece)
			}
		}
		p.last = p.last.Since(int64(p.from))
		p.from, p.tidied = from, now
	}
	if len(of.pieces) > 0 {
		w.stored.bytes += p.weigh()
		w.evict()
	}
}

// weigh takes note of what has been added since, bytes.
func (p *places) weigh() (more int64) {
	n := int64(p.last.Bytes())
	more, p.bytes = n-p.bytes, n
	return more
}

// located is the answer of a set of positions.
func located(set *geo.Set) answer {
	if set.Len() == 0 {
		return answer{}
	}
	return answer{Value{Measured: set}, true}
}
