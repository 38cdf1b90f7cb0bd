package sim

import (
	"fmt"
	"strings"
)

// Shrink makes a failing run smaller: it drops one kind of fault after the
// other while the run still fails, then halves the steps in the same way. The
// returned run fails too.
func Shrink(r Result) Result {
	small := r
	try := func(o Options) bool {
		if again := Run(r.Seed, o); again.Failed() {
			small = again
			return true
		}
		return false
	}
	for again := true; again; {
		again = false
		o := small.Options
		for o.Steps = small.Steps / 2; o.Steps > 0 && try(o); o.Steps = small.Steps / 2 {
			again = true
		}
		for f := range Faults {
			if !small.On.Has(f) {
				continue
			}
			o := small.Options
			o.Without, o.Steps = o.Without.With(f), small.Steps
			if try(o) {
				again = true
			}
		}
	}
	return small
}

// Command returns the command line that runs a result's schedule again.
func Command(r Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "go -C proof run ./sim/cmd/sim -seed %d", r.Seed)
	if r.Options.Without != 0 {
		fmt.Fprintf(&b, " -without %s", r.Options.Without)
	}
	if r.Options.Steps != 0 {
		fmt.Fprintf(&b, " -steps %d", r.Options.Steps)
	}
	if r.Options.Mistake != None {
		fmt.Fprintf(&b, " -mistake %s", r.Options.Mistake)
	}
	return b.String()
}
