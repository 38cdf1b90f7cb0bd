// Package locks is the lease: a lock that its holder loses when time runs out.
//
// A lease is acquired for a while by an owner, is acquired again by the same
// owner at will (it counts), and is released or extended by nobody else. What
// a lease cannot do is to stop a holder that has slept past its end from
// acting as if it still held it. For that, every lease has a fencing number,
// greater than that of any lease of the same name before: whoever acts on
// what the lock protects passes it along, and whoever owns that refuses a
// number smaller than it has seen (see Gate).
//
//	var t locks.Table
//	lease, err := t.Acquire("rollup", "worker-1", now, 30e9)
//	…
//	_, err = t.Release(lease, now)
//
// # Contract
//
// Table reads no clock: times are nanoseconds from any origin and come in with
// every call, so the same calls give the same leases. An earlier time than
// before is taken as the latest one. Nothing here locks goroutines out: one at
// a time. Package redislock is the same over a Redis server, for processes.
package locks

import "errors"

var (
	// ErrHeld is returned to those who would acquire what another owner holds.
	ErrHeld = errors.New("locks: held by another owner")
	// ErrNotHeld is returned to those who would release or extend what they do
	// not hold, or not any more.
	ErrNotHeld = errors.New("locks: not held")
	// ErrTTL is returned for a lease that would end when it begins.
	ErrTTL = errors.New("locks: a lease needs a positive time to live")
)
