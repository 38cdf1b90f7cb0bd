package locks_test

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"weir/locks"
	"weir/locks/locktest"
)

// inProcess is a Table with a clock that the test moves.
type inProcess struct {
	table locks.Table
	now   int64
}

func (p *inProcess) Acquire(name, owner string, ttl time.Duration) (locktest.Lease, error) {
	l, err := p.table.Acquire(name, owner, p.now, int64(ttl))
	return locktest.Lease{Name: l.Name, Owner: l.Owner, Fence: l.Fence, Holds: l.Holds}, err
}

func (p *inProcess) Release(l locktest.Lease) (int, error) {
	return p.table.Release(locks.Lease{Name: l.Name, Owner: l.Owner, Fence: l.Fence}, p.now)
}

func (p *inProcess) Extend(l locktest.Lease, ttl time.Duration) (locktest.Lease, error) {
	got, err := p.table.Extend(locks.Lease{Name: l.Name, Owner: l.Owner, Fence: l.Fence}, p.now, int64(ttl))
	return locktest.Lease{Name: got.Name, Owner: got.Owner, Fence: got.Fence, Holds: got.Holds}, err
}

func TestConformance(t *testing.T) {
	locktest.Run(t, func(*testing.T) locktest.Pair {
		p := &inProcess{now: 1_700_000_000e9}
		return locktest.Pair{A: p, B: p, Wait: func(d time.Duration) { p.now += int64(d) }}
	})
}

// A world is the table, and the leases that its callers have got.
type world struct {
	table  *table
	now    int64
	handed []locks.Lease // Holds and Expires as last returned; Holds 0 once released
	fence  uint64        // the greatest handed out
}

// table is the table that a world explores; TestEverySequenceSees replaces it
// by ones with mistakes.
type table struct {
	locks.Table
	acquire func(t *locks.Table, owner string, now, ttl int64) (locks.Lease, error)
	release func(t *locks.Table, l locks.Lease, now int64) (int, error)
	extend  func(t *locks.Table, l locks.Lease, now, ttl int64) (locks.Lease, error)
}

func right() *table {
	return &table{
		acquire: func(t *locks.Table, owner string, now, ttl int64) (locks.Lease, error) {
			return t.Acquire("x", owner, now, ttl)
		},
		release: (*locks.Table).Release,
		extend:  (*locks.Table).Extend,
	}
}

// live returns the index of the lease that has not ended, or -1.
func (w *world) live() int {
	for i, l := range w.handed {
		if l.Holds > 0 && w.now < l.Expires {
			return i
		}
	}
	return -1
}

// A move is one call; do makes it and checks the answer against the leases
// handed out.
type move struct {
	name string
	do   func(*world) error
}

func moves() []move {
	var out []move
	for _, owner := range []string{"ann", "bob"} {
		for _, ttl := range []int64{1, 3} {
			out = append(out, move{fmt.Sprintf("%s acquires for %d", owner, ttl), func(w *world) error {
				live := w.live()
				got, err := w.table.acquire(&w.table.Table, owner, w.now, ttl)
				if live >= 0 && w.handed[live].Owner != owner {
					if !errors.Is(err, locks.ErrHeld) || got.Fence != 0 || got.Owner != w.handed[live].Owner {
						return fmt.Errorf("%+v, %w, but %+v stands", got, err, w.handed[live])
					}
					return nil
				}
				want := locks.Lease{Name: "x", Owner: owner, Fence: got.Fence, Holds: 1, Expires: w.now + ttl}
				if live >= 0 {
					want.Fence = w.handed[live].Fence
					want.Holds = w.handed[live].Holds + 1
					want.Expires = max(want.Expires, w.handed[live].Expires)
				} else if got.Fence <= w.fence {
					return fmt.Errorf("fence %d after %d", got.Fence, w.fence)
				}
				if err != nil || got != want {
					return fmt.Errorf("%+v, %w, want %+v", got, err, want)
				}
				if live >= 0 {
					w.handed[live] = got
				} else {
					w.handed = append(w.handed, got)
					w.fence = got.Fence
				}
				return nil
			}})
		}
	}
	for back := range 3 { // the last three leases
		nth := func(w *world) (int, bool) { i := len(w.handed) - 1 - back; return i, i >= 0 }
		out = append(out, move{fmt.Sprintf("lease -%d is released", back), func(w *world) error {
			i, ok := nth(w)
			if !ok {
				return nil
			}
			stands := w.live() == i
			holds, err := w.table.release(&w.table.Table, w.handed[i], w.now)
			if !stands {
				if !errors.Is(err, locks.ErrNotHeld) {
					return fmt.Errorf("%d, %w for %+v, which does not stand", holds, err, w.handed[i])
				}
				return nil
			}
			if w.handed[i].Holds--; err != nil || holds != w.handed[i].Holds {
				return fmt.Errorf("%d, %w, want %d", holds, err, w.handed[i].Holds)
			}
			return nil
		}}, move{fmt.Sprintf("lease -%d is extended", back), func(w *world) error {
			i, ok := nth(w)
			if !ok {
				return nil
			}
			stands := w.live() == i
			got, err := w.table.extend(&w.table.Table, w.handed[i], w.now, 2)
			if !stands {
				if !errors.Is(err, locks.ErrNotHeld) {
					return fmt.Errorf("%+v, %w for %+v, which does not stand", got, err, w.handed[i])
				}
				return nil
			}
			w.handed[i].Expires = w.now + 2
			if err != nil || got != w.handed[i] {
				return fmt.Errorf("%+v, %w, want %+v", got, err, w.handed[i])
			}
			return nil
		}})
	}
	return append(out, move{"time passes", func(w *world) error { w.now++; return nil }},
		move{"ended leases are dropped", func(w *world) error { w.table.Expire(w.now); return nil }})
}

// explore tries every sequence of moves of a length and returns the first that
// fails.
func explore(w *world, left int, all []move, path []string) error {
	if left == 0 {
		return nil
	}
	for _, m := range all {
		next := &world{table: new(table), now: w.now, handed: append([]locks.Lease(nil), w.handed...), fence: w.fence}
		*next.table = *w.table
		next.table.Table = w.table.Copy()
		path := append(path, m.name)
		if err := m.do(next); err != nil {
			return fmt.Errorf("%q: %w", path, err)
		}
		if err := explore(next, left-1, all, path); err != nil {
			return err
		}
	}
	return nil
}

// TestEverySequence: all 248,832 sequences of five calls get the expected
// answers.
func TestEverySequence(t *testing.T) {
	if err := explore(&world{table: right(), now: 100}, 5, moves(), nil); err != nil {
		t.Error(err)
	}
}

// TestEverySequenceSees plants mistakes, which the exploration must find.
func TestEverySequenceSees(t *testing.T) {
	for name, plant := range map[string]func(*table){
		"the end belongs to the lease": func(t *table) {
			t.acquire = func(t *locks.Table, owner string, now, ttl int64) (locks.Lease, error) {
				return t.Acquire("x", owner, now-1, ttl)
			}
		},
		"release by owner, not by lease": func(t *table) {
			t.release = func(t *locks.Table, l locks.Lease, now int64) (int, error) {
				for l.Fence = 1; l.Fence < 9; l.Fence++ {
					if n, err := t.Release(l, now); err == nil {
						return n, nil
					}
				}
				return 0, locks.ErrNotHeld
			}
		},
		"extend revives": func(t *table) {
			t.extend = func(t *locks.Table, l locks.Lease, now, ttl int64) (locks.Lease, error) {
				if got, err := t.Extend(l, now, ttl); err == nil {
					return got, nil
				}
				return t.Acquire("x", l.Owner, now, ttl)
			}
		},
		"release drops all holds": func(t *table) {
			t.release = func(t *locks.Table, l locks.Lease, now int64) (n int, err error) {
				for n, err = t.Release(l, now); err == nil && n > 0; n, err = t.Release(l, now) {
				}
				return n, err
			}
		},
		"any process enters": func(t *table) {
			t.acquire = func(t *locks.Table, owner string, now, ttl int64) (locks.Lease, error) {
				l, err := t.Acquire("x", "all", now, ttl)
				l.Owner = owner
				return l, err
			}
		},
		"fences start anew": func(t *table) {
			t.acquire = func(t *locks.Table, owner string, now, ttl int64) (locks.Lease, error) {
				if _, held := t.Holder("x", now); !held {
					*t = locks.Table{}
				}
				return t.Acquire("x", owner, now, ttl)
			}
		},
		"re-entering shortens": func(t *table) {
			t.acquire = func(t *locks.Table, owner string, now, ttl int64) (locks.Lease, error) {
				l, err := t.Acquire("x", owner, now, ttl)
				if err == nil {
					l, err = t.Extend(l, now, ttl)
				}
				return l, err
			}
		},
	} {
		w := &world{table: right(), now: 100}
		plant(w.table)
		err := explore(w, 5, moves(), nil)
		if err == nil {
			t.Errorf("%s: not found", name)
		} else {
			t.Logf("%s: %v", name, err)
		}
	}
}

// TestTimeDoesNotGoBack: a lease that was reported as ended stays ended, even
// if the time goes back.
func TestTimeDoesNotGoBack(t *testing.T) {
	var table locks.Table
	lease, err := table.Acquire("x", "ann", 100, 10)
	if err != nil {
		t.Fatal(err)
	}
	if _, held := table.Holder("x", 110); held {
		t.Fatal("the lease stands at its end")
	}
	if l, held := table.Holder("x", 105); held {
		t.Errorf("the lease is back: %+v", l)
	}
	if _, err := table.Extend(lease, 101, 10); !errors.Is(err, locks.ErrNotHeld) {
		t.Errorf("extended what was over: %v", err)
	}
}

func TestExpire(t *testing.T) {
	var table locks.Table
	for i := range 100 {
		if _, err := table.Acquire(fmt.Sprint(i), "ann", 0, int64(i+1)); err != nil {
			t.Fatal(err)
		}
	}
	if n := table.Expire(40); n != 40 || table.Len() != 60 {
		t.Errorf("%d dropped, %d left, want 40 and 60", n, table.Len())
	}
	if l, held := table.Holder("99", 40); !held || l.Owner != "ann" || l.Fence != 0 {
		t.Errorf("Holder = %+v, %v", l, held)
	}
}

// TestForever: the end of the longest lease does not overflow into the past.
func TestForever(t *testing.T) {
	var table locks.Table
	if _, err := table.Acquire("x", "ann", 1<<62, math.MaxInt64); err != nil {
		t.Fatal(err)
	}
	if _, err := table.Acquire("x", "bob", 1<<62+1<<61, 1); !errors.Is(err, locks.ErrHeld) {
		t.Errorf("bob: %v, want ErrHeld", err)
	}
}

func ExampleTable() {
	var t locks.Table
	ann, _ := t.Acquire("rollup", "ann", 0, 30e9)
	_, err := t.Acquire("rollup", "bob", 10e9, 30e9)
	fmt.Println("bob:", err)

	// Ann's process sleeps past the end of its lease.
	bob, _ := t.Acquire("rollup", "bob", 40e9, 30e9)
	_, err = t.Release(ann, 41e9)
	fmt.Println("ann:", err)

	var gate locks.Gate
	fmt.Println(gate.Pass(bob.Fence), gate.Pass(ann.Fence))
	// Output:
	// bob: locks: held by another owner
	// ann: locks: not held
	// true false
}
