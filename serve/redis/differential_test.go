package redis

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"weir/internal/redistest"
)

// The tests of this file send the same random commands to a real redis-server
// and to this one. The replies must be equal, the texts of errors too, and at
// the end of a round the bytes and the scores of every key.

var rounds = flag.Int("rounds", 12, "rounds of 3,000 commands in the differential test")

// dice draws random arguments: mostly valid ones, sometimes ones that Redis
// refuses.
type dice struct{ *rand.Rand }

func (d dice) one(of ...string) string { return of[d.IntN(len(of))] }

// key draws keys of a family, and now and then one of another family, to get
// type errors.
func (d dice) key(family string) string {
	if d.IntN(40) == 0 {
		family = d.one("s", "h", "b", "z", "g", "l", "u")
	}
	return family + strconv.Itoa(d.IntN(5))
}

func (d dice) int() string {
	switch d.IntN(12) {
	case 0:
		return d.one("", "x", "1.5", "01", "+1", " 1", "-0", "9223372036854775808", "-9223372036854775809", "1e3")
	case 1:
		return d.one("9223372036854775807", "-9223372036854775808", "4294967296", "-1", "0")
	}
	return strconv.Itoa(d.IntN(60) - 20)
}

func (d dice) offset() string {
	if d.IntN(20) == 0 {
		return d.one("-1", "x", "4294967296", "1.0", "")
	}
	return strconv.Itoa(d.IntN(1 << (1 + d.IntN(13))))
}

func (d dice) float() string {
	switch d.IntN(14) {
	case 0:
		return d.one("x", "nan", "1_0", "-nan", "1x", "--1", "(1")
	case 1:
		return d.one("inf", "-inf", "+inf", "Infinity", "1e-300", "-0", ".5", "5.", "+3")
	case 2:
		return strconv.FormatFloat(d.NormFloat64()*1e6, 'g', -1, 64)
	}
	return strconv.Itoa(d.IntN(20) - 5)
}

func (d dice) value() string {
	if d.IntN(6) == 0 {
		return d.one("", "\r\n", "\x00\xff", "12", "-7", "HYLL", strings.Repeat("x", d.IntN(100)))
	}
	return strconv.Itoa(d.IntN(1000))
}

func (d dice) element() string { return "e" + strconv.Itoa(d.IntN(3000)) }
func (d dice) member() string  { return "m" + strconv.Itoa(d.IntN(30)) }

// some draws up to n extra words.
func (d dice) some(n int, of ...string) (words []string) {
	for range d.IntN(n + 1) {
		if d.IntN(30) == 0 {
			words = append(words, "bogus")
		} else {
			words = append(words, strings.Fields(of[d.IntN(len(of))])...)
		}
	}
	return words
}

func (d dice) many(n int, f func() string) (words []string) {
	for range 1 + d.IntN(n) {
		words = append(words, f())
	}
	return words
}

func (d dice) keys(n int, family string) []string {
	return d.many(n, func() string { return d.key(family) })
}

func words(list ...any) (w []string) {
	for _, x := range list {
		switch x := x.(type) {
		case string:
			w = append(w, x)
		case []string:
			w = append(w, x...)
		}
	}
	return w
}

var families = map[string]func(d dice) []string{
	"strings": func(d dice) []string {
		k := d.key("s")
		// Never the same time twice: the two servers read their clocks at different
		// moments.
		far := func() string { return strconv.Itoa(50_000 + d.IntN(1_000_000)) }
		switch d.IntN(22) {
		case 20:
			return words(d.one("INCR", "DECR"), k)
		case 21:
			if d.IntN(2) == 0 { // something to count from
				return words("SET", k, d.one("9223372036854775806", "-9223372036854775807", "0", "-1", "01", " 1", "-0", "9223372036854775808", "1\x00"))
			}
			return words(d.one("INCRBY", "DECRBY"), k, d.one("1", "-1", "5", "0", "9223372036854775807", "-9223372036854775808", "x", "", "01", "1.5"))
		case 0, 1, 2:
			return words("SET", k, d.value(), d.some(3, "NX", "XX", "GET", "KEEPTTL", "EX 1000", "PX 900000", "EX 0", "PX x", "EXAT 99999999999", "PXAT 99999999999999", "EX 9223372036854775807", "EX"))
		case 3:
			return words("SETNX", k, d.value())
		case 4:
			return words(d.one("SETEX", "PSETEX"), k, d.one("100000", "0", "-1", "x", "9223372036854775807"), d.value())
		case 5:
			return words("GETDEL", k)
		case 6, 7:
			return words("GETRANGE", k, d.int(), d.int())
		case 8, 9:
			return words("SETRANGE", k, d.one(d.offset(), "-1", "x"), d.value())
		case 10:
			return words("APPEND", k, d.value())
		case 11:
			return words("STRLEN", k)
		case 12:
			return words(d.one("DEL", "UNLINK", "EXISTS"), d.keys(3, "s"))
		case 13:
			return words(d.one("EXPIRE", "PEXPIRE"), k, d.one(far(), far(), far(), "0", "-5", "x", "9223372036854775807", "9223372036854774"), d.some(2, "NX", "XX", "GT", "LT"))
		case 14:
			return words("PERSIST", k)
		case 15:
			return words("TYPE", k)
		case 16, 17:
			return words("TTL", k)
		case 18:
			return words(d.one("EXPIREAT", "PEXPIREAT"), k, d.one("99999999999", "1", "-1", "x"), d.some(1, "NX", "XX", "GT", "LT"))
		}
		return words("GET", k)
	},
	"lists": func(d dice) []string {
		if d.IntN(3) == 0 {
			return words("RPOP", d.key("l"))
		}
		return words(d.one("LPUSH", "RPUSH"), d.key("l"), d.many(3, d.value))
	},
	"hyperloglog": func(d dice) []string {
		k := d.key("h")
		switch d.IntN(16) {
		case 0:
			return words("PFMERGE", k, d.keys(3, "h")[1:])
		case 1, 2, 3:
			return words("PFCOUNT", d.keys(3, "h"))
		case 4:
			if d.IntN(20) > 0 {
				return words("PFADD", k)
			}
			return words("DEL", k)
		case 5:
			return words("PFDEBUG", d.one("ENCODING", "encoding", "BOGUS"), k)
		case 6:
			if d.IntN(30) == 0 {
				return words("PFDEBUG", d.one("TODENSE", "GETREG"), k)
			}
			return words("STRLEN", k)
		case 7:
			if d.IntN(10) == 0 { // damage
				return words(d.one("APPEND", "SETRANGE"), k, d.offset(), d.one("\x00", "\xff", "HYLL", "\x7f\xff"))[:3+d.IntN(2)]
			}
			return words("GETRANGE", k, "0", "20")
		case 8:
			return words("GET", k)
		}
		return words("PFADD", k, d.many(40, d.element))
	},
	"bitmap": func(d dice) []string {
		k := d.key("b")
		switch d.IntN(14) {
		case 0, 1, 2:
			return words("SETBIT", k, d.offset(), d.one("0", "1", "1", "1", "2", "x", ""))
		case 3:
			return words("GETBIT", k, d.offset())
		case 4, 5:
			return words("BITCOUNT", k, [][]string{nil, nil, {d.int()}, {d.int(), d.int()}, {d.int(), d.int(), d.one("BIT", "bit", "BYTE", "bogus")}}[d.IntN(5)])
		case 6, 7:
			return words("BITPOS", k, d.one("0", "1", "1", "0", "2", "x"), [][]string{nil, nil, {d.int()}, {d.int(), d.int()}, {d.int(), d.int(), d.one("BIT", "BYTE", "bogus")}}[d.IntN(5)])
		case 8, 9:
			return words("BITOP", d.one("AND", "or", "XOR", "NOT", "NOT", "bogus"), k, d.keys(3, "b"))
		case 10:
			return words(d.one("SET", "APPEND"), k, d.value())
		case 11, 12:
			w := words("BITFIELD", k)
			for range d.IntN(4) {
				kind := d.one("u", "i") + strconv.Itoa(1+d.IntN(d.one2(8, 64)))
				at := d.one("", "", "#") + d.offset()
				switch d.IntN(4) {
				case 0:
					w = words(w, "GET", kind, at)
				case 1:
					w = words(w, "SET", kind, at, d.int())
				case 2:
					w = words(w, "INCRBY", kind, at, d.int())
				default:
					w = words(w, "OVERFLOW", d.one("WRAP", "SAT", "FAIL", "sat", "bogus"))
				}
			}
			return w
		case 13:
			return words("BITFIELD_RO", k, d.some(1, "GET u8 3", "GET i5 #2", "SET u8 0 1", "GET u64 0"))
		}
		return words("STRLEN", k)
	},
	"sorted sets": func(d dice) []string {
		k := d.key("z")
		bound := func() string { return d.one("", "(") + d.float() }
		switch d.IntN(12) {
		case 0, 1, 2, 3:
			w := words("ZADD", k, d.some(2, "NX", "XX", "GT", "LT", "CH"))
			for range 1 + d.IntN(3) {
				w = append(w, d.float(), d.member())
			}
			return w[:len(w)-btoi(d.IntN(30) == 0)]
		case 4:
			return words("ZREM", k, d.many(3, d.member))
		case 5:
			return words("ZCARD", k)
		case 6:
			return words("ZSCORE", k, d.member())
		case 7:
			return words("ZRANGE", k, d.int(), d.int(), d.some(2, "REV", "WITHSCORES", "LIMIT 1 2", "LIMIT 0 -1"))
		case 8:
			return words("ZRANGE", k, bound(), bound(), "BYSCORE", d.some(3, "REV", "WITHSCORES", "LIMIT 1 2", "LIMIT 0 -1", "LIMIT -1 3", "LIMIT x 1", "LIMIT"))
		case 9:
			return words("ZRANGEBYSCORE", k, bound(), bound(), d.some(2, "WITHSCORES", "LIMIT 0 3", "REV"))
		}
		return words(d.one("ZCOUNT", "ZCOUNT", "ZREMRANGEBYSCORE"), k, bound(), bound())
	},
	"sets": func(d dice) []string {
		k := d.key("u")
		member := func() string {
			switch d.IntN(40) {
			case 0: // beside and beyond the lengths that are stored in another way
				return strings.Repeat("long", 60+d.IntN(6)) + strconv.Itoa(d.IntN(4))
			case 1:
				return d.one("", "-0", "01", "9223372036854775808", "\x00\xff\r\n")
			case 2, 3, 4, 5:
				return d.member()
			}
			return strconv.Itoa(d.IntN(60))
		}
		count := func() string { return d.one(d.int(), "1000", "3") }
		switch d.IntN(18) {
		case 0, 1, 2, 3:
			return words("SADD", k, d.many(12, member))
		case 4, 5:
			return words("SREM", k, d.many(5, member))
		case 6:
			return words("SCARD", k)
		case 7:
			return words("SISMEMBER", k, member())
		case 8:
			return words("SMISMEMBER", k, d.many(5, member))
		case 9:
			return words("SMEMBERS", k)
		case 10, 11:
			return words(d.one("SINTER", "SUNION", "SDIFF", "sinter"), d.keys(3, "u"))
		case 12, 13:
			return words(d.one("SINTERSTORE", "SUNIONSTORE", "SDIFFSTORE"), d.key("u"), d.keys(3, "u"))
		case 14:
			return words("SINTERCARD", d.one("1", "2", "2", "0", "x", "9", "-1"), d.keys(3, "u"), d.some(1, "LIMIT 0", "LIMIT 2", "limit 1", "LIMIT -1", "LIMIT x", "LIMIT"))
		case 15:
			if d.IntN(4) == 0 {
				return words("SPOP", k, d.one("1000", "0", "-1", "x", "1000 1", ""))
			}
			return words("SRANDMEMBER", k, d.some(1, "0", "-5", "1000", "3", "-9223372036854775808", "x", "1 2", count()))
		case 16:
			return words("SSCAN", k, d.one("0", "0", "0", "x"), "COUNT", d.one("1000", "1000", "0", "x", "-1"), d.some(1, "MATCH *1*", "match m?", "MATCH", "MATCH [1-3]*"))
		}
		return words(d.one("SADD", "SREM", "SMISMEMBER", "SINTERCARD", "DEL", "TYPE", "PERSIST"), k, d.some(1, member()))
	},
	"geo": func(d dice) []string {
		k := d.key("g")
		lon := func() string { return strconv.FormatFloat(d.NormFloat64()*3+12, 'f', 6, 64) }
		lat := func() string { return strconv.FormatFloat(d.NormFloat64()*3+42, 'f', 6, 64) }
		if d.IntN(40) == 0 {
			lon = func() string { return d.one("181", "x", "180", "-180") }
		}
		if d.IntN(40) == 0 {
			lat = func() string { return d.one("86", "nan", "-85.05112878", "") }
		}
		unit := func() string { return d.one("km", "km", "KM", "m", "mi", "ft", "parsec")[:] }
		size := func() string {
			if d.IntN(20) == 0 {
				return d.one("-1", "x", "0", "nan")
			}
			return strconv.Itoa(1 + d.IntN(800))
		}
		from := func() []string {
			return [][]string{{"FROMMEMBER", d.member()}, {"FROMLONLAT", lon(), lat()}, {"FROMLONLAT", lon(), lat()}, nil, {"FROMMEMBER"}}[d.IntN(3+2*btoi(d.IntN(20) == 0))]
		}
		by := func() []string {
			return [][]string{{"BYRADIUS", size(), unit()}, {"BYBOX", size(), size(), unit()}, nil}[d.IntN(2+btoi(d.IntN(20) == 0))]
		}
		opts := []string{"WITHCOORD", "WITHDIST", "WITHHASH", "ASC", "DESC", "ASC COUNT 3", "COUNT 1 ANY", "COUNT 0", "ANY", "COUNT"}
		switch d.IntN(16) {
		case 0, 1, 2, 3:
			w := words("GEOADD", k, d.some(1, "NX", "XX", "CH"))
			for range 1 + d.IntN(3) {
				w = append(w, lon(), lat(), d.member())
			}
			return w[:len(w)-btoi(d.IntN(30) == 0)]
		case 4:
			return words("GEODIST", k, d.member(), d.member(), d.some(1, "km", "mi", "ft", "m x"))
		case 5:
			return words("GEOPOS", k, d.many(3, d.member))
		case 6:
			return words("GEOHASH", k, d.many(3, d.member))
		case 7:
			return words(d.one("GEORADIUS", "GEORADIUS_RO"), k, lon(), lat(), size(), unit(), d.some(3, opts...))
		case 8:
			return words(d.one("GEORADIUSBYMEMBER", "GEORADIUSBYMEMBER_RO"), k, d.member(), size(), unit(), d.some(3, opts...))
		case 9:
			if d.IntN(2) == 0 { // distances have keys of their own, because they may differ in the last bit
				return words("GEORADIUS", k, lon(), lat(), size(), unit(), "STOREDIST", "t1", d.some(1, "WITHDIST", "COUNT 3", "ASC"))
			}
			return words("GEORADIUS", k, lon(), lat(), size(), unit(), "STORE", d.key("z"), d.some(1, "WITHDIST", "COUNT 3", "ASC"))
		case 10, 11, 12:
			return words(d.one("GEOSEARCH", "geosearch"), k, from(), by(), d.some(3, append(opts, "STORE z1", "STOREDIST", "BYRADIUS 3 km")...))
		case 13:
			if d.IntN(3) == 0 {
				return words("GEOSEARCHSTORE", "t2", k, from(), by(), "STOREDIST", d.some(1, "ASC", "COUNT 2"))
			}
			return words("GEOSEARCHSTORE", d.key("g"), k, from(), by(), d.some(1, "ASC", "COUNT 2", "WITHDIST"))
		case 14:
			return words(d.one("ZCARD", "ZREM"), k, d.member())[:3-0]
		}
		return words("ZSCORE", k, d.member())
	},
	"transactions": func(d dice) []string {
		switch d.IntN(6) {
		case 0:
			return words("MULTI")
		case 1, 2:
			return words("EXEC")
		case 3:
			return words("DISCARD")
		case 4:
			return words(d.one("SET", "SETNX"), d.key("s"), d.value())
		}
		return words(d.one("NOSUCH", "GET", "ECHO"), d.some(3, "a", "b", "c"))
	},
	"server": func(d dice) []string {
		switch d.IntN(7) {
		case 0:
			return words("PING", d.some(2, "x"))
		case 1:
			return words("ECHO", d.value())
		case 2:
			return words("EVAL", d.one(`if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("del",KEYS[1]) else return 0 end`,
				`if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("pexpire",KEYS[1],ARGV[2]) else return 0 end`), d.one("1"), "s"+strconv.Itoa(d.IntN(5)), d.value(), "100000")
		case 3:
			return words("DBSIZE")
		case 4:
			return words("SELECT", d.one("0", "x", "99"))
		case 5:
			return words("nosuch", d.some(4, "a", "b", strings.Repeat("long", 40)))
		}
		return words("SCAN", d.one("0", "x"), "COUNT", d.one("1000", "0", "x"))
	},
}

func (d dice) one2(a, b int) int {
	if d.IntN(2) == 0 {
		return a
	}
	return b
}

func anys(w []string) (args []any) {
	for _, s := range w {
		args = append(args, s)
	}
	return args
}

// same compares two replies to a command and returns where they differ.
func same(command []string, ours, theirs any) (where string) {
	switch strings.ToUpper(command[0]) {
	case "SMEMBERS", "SINTER", "SUNION", "SDIFF", "SPOP": // in another order
		a, ok := ours.([]any)
		b, ok2 := theirs.([]any)
		if ok && ok2 && slices.Equal(sorted(a), sorted(b)) {
			return ""
		}
	case "SRANDMEMBER": // other ones: TestRandomMembers looks at them
		a, ok := ours.([]any)
		b, ok2 := theirs.([]any)
		if _, one := ours.(string); one || ok {
			if _, one2 := theirs.(string); one == one2 && ok == ok2 && len(a) == len(b) {
				return ""
			}
		}
	case "SCAN", "SSCAN": // in another order
		a, ok := ours.([]any)
		b, ok2 := theirs.([]any)
		if ok && ok2 && reflect.DeepEqual(sorted(a[1]), sorted(b[1])) {
			return ""
		}
	case "TTL": // one clock is read a little later than the other
		a, ok := ours.(int64)
		b, ok2 := theirs.(int64)
		if ok && ok2 && a >= 0 && b >= 0 && a-b <= 1 && b-a <= 1 {
			return ""
		}
	case "EVAL", "NOSUCH": // Redis adds where in the script, or the arguments
		a, ok := ours.(redistest.Error)
		b, ok2 := theirs.(redistest.Error)
		if ok && ok2 && strings.HasPrefix(string(b), string(a)) {
			return ""
		}
	case "EXEC": // may have all of those in it
		a, ok := ours.([]any)
		b, ok2 := theirs.([]any)
		if !ok || !ok2 || len(a) != len(b) {
			break
		}
		for i := range a {
			command := "GET"
			if _, ok := a[i].([]any); ok && len(a[i].([]any)) == 2 {
				if _, ok := a[i].([]any)[1].([]any); ok {
					command = "SCAN"
				}
			} else if n, ok := a[i].(int64); ok && n >= 800 {
				command = "TTL"
			} else if _, ok := a[i].(redistest.Error); ok {
				command = "EVAL"
			}
			if where := same([]string{command}, a[i], b[i]); where != "" {
				return fmt.Sprintf("reply %d: %s", i, where)
			}
		}
		return ""
	}
	if reflect.DeepEqual(ours, theirs) {
		return ""
	}
	return fmt.Sprintf("\nours   %.600q\ntheirs %.600q", fmt.Sprint(ours), fmt.Sprint(theirs))
}

func sorted(list any) (s []string) {
	for _, x := range list.([]any) {
		s = append(s, fmt.Sprint(x))
	}
	slices.Sort(s)
	return s
}

func TestSameAsRedis(t *testing.T) {
	sameAsRedis(t, []string{"strings", "lists", "hyperloglog", "bitmap", "sorted sets", "geo", "transactions", "server"}, []int{5, 1, 5, 5, 5, 5, 1, 1})
}

// TestSetsSameAsRedis is without transactions: the order of members differs, and the
// reply of EXEC does not say which of its parts are members.
func TestSetsSameAsRedis(t *testing.T) {
	sameAsRedis(t, []string{"sets", "strings", "lists"}, []int{25, 2, 1})
}

// TestOddArgumentsSameAsRedis: arguments that random commands seldom have.
func TestOddArgumentsSameAsRedis(t *testing.T) {
	both, replies := besideRedis(t)
	const release = `if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("del",KEYS[1]) else return 0 end`
	both("SET", "s", "1")
	both("PFADD", "h", "1")
	both("SADD", "u", "1")
	both("RPUSH", "l", "1")
	for _, number := range []string{"0", "0e5", "-0e-400", "5e-324", "00e9"} {
		both("ZADD", "z", number, "m"+number)
		both("ZSCORE", "z", "m"+number)
		both("ZCOUNT", "z", number, "("+number)
		both("ZCOUNT", "z", number, number)
		both("GEOADD", "g", number, number, number)
	}
	for _, place := range []string{"inf", "-inf", "Infinity", "nan", "1e300"} {
		both("GEOADD", "g", place, "1", "m")
		both("GEORADIUS", "g", "1", place, "1", "km")
	}
	both("EVALSHA", digest([]byte(release)), "1", "s", "1")
	both("SCRIPT", "LOAD", release)
	both("EVALSHA", digest([]byte(release)), "1", "s", "2")
	for _, line := range []string{
		"FUNCTION FLUSH sync", "MEMORY USAGE nosuch", "CONFIG SET hll-sparse-max-bytes 300", "CONFIG GET hll-sparse-max-bytes",
		"CLIENT GETNAME", "CLIENT SETNAME me", "CLIENT GETNAME", "HELLO 4", "HELLO x", "AUTH a b c", "AUTH nobody x", "AUTH default x", "PING a b", "SELECT 99",
	} {
		both(strings.Fields(line)...)
	}
	both("SET", "", "1")
	for _, pattern := range []string{"*", "**", "***", "", "?", "[", "[^a]", "\\", "*?"} {
		both("SCAN", "0", "COUNT", "100", "MATCH", pattern)
		a, b := replies([]string{"KEYS", pattern})
		if !slices.Equal(sorted(a), sorted(b)) {
			t.Errorf("KEYS %q: %q, theirs %q", pattern, a, b)
		}
	}
	both("DEL", "")
	for _, score := range []string{"inf", "1e300", "18446744073709551616", "18446744073709549568", "9223372036854775808", "9223372036854774784", "-1", "-0.5", "-9223372036854775808", "-9223372036854777856", "-inf"} {
		both("ZADD", "far", score, score, "0", "0")
		both("GEOPOS", "far", score)
		both("GEOHASH", "far", score)
		both("GEODIST", "far", score, "0")
		both("GEORADIUSBYMEMBER", "far", score, "100", "km", "WITHDIST")
		both("GEOSEARCH", "far", "FROMMEMBER", score, "BYBOX", "100", "100", "km", "WITHDIST")
	}
	compareKeys(t, replies)
}

// TestNewInRedis72: what Redis 7.2 tests of these commands beyond the tests of 7.0, which
// TestRedisSuite runs.
func TestNewInRedis72(t *testing.T) {
	both, _ := besideRedis(t)
	for _, line := range []string{
		"CONFIG SET hll-sparse-max-bytes 3000", "PFADD h a b c d e f g h i j k", "PFDEBUG ENCODING h",
		"CONFIG SET hll-sparse-max-bytes 30", "PFADD h new", "PFDEBUG ENCODING h",
		"PFMERGE d none", "EXISTS d", "PFCOUNT d", "PFMERGE d2 none none2", "EXISTS d2", "PFCOUNT d2", "PFMERGE d3", "EXISTS d3", "PFCOUNT d3",
		"PFADD d4 a b c", "PFMERGE d4", "EXISTS d4", "PFCOUNT d4",
		"GEOADD nyc -73.9733487 40.7648057 park -73.9903085 40.7362513 square -74.0131604 40.7126674 wtc -73.7858139 40.6428986 jfk",
		"GEORADIUS_RO nyc -73.9798091 40.7598464 3 km ASC", "GEORADIUSBYMEMBER_RO nyc wtc 7 km",
		"GEORADIUS nyc -73.9798091 40.7598464 10 km WITHCOORD WITHHASH COUNT 2", "GEORADIUS nyc -73.9798091 40.7598464 10 km WITHHASH WITHCOORD COUNT 2",
		"GEORADIUS nyc -73.9798091 40.7598464 10 km WITHDIST WITHHASH WITHCOORD COUNT 2", "GEOHASH nyc", "GEOPOS nyc",
	} {
		both(strings.Fields(line)...)
	}
	for _, most := range []int{100, 500, 3000} {
		both("CONFIG", "SET", "hll-sparse-max-bytes", strconv.Itoa(most))
		both("DEL", "h")
		for i := range most / 2 {
			both("PFADD", "h", strconv.Itoa(i), strconv.Itoa(-i))
			both("STRLEN", "h")
			both("PFDEBUG", "ENCODING", "h")
		}
	}
}

// besideRedis starts a server and a redis-server. replies sends a command to both, and both compares
// what they reply.
func besideRedis(t *testing.T) (both func(command ...string), replies func(command []string) (ours, theirs any)) {
	their := redistest.Start(t).Conn()
	_, addr := start(t, Config{})
	our := dial(t, addr)
	replies = func(command []string) (ours, theirs any) {
		t.Helper()
		return do(t, our, anys(command)...), do(t, their, anys(command)...)
	}
	both = func(command ...string) {
		t.Helper()
		ours, theirs := replies(command)
		if where := same(command, ours, theirs); where != "" {
			t.Errorf("%q %s", command, where)
		}
	}
	return both, replies
}

// sameAsRedis compares commands of families, drawn by weights of 28 together.
func sameAsRedis(t *testing.T, names []string, weights []int) {
	_, both := besideRedis(t)
	replies, faults, rounds := map[string]int{}, 0, *rounds
	if testing.Short() {
		rounds = 4
	}
	for round := range rounds {
		d := dice{rand.New(rand.NewPCG(uint64(round), 6))}
		both([]string{"DISCARD"})
		both([]string{"FLUSHALL"})
		// In one round of three a small limit makes sketches dense early.
		both([]string{"CONFIG", "SET", "hll-sparse-max-bytes", []string{"3000", "3000", "400"}[round%3]})
		var trail [][]string
		for range 3000 {
			i, n := 0, d.IntN(28)
			for n >= weights[i] {
				n -= weights[i]
				i++
			}
			w := families[names[i]](d)
			if len(w) == 0 {
				continue
			}
			trail = append(trail, w)
			a, b := both(w)
			if _, ok := b.(redistest.Error); ok {
				faults++
			} else {
				replies[names[i]]++
			}
			if where := same(w, a, b); where != "" {
				for _, w := range trail[max(0, len(trail)-60):] {
					t.Logf("%q", w)
				}
				t.Fatalf("round %d: %q %s", round, w, where)
			}
		}
		both([]string{"DISCARD"})
		compareKeys(t, both)
	}
	t.Logf("%d errors, good replies: %v", faults, replies)
	for _, name := range names {
		if replies[name] < 50*rounds/12 {
			t.Errorf("only %d good replies of %s: the test tests little", replies[name], name)
		}
	}
}

// compareKeys compares every key: type, bytes, members and scores.
func compareKeys(t *testing.T, both func([]string) (any, any)) {
	t.Helper()
	a, b := both([]string{"KEYS", "*"})
	if !reflect.DeepEqual(sorted(a), sorted(b)) {
		t.Fatalf("keys differ: %v and %v", sorted(a), sorted(b))
	}
	for _, key := range sorted(a) {
		for _, w := range [][]string{{"TYPE", key}, {"GET", key}, {"ZRANGE", key, "0", "-1", "WITHSCORES"}, {"SMEMBERS", key}} {
			a, b := both(w)
			if key[0] == 't' && w[0] == "ZRANGE" {
				closeTo(t, a.([]any), b.([]any))
			} else if where := same(w, a, b); where != "" {
				t.Fatalf("%q %s", w, where)
			}
		}
	}
}

// closeTo compares members and distances. Distances may differ a little,
// because the C library does not always round sine and cosine correctly.
func closeTo(t *testing.T, ours, theirs []any) {
	t.Helper()
	if len(ours) != len(theirs) {
		t.Fatalf("%v, theirs %v", ours, theirs)
	}
	for i := 1; i < len(ours); i += 2 {
		a, err := strconv.ParseFloat(ours[i].(string), 64)
		b, err2 := strconv.ParseFloat(theirs[i].(string), 64)
		if err != nil || err2 != nil || math.Abs(a-b) > 1e-9*b || ours[i-1] != theirs[i-1] {
			t.Fatalf("%v, theirs %v", ours, theirs)
		}
	}
}

// TestInfoForRedisCLI: INFO has what redis-cli --stat reads, as whole numbers. For a field that
// is missing it prints -9223372036854775808.
func TestInfoForRedisCLI(t *testing.T) {
	_, addr := start(t, Config{})
	c := dial(t, addr)
	do(t, c, "SET", "k", 1)
	info := do(t, c, "INFO").(string)
	for _, field := range []string{
		"used_memory", "connected_clients", "blocked_clients", "total_commands_processed", "total_connections_received",
		"loading", "rdb_bgsave_in_progress", "aof_rewrite_in_progress",
	} {
		_, value, _ := strings.Cut(info, "\r\n"+field+":")
		value, _, _ = strings.Cut(value, "\r\n")
		if _, err := strconv.Atoi(value); err != nil {
			t.Errorf("%s is %q", field, value)
		}
	}
	if !strings.Contains(info, "\r\ndb0:keys=1,") {
		t.Error("no keys in", info)
	}
}
