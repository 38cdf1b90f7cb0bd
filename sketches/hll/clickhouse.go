package hll

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// The forms of a uniqCombined64(14) state (ClickHouse,
// src/Common/CombinedCardinalityEstimator.h): a list of 64-bit keys, or all
// registers with the histogram of their ranks. ClickHouse reads a key as a
// hash: its low 14 bits name the register, the rest gives the rank. So this
// package writes a register as a made-up key that has just that register and
// rank.
const (
	clickhouseSmall  = 1 // up to 16 keys
	clickhouseMedium = 2 // a longer list
	clickhouseLarge  = 3

	clickhouseSmallMax = 16
	// clickhouseListMax is the longest list of keys that is written; a larger
	// sketch is written as registers. Compressed with ZSTD(1), as the column is, a
	// list of 100 keys takes 281 bytes and the registers 297; at 300 it is 813
	// against 724. ClickHouse itself writes lists up to 512, of real hashes, which
	// compress worse.
	clickhouseListMax = 100

	clickhouseTrailer    = (MaxRank+1)*4 + 2
	clickhouseLargeBytes = 1 + packedBytes + clickhouseTrailer
)

// ErrState is wrapped by every error about a ClickHouse state.
var ErrState = errors.New("hll: not a valid uniqCombined64(14) state")

// AppendClickHouse appends the state of a ClickHouse column of type
// AggregateFunction(uniqCombined64(14), UInt64), as it stands in a Native
// block. The bytes depend on the registers alone, not on the order of
// additions. ClickHouse merges such states as this package does. ClickHouse's
// own function for the count (uniqCombined64Merge) is a less exact estimator;
// the count of this package is a function of the state's ranks that SQL can
// compute.
func (s *Sketch) AppendClickHouse(dst []byte) []byte {
	if s.dense == nil {
		return appendClickHouseEntries(dst, s.table, s.n)
	}
	s.refresh()
	return appendClickHouseDense(dst, s.dense, &s.hist)
}

// AppendClickHouse appends the state of sketch i: see
// [Sketch.AppendClickHouse].
func (p *Pool) AppendClickHouse(dst []byte, i uint32) []byte {
	l := p.line(i)
	if l.form == formDense {
		return appendClickHouseDense(dst, p.dense[l.number], p.histogram(l))
	}
	var buf [inline]entry
	list, b := p.registersOf(l, &buf)
	dst = appendClickHouseEntries(dst, list, len(list))
	giveBack(b)
	return dst
}

// appendClickHouseEntries appends n registers, given as a list with gaps.
func appendClickHouseEntries(dst []byte, list []entry, n int) []byte {
	if n > clickhouseListMax {
		dst, b := appendClickHouseLarge(dst)
		for _, e := range list {
			if e != 0 {
				packedRaise(b, e.register(), e.rank())
			}
		}
		h := countRanks(list)
		putClickHouseTrailer(b[packedBytes:], &h, Registers-n)
		return dst
	}
	var sorted [clickhouseListMax]entry
	k := 0
	for _, e := range list {
		if e != 0 {
			sorted[k] = e
			k++
		}
	}
	slices.Sort(sorted[:k])
	return appendClickHouseList(dst, sorted[:k])
}

// appendClickHouseList appends at most clickhouseListMax registers in order.
func appendClickHouseList(dst []byte, sorted []entry) []byte {
	form := byte(clickhouseSmall)
	if len(sorted) > clickhouseSmallMax {
		form = clickhouseMedium
	}
	dst = append(dst, form, byte(len(sorted))) // a varint below 128 is one byte
	for _, e := range sorted {
		dst = binary.LittleEndian.AppendUint64(dst, e.hash())
	}
	return dst
}

// hash returns the simplest hash that falls into e's register with e's rank. A hash
// of the highest rank has no one bit at all.
func (e entry) hash() uint64 {
	h := uint64(e.register())
	if r := e.rank(); r < MaxRank {
		h |= 1 << (Precision - 1 + r)
	}
	return h
}

func appendClickHouseDense(dst []byte, d *registers, h *histogram) []byte {
	n := h.nonzero()
	if n <= clickhouseListMax {
		sorted := make([]entry, 0, clickhouseListMax)
		for i, r := range d {
			if r != 0 {
				sorted = append(sorted, entry(i<<rankBits)|entry(r))
			}
		}
		return appendClickHouseList(dst, sorted)
	}
	dst, b := appendClickHouseLarge(dst)
	d.pack(b)
	putClickHouseTrailer(b[packedBytes:], h, Registers-n)
	return dst
}

// appendClickHouseLarge appends the large form with all registers zero and
// returns where they start.
func appendClickHouseLarge(dst []byte) (extended, body []byte) {
	at := len(dst)
	dst = slices.Grow(dst, clickhouseLargeBytes)[:at+clickhouseLargeBytes]
	dst[at] = clickhouseLarge
	body = dst[at+1:]
	clear(body)
	return dst, body
}

func putClickHouseTrailer(b []byte, h *histogram, zeros int) {
	binary.LittleEndian.PutUint32(b, uint32(zeros))
	for r := 1; r <= MaxRank; r++ {
		binary.LittleEndian.PutUint32(b[4*r:], uint32(h[r]))
	}
	binary.LittleEndian.PutUint16(b[4*(MaxRank+1):], uint16(zeros))
}

// MergeClickHouse merges the uniqCombined64(14) state at the beginning of b
// into s and returns the state's length: a Native block holds states one after
// another, without their lengths. On error s is unchanged. The keys of a list
// may be real hashes, as ClickHouse writes them, if the same hash function made
// them as those of s.
func (s *Sketch) MergeClickHouse(b []byte) (n int, err error) {
	list, packed, n, err := parseClickHouse(b)
	if err != nil {
		return 0, err
	}
	if packed == nil {
		for ; len(list) > 0; list = list[8:] {
			s.AddHash(binary.LittleEndian.Uint64(list))
		}
		return n, nil
	}
	var d registers
	if err := unpackClickHouse(&d, packed); err != nil {
		return 0, err
	}
	s.merge(view{dense: &d})
	return n, nil
}

// MergeClickHouse merges the state at the beginning of b into sketch i: see
// [Sketch.MergeClickHouse].
func (p *Pool) MergeClickHouse(i uint32, b []byte) (n int, err error) {
	l := p.line(i)
	list, packed, n, err := parseClickHouse(b)
	if err != nil {
		return 0, err
	}
	if packed == nil {
		for ; len(list) > 0; list = list[8:] {
			p.raise(l, entryOf(binary.LittleEndian.Uint64(list)))
		}
		return n, nil
	}
	var d registers
	if err := unpackClickHouse(&d, packed); err != nil {
		return 0, err
	}
	p.merge(l, view{dense: &d})
	return n, nil
}

// parseClickHouse finds the keys, 8 bytes each, or the registers and trailer
// of the state at the beginning of b, and its length. It copies nothing.
func parseClickHouse(b []byte) (list, packed []byte, n int, err error) {
	if len(b) == 0 {
		return nil, nil, 0, fmt.Errorf("%w: no bytes", ErrState)
	}
	switch form := b[0]; form {
	case clickhouseSmall, clickhouseMedium:
		keys, k := binary.Uvarint(b[1:])
		if k <= 0 {
			return nil, nil, 0, fmt.Errorf("%w: number of keys cut off or too long", ErrState)
		}
		if form == clickhouseSmall && keys > clickhouseSmallMax {
			return nil, nil, 0, fmt.Errorf("%w: %d keys in the small form, at most %d", ErrState, keys, clickhouseSmallMax)
		}
		body := b[1+k:]
		if keys > uint64(len(body)/8) {
			return nil, nil, 0, fmt.Errorf("%w: %d keys in %d bytes", ErrState, keys, len(body))
		}
		return body[:keys*8], nil, 1 + k + int(keys)*8, nil
	case clickhouseLarge:
		if len(b) < clickhouseLargeBytes {
			return nil, nil, 0, fmt.Errorf("%w: large form of %d bytes, want %d", ErrState, len(b), clickhouseLargeBytes)
		}
		return nil, b[1:clickhouseLargeBytes], clickhouseLargeBytes, nil
	default:
		return nil, nil, 0, fmt.Errorf("%w: form %d", ErrState, form)
	}
}

// unpackClickHouse reads registers and compares the trailer with them. Newer
// servers ignore the trailer; older ones compute with it without a check.
func unpackClickHouse(d *registers, b []byte) error {
	d.unpack(b)
	h := d.histogram()
	for r, c := range h[MaxRank+1:] {
		if c != 0 {
			return fmt.Errorf("%w: %d registers of rank %d, at most %d", ErrState, c, MaxRank+1+r, MaxRank)
		}
	}
	var want [clickhouseTrailer]byte
	putClickHouseTrailer(want[:], &h, Registers-h.nonzero())
	if string(want[:]) != string(b[packedBytes:]) {
		return fmt.Errorf("%w: histogram does not match the registers", ErrState)
	}
	return nil
}
