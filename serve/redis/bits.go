package redis

import "weir/sketches/bitmap"

var bitCommands = []command{
	{name: "setbit", arity: 4, flags: flagWrite | flagGrow, keys: firstKey, family: "bitmap", about: "sets a bit and answers the one that was there", run: setbit},
	{name: "getbit", arity: 3, keys: firstKey, family: "bitmap", about: "a bit", run: getbit},
	{name: "bitcount", arity: -2, keys: firstKey, family: "bitmap", about: "the number of ones, within a range of BYTEs or BITs if given", run: bitcount},
	{name: "bitpos", arity: -3, keys: firstKey, family: "bitmap", about: "the first bit that is 0 or 1", run: bitpos},
	{name: "bitop", arity: -4, flags: flagWrite | flagGrow, keys: keySpec{2, -1, 1}, dest: 2, family: "bitmap", about: "AND OR XOR NOT, and DIFF DIFF1 ANDOR ONE of Redis 8.2, into a key; the sources may be window keys",
		differ: "DIFF, DIFF1, ANDOR and ONE are those of Redis 8.2.", run: bitop},
	{name: "bitfield", arity: -2, flags: flagWrite | flagGrow, keys: firstKey, family: "bitmap", about: "GET, SET, INCRBY of integers of any width at any bit", run: func(c call, k *keyspace) { bitfield(c, k, false) }},
	{name: "bitfield_ro", arity: -2, keys: firstKey, family: "bitmap", about: "BITFIELD with GET only", run: func(c call, k *keyspace) { bitfield(c, k, true) }},
}

// bitOffset reads the offset of SETBIT or GETBIT, which must be within so many bytes.
func (c call) bitOffset(arg []byte, bytes int) (uint64, bool) {
	n, ok := parseInt(arg)
	if !ok || n < 0 || n>>3 >= int64(bytes) {
		c.fail(bitmap.ErrOffset)
		return 0, false
	}
	return uint64(n), true
}

func setbit(c call, k *keyspace) {
	off, ok := c.bitOffset(c.args[2], k.server.config.Bulk)
	if !ok {
		return
	}
	if len(c.args[3]) != 1 || c.args[3][0]|1 != '1' {
		c.fail(bitmap.ErrBit)
		return
	}
	it, ok := k.typed(c, c.args[1], typeString)
	if !ok {
		return
	}
	if !c.lengthens(k, it, int(off>>3)+1) {
		return
	}
	fresh := it == nil
	if fresh {
		it = &item{str: []byte{}}
	}
	n := len(it.str)
	bit := int(c.args[3][0] - '0')
	var old int
	it.str, old = bitmap.SetBit(it.str, off, bit)
	if fresh {
		k.put(c.args[1], it)
	} else if old != bit || n != len(it.str) {
		k.touch(it)
	}
	c.w.Int(int64(old))
}

func getbit(c call, k *keyspace) {
	off, ok := c.bitOffset(c.args[2], bitmap.MaxBytes)
	if !ok {
		return
	}
	it, ok := k.typed(c, c.args[1], typeString)
	switch {
	case !ok:
	case it == nil:
		c.w.Int(0)
	case it.bits() != nil:
		c.w.Int(int64(btoi(off < 1<<32 && it.bits().Has(uint32(off)))))
	default:
		text, _ := c.text(k, it)
		c.w.Int(int64(bitmap.GetBit(text, off)))
	}
}

// A bitString is the bits of a string: of a window key they are not made into bytes.
type bitString interface {
	Count() uint64
	CountIn(start, end int64, unit bitmap.Unit) uint64
	PosFrom(bit int, start int64) int64
	PosIn(bit int, start, end int64, unit bitmap.Unit) int64
}

type byteBits []byte

func (b byteBits) Count() uint64 { return bitmap.Count(b) }
func (b byteBits) CountIn(start, end int64, unit bitmap.Unit) uint64 {
	return bitmap.CountIn(b, start, end, unit)
}
func (b byteBits) PosFrom(bit int, start int64) int64 { return bitmap.PosFrom(b, bit, start) }
func (b byteBits) PosIn(bit int, start, end int64, unit bitmap.Unit) int64 {
	return bitmap.PosIn(b, bit, start, end, unit)
}

func (c call) bitString(k *keyspace, it *item) bitString {
	if a := it.bits(); a != nil {
		return a
	}
	text, _ := c.text(k, it)
	return byteBits(text)
}

// bitUnit reads BYTE or BIT from argument n; without that argument it is BYTE.
func (c call) bitUnit(n int) (unit bitmap.Unit, ok bool) {
	if len(c.args) <= n {
		return bitmap.Byte, true
	}
	unit, err := bitmap.ParseUnit(string(c.args[n]))
	if err != nil {
		c.w.Error(errSyntax)
	}
	return unit, err == nil
}

func bitcount(c call, k *keyspace) {
	it, ok := k.typed(c, c.args[1], typeString)
	if !ok {
		return
	}
	if it == nil { // Redis up to 7.2 checks the other arguments later
		c.w.Int(0)
		return
	}
	bits := c.bitString(k, it)
	switch len(c.args) {
	case 2:
		c.w.Int(int64(bits.Count()))
	case 4, 5:
		start, end, ok := c.bounds()
		if !ok {
			return
		}
		if start < 0 && end < 0 && start > end {
			c.w.Int(0) // Redis up to 7.2 does not check what follows
			return
		}
		if unit, ok := c.bitUnit(4); ok {
			c.w.Int(int64(bits.CountIn(start, end, unit)))
		}
	default:
		c.w.Error(errSyntax)
	}
}

func bitpos(c call, k *keyspace) {
	n, ok := c.integer(c.args[2])
	if !ok {
		return
	}
	if n != 0 && n != 1 {
		c.fail(bitmap.ErrBitArg)
		return
	}
	bit := int(n)
	it, ok := k.typed(c, c.args[1], typeString)
	if !ok {
		return
	}
	if it == nil {
		c.w.Int(-int64(bit))
		return
	}
	bits := c.bitString(k, it)
	switch len(c.args) {
	case 3, 4:
		var start int64
		if len(c.args) == 4 {
			if start, ok = c.integer(c.args[3]); !ok {
				return
			}
		}
		c.w.Int(bits.PosFrom(bit, start))
	case 5, 6:
		start, ok := c.integer(c.args[3])
		if !ok {
			return
		}
		unit, ok := c.bitUnit(5)
		if !ok {
			return
		}
		if end, ok := c.integer(c.args[4]); ok {
			c.w.Int(bits.PosIn(bit, start, end, unit))
		}
	default:
		c.w.Error(errSyntax)
	}
}

func bitop(c call, k *keyspace) {
	op, err := bitmap.ParseOperation(string(c.args[1]))
	if err == nil {
		err = op.Check(len(c.args) - 3)
	}
	if err != nil {
		c.fail(err)
		return
	}
	longest := 0
	sources := make([][]byte, 0, len(c.args)-3)
	for _, key := range c.args[3:] {
		_, text, ok := c.textOf(k, key)
		if !ok {
			return
		}
		longest = max(longest, len(text))
		sources = append(sources, text)
	}
	before := 0
	if it := k.find(c.args[2], k.now); it != nil {
		before = it.size
	}
	if !k.fits(c, longest, before) {
		return
	}
	out, err := bitmap.Op(nil, op, sources...)
	if err != nil {
		c.fail(err)
		return
	}
	if len(out) == 0 {
		k.remove(c.args[2], k.now)
		c.w.Int(0)
		return
	}
	k.put(c.args[2], &item{str: out})
	c.w.Int(int64(len(out)))
}

func bitfield(c call, k *keyspace, readOnly bool) {
	words := make([]string, 0, len(c.args)-2)
	for _, a := range c.args[2:] {
		words = append(words, string(a))
	}
	ops, err := bitmap.ParseFieldOps(words, readOnly)
	if err != nil {
		c.fail(err)
		return
	}
	writes, end := false, uint64(0)
	for _, op := range ops {
		if op.Kind != bitmap.FieldGet {
			writes = true
			end = max(end, (op.Offset+uint64(op.Type.Width)+7)/8)
		}
	}
	it, b, ok := c.textOf(k, c.args[1])
	if !ok {
		return
	}
	if end > uint64(k.server.config.Bulk) {
		c.fail(bitmap.ErrOffset)
		return
	}
	if writes && !c.lengthens(k, it, int(end)) {
		return
	}
	out, replies, changes := bitmap.Fields(b, ops, nil)
	switch {
	case !writes:
	case it == nil:
		k.put(c.args[1], &item{str: out})
	default:
		if it.str = out; changes > 0 {
			k.touch(it)
		}
	}
	c.w.Array(len(replies))
	for _, r := range replies {
		if r.Null {
			c.w.Null()
		} else {
			c.w.Int(r.Value)
		}
	}
}

// bits returns the bitmap of a window key, or nil.
func (it *item) bits() *bitmap.Activity { return answerOf[*bitmap.Activity](it) }
