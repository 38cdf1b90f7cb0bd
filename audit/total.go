package audit

// Shown notes how many events the windows of a rollup have in all, as its view shows them, and
// reports whether these are as many as were counted. The rollup must be kept for ever.
// Shown must be called after all lines have come, with a number that was read after them. Of several
// rollups, the one with the most events decides: one that was added later begins later.
func (a *Audit) Shown(events uint64) bool {
	a.shown = max(a.shown, events)
	a.summed = true
	return a.shown >= a.counted()
}

// counted returns how many events were counted at least. What is being written may not be in the view
// of a replica that lags, so of a chunk with new lines or rows it takes no more than the rows hold.
func (a *Audit) counted() (sum uint64) {
	a.settle()
	for _, t := range a.tally {
		if t.fresh {
			sum += min(t.least, t.hits)
		} else {
			sum += t.least
		}
	}
	return sum
}

// short yields a finding if the views show less than was counted, and nothing else is found that
// may be the reason.
func (a *Audit) short(yield func(Finding) bool) {
	counted := a.counted()
	if !a.summed || a.shown >= counted {
		return
	}
	for range a.Findings {
		return
	}
	f := a.of(Short)
	f.Expected, f.Found = counted, a.shown
	yield(f)
}
