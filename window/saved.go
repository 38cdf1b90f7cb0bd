package window

import (
	"encoding/binary"
	"math"

	"weir/event"
	"weir/sketches/hll"
)

// Line.Saved is the state of a partition in the middle of a chunk, so that the next owner goes on at Line.Next. It
// begins with that offset, most significant byte first: so of two of a line the greater one is the later one.
// Eight bytes of a digest follow, and the state. At the end of a chunk the offset stands alone, and replaces what was
// there before.
//
// The state is a function of the log, like everything that it is made of. So a stored value does not
// depend on whether a process found it or read the chunk again.

const (
	savedHead = 16
	mostSaved = 1 << 20 // bytes; a chunk with more is read again
)

// saves reports whether lines have Saved. Of a job that looks back, the filters would be too large. Chunks of arrays are short.
func (s *Spec) saves() bool {
	return s.SaveAfter > 0 && s.SaveAfter < s.Chunk && !s.LooksBack() && s.Each == ""
}

// digest tells whether a saved state is whole, and was made by a process that counts the same.
func (s *Spec) digest(state []byte) uint64 {
	b := []byte(s.Meaning())
	for i := range s.Measures {
		b = append(append(b, s.Measures[i].Name...), s.Measures[i].Meaning()...)
	}
	return hll.Hash(binary.BigEndian.AppendUint64(b, hll.Hash(state)))
}

// resumes returns the offset at which a partition can go on with a saved state; ok is false if it cannot.
func (s *Spec) resumes(saved string) (next int64, ok bool) {
	b := []byte(saved)
	if !s.saves() || len(b) <= savedHead || binary.BigEndian.Uint64(b[8:]) != s.digest(b[savedHead:]) {
		return 0, false
	}
	return int64(binary.BigEndian.Uint64(b)), true
}

// save returns the state for Line.Saved; "" if reading the chunk again is not much work, or the state is large.
func (pt *Partition) save() string {
	if !pt.spec.saves() || pt.next-pt.first < pt.spec.SaveAfter || pt.Bytes() > 16*mostSaved {
		return ""
	}
	dst := binary.BigEndian.AppendUint64(nil, uint64(pt.next))
	if pt.next&(pt.spec.Chunk-1) == 0 {
		return string(dst)
	}
	dst = append(dst, make([]byte, savedHead-len(dst))...)
	number := func(n uint64) { dst = binary.AppendUvarint(dst, n) }
	number(uint64(pt.first))
	number(uint64(pt.watermark))
	for _, n := range pt.outcomes {
		number(n)
	}
	number(uint64(pt.groups.other))
	number(uint64(len(pt.groups.groups)))
	for _, g := range pt.groups.groups {
		number(uint64(g.len))
		dst = append(dst, pt.groups.key(&g)...)
	}
	number(uint64(len(pt.cells)))
	for _, c := range pt.cells {
		number(uint64(c.window))
		number(uint64(c.group))
		number(uint64(c.count))
	}
	for _, t := range pt.tallies {
		if t != nil {
			dst = t.AppendState(dst)
		}
	}
	if len(dst) > mostSaved {
		return ""
	}
	binary.BigEndian.PutUint64(dst[8:], pt.spec.digest(dst[savedHead:]))
	return string(dst)
}

// restore puts a saved state into a partition that has none. All its counts are sent again with the next flush, so
// that a sink that has forgotten some gets them back.
func (o *Operator) restore(pt *Partition, saved string) {
	rest := []byte(saved[savedHead:])
	number := func() uint64 {
		n, k := binary.Uvarint(rest)
		rest = rest[k:]
		return n
	}
	pt.first, pt.watermark = int64(number()), event.Time(number())
	for f := range pt.outcomes {
		pt.outcomes[f] = number()
	}
	other := uint32(number())
	pt.groups.limit = math.MaxInt // the cap has decided already
	for range number() {
		n := number()
		pt.groups.id(rest[:n], groupHash(rest[:n]), nil)
		rest = rest[n:]
	}
	pt.groups.limit, pt.groups.other = pt.spec.MaxGroups, other
	for range number() {
		window, id := event.Time(number()), uint32(number())
		g := &pt.groups.groups[id]
		c := pt.cell(window, g, id)
		c.count = uint32(number())
		c.row, c.gen = o.table.row(window, pt.groups.key(g), g.hash), o.gen
		o.table.rows[c.row].partial = true
		pt.dirty = append(pt.dirty, g.cell-1)
	}
	for _, t := range pt.tallies {
		if t != nil {
			rest = t.Load(rest)
		}
	}
}
