package hll

import (
	"errors"
	"fmt"
	"math/bits"
)

// A Sized is a sketch whose precision p the caller chooses: 2^p registers, a
// standard error of 1.04/√2^p (26 % at 4, 0.81 % at 14, 0.20 % at 18) and 2^p
// bytes from the start. Neither Redis nor ClickHouse reads other precisions
// than 14, for which [Sketch] is the better type. Use NewSized.
type Sized struct {
	p     uint8
	stale bool
	ranks []uint8    // by register
	hist  [64]uint32 // registers by rank, unless stale
}

// The precisions of a Sized.
const (
	MinPrecision = 4
	MaxPrecision = 18
)

// ErrSized is wrapped by every error about the binary form of a Sized.
var ErrSized = errors.New("hll: not a valid sized sketch")

// NewSized returns an empty sketch of precision p, MinPrecision to
// MaxPrecision.
func NewSized(p int) (*Sized, error) {
	if p < MinPrecision || p > MaxPrecision {
		return nil, fmt.Errorf("hll: precision %d, allowed are %d to %d", p, MinPrecision, MaxPrecision)
	}
	s := &Sized{p: uint8(p), ranks: make([]uint8, 1<<p)}
	s.hist[0] = 1 << p
	return s, nil
}

// Precision is p.
func (s *Sized) Precision() int { return int(s.p) }

// Add records an element and tells whether a register rose.
func (s *Sized) Add(b []byte) bool { return s.AddHash(Hash(b)) }

// AddHash is Add for an element already hashed.
func (s *Sized) AddHash(h uint64) bool {
	i := h & uint64(len(s.ranks)-1)
	r := uint8(bits.TrailingZeros64(h>>s.p|1<<(64-s.p)) + 1)
	old := s.ranks[i]
	if old >= r {
		return false
	}
	s.ranks[i] = r
	s.hist[old&63]--
	s.hist[r&63]++
	return true
}

// Count estimates the number of distinct elements added.
func (s *Sized) Count() uint64 {
	if s.stale {
		s.hist = [64]uint32{}
		for _, r := range s.ranks {
			s.hist[r&63]++
		}
		s.stale = false
	}
	return round(estimate(s.hist[:s.maxRank()+1], int(s.hist[0]), float64(len(s.ranks))))
}

func (s *Sized) maxRank() uint8 { return 64 - s.p + 1 }

// Merge makes s the sketch of the union of both, at the lower of the two
// precisions; o is only read. The result is exactly the sketch of that
// precision that the elements would have made.
func (s *Sized) Merge(o *Sized) {
	if s.p > o.p {
		s.Fold(int(o.p))
	}
	for i, r := range o.ranks {
		j, r := fold(uint32(i), r, o.p, s.p)
		s.ranks[j] = max(s.ranks[j], r)
	}
	s.stale = true
}

// Fold lowers the precision to p; a higher or equal p changes nothing. It
// panics on p below MinPrecision.
func (s *Sized) Fold(p int) {
	if p < MinPrecision {
		panic(fmt.Sprintf("hll: fold to precision %d, the lowest is %d", p, MinPrecision))
	}
	if p >= int(s.p) {
		return
	}
	low := make([]uint8, 1<<p)
	for i, r := range s.ranks {
		j, r := fold(uint32(i), r, s.p, uint8(p))
		low[j] = max(low[j], r)
	}
	s.p, s.ranks, s.stale = uint8(p), low, true
}

// fold returns the new register and rank of register i of rank r when the
// precision falls from p to q. The index loses its highest bits, which come
// right before the bits that the rank counts: either the first one bit is among
// them, or they are all zero and the rank grows by their number.
func fold(i uint32, r, p, q uint8) (uint32, uint8) {
	j, lost := i&(1<<q-1), i>>q
	switch {
	case r == 0:
		return j, 0
	case lost != 0:
		return j, uint8(bits.TrailingZeros32(lost)) + 1
	default:
		return j, r + p - q
	}
}

// The binary form of a Sized: "WHLL", version 1, precision, then the ranks, a
// byte each. It is not packed, because a compressor makes it as small as
// packing would.
const sizedHeader = "WHLL\x01"

// AppendBinary appends the sketch in the package's own binary form. It never
// fails.
func (s *Sized) AppendBinary(dst []byte) ([]byte, error) {
	dst = append(dst, sizedHeader...)
	dst = append(dst, s.p)
	return append(dst, s.ranks...), nil
}

// MarshalBinary is AppendBinary to a new slice.
func (s *Sized) MarshalBinary() ([]byte, error) {
	return s.AppendBinary(make([]byte, 0, len(sizedHeader)+1+len(s.ranks)))
}

// UnmarshalBinary replaces s by the sketch in b, of any precision. On error s
// is unchanged.
func (s *Sized) UnmarshalBinary(b []byte) error {
	const header = len(sizedHeader) + 1
	if len(b) < header || string(b[:header-1]) != sizedHeader {
		return fmt.Errorf("%w: no header", ErrSized)
	}
	p := b[header-1]
	if p < MinPrecision || p > MaxPrecision {
		return fmt.Errorf("%w: precision %d, allowed are %d to %d", ErrSized, p, MinPrecision, MaxPrecision)
	}
	if len(b) != header+1<<p {
		return fmt.Errorf("%w: %d bytes, want %d", ErrSized, len(b), header+1<<p)
	}
	t := Sized{p: p, ranks: make([]uint8, 1<<p), stale: true}
	copy(t.ranks, b[header:])
	for i, r := range t.ranks {
		if r > t.maxRank() {
			return fmt.Errorf("%w: register %d of rank %d, at most %d", ErrSized, i, r, t.maxRank())
		}
	}
	*s = t
	return nil
}
