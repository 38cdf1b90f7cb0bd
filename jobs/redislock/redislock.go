// Package redislock holds leases, locks that expire, on a server that speaks the Redis
// protocol, for processes that share the server.
//
// An owner acquires a lease for some time. The same owner may acquire it again
// (the lease counts its holds), and only that owner can release or extend it. A
// lease cannot stop a holder that was suspended past its end from acting as if
// it still held it. For that, every lease has a fencing number, greater than the
// number of any earlier lease of the same name. The holder sends the number with
// each operation on the protected resource. The resource refuses a number smaller
// than the greatest that it has seen.
//
//	l := redislock.New(&redis.Pool{DialContext: …})
//	err := l.Do(ctx, "rollup", "worker-1", 30*time.Second,
//		func(ctx context.Context, lease redislock.Lease) error { … })
//
// # What the server holds
//
// Under the lock's name, a token that expires (SET name token NX PX ttl). Other
// clients of such locks use the same key, so they and this package exclude each
// other. Under {name}:fence, a counter that never expires: every attempt to
// acquire increments it in the same transaction, and the attempt that succeeds
// takes it as its fencing number. The process itself counts the holds of a
// re-entrant lease.
//
// # What it promises
//
// One holder at a time, as long as the server keeps its data, and its clock and
// this machine's run at the same speed. A server that fails over to a replica
// which lacks the last writes can give a lock twice, and a fencing number twice.
// Where that matters, use the lock to save work, not for correctness.
//
// A Lease counts from before the command was sent, so it ends in this process no
// later than on the server. An Acquire that fails on the network may have taken
// the lock; the lock is then free after its time to live.
package redislock

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gomodule/redigo/redis"
)

var (
	// ErrHeld is returned for a lock that another owner holds.
	ErrHeld = errors.New("redislock: held by another owner")
	// ErrNotHeld is returned for a release or an extension of a lease that has
	// ended, or that the caller never had.
	ErrNotHeld = errors.New("redislock: not held")
	// ErrTTL is returned for a lease that would end as soon as it begins.
	ErrTTL = errors.New("redislock: a lease needs a positive time to live")
)

// The two well-known scripts: compare and delete, compare and extend. They are
// sent as text (EVAL), so that a server without an interpreter can recognise
// them.
const (
	ReleaseScript = `if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("del",KEYS[1]) else return 0 end`
	ExtendScript  = `if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("pexpire",KEYS[1],ARGV[2]) else return 0 end`
)

// A Lease is a lock that an owner holds.
type Lease struct {
	Name    string
	Owner   string
	Fence   uint64    // greater than that of any earlier lease of this name
	Holds   int       // how often the owner has acquired it and not released it
	Expires time.Time // on this machine's monotonic clock
}

// Locks are the locks of one server, as one process uses them. It is safe for
// concurrent use; goroutines that name the same owner share its leases.
type Locks struct {
	pool *redis.Pool

	// One command at a time: an acquisition must not overtake the release before
	// it, and two acquisitions of one owner must not both find the lock free.
	mu   sync.Mutex
	held map[holder]*hold
}

type holder struct{ name, owner string }

type hold struct {
	Lease
	token string
}

// New returns the locks of the server that the pool connects to. The caller
// closes the pool, and sets in it how long a connection waits for an answer.
func New(pool *redis.Pool) *Locks {
	return &Locks{pool: pool, held: make(map[holder]*hold)}
}

// Acquire takes the lock called name for owner, for ttl (at least a
// millisecond; fractions of one are dropped).
//
// If the owner holds it already through l, Acquire returns the same lease, with
// one hold more, and it lasts at least ttl. If another owner or process holds
// it, the error is ErrHeld. Any other error is the network's or the
// server's.
func (l *Locks) Acquire(ctx context.Context, name, owner string, ttl time.Duration) (Lease, error) {
	if ttl < time.Millisecond {
		return Lease{}, ErrTTL
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	key := holder{name, owner}
	if h := l.held[key]; h != nil {
		switch err := l.extend(ctx, h, max(ttl, time.Until(h.Expires))); {
		case err == nil:
			h.Holds++
			return h.Lease, nil
		case !errors.Is(err, ErrNotHeld):
			return Lease{}, err
		}
		delete(l.held, key) // the lease is lost; the lock may be free again
	}

	h := &hold{Lease{Name: name, Owner: owner, Holds: 1, Expires: time.Now().Add(ttl)}, owner + ":" + rand.Text()}
	// Acquire ignores the reply to SET. If a network error makes send repeat all
	// this, the second SET finds the token of the first. In both cases GET tells
	// whose lock it is, and INCR gives a valid fencing number.
	replies, err := redis.Values(l.send(ctx, func(c redis.Conn) (any, error) {
		// Do returns an error of Send too.
		_ = c.Send("MULTI")
		_ = c.Send("SET", name, h.token, "NX", "PX", ttl.Milliseconds())
		_ = c.Send("INCR", fenceKey(name))
		_ = c.Send("GET", name)
		return redis.DoContext(c, ctx, "EXEC")
	}))
	var set any
	var fence uint64
	var token string
	if err == nil {
		_, err = redis.Scan(replies, &set, &fence, &token)
	}
	if err != nil {
		return Lease{}, fmt.Errorf("redislock: acquire %s: %w", name, err)
	}
	if token != h.token {
		return Lease{}, ErrHeld
	}
	h.Fence = fence
	l.held[key] = h
	return h.Lease, nil
}

// send runs f on a connection, and once more on a new connection after an error
// that is not the server's: a connection in the pool may have been closed long
// ago, and an answer may be lost.
func (l *Locks) send(ctx context.Context, f func(redis.Conn) (any, error)) (any, error) {
	var reply any
	var err error
	for range 2 {
		var c redis.Conn
		if c, err = l.pool.GetContext(ctx); err != nil {
			return nil, err
		}
		reply, err = f(c)
		_ = c.Close() // gives it back; a broken one is closed
		var said redis.Error
		if err == nil || errors.As(err, &said) || ctx.Err() != nil {
			break
		}
	}
	return reply, err
}

// eval runs one of the scripts on the lock of a hold.
func (l *Locks) eval(ctx context.Context, script string, h *hold, args ...any) (int, error) {
	return redis.Int(l.send(ctx, func(c redis.Conn) (any, error) {
		return redis.DoContext(c, ctx, "EVAL", append([]any{script, 1, h.Name, h.token}, args...)...)
	}))
}

// fenceKey is in the same slot of a cluster as the lock, unless the name has
// braces of its own.
func fenceKey(name string) string { return "{" + name + "}:fence" }

// Release gives back one hold of a lease and returns how many are left; with the
// last one the lock is free. The error is ErrNotHeld if the lease has
// ended. After another error the hold is given back in this process, and the
// lock is free at the end of its lease at the latest.
func (l *Locks) Release(ctx context.Context, lease Lease) (holds int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	h, err := l.find(lease)
	if err != nil {
		return 0, err
	}
	if h.Holds > 1 {
		if !time.Now().Before(h.Expires) {
			delete(l.held, holder{h.Name, h.Owner})
			return 0, ErrNotHeld
		}
		h.Holds--
		return h.Holds, nil
	}
	delete(l.held, holder{h.Name, h.Owner})
	n, err := l.eval(ctx, ReleaseScript, h)
	if err != nil {
		return 0, fmt.Errorf("redislock: release %s: %w", h.Name, err)
	}
	if n == 0 {
		return 0, ErrNotHeld
	}
	return 0, nil
}

// Extend makes a lease last for ttl from now, which may also shorten it. The
// error is ErrNotHeld if it has ended.
func (l *Locks) Extend(ctx context.Context, lease Lease, ttl time.Duration) (Lease, error) {
	if ttl < time.Millisecond {
		return Lease{}, ErrTTL
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	h, err := l.find(lease)
	if err != nil {
		return Lease{}, err
	}
	if err := l.extend(ctx, h, ttl); err != nil {
		if errors.Is(err, ErrNotHeld) {
			delete(l.held, holder{h.Name, h.Owner})
		}
		return Lease{}, err
	}
	return h.Lease, nil
}

// find returns the hold of a lease, if it is the one that its owner has now.
func (l *Locks) find(lease Lease) (*hold, error) {
	h := l.held[holder{lease.Name, lease.Owner}]
	if h == nil || h.Fence != lease.Fence {
		return nil, ErrNotHeld
	}
	return h, nil
}

func (l *Locks) extend(ctx context.Context, h *hold, ttl time.Duration) error {
	expires := time.Now().Add(ttl)
	n, err := l.eval(ctx, ExtendScript, h, ttl.Milliseconds())
	if err != nil {
		return fmt.Errorf("redislock: extend %s: %w", h.Name, err)
	}
	if n == 0 {
		return ErrNotHeld
	}
	h.Expires = expires
	return nil
}

// Do acquires the lock and runs f while it holds it. It does not wait for the
// lock: if it is taken, the error is ErrHeld. Do extends the lease every
// third of ttl. If the lease ends or is lost, Do cancels f's context with the
// reason as its cause, waits for f, and returns the reason; otherwise it returns
// f's error.
func (l *Locks) Do(ctx context.Context, name, owner string, ttl time.Duration, f func(context.Context, Lease) error) error {
	lease, err := l.Acquire(ctx, name, owner, ttl)
	if err != nil {
		return err
	}
	inner, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.keep(inner, cancel, lease, ttl)
	}()
	err = f(inner, lease)
	lost := context.Cause(inner)
	if ctx.Err() != nil {
		lost = nil // the caller cancelled ctx
	}
	cancel(nil)
	<-done

	// Do gives the lock back even if the caller has cancelled ctx.
	back, stop := context.WithTimeout(context.WithoutCancel(ctx), ttl)
	defer stop()
	_, releaseErr := l.Release(back, lease)
	switch {
	case lost != nil:
		return lost
	case err == nil && errors.Is(releaseErr, ErrNotHeld):
		return releaseErr // the lease ended while f ran, which no extension had noticed
	}
	return err
}

// keep extends a lease until ctx is done, and cancels it when the lease ends:
// by a timer, because a network call may take longer than the lease lasts.
func (l *Locks) keep(ctx context.Context, cancel context.CancelCauseFunc, lease Lease, ttl time.Duration) {
	end := time.AfterFunc(time.Until(lease.Expires), func() { cancel(ErrNotHeld) })
	defer end.Stop()
	tick := time.NewTicker(ttl / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		// Other errors may be temporary; the timer bounds how long keep tries again.
		switch extended, err := l.Extend(ctx, lease, ttl); {
		case err == nil:
			end.Reset(time.Until(extended.Expires))
		case errors.Is(err, ErrNotHeld):
			cancel(err)
		}
	}
}
