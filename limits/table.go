package limits

// WhenFull says what a full table does with a key it does not know.
type WhenFull uint8

const (
	// Forget makes room: it forgets the key that would first be as if it had never
	// been used. That key may use again what it had used up: the limiter fails
	// open.
	Forget WhenFull = iota
	// Refuse limits the new key until another key's state is as good as fresh: the
	// limiter fails closed.
	Refuse
)

// table keeps the states of at most capacity keys. It does not keep a state
// that is as good as fresh, so all keys in a full table matter. Which of them
// it forgets depends on the calls alone: the one that is fresh first, of
// several the least key.
type table[S any] struct {
	capacity int
	whenFull WhenFull
	latest   int64 // the latest time seen; time does not go back, because states may have been dropped
	keys     map[string]*node[S]
	heap     []*node[S] // least idle, then least key first
}

type node[S any] struct {
	key   string
	idle  int64 // when the state is as good as fresh
	at    int   // in heap
	state S
}

func newTable[S any](capacity int, whenFull WhenFull) table[S] {
	return table[S]{capacity: max(capacity, 1), whenFull: whenFull, keys: make(map[string]*node[S])}
}

// time returns now, or the latest time seen.
func (t *table[S]) time(now int64) int64 {
	t.latest = max(t.latest, now)
	return t.latest
}

// get returns a key's state, or nil.
func (t *table[S]) get(key []byte) *node[S] { return t.keys[string(key)] }

// put keeps a new key's state, unless it is as good as fresh. It returns false
// if there is no room, and the time when there will be.
func (t *table[S]) put(key []byte, state S, now, idle int64) (ok bool, room int64) {
	if idle <= now {
		return true, 0
	}
	if len(t.heap) >= t.capacity {
		first := t.heap[0]
		if first.idle > now && t.whenFull == Refuse {
			return false, first.idle
		}
		t.remove(first)
	}
	n := &node[S]{key: string(key), idle: idle, at: len(t.heap), state: state}
	t.keys[n.key] = n
	t.heap = append(t.heap, n)
	t.up(n.at)
	return true, 0
}

// moved restores the order after n's state has changed.
func (t *table[S]) moved(n *node[S], now, idle int64) {
	if idle <= now {
		t.remove(n)
		return
	}
	n.idle = idle
	t.up(n.at)
	t.down(n.at)
}

// expire removes the keys that are as good as fresh and returns their number.
func (t *table[S]) expire(now int64) int {
	before := len(t.heap)
	for len(t.heap) > 0 && t.heap[0].idle <= now {
		t.remove(t.heap[0])
	}
	return before - len(t.heap)
}

func (t *table[S]) remove(n *node[S]) {
	delete(t.keys, n.key)
	last := len(t.heap) - 1
	i := n.at
	t.swap(i, last)
	t.heap[last] = nil
	t.heap = t.heap[:last]
	if i < last {
		t.up(i)
		t.down(i)
	}
}

func (t *table[S]) less(i, j int) bool {
	a, b := t.heap[i], t.heap[j]
	return a.idle < b.idle || a.idle == b.idle && a.key < b.key
}

func (t *table[S]) swap(i, j int) {
	h := t.heap
	h[i], h[j] = h[j], h[i]
	h[i].at, h[j].at = i, j
}

func (t *table[S]) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !t.less(i, parent) {
			return
		}
		t.swap(i, parent)
		i = parent
	}
}

func (t *table[S]) down(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(t.heap); child++ {
			if t.less(child, least) {
				least = child
			}
		}
		if least == i {
			return
		}
		t.swap(i, least)
		i = least
	}
}

// Funnels is a table of keys, each with its funnel. The funnel may change
// from call to call, as with CL.THROTTLE.
type Funnels struct{ t table[int64] }

// NewFunnels returns a table of at most capacity keys.
func NewFunnels(capacity int, whenFull WhenFull) *Funnels {
	return &Funnels{newTable[int64](capacity, whenFull)}
}

// Throttle is Funnel.Throttle on the state of a key.
func (t *Funnels) Throttle(key []byte, f Funnel, now, quantity int64) Answer {
	now = t.t.time(now)
	n := t.t.get(key)
	if n != nil {
		a, tat := f.Throttle(n.state, now, quantity)
		n.state = tat
		t.t.moved(n, now, tat)
		return a
	}
	a, tat := f.Throttle(now, now, quantity)
	if ok, room := t.t.put(key, tat, now, tat); !ok {
		return Answer{Limited: true, Limit: f.limit, RetryAfter: room - now}
	}
	return a
}

// Len returns the number of keys kept.
func (t *Funnels) Len() int { return len(t.t.heap) }

// Expire removes the keys whose funnels have run empty by now, which changes
// no answer, and returns their number.
func (t *Funnels) Expire(now int64) int { return t.t.expire(t.t.time(now)) }

// Windows is a table of keys, each with the log of its window. The window may
// change from call to call; events that a shorter period has dropped do not
// come back.
type Windows struct{ t table[*Log] }

// NewWindows returns a table of at most capacity keys.
func NewWindows(capacity int, whenFull WhenFull) *Windows {
	return &Windows{newTable[*Log](capacity, whenFull)}
}

// Allow is Window.Allow on the log of a key.
func (t *Windows) Allow(key []byte, w Window, now int64) Answer {
	now = t.t.time(now)
	n := t.t.get(key)
	if n != nil {
		a := w.Allow(n.state, now)
		t.t.moved(n, now, w.idle(n.state))
		return a
	}
	l := new(Log)
	a := w.Allow(l, now)
	if ok, room := t.t.put(key, l, now, w.idle(l)); !ok {
		return Answer{Limited: true, Limit: int64(w.limit), RetryAfter: room - now}
	}
	return a
}

// Len returns the number of keys kept.
func (t *Windows) Len() int { return len(t.t.heap) }

// Expire removes the keys whose logs are empty by now, which changes no
// answer, and returns their number.
func (t *Windows) Expire(now int64) int { return t.t.expire(t.t.time(now)) }
