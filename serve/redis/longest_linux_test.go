package redis

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"weir/serve/live"
	"weir/serve/resp"
	"weir/sketches/bitmap"
	"weir/sketches/histogram"
	"weir/sketches/hll"
	"weir/sketches/idset"
	"weir/window"
)

// A bench runs commands without a connection, as a turn does.
type bench struct {
	testing.TB
	c       *client
	w       resp.Writer
	windows map[string]*item
}

func newBench(t testing.TB, config Config) *bench {
	s := New(config)
	return &bench{TB: t, c: s.newClient(t.Context(), 1, "a test"), windows: map[string]*item{}}
}

// run runs a command and returns its reply, the CPU time it took, and how many pages of
// memory it was the first to touch.
func (b *bench) run(args [][]byte) (reply []byte, took time.Duration, pages int64) {
	b.w.Reset()
	c := b.c
	c.w, c.from, c.work.used = &b.w, 0, 0
	c.keys.windows = maps.Clone(b.windows) // texts are made anew
	for name, it := range c.keys.windows {
		c.keys.windows[name] = windowItem(name, live.Answer{Value: it.window.value})
	}
	at := time.Now()
	c.keys.nano, c.keys.now = at.UnixNano(), at.UnixMilli()
	faults, began := touched(b), cpu(b)
	c.execute(args)
	took = cpu(b) - began
	return b.w.Bytes(), took, touched(b) - faults
}

// touched returns how many pages this thread was the first to touch.
func touched(t testing.TB) int64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &u); err != nil {
		t.Fatal(err)
	}
	return u.Minflt
}

// shows makes a window key.
func (b *bench) shows(name string, value any) {
	b.windows[name] = windowItem(name, live.Answer{Value: value})
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
	reply, _, _ := b.run(line(words...))
	return reply
}

// text returns a long argument. Its pages have been touched, as those of a request have.
func text(n int) []byte { return longText()[:n:n] }

var longText = sync.OnceValue(func() []byte { return bytes.Repeat([]byte("x"), 8<<20) })

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

// The window keys of some benches.

func (b *bench) frequent() {
	var list []window.TopKey
	for i := range 4 * window.MaxK {
		list = append(list, window.TopKey{Key: fmt.Sprint("key ", i), Count: uint64(10_000 - i)})
	}
	b.shows("w:j:top:now", live.NewTop(list, window.MaxK))
}

func (b *bench) spread() {
	layout := histogram.NewLayout(histogram.ScaleFor(0.01))
	var counts histogram.Counts
	for v := 1.0; len(counts) < 2000; v *= 1.01 {
		if at := layout.Of(v); len(counts) == 0 || counts[len(counts)-1].Bucket != at {
			counts = append(counts, histogram.Count{Bucket: at, N: 1})
		}
	}
	b.shows("w:j:spread:now", live.NewQuantiles(counts))
}

func (b *bench) active(name string) {
	active := new(bitmap.Activity)
	active.AddMany([]uint32{1, 1 << 20, 8*(8<<20) - 1})
	b.shows(name, active)
}

func (b *bench) ids(name string) {
	hashes := new(idset.Pool)
	hashes.Grow(1)
	for i := range uint32(most(perShared)) {
		hashes.Add(0, (i+1)*2_654_435_761)
	}
	b.shows(name, live.NewSet(hashes, nil))
}

func (b *bench) users() *hll.Sketch {
	users := new(hll.Sketch)
	for i := range 20_000 {
		users.Add(strconv.AppendInt(nil, int64(i), 10))
	}
	return users
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
	{"SET", "8 MiB", nil, nil, func(int) [][]byte { return line("SET", "k", text(8<<20)) }},
	{"GET", "8 MiB", func(b *bench) { b.do("SETRANGE", "k", 8<<20-1, "x") }, nil, func(int) [][]byte { return line("GET", "k") }},
	{"APPEND", "1 MiB to 7 MiB", nil, func(b *bench, _ int) { b.do("SET", "k", text(7<<20)) }, func(int) [][]byte { return line("APPEND", "k", text(1<<20)) }},
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
	{"EVAL", "a text of 8 MiB", nil, nil, func(int) [][]byte { return line("EVAL", text(8<<20), 0) }},
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
	{"GETRANGE", "8 MiB", func(b *bench) { b.do("SETRANGE", "k", 8<<20-1, "x") }, nil, func(int) [][]byte { return line("GETRANGE", "k", 0, -1) }},
	{"SETRANGE", "a new string of 8 MiB", nil, func(b *bench, _ int) { b.do("DEL", "k") }, func(int) [][]byte { return line("SETRANGE", "k", 8<<20-1, "x") }},
	{"GETDEL", "8 MiB", nil, func(b *bench, _ int) { b.do("SETRANGE", "k", 8<<20-1, "x") }, func(int) [][]byte { return line("GETDEL", "k") }},
	{"RPOP", "8 MiB", nil, func(b *bench, _ int) { b.do("RPUSH", "l", text(8<<20)) }, func(int) [][]byte { return line("RPOP", "l") }},
	{"AUTH", "8 MiB", nil, nil, func(int) [][]byte { return line("HELLO", 2, "AUTH", "default", text(8<<20)) }},
	{"BF.SCANDUMP", "8 MiB", func(b *bench) { b.do("BF.RESERVE", "b", "0.01", 12_000_000) }, nil, func(int) [][]byte { return line("BF.SCANDUMP", "b", 1) }},
	{"BF.LOADCHUNK", "2 MiB, the first of a filter of 16 MiB", func(b *bench) { b.do("BF.RESERVE", "b", "0.01", 12_000_000) }, func(b *bench, _ int) {
		b.do("DEL", "c")
		header := b.do("BF.SCANDUMP", "b", 0)
		header = header[bytes.Index(header, []byte("$"))+len("$73\r\n"):]
		b.do("BF.LOADCHUNK", "c", 1, header[:len(header)-2])
	}, func(int) [][]byte { return line("BF.LOADCHUNK", "c", 2<<20+1, text(2<<20)) }},
	{"BF.INSERT", "into a new filter of 8 MiB", nil, func(b *bench, _ int) { b.do("DEL", "b") }, func(turn int) [][]byte {
		return line("BF.INSERT", "b", "CAPACITY", 6_000_000, "ITEMS", series(5000, fmt.Sprint(turn)+"-%d"))
	}},
	{"PFDEBUG GETREG", "", func(b *bench) { b.do("PFADD", "h", series(20_000, "element %d")) }, nil, func(int) [][]byte { return line("PFDEBUG", "GETREG", "h") }},
	{"ZRANGEBYSCORE", "members with scores", func(b *bench) { b.scores(200_000) }, nil, func(int) [][]byte {
		return line("ZRANGEBYSCORE", "z", "-inf", "+inf", "WITHSCORES", "LIMIT", 1000, most(perElement+perScore+33*perByte)-1)
	}},
	{"ZREMRANGEBYSCORE", "members of many", func(b *bench) { b.scores(many) }, func(b *bench, turn int) {
		words := line("ZADD", "z")
		for i := range 1500 {
			words = append(words, line(-1-i, fmt.Sprint(turn, " low:", i))...)
		}
		b.do(words)
	}, func(int) [][]byte { return line("ZREMRANGEBYSCORE", "z", "-inf", "(0") }},
	{"SINTERSTORE", "members of many", func(b *bench) {
		b.members("u", many)
		b.members("v", most(perWalked+perSought+perJoined+26*perRead+13*perByte))
	}, nil, func(int) [][]byte { return line("SINTERSTORE", "d", "u", "v") }},
	{"SDIFFSTORE", "members of another set", func(b *bench) {
		b.members("u", most(perWalked+perSought+perJoined+26*perRead+13*perByte))
		b.do("SADD", "v", "x")
	}, nil, func(int) [][]byte { return line("SDIFFSTORE", "d", "u", "v") }},
	{"GEORADIUS", "a circle with all it may look at, sorted", func(b *bench) { b.places(5000) }, nil, func(int) [][]byte {
		return line("GEORADIUS", "g", "10.5", "50.5", 500, "km", "ASC")
	}},
	{"GEOHASH", "members of many", func(b *bench) { b.places(many) }, nil, func(int) [][]byte {
		return line("GEOHASH", "g", series(argsOf("geohash", 2), "member:%d"))
	}},
	{"CONFIG GET", "as many patterns as are allowed", nil, nil, func(int) [][]byte { return line("CONFIG", "GET", series(750, "*a*b*c%d")) }},
	{"WATCH", "1,000 keys", nil, func(b *bench, _ int) { b.do("UNWATCH") }, func(int) [][]byte { return line("WATCH", series(1000, "key:%d")) }},
	{"SCRIPT EXISTS", "as many as are allowed", nil, nil, func(int) [][]byte { return line("SCRIPT", "EXISTS", series(argsOf("script", 2), "%d")) }},
	{"TOPK.LIST", "1,000 keys", func(b *bench) { b.frequent() }, nil, func(int) [][]byte { return line("TOPK.LIST", "w:j:top:now", "WITHCOUNT") }},
	{"TOPK.COUNT", "as many as are allowed", func(b *bench) { b.frequent() }, nil, func(int) [][]byte {
		return line("TOPK.COUNT", "w:j:top:now", series(argsOf("topk.count", 2), "key %d"))
	}},
	{"TOPK.QUERY", "as many as are allowed", func(b *bench) { b.frequent() }, nil, func(int) [][]byte {
		return line("TOPK.QUERY", "w:j:top:now", series(argsOf("topk.query", 2), "key %d"))
	}},
	{"TDIGEST.QUANTILE", "as many as are allowed, of 2,000 buckets", func(b *bench) { b.spread() }, nil, func(int) [][]byte {
		return line("TDIGEST.QUANTILE", "w:j:spread:now", slices.Repeat(line("0.99"), most(2000*perBucket+400*nanosecond+4*perByte)))
	}},
	{"TDIGEST.CDF", "as many as are allowed, of 2,000 buckets", func(b *bench) { b.spread() }, nil, func(int) [][]byte {
		return line("TDIGEST.CDF", "w:j:spread:now", slices.Repeat(line("1e9"), most(2000*perBucket+4000*nanosecond+4*perByte)))
	}},
	{"GET", "the bitmap of a window, 8 MiB", func(b *bench) { b.active("w:j:active:now") }, nil, func(int) [][]byte { return line("GET", "w:j:active:now") }},
	{"SINTERCARD", "a window and a set", func(b *bench) {
		b.ids("w:j:ids:now")
		b.members("u", most(perSought+10*perByte))
	}, nil, func(int) [][]byte { return line("SINTERCARD", 2, "w:j:ids:now", "u") }},
	{"SINTERCARD", "two windows, of ids by the thousand", func(b *bench) {
		b.ids("w:j:ids:now")
		b.ids("w:j:ids:-1")
	}, nil, func(int) [][]byte { return line("SINTERCARD", 2, "w:j:ids:now", "w:j:ids:-1") }},
	{"PFCOUNT", "windows", func(b *bench) {
		for i := range most(perSketch + perArg + 14*perByte) {
			b.shows(fmt.Sprintf("w:j:users:-%d", i+1), b.users())
		}
	}, nil, func(int) [][]byte { return line("PFCOUNT", series(most(perSketch+perArg+14*perByte), "w:j:users:-%d")) }},
	{"PING", "8 MiB", nil, nil, func(int) [][]byte { return line("PING", text(8<<20)) }},
}

// small are the commands of which as many as are allowed run in one transaction, each with
// few arguments. TestLongest makes their keys anew for each.
var small = strings.Fields(`GET_s SET_k_x SETNX_k_x SETEX_k_9_x PSETEX_k_9_x GETDEL_s GETRANGE_s_0_-1 SETRANGE_s_0_x APPEND_s_x STRLEN_s
	INCR_n DECR_n INCRBY_n_5 DECRBY_n_5 DEL_k UNLINK_k EXISTS_s EXPIRE_s_9 PEXPIRE_s_9 EXPIREAT_s_9999999999 PEXPIREAT_s_9999999999999
	TTL_s PTTL_s PERSIST_s TYPE_s KEYS_* SCAN_0 RENAME_s_s RENAMENX_s_n DBSIZE FLUSHDB FLUSHALL
	PFADD_h_a PFCOUNT_h PFCOUNT_h_h PFMERGE_h_h PFDEBUG_ENCODING_h PFDEBUG_DECODE_h PFSELFTEST
	SETBIT_s_7_1 GETBIT_s_7 BITCOUNT_s BITPOS_s_1 BITOP_NOT_d_s BITFIELD_s_GET_u8_0 BITFIELD_RO_s_GET_u8_0
	BF.RESERVE_c_0.01_100 BF.ADD_b_x BF.MADD_b_x BF.INSERT_b_ITEMS_x BF.EXISTS_b_x BF.MEXISTS_b_x BF.INFO_b BF.CARD_b BF.SCANDUMP_b_0 BF.LOADCHUNK_b_1_x
	GEOADD_g_1_1_m GEODIST_g_member:0_member:1 GEOPOS_g_member:0 GEOHASH_g_member:0 GEORADIUS_g_1_1_1_km GEORADIUS_RO_g_1_1_1_km
	GEORADIUSBYMEMBER_g_member:0_1_km GEORADIUSBYMEMBER_RO_g_member:0_1_km GEOSEARCH_g_FROMMEMBER_member:0_BYRADIUS_1_km
	GEOSEARCHSTORE_d_g_FROMMEMBER_member:0_BYRADIUS_1_km
	ZADD_z_1_m ZINCRBY_z_1_m ZREM_z_m ZCARD_z ZSCORE_z_member:0 ZRANK_z_member:0 ZRANGE_z_0_0 ZRANGEBYSCORE_z_0_1 ZREMRANGEBYSCORE_z_-1_-1 ZREMRANGEBYRANK_z_1_0 ZCOUNT_z_0_1
	SADD_u_x SREM_u_x SMOVE_u_u_x SCARD_u SISMEMBER_u_x SMISMEMBER_u_x SMEMBERS_none SRANDMEMBER_u SPOP_u SINTER_none_u SINTERSTORE_d_none_u
	SINTERCARD_1_none SUNION_none SUNIONSTORE_d_none SDIFF_none SDIFFSTORE_d_none SSCAN_u_0
	TDIGEST.QUANTILE_w:j:spread:now_0.5 TDIGEST.CDF_w:j:spread:now_1 TDIGEST.MIN_w:j:spread:now TDIGEST.MAX_w:j:spread:now
	TOPK.LIST_w:j:top:now TOPK.COUNT_w:j:top:now_x TOPK.QUERY_w:j:top:now_x CL.THROTTLE_t_9_9_9
	SCARD_w:j:ids:now SISMEMBER_w:j:ids:now_x PFCOUNT_w:j:users:now GETBIT_w:j:users:now_1 BITCOUNT_w:j:active:now GETBIT_w:j:active:now_1 BITPOS_w:j:active:now_0
	DELEX_n_IFEQ_x DELIFEQ_n_x EVAL_SCRIPT_1_k_x EVALSHA_DIGEST_1_k_x SCRIPT_LOAD_SCRIPT LPUSH_l_x RPUSH_l_x RPOP_l LLEN_l LRANGE_l_0_0 UNWATCH
	PING ECHO_x SELECT_0 AUTH_default_x HELLO CLIENT_ID CLIENT_INFO CLIENT_LIST COMMAND COMMAND_COUNT COMMAND_DOCS CONFIG_GET_* CONFIG_SET_maxmemory_1000000000
	INFO MEMORY_USAGE_u OBJECT_ENCODING_u OBJECT_ENCODING_z DEBUG_PROTOCOL_string FUNCTION_LIST TIME`)

// alone are the commands that no transaction can hold many of, and that do nothing long.
var alone = []string{"multi", "discard", "quit", "reset"}

// smallArgs returns the arguments of one of small.
func smallArgs(text string) [][]byte {
	args := line()
	for word := range strings.SplitSeq(text, "_") {
		switch word {
		case "SCRIPT":
			if len(args) > 0 {
				word = scriptTexts[0].text
			}
		case "DIGEST":
			word = digest(scriptTexts[0].text)
		case "RO":
			args[len(args)-1] = append(args[len(args)-1], "_RO"...)
			continue
		}
		args = append(args, []byte(word))
	}
	return args
}

// smallKeys makes the keys of small.
func (b *bench) smallKeys() {
	b.do("FLUSHALL")
	b.do("SET", "s", strings.Repeat("x", 20))
	b.do("SET", "n", 1)
	b.do("PFADD", "h", series(1200, "element %d"))
	b.do("BF.RESERVE", "b", "0.01", 1000)
	b.places(1000)
	b.scores(128)
	for i := range 512 {
		b.do("SADD", "u", 1_000_000_000_000_000+i)
	}
	b.elements(10_000)
	b.do("SCRIPT", "LOAD", scriptTexts[0].text)
}

// TestLongest runs every command whose time depends on its arguments or its
// value with the largest ones that it is allowed, and transactions of as many as are
// allowed of each command, and prints how long that takes. `make longest` prints the
// table of the docs with it. It fails only if a command takes a second, so that a busy
// machine does not fail it.
func TestLongest(t *testing.T) {
	turns := 3
	if *million {
		many, turns = 1_000_000, 15
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	t.Logf("%-18s %-52s %10s %10s %10s", "command", "", "median", "longest", "new memory")
	covered := map[string]bool{}
	measure := func(b *bench, name, what string, each func(turn int) [][]byte) {
		covered[strings.ToLower(strings.FieldsFunc(name, func(r rune) bool { return r == ' ' || r == ',' })[0])] = true
		var took []time.Duration
		new := map[time.Duration]int64{} // KiB
		for turn := range turns {
			args := each(turn)
			reply, d, pages := b.run(args)
			if len(args) > 100 && turn == 0 {
				what = fmt.Sprintf("%s (%d arguments)", what, len(args))
			}
			if reply[0] == '-' && name != "EVAL" && turn == 0 {
				t.Errorf("%s %s: %.200s", name, what, reply)
			}
			took = append(took, d)
			new[d] = pages * 4
			if !*million && d <= time.Second {
				break // more turns are for those that took too long, and for the table
			}
		}
		slices.Sort(took)
		ms := func(d time.Duration) string { return fmt.Sprintf("%.2f ms", float64(d)/1e6) }
		t.Logf("%-18s %-52s %10s %10s %6d KiB", name, what, ms(took[len(took)/2]), ms(took[len(took)-1]), new[took[len(took)-1]])
		if took[0] > time.Second {
			t.Errorf("%s %s takes %s at the least", name, what, took[0])
		}
	}
	for _, x := range longest {
		b := newBench(t, Config{Memory: 4 << 30})
		if x.make != nil {
			x.make(b)
		}
		measure(b, x.name, x.what, func(turn int) [][]byte {
			if x.each != nil {
				x.each(b, turn)
			}
			return x.args(turn)
		})
	}
	b := newBench(t, Config{Memory: 4 << 30, Windows: newFakeWindows()})
	b.frequent()
	b.spread()
	b.active("w:j:active:now")
	b.ids("w:j:ids:now")
	b.shows("w:j:users:now", b.users())
	for _, text := range small {
		args := smallArgs(text)
		covered[strings.ToLower(string(args[0]))] = true
		n := 0
		for spent := cost(0); spent+lookup(args[0]).base(args) <= workMost; n++ {
			spent += lookup(args[0]).base(args)
		}
		measure(b, "EXEC", fmt.Sprintf("%d of %.40s", n, strings.ReplaceAll(text, "_", " ")), func(int) [][]byte {
			b.smallKeys()
			b.do("MULTI")
			for range n {
				b.do(args)
			}
			return line("EXEC")
		})
	}
	for name := range table {
		if !covered[name] && !slices.Contains(alone, name) {
			t.Errorf("%s is not measured", name)
		}
	}
}
