// Command sketches measures the sketches against redis-server and against the
// usual libraries, both sides in the same way in one run, and exits with 1 if a
// ratio is under its floor. `make bench-redis` and `make bench-sketches` run it.
//
//	sketches [-rows regexp] [-rounds n] redis|libraries|all
//
// A row runs its two sides in turns, many short runs each, and compares the
// shortest runs, because other work on the machine can only add time. A row
// under its floor gets more rounds, on both sides, before it fails. Time is the
// processor time of the side's process, from the kernel for this process and
// from INFO cpu for redis-server, so work on other threads (for example garbage
// collection) counts.
package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
)

// A family is one kind of sketch, with what runs its rows. Each has a file here with
//
//	func init() { register("hll", hllMerge, hllAdd) }
type family struct {
	name string
	rows []func(b *Bench) error
}

var families []family

func register(name string, rows ...func(b *Bench) error) {
	families = append(families, family{name, rows})
}

func main() {
	rows := flag.String("rows", "", "only rows whose name matches this `regexp`")
	rounds := flag.Int("rounds", 30, "short runs of each side of a row")
	flag.Parse()
	against := flag.Arg(0)
	if flag.NArg() != 1 || against != Redis && against != Libraries && against != "all" {
		flag.Usage()
		fmt.Fprintln(os.Stderr, "say what to measure against: redis, libraries or all")
		os.Exit(2)
	}
	only, err := regexp.Compile(*rows)
	if err != nil {
		fmt.Fprintln(os.Stderr, "sketches: -rows:", err)
		os.Exit(2)
	}
	b := &Bench{against: against, only: only, rounds: *rounds}
	b.header()
	for _, f := range families {
		for _, rows := range f.rows {
			if err := rows(b); err != nil {
				b.close()
				fmt.Fprintf(os.Stderr, "sketches: %s: %v\n", f.name, err)
				os.Exit(1)
			}
		}
	}
	b.close()
	if b.under > 0 {
		fmt.Printf("%d under its floor\n", b.under)
		os.Exit(1)
	}
}
