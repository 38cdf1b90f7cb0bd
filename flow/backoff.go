package flow

// A Backoff is the pause after a failure: First, then twice as long each time,
// at most Most. It has no jitter: a job has one write in flight, so its writes
// cannot come all at once.
type Backoff struct {
	First, Most Time

	last Time
}

// Next returns the pause after one more failure.
func (b *Backoff) Next() Time {
	b.last = min(max(2*b.last, b.First), b.Most)
	return b.last
}

// Reset makes the next pause First again. It is called when a write has worked.
func (b *Backoff) Reset() { b.last = 0 }
