package redis

import (
	"errors"
	"testing"
	"time"

	redigo "github.com/gomodule/redigo/redis"

	"weir/jobs/redislock"
)

// TestRedislock: the locks of redislock work with this server, too.
func TestRedislock(t *testing.T) {
	_, addr := start(t, Config{})
	connect := func() *redislock.Locks {
		p := &redigo.Pool{MaxIdle: 1, Dial: func() (redigo.Conn, error) { return redigo.Dial("tcp", addr) }}
		t.Cleanup(func() { p.Close() })
		return redislock.New(p)
	}
	a, b := connect(), connect()
	lease, err := a.Acquire(t.Context(), "lock", "ann", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Acquire(t.Context(), "lock", "bob", time.Hour); !errors.Is(err, redislock.ErrHeld) {
		t.Errorf("acquired what another holds: %v", err)
	}
	if lease, err = a.Extend(t.Context(), lease, time.Hour); err != nil {
		t.Error(err)
	}
	if left, err := a.Release(t.Context(), lease); left != 0 || err != nil {
		t.Error(left, err)
	}
	if next, err := b.Acquire(t.Context(), "lock", "bob", time.Hour); err != nil || next.Fence <= lease.Fence {
		t.Errorf("fence %d after %d, %v", next.Fence, lease.Fence, err)
	}
}
