package locks

// A Lease is a lock that an owner holds. It is the owner's proof for Release
// and Extend.
type Lease struct {
	Name    string
	Owner   string
	Fence   uint64 // greater than that of any earlier lease of this name
	Holds   int    // how often the owner has acquired it and not released it
	Expires int64  // the first nanosecond at which it is free again
}

// Table is the leases of one process. The zero value is empty and ready.
type Table struct {
	leases map[string]Lease
	fence  uint64
	latest int64
}

// Acquire takes the lock called name for owner until now+ttl.
//
// If the owner holds it already, Acquire returns the same lease, with one hold
// more, and its end moves to now+ttl if that is later. If another owner holds
// it, the error is ErrHeld, and the lease is that owner's without its Fence: it
// tells which owner holds the lock and until when, but cannot be used to
// release it.
func (t *Table) Acquire(name, owner string, now, ttl int64) (Lease, error) {
	if ttl <= 0 {
		return Lease{}, ErrTTL
	}
	now = t.time(now)
	l, held := t.current(name, now)
	switch {
	case held && l.Owner != owner:
		l.Fence = 0
		return l, ErrHeld
	case held:
		l.Holds++
		l.Expires = max(l.Expires, end(now, ttl))
	default:
		t.fence++
		l = Lease{Name: name, Owner: owner, Fence: t.fence, Holds: 1, Expires: end(now, ttl)}
	}
	if t.leases == nil {
		t.leases = make(map[string]Lease)
	}
	t.leases[name] = l
	return l, nil
}

// Release gives back one hold of a lease and returns how many are left; with
// the last one the lock is free. The error is ErrNotHeld if the lease has
// ended, even if the lock is held again.
func (t *Table) Release(lease Lease, now int64) (holds int, err error) {
	l, held := t.current(lease.Name, t.time(now))
	if !held || !l.same(lease) {
		return 0, ErrNotHeld
	}
	if l.Holds--; l.Holds == 0 {
		delete(t.leases, l.Name)
	} else {
		t.leases[l.Name] = l
	}
	return l.Holds, nil
}

// Extend makes a lease end at now+ttl, which may also shorten it. The error is
// ErrNotHeld if it has ended: an ended lease cannot be revived, because another
// owner may have held the lock since.
func (t *Table) Extend(lease Lease, now, ttl int64) (Lease, error) {
	if ttl <= 0 {
		return Lease{}, ErrTTL
	}
	now = t.time(now)
	l, held := t.current(lease.Name, now)
	if !held || !l.same(lease) {
		return Lease{}, ErrNotHeld
	}
	l.Expires = end(now, ttl)
	t.leases[l.Name] = l
	return l, nil
}

// Holder returns the lease that holds at the time now, without its Fence.
func (t *Table) Holder(name string, now int64) (l Lease, held bool) {
	l, held = t.current(name, t.time(now))
	l.Fence = 0
	return l, held
}

// Expire drops the leases that have ended, which changes no answer, and
// returns their number.
func (t *Table) Expire(now int64) int {
	now = t.time(now)
	before := len(t.leases)
	for name, l := range t.leases {
		if l.Expires <= now {
			delete(t.leases, name)
		}
	}
	return before - len(t.leases)
}

// Len returns the number of leases kept, ended ones included until Expire.
func (t *Table) Len() int { return len(t.leases) }

// time returns now, or the latest time seen: a lease that was reported as ended
// must not come back.
func (t *Table) time(now int64) int64 {
	t.latest = max(t.latest, now)
	return t.latest
}

// current returns the lease of a name that has not ended at a time.
func (t *Table) current(name string, now int64) (Lease, bool) {
	l, ok := t.leases[name]
	if !ok || l.Expires <= now {
		return Lease{}, false
	}
	return l, true
}

// same reports whether two values are the same lease. Equal owners are not
// enough: an owner may have lost a lease and acquired another, and a call that
// names the first must not end the second.
func (l Lease) same(o Lease) bool { return l.Owner == o.Owner && l.Fence == o.Fence }

// end is now+ttl, or the end of time.
func end(now, ttl int64) int64 {
	if sum := now + ttl; sum > now {
		return sum
	}
	return 1<<63 - 1
}

// A Gate belongs to the resource that a lock protects. It refuses a holder
// whose fencing number is smaller than one that it has seen. The zero value is
// ready, and has seen none.
type Gate struct{ highest uint64 }

// Pass reports whether a holder with this fencing number may act: no greater
// one has passed.
func (g *Gate) Pass(fence uint64) bool {
	if fence < g.highest {
		return false
	}
	g.highest = fence
	return true
}
