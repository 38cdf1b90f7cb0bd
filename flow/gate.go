package flow

// A Budget is how many bytes the workers and the outbox together may hold.
type Budget int64

// Near reports whether the bytes are four fifths of the budget or more. Then a
// flush is due before the interval is over.
func (b Budget) Near(bytes int64) bool { return bytes >= int64(b)/5*4 }

// Roomy reports whether the bytes are less than a quarter of the budget. Only then may
// changes wait for longer than the shortest interval.
func (b Budget) Roomy(bytes int64) bool { return bytes < int64(b)/4 }

// Full reports whether the bytes use up the budget.
func (b Budget) Full(bytes int64) bool { return bytes >= int64(b) }

// A gate is the back-pressure by memory. It closes when the budget is used up. It
// opens at the next acknowledged write, or at a flush that found nothing to
// write. It does not wait for the bytes to fall: a flush cannot free the counts
// of open chunks, and these must not stop the job for ever. A closed gate loses
// nothing: records that do not pass stay in the log.
type gate struct{ closed bool }

func (g *gate) close() { g.closed = true }

func (g *gate) open() { g.closed = false }
