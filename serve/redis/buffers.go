package redis

import (
	"errors"
	"sync"
)

// buffers keeps what the server holds for its clients within one budget: requests
// that have arrived in part, queued transactions, replies that the client has not
// read. Beyond the budget it cuts off the client for which most is held, as Redis
// does with maxmemory-clients.
type buffers struct {
	most int

	mu      sync.Mutex
	total   int
	held    map[*client]int // the clients for which more than heldLittle is held
	evicted uint64
}

// heldLittle is an amount that is not counted, so that most clients need not take the
// lock.
const heldLittle = 16 << 10

var errEvicted = errors.New("the clients together held more than allowed (a quarter of the memory), and this one most")

// hold records how many bytes are held for a client. While the sum is over the budget
// it cuts off the client with the most. The goroutine that serves the client calls
// it.
func (s *Server) hold(c *client, n int) {
	if n < heldLittle {
		n = 0
	}
	if n == c.held || c.evicted.Load() {
		return
	}
	b := &s.buffers
	b.mu.Lock()
	b.total += n - c.held
	if c.held = n; n > 0 {
		b.held[c] = n
	} else {
		delete(b.held, c)
	}
	var out []*client
	for b.total > b.most {
		var largest *client
		for other, n := range b.held {
			if largest == nil || n > b.held[largest] {
				largest = other
			}
		}
		if largest == nil {
			break
		}
		b.total -= b.held[largest]
		delete(b.held, largest)
		b.evicted++
		out = append(out, largest)
	}
	b.mu.Unlock()
	for _, c := range out {
		c.evict()
	}
}

// release forgets a client.
func (s *Server) release(c *client) {
	b := &s.buffers
	b.mu.Lock()
	defer b.mu.Unlock()
	if n, ok := b.held[c]; ok {
		b.total -= n
		delete(b.held, c)
	}
}

// evict makes the goroutine that serves a client cut it off. Any goroutine may call
// it, without holding the server's lock.
func (c *client) evict() {
	if c.evicted.Swap(true) {
		return
	}
	c.server.mu.Lock()
	cut := c.cut
	c.server.mu.Unlock()
	if cut != nil { // if it is nil, the goroutine that is about to serve the client sees evicted
		cut()
	}
}

// holding returns how many bytes the server holds for a client, without its replies.
func (c *client) holding() int {
	return c.r.Held() + c.transaction.held()
}

// count returns how many clients have been cut off.
func (b *buffers) count() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.evicted
}
