package redis

import (
	"context"
	"testing"
	"time"

	redigo "github.com/gomodule/redigo/redis"

	"weir/locks/locktest"
	"weir/locks/redislock"
)

// lockView adapts redislock to the test suite of leases.
type lockView struct {
	l *redislock.Locks
	t *testing.T
}

func plainLease(l redislock.Lease) locktest.Lease {
	return locktest.Lease{Name: l.Name, Owner: l.Owner, Fence: l.Fence, Holds: l.Holds}
}

func (v lockView) Acquire(name, owner string, ttl time.Duration) (locktest.Lease, error) {
	l, err := v.l.Acquire(v.t.Context(), name, owner, ttl)
	return plainLease(l), err
}

func (v lockView) Release(l locktest.Lease) (int, error) {
	return v.l.Release(v.t.Context(), redislock.Lease{Name: l.Name, Owner: l.Owner, Fence: l.Fence})
}

func (v lockView) Extend(l locktest.Lease, ttl time.Duration) (locktest.Lease, error) {
	got, err := v.l.Extend(v.t.Context(), redislock.Lease{Name: l.Name, Owner: l.Owner, Fence: l.Fence}, ttl)
	return plainLease(got), err
}

// TestRedislock: redislock passes the suite with this server, too.
func TestRedislock(t *testing.T) {
	locktest.Run(t, func(t *testing.T) locktest.Pair {
		_, addr := start(t, Config{})
		connect := func() lockView {
			p := &redigo.Pool{MaxIdle: 1, DialContext: func(ctx context.Context) (redigo.Conn, error) {
				return redigo.DialContext(ctx, "tcp", addr)
			}}
			t.Cleanup(func() { p.Close() })
			return lockView{redislock.New(p), t}
		}
		return locktest.Pair{A: connect(), B: connect(), Wait: time.Sleep}
	})
}
