package event

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
)

// A Zone has the offsets from UTC that clocks of a place show, for times that are written without one.
//
// Where clocks are put forward, they do not show some times; where they are put back, they show some twice. Such a time is one
// of the offset from before the change: 02:30 in a night that has no 02:30 is 03:30, and the first 02:30 of a night
// that has two.
type Zone struct {
	Name    string
	changes []change
}

// From a time on, as clocks show it, they have an offset.
type change struct{ from, offset Time }

// Change says that clocks have an offset from a time on. The changes must be in order. The first offset is also that of
// all times before.
func (z *Zone) Change(at, offset Time) {
	if n := len(z.changes); n == 0 {
		z.changes = append(z.changes, change{math.MinInt64, offset})
	} else if before := z.changes[n-1].offset; before != offset {
		z.changes = append(z.changes, change{at + max(before, offset), offset})
	}
}

// UTC returns the time at which clocks show a time. Without a zone they show UTC.
func (z *Zone) UTC(shown Time) Time {
	if z == nil {
		return shown
	}
	i, found := slices.BinarySearchFunc(z.changes, shown, func(c change, t Time) int { return cmp.Compare(c.from, t) })
	if !found {
		i--
	}
	return shown - z.changes[i].offset
}

// String returns the name, and a digest of the changes. Stored meanings contain it, because governments change zones.
func (z *Zone) String() string {
	h := fnv.New32a()
	_, _ = fmt.Fprint(h, z.changes) // never fails
	return fmt.Sprintf("%s, rules %08x", z.Name, h.Sum32())
}
