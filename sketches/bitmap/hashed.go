package bitmap

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
)

// Distinct returns how many different ids have likely set so many bits of a bitmap, each
// one bit of 2^32 by its hash: −2^32·ln(1 − bits/2^32), rounded. Two ids may share a bit,
// so there are more ids than bits: one more from 65,536 bits on, 116 more for a million. The
// standard error is about the square root of that difference. It is linear counting
// (Whang, Vander-Zanden and Taylor, 1990). A bitmap with all bits set counts as one with
// all but one.
func Distinct(bits uint64) uint64 {
	const all = 1 << 32
	return uint64(math.Floor(0.5 - all*math.Log1p(-float64(min(bits, all-1))/all)))
}

// A set of hashes has values that lie far from each other. As chunks, nearly each value of a
// set of less than 65,536 would be a chunk of its own, of ten bytes and an allocation for
// whoever reads it. So such sets have another form: their values, four bytes each.

// AppendValues appends the values of set i in ascending order, each in four bytes,
// little-endian: the elements of ClickHouse's Array(UInt32).
func (p *Pool) AppendValues(dst []byte, i uint32) []byte {
	e := &p.ents[i]
	p.order[0] = p.order[0][:0]
	switch e.form {
	case formFlat:
		p.eachFlat(&p.flat[e.ref], func(v uint32) { p.order[0] = append(p.order[0], v) })
		p.sort32()
	case formSet:
		p.chunks, p.low = p.sets[e.ref].chunks(&p.box, p.chunks[:0], p.low[:0])
		for _, c := range p.chunks {
			for v := range c.Values {
				p.order[0] = append(p.order[0], uint32(c.Key)<<16|uint32(v))
			}
		}
	default:
		var single [1]uint32
		p.order[0] = append(p.order[0], p.few(e, &single)...)
		slices.Sort(p.order[0])
	}
	dst = slices.Grow(dst, 4*len(p.order[0]))
	for _, v := range p.order[0] {
		dst = binary.LittleEndian.AppendUint32(dst, v)
	}
	return dst
}

var errValues = errors.New("bitmap: values take four bytes each")

// MergeValues puts values, in the form of AppendValues but in any order, into set i. If they
// are not well formed, it returns an error and changes nothing.
func (p *Pool) MergeValues(i uint32, values []byte) error {
	if len(values)%4 != 0 {
		return errValues
	}
	for ; len(values) > 0; values = values[4:] {
		p.Add(i, binary.LittleEndian.Uint32(values))
	}
	return nil
}

// FromValues reads values in the form that MergeValues reads.
func FromValues(values []byte) (*Activity, error) {
	if len(values)%4 != 0 {
		return nil, errValues
	}
	all := make([]uint32, 0, len(values)/4)
	for ; len(values) > 0; values = values[4:] {
		all = append(all, binary.LittleEndian.Uint32(values))
	}
	slices.Sort(all) // each is put behind those before it, which does not move them
	a := new(Activity)
	a.AddMany(all)
	return a, nil
}
