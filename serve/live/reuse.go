package live

import (
	"context"
	"sync"
	"time"
)

// A value made for one question also serves the questions that come soon after,
// within the ages below: for spared times the CPU time that it took to make, so
// that making it costs at most a tenth of a percent of a CPU however many
// questions come, plus waiting times the time that it waited for others: the sink then
// spends a hundredth of its time on a question that is asked all the time.
const spared, waiting = 1000, 100

// These are the ages beyond which no value is reused. A value that is dear to
// make may be older than a cheap one. A value is as old as its oldest ingredient,
// and costs as much as all of its ingredients together.
const (
	dear     = 5 * time.Millisecond
	heavy    = 500 * time.Millisecond
	ageCheap = 2 * time.Second
	ageDear  = 5 * time.Second
	ageHeavy = 30 * time.Second
)

// An origin says how old a value is and what it costs to make, its ingredients
// included.
type origin struct {
	since time.Time
	cost  time.Duration
}

// end returns the time until which a value of that origin may be reused.
func (o origin) end() time.Time {
	switch {
	case o.cost > heavy:
		return o.since.Add(ageHeavy)
	case o.cost > dear:
		return o.since.Add(ageDear)
	}
	return o.since.Add(ageCheap)
}

// A work records what it costs to make a value, while it is made.
type work struct {
	bytes  int64         // about the size of the value
	most   time.Duration // the longest time for which it is reused; zero: as long as its origin allows
	waited time.Duration // the part of the time spent waiting for others

	began time.Time
	since time.Time     // the time of the oldest ingredient
	saved time.Duration // what making the ingredients cost before, and not this time
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

// ingredient gets a value that the value is made from, and adds its origin to the
// work. The time for that counts as waiting.
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

// origin returns the origin of the value, which is complete now.
func (w *work) origin() origin { return origin{w.since, time.Since(w.began) + w.saved} }

// A reuse makes values by key and returns them again for a while. If several
// callers want the same key, it makes the value once and the others wait for it.
// An error goes to the callers that waited, and is not kept. The zero value is
// ready to use.
type reuse[V any] struct {
	most time.Duration // the longest time for which a value is reused; zero: as long as its origin allows

	mu    sync.Mutex
	made  map[string]*making[V]
	swept time.Time
	bytes int64
}

type making[V any] struct {
	done  chan struct{} // closed when the fields below are set
	value V
	err   error
	away  bool // the caller that made it was cancelled or ran out of time
	from  origin
	bytes int64
	until time.Time
}

// get returns the value of a key: a kept one, one that another caller is making,
// or what make returns.
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
			continue // the caller that made it ran out of time; this one may have some left
		}
		return m.value, m.from, m.err
	}
}

func (m *making[V]) made() bool {
	select {
	case <-m.done:
		return true
	default:
		return false
	}
}

// over reports whether a value is made and may no longer be reused.
func (m *making[V]) over(now time.Time) bool { return m.made() && !now.Before(m.until) }

// begin replaces the value of a key by a new one that is being made. The caller
// holds the lock.
func (u *reuse[V]) begin(key string, now time.Time) *making[V] {
	if u.made == nil {
		u.made = map[string]*making[V]{}
	}
	if now.Sub(u.swept) > time.Second { // drop the values that may no longer be reused
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
	for _, most := range []time.Duration{u.most, w.most} {
		if most > 0 {
			serves = min(serves, most)
		}
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

// held returns about how many bytes are kept.
func (u *reuse[V]) held() int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.bytes
}
