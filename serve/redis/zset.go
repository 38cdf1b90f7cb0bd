package redis

import (
	"bytes"
	"errors"
	"math"
	"strconv"

	"weir/sketches/geo"
)

var zsetCommands = []command{
	{name: "zadd", arity: -4, flags: flagWrite | flagGrow, keys: firstKey, each: 1600 * nanosecond, since: "1.2.0", family: "sorted set", about: "adds members with scores; NX XX GT LT CH INCR", differ: "Minus zero becomes zero, in a large set, too.", run: onKeys(zadd)},
	{name: "zincrby", arity: 4, flags: flagWrite | flagGrow, keys: firstKey, since: "1.2.0", family: "sorted set", about: "adds to the score of a member", run: onKeys(zincrby)},
	{name: "zrem", arity: -3, flags: flagWrite, keys: firstKey, each: 2700 * nanosecond, since: "1.2.0", family: "sorted set", about: "removes members", run: onKeys(zrem)},
	{name: "zcard", arity: 2, keys: firstKey, since: "1.2.0", family: "sorted set", about: "the number of members", run: onKeys(zcard)},
	{name: "zscore", arity: 3, keys: firstKey, since: "1.2.0", family: "sorted set", about: "the score of a member", run: onKeys(zscore)},
	{name: "zrank", arity: -3, keys: firstKey, since: "2.0.0", family: "sorted set", about: "the number of members in front of a member; WITHSCORE", run: onKeys(zrank)},
	{name: "zrange", arity: -4, keys: firstKey, since: "1.2.0", family: "sorted set", about: "members by rank; BYSCORE BYLEX REV LIMIT WITHSCORES", run: onKeys(func(c call, k *keyspace) { zrange(c, k, byWhatever) })},
	{name: "zrangebyscore", arity: -4, keys: firstKey, since: "1.0.5", family: "sorted set", about: "members by score; WITHSCORES LIMIT", run: onKeys(func(c call, k *keyspace) { zrange(c, k, byScore) })},
	{name: "zremrangebyscore", arity: 4, flags: flagWrite, keys: firstKey, since: "1.2.0", family: "sorted set", about: "removes the members with scores in a range", run: onKeys(zremrangebyscore)},
	{name: "zremrangebyrank", arity: 4, flags: flagWrite, keys: firstKey, since: "2.0.0", family: "sorted set", about: "removes the members with ranks in a range", run: onKeys(zremrangebyrank)},
	{name: "zcount", arity: 4, keys: firstKey, since: "2.0.0", family: "sorted set", about: "the number of members with scores in a range", run: onKeys(zcount)},
}

// score sends a score.
func (c call) score(v float64) {
	var room [32]byte
	c.w.Number(geo.AppendScore(room[:0], v))
}

// members returns the sorted set of a key for reading; nil if there is none.
func (c call) members(k *keyspace, key []byte) (z *zset, ok bool) {
	it, ok := k.typed(c, key, kindZset)
	if it != nil {
		z = it.zset()
	}
	return z, ok
}

// present returns the item of a sorted set to remove from. If there is none, it replies
// that nothing was removed.
func (c call) present(k *keyspace) (*item, bool) {
	it, ok := k.typed(c, c.args[1], kindZset)
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
type addOptions struct{ nx, xx, gt, lt, changed, incr bool }

// zadd follows zaddGenericCommand of t_zset.c.
func zadd(c call, k *keyspace) {
	var r addOptions
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
	c.addMembers(k, r, scores, names)
}

func zincrby(c call, k *keyspace) {
	v, ok := c.float(c.args[2])
	if ok {
		c.addMembers(k, addOptions{incr: true}, []float64{v}, c.args[3:4])
	}
}

// addMembers puts members into the sorted set of the first key and replies.
func (c call) addMembers(k *keyspace, r addOptions, scores []float64, names [][]byte) {
	it, ok := k.typed(c, c.args[1], kindZset)
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
		it = k.put(c.args[1], &item{kind: kindZset, value: new(zset)})
	}
	z := it.zset()
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
		k.touch(it)
	}
	switch {
	case z.Len() == 0: // no member was added
		k.drop(it)
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

// zrank follows zrankGenericCommand of t_zset.c in Redis 7.2.
func zrank(c call, k *keyspace) {
	withScore := len(c.args) > 3
	switch {
	case len(c.args) > 4:
		c.w.Error(arityError(c.cmd.name))
		return
	case withScore && !is(c.args[3], "WITHSCORE"):
		c.w.Error(errSyntax)
		return
	}
	z, ok := c.members(k, c.args[1])
	if !ok {
		return
	}
	n, found := 0, false
	if z != nil {
		n, found = z.Rank(c.args[2])
	}
	switch {
	case found && withScore:
		score, _ := z.Score(c.args[2])
		c.w.Array(2)
		c.w.Int(int64(n))
		c.score(score)
	case found:
		c.w.Int(int64(n))
	case withScore:
		c.w.NullArray()
	default:
		c.w.Null()
	}
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

// parseBound reads a score of a range; a parenthesis in front makes it
// exclusive. As in Redis, blanks may come before the number, a byte 0 ends it, and a number
// beyond float64 is infinite.
func parseBound(b []byte) (v float64, open, ok bool) {
	if len(b) > 0 && b[0] == '(' {
		open, b = true, b[1:]
	}
	b, _, _ = bytes.Cut(b, []byte{0})
	if len(b) == 0 { // as strtod reads it
		return 0, open, true
	}
	v, err := strtod(bytes.TrimLeft(b, " \t\n\v\f\r"))
	return v, open, (err == nil || errors.Is(err, strconv.ErrRange)) && !math.IsNaN(v)
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
	c.removeRange(k, func(z *zset) (from, to int) { return z.Ranks(in) })
}

// removeRange removes the members with ranks in [from, to), which ranks returns, and
// replies.
func (c call) removeRange(k *keyspace, ranks func(z *zset) (from, to int)) {
	it, ok := c.present(k)
	if !ok {
		return
	}
	from, to := ranks(it.zset())
	if c.afford(to-from, perRemoved) {
		c.removed(k, it, it.zset().removeRanks(from, to))
	}
}

func zremrangebyrank(c call, k *keyspace) {
	start, end, ok := c.bounds()
	if !ok {
		return
	}
	c.removeRange(k, func(z *zset) (from, to int) { return rankRange(start, end, z.Len()) })
}

type rangeBy uint8

const (
	byWhatever rangeBy = iota // as the options say; by rank without one
	byRank
	byScore
	byLex
)

// A rangeQuery is what ZRANGE asks for.
type rangeQuery struct {
	by                  rangeBy
	reverse, withScores bool
	offset, limit       int64 // of LIMIT; limit −1: all
	limited             bool  // LIMIT was given

	start, end int64        // by rank
	scores     geo.Interval // by score
	words      lexRange     // by lex
}

// zrange follows zrangeGenericCommand of t_zset.c.
func zrange(c call, k *keyspace, by rangeBy) {
	q := rangeQuery{by: by, limit: -1}
	if !c.rangeOptions(&q) || !c.rangeBounds(&q) {
		return
	}
	z, ok := c.members(k, c.args[1])
	if !ok {
		return
	}
	if z == nil {
		c.w.Array(0)
		return
	}
	if q.by == byLex && !c.afford(z.Len(), perWalked) {
		return
	}
	from, to := q.ranks(z)
	c.sendRange(z, from, to, q.reverse, q.withScores)
}

// rangeOptions reads the options behind the bounds.
func (c call) rangeOptions(q *rangeQuery) (ok bool) {
	fixed := q.by != byWhatever
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
		case is(a, "BYLEX") && q.by == byWhatever:
			q.by = byLex
		case is(a, "BYSCORE") && q.by == byWhatever:
			q.by = byScore
		default:
			c.w.Error(errSyntax)
			return false
		}
	}
	if q.by == byWhatever {
		q.by = byRank
	}
	switch {
	case q.limited && q.limit != -1 && q.by == byRank:
		c.w.Error("ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX")
		return false
	case q.withScores && q.by == byLex:
		c.w.Error("ERR syntax error, WITHSCORES not supported in combination with BYLEX")
		return false
	}
	return true
}

// rangeBounds reads the bounds, which come in the other order if the range is reversed,
// except by rank.
func (c call) rangeBounds(q *rangeQuery) (ok bool) {
	low, high := c.args[2], c.args[3]
	if q.reverse && q.by != byRank {
		low, high = high, low
	}
	switch q.by {
	case byScore:
		q.scores, ok = c.interval(low, high)
	case byLex:
		if q.words, ok = parseLex(low, high); !ok {
			c.w.Error("ERR min or max not valid string range item")
		}
	default:
		if q.start, ok = c.integer(low); ok {
			q.end, ok = c.integer(high)
		}
	}
	return ok
}

// ranks returns the ranks [from, to) of the members asked for, counted from the lowest.
func (q *rangeQuery) ranks(z *zset) (from, to int) {
	switch q.by {
	case byScore:
		from, to = z.Ranks(q.scores)
	case byLex:
		from, to = q.words.ranks(z)
	default:
		n := z.Len()
		if from, to = rankRange(q.start, q.end, n); q.reverse {
			from, to = n-to, n-from
		}
		return from, to
	}
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

func (c call) sendRange(z *zset, from, to int, reverse, withScores bool) {
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
