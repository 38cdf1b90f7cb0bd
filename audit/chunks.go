package audit

import (
	"cmp"
	"slices"

	"weir/event"
	"weir/window"
)

// tally is what the audit knows of one chunk.
type tally struct {
	least, most uint64 // what the rows may hold, by the chunk's lines
	hits        uint64 // what the rows hold
	gaps        uint64 // offsets without a record, by the lines
	lines       bool   // there is a line
	skip        bool   // the chunk is not judged, because rows of it may have expired
	fresh       bool   // nor is it yet, because rows or lines of it are new
	several     bool   // a record may have several events

	covers bool  // a line covers an offset
	opened int64 // where the first line begins, which may be empty

	ahead event.Time // how far the sink's clock is behind its rows and lines

	// Of the lines that counted an event, in the order of their first offsets:
	first int64  // where the first line begins
	reach int64  // the greatest end of the lines before the last one
	cut   int64  // where the last line begins
	end   int64  // the greatest end of all
	union uint64 // upper bound of the different events that were counted
}

// tallied are the slots [from, until) that one line stands for. Their hits are compared with it under the
// first of them.
type tallied struct{ from, until window.Slot }

// settle moves the hits of chunks that a fold stands for to the fold.
func (a *Audit) settle() {
	if len(a.folds) == 0 {
		return
	}
	a.order = slices.DeleteFunc(a.order, func(slot window.Slot) bool {
		f := a.foldOf(slot)
		if f.from == slot || f.until <= slot {
			return false
		}
		t, to := a.tally[slot], a.tally[f.from]
		to.hits, to.fresh, to.ahead = to.hits+t.hits, to.fresh || t.fresh, max(to.ahead, t.ahead)
		delete(a.tally, slot)
		return true
	})
}

// foldOf returns the last fold that begins at a slot or before; none is empty.
func (a *Audit) foldOf(slot window.Slot) (f tallied) {
	n, found := slices.BinarySearchFunc(a.folds, slot, func(f tallied, s window.Slot) int { return cmp.Compare(f.from, s) })
	if found {
		return a.folds[n]
	}
	if n > 0 {
		f = a.folds[n-1]
	}
	return f
}

func (a *Audit) chunk(slot window.Slot) *tally {
	t := a.tally[slot]
	if t == nil {
		t = new(tally)
		a.tally[slot] = t
		a.order = append(a.order, slot)
	}
	return t
}

// Hits adds the count that some rows hold under a slot. Two calls for one slot must be
// about different rows. settled is false if rows of the slot may have been written
// while the sink was read; the slot is not judged then.
func (a *Audit) Hits(slot window.Slot, n uint64, settled bool) {
	t := a.chunk(slot)
	t.hits += n
	t.fresh = t.fresh || !settled
}

// Fresh notes that a line of a chunk may have been written while the sink was read; the chunk is not
// judged then.
func (a *Audit) Fresh(slot window.Slot) { a.chunk(slot).fresh = true }

// Unjudged returns how many chunks do not add up, and are not judged because rows or lines of them are new.
// A flush that goes on is a reason for that. Events that are missing are another one.
func (a *Audit) Unjudged() (n int) {
	a.settle()
	for _, t := range a.tally {
		if t.fresh && !t.skip && t.ahead == 0 && (!t.lines || t.hits < t.least || t.hits > t.most) {
			n++
		}
	}
	return n
}

// Ahead notes that rows or a line of a chunk were written later than now, by the sink's
// clock, by so many ms: it stepped back, or another replica's is ahead of it. If the chunk does
// not add up, that is not judged, because nothing says for how long it has been so.
func (a *Audit) Ahead(slot window.Slot, by event.Time) {
	t := a.chunk(slot)
	t.ahead = max(t.ahead, by)
}

// line adds a line of the chunk. A chunk has several lines, with different first
// offsets, if retention had deleted its beginning when it was read again. Their counts
// are under one slot and merge by maximum, row by row. So the rows hold at least the
// greatest count of the lines and at most their sum.
func (t *tally) line(l *window.Line, comparable bool) {
	if !t.lines {
		t.opened = l.First
	}
	t.lines = true
	t.covers = t.covers || l.First < l.Next
	t.gaps += l.Outcomes[window.Gap]
	t.several = t.several || l.Events.All > 0
	t.least = max(t.least, l.Hits())
	t.most += l.Hits()
	if l.Hits() > 0 {
		t.add(l)
	}
	t.skip = t.skip || !comparable
}

// add bounds the number of different events by one more line. Lines come by first
// offset. An offset has the same outcome in every line, so there are two bounds:
//
//   - this line adds at most the events that it counted, and at most as many as it has
//     offsets after the end of the earlier lines;
//   - all lines together have at most the events of this line and one for each offset
//     that the earlier lines have and this one does not.
//
// A record may have any number of events, if the lines count these: then the bounds are what
// this line, and the earlier ones, have counted, and nothing if there are no such offsets.
func (t *tally) add(l *window.Line) {
	c := l.Hits()
	if t.union == 0 {
		t.first, t.cut, t.end, t.union = l.First, l.First, l.Next, c
		return
	}
	behind, before := uint64(max(0, l.Next-t.end)), uint64(l.First-t.first+max(0, t.end-l.Next))
	if l.Events.All > 0 {
		behind, before = all(behind, c), all(before, t.union)
	}
	t.union = min(t.union+min(c, behind), c+before)
	t.reach, t.cut = t.end, l.First
	t.end = max(t.end, l.Next)
}

// all returns n if there are offsets.
func all(offsets, n uint64) uint64 {
	if offsets == 0 {
		return 0
	}
	return n
}

// chunks yields a finding for each chunk whose rows do not hold what its lines say, and
// then one for what it does not judge because of the sink's clock.
func (a *Audit) chunks(yield func(Finding) bool) {
	a.settle()
	ahead := a.of(Ahead)
	ahead.Expected, ahead.By = a.ahead.windows, a.ahead.by
	for _, slot := range a.order {
		t := a.tally[slot]
		f := a.ofChunk(Unknown, slot)
		f.Found = t.hits
		switch {
		case t.skip || t.fresh:
			continue
		case !t.lines:
		case t.hits < t.least:
			f.Class, f.Expected = Missing, t.least
		case t.hits > t.most:
			f.Class, f.Expected, f.Gaps, f.Several = Excess, t.most, t.gaps, t.several
			if f.Opened = !t.covers && a.passes(slot, t.opened); f.Opened {
				f.Offsets.First = t.opened
			}
		default:
			continue
		}
		if t.ahead > 0 {
			ahead.Found++
			ahead.By = max(ahead.By, t.ahead)
		} else if !yield(f) {
			return
		}
	}
	if ahead.By > 0 {
		yield(ahead)
	}
}

// passes reports whether the ledger reaches beyond an offset in the partition and epoch of
// a slot.
func (a *Audit) passes(s window.Slot, offset int64) bool {
	return slices.ContainsFunc(a.reached, func(r Reached) bool {
		return r.Partition == s.Partition() && r.Epoch == s.Epoch() && r.Next > offset
	})
}

// clipped yields a finding for each chunk whose rows hold as much as one of its lines
// says, and less than its lines together may have counted.
func (a *Audit) clipped(yield func(Finding) bool) bool {
	a.settle()
	for _, slot := range a.order {
		t := a.tally[slot]
		if t.skip || t.fresh || t.ahead > 0 || t.hits < t.least || t.hits >= t.union {
			continue
		}
		f := a.ofChunk(Clipped, slot)
		f.Expected, f.Found, f.Both = t.union, t.hits, Offsets{t.cut, t.reach}
		if !yield(f) {
			return false
		}
	}
	return true
}
