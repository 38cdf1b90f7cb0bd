// Package locks holds leases: locks that expire.
//
// An owner acquires a lease for some time. The same owner may acquire it again
// (the lease counts its holds), and only that owner can release or extend it. A
// lease cannot stop a holder that was suspended past its end from acting as if
// it still held it. For that, every lease has a fencing number, greater than
// that of any earlier lease of the same name. The holder sends the number with
// each operation on the resource that the lock protects, and the resource
// refuses a number smaller than the greatest that it has seen (see Gate).
//
//	var t locks.Table
//	lease, err := t.Acquire("rollup", "worker-1", now, 30e9)
//	…
//	_, err = t.Release(lease, now)
//
// # Contract
//
// Table reads no clock: times are nanoseconds from any origin and come with
// every call, so the same calls give the same leases. Where a call's time is
// earlier than that of a call before, the later one counts. A Table is not safe
// for concurrent use. Package redislock holds the same leases on a Redis
// server, for several processes.
package locks

import "errors"

var (
	// ErrHeld is returned for a lock that another owner holds.
	ErrHeld = errors.New("locks: held by another owner")
	// ErrNotHeld is returned for a release or an extension of a lease that has
	// ended, or that the caller never had.
	ErrNotHeld = errors.New("locks: not held")
	// ErrTTL is returned for a lease that would end as soon as it begins.
	ErrTTL = errors.New("locks: a lease needs a positive time to live")
)
