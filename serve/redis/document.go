package redis

import (
	"fmt"
	"strings"
)

// familyOrder is the order of the document, and what it says of each family.
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

// Document is docs/commands-redis.md, made from the command table.
func Document() string {
	var b strings.Builder
	fmt.Fprintf(&b, `# Redis commands

<!-- Made from the command table of serve/redis by `+"`go test ./serve/redis -run Document -update`"+`; edits here are lost. -->

%d commands, with the replies, the texts of errors and the stored bytes of Redis
7.0 to 7.2. Where a command differs, its line says how. `+"`weir serve`"+` answers them
on scratch keys, which live in memory and are gone with the process. "Arguments"
counts the command's name; a minus means "at least". "Since" is the version of
Redis that brought the command ("bf": of RedisBloom).

What differs everywhere:

- There is one database, one user (default), and nothing is written to disk.
- An argument may have 64 MiB (Redis: 512 MiB), and so may a string; all scratch
  keys together 1 GiB, beyond which writes get Redis's OOM error. Before AUTH a
  command may have 10 arguments of 16 KiB.
- What must follow a bulk string, carriage return and line feed, is checked.
- Distances that STOREDIST stores may differ from Redis's in the last bit of 64.
- `+"`SCAN`"+` walks in an order of its own, with the same promise.

## Window keys

Keys that begin with `+"`w:`"+` are read-only and show what a job has counted:

    w:<job>:<measure>:<window>[:<group>…]

| part | |
|---|---|
| window | a start such as `+"`20261120T1005Z`"+`, `+"`now`"+`, `+"`-3`"+` (three windows ago), or a range `+"`from..to`"+` of these, both ends included |
| group | a value of each group column in their order; `+"`*`"+` for all, as are those left out at the end |
| escapes | `+"`%%3A`"+` for a colon, `+"`%%2A`"+` for a star alone, `+"`%%25`"+` for a percent sign |

The measure `+"`hits`"+` is the number of events (GET). A hll measure answers PFCOUNT and
may be a source of PFMERGE; a bitmap BITCOUNT, GETBIT, BITPOS, and a source of
BITOP; a bloom BF.EXISTS and BF.MEXISTS; a geo one the reading commands of
positions and sorted sets. KEYS and SCAN list those of the last sixty windows, up
to 5,000 rows of a job and five seconds old. Writing to one is an error.

What an answer holds: all that the process had counted, and all that any process
had flushed, when nobody else asks, at the question. Otherwise a copy of memory, and
the answer made from it, are each served again for a thousand times as long as
making them took (waiting for busy workers included), five seconds at most. So
where each takes up to 1 ms an answer is two seconds old at most, and ten whatever it
takes; and one that takes up to 5 ms costs no more than a tenth of a percent of a
CPU, however often it is asked. Windows
that were asked for are kept in memory, in what the windows leave of `+"`memory`"+`;
`+"`weir_live_…`"+` metrics tell how that goes.

How far back: counts, hll, bitmap and bloom reach as far as the first rollup is kept,
if its windows are the job's own; otherwise, and for geo, as far as state rows are
(`+"`keep`"+`). Windows from before that are empty, as if nobody had been there.
`, len(table))
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
