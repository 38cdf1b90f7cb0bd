package set

import (
	"math"

	"weir/measures/face"
	"weir/sketches/idset"
	"weir/window"
)

// Live answers with an *Answer.
var Live = face.Live{
	Number: face.NumberOf((*Answer).Count, 0),
	Shows:  face.People,
	Spread: func(ids float64) float64 { // see idset.Count
		const all = 1 << 32
		return math.Sqrt(math.Round(ids + all*math.Expm1(-ids/all)))
	},
	Common:  face.CommonOf((*Answer).Common),
	Command: "SCARD",
	Member:  face.MemberOf((*Answer).Has),
	Value: func(row window.Row, m int) any {
		hashes := new(idset.Pool)
		hashes.Grow(1)
		pool, i := Of(row, m)
		hashes.Merge(0, pool, i)
		hashes.Settle(0) // so that many may read it
		return NewAnswer(hashes, row.Spec().HashKey)
	},
}

// An Answer is a set of ids, each known by its hash of 32 bits.
type Answer struct {
	hashes *idset.Pool // set 0
	key    *[16]byte   // of the hash; nil: none
}

// NewAnswer returns the set of the hashes in set 0 of a pool, and the key that they were made with.
func NewAnswer(hashes *idset.Pool, key *[16]byte) *Answer { return &Answer{hashes, key} }

// Count returns the number of ids, corrected for those that share a hash.
func (s *Answer) Count() uint64 { return idset.Count(s.hashes.Len(0)) }

// Has reports whether an id is in the set. Of n ids, an id that is not takes the hash of
// one with a chance of n in 2^32.
func (s *Answer) Has(id []byte) bool { return s.hashes.Has(0, Hash(s.key, id)) }

// Common returns the number of ids that are in both sets. It is the sum of their counts
// less the count of their union: the number of common hashes would also have those of
// different ids, 233 for two sets of a million ids without a common one. A set of another
// hash key has no common hashes with this one but by chance.
func (s *Answer) Common(o *Answer) uint64 {
	all := idset.Count(s.hashes.Len(0) + o.hashes.Len(0) - s.hashes.Common(0, o.hashes, 0))
	return s.Count() + o.Count() - min(all, s.Count()+o.Count())
}

// Bytes returns about how much memory the set takes.
func (s *Answer) Bytes() int { return s.hashes.Bytes() }
