package bitmap

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/RoaringBitmap/roaring/v2"

	"weir/sketches/internal/groupbitmap"
)

// An Activity is a sparse bitmap, for example of the numbers of the users that
// were active in some span of time. It answers as the same Redis bitmap does,
// but its memory grows with the number of ones (Roaring: 2 bytes each where
// they lie close together, at most 8 KB for each 65,536 neighbours), not with
// the highest number.
//
// Like a Redis string it has a length in bytes, which includes trailing zeros:
// see Len. The zero Activity is empty and ready.
type Activity struct {
	ones  roaring.Bitmap
	bytes uint64 // the logical length; every one lies below it
}

// Add sets bit v, which makes user v active.
func (a *Activity) Add(v uint32) {
	a.ones.Add(v)
	a.bytes = max(a.bytes, uint64(v)>>3+1)
}

// AddMany is Add of each.
func (a *Activity) AddMany(vs []uint32) {
	a.ones.AddMany(vs)
	for _, v := range vs {
		a.bytes = max(a.bytes, uint64(v)>>3+1)
	}
}

// SetBit sets bit off to 0 or 1 and returns the bit that was there. Like
// SETBIT it lengthens the bitmap even to set a 0.
func (a *Activity) SetBit(off uint32, bit int) (old int) {
	var changed bool
	if bit == 0 {
		changed = a.ones.CheckedRemove(off)
	} else {
		changed = a.ones.CheckedAdd(off)
	}
	a.bytes = max(a.bytes, uint64(off)>>3+1)
	if changed {
		return 1 - bit
	}
	return bit
}

// Has reports whether bit v is set. (GETBIT)
func (a *Activity) Has(v uint32) bool { return a.ones.Contains(v) }

// Count returns the number of ones. (BITCOUNT)
func (a *Activity) Count() uint64 { return a.ones.GetCardinality() }

// Len returns the length in bytes that the Redis string would have. (STRLEN)
func (a *Activity) Len() uint64 { return a.bytes }

// Bytes is about the memory the bitmap holds.
func (a *Activity) Bytes() uint64 { return a.ones.GetSizeInBytes() }

// CountIn returns the number of ones in a range; see the function of that name.
func (a *Activity) CountIn(start, end int64, unit Unit) uint64 {
	if start < 0 && end < 0 && start > end {
		return 0
	}
	first, last := spanOf(int64(a.bytes), start, end, unit)
	if first > last {
		return 0
	}
	return a.ones.CardinalityInRange(uint64(first), uint64(last)+1)
}

// PosIn returns the first bit of a range that equals bit, or −1; see the function
// of that name.
func (a *Activity) PosIn(bit int, start, end int64, unit Unit) int64 {
	first, last := spanOf(int64(a.bytes), start, end, unit)
	if first > last {
		return -1
	}
	if bit == 1 {
		// The library answers −1 where there is none.
		if pos := a.ones.NextValue(uint32(first)); pos >= first && pos <= last {
			return pos
		}
		return -1
	}
	if a.ones.CardinalityInRange(uint64(first), uint64(last)+1) == uint64(last-first)+1 {
		return -1
	}
	// The first bit x with fewer ones than bits from first to x. (The library
	// has NextAbsentValue, but v2.30.0 gets full containers wrong.)
	for first < last {
		mid := first + (last-first)/2
		if a.ones.CardinalityInRange(uint64(first), uint64(mid)+1) < uint64(mid-first)+1 {
			last = mid
		} else {
			first = mid + 1
		}
	}
	return first
}

// PosFrom returns the first bit from byte start on that equals bit; see the
// function of that name.
func (a *Activity) PosFrom(bit int, start int64) int64 {
	pos := a.PosIn(bit, start, -1, Byte)
	if first, last := spanOf(int64(a.bytes), start, -1, Byte); pos < 0 && bit == 0 && first <= last {
		return 8 * int64(a.bytes)
	}
	return pos
}

// Values calls yield for every one in ascending order.
func (a *Activity) Values(yield func(uint32) bool) {
	for it := a.ones.Iterator(); it.HasNext(); {
		if !yield(it.Next()) {
			return
		}
	}
}

// Combine returns op of the sources, as BITOP does: the length is that of the
// longest, and the error is that of op.Check.
func Combine(op Operation, src ...*Activity) (*Activity, error) {
	if err := op.Check(len(src)); err != nil {
		return nil, err
	}
	out := new(Activity)
	all := make([]*roaring.Bitmap, len(src))
	for i, a := range src {
		out.bytes = max(out.bytes, a.bytes)
		all[i] = &a.ones
	}
	x, rest := all[0], all[1:]
	switch op {
	case And:
		out.ones = *roaring.FastAnd(all...)
	case Or:
		out.ones = *union32(all)
	case Xor:
		out.ones = *roaring.HeapXor(all...)
	case Not:
		out.ones = *roaring.Flip(x, 0, 8*out.bytes)
	case Diff:
		out.ones = *roaring.AndNot(x, union32(rest))
	case Diff1:
		out.ones = *roaring.AndNot(union32(rest), x)
	case AndOr:
		out.ones = *roaring.And(x, union32(rest))
	case One:
		once, seen := x.Clone(), x.Clone()
		for _, y := range rest {
			both := roaring.And(seen, y)
			once.Or(y)
			once.AndNot(both)
			seen.Or(y)
		}
		out.ones = *once
	}
	return out, nil
}

func union32(all []*roaring.Bitmap) *roaring.Bitmap {
	if len(all) == 1 {
		return all[0].Clone()
	}
	return roaring.FastOr(all...)
}

// Merge puts every one of b into a: the union.
func (a *Activity) Merge(b *Activity) {
	a.ones.Or(&b.ones)
	a.bytes = max(a.bytes, b.bytes)
}

// CountAnd returns the number of ones that a and b share, for example the users of
// one day who came back on another. It does not make their bitmap.
func (a *Activity) CountAnd(b *Activity) uint64 { return a.ones.AndCardinality(&b.ones) }

// CountOr returns the number of ones in the union.
func (a *Activity) CountOr(b *Activity) uint64 { return a.ones.OrCardinality(&b.ones) }

// CountAndNot returns the number of ones of a that b does not have.
func (a *Activity) CountAndNot(b *Activity) uint64 { return a.Count() - a.CountAnd(b) }

// Retention says how many of the cohort were active in each later span: entry
// i is the size of the intersection of cohort and later[i].
func Retention(cohort *Activity, later ...*Activity) []uint64 {
	out := make([]uint64, len(later))
	for i, a := range later {
		out[i] = cohort.CountAnd(a)
	}
	return out
}

// Funnel says how many took step 0, how many of those step 1, and so on: entry
// i is the size of the intersection of steps 0 to i.
func Funnel(steps ...*Activity) []uint64 {
	out := make([]uint64, len(steps))
	if len(steps) == 0 {
		return out
	}
	out[0] = steps[0].Count()
	if len(steps) == 1 {
		return out
	}
	left := steps[0].ones.Clone()
	for i, a := range steps[1:] {
		left.And(&a.ones)
		out[i+1] = left.GetCardinality()
	}
	return out
}

// FromBytes makes the sparse form of a Redis bitmap. It panics if b is longer
// than MaxBytes.
func FromBytes(b []byte) *Activity {
	if len(b) > MaxBytes {
		panic("bitmap: a string longer than MaxBytes")
	}
	a := &Activity{bytes: uint64(len(b))}
	vs := make([]uint32, 0, 4096)
	for i := 0; i < len(b); i += 8 {
		var w uint64
		if i+8 <= len(b) {
			w = binary.BigEndian.Uint64(b[i:])
		} else {
			var last [8]byte
			copy(last[:], b[i:])
			w = binary.BigEndian.Uint64(last[:])
		}
		for ; w != 0; w &^= 1 << 63 >> bits.LeadingZeros64(w) {
			vs = append(vs, uint32(i<<3+bits.LeadingZeros64(w)))
		}
		if len(vs) > cap(vs)-64 {
			a.ones.AddMany(vs)
			vs = vs[:0]
		}
	}
	a.ones.AddMany(vs)
	return a
}

// AppendBytes appends the Redis string, all Len bytes of it. (GET)
func (a *Activity) AppendBytes(dst []byte) []byte {
	from := len(dst)
	dst = grow(dst, from+int(a.bytes))
	b := dst[from:]
	var vs [512]uint32
	it := a.ones.ManyIterator()
	for n := it.NextMany(vs[:]); n > 0; n = it.NextMany(vs[:]) {
		for _, v := range vs[:n] {
			b[v>>3] |= 0x80 >> (v & 7)
		}
	}
	return dst
}

// AppendClickHouse appends the bitmap as a state of AggregateFunction(
// groupBitmap, UInt32). The bytes are a function of the set of ones alone; the
// length of the string does not go with them.
func (a *Activity) AppendClickHouse(dst []byte) []byte {
	if n := a.Count(); n <= groupbitmap.SmallMax {
		return groupbitmap.AppendSmall(dst, a.ones.ToArray())
	}
	// The Roaring library's own form depends on the history (runs or not).
	var chunks []groupbitmap.Chunk
	low := make([]uint16, 0, a.Count())
	var vs [512]uint32
	it := a.ones.ManyIterator()
	for n := it.NextMany(vs[:]); n > 0; n = it.NextMany(vs[:]) {
		for _, v := range vs[:n] {
			key := uint16(v >> 16)
			if len(chunks) == 0 || chunks[len(chunks)-1].Key != key {
				chunks = append(chunks, groupbitmap.Chunk{Key: key, Low: low[len(low):]})
			}
			low = append(low, uint16(v)) // low never moves: it has room for all values
			c := &chunks[len(chunks)-1]
			c.Card++
			c.Low = c.Low[:c.Card]
		}
	}
	return groupbitmap.Append(dst, chunks)
}

// FromClickHouse reads a state of AggregateFunction(groupBitmap, UInt32). The
// length is that of the shortest string that holds the ones. Bytes that are
// not such a state give an error.
func FromClickHouse(state []byte) (*Activity, error) {
	a := new(Activity)
	body, err := groupbitmap.Portable(state)
	if err != nil {
		return nil, fmt.Errorf("bitmap: %w", err)
	}
	if body == nil {
		err = groupbitmap.Each(state, func(p groupbitmap.Part) bool {
			for v := range p.Values {
				a.Add(uint32(p.Key)<<16 | uint32(v))
			}
			return true
		})
		return a, err
	}
	if err := a.ones.UnmarshalBinary(body); err != nil {
		return nil, fmt.Errorf("bitmap: %w", err)
	}
	if !a.ones.IsEmpty() {
		a.bytes = uint64(a.ones.Maximum())>>3 + 1
	}
	return a, nil
}
