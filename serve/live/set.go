package live

import (
	"math"

	"weir/sketches/bitmap"
	"weir/window"
)

// setKind answers with a *Set.
var setKind = Kind{
	Name:   window.Set.String(),
	Number: numberOf((*Set).Count),
	Shows:  People,
	Spread: func(value any) float64 {
		s, ok := value.(*Set)
		if !ok {
			return 0
		}
		return s.spread()
	},
	Common: func(a, b any) uint64 {
		x, ok := a.(*Set)
		y, both := b.(*Set)
		if !ok || !both {
			return 0
		}
		return x.Common(y)
	},
	Command: "SCARD",
	Member: func(text string) (func(any) bool, error) {
		return func(value any) bool {
			s, ok := value.(*Set)
			return ok && s.Has([]byte(text))
		}, nil
	},
	begin: func(s *window.Spec, _ *window.Measure) merging {
		return &setValue{bitmapValue{set: new(bitmap.Activity)}, s.HashKey}
	},
}

// A Set is a set of ids, each known by its hash of 32 bits.
type Set struct {
	hashes *bitmap.Activity
	key    *[16]byte // of the hash; nil: none
	n      uint64    // different hashes, because counting them takes milliseconds
}

// NewSet returns a set of hashes, and the key that they were made with.
func NewSet(hashes *bitmap.Activity, key *[16]byte) *Set {
	return &Set{hashes, key, hashes.Count()}
}

// Count returns the number of ids, corrected for those that share a hash.
func (s *Set) Count() uint64 { return bitmap.Distinct(s.n) }

// spread returns the standard error of Count: see bitmap.Distinct.
func (s *Set) spread() float64 { return math.Sqrt(float64(s.Count() - min(s.n, s.Count()))) }

// Has reports whether an id is in the set. Of n ids, an id that is not takes the hash of
// one with a chance of n in 2^32.
func (s *Set) Has(id []byte) bool { return s.hashes.Has(window.SetHash(s.key, id)) }

// Common returns the number of ids that are in both sets. It is the sum of their counts
// less the count of their union: the number of common hashes would also have those of
// different ids, 233 for two sets of a million ids without a common one. A set of another
// hash key has no common hashes with this one but by chance.
func (s *Set) Common(o *Set) uint64 {
	all := bitmap.Distinct(s.n + o.n - s.hashes.CountAnd(o.hashes))
	return s.Count() + o.Count() - min(all, s.Count()+o.Count())
}

// Bytes returns about how much memory the set takes.
func (s *Set) Bytes() int { return int(s.hashes.Bytes()) }

type setValue struct {
	bitmapValue
	key *[16]byte
}

func (v *setValue) mergeState(state []byte) error {
	a, err := bitmap.FromValues(state)
	if err == nil {
		v.set.Merge(a)
	}
	return err
}

func (v *setValue) settle() {
	if v.rows != nil {
		must(v.mergeState(v.rows.AppendValues(nil, 0)))
		v.rows = nil
	}
}

func (v *setValue) mergeAll(others []merging) {
	for _, o := range others {
		v.set.Merge(o.(*setValue).set)
	}
}

func (v *setValue) measured() any { return NewSet(v.set, v.key) }
