package flow

// A Budget is how many bytes may be held, by the workers and in the outbox.
type Budget int64

// Near reports whether so many bytes are four fifths of the budget or more: time
// for a flush before the interval is over.
func (b Budget) Near(bytes int64) bool { return bytes >= int64(b)/5*4 }

// Full reports whether so many bytes use the budget up.
func (b Budget) Full(bytes int64) bool { return bytes >= int64(b) }

// A gate is the back-pressure by memory. It closes when the budget is used up,
// and opens at the next acknowledgement, or flush that found nothing to write.
// It does not wait for the bytes to fall: what a flush cannot free, the counts of
// open chunks, must not stop the job for ever. It never fails and never drops:
// what does not pass stays in the log.
type gate struct{ closed bool }

func (g *gate) close() { g.closed = true }

func (g *gate) open() { g.closed = false }
