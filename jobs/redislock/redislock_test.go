package redislock

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"weir/internal/await"
	"weir/internal/redistest"
)

func connect(t testing.TB, srv *redistest.Server) *redis.Pool {
	p := &redis.Pool{MaxIdle: 1, DialContext: func(ctx context.Context) (redis.Conn, error) {
		return redis.DialContext(ctx, "tcp", srv.Addr)
	}}
	t.Cleanup(func() { p.Close() })
	return p
}

// TestLeases: what two processes get that share a lock, step by step.
func TestLeases(t *testing.T) {
	srv := redistest.Start(t)
	a, b := New(connect(t, srv)), New(connect(t, srv))
	ctx := t.Context()
	acquires := func(l *Locks, owner string, ttl time.Duration, holds int) Lease {
		t.Helper()
		lease, err := l.Acquire(ctx, "lock", owner, ttl)
		if err != nil || lease.Name != "lock" || lease.Owner != owner || lease.Holds != holds {
			t.Fatalf("%s acquired %+v, %v; want %d holds", owner, lease, err, holds)
		}
		return lease
	}
	refuses := func(l *Locks, owner string) {
		t.Helper()
		if lease, err := l.Acquire(ctx, "lock", owner, time.Hour); !errors.Is(err, ErrHeld) || lease.Fence != 0 {
			t.Fatalf("%s acquired what another holds: %+v, %v", owner, lease, err)
		}
	}
	releases := func(l *Locks, lease Lease, left int) {
		t.Helper()
		if holds, err := l.Release(ctx, lease); err != nil || holds != left {
			t.Fatalf("releasing %+v: %d holds left, %v, want %d", lease, holds, err, left)
		}
	}
	notHeld := func(l *Locks, lease Lease) {
		t.Helper()
		if _, err := l.Release(ctx, lease); !errors.Is(err, ErrNotHeld) {
			t.Fatalf("released %+v, which is not held: %v", lease, err)
		}
		if _, err := l.Extend(ctx, lease, time.Hour); !errors.Is(err, ErrNotHeld) {
			t.Fatalf("extended %+v, which is not held: %v", lease, err)
		}
	}
	// One holder, who may take it again, and gives it back in any order.
	first := acquires(a, "ann", time.Hour, 1)
	second := acquires(a, "ann", time.Millisecond, 2) // which does not shorten it
	refuses(a, "bob")
	refuses(b, "bob")
	if first.Fence != second.Fence || !second.Expires.After(time.Now().Add(time.Minute)) {
		t.Fatalf("one lease is %+v and %+v", first, second)
	}
	for _, forged := range []Lease{
		{Name: "lock", Owner: "bob", Fence: first.Fence}, {Name: "lock", Owner: "ann", Fence: first.Fence + 1}, {Name: "other", Owner: "ann", Fence: first.Fence},
	} {
		notHeld(a, forged)
	}
	notHeld(b, first)
	releases(a, second, 1)
	refuses(b, "bob")
	releases(a, first, 0)
	notHeld(a, first)
	// A lease ends, also one that an extension has shortened, and stays lost.
	lost := acquires(b, "bob", time.Hour, 1)
	if lost.Fence <= first.Fence {
		t.Fatalf("fence %d after %d", lost.Fence, first.Fence)
	}
	if _, err := b.Extend(ctx, lost, time.Millisecond); err != nil {
		t.Fatal(err)
	}
	time.Sleep(20 * time.Millisecond)
	notHeld(b, lost)
	next := acquires(b, "bob", time.Hour, 1) // the count starts anew
	if next.Fence <= lost.Fence {
		t.Fatalf("fence %d after %d", next.Fence, lost.Fence)
	}
	notHeld(b, lost)
	refuses(a, "ann")
	if _, err := b.Extend(ctx, next, 0); !errors.Is(err, ErrTTL) {
		t.Fatalf("extended by 0: %v", err)
	}
	releases(b, next, 0)
	if _, err := a.Acquire(ctx, "lock", "ann", 0); !errors.Is(err, ErrTTL) {
		t.Fatalf("acquired for 0: %v", err)
	}
}

// TestBytes: the lock has the bytes that other clients write with SET NX PX, and
// Acquire respects their locks.
func TestBytes(t *testing.T) {
	srv := redistest.Start(t)
	l := New(connect(t, srv))
	ctx := t.Context()

	srv.Do(t, "SET", "x", "another", "NX", "PX", 60000)
	if lease, err := l.Acquire(ctx, "x", "ann", time.Minute); !errors.Is(err, ErrHeld) {
		t.Fatalf("acquired a lock that is held: %+v, %v", lease, err)
	}
	srv.Do(t, "DEL", "x")
	lease, err := l.Acquire(ctx, "x", "ann", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if lease.Fence != 2 {
		t.Errorf("fence %d after one attempt, want 2", lease.Fence)
	}
	if ttl := srv.Do(t, "PTTL", "x").(int64); ttl < 50_000 || ttl > 60_000 {
		t.Errorf("PTTL = %d", ttl)
	}
	if got := srv.Do(t, "SET", "x", "another", "NX", "PX", 60000); got != nil {
		t.Errorf("SET NX over a lease = %v", got)
	}
	if got := srv.Do(t, "TTL", "{x}:fence"); got != int64(-1) {
		t.Errorf("TTL of the fence = %v, want none", got)
	}
	srv.Do(t, "SET", "x", "another")
	if _, err := l.Release(ctx, lease); !errors.Is(err, ErrNotHeld) {
		t.Errorf("released over a foreign token: %v", err)
	}
	if got := srv.Do(t, "GET", "x"); got != "another" {
		t.Errorf("the token is %v", got)
	}
}

// TestContention: many goroutines stand for several processes, and some of them
// sleep past the end of their leases. The test checks the history for what a
// linearizable lock with fencing allows: fences are unique and grow in the order
// of acquisition, and no lease is acquired while another surely holds.
func TestContention(t *testing.T) {
	srv := redistest.Start(t)
	type span struct {
		fence              uint64
		sent, given, until time.Time // until: released, or the end of the lease
	}
	var mu sync.Mutex
	var history []span
	var wg sync.WaitGroup
	stop := time.Now().Add(1500 * time.Millisecond)
	const enough = 20
	more := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return time.Now().Before(stop) || len(history) < enough
	}
	for i := range 6 {
		l := New(connect(t, srv))
		wg.Go(func() {
			ctx := context.Background()
			owner := fmt.Sprint("owner", i)
			for round := 0; more(); round++ {
				sent := time.Now()
				lease, err := l.Acquire(ctx, "x", owner, 30*time.Millisecond)
				if errors.Is(err, ErrHeld) {
					time.Sleep(time.Millisecond)
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				s := span{lease.Fence, sent, time.Now(), lease.Expires}
				if round%5 == i%5 {
					time.Sleep(40 * time.Millisecond) // too long
				} else {
					time.Sleep(time.Duration(i) * time.Millisecond)
					before := time.Now()
					if _, err := l.Release(ctx, lease); err == nil {
						s.until = before
					} else if !errors.Is(err, ErrNotHeld) {
						t.Error(err)
						return
					}
				}
				mu.Lock()
				history = append(history, s)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	slices.SortFunc(history, func(a, b span) int { return a.given.Compare(b.given) })
	for i, a := range history {
		for _, b := range history[i+1:] {
			if a.fence == b.fence {
				t.Fatalf("fence %d twice", a.fence)
			}
			// a was given before b was asked for.
			if a.given.Before(b.sent) && a.fence > b.fence {
				t.Fatalf("fence %d after %d", b.fence, a.fence)
			}
			// b was given while a stood: a's end was still to come.
			if b.given.Before(a.until) && a.given.Before(b.sent) {
				t.Fatalf("lease %d was given %v before the end of %d", b.fence, a.until.Sub(b.given), a.fence)
			}
		}
	}
}

// TestLostAnswer: after a lost answer, Acquire sends everything again. The second
// attempt finds the lock taken by the first, and holds it.
func TestLostAnswer(t *testing.T) {
	srv := redistest.Start(t)
	pool, first := connect(t, srv), true
	pool.DialContext = func(ctx context.Context) (redis.Conn, error) {
		conn, err := net.Dial("tcp", srv.Addr)
		if err != nil {
			return nil, err
		}
		if first {
			conn, first = deaf{conn}, false
		}
		return redis.NewConn(conn, 0, 0), nil
	}
	l := New(pool)
	lease, err := l.Acquire(t.Context(), "x", "ann", time.Minute)
	if err != nil || lease.Fence != 2 {
		t.Fatalf("%+v, %v, want the second attempt's lease", lease, err)
	}
	if _, err := New(connect(t, srv)).Acquire(t.Context(), "x", "bob", time.Minute); !errors.Is(err, ErrHeld) {
		t.Fatalf("bob: %v", err)
	}
	if _, err := l.Release(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
}

// TestStaleConnection: a connection that the server has closed meanwhile does not
// make a lease fail.
func TestStaleConnection(t *testing.T) {
	srv := redistest.Start(t)
	l := New(connect(t, srv))
	lease, err := l.Acquire(t.Context(), "x", "ann", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if n := srv.Do(t, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"); n == int64(0) {
		t.Fatal("there was no connection to close")
	}
	if _, err := l.Extend(t.Context(), lease, time.Minute); err != nil {
		t.Errorf("Extend: %v", err)
	}
}

// deaf is a connection that breaks when the answer arrives.
type deaf struct{ net.Conn }

func (d deaf) Read(b []byte) (int, error) {
	if _, err := d.Conn.Read(b); err != nil {
		return 0, err
	}
	return 0, io.ErrUnexpectedEOF
}

// ttl is the time to live of leases that Do extends: only a machine that stands
// still for two thirds of it loses one.
const ttl = 15 * time.Second

// TestDoKeepsTheLease: Do holds the lease while f runs for longer than ttl.
func TestDoKeepsTheLease(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	a, b := New(connect(t, srv)), New(connect(t, srv))
	err := a.Do(t.Context(), "x", "ann", ttl, func(inner context.Context, lease Lease) error {
		for range 10 {
			time.Sleep(ttl / 8)
			if err := b.Do(t.Context(), "x", "bob", ttl, func(context.Context, Lease) error { return nil }); !errors.Is(err, ErrHeld) {
				t.Errorf("bob, while ann does: %v", err)
			}
		}
		return inner.Err()
	})
	if err != nil {
		t.Errorf("ann: %v", err)
	}
	if got := srv.Do(t, "EXISTS", "x"); got != int64(0) {
		t.Error("the lock is not given back")
	}
}

func TestDo(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	a := New(connect(t, srv))
	ctx := t.Context()

	// f's error comes through.
	boom := errors.New("boom")
	if err := a.Do(ctx, "x", "ann", ttl, func(context.Context, Lease) error { return boom }); !errors.Is(err, boom) {
		t.Errorf("Do = %v, want f's error", err)
	}

	// Another client deletes the lock, which the next extension notices, a third of
	// the lease later.
	err := a.Do(ctx, "x", "ann", ttl, func(inner context.Context, lease Lease) error {
		srv.Do(t, "SET", "x", "thief")
		select {
		case <-inner.Done():
			if !time.Now().Before(lease.Expires) {
				t.Error("the lost lock was noticed at the end only")
			}
			return context.Cause(inner)
		case <-time.After(await.Never):
			return errors.New("the lost lock was not noticed")
		}
	})
	if !errors.Is(err, ErrNotHeld) {
		t.Errorf("robbed: %v, want ErrNotHeld", err)
	}
	srv.Do(t, "DEL", "x")

	// The caller cancels: f's context ends, and Do gives the lock back.
	giving, up := context.WithCancel(ctx)
	err = a.Do(giving, "x", "ann", ttl, func(inner context.Context, lease Lease) error {
		up()
		<-inner.Done()
		return inner.Err()
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
	if got := srv.Do(t, "EXISTS", "x"); got != int64(0) {
		t.Error("the lock is not given back after giving up")
	}
}

// TestServerGone: without the server, f's context ends with the lease. A timer
// ends it, because no answer comes.
func TestServerGone(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	l := New(connect(t, srv))
	const ttl = 3 * time.Second // long enough to acquire; nothing extends it
	err := l.Do(t.Context(), "x", "ann", ttl, func(inner context.Context, lease Lease) error {
		srv.Stop()
		await.Receive(t, "f is told", inner.Done())
		if !errors.Is(context.Cause(inner), ErrNotHeld) {
			t.Errorf("f is told %v, want ErrNotHeld", context.Cause(inner))
		}
		return nil
	})
	if err == nil {
		t.Error("Do without a server has no error")
	}
	if _, err := l.Acquire(t.Context(), "x", "ann", ttl); err == nil || errors.Is(err, ErrHeld) {
		t.Errorf("Acquire without a server: %v", err)
	}
}
