package redis

import (
	"flag"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"weir/serve/resp"
)

// A bench runs commands without a connection, as a turn does.
type bench struct {
	testing.TB
	c *client
	w resp.Writer
}

func newBench(t testing.TB, config Config) *bench {
	s := New(config)
	return &bench{TB: t, c: s.newClient(t.Context(), 1, "a test")}
}

// run runs a command and returns its reply and the CPU time it took.
func (b *bench) run(args [][]byte) (reply []byte, took time.Duration) {
	b.w.Reset()
	c := b.c
	c.w, c.from, c.work.used = &b.w, 0, 0
	at := time.Now()
	c.keys.nano, c.keys.now = at.UnixNano(), at.UnixMilli()
	began := cpu(b)
	c.execute(args)
	return b.w.Bytes(), cpu(b) - began
}

// cpu returns the CPU time of this thread, which, unlike the clock, does not
// depend on the load of the machine.
func cpu(t testing.TB) time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now); err != nil {
		t.Fatal(err)
	}
	return time.Duration(now.Nano())
}

func (b *bench) do(words ...any) []byte {
	reply, _ := b.run(line(words...))
	return reply
}

// line makes a command from words, numbers, bytes, and lists of these.
func line(words ...any) (args [][]byte) {
	for _, w := range words {
		switch w := w.(type) {
		case string:
			args = append(args, []byte(w))
		case []byte:
			args = append(args, w)
		case [][]byte:
			args = append(args, w...)
		default:
			args = append(args, fmt.Append(nil, w))
		}
	}
	return args
}

// series returns n words, made by a format with a number in it.
func series(n int, format string) (words [][]byte) {
	for i := range n {
		words = append(words, fmt.Appendf(nil, format, i))
	}
	return words
}

// located returns the arguments of GEOADD for n members.
func located(n int, from int) (words [][]byte) {
	for i := from; i < from+n; i++ {
		lon, lat := float64(i*7919%100_000)/100_000, float64(i*104729%100_003)/100_003
		words = append(words, fmt.Appendf(nil, "%.5f", 10+lon), fmt.Appendf(nil, "%.5f", 50+lat), fmt.Appendf(nil, "member:%d", i))
	}
	return words
}

// fill makes a key with many members by several commands.
func (b *bench) fill(n, piece int, f func(from, n int) [][]byte) {
	for from := 0; from < n; from += piece {
		if r := b.do(f(from, min(piece, n-from))); r[0] == '-' {
			b.Fatalf("%.200s", r)
		}
	}
}

func (b *bench) places(n int) {
	b.fill(n, 1500, func(from, n int) [][]byte { return line("GEOADD", "g", located(n, from)) })
}

func (b *bench) scores(n int) {
	b.fill(n, 1500, func(from, n int) [][]byte {
		words := line("ZADD", "z")
		for i := from; i < from+n; i++ {
			words = append(words, strconv.AppendInt(nil, int64(i*7919%1_000_003), 10), fmt.Appendf(nil, "member:%d", i))
		}
		return words
	})
}

func (b *bench) members(key string, n int) {
	b.fill(n, 2000, func(from, n int) [][]byte {
		words := line("SADD", key)
		for i := from; i < from+n; i++ {
			words = append(words, fmt.Appendf(nil, "member:%d", i))
		}
		return words
	})
}

func (b *bench) lexical(n int) {
	b.fill(n, 1500, func(from, n int) [][]byte {
		words := line("ZADD", "z")
		for i := from; i < from+n; i++ {
			words = append(words, []byte("0"), fmt.Appendf(nil, "member:%09d", i))
		}
		return words
	})
}

func (b *bench) keys(n int) {
	for i := range n {
		b.do("SET", fmt.Sprintf("key:%d", i), "x")
	}
}

func (b *bench) elements(n int) {
	b.fill(n, 20_000, func(_, n int) [][]byte { return line("RPUSH", "l", series(n, "element %d")) })
}

// many is how many other members or keys there are: a million when the table of
// the docs is made, so that little of them is in the CPU caches.
var many = 20_000

var million = flag.Bool("million", false, "measure beside a million members and keys")

// most returns how many steps of a cost a command may take, less three percent.
func most(each cost) int { return int(float64(workMost) * 0.97 / float64(each)) }

// argsOf returns how many arguments a command may have after the first ones.
func argsOf(name string, front int) int {
	return int((float64(workMost)*0.97-float64(perCall))/float64(table[name].each+12*perByte)) - front
}

// longest are returns the commands with the largest arguments that they are
// allowed.
var longest = []struct {
	name string
	what string
	make func(b *bench)           // makes the data that they run on, once
	each func(b *bench, turn int) // runs before each run
	args func(turn int) [][]byte  // the command
}{
	{"SET", "8 MiB", nil, nil, func(int) [][]byte { return line("SET", "k", make([]byte, 8<<20)) }},
	{"GET", "8 MiB", func(b *bench) { b.do("SETRANGE", "k", 8<<20-1, "x") }, nil, func(int) [][]byte { return line("GET", "k") }},
	{"APPEND", "1 MiB to 7 MiB", nil, func(b *bench, _ int) { b.do("SET", "k", make([]byte, 7<<20)) }, func(int) [][]byte { return line("APPEND", "k", make([]byte, 1<<20)) }},
	{"SETBIT", "a new string of 8 MiB", nil, func(b *bench, _ int) { b.do("DEL", "k") }, func(int) [][]byte { return line("SETBIT", "k", 8*(8<<20)-1, 1) }},
	{"BITCOUNT", "8 MiB", func(b *bench) { b.do("SETRANGE", "k", 8<<20-1, "x") }, nil, func(int) [][]byte { return line("BITCOUNT", "k") }},
	{"BITPOS", "8 MiB of zeros", func(b *bench) { b.do("SETRANGE", "k", 8<<20-1, "x") }, nil, func(int) [][]byte { return line("BITPOS", "k", 1) }},
	{"BITOP NOT", "8 MiB", func(b *bench) { b.do("SETRANGE", "k", 8<<20-1, "x") }, nil, func(int) [][]byte { return line("BITOP", "NOT", "d", "k") }},
	{"BITOP AND", "14 sources of 900 KiB", func(b *bench) {
		for i := range 14 {
			b.do("SETRANGE", fmt.Sprint("k", i), 900<<10-1, "x")
		}
	}, nil, func(int) [][]byte { return line("BITOP", "AND", "d", series(14, "k%d")) }},
	{"BITFIELD", "as many as are allowed", nil, nil, func(int) [][]byte {
		words := line("BITFIELD", "k")
		for i := range argsOf("bitfield", 2) / 4 {
			words = append(words, line("INCRBY", "u8", 8*i, 1)...)
		}
		return words
	}},
	{"PFADD", "new elements into a new key", nil, func(b *bench, _ int) { b.do("DEL", "h") }, func(int) [][]byte {
		return line("PFADD", "h", series(argsOf("pfadd", 2)/3, "element %d"))
	}},
	{"PFADD", "known elements into a sparse key", func(b *bench) { b.do("PFADD", "h", series(1200, "element %d")) }, nil, func(int) [][]byte {
		words := line("PFADD", "h")
		for i := range argsOf("pfadd", 2) {
			words = append(words, fmt.Appendf(nil, "element %d", i%1200))
		}
		return words
	}},
	{"PFCOUNT", "dense keys", func(b *bench) { b.do("PFADD", "h", series(20_000, "element %d")) }, nil, func(int) [][]byte {
		return line("PFCOUNT", slices.Repeat(line("h"), most(perSketch+perArg+2*perByte)))
	}},
	{"PFCOUNT", "sparse keys", func(b *bench) { b.do("PFADD", "h", series(1200, "element %d")) }, nil, func(int) [][]byte {
		return line("PFCOUNT", slices.Repeat(line("h"), most(perSketch+perArg+3000*perOpcode)))
	}},
	{"PFMERGE", "dense keys", func(b *bench) { b.do("PFADD", "h", series(20_000, "element %d")) }, nil, func(int) [][]byte {
		return line("PFMERGE", "d", slices.Repeat(line("h"), most(perSketch+perArg+2*perByte)))
	}},
	{"BF.RESERVE", "16 MiB", nil, func(b *bench, _ int) { b.do("DEL", "b") }, func(int) [][]byte { return line("BF.RESERVE", "b", "0.01", 12_000_000) }},
	{"BF.MADD", "into a filter of 16 MiB", func(b *bench) { b.do("BF.RESERVE", "b", "0.01", 12_000_000) }, nil, func(turn int) [][]byte {
		return line("BF.MADD", "b", series(most(perArg+8*(perProbe+perMiss)+12*perByte), fmt.Sprint(turn)+"-%d"))
	}},
	{"BF.MADD", "into a filter that grows by each", nil, func(b *bench, _ int) {
		b.do("DEL", "b")
		b.do("BF.RESERVE", "b", "0.2", 1, "EXPANSION", 1)
	}, func(turn int) [][]byte { return line("BF.MADD", "b", series(2000, fmt.Sprint(turn)+"-%d")) }},
	{"BF.MEXISTS", "in a filter of 16 MiB", func(b *bench) { b.do("BF.RESERVE", "b", "0.01", 12_000_000) }, nil, func(turn int) [][]byte {
		return line("BF.MEXISTS", "b", series(most(perArg+8*(perProbe+perMiss)+12*perByte), fmt.Sprint(turn)+"-%d"))
	}},
	{"GEOADD", "new members into many", func(b *bench) { b.places(many) }, nil, func(turn int) [][]byte {
		return line("GEOADD", "g", located(argsOf("geoadd", 2)/3, 2_000_000+turn*10_000))
	}},
	{"GEOSEARCH", "a circle with all it may look at, sorted", func(b *bench) { b.places(5000) }, nil, func(int) [][]byte {
		return line("GEOSEARCH", "g", "FROMLONLAT", "10.5", "50.5", "BYRADIUS", 500, "km", "ASC")
	}},
	{"GEOSEARCH", "the same with distance and position", func(b *bench) { b.places(2500) }, nil, func(int) [][]byte {
		return line("GEOSEARCH", "g", "FROMLONLAT", "10.5", "50.5", "BYRADIUS", 500, "km", "ASC", "WITHDIST", "WITHCOORD")
	}},
	{"GEOSEARCH", "among 95,000, none found", func(b *bench) { b.places(95_000) }, nil, func(int) [][]byte {
		return line("GEOSEARCH", "g", "FROMLONLAT", "11.9", "50.5", "BYBOX", 130, 200, "km")
	}},
	{"GEOSEARCHSTORE", "all it may store", func(b *bench) { b.places(2500) }, nil, func(int) [][]byte {
		return line("GEOSEARCHSTORE", "d", "g", "FROMLONLAT", "10.5", "50.5", "BYRADIUS", 500, "km", "ASC")
	}},
	{"GEOPOS", "members of many", func(b *bench) { b.places(many) }, nil, func(int) [][]byte {
		return line("GEOPOS", "g", series(argsOf("geopos", 2), "member:%d"))
	}},
	{"ZADD", "new members into many", func(b *bench) { b.scores(many) }, nil, func(turn int) [][]byte {
		words := line("ZADD", "z")
		for i := range argsOf("zadd", 2) / 2 {
			words = append(words, strconv.AppendInt(nil, int64(i*7919%1_000_003), 10), fmt.Appendf(nil, "%d new:%d", turn, i))
		}
		return words
	}},
	{"ZREM", "members of many", func(b *bench) { b.scores(many) }, nil, func(turn int) [][]byte {
		n := argsOf("zrem", 2)
		words := line("ZREM", "z")
		for i := turn * n; i < (turn+1)*n; i++ {
			words = append(words, fmt.Appendf(nil, "member:%d", i*31%many))
		}
		return words
	}},
	{"ZRANGE", "members", func(b *bench) { b.scores(200_000) }, nil, func(int) [][]byte {
		return line("ZRANGE", "z", 0, most(perElement+13*perByte)-1)
	}},
	{"ZRANGE WITHSCORES", "members", func(b *bench) { b.scores(200_000) }, nil, func(int) [][]byte {
		return line("ZRANGE", "z", 0, most(perElement+perScore+33*perByte)-1, "WITHSCORES")
	}},
	{"ZRANGE BYLEX", "among all it may pass", func(b *bench) { b.lexical(340_000) }, nil, func(int) [][]byte {
		return line("ZRANGE", "z", "[member:5", "+", "BYLEX", "LIMIT", 0, 10)
	}},
	{"ZREMRANGEBYRANK", "members of many", func(b *bench) { b.scores(many) }, nil, func(int) [][]byte {
		return line("ZREMRANGEBYRANK", "z", 0, most(perRemoved)-1)
	}},
	{"ZRANK, ZCOUNT", "in many", func(b *bench) { b.scores(many) }, nil, func(int) [][]byte { return line("ZCOUNT", "z", "(5", "(999000") }},
	{"SADD", "new members into many", func(b *bench) { b.members("u", many) }, nil, func(turn int) [][]byte {
		return line("SADD", "u", series(argsOf("sadd", 2), fmt.Sprint(turn)+" new:%d"))
	}},
	{"SADD", "a member that divides the index", nil, func(b *bench, _ int) {
		b.do("DEL", "u")
		b.members("u", 49_152) // three quarters of 65,536 slots
	}, func(int) [][]byte { return line("SADD", "u", "one more") }},
	{"SREM", "members of many", func(b *bench) { b.members("u", many) }, nil, func(turn int) [][]byte {
		n := argsOf("srem", 2)
		words := line("SREM", "u")
		for i := turn * n; i < (turn+1)*n; i++ {
			words = append(words, fmt.Appendf(nil, "member:%d", i*31%many))
		}
		return words
	}},
	{"SMISMEMBER", "members of many", func(b *bench) { b.members("u", many) }, nil, func(turn int) [][]byte {
		words := line("SMISMEMBER", "u")
		for i := range argsOf("smismember", 2) {
			words = append(words, fmt.Appendf(nil, "member:%d", (turn+i)*7919%many))
		}
		return words
	}},
	{"SMEMBERS", "members", func(b *bench) { b.members("u", most(perElement+13*perByte)) }, nil, func(int) [][]byte { return line("SMEMBERS", "u") }},
	{"SRANDMEMBER", "different members of many", func(b *bench) { b.members("u", max(many, 100_000)) }, nil, func(int) [][]byte {
		return line("SRANDMEMBER", "u", most(perElement+perDrawn+13*perByte))
	}},
	{"SPOP", "members of many", func(b *bench) { b.members("u", max(many, 200_000)) }, nil, func(int) [][]byte {
		return line("SPOP", "u", most(perElement+perDrawn+perTaken+13*perByte))
	}},
	{"SINTERCARD", "members sought in many", func(b *bench) {
		b.members("u", many)
		b.members("v", most(perWalked+perSought+26*perRead))
	}, nil, func(int) [][]byte { return line("SINTERCARD", 2, "u", "v") }},
	{"SDIFF", "members of 50 sets, none found", func(b *bench) {
		b.members("u", most(perWalked+50*perSought+663*perRead+perJoined+perElement+26*perByte))
		for i := range 50 {
			b.do("SADD", fmt.Sprint("v", i), series(1000, "other:%d"))
		}
	}, nil, func(int) [][]byte { return line("SDIFF", "u", series(50, "v%d")) }},
	{"SUNION", "members", func(b *bench) { b.members("u", most(perWalked+perJoined+perElement+26*perByte)) }, nil, func(int) [][]byte { return line("SUNION", "u") }},
	{"SUNIONSTORE", "members", func(b *bench) { b.members("u", most(perWalked+perJoined+13*perByte)) }, nil, func(int) [][]byte { return line("SUNIONSTORE", "d", "u") }},
	{"SSCAN", "COUNT 1000000 of many members", func(b *bench) { b.members("u", many) }, nil, func(int) [][]byte {
		return line("SSCAN", "u", 0, "COUNT", 1_000_000, "MATCH", "*:*9*")
	}},
	{"DEL", "a set of many", nil, func(b *bench, turn int) {
		if turn == 0 {
			b.members("u", many)
		}
	}, func(int) [][]byte { return line("DEL", "u") }},
	{"LPUSH", "elements", nil, func(b *bench, _ int) { b.do("DEL", "l") }, func(int) [][]byte { return line("LPUSH", "l", series(argsOf("lpush", 2), "element %d")) }},
	{"RPUSH", "elements behind many", func(b *bench) { b.elements(many) }, nil, func(int) [][]byte { return line("RPUSH", "l", series(argsOf("rpush", 2), "element %d")) }},
	{"LRANGE", "elements", func(b *bench) { b.elements(200_000) }, nil, func(int) [][]byte { return line("LRANGE", "l", 0, most(perElement+14*perByte)-1) }},
	{"LRANGE", "9.5 MiB in 620 elements", func(b *bench) {
		b.fill(620, 100, func(_, n int) [][]byte { return line("RPUSH", "l", slices.Repeat(line(make([]byte, 15<<10)), n)) })
	}, nil, func(int) [][]byte { return line("LRANGE", "l", 0, -1) }},
	{"KEYS", "all there may be", func(b *bench) { b.keys(most(perKey)) }, nil, func(int) [][]byte { return line("KEYS", "key:*") }},
	{"SCAN", "COUNT 1000000 of many keys", func(b *bench) { b.keys(many) }, nil, func(int) [][]byte { return line("SCAN", 0, "COUNT", 1_000_000, "MATCH", "*:*9*") }},
	{"SCAN", "the longest key and a bad pattern", func(b *bench) { b.do("SET", strings.Repeat("a", keyMost), "x") }, nil, func(int) [][]byte {
		return line("SCAN", 0, "MATCH", "*"+strings.Repeat("a", patternMost-2)+"b")
	}},
	{"SET", "a new key beside many", func(b *bench) { b.keys(many) }, nil, func(turn int) [][]byte { return line("SET", fmt.Sprint("new", turn), "x") }},
	{"DEL", "keys", nil, func(b *bench, _ int) { b.keys(argsOf("del", 1)) }, func(int) [][]byte { return line("DEL", series(argsOf("del", 1), "key:%d")) }},
	{"DEL", "a sorted set of many", nil, func(b *bench, turn int) {
		if turn == 0 {
			b.scores(many)
		}
	}, func(int) [][]byte { return line("DEL", "z") }},
	{"EXISTS", "keys", func(b *bench) { b.keys(argsOf("exists", 1)) }, nil, func(int) [][]byte { return line("EXISTS", series(argsOf("exists", 1), "key:%d")) }},
	{"FLUSHALL", "many keys", nil, func(b *bench, turn int) {
		if turn == 0 {
			b.keys(many)
		}
	}, func(int) [][]byte { return line("FLUSHALL") }},
	{"EVAL", "a text of 8 MiB", nil, nil, func(int) [][]byte { return line("EVAL", make([]byte, 8<<20), 0) }},
	{"EXEC", "INCR, as many as are allowed", nil, func(b *bench, _ int) {
		b.do("MULTI")
		for range most(perCall + 2*perArg + 8*perByte) {
			b.do("INCR", "nnnn")
		}
	}, func(int) [][]byte { return line("EXEC") }},
	{"EXEC", "BITOP NOT of 1 MiB, as many as there is time for", func(b *bench) { b.do("SETRANGE", "k", 1<<20-1, "x") }, func(b *bench, _ int) {
		b.do("MULTI")
		for i := range 1000 {
			b.do("BITOP", "NOT", fmt.Sprint("d", i), "k")
		}
	}, func(int) [][]byte { return line("EXEC") }},
	{"COMMAND DOCS", "as many as are allowed", nil, nil, func(int) [][]byte { return line("COMMAND", "DOCS", slices.Repeat(line("set"), argsOf("command", 2))) }},
	{"INFO", "", nil, nil, func(int) [][]byte { return line("INFO") }},
	{"CLIENT LIST", "8,000 clients", func(b *bench) {
		for i := range int64(8_000) {
			b.c.server.clients[&client{server: b.c.server, id: i, addr: "127.0.0.1:12345", session: session{name: "dashboard"}}] = struct{}{}
		}
	}, nil, func(int) [][]byte { return line("CLIENT", "LIST") }},
	{"PING", "8 MiB", nil, nil, func(int) [][]byte { return line("PING", make([]byte, 8<<20)) }},
}

// TestLongest runs every command whose time depends on its arguments or its
// value with the largest ones that it is allowed, and prints how long that
// takes. `make longest` prints the table of the docs with it. It fails only if
// a command takes a second, so that a busy machine does not fail it.
func TestLongest(t *testing.T) {
	turns := 3
	if testing.Short() {
		turns = 1
	}
	if *million {
		many, turns = 1_000_000, 15
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	t.Logf("%-18s %-52s %10s %10s", "command", "", "median", "longest")
	for _, x := range longest {
		b := newBench(t, Config{Memory: 4 << 30})
		if x.make != nil {
			x.make(b)
		}
		var took []time.Duration
		what := x.what
		for turn := range turns {
			if x.each != nil {
				x.each(b, turn)
			}
			args := x.args(turn)
			reply, d := b.run(args)
			if len(args) > 100 {
				what = fmt.Sprintf("%s (%d arguments)", x.what, len(args))
			}
			if reply[0] == '-' && x.name != "EVAL" && turn == 0 {
				t.Errorf("%s %s: %.200s", x.name, what, reply)
			}
			took = append(took, d)
		}
		slices.Sort(took)
		ms := func(d time.Duration) string { return fmt.Sprintf("%.2f ms", float64(d)/1e6) }
		t.Logf("%-18s %-52s %10s %10s", x.name, what, ms(took[turns/2]), ms(took[turns-1]))
		if took[0] > time.Second {
			t.Errorf("%s %s takes %s at the least", x.name, what, took[0])
		}
	}
}
