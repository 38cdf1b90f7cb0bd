package redis

import "weir/sketches/bloom"

var bloomCommands = []command{
	{name: "bf.reserve", arity: -4, flags: flagWrite | flagGrow, keys: firstKey, family: "bloom", about: "makes a filter: error rate, capacity; EXPANSION n, NONSCALING", run: bfReserve},
	{name: "bf.add", arity: 3, flags: flagWrite | flagGrow, keys: firstKey, family: "bloom", about: "adds an item; 1 if it was new", run: func(c call, k *keyspace) { bfAdd(c, k, false) }},
	{name: "bf.madd", arity: -3, flags: flagWrite | flagGrow, keys: firstKey, family: "bloom", about: "adds items", run: func(c call, k *keyspace) { bfAdd(c, k, true) }},
	{name: "bf.exists", arity: 3, keys: firstKey, family: "bloom", about: "whether an item may have been added", run: func(c call, k *keyspace) { bfExists(c, k, false) }},
	{name: "bf.mexists", arity: -3, keys: firstKey, family: "bloom", about: "whether items may have been added", run: func(c call, k *keyspace) { bfExists(c, k, true) }},
	{name: "bf.info", arity: 2, keys: firstKey, family: "bloom", about: "capacity, size, filters, items, expansion", run: bfInfo},
	{name: "bf.card", arity: 2, keys: firstKey, family: "bloom", about: "the number of items accepted",
		differ: "Not of window keys: their filters do not count; a hll measure does.", run: bfCard},
}

// filterOf returns the filter of a scratch key, nil if there is none.
func (c call) filterOf(k *keyspace, key []byte) (*item, bool) {
	it, ok := k.typed(c, key, typeBloom)
	if ok && it != nil && it.filter() != nil {
		c.w.Error("ERR not of a window key: ask BF.EXISTS or BF.MEXISTS")
		return nil, false
	}
	return it, ok
}

// knownFilter is filterOf for a command that makes no filter: if there is none, it sends
// the error.
func (c call) knownFilter(k *keyspace, key []byte) (*item, bool) {
	it, ok := c.filterOf(k, key)
	if ok && it == nil {
		c.w.Error("ERR not found")
	}
	return it, ok && it != nil
}

// bloomMost bounds a filter.
const bloomMost = 16 << 20

// bloomLimit returns how many bytes a filter may take that takes now bytes: no more
// than the memory of all keys has room for.
func (c call) bloomLimit(k *keyspace, now int) uint64 {
	return uint64(min(max(now+k.server.config.Memory-k.used, now, 1<<20), bloomMost))
}

// makeFilter stores a new filter. If it cannot, it sends the error and returns nil.
func (c call) makeFilter(k *keyspace, config bloom.ScalableConfig) *item {
	config.MaxBytes = bloomMost
	n, err := config.Bytes()
	if err != nil {
		c.fail(err)
		return nil
	}
	if !k.fits(c, int(n), 0) {
		return nil
	}
	f, err := bloom.NewScalable(config)
	if err != nil {
		c.fail(err)
		return nil
	}
	return k.put(c.args[1], &item{typ: typeBloom, value: f})
}

func bfReserve(c call, k *keyspace) {
	config := bloom.DefaultScalable
	var ok bool
	if config.Error, ok = parseFloat(c.args[2]); !ok {
		c.w.Error("ERR bad error rate")
		return
	}
	if !(config.Error > 0 && config.Error < 1) {
		c.fail(bloom.ErrErrorRate)
		return
	}
	n, ok := parseInt(c.args[3])
	if !ok {
		c.w.Error("ERR bad capacity")
		return
	}
	if n < 1 || n > 1<<30 {
		c.fail(bloom.ErrCapacity)
		return
	}
	config.Capacity = uint64(n)
	expands := false
	for i := 4; i < len(c.args); i++ {
		switch a := c.args[i]; {
		case is(a, "NONSCALING"):
			config.NonScaling = true
		case is(a, "EXPANSION"):
			if i++; i == len(c.args) {
				c.w.Error("ERR no expansion")
				return
			}
			n, ok := parseInt(c.args[i])
			if !ok {
				c.w.Error("ERR bad expansion")
				return
			}
			if n < 0 || n > 32768 {
				c.fail(bloom.ErrExpansion)
				return
			}
			config.Expansion, expands = uint32(n), n > 0
		}
	}
	if config.NonScaling && expands {
		c.w.Error("Nonscaling filters cannot expand")
		return
	}
	it := k.read(c.args[1])
	switch {
	case it == nil:
		if c.makeFilter(k, config) != nil {
			c.w.Status("OK")
		}
	case it.typ != typeBloom:
		c.w.Error(errType)
	default:
		c.w.Error("ERR item exists")
	}
}

func bfAdd(c call, k *keyspace, many bool) {
	it, ok := c.filterOf(k, c.args[1])
	if !ok {
		return
	}
	if it == nil {
		if it = c.makeFilter(k, bloom.DefaultScalable); it == nil {
			return
		}
	}
	c.addItems(k, it, c.args[2:], many)
}

// addItems adds items and replies, with an array if many is true. Then an error is the
// last element of the array.
func (c call) addItems(k *keyspace, it *item, items [][]byte, many bool) {
	before := it.bloom().Bytes()
	it.bloom().Limit(c.bloomLimit(k, before))
	added, err := it.bloom().AddMany(items, nil)
	k.touch(it)
	if !many {
		if err != nil {
			c.fail(err)
		} else {
			c.w.Bool(added[0])
		}
		return
	}
	c.w.Array(len(added) + btoi(err != nil))
	for _, a := range added {
		c.w.Bool(a)
	}
	if err != nil {
		c.fail(err)
	}
}

// bfExists answers no, not an error, for a key that holds something else, as
// RedisBloom does.
func bfExists(c call, k *keyspace, many bool) {
	it := k.read(c.args[1])
	if many {
		c.w.Array(len(c.args) - 2)
	}
	for _, a := range c.args[2:] {
		switch {
		case it == nil || it.typ != typeBloom:
			c.w.Bool(false)
		case it.filter() != nil:
			c.w.Bool(it.filter().Has(bloom.Hash(a)))
		default:
			c.w.Bool(it.bloom().Has(a))
		}
	}
}

func bfInfo(c call, k *keyspace) {
	it, ok := c.knownFilter(k, c.args[1])
	if !ok {
		return
	}
	info := it.bloom().Info()
	c.w.Map(5)
	for _, f := range []struct {
		name  string
		value int64
	}{{"Capacity", int64(info.Capacity)}, {"Size", int64(info.Size)}, {"Number of filters", int64(info.Filters)}, {"Number of items inserted", int64(info.Items)}} {
		c.w.Status(f.name)
		c.w.Int(f.value)
	}
	c.w.Status("Expansion rate")
	if info.NonScaling {
		c.w.Null()
	} else {
		c.w.Int(int64(info.Expansion))
	}
}

func bfCard(c call, k *keyspace) {
	it, ok := c.filterOf(k, c.args[1])
	switch {
	case !ok:
	case it == nil:
		c.w.Int(0)
	default:
		c.w.Int(int64(it.bloom().Card()))
	}
}

// filter returns the filter of a window key, or nil.
func (it *item) filter() *bloom.Filter { return answerOf[*bloom.Filter](it) }
