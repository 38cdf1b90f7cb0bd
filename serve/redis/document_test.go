package redis

import (
	"flag"
	"fmt"
	"maps"
	"os"
	osexec "os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/commands-redis.md and the answers in docs/cookbook.md anew")

// TestDocument: docs/commands-redis.md is what the command table makes.
func TestDocument(t *testing.T) {
	const path = "../../docs/commands-redis.md"
	want := document()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not up to date: go test ./serve/redis -run Document -update", path)
	}
	for name, cmd := range table {
		switch {
		case !strings.Contains(want, "| "+strings.ToUpper(name)+" |"):
			t.Errorf("%s is in no family of the document: %q", name, cmd.family)
		case cmd.about == "" || cmd.run == nil || cmd.arity == 0:
			t.Errorf("%s lacks something", name)
		}
	}
	for k := typeString; k <= typeDigest; k++ {
		if !strings.Contains(table["type"].about, k.typeName()) {
			t.Errorf("the line of TYPE lacks %s", k.typeName())
		}
	}
}

// TestCookbook runs the redis-cli lines of docs/cookbook.md, each block on a
// fresh server, and compares the output with that in the document.
func TestCookbook(t *testing.T) {
	cli, err := osexec.LookPath("redis-cli")
	if err != nil {
		t.Fatalf("redis-cli is not installed: run `make redis`: %v", err)
	}
	const path = "../../docs/cookbook.md"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```console\n(.*?)```").FindAllStringSubmatchIndex(string(text), -1)
	if len(blocks) < 9 {
		t.Fatalf("%d blocks in %s: fewer than the recipes there ought to be", len(blocks), path)
	}
	var out strings.Builder
	last := 0
	for _, at := range blocks {
		block := string(text[at[2]:at[3]])
		_, addr := start(t, Config{Now: newClock().now})
		_, port, _ := strings.Cut(addr, ":")
		var got strings.Builder
		for line := range strings.Lines(block) {
			command, ok := strings.CutPrefix(line, "$ redis-cli ")
			if !ok {
				continue
			}
			got.WriteString(line)
			cmd := osexec.CommandContext(t.Context(), "sh", "-c", "exec "+cli+" -p "+port+" --no-raw "+strings.TrimSpace(command))
			answer, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%s: %v\n%s", line, err, answer)
			}
			got.Write(answer)
		}
		if got.String() != block && !*update {
			t.Errorf("a block of %s prints\n%s\nnot\n%s", filepath.Base(path), got.String(), block)
		}
		out.WriteString(string(text[last:at[2]]) + got.String())
		last = at[3]
	}
	if *update {
		out.Write(text[last:])
		if err := os.WriteFile(path, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// familyOrder has the families in the order of the document, with their introductions.
var familyOrder = []struct{ name, title, about string }{
	{"hyperloglog", "HyperLogLog", "Strings of Redis's own layout, byte for byte: GET one here, SET it there."},
	{"bitmap", "Bitmaps", "Strings whose bits are numbered; bit 0 is the highest of the first byte."},
	{"bloom", "Bloom filters", "RedisBloom's filters, bit for bit."},
	{"geo", "Positions", "Sorted sets whose scores are 52-bit cells."},
	{"sorted set", "Sorted sets", "What positions and the sliding-window limiter rest on."},
	{"set", "Sets", "Exact, and they know their members; a HyperLogLog counts as many in at most 12 KiB."},
	{"tdigest", "Quantiles", "RedisBloom's reading commands, for the numbers that a job has counted."},
	{"topk", "Top lists", "RedisBloom's reading commands, for the most frequent values that a job has counted."},
	{"throttle", "Rate limiter", "redis-cell's command."},
	{"locks", "Locks", "With SET NX PX, a whole lock."},
	{"strings", "Strings", ""},
	{"generic", "Keys", ""},
	{"list", "Lists", "Enough for a key to be of another type."},
	{"transactions", "Transactions", ""},
	{"connection", "Connection", ""},
	{"server", "Server", ""},
}

// introduction is the document before the families, with a place for the number of
// commands.
const introduction = `# Redis commands

<!-- Made from the command table of serve/redis by ` + "`go test ./serve/redis -run Document -update`" + `; edits here are lost. -->

%d commands, with the replies, the texts of errors and the stored bytes of Redis
7.0 to 7.2. Where a command differs, its line says how. ` + "`weir serve`" + ` answers them
on scratch keys, which live in memory and are lost when the process ends.

What differs everywhere:

- There is one database, one user (default), and nothing is written to disk.
- An argument or a string has at most 8 MiB (Redis: 512 MiB), a command 16 MiB, a Bloom
  filter 16 MiB. All scratch keys together have at most 1 GiB (` + "`--memory`" + `; in
  ` + "`weir run`" + ` ` + "`resp.memory`" + `, by default a quarter of ` + "`memory`" + `). Beyond that a write
  gets Redis's OOM error; in a transaction each write gets its own. Before AUTH a
  command has at most 10 arguments of 16 KiB.
- Replies that a client has not read, requests that have arrived in part and queued
  transactions take at most a quarter of that memory for all clients together. Beyond it
  the clients with the most are cut off.
- ` + "`SCAN`" + ` returns keys, and every command the members of a set, in another order;
  scans have the same guarantee. A cursor of Redis means nothing here.
- Numbers are written in decimal digits, and a command typed as a line has no quotes.

Commands run one at a time, as in Redis. A long command takes as long as it does there,
and the others wait for it.

## Window keys

Keys that begin with ` + "`w:`" + ` are read-only and show what a job has counted:

    w:<job>:<measure>:<window>[:<group>…]

| part | |
|---|---|
| window | a start such as ` + "`20261120T1005Z`" + ` (UTC, 1970 or later), ` + "`now`" + `, ` + "`-3`" + ` (three windows ago), or a range ` + "`from..to`" + ` of these, both ends included |
| group | a value of each group column in their order; ` + "`*`" + ` for all, as are those left out at the end |
| escapes | ` + "`%%3A`" + ` for a colon, ` + "`%%2A`" + ` for a star alone, ` + "`%%25`" + ` for a percent sign |

With windows of a minute ` + "`-60..now`" + ` is the sixty minutes before this one and this one so
far, and ` + "`-60..-1`" + ` the sixty minutes that have ended.

The measure ` + "`hits`" + ` is the number of events (GET). A hll measure answers PFCOUNT and
may be a source of PFMERGE; a set SCARD, SISMEMBER, SMISMEMBER, and SINTERCARD of two
window keys, or of one and a plain set; a bitmap BITCOUNT, GETBIT, BITPOS, and a source of
BITOP; a bloom BF.EXISTS and BF.MEXISTS; a min, max, first, last, sum or avg GET, with nil
where there is no number or value; a quantile TDIGEST.QUANTILE, TDIGEST.CDF, TDIGEST.MIN
and TDIGEST.MAX; a topk TOPK.LIST, TOPK.COUNT and TOPK.QUERY; a geo one the reading commands of positions and sorted sets. KEYS and SCAN
list the window keys of the last sixty windows, up to 5,000 rows of a job. Writing to a window key is an error, and so is a job, a
measure or a number of groups that does not exist: the error suggests a name that is
similar (` + "`ERR no job clikcs; is it clicks?`" + `). Where nothing was counted there is no
key, as in Redis: the count is 0, and a command for another kind of measure is no error.

An answer holds all events that this process has counted and all that any process has
flushed. It is at most two seconds old, and up to thirty if making it takes more than 5 ms.

While ClickHouse does not answer, windows that have not ended (` + "`now`" + `), and windows of
which the process has flushed nothing, are answered from memory. Such an answer is
partial. If a range includes any other window, the reply is an error that names it.
` + "`GET w:clicks:partial:now`" + ` returns the reason why replies about the job are partial, and
nil while they are whole. ` + "`weir_live_partial_total`" + ` counts partial answers. All window keys of a command or transaction are looked up
within 25 s, or the reply is an error.

Counts and all measures but geo reach back as far as the first rollup is kept, if
its windows are as long as the job's; otherwise, and for geo, they reach as far as
state rows are kept (` + "`keep`" + `). Older windows are empty, as if there had been no events.
`

// document returns docs/commands-redis.md, made from the command table.
func document() string {
	var b strings.Builder
	fmt.Fprintf(&b, introduction, len(table))
	for _, f := range familyOrder {
		fmt.Fprintf(&b, "\n## %s\n\n", f.title)
		if f.about != "" {
			fmt.Fprintf(&b, "%s\n\n", f.about)
		}
		b.WriteString("| command | what it does | differs from Redis |\n|---|---|---|\n")
		for _, name := range slices.Sorted(maps.Keys(table)) {
			if cmd := table[name]; cmd.family == f.name {
				fmt.Fprintf(&b, "| %s | %s | %s |\n", strings.ToUpper(name), cmd.about, cmd.differ)
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
