package hll

// The sparse registers of a String are a sequence of opcodes that covers all
// 16,384 registers from left to right:
//
//	00xxxxxx            ZERO:  x+1 zero registers, 1 to 64
//	01xxxxxx yyyyyyyy   XZERO: x·256+y+1 zero registers, 1 to 16,384
//	1vvvvvxx            VAL:   x+1 registers of rank v+1, 1 to 4 of rank 1 to 32
//
// Many sequences mean the same registers; which one Redis has depends on the
// order of the additions. Reproducing its bytes means reproducing, step by
// step, how it splits and joins opcodes.

const (
	zeroMax    = 64
	valMax     = 4
	valRankMax = 32

	// joinSteps bounds the pass that joins equal neighbours after a change.
	joinSteps = 5
)

// An opcode, decoded.
type opcode struct {
	size int   // bytes, 1 or 2
	run  int   // registers covered
	rank uint8 // of each, 0 for ZERO and XZERO
}

// opcodeAt decodes the opcode at the start of b. A missing second byte is
// ErrCorrupt.
func opcodeAt(b []byte) (opcode, error) {
	switch c := b[0]; {
	case c&0x80 != 0:
		return opcode{1, int(c&3) + 1, c>>2&31 + 1}, nil
	case c&0x40 == 0:
		return opcode{1, int(c) + 1, 0}, nil
	case len(b) < 2:
		return opcode{}, ErrCorrupt
	default:
		return opcode{2, int(c&63)<<8 + int(b[1]) + 1, 0}, nil
	}
}

// appendZeros appends ZERO or XZERO, whichever suits; nothing for no register.
func appendZeros(b []byte, run int) []byte {
	switch {
	case run == 0:
		return b
	case run <= zeroMax:
		return append(b, byte(run-1))
	default:
		return append(b, 0x40|byte((run-1)>>8), byte(run-1))
	}
}

func valByte(rank uint8, run int) byte { return 0x80 | (rank-1)<<2 | byte(run-1) }

// appendRun appends run registers of this rank, at most 4 unless zero.
func appendRun(b []byte, rank uint8, run int) []byte {
	if rank == 0 || run == 0 {
		return appendZeros(b, run)
	}
	return append(b, valByte(rank, run))
}

// sparseRuns calls f for each opcode with its first register. The bounds are
// checked before each call: a few bytes can claim any number of registers
// (CVE-2025-32023 was a sum of runs that overflowed).
func (v String) sparseRuns(f func(first int, op opcode)) error {
	first := 0
	for b := v[headerBytes:]; len(b) > 0; {
		op, err := opcodeAt(b)
		if err != nil {
			return err
		}
		if op.run > Registers-first {
			return ErrCorrupt
		}
		f(first, op)
		first += op.run
		b = b[op.size:]
	}
	if first != Registers {
		return ErrCorrupt
	}
	return nil
}

func (v String) sparseHistogram() (h histogram, err error) {
	err = v.sparseRuns(func(_ int, op opcode) { h[op.rank] += uint16(op.run) })
	return h, err
}

// sparseInto raises d to the registers of v.
func (v String) sparseInto(d *registers) error {
	return v.sparseRuns(func(first int, op opcode) {
		if op.rank != 0 {
			for i := first; i < first+op.run; i++ {
				d.raise(uint32(i), op.rank)
			}
		}
	})
}

// A cursor is the place of an opcode and the first register it covers.
type cursor struct{ at, first int }

// raiseInOrder raises v, which is sparse, to d, register by register from the
// left as PFMERGE does.
func (v *String) raiseInOrder(d *registers, sparseMax int) (err error) {
	from := cursor{headerBytes, 0}
	for i, r := range d {
		if r == 0 {
			continue
		}
		if v.isDense() {
			packedRaise((*v)[headerBytes:], uint32(i), r)
		} else if from, _, err = v.raiseSparse(from, uint32(i), r, sparseMax); err != nil {
			return err
		}
	}
	return nil
}

// raiseSparse lifts register i to rank r and tells whether it rose. It searches
// for the register from the given opcode on, which must cover an earlier
// register or be the first opcode, and returns the place where a search for a
// later register may start. It may make v dense.
func (v *String) raiseSparse(from cursor, i uint32, r uint8, sparseMax int) (cursor, bool, error) {
	if r > valRankMax {
		return from, true, v.promote(i, r)
	}
	b := *v
	index, prev, c := int(i), from, from
	op := opcode{}
	for {
		if c.at >= len(b) {
			return from, false, ErrCorrupt
		}
		var err error
		if op, err = opcodeAt(b[c.at:]); err != nil {
			return from, false, err
		}
		if index < c.first+op.run {
			break
		}
		prev = c
		c = cursor{c.at + op.size, c.first + op.run}
	}
	if op.rank >= r {
		return prev, false, nil
	}
	if op.run == 1 && op.size == 1 {
		b[c.at] = valByte(r, 1)
	} else {
		var seq [5]byte // at most XZERO VAL XZERO
		s := appendRun(seq[:0], op.rank, index-c.first)
		s = append(s, valByte(r, 1))
		s = appendRun(s, op.rank, c.first+op.run-1-index)
		if delta := len(s) - op.size; delta > 0 && len(b)+delta > sparseMax {
			return from, true, v.promote(i, r)
		}
		b = replace(b, c.at, op.size, s)
	}
	*v = joinRuns(b, prev.at)
	v.stale()
	return prev, true, nil
}

// promote makes v dense and raises register i.
func (v *String) promote(i uint32, r uint8) error {
	if _, err := v.ToDense(); err != nil {
		return err
	}
	packedRaise((*v)[headerBytes:], i, r)
	return nil
}

// replace puts s in the place of the n bytes at b[at:].
func replace(b String, at, n int, s []byte) String {
	tail := len(b) - at - n
	if grow := len(s) - n; grow > 0 {
		b = append(b, s[:grow]...) // the values do not matter, the length does
	}
	copy(b[at+len(s):], b[at+n:at+n+tail])
	copy(b[at:], s)
	return b[:at+len(s)+tail]
}

// joinRuns joins equal VAL opcodes that are neighbours, near the place of a
// change. Like Redis it takes at most five steps, where each opcode that it
// looks at and each join is a step, and never joins zeros.
func joinRuns(b String, at int) String {
	for range joinSteps {
		if at >= len(b) {
			break
		}
		c := b[at]
		switch {
		case c&0xc0 == 0x40:
			at += 2
			continue
		case c&0x80 != 0 && at+1 < len(b) && b[at+1]&0x80 != 0:
			next := b[at+1]
			if run := int(c&3) + int(next&3) + 2; c>>2 == next>>2 && run <= valMax {
				b[at+1] = c&^3 | byte(run-1)
				b = append(b[:at], b[at+1:]...)
				continue
			}
		}
		at++
	}
	return b
}
