package bitmap

import (
	"fmt"

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

// Has reports whether bit v is set. (GETBIT)
func (a *Activity) Has(v uint32) bool { return a.ones.Contains(v) }

// Count returns the number of ones. (BITCOUNT)
func (a *Activity) Count() uint64 { return a.ones.GetCardinality() }

// Len returns the length in bytes that the Redis string would have. (STRLEN)
func (a *Activity) Len() uint64 { return a.bytes }

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

// CountAnd returns the number of ones that a and b share, for example the users of
// one day who came back on another. It does not make their bitmap.
func (a *Activity) CountAnd(b *Activity) uint64 { return a.ones.AndCardinality(&b.ones) }

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
