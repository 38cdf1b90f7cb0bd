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

// A packed is the verified share of one partition in one response.
type packed struct {
	partition int32
	from, to  int64  // the offsets that it covers
	set       []byte // whole, verified batches
	aborted   []transaction
}

// part makes the event.Part of p, holding the buffer until it is Done.
func (s *Source) part(p packed, f *fetched, b *buffer) event.Part {
	b.hold()
	var done atomic.Bool
	keep := s.keptBuffer()
	return event.Part{
		Partition:  p.partition,
		HighWater:  max(f.highWater, p.to), // the broker takes its figures before it reads the log
		LastStable: max(f.lastStable, p.to),
		LogStart:   f.logStart,
		Unpack: func(yield func(*event.Batch) error) error {
			u := s.unpackers.Get().(*unpacker)
			defer s.unpackers.Put(u)
			return u.unpack(&p, yield)
		},
		Done: func() {
			if done.CompareAndSwap(false, true) {
				b.drop(keep)
			}
		},
	}
}

// keptBuffer returns the largest response buffer worth keeping for the next one.
func (s *Source) keptBuffer() int { return 2 * s.config.RequestBytes }
