// Package locktest is the test suite that every implementation of leases must
// pass.
package locktest

import (
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"weir/locks"
)

// A Lease is what the suite needs of a lease.
type Lease struct {
	Name, Owner string
	Fence       uint64
	Holds       int
}

// Locks is the implementation under test.
type Locks interface {
	Acquire(name, owner string, ttl time.Duration) (Lease, error)
	Release(Lease) (holds int, err error)
	Extend(l Lease, ttl time.Duration) (Lease, error)
}

// A Pair is two views of the same locks, as two processes have them (or the
// same view twice), and a function that lets time pass.
type Pair struct {
	A, B Locks
	Wait func(time.Duration)
}

// Unit is the suite's unit of time: times to live are a few units, and waits
// differ from them by at least one. If the machine pauses for longer, a failure
// means nothing, and the test runs again with new locks.
const Unit = 150 * time.Millisecond

// never is how long the suite repeats a test because the machine pauses, before it fails.
const never = 3 * time.Minute

// Run runs the suite, its tests in parallel. It calls open for each test, which
// returns fresh locks that no other test uses.
func Run(t *testing.T, open func(t *testing.T) Pair) {
	for _, c := range []struct {
		name string
		test func(*check)
	}{
		{"one holder", oneHolder},
		{"fences grow", fencesGrow},
		{"re-entrant", reentrant},
		{"re-entering never shortens", reenteringNeverShortens},
		{"expires", expires},
		{"extend", extend},
		{"only the holder", onlyTheHolder},
		{"a lost lease stays lost", lostStaysLost},
		{"names are apart", namesApart},
		{"fencing", fencing},
		{"time to live", timeToLive},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for deadline := time.Now().Add(never); ; {
				k := &check{t: t, Pair: open(t), last: time.Now()}
				done := make(chan struct{})
				go func() { defer close(done); c.test(k) }() // a goroutine of its own, which fatalf ends
				<-done
				switch {
				case k.failure == "":
					return
				case !k.paused || time.Now().After(deadline):
					t.Fatal(k.failure)
				}
			}
		})
	}
}

// check ends a run of a test at the first mistake.
type check struct {
	t *testing.T
	Pair
	last    time.Time // when the previous step ended
	paused  bool      // a step took so long that leases may have ended under it
	failure string
}

// step notes whether a step took longer than was meant.
func (c *check) step(meant time.Duration) {
	now := time.Now()
	c.paused = c.paused || now.Sub(c.last)-meant > Unit/2
	c.last = now
}

func (c *check) fatalf(format string, args ...any) {
	c.step(0)
	c.failure = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func (c *check) acquires(l Locks, owner string, units int, holds int) Lease {
	lease, err := l.Acquire("lock", owner, time.Duration(units)*Unit)
	if err != nil {
		c.fatalf("%s cannot acquire: %v", owner, err)
	}
	if lease.Name != "lock" || lease.Owner != owner || lease.Fence == 0 || lease.Holds != holds {
		c.fatalf("%s acquired %+v, want %d holds", owner, lease, holds)
	}
	c.step(0)
	return lease
}

func (c *check) refuses(l Locks, owner string) {
	if lease, err := l.Acquire("lock", owner, 10*Unit); !errors.Is(err, locks.ErrHeld) || lease.Fence != 0 {
		c.fatalf("%s acquired what another holds: %+v, %v", owner, lease, err)
	}
	c.step(0)
}

func (c *check) releases(l Locks, lease Lease, left int) {
	if holds, err := l.Release(lease); err != nil || holds != left {
		c.fatalf("releasing %+v: %d holds left, %v, want %d", lease, holds, err, left)
	}
	c.step(0)
}

func (c *check) extends(l Locks, lease Lease, units int) {
	got, err := l.Extend(lease, time.Duration(units)*Unit)
	if err != nil || got.Fence != lease.Fence || got.Owner != lease.Owner {
		c.fatalf("extending %+v: %+v, %v", lease, got, err)
	}
	c.step(0)
}

func (c *check) notHeld(l Locks, lease Lease) {
	if holds, err := l.Release(lease); !errors.Is(err, locks.ErrNotHeld) {
		c.fatalf("released %+v, which is not held: %d holds left, %v", lease, holds, err)
	}
	if got, err := l.Extend(lease, 10*Unit); !errors.Is(err, locks.ErrNotHeld) {
		c.fatalf("extended %+v, which is not held: %+v, %v", lease, got, err)
	}
	c.step(0)
}

func (c *check) wait(units int) {
	d := time.Duration(units) * Unit
	c.Wait(d)
	c.step(d)
}

func oneHolder(c *check) {
	lease := c.acquires(c.A, "ann", 20, 1)
	c.refuses(c.A, "bob")
	c.refuses(c.B, "bob")
	c.releases(c.A, lease, 0)
	lease = c.acquires(c.B, "bob", 20, 1)
	c.refuses(c.A, "ann")
	c.releases(c.B, lease, 0)
}

func fencesGrow(c *check) {
	last := uint64(0)
	for i := range 10 {
		l, owner := c.A, "ann"
		if i%3 == 1 {
			l, owner = c.B, "bob"
		}
		lease := c.acquires(l, owner, 20, 1)
		if lease.Fence <= last {
			c.fatalf("fence %d after %d", lease.Fence, last)
		}
		last = lease.Fence
		c.refuses(c.A, "eve")
		c.releases(l, lease, 0)
	}
}

func reentrant(c *check) {
	first := c.acquires(c.A, "ann", 20, 1)
	second := c.acquires(c.A, "ann", 20, 2)
	third := c.acquires(c.A, "ann", 20, 3)
	if first.Fence != second.Fence || second.Fence != third.Fence {
		c.fatalf("one lease has fences %d, %d and %d", first.Fence, second.Fence, third.Fence)
	}
	c.releases(c.A, first, 2) // in any order
	c.releases(c.A, third, 1)
	c.refuses(c.B, "bob")
	c.releases(c.A, second, 0)
	c.notHeld(c.A, first)
	c.releases(c.B, c.acquires(c.B, "bob", 20, 1), 0)
}

func reenteringNeverShortens(c *check) {
	lease := c.acquires(c.A, "ann", 6, 1)
	c.acquires(c.A, "ann", 1, 2)
	c.wait(3)
	c.refuses(c.B, "bob")
	c.releases(c.A, lease, 1)
	c.acquires(c.A, "ann", 10, 2)
	c.wait(6)
	c.refuses(c.B, "bob")
	c.releases(c.A, lease, 1)
	c.releases(c.A, lease, 0)
}

func expires(c *check) {
	ann := c.acquires(c.A, "ann", 2, 1)
	c.refuses(c.B, "bob")
	c.wait(4)
	bob := c.acquires(c.B, "bob", 20, 1)
	if bob.Fence <= ann.Fence {
		c.fatalf("fence %d after %d", bob.Fence, ann.Fence)
	}
	c.notHeld(c.A, ann)
	c.refuses(c.A, "ann")
	c.releases(c.B, bob, 0)
}

func extend(c *check) {
	lease := c.acquires(c.A, "ann", 4, 1)
	for range 4 {
		c.wait(2)
		c.extends(c.A, lease, 4)
	}
	c.refuses(c.B, "bob")
	c.extends(c.A, lease, 1) // an extension may also shorten it
	c.wait(3)
	c.notHeld(c.A, lease)
	c.releases(c.B, c.acquires(c.B, "bob", 20, 1), 0)
}

func onlyTheHolder(c *check) {
	lease := c.acquires(c.A, "ann", 20, 1)
	for _, forged := range []Lease{
		{Name: "lock", Owner: "bob", Fence: lease.Fence, Holds: 1},
		{Name: "lock", Owner: "ann", Fence: lease.Fence + 1, Holds: 1},
		{Name: "lock", Owner: "ann", Fence: lease.Fence - 1, Holds: 1},
		{Name: "lock", Owner: "", Fence: 0},
		{Name: "other", Owner: "ann", Fence: lease.Fence, Holds: 1},
	} {
		c.notHeld(c.A, forged)
		c.notHeld(c.B, forged)
	}
	c.releases(c.A, lease, 0)
	c.notHeld(c.A, lease)
}

// lostStaysLost: an owner that has lost a lease and acquired another must not
// end the second by a call that names the first.
func lostStaysLost(c *check) {
	first := c.acquires(c.A, "ann", 2, 1)
	c.acquires(c.A, "ann", 2, 2)
	c.wait(4)
	second := c.acquires(c.A, "ann", 20, 1) // the count starts anew
	if second.Fence <= first.Fence {
		c.fatalf("fence %d after %d", second.Fence, first.Fence)
	}
	c.notHeld(c.A, first)
	c.refuses(c.B, "bob")
	c.releases(c.A, second, 0)
}

func namesApart(c *check) {
	a, errA := c.A.Acquire("x", "ann", 20*Unit)
	b, errB := c.B.Acquire("y", "bob", 20*Unit)
	if errA != nil || errB != nil {
		c.fatalf("two locks: %v, %v", errA, errB)
	}
	c.notHeld(c.A, Lease{Name: "y", Owner: a.Owner, Fence: a.Fence, Holds: 1})
	c.releases(c.A, a, 0)
	c.releases(c.B, b, 0)
}

// fencing: the gate refuses a holder that acts after the end of its lease.
func fencing(c *check) {
	var gate locks.Gate
	ann := c.acquires(c.A, "ann", 2, 1)
	if !gate.Pass(ann.Fence) {
		c.fatalf("the first holder is refused")
	}
	c.wait(4)
	bob := c.acquires(c.B, "bob", 20, 1)
	for range 2 {
		if !gate.Pass(bob.Fence) {
			c.fatalf("the second holder is refused")
		}
	}
	if gate.Pass(ann.Fence) {
		c.fatalf("the first holder acts after the second")
	}
	c.releases(c.B, bob, 0)
}

func timeToLive(c *check) {
	for _, ttl := range []time.Duration{0, -1, -time.Hour} {
		if lease, err := c.A.Acquire("lock", "ann", ttl); !errors.Is(err, locks.ErrTTL) {
			c.fatalf("acquired for %v: %+v, %v", ttl, lease, err)
		}
	}
	lease := c.acquires(c.A, "ann", 20, 1)
	if got, err := c.A.Extend(lease, 0); !errors.Is(err, locks.ErrTTL) {
		c.fatalf("extended by 0: %+v, %v", got, err)
	}
	c.releases(c.A, lease, 0)
}
