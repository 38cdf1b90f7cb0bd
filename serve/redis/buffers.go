package redis

import (
	"errors"
	"sync"
)

// buffers keeps what the server holds for its clients within one budget: requests
// that have arrived in part, queued transactions, replies that are not taken.
// Beyond it the client that holds most is cut off, as by maxmemory-clients of
// Redis: many that hold much each cannot take together what one may not.
type buffers struct {
	most int

	mu      sync.Mutex
	total   int
	held    map[*client]int // of those that hold more than little
	evicted uint64
}

// heldLittle is not counted: it would cost every client a lock now and then.
const heldLittle = 16 << 10

var errEvicted = errors.New("the clients together held more than allowed (a quarter of the memory), and this one most")

// hold notes how many bytes are held for a client, and cuts off those who hold
// most while that is too much. The goroutine that serves the client calls it.
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

// evict has the goroutine that serves a client cut it off. Any goroutine may call it.
// The server's lock is not held.
func (c *client) evict() {
	if c.evicted.Swap(true) {
		return
	}
	c.server.mu.Lock()
	cut := c.cut
	c.server.mu.Unlock()
	if cut != nil { // otherwise the goroutine that is about to serve it sees that it is evicted
		cut()
	}
}

// holding is what the server holds for a client, beside its replies.
func (c *client) holding() int {
	const watched = 200 // bytes, by reckoning; the key besides
	return c.r.Held() + c.queueBytes + watched*len(c.watching) + c.watchBytes
}

// count is how many clients have been cut off.
func (b *buffers) count() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.evicted
}
