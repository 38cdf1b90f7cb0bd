package hll

import (
	"encoding/binary"
	"errors"
)

// A String is a HyperLogLog as Redis keeps it, in a plain string value
// (src/hyperloglog.c):
//
//	"HYLL" | encoding 0 dense, 1 sparse | 3 zero bytes | cached count, 8 bytes LE
//
// and then the registers, at six bits each or as run lengths. The top bit of
// the cached count says that it is stale. A nil String is a missing key.
//
// Each method changes the bytes exactly as the Redis 7.0 command does, in place
// where the length allows. So the caller must own the bytes, and nothing else may
// read them meanwhile. Strings come from outside: each method validates what it
// reads.
type String []byte

const (
	headerBytes = 16
	denseBytes  = headerBytes + packedBytes // 12,304

	encodingDense  = 0
	encodingSparse = 1

	// DefaultSparseMax is Redis' default for hll-sparse-max-bytes: a sparse
	// string that would become longer, header included, is made dense.
	DefaultSparseMax = 3000
)

// Errors, with the text Redis replies.
var (
	ErrNotHLL  = errors.New("WRONGTYPE Key is not a valid HyperLogLog string value.")
	ErrCorrupt = errors.New("INVALIDOBJ Corrupted HLL object detected")
)

// NewString returns an empty sparse HyperLogLog with a cached count of 0.
func NewString() String {
	v := make(String, headerBytes, headerBytes+2)
	copy(v, "HYLL")
	v[4] = encodingSparse
	return appendZeros(v, Registers)
}

// Check tells whether v looks like a HyperLogLog: ErrNotHLL if not. As in Redis
// it looks at the header and at the length of the dense form; the method that
// reads damage further inside returns ErrCorrupt.
func (v String) Check() error {
	if len(v) < headerBytes || string(v[:4]) != "HYLL" || v[4] > encodingSparse {
		return ErrNotHLL
	}
	if v[4] == encodingDense && len(v) != denseBytes {
		return ErrNotHLL
	}
	return nil
}

// Dense reports whether v, a valid string, has its registers at six bits each.
func (v String) Dense() bool { return len(v) == denseBytes && v.isDense() }

func (v String) isDense() bool { return v[4] == encodingDense }

// stale marks the cached count as not to be used.
func (v String) stale() { v[headerBytes-1] |= 1 << 7 }

// Add is PFADD: it records the elements, making the string if v is nil and
// dense where sparse would be longer than sparseMax bytes (hll-sparse-max-bytes).
// It tells whether the string was made or a register rose. On ErrCorrupt,
// earlier elements have been recorded, as in Redis.
func (v *String) Add(sparseMax int, elements ...[]byte) (changed bool, err error) {
	if *v == nil {
		*v = NewString()
		changed = true
	} else if err := v.Check(); err != nil {
		return false, err
	}
	// Most of many elements change nothing. Without the unpacked registers, each of
	// them would cost a walk through the sparse string.
	var known *registers
	unpack := len(elements) >= manyElements
	for _, b := range elements {
		i, r := split(Hash(b))
		sparse := !v.isDense()
		if sparse && unpack {
			unpack = false
			if d := new(registers); v.sparseInto(d) == nil { // damage is found by walking, as in Redis
				known = d
			}
		}
		if sparse && known != nil && known[i] >= r {
			continue
		}
		rose, err := v.raise(i, r, sparseMax)
		if err != nil {
			return changed, err
		}
		if rose {
			changed = true
			if known != nil {
				known[i] = r
			}
		}
	}
	if changed {
		v.stale()
	}
	return changed, nil
}

// manyElements is the number of elements from which it pays to unpack a sparse
// string.
const manyElements = 64

func (v *String) raise(i uint32, r uint8, sparseMax int) (rose bool, err error) {
	if v.isDense() {
		return packedRaise((*v)[headerBytes:], i, r) < r, nil
	}
	_, rose, err = v.raiseSparse(cursor{headerBytes, 0}, i, r, sparseMax)
	return rose, err
}

// Count is PFCOUNT of one key. Where the cached count is stale it computes the
// count and writes it into the string, and says so: in Redis that is a write,
// which it replicates. A valid cached count is returned whatever the registers
// say.
func (v String) Count() (n uint64, wrote bool, err error) {
	if v == nil {
		return 0, false, nil
	}
	if err := v.Check(); err != nil {
		return 0, false, err
	}
	if v[headerBytes-1]>>7 == 0 {
		return binary.LittleEndian.Uint64(v[8:]), false, nil
	}
	var h histogram
	if v.isDense() {
		h = packedHistogram(v[headerBytes:])
	} else if h, err = v.sparseHistogram(); err != nil {
		return 0, false, err
	}
	n = h.count(int(h[0]))
	binary.LittleEndian.PutUint64(v[8:], n)
	return n, true, nil
}

// CountStrings is PFCOUNT of several keys: the count of their union. It neither
// uses nor writes cached counts. Nil strings count as empty.
func CountStrings(strings ...String) (uint64, error) {
	var d registers
	if _, err := d.raiseAll(strings); err != nil {
		return 0, err
	}
	h := d.histogram()
	return h.count(int(h[0])), nil
}

// raiseAll raises d to each of the strings and tells whether any is dense.
func (d *registers) raiseAll(strings []String) (anyDense bool, err error) {
	for _, v := range strings {
		if v == nil {
			continue
		}
		if err := v.Check(); err != nil {
			return false, err
		}
		if v.isDense() {
			maxString(d, v)
			anyDense = true
		} else if err := v.sparseInto(d); err != nil {
			return false, err
		}
	}
	return anyDense, nil
}

// Merge is PFMERGE into v, which takes part itself: v becomes the union, dense
// if any of them is, with its count stale. No source makes it an empty
// HyperLogLog if it was nil. On error v is unchanged.
func (v *String) Merge(sparseMax int, sources ...String) error {
	var d registers
	dense, err := d.raiseAll([]String{*v})
	if err != nil {
		return err
	}
	more, err := d.raiseAll(sources)
	if err != nil {
		return err
	}
	if *v == nil {
		*v = NewString()
	}
	if dense || more {
		if _, err := v.ToDense(); err != nil {
			return err
		}
		d.pack((*v)[headerBytes:])
	} else if err := v.raiseInOrder(&d, sparseMax); err != nil {
		return err
	}
	v.stale()
	return nil
}

// ToDense is PFDEBUG TODENSE: it makes v dense and tells whether it was not.
// The cached count stays as it is.
func (v *String) ToDense() (converted bool, err error) {
	if err := v.Check(); err != nil {
		return false, err
	}
	if v.isDense() {
		return false, nil
	}
	var d registers
	if err := v.sparseInto(&d); err != nil {
		return false, err
	}
	b := make(String, denseBytes)
	copy(b, (*v)[:headerBytes])
	b[4] = encodingDense
	d.pack(b[headerBytes:])
	*v = b
	return true, nil
}

// MergeRedis merges a Redis string into s. On error s is unchanged. The cached
// count is not looked at. A nil string is empty.
func (s *Sketch) MergeRedis(v String) error {
	var d registers
	dense, err := d.raiseAll([]String{v})
	if err != nil {
		return err
	}
	h := d.histogram()
	for _, c := range h[MaxRank+1:] {
		if c != 0 { // six bits hold more than a hash can reach
			return ErrCorrupt
		}
	}
	if dense {
		s.merge(view{dense: &d})
		return nil
	}
	for i, r := range d {
		if r != 0 {
			s.raise(entry(i<<rankBits) | entry(r))
		}
	}
	return nil
}

// AppendRedis appends the sketch as a Redis string with a stale count: the bytes
// that PFMERGE gives for sparse sources of these registers. They depend on the
// registers and on sparseMax alone.
func (s *Sketch) AppendRedis(dst []byte, sparseMax int) []byte {
	var d registers
	d.merge(s.view())
	v := NewString()
	if err := v.raiseInOrder(&d, sparseMax); err != nil {
		panic("hll: " + err.Error()) // v is our own and whole
	}
	v.stale()
	return append(dst, v...)
}
