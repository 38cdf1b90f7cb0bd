package redis

import (
	"weir/measures/set"
)

const (
	errHashes = "ERR a window key keeps hashes of its ids and cannot list them: ask SCARD, SISMEMBER, SMISMEMBER or SINTERCARD"
	errShared = "ERR SINTERCARD takes one window key, or two without other sets: SQL answers for more, see docs/sql.md"
)

// sharedIDs answers SINTERCARD for window keys, alone or with one other set. A limit of 0
// is none.
func (c call) sharedIDs(sets []*hashset, windows []*set.Answer, limit uint64) {
	n := uint64(0)
	switch {
	case len(sets) == 1 && sets[0] == nil: // nothing is in a key that does not exist
	case len(sets) == 0 && len(windows) == 1:
		n = windows[0].Count()
	case len(sets) == 0 && len(windows) == 2:
		n = windows[0].Common(windows[1])
	case len(sets) == 1 && len(windows) == 1:
		for _, member := range sets[0].members {
			if windows[0].Has([]byte(member)) {
				n++
			}
		}
	default:
		c.w.Error(errShared)
		return
	}
	if limit > 0 {
		n = min(n, limit)
	}
	c.w.Int(int64(n))
}
