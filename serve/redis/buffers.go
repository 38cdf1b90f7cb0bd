package redis

import (
	"errors"
	"maps"
	"slices"
	"sync"
)

// buffers keeps what the server holds for its clients within one budget: requests
// that have arrived in part, queued transactions, replies that the client has not
// read. Beyond the budget it cuts off the clients for which most is held, as Redis
// does with maxmemory-clients. Every byte counts: a little for each of thousands of
// clients is much.
type buffers struct {
	most int

	mu      sync.Mutex
	total   int
	held    map[*client]int // the clients for which anything is held
	evicted uint64
}

var errEvicted = errors.New("the clients together held more than allowed (a quarter of the memory), and this one was among those with the most")

// hold records how many bytes are held for a client. While the sum is over the budget it
// cuts off the clients with the most. The client's goroutine calls it. Mostly the number
// is the same as before, and then it takes no lock.
func (c *client) hold() {
	n := c.r.Held() + c.w.Held() + c.transaction.bytes
	if n == c.held || c.cut.Load() != nil {
		return
	}
	c.held = n
	for _, c := range c.server.buffers.set(c, n) {
		c.cutOff(errEvicted)
	}
}

// set records how many bytes are held for a client, and returns the clients to cut off.
func (b *buffers) set(c *client, n int) (out []*client) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.total += n - b.held[c]
	if n > 0 {
		b.held[c] = n
	} else {
		delete(b.held, c)
	}
	if b.total <= b.most {
		return nil
	}
	// A sixteenth of the budget becomes free, because the search looks at every client.
	out = slices.SortedFunc(maps.Keys(b.held), func(a, z *client) int { return b.held[z] - b.held[a] })
	for i, c := range out {
		if b.total <= b.most-b.most/16 {
			return out[:i]
		}
		b.total -= b.held[c]
		delete(b.held, c)
		b.evicted++
	}
	return out
}

// cutOff ends the connection of a client from outside. Any goroutine may call it.
func (c *client) cutOff(why error) {
	if c.cut.CompareAndSwap(nil, &why) {
		_ = c.conn.Close()
	}
}

// count returns how many clients have been cut off.
func (b *buffers) count() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.evicted
}
