package live

import (
	"context"
	"sync"
	"time"
)

// What is made for a question serves others that come soon after: for a
// thousand times as long as making it took, so that however many ask, a tenth of
// a percent of a CPU goes into making it, and four times as long as others were
// waited for (the sink has more to do as well), as far as the ages below allow.
const spared, waiting = 1000, 4

// But no value is handed out that is older: what is dear to make may be older
// than what is not. A value is as old as the oldest of what it was made from, and
// as dear as all of that together.
const (
	dear     = 5 * time.Millisecond
	ageCheap = 2 * time.Second
	ageDear  = 5 * time.Second
)

// An origin says from when a value is, and what it takes to make it with all
// that it is made from.
type origin struct {
	since time.Time
	cost  time.Duration
}

// end is until when a value of that origin may be handed out.
func (o origin) end() time.Time {
	if o.cost > dear {
		return o.since.Add(ageDear)
	}
	return o.since.Add(ageCheap)
}

// A work takes down what making a value took.
type work struct {
	bytes  int64         // about what the value is
	waited time.Duration // for others, of the time it took

	began time.Time
	since time.Time     // from when the oldest ingredient is
	saved time.Duration // what making the ingredients takes, beyond what it took now
}

func newWork() *work {
	now := time.Now()
	return &work{began: now, since: now}
}

// wait runs f, which waits for others.
func (w *work) wait(f func() error) error {
	began := time.Now()
	err := f()
	w.waited += time.Since(began)
	return err
}

// ingredient takes something that get has made, now or before. The time that
// took is one of waiting.
func ingredient[V any](w *work, get func() (V, origin, error)) (V, error) {
	began := time.Now()
	v, o, err := get()
	spent := time.Since(began)
	w.waited += spent
	w.saved += o.cost - spent
	if err == nil && o.since.Before(w.since) {
		w.since = o.since
	}
	return v, err
}

// origin is that of the value, if it is ready now.
func (w *work) origin() origin { return origin{w.since, time.Since(w.began) + w.saved} }

// A reuse makes values by key, each once at a time however many want it, and
// hands them out again for a while. An error is told to those who waited for
// it and forgotten. The zero value is ready.
type reuse[V any] struct {
	most time.Duration // for which anything is served again; zero: as its origin allows

	mu    sync.Mutex
	made  map[string]*making[V]
	swept time.Time
	bytes int64
}

type making[V any] struct {
	done  chan struct{} // closed when the rest is set
	value V
	err   error
	away  bool // the error is that of who made it: called off, or out of time
	from  origin
	bytes int64
	until time.Time
}

// get returns the value of a key, from make or from another caller's.
func (u *reuse[V]) get(ctx context.Context, key string, make func(*work) (V, error)) (V, origin, error) {
	for {
		u.mu.Lock()
		now := time.Now()
		m := u.made[key]
		if m == nil || m.over(now) {
			m = u.begin(key, now)
			u.mu.Unlock()
			return u.finish(ctx, key, m, make)
		}
		u.mu.Unlock()
		select {
		case <-m.done:
		case <-ctx.Done():
			var none V
			return none, origin{}, ctx.Err()
		}
		if m.away && ctx.Err() == nil {
			continue // whoever made it had no time left; we have
		}
		return m.value, m.from, m.err
	}
}

// recent is the value of a key that get would return without waiting or making
// it, if there is one.
func (u *reuse[V]) recent(key string) (v V, known bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	m := u.made[key]
	if m == nil || !m.made() || m.err != nil || m.over(time.Now()) {
		return v, false
	}
	return m.value, true
}

func (m *making[V]) made() bool {
	select {
	case <-m.done:
		return true
	default:
		return false
	}
}

// over reports whether a value has been made and its time is up.
func (m *making[V]) over(now time.Time) bool { return m.made() && !now.Before(m.until) }

// begin puts a new one in the key's place. The caller holds the lock.
func (u *reuse[V]) begin(key string, now time.Time) *making[V] {
	if u.made == nil {
		u.made = map[string]*making[V]{}
	}
	if now.Sub(u.swept) > time.Second { // those whose time is up, and nobody asked again
		u.swept = now
		for k, m := range u.made {
			if m.over(now) {
				u.drop(k, m)
			}
		}
	}
	if old := u.made[key]; old != nil {
		u.drop(key, old)
	}
	m := &making[V]{done: make(chan struct{})}
	u.made[key] = m
	return m
}

func (u *reuse[V]) drop(key string, m *making[V]) {
	delete(u.made, key)
	u.bytes -= m.bytes
}

func (u *reuse[V]) finish(ctx context.Context, key string, m *making[V], make func(*work) (V, error)) (V, origin, error) {
	defer close(m.done)
	w := newWork()
	m.value, m.err = make(w)
	m.away = m.err != nil && ctx.Err() != nil
	m.from = w.origin()
	serves := spared*(time.Since(w.began)-w.waited) + waiting*w.waited
	if u.most > 0 {
		serves = min(serves, u.most)
	}
	if m.until = w.began.Add(serves); m.from.end().Before(m.until) {
		m.until = m.from.end()
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.made[key] != m {
		return m.value, m.from, m.err
	}
	if m.bytes = w.bytes; m.err != nil {
		m.bytes = 0
		delete(u.made, key)
	}
	u.bytes += m.bytes
	return m.value, m.from, m.err
}

// held is about how many bytes are kept, and in how many values.
func (u *reuse[V]) held() (bytes int64, values int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.bytes, len(u.made)
}
