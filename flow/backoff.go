package flow

// A Backoff is the pause after a failure: First, then twice as long each time,
// at most Most. Without jitter: a job has one write in flight, so there is no
// herd to break up.
type Backoff struct {
	First, Most Time

	last Time
}

// Next is the pause after one more failure.
func (b *Backoff) Next() Time {
	b.last = min(max(2*b.last, b.First), b.Most)
	return b.last
}

// Reset begins with First again: something has worked.
func (b *Backoff) Reset() { b.last = 0 }
