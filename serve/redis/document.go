package redis

import (
	"fmt"
	"strconv"
	"strings"
)

// familyOrder has the families in the order of the document, with their introductions.
var familyOrder = []struct{ name, title, about string }{
	{"hyperloglog", "HyperLogLog", "Strings of Redis's own layout, byte for byte: GET one here, SET it there."},
	{"bitmap", "Bitmaps", "Strings whose bits are numbered; bit 0 is the highest of the first byte."},
	{"bloom", "Bloom filters", "RedisBloom's filters, bit for bit; a dump of one loads into the other."},
	{"geo", "Positions", "Sorted sets whose scores are 52-bit cells."},
	{"sorted set", "Sorted sets", "What positions and the sliding-window limiter rest on."},
	{"throttle", "Rate limiter", "redis-cell's command."},
	{"locks", "Locks", "With SET NX PX, a whole lock."},
	{"strings", "Strings", ""},
	{"generic", "Keys", ""},
	{"list", "Lists", "Enough for a key to be of another type."},
	{"transactions", "Transactions", ""},
	{"connection", "Connection", ""},
	{"server", "Server", ""},
}

// introduction is the document before the families, with three places: the number of
// commands, the milliseconds that a command may take, and the rows of amounts.
const introduction = `# Redis commands

<!-- Made from the command table of serve/redis by ` + "`go test ./serve/redis -run Document -update`" + `; edits here are lost. -->

%d commands, with the replies, the texts of errors and the stored bytes of Redis
7.0 to 7.2. Where a command differs, its line says how. ` + "`weir serve`" + ` answers them
on scratch keys, which live in memory and are gone with the process. "Arguments"
counts the command's name; a minus means "at least". "Since" is the version of
Redis that brought the command ("bf": of RedisBloom).

What differs everywhere:

- There is one database, one user (default), and nothing is written to disk.
- An argument may have 8 MiB (Redis: 512 MiB), and so may a string, a key 8 KiB, a
  Bloom filter 16 MiB; all scratch keys together 1 GiB (` + "`--memory`" + `; in weir run ` + "`resp.memory`" + `, a quarter of ` + "`memory`" + ` where it is not given), beyond which
  writes get Redis's OOM error, those of a transaction one by one. Before AUTH a
  command may have 10 arguments of 16 KiB.
- A command that would hold up all others for long is refused: see below.
- ` + "`CONFIG SET`" + ` may lower what the operator has set, never raise it.
- What must follow a bulk string, carriage return and line feed, is checked.
- Distances that STOREDIST stores may differ from Redis's in the last bit of 64.
- ` + "`SCAN`" + ` walks in an order of its own, with the same promise.

## How much at a time

Commands run one at a time, in Redis as here. Redis lets one take as long as it
takes; here a long command would delay a stream processor, so a command
may take about %d ms, as may the commands of a transaction together. Its time
is estimated before it begins, from its arguments and from what the keys hold.
If that is more, it gets an error that begins with "ERR too much at a time", and
nothing has happened, but for PFADD, BF.MADD and BF.INSERT, which add what there was
time for and can be sent again. In parts everything goes. ` + "`make longest`" + ` measures
the longest that is allowed of each command:
[bench/results/longest.txt](../bench/results/longest.txt).

| what | at a time, about |
|---|---|
%s
A transaction whose commands would take longer for their arguments alone is refused
while it is queued; a command of it that finds no time left gets the error in its
place among the replies, and the others run. SCAN ends early instead.

## Window keys

Keys that begin with ` + "`w:`" + ` are read-only and show what a job has counted:

    w:<job>:<measure>:<window>[:<group>…]

| part | |
|---|---|
| window | a start such as ` + "`20261120T1005Z`" + ` (UTC, 1970 or later), ` + "`now`" + `, ` + "`-3`" + ` (three windows ago), or a range ` + "`from..to`" + ` of these, both ends included |
| group | a value of each group column in their order; ` + "`*`" + ` for all, as are those left out at the end |
| escapes | ` + "`%%3A`" + ` for a colon, ` + "`%%2A`" + ` for a star alone, ` + "`%%25`" + ` for a percent sign |

A range counts windows, and its last one may be open: with windows of a minute
` + "`-60..now`" + ` is the last hour, namely the sixty minutes before this one and this
one so far (61 windows), and ` + "`-60..-1`" + ` the sixty minutes that have ended.

The measure ` + "`hits`" + ` is the number of events (GET). A hll measure answers PFCOUNT and
may be a source of PFMERGE; a bitmap BITCOUNT, GETBIT, BITPOS, and a source of
BITOP; a bloom BF.EXISTS and BF.MEXISTS; a max GET, with nil where there is no
number; a geo one the reading commands of positions and sorted sets. KEYS and SCAN list those of the last sixty windows, up
to 5,000 rows of a job and five seconds old. Writing to one is an error, and so is a
job, a measure or a number of groups that does not exist: the error says which one
is near (` + "`ERR no job clikcs; is it clicks?`" + `). Where nothing was counted there is no
key, and the count is 0.

What an answer holds: all that the process had counted, and all that any process
had flushed, as of the question if there are no other questions. Otherwise a copy of memory, and
the answer made from it, are each served again for a thousand times as long as
making them took (waiting for busy workers included). An answer is two seconds old
at most, and five if it takes more than 5 ms to make, counted from the oldest thing
that it is made from; so one that takes up to 5 ms costs no more than a quarter of a
percent of a CPU, however often it is asked. Only what ClickHouse itself takes longer
for, as for a first question about thousands of windows, is as old as that took; and
a command with many keys looks them up one after the other. Windows
that were asked for are kept in memory, in what the windows leave of ` + "`memory`" + `;
` + "`weir_live_…`" + ` metrics tell how that goes.

While ClickHouse cannot be asked, what the process knows by itself is the answer,
and it is partial. That is so of windows that have not ended (` + "`now`" + `), of those that
this process has flushed nothing of since it started, and of those that are kept
because they were asked for; a range with any other window is an error that names
it. A reply has no place to say that it is partial (RESP2 has none, and at the
attributes of RESP3 redis-cli 7.0 and redis-py 5 hang up), so ask the measure
` + "`partial`" + ` that every job has: ` + "`GET w:clicks:partial:now`" + ` is why replies about the job
are partial, or may be, and nothing while they are whole. Asked behind a question, in
MULTI or not, it says so of every partial reply. ` + "`weir_live_partial_total`" + ` counts such
answers, and ` + "`/api/v1/query`" + ` says it in each. A ClickHouse that hangs holds up one question
at a time, for five seconds. When it is back, answers are whole
again within five seconds.

How far back: counts, hll, bitmap, bloom and max reach as far as the first rollup is kept,
if its windows are the job's own; otherwise, and for geo, as far as state rows are
(` + "`keep`" + `). Windows from before that are empty, as if there had been no events.
`

// Document returns docs/commands-redis.md, made from the command table.
func Document() string {
	var b strings.Builder
	fmt.Fprintf(&b, introduction, len(table), workMost/millisecond, amounts())
	for _, f := range familyOrder {
		fmt.Fprintf(&b, "\n## %s\n\n", f.title)
		if f.about != "" {
			fmt.Fprintf(&b, "%s\n\n", f.about)
		}
		b.WriteString("| command | arguments | since | what it does | differs from Redis |\n|---|---|---|---|---|\n")
		for _, name := range commandNames() {
			if cmd := table[name]; cmd.family == f.name {
				fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", strings.ToUpper(name),
					strings.Replace(fmt.Sprint(cmd.arity), "-", "−", 1), cmd.since, cmd.about, cmd.differ)
			}
		}
		if f.name == "locks" {
			b.WriteString("\nThe scripts that EVAL, EVALSHA and SCRIPT LOAD know:\n")
			for _, s := range scriptTexts {
				fmt.Fprintf(&b, "\n- %s:\n\n      %s\n", s.about, s.text)
			}
		}
	}
	return b.String()
}

// amounts returns the rows of a table: how much a command may do.
func amounts() string {
	var b strings.Builder
	row := func(what string, each cost) { fmt.Fprintf(&b, "| %s | %s |\n", what, about(int(workMost/each))) }
	row("arguments of PFADD", table["pfadd"].each)
	row("arguments of most commands", perArg)
	row("arguments of DEL, UNLINK", table["del"].each)
	row("arguments of LPUSH, RPUSH", table["lpush"].each)
	row("arguments of GEOADD, three for each member", table["geoadd"].each)
	row("arguments of ZADD, two for each member", table["zadd"].each)
	row("arguments of GEOPOS, GEOHASH", table["geopos"].each)
	row("arguments of ZREM", table["zrem"].each)
	row("elements or members in a reply", perElement)
	row("members with scores in a reply", perElement+perScore)
	row("members that ZREMRANGEBY… removes", perRemoved)
	row("members that a search by position looks at", 2*perNear)
	row("members that it finds", 4*perElement)
	row("the same sorted, or with distance or position", 4*perElement+2*perHit)
	row("members that GEOSEARCHSTORE stores", 4*perElement+2*perStored)
	row("keys that KEYS goes through, or one SCAN", perKey)
	row("dense sketches of PFCOUNT, PFMERGE", perSketch+perArg)
	row("sparse ones of 3,000 bytes", perSketch+perArg+3000*perOpcode)
	row("bytes of the sources of BITOP, the result counting nearly double", perSource)
	row("items of BF.MADD, BF.MEXISTS, in a filter of one layer at 1 %", perArg+8*(perProbe+perMiss))
	row("clients in CLIENT LIST", perClient)
	return b.String()
}

// about returns n with its first two digits and zeros.
func about(n int) string {
	unit := 1
	for n/unit >= 100 {
		unit *= 10
	}
	text := strconv.Itoa(n / unit * unit)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
