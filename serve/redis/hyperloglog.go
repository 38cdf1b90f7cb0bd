package redis

import (
	"errors"

	"weir/sketches/hll"
)

var hllCommands = []command{
	{name: "pfadd", arity: -2, flags: flagWrite | flagGrow, keys: firstKey, family: "hyperloglog", about: "adds elements; 1 if the estimate may have changed", run: pfadd},
	{name: "pfcount", arity: -2, keys: allKeys, family: "hyperloglog", about: "about how many different elements there are in one or more keys", run: pfcount},
	{name: "pfmerge", arity: -2, flags: flagWrite | flagGrow, keys: allKeys, dest: 1, family: "hyperloglog", about: "makes the first key the union of all; the others may be window keys", run: pfmerge},
	{name: "pfdebug", arity: 3, flags: flagWrite, keys: keySpec{2, 2, 1}, family: "hyperloglog", about: "GETREG, ENCODING, TODENSE of a key", run: pfdebug},
	{name: "pfselftest", arity: 1, family: "hyperloglog", about: "OK", differ: "Tests nothing: the sketch has its own tests.", run: func(c call, k *keyspace) { c.w.Status("OK") }},
}

// hllError sends an error of package hll, which begins with Redis's code already.
func (c call) hllError(err error) { c.w.Error(err.Error()) }

func pfadd(c call, k *keyspace) {
	it, ok := k.typed(c, c.args[1], typeString)
	if !ok {
		return
	}
	var v hll.String
	if it != nil {
		v = it.str
	}
	changed, err := v.Add(k.server.sparseMax, c.args[2:]...)
	if it == nil {
		k.put(c.args[1], &item{str: v})
	} else {
		it.str = v
		if changed {
			k.touch(it)
		}
	}
	switch {
	case err != nil:
		c.hllError(err)
	default:
		c.w.Int(int64(btoi(changed)))
	}
}

func pfcount(c call, k *keyspace) {
	if len(c.args) == 2 {
		it := k.read(c.args[1])
		switch {
		case it == nil:
			c.w.Int(0)
		case it.typ != typeString:
			c.w.Error(errType)
		case it.sketch() != nil: // its text is not needed
			c.w.Int(int64(it.sketch().Count()))
		default:
			text, _ := c.text(k, it)
			n, wrote, err := hll.String(text).Count()
			if err != nil {
				c.hllError(err)
				return
			}
			if wrote && !k.isWindow(c.args[1]) {
				k.touch(it)
			}
			c.w.Int(int64(n))
		}
		return
	}
	scratch, sketches, ok := c.sources(k, c.args[1:])
	if !ok {
		return
	}
	var n uint64
	var err error
	if len(sketches) == 0 {
		n, err = hll.CountStrings(scratch...)
	} else {
		var union hll.Sketch
		for _, v := range scratch {
			if err == nil {
				err = union.MergeRedis(v)
			}
		}
		union.MergeAll(sketches...)
		n = union.Count()
	}
	if err != nil {
		c.hllError(err)
		return
	}
	c.w.Int(int64(n))
}

// sources returns the sketches of keys: of scratch keys as strings. If a key holds
// no sketch, or a damaged one, it sends the error of the first such key, as Redis does.
func (c call) sources(k *keyspace, keys [][]byte) (scratch []hll.String, sketches []*hll.Sketch, ok bool) {
	for _, key := range keys {
		it := k.read(key)
		var fault error
		switch {
		case it == nil:
		case it.typ != typeString:
			fault = errors.New(errType)
		case it.sketch() != nil:
			sketches = append(sketches, it.sketch())
		default:
			text, ok := c.text(k, it)
			if !ok {
				return nil, nil, false
			}
			scratch = append(scratch, text)
			fault = hll.String(text).Check()
		}
		if fault != nil {
			if _, earlier := hll.CountStrings(scratch...); earlier != nil {
				fault = earlier
			}
			c.hllError(fault)
			return nil, nil, false
		}
	}
	return scratch, sketches, true
}

func pfmerge(c call, k *keyspace) {
	scratch, sketches, ok := c.sources(k, c.args[1:]) // the first key is a source too
	if !ok {
		return
	}
	it := k.read(c.args[1])
	var v hll.String
	if it != nil {
		v = it.str
	}
	for _, s := range sketches {
		scratch = append(scratch, s.AppendRedis(nil, k.server.sparseMax))
	}
	if err := v.Merge(k.server.sparseMax, scratch...); err != nil {
		c.hllError(err)
		return
	}
	if it == nil {
		k.put(c.args[1], &item{str: v})
	} else {
		it.str = v
		k.touch(it)
	}
	c.w.Status("OK")
}

// pfdebug has what Redis's own tests need.
func pfdebug(c call, k *keyspace) {
	it := k.read(c.args[2])
	if it == nil {
		c.w.Error("ERR The specified key does not exist")
		return
	}
	if it.typ != typeString {
		c.w.Error(errType)
		return
	}
	v := hll.String(it.str) // never of a window key, which is read-only
	if err := v.Check(); err != nil {
		c.hllError(err)
		return
	}
	getreg := is(c.args[1], "GETREG")
	switch {
	case is(c.args[1], "ENCODING"):
		c.w.Status([...]string{"sparse", "dense"}[btoi(v.Dense())])
		return
	case !getreg && !is(c.args[1], "TODENSE"):
		c.w.Error("ERR Unknown PFDEBUG subcommand '" + string(c.args[1]) + "'")
		return
	}
	converted, err := v.ToDense()
	if err != nil {
		c.hllError(err)
		return
	}
	if converted {
		it.str = v
		k.touch(it)
	}
	if !getreg {
		c.w.Int(int64(btoi(converted)))
		return
	}
	registers, err := v.Registers(nil)
	if err != nil {
		c.hllError(err)
		return
	}
	c.w.Array(len(registers))
	for _, r := range registers {
		c.w.Int(int64(r))
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// sketch returns the sketch of a window key, or nil.
func (it *item) sketch() *hll.Sketch { return answerOf[*hll.Sketch](it) }
