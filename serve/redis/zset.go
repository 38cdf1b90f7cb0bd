package redis

import (
	"bytes"

	"weir/sketches/geo"
)

var zsetCommands = []command{
	{name: "zadd", arity: -4, flags: flagWrite | flagGrow, keys: firstKey, family: "sorted set", about: "adds members with scores; NX XX GT LT CH", differ: "Without INCR. Minus zero becomes zero, in a large set, too.", run: zadd},
	{name: "zrem", arity: -3, flags: flagWrite, keys: firstKey, family: "sorted set", about: "removes members", run: zrem},
	{name: "zcard", arity: 2, keys: firstKey, family: "sorted set", about: "the number of members", run: zcard},
	{name: "zscore", arity: 3, keys: firstKey, family: "sorted set", about: "the score of a member", run: zscore},
	{name: "zrange", arity: -4, keys: firstKey, family: "sorted set", about: "members by rank; BYSCORE REV LIMIT WITHSCORES", differ: "Without BYLEX.", run: func(c call, k *keyspace) { zrange(c, k, false) }},
	{name: "zrangebyscore", arity: -4, keys: firstKey, family: "sorted set", about: "members by score; WITHSCORES LIMIT", run: func(c call, k *keyspace) { zrange(c, k, true) }},
	{name: "zremrangebyscore", arity: 4, flags: flagWrite, keys: firstKey, family: "sorted set", about: "removes the members with scores in a range", run: zremrangebyscore},
	{name: "zcount", arity: 4, keys: firstKey, family: "sorted set", about: "the number of members with scores in a range", run: zcount},
}

func (c call) score(v float64) {
	var room [32]byte
	c.w.Number(geo.AppendScore(room[:0], v))
}

// members returns the sorted set of a key for reading; nil if there is none.
func (c call) members(k *keyspace, key []byte) (z *zset, ok bool) {
	it, ok := k.typed(c, key, typeZset)
	if it != nil {
		z = it.zset()
	}
	return z, ok
}

// present returns the item of a sorted set to remove from. If there is none, it replies
// that nothing was removed.
func (c call) present(k *keyspace) (*item, bool) {
	it, ok := k.typed(c, c.args[1], typeZset)
	if ok && it == nil {
		c.w.Int(0)
	}
	return it, it != nil
}

// ask replies with what answer sends of a sorted set. It sends null if there is none, or
// if answer returns false, which has sent nothing then.
func (c call) ask(k *keyspace, answer func(z *zset) bool) {
	z, ok := c.members(k, c.args[1])
	if ok && (z == nil || !answer(z)) {
		c.w.Null()
	}
}

// addOptions are the options of ZADD and GEOADD, which say which members to add or
// change.
type addOptions struct{ nx, xx, gt, lt, changed bool }

// addOptionsOf reads the options behind the key, and returns what follows them.
func (c call) addOptionsOf(zadd bool) (r addOptions, rest [][]byte) {
	for rest = c.args[2:]; len(rest) > 0; rest = rest[1:] {
		switch a := rest[0]; {
		case is(a, "NX"):
			r.nx = true
		case is(a, "XX"):
			r.xx = true
		case is(a, "CH"):
			r.changed = true
		case zadd && is(a, "GT"):
			r.gt = true
		case zadd && is(a, "LT"):
			r.lt = true
		default:
			return r, rest
		}
	}
	return r, nil
}

// zadd follows zaddGenericCommand of t_zset.c.
func zadd(c call, k *keyspace) {
	r, pairs := c.addOptionsOf(true)
	switch {
	case len(pairs) == 0 || len(pairs)%2 != 0:
		c.w.Error(errSyntax)
		return
	case r.nx && r.xx:
		c.w.Error("ERR XX and NX options at the same time are not compatible")
		return
	case r.gt && r.nx || r.lt && r.nx || r.gt && r.lt:
		c.w.Error("ERR GT, LT, and/or NX options at the same time are not compatible")
		return
	}
	scores := make([]float64, 0, 8)
	names := make([][]byte, 0, 8)
	for ; len(pairs) > 0; pairs = pairs[2:] {
		v, ok := c.float(pairs[0])
		if !ok {
			return
		}
		scores, names = append(scores, v), append(names, pairs[1])
	}
	c.addMembers(k, r, scores, names)
}

// addMembers puts members into the sorted set of the first key and replies.
func (c call) addMembers(k *keyspace, r addOptions, scores []float64, names [][]byte) {
	it, ok := k.typed(c, c.args[1], typeZset)
	if !ok {
		return
	}
	if it == nil {
		if r.xx {
			c.w.Int(0)
			return
		}
		it = k.put(c.args[1], &item{typ: typeZset, value: new(zset)})
	}
	z := it.zset()
	added, moved := 0, 0
	for i, name := range names {
		old, known := z.Score(name)
		if known && (r.nx || r.gt && scores[i] <= old || r.lt && scores[i] >= old) || !known && r.xx {
			continue
		}
		isNew, changed := z.put(name, scores[i])
		added, moved = added+btoi(isNew), moved+btoi(changed)
	}
	if added+moved > 0 {
		k.touch(it)
	}
	if r.changed {
		added += moved
	}
	c.w.Int(int64(added))
}

// removed ends a command that has removed n members from a sorted set: it drops an empty
// one, and replies.
func (c call) removed(k *keyspace, it *item, n int) {
	switch {
	case n == 0:
	case it.zset().Len() == 0:
		k.drop(it)
	default:
		k.touch(it)
	}
	c.w.Int(int64(n))
}

func zrem(c call, k *keyspace) {
	it, ok := c.present(k)
	if !ok {
		return
	}
	n := 0
	for _, name := range c.args[2:] {
		n += btoi(it.zset().remove(name))
	}
	c.removed(k, it, n)
}

func zcard(c call, k *keyspace) {
	if z, ok := c.members(k, c.args[1]); ok {
		n := 0
		if z != nil {
			n = z.Len()
		}
		c.w.Int(int64(n))
	}
}

func zscore(c call, k *keyspace) {
	c.ask(k, func(z *zset) bool {
		v, ok := z.Score(c.args[2])
		if ok {
			c.score(v)
		}
		return ok
	})
}

// interval reads a range of scores; if it is none, it sends the error.
func (c call) interval(low, high []byte) (geo.Interval, bool) {
	var in geo.Interval
	var ok, ok2 bool
	in.Min, in.OpenMin, ok = parseBound(low)
	in.Max, in.OpenMax, ok2 = parseBound(high)
	if !ok || !ok2 {
		c.w.Error("ERR min or max is not a float")
		return in, false
	}
	return in, true
}

// parseBound reads a score of a range; a parenthesis in front makes it exclusive.
func parseBound(b []byte) (v float64, open, ok bool) {
	b, open = bytes.CutPrefix(b, []byte("("))
	v, ok = parseFloat(b)
	return v, open, ok
}

func zcount(c call, k *keyspace) {
	in, ok := c.interval(c.args[2], c.args[3])
	if !ok {
		return
	}
	switch z, ok := c.members(k, c.args[1]); {
	case !ok:
	case z == nil:
		c.w.Int(0)
	default:
		from, to := z.Ranks(in)
		c.w.Int(int64(to - from))
	}
}

func zremrangebyscore(c call, k *keyspace) {
	in, ok := c.interval(c.args[2], c.args[3])
	if !ok {
		return
	}
	if it, ok := c.present(k); ok {
		from, to := it.zset().Ranks(in)
		c.removed(k, it, it.zset().removeRanks(from, to))
	}
}

// A rangeQuery is what ZRANGE asks for.
type rangeQuery struct {
	byScore, reverse, withScores bool
	offset, limit                int64 // of LIMIT; limit −1: all
	limited                      bool  // LIMIT was given

	start, end int64        // by rank
	scores     geo.Interval // by score
}

// zrange follows zrangeGenericCommand of t_zset.c.
func zrange(c call, k *keyspace, byScore bool) {
	q := rangeQuery{byScore: byScore, limit: -1}
	if !c.rangeOptions(&q) {
		return
	}
	low, high := c.args[2], c.args[3]
	ok := false
	if q.byScore {
		if q.reverse { // then the bounds come in the other order
			low, high = high, low
		}
		q.scores, ok = c.interval(low, high)
	} else {
		q.start, q.end, ok = c.bounds()
	}
	if !ok {
		return
	}
	switch z, ok := c.members(k, c.args[1]); {
	case !ok:
	case z == nil:
		c.w.Array(0)
	default:
		from, to := q.ranks(z)
		c.sendRange(z, from, to, &q)
	}
}

// rangeOptions reads the options behind the bounds.
func (c call) rangeOptions(q *rangeQuery) (ok bool) {
	fixed := q.byScore
	for i := 4; i < len(c.args); i++ {
		a := c.args[i]
		switch {
		case is(a, "WITHSCORES"):
			q.withScores = true
		case is(a, "LIMIT") && i+2 < len(c.args):
			q.limited = true
			if q.offset, ok = c.integer(c.args[i+1]); !ok {
				return false
			}
			if q.limit, ok = c.integer(c.args[i+2]); !ok {
				return false
			}
			i += 2
		case is(a, "REV") && !fixed && !q.reverse:
			q.reverse = true
		case is(a, "BYSCORE") && !q.byScore:
			q.byScore = true
		default:
			c.w.Error(errSyntax)
			return false
		}
	}
	if q.limited && q.limit != -1 && !q.byScore {
		c.w.Error("ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX")
		return false
	}
	return true
}

// ranks returns the ranks [from, to) of the members asked for, counted from the lowest.
func (q *rangeQuery) ranks(z *zset) (from, to int) {
	if !q.byScore {
		n := z.Len()
		if from, to = rankRange(q.start, q.end, n); q.reverse {
			from, to = n-to, n-from
		}
		return from, to
	}
	from, to = z.Ranks(q.scores)
	offset, limit := q.offset, q.limit
	if offset < 0 || offset > int64(to-from) {
		offset = int64(to - from)
	}
	if limit < 0 || limit > int64(to-from)-offset {
		limit = int64(to-from) - offset
	}
	if q.reverse {
		to -= int(offset)
		return to - int(limit), to
	}
	from += int(offset)
	return from, from + int(limit)
}

// rankRange turns a range of Redis, which includes both ends and counts
// negative numbers from the end, into [from, to) within [0, n).
func rankRange(start, end int64, n int) (from, to int) {
	size := int64(n)
	start, end = fromEnd(start, size), min(end+size*int64(btoi(end < 0)), size-1)
	if start > end || start >= size {
		return 0, 0
	}
	return int(start), int(end) + 1
}

func (c call) sendRange(z *zset, from, to int, q *rangeQuery) {
	pairs := q.withScores && c.w.Version() == 3
	if q.withScores && !pairs {
		c.w.Array(2 * (to - from))
	} else {
		c.w.Array(to - from)
	}
	list := z.Slice(from, to)
	if q.reverse {
		list = z.Backward(from, to)
	}
	for member, score := range list {
		if pairs {
			c.w.Array(2)
		}
		c.w.BulkString(member)
		if q.withScores {
			c.score(score)
		}
	}
}
