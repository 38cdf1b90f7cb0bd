package ingest

import (
	"sync/atomic"

	"weir/event"
)

// A buffer holds one Fetch response. The broker loop gives it to the exchange,
// then each Part of the response refers to it; when the last Part is Done, it
// returns to the loop's free list.
type buffer struct {
	call     *call // replaced when an exchange failed
	response fetchResponse
	holders  atomic.Int32 // the loop, and every Part not Done
	free     chan<- *buffer
	scrub    bool // tests: overwrite a buffer without holders
}

// hold adds a holder.
func (b *buffer) hold() { b.holders.Add(1) }

// drop removes a holder; the last one returns the buffer to the free list.
func (b *buffer) drop(limit int) {
	if b.holders.Add(-1) > 0 {
		return
	}
	if b.scrub {
		clear(b.call.response[:cap(b.call.response)])
	}
	if cap(b.call.response) > limit { // a huge batch has enlarged it
		b.call.response = nil
	}
	b.free <- b // has room for every buffer of its loop
}

// A packed is the verified share of one partition in one response: the records of an
// event.Part.
type packed struct {
	partition int32
	from, to  int64  // the offsets that it covers
	set       []byte // whole, verified batches
	aborted   []transaction

	source *Source
	buffer *buffer     // that set points into
	done   atomic.Bool // Done was called
}

// part makes an event.Part of p, which holds its buffer until it is Done.
func (p *packed) part(f *fetched) event.Part {
	p.buffer.hold()
	return event.Part{
		Partition:  p.partition,
		HighWater:  max(f.highWater, p.to), // the broker takes its figures before it reads the log
		LastStable: max(f.lastStable, p.to),
		LogStart:   f.logStart,
		Packed:     p,
	}
}

// Unpack implements event.Packed, on the goroutine of the worker that calls it.
func (p *packed) Unpack(yield func(*event.Batch) error) error {
	u := p.source.unpackers.Get().(*unpacker)
	defer p.source.unpackers.Put(u)
	return u.unpack(p, yield)
}

// Done implements event.Packed.
func (p *packed) Done() {
	if p.done.CompareAndSwap(false, true) {
		p.buffer.drop(p.source.keptBuffer())
	}
}

// keptBuffer returns the largest response buffer worth keeping for the next one.
func (s *Source) keptBuffer() int { return 2 * s.config.RequestBytes }
