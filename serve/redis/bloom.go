package redis

import "weir/sketches/bloom"

var bloomCommands = []command{
	{name: "bf.reserve", arity: -4, flags: flagWrite | flagGrow, keys: firstKey, since: "bf 1.0.0", family: "bloom", about: "makes a filter: error rate, capacity; EXPANSION n, NONSCALING", run: bfReserve},
	{name: "bf.add", arity: 3, flags: flagWrite | flagGrow, keys: firstKey, since: "bf 1.0.0", family: "bloom", about: "adds an item; 1 if it was new", run: func(c call, k *keyspace) { bfAdd(c, k, false) }},
	{name: "bf.madd", arity: -3, flags: flagWrite | flagGrow, keys: firstKey, since: "bf 1.0.0", family: "bloom", about: "adds items", run: func(c call, k *keyspace) { bfAdd(c, k, true) }},
	{name: "bf.insert", arity: -4, flags: flagWrite | flagGrow, keys: firstKey, since: "bf 1.0.0", family: "bloom", about: "adds items, making the filter: CAPACITY ERROR EXPANSION NOCREATE NONSCALING ITEMS", run: bfInsert},
	{name: "bf.exists", arity: 3, keys: firstKey, since: "bf 1.0.0", family: "bloom", about: "whether an item may have been added", run: func(c call, k *keyspace) { bfExists(c, k, false) }},
	{name: "bf.mexists", arity: -3, keys: firstKey, since: "bf 1.0.0", family: "bloom", about: "whether items may have been added", run: func(c call, k *keyspace) { bfExists(c, k, true) }},
	{name: "bf.info", arity: -2, keys: firstKey, since: "bf 1.0.0", family: "bloom", about: "capacity, size, filters, items, expansion", run: bfInfo},
	{name: "bf.card", arity: 2, keys: firstKey, since: "bf 2.4.4", family: "bloom", about: "the number of items accepted",
		differ: "Not of window keys: their filters do not count; a hll measure does.", run: bfCard},
	{name: "bf.scandump", arity: 3, keys: firstKey, since: "bf 1.0.0", family: "bloom", about: "a piece of the dump of a filter", run: bfScanDump},
	{name: "bf.loadchunk", arity: 4, flags: flagWrite | flagGrow, keys: firstKey, since: "bf 1.0.0", family: "bloom", about: "puts a piece of a dump back",
		differ: "Headers that no filter can have are refused, not only those that would harm.", run: bfLoadChunk},
}

// filterOf returns the filter of a scratch key, nil if there is none.
func (c call) filterOf(k *keyspace, key []byte) (*item, bool) {
	it, ok := k.typed(c, key, kindBloom)
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
	return k.put(c.args[1], &item{kind: kindBloom, value: f})
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
	case it.kind != kindBloom:
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

func bfInsert(c call, k *keyspace) {
	config, create, items, ok := c.insertOptions()
	if !ok {
		return
	}
	if items < 0 || items == len(c.args) {
		c.w.Error(arityError(c.cmd.name))
		return
	}
	it, ok := c.filterOf(k, c.args[1])
	switch {
	case !ok:
		return
	case it == nil && !create:
		c.w.Error("ERR not found")
		return
	case it == nil:
		if it = c.makeFilter(k, config); it == nil {
			return
		}
	}
	c.addItems(k, it, c.args[items:], true)
}

// insertOptions reads the options of BF.INSERT by their first letters, as RedisBloom
// does. items is the index of the first item; −1: there is none.
func (c call) insertOptions() (config bloom.ScalableConfig, create bool, items int, ok bool) {
	config, create, items = bloom.DefaultScalable, true, -1
	for i := 2; i < len(c.args) && items < 0; i++ {
		a := c.args[i]
		first := byte(0)
		if len(a) > 0 {
			first = a[0] | 0x20
		}
		value := func() []byte {
			if i++; i < len(c.args) {
				return c.args[i]
			}
			return nil
		}
		switch {
		case first == 'i':
			items = i + 1
		case first == 'e' && len(a) > 1 && a[1]|0x20 == 'x':
			n, ok := parseInt(value())
			if !ok {
				c.w.Error("Bad expansion")
				return config, create, items, false
			}
			if n < 0 || n > 32768 {
				c.fail(bloom.ErrExpansion)
				return config, create, items, false
			}
			config.Expansion = uint32(n)
			config.NonScaling = config.NonScaling || n == 0
		case first == 'e':
			v, ok := parseFloat(value())
			if !ok {
				c.w.Error("Bad error rate")
				return config, create, items, false
			}
			if !(v > 0 && v < 1) {
				c.fail(bloom.ErrErrorRate)
				return config, create, items, false
			}
			config.Error = v
		case first == 'c':
			n, ok := parseInt(value())
			if !ok {
				c.w.Error("Bad capacity")
				return config, create, items, false
			}
			if n < 1 || n > 1<<30 {
				c.fail(bloom.ErrCapacity)
				return config, create, items, false
			}
			config.Capacity = uint64(n)
		case first == 'n' && len(a) > 2 && a[2]|0x20 == 'n': // NONSCALING
			config.NonScaling = true
		case first == 'n': // NOCREATE
			create = false
		default:
			c.w.Error("Unknown argument received")
			return config, create, items, false
		}
	}
	return config, create, items, true
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
		case it == nil || it.kind != kindBloom:
			c.w.Bool(false)
		case it.filter() != nil:
			c.w.Bool(it.filter().Has(bloom.Hash(a)))
		default:
			c.w.Bool(it.bloom().Has(a))
		}
	}
}

func bfInfo(c call, k *keyspace) {
	if len(c.args) > 3 {
		c.w.Error(arityError(c.cmd.name))
		return
	}
	it, ok := c.knownFilter(k, c.args[1])
	if !ok {
		return
	}
	info := it.bloom().Info()
	expansion := func() {
		if info.NonScaling {
			c.w.Null()
		} else {
			c.w.Int(int64(info.Expansion))
		}
	}
	if len(c.args) == 3 {
		c.w.Array(1)
		switch a := c.args[2]; {
		case is(a, "CAPACITY"):
			c.w.Int(int64(info.Capacity))
		case is(a, "SIZE"):
			c.w.Int(int64(info.Size))
		case is(a, "FILTERS"):
			c.w.Int(int64(info.Filters))
		case is(a, "ITEMS"):
			c.w.Int(int64(info.Items))
		case is(a, "EXPANSION"):
			expansion()
		default:
			c.w.Truncate(c.w.Len() - len("*1\r\n"))
			c.w.Error("Invalid information value")
		}
		return
	}
	c.w.Map(5)
	for _, f := range []struct {
		name  string
		value int64
	}{{"Capacity", int64(info.Capacity)}, {"Size", int64(info.Size)}, {"Number of filters", int64(info.Filters)}, {"Number of items inserted", int64(info.Items)}} {
		c.w.Status(f.name)
		c.w.Int(f.value)
	}
	c.w.Status("Expansion rate")
	expansion()
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

// iterator reads the position of SCANDUMP and LOADCHUNK.
func (c call) iterator(arg []byte) (int64, bool) {
	n, ok := parseInt(arg)
	if !ok {
		c.w.Error("ERR Second argument must be numeric")
	}
	return n, ok
}

func bfScanDump(c call, k *keyspace) {
	it, ok := c.knownFilter(k, c.args[1])
	if !ok {
		return
	}
	n, ok := c.iterator(c.args[2])
	if !ok {
		return
	}
	next, piece := it.bloom().Dump(n)
	if over := len(piece) - k.server.config.Bulk; over > 0 { // as large as LOADCHUNK can take
		next, piece = next-int64(over), piece[:k.server.config.Bulk]
	}
	c.w.Array(2)
	c.w.Int(next)
	c.w.Bulk(piece)
}

func bfLoadChunk(c call, k *keyspace) {
	n, ok := c.iterator(c.args[2])
	if !ok {
		return
	}
	it, ok := c.filterOf(k, c.args[1])
	if !ok {
		return
	}
	if n == 1 {
		if it != nil {
			c.fail(bloom.ErrBadData)
			return
		}
		f, err := bloom.LoadHeader(c.args[3], bloomMost)
		if err != nil {
			c.fail(err)
			return
		}
		k.put(c.args[1], &item{kind: kindBloom, value: f})
		c.w.Status("OK")
		return
	}
	if it == nil {
		c.w.Error("ERR not found")
		return
	}
	// The first piece of a layer makes all of it.
	before := it.bloom().Bytes()
	missing := int(it.bloom().Info().Size) - before
	if !k.fits(c, before+missing, before) {
		return
	}
	err := it.bloom().LoadChunk(n, c.args[3])
	k.touch(it)
	if err != nil {
		c.fail(err)
		return
	}
	c.w.Status("OK")
}

// filterForm lets BF.EXISTS and BF.MEXISTS read a *bloom.Filter.
func filterForm(it *item, value any) bool {
	_, ok := value.(*bloom.Filter)
	if ok {
		it.kind = kindBloom
	}
	return ok
}

// filter returns the filter of a window key, or nil.
func (it *item) filter() *bloom.Filter { return answerOf[*bloom.Filter](it) }
