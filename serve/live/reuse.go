package live

import (
	"context"
	"errors"
	"sync"
	"time"
)

// A value that was made for one question also serves those that come soon after, for serves
// times as long as making it took. So a question costs at most half a percent of a CPU, or of
// the sink's time, however often it is asked. No value serves once the oldest thing that it is
// made from is as old as oldest.
const (
	serves = 200
	oldest = 30 * time.Second
)

// A work says of a value what reuse must know, while it is made.
type work struct {
	since time.Time // of the oldest thing that it is made from; at first when the work began
	bytes int64     // about the size of the value
	once  bool      // the value serves no later question
}

// from takes in that the value is made from one of a time.
func (w *work) from(since time.Time) {
	if since.Before(w.since) {
		w.since = since
	}
}

// A reuse makes values by key and returns them again for a while. If several callers want the
// same key, one of them makes the value and the others wait for it. An error goes to the
// callers that waited, and is not kept. The zero value is ready to use.
type reuse[V any] struct {
	mu    sync.Mutex
	made  map[string]*making[V]
	swept time.Time
}

type making[V any] struct {
	done  chan struct{} // closed when the fields below are set
	value V
	err   error
	left  bool // the caller that made it was cancelled or ran out of time
	work
	until time.Time // when it serves no longer
}

// get returns the value of a key, and the time of the oldest thing that it is made from: a
// kept value, one that another caller is making, or what make returns.
func (u *reuse[V]) get(ctx context.Context, key string, make func(*work) (V, error)) (V, time.Time, error) {
	for {
		m, begun := u.find(key)
		if begun {
			m.make(ctx, make)
			return m.value, m.since, m.err
		}
		select {
		case <-m.done:
		case <-ctx.Done():
			var none V
			return none, time.Time{}, ctx.Err()
		}
		if m.left && ctx.Err() == nil {
			continue // this caller may have some time left
		}
		return m.value, m.since, m.err
	}
}

// find returns the value of a key; begun says that the caller must make it.
func (u *reuse[V]) find(key string) (m *making[V], begun bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	now := time.Now()
	if m = u.made[key]; m != nil && !m.over(now) {
		return m, false
	}
	if u.made == nil {
		u.made = map[string]*making[V]{}
	}
	if now.Sub(u.swept) > time.Second {
		u.swept = now
		for k, m := range u.made {
			if m.over(now) {
				delete(u.made, k)
			}
		}
	}
	m = &making[V]{done: make(chan struct{}), work: work{since: now}}
	u.made[key] = m
	return m, true
}

// over reports whether a value is made and serves no longer.
func (m *making[V]) over(now time.Time) bool {
	select {
	case <-m.done:
		return !now.Before(m.until)
	default:
		return false
	}
}

// errFault is what those get who wait for a value whose making panicked.
var errFault = errors.New("live: answering failed by a fault of weir; its log has it")

func (m *making[V]) make(ctx context.Context, make func(*work) (V, error)) {
	defer close(m.done)
	m.err = errFault // of a panic, which the caller reports: others that wait must not take it for nothing counted
	began := m.since
	m.value, m.err = make(&m.work)
	if m.left = m.err != nil && ctx.Err() != nil; m.err != nil || m.once {
		return
	}
	if m.until = began.Add(serves * time.Since(began)); m.since.Add(oldest).Before(m.until) {
		m.until = m.since.Add(oldest)
	}
}

// held returns about how many bytes are kept.
func (u *reuse[V]) held() (n int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, m := range u.made {
		select {
		case <-m.done:
			n += m.bytes
		default:
		}
	}
	return n
}
