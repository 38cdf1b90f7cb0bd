package audit

import "weir/window"

// tally is what is known of one chunk.
type tally struct {
	least, most uint64 // what its lines allow for
	hits        uint64 // what its rows hold
	gaps        uint64 // of its lines
	lines       bool
	skip        bool

	// Of the lines that counted anything:
	first, reach, cut int64  // where the first one begins, the furthest before the last one ends, the last one begins
	end               int64  // where the furthest ends
	union             uint64 // at most so many different events were counted
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

// Hits adds what some rows hold under a slot. The portions of one slot must be
// of different rows. A slot that is not settled, because rows of it may have
// been written while the sink was read, is not judged.
func (a *Audit) Hits(slot window.Slot, n uint64, settled bool) {
	t := a.chunk(slot)
	t.hits += n
	t.skip = t.skip || !settled
}

// line takes in a line of the chunk. A chunk has several lines, with different first
// offsets, if retention had deleted its beginning when it was read again. Their counts
// are under one slot and merge by maximum, row by row: the rows hold at least the
// greatest line and at most the sum.
func (t *tally) line(l *window.Line, comparable bool) {
	t.lines = true
	t.gaps += l.Outcomes[window.Gap]
	t.least = max(t.least, l.Outcomes[window.Counted])
	t.most += l.Outcomes[window.Counted]
	if l.Outcomes[window.Counted] > 0 {
		t.add(l)
	}
	t.skip = t.skip || !comparable
}

// add takes in a line that counted something. An offset of two readings has the
// same outcome in both. So the later reading adds to the counted events at most its
// own, and at most as many as it has offsets behind the earlier one's end. And all
// events together are at most those of the later one and those of the offsets that
// it lacks.
func (t *tally) add(l *window.Line) {
	c := l.Outcomes[window.Counted]
	if t.union == 0 {
		t.first, t.cut, t.end, t.union = l.First, l.First, l.Next, c
		return
	}
	behind, before := uint64(max(0, l.Next-t.end)), uint64(l.First-t.first+max(0, t.end-l.Next))
	t.union = min(t.union+min(c, behind), c+before)
	t.reach, t.cut = t.end, l.First
	t.end = max(t.end, l.Next)
}

// chunks yields those whose rows do not hold what their lines say.
func (a *Audit) chunks(yield func(Finding) bool) {
	for _, slot := range a.order {
		t := a.tally[slot]
		f := a.ofChunk(Unknown, slot)
		f.Found = t.hits
		switch {
		case t.skip:
			continue
		case !t.lines:
		case t.hits < t.least:
			f.Kind, f.Expected = Missing, t.least
		case t.hits > t.most:
			f.Kind, f.Expected, f.Gaps = Excess, t.most, t.gaps
		default:
			continue
		}
		if !yield(f) {
			return
		}
	}
}

// clipped yields the chunks whose rows hold what a line says, and less than all
// lines together do.
func (a *Audit) clipped(yield func(Finding) bool) bool {
	for _, slot := range a.order {
		t := a.tally[slot]
		if t.skip || t.hits < t.least || t.hits >= t.union {
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
