package live

import (
	"fmt"
	"time"

	"weir/event"
	"weir/window"
)

// While the sink does not answer, an answer is made from memory and from the cached
// windows, and is marked (Answer.Partial). It lacks what this process flushed of
// windows that are not cached, and what other processes flushed since the last look.
//
// That is possible for three kinds of windows: cached ones, ones that have not ended, and
// ones of which this process has flushed nothing, because memory has all that it counted
// of them. Of any other window memory has at most a few late events, which would be a
// misleading number: a question about such a window gets an error.

// alone returns the answer without the sink, whose error is cause.
func (s *source) alone(r *window.Range, m int, mem snapshot, cause error) (Answer, error) {
	a, err := s.cache.alone(r, m, mem, s.now())
	if err != nil {
		return a, fmt.Errorf("%w: %w", err, cause)
	}
	a.Partial = aloneBecause(cause)
	s.state.answeredAlone(a.Partial)
	return a, nil
}

// canAlone reports whether alone would give an answer.
func (s *source) canAlone(r *window.Range, m int) bool {
	j := s.cache
	j.all.mu.Lock()
	defer j.all.mu.Unlock()
	return j.within(r, m, s.now()) == nil
}

// alone returns the answer of cache and memory, or an error if they do not have
// something of each window of the range.
func (j *jobCache) alone(r *window.Range, m int, mem snapshot, now event.Time) (Answer, error) {
	j.all.mu.Lock()
	defer j.all.mu.Unlock()
	if err := j.within(r, m, now); err != nil {
		return Answer{}, err
	}
	j.all.stats.Partial++
	switch {
	case m < 0:
		return counted(j.hitsAlone(r, mem)), nil
	case j.spec.Measures[m].Kind.ByMember():
		return located(j.membersOf(j.of(m, r.Group, r.Until), r, m, mem).Set()), nil
	}
	v := begin(j.spec, m)
	found := mergeEntries(v, j.cached(r, seriesID(m, r.Group)))
	found = mem.merge(v, r, m) || found
	return measured(v, found), nil
}

// within returns an error that names a window of the range that cannot be answered
// without the sink, if there is one. The lock is held.
func (j *jobCache) within(r *window.Range, m int, now event.Time) error {
	size := j.spec.Window
	// Windows from until on are in memory as a whole. One that ended while a question
	// waited for the sink was open when the question was asked.
	open := now - event.Time(2*sinkTimeout/time.Millisecond)
	from, until := j.ceil(r.From), min(r.Until, j.sent+size, open-open%size)
	var series []*series
	switch {
	case m >= 0 && j.spec.Measures[m].Kind.ByMember():
		series = append(series, j.nearestPositions(m, j.ceil(r.Until)))
	case m < 0:
		series = append(series, j.series[seriesID(totalHits, r.Group)], j.series[seriesID(slotHits, r.Group)])
	default:
		series = append(series, j.series[seriesID(m, r.Group)])
	}
next:
	for t := from; t < until; t += size {
		for _, of := range series {
			if of != nil && of.entries[t].cached() {
				continue next
			}
		}
		return fmt.Errorf("the window of %s is not in memory and ClickHouse cannot be asked for it; ask for now, or again when it answers",
			time.UnixMilli(int64(t)).UTC().Format("20060102T150405Z"))
	}
	return nil
}

// cached returns the cached entries of a series in a range, in no order. The lock is
// held.
func (j *jobCache) cached(r *window.Range, id string) (entries []*entry) {
	if of := j.series[id]; of != nil {
		for start, e := range of.entries {
			if start >= r.From && start < r.Until && e.cached() {
				entries = append(entries, e)
			}
		}
	}
	return entries
}

// hitsAlone sums counts without the sink. Those of a window that is cached as one
// number cannot be merged with memory's: the greater of the two is a lower bound. The
// lock is held.
func (j *jobCache) hitsAlone(r *window.Range, mem snapshot) (n uint64) {
	total := map[event.Time]uint64{}
	for _, start := range mem.held(r) {
		total[start] = (&entry{start: start}).lacks(mem, r)
	}
	for _, e := range j.cached(r, seriesID(totalHits, r.Group)) {
		total[e.start] = max(total[e.start], e.total)
	}
	for _, e := range j.cached(r, seriesID(slotHits, r.Group)) {
		total[e.start] = e.total + e.lacks(mem, r)
	}
	for _, t := range total {
		n += t
	}
	return n
}
