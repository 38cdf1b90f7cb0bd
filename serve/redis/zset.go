package redis

import (
	"bytes"
	"errors"
	"math"
	"strconv"

	"weir/sketches/geo"
)

var zsetCommands = []command{
	{name: "zadd", arity: -4, flags: flagWrite | flagGrow, keys: firstKey, each: 1200 * nanosecond, since: "1.2.0", family: "sorted set", about: "adds members with scores; NX XX GT LT CH INCR", run: zadd},
	{name: "zincrby", arity: 4, flags: flagWrite | flagGrow, keys: firstKey, since: "1.2.0", family: "sorted set", about: "adds to the score of a member", run: zincrby},
	{name: "zrem", arity: -3, flags: flagWrite, keys: firstKey, each: 2000 * nanosecond, since: "1.2.0", family: "sorted set", about: "removes members", run: zrem},
	{name: "zcard", arity: 2, keys: firstKey, since: "1.2.0", family: "sorted set", about: "the number of members", run: zcard},
	{name: "zscore", arity: 3, keys: firstKey, since: "1.2.0", family: "sorted set", about: "the score of a member", run: zscore},
	{name: "zrank", arity: 3, keys: firstKey, since: "2.0.0", family: "sorted set", about: "the number of members in front of a member", run: zrank},
	{name: "zrange", arity: -4, keys: firstKey, since: "1.2.0", family: "sorted set", about: "members by rank; BYSCORE BYLEX REV LIMIT WITHSCORES", run: func(c *client) { zrange(c, byWhatever) }},
	{name: "zrangebyscore", arity: -4, keys: firstKey, since: "1.0.5", family: "sorted set", about: "members by score; WITHSCORES LIMIT", run: func(c *client) { zrange(c, byScore) }},
	{name: "zremrangebyscore", arity: 4, flags: flagWrite, keys: firstKey, since: "1.2.0", family: "sorted set", about: "removes the members with scores in a range", run: zremrangebyscore},
	{name: "zremrangebyrank", arity: 4, flags: flagWrite, keys: firstKey, since: "2.0.0", family: "sorted set", about: "removes the members with ranks in a range", run: zremrangebyrank},
	{name: "zcount", arity: 4, keys: firstKey, since: "2.0.0", family: "sorted set", about: "the number of members with scores in a range", run: zcount},
}

// score sends a score.
func (c *client) score(v float64) {
	var room [32]byte
	c.w.Number(geo.AppendScore(room[:0], v))
}

// members returns the sorted set of a key for reading; nil if there is none.
func (c *client) members(key []byte) (z *zset, ok bool) {
	it, ok := c.typed(key, kindZset)
	if it != nil {
		z = it.zset
	}
	return z, ok
}

// A rule has the options of ZADD and GEOADD, which say which members to add or
// change.
type rule struct{ nx, xx, gt, lt, changed, incr bool }

// zadd follows zaddGenericCommand of t_zset.c.
func zadd(c *client) {
	var r rule
	i := 2
options:
	for ; i < len(c.args); i++ {
		a := c.args[i]
		switch {
		case is(a, "NX"):
			r.nx = true
		case is(a, "XX"):
			r.xx = true
		case is(a, "GT"):
			r.gt = true
		case is(a, "LT"):
			r.lt = true
		case is(a, "CH"):
			r.changed = true
		case is(a, "INCR"):
			r.incr = true
		default:
			break options
		}
	}
	pairs := c.args[i:]
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
	case r.incr && len(pairs) > 2:
		c.w.Error("ERR INCR option supports a single increment-element pair")
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
	c.addMembers(r, scores, names)
}

func zincrby(c *client) {
	v, ok := c.float(c.args[2])
	if ok {
		c.addMembers(rule{incr: true}, []float64{v}, c.args[3:4])
	}
}

// addMembers puts members into the sorted set of the first key and replies.
func (c *client) addMembers(r rule, scores []float64, names [][]byte) {
	it, ok := c.typed(c.args[1], kindZset)
	if !ok {
		return
	}
	if it == nil {
		if r.xx {
			if r.incr {
				c.w.Null()
			} else {
				c.w.Int(0)
			}
			return
		}
		it = c.server.store.put(c.args[1], &item{kind: kindZset, zset: new(zset)})
	}
	z := it.zset
	added, moved := 0, 0
	processed, score := false, 0.0
	for i, name := range names {
		score = scores[i]
		old, known := z.Score(name)
		if known && r.nx || !known && r.xx {
			continue
		}
		if r.incr && known {
			if score += old; math.IsNaN(score) {
				c.w.Error("ERR resulting score is not a number (NaN)")
				return
			}
		}
		if known && (r.gt && score <= old || r.lt && score >= old) {
			continue
		}
		processed = true
		isNew, changed := z.put(name, score)
		added, moved = added+btoi(isNew), moved+btoi(changed)
	}
	if added+moved > 0 {
		c.touch(it)
	}
	switch {
	case z.Len() == 0: // nothing was taken
		c.server.store.drop(it)
		fallthrough
	default:
		switch {
		case r.incr && processed:
			c.score(score)
		case r.incr:
			c.w.Null()
		case r.changed:
			c.w.Int(int64(added + moved))
		default:
			c.w.Int(int64(added))
		}
	}
}

// shrunk must be called after n members were removed from a sorted set.
func (c *client) shrunk(it *item, n int) {
	switch {
	case n == 0:
	case it.zset.Len() == 0:
		c.server.store.drop(it)
	default:
		c.touch(it)
	}
	c.w.Int(int64(n))
}

func zrem(c *client) {
	it, ok := c.typed(c.args[1], kindZset)
	if !ok {
		return
	}
	if it == nil {
		c.w.Int(0)
		return
	}
	n := 0
	for _, name := range c.args[2:] {
		n += btoi(it.zset.remove(name))
	}
	c.shrunk(it, n)
}

func zcard(c *client) {
	if z, ok := c.members(c.args[1]); ok {
		n := 0
		if z != nil {
			n = z.Len()
		}
		c.w.Int(int64(n))
	}
}

func zscore(c *client) {
	z, ok := c.members(c.args[1])
	if !ok {
		return
	}
	if z != nil {
		if v, ok := z.Score(c.args[2]); ok {
			c.score(v)
			return
		}
	}
	c.w.Null()
}

func zrank(c *client) {
	z, ok := c.members(c.args[1])
	if !ok {
		return
	}
	if z != nil {
		if n, ok := z.Rank(c.args[2]); ok {
			c.w.Int(int64(n))
			return
		}
	}
	c.w.Null()
}

// interval reads a range of scores; if it is none, it sends the error.
func (c *client) interval(low, high []byte) (geo.Interval, bool) {
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

// parseBound reads a score of a range; a parenthesis in front makes it
// exclusive. As in Redis, blanks may come before the number, and a number
// beyond float64 is infinite.
func parseBound(b []byte) (v float64, open, ok bool) {
	if len(b) > 0 && b[0] == '(' {
		open, b = true, b[1:]
	}
	if len(b) == 0 { // as strtod reads it
		return 0, open, true
	}
	v, err := strtod(bytes.TrimLeft(b, " \t\n\v\f\r"))
	return v, open, (err == nil || errors.Is(err, strconv.ErrRange)) && !math.IsNaN(v)
}

func zcount(c *client) {
	in, ok := c.interval(c.args[2], c.args[3])
	if !ok {
		return
	}
	z, ok := c.members(c.args[1])
	if !ok {
		return
	}
	if z == nil {
		c.w.Int(0)
		return
	}
	from, to := z.Ranks(in)
	c.w.Int(int64(to - from))
}

func zremrangebyscore(c *client) {
	in, ok := c.interval(c.args[2], c.args[3])
	if !ok {
		return
	}
	it, ok := c.typed(c.args[1], kindZset)
	if !ok {
		return
	}
	if it == nil {
		c.w.Int(0)
		return
	}
	from, to := it.zset.Ranks(in)
	c.removeRanks(it, from, to)
}

// removeRanks removes the members with ranks in [from, to) and replies.
func (c *client) removeRanks(it *item, from, to int) {
	if c.afford(to-from, perRemoved) {
		c.shrunk(it, it.zset.removeRanks(from, to))
	}
}

func zremrangebyrank(c *client) {
	start, end, ok := c.bounds()
	if !ok {
		return
	}
	it, ok := c.typed(c.args[1], kindZset)
	if !ok {
		return
	}
	if it == nil {
		c.w.Int(0)
		return
	}
	from, to := rankRange(start, end, it.zset.Len())
	c.removeRanks(it, from, to)
}

type rangeBy uint8

const (
	byWhatever rangeBy = iota // as the options say; by rank without one
	byRank
	byScore
	byLex
)

// zrange follows zrangeGenericCommand of t_zset.c.
func zrange(c *client, by rangeBy) {
	fixed := by != byWhatever
	reverse, withScores, limited := false, false, false
	var offset, limit int64 = 0, -1
	for i := 4; i < len(c.args); i++ {
		a := c.args[i]
		var ok bool
		switch {
		case is(a, "WITHSCORES"):
			withScores = true
		case is(a, "LIMIT") && i+2 < len(c.args):
			limited = true
			if offset, ok = c.integer(c.args[i+1]); !ok {
				return
			}
			if limit, ok = c.integer(c.args[i+2]); !ok {
				return
			}
			i += 2
		case is(a, "REV") && !fixed && !reverse:
			reverse = true
		case is(a, "BYLEX") && by == byWhatever:
			by = byLex
		case is(a, "BYSCORE") && by == byWhatever:
			by = byScore
		default:
			c.w.Error(errSyntax)
			return
		}
	}
	if by == byWhatever {
		by = byRank
	}
	switch {
	case limited && limit != -1 && by == byRank:
		c.w.Error("ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX")
		return
	case withScores && by == byLex:
		c.w.Error("ERR syntax error, WITHSCORES not supported in combination with BYLEX")
		return
	}
	low, high := c.args[2], c.args[3]
	if reverse && by != byRank {
		low, high = high, low
	}
	var start, end int64
	var in geo.Interval
	var words lexRange
	var ok bool
	switch by {
	case byRank:
		if start, ok = c.integer(low); !ok {
			return
		}
		if end, ok = c.integer(high); !ok {
			return
		}
	case byScore:
		if in, ok = c.interval(low, high); !ok {
			return
		}
	case byLex:
		if words, ok = parseLex(low, high); !ok {
			c.w.Error("ERR min or max not valid string range item")
			return
		}
	}
	z, ok := c.members(c.args[1])
	if !ok {
		return
	}
	if z == nil {
		c.w.Array(0)
		return
	}
	n := z.Len()
	from, to := 0, n
	switch by {
	case byRank:
		from, to = rankRange(start, end, n)
		if reverse {
			from, to = n-to, n-from
		}
	case byScore:
		from, to = z.Ranks(in)
	case byLex:
		if !c.afford(n, perWalked) {
			return
		}
		from, to = words.ranks(z)
	}
	if by != byRank {
		if offset < 0 || offset > int64(to-from) {
			offset = int64(to - from)
		}
		if limit < 0 || limit > int64(to-from)-offset {
			limit = int64(to-from) - offset
		}
		if reverse {
			to -= int(offset)
			from = to - int(limit)
		} else {
			from += int(offset)
			to = from + int(limit)
		}
	}
	c.sendRange(z, from, to, reverse, withScores)
}

func (c *client) sendRange(z *zset, from, to int, reverse, withScores bool) {
	each := perElement
	if withScores {
		each += perScore
	}
	if !c.afford(to-from, each) {
		return
	}
	size := 0
	for member := range z.Slice(from, to) {
		size += len(member)
	}
	if withScores {
		size += 20 * (to - from)
	}
	if !c.affordReply(to-from, size) {
		return
	}
	pairs := withScores && c.w.Version() == 3
	if withScores && !pairs {
		c.w.Array(2 * (to - from))
	} else {
		c.w.Array(to - from)
	}
	list := z.Slice(from, to)
	if reverse {
		list = z.Backward(from, to)
	}
	for member, score := range list {
		if pairs {
			c.w.Array(2)
		}
		c.w.BulkString(member)
		if withScores {
			c.score(score)
		}
	}
}

// A lexRange is a range of members of equal score, by their bytes.
type lexRange struct {
	low, high         string
	openLow, openHigh bool
	fromStart, toEnd  bool // - and +
	none              bool // begins with + or ends with -
}

func parseLex(low, high []byte) (r lexRange, ok bool) {
	parse := func(b []byte, infinite, other byte) (s string, open, all, none, ok bool) {
		switch {
		case len(b) == 0:
			return "", false, false, false, false
		case len(b) == 1 && b[0] == infinite:
			return "", false, true, false, true
		case len(b) == 1 && b[0] == other:
			return "", false, false, true, true
		case b[0] == '(' || b[0] == '[':
			return string(b[1:]), b[0] == '(', false, false, true
		}
		return "", false, false, false, false
	}
	var none, none2, ok2 bool
	r.low, r.openLow, r.fromStart, none, ok = parse(low, '-', '+')
	r.high, r.openHigh, r.toEnd, none2, ok2 = parse(high, '+', '-')
	r.none = none || none2
	return r, ok && ok2
}

// ranks searches the set from its beginning: lexical ranges are rare, and no
// sketch needs them.
func (r lexRange) ranks(z *zset) (from, to int) {
	n := z.Len()
	if r.none {
		return 0, 0
	}
	from, to = -1, n
	i := 0
	for member := range z.Slice(0, n) {
		if from < 0 && (r.fromStart || member > r.low || member == r.low && !r.openLow) {
			from = i
		}
		if !r.toEnd && (member > r.high || member == r.high && r.openHigh) {
			to = i
			break
		}
		i++
	}
	if from < 0 || from > to {
		return 0, 0
	}
	return from, to
}
