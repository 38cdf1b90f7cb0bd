package hll

import "strconv"

// Encoding is PFDEBUG ENCODING: "sparse" or "dense".
func (v String) Encoding() (string, error) {
	if err := v.Check(); err != nil {
		return "", err
	}
	if v.isDense() {
		return "dense", nil
	}
	return "sparse", nil
}

// Registers appends the value of every register to dst, what PFDEBUG GETREG
// replies. (GETREG also makes the string dense: see [String.ToDense].)
func (v String) Registers(dst []uint8) ([]uint8, error) {
	var d registers
	if _, err := d.raiseAll([]String{v}); err != nil {
		return dst, err
	}
	return append(dst, d[:]...), nil
}

// Decode is PFDEBUG DECODE: the opcodes of a sparse string as text, "z:n" and
// "Z:n" for n zero registers in one or two bytes, "v:rank,n" for n registers
// of a rank. A dense string gives ErrNotSparse.
func (v String) Decode() (string, error) {
	if err := v.Check(); err != nil {
		return "", err
	}
	if v.isDense() {
		return "", ErrNotSparse
	}
	var out []byte
	for b := v[headerBytes:]; len(b) > 0; {
		op, err := opcodeAt(b)
		if err != nil {
			return "", err
		}
		if len(out) > 0 {
			out = append(out, ' ')
		}
		switch {
		case op.rank != 0:
			out = append(out, "v:"...)
			out = strconv.AppendInt(out, int64(op.rank), 10)
			out = append(out, ',')
		case op.size == 2:
			out = append(out, "Z:"...)
		default:
			out = append(out, "z:"...)
		}
		out = strconv.AppendInt(out, int64(op.run), 10)
		b = b[op.size:]
	}
	return string(out), nil
}
