// Command sim runs the simulator: many seeds, one of them, or the negative
// controls. See docs/proof.md.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"weir/proof/sim"
)

func main() {
	os.Exit(run())
}

func run() int {
	seeds := flag.Uint64("seeds", 20_000, "how many `seeds` to run")
	from := flag.Uint64("from", 0, "the first `seed`")
	one := flag.Int64("seed", -1, "run this `seed` only, and say what happens")
	without := flag.String("without", "", "`faults` to leave out, by commas")
	steps := flag.Int("steps", 0, "`steps` with faults; 0: as the seed says")
	mistake := flag.String("mistake", "none", "a `mistake` to plant")
	controls := flag.Bool("controls", false, "plant every mistake and see that it is found")
	procs := flag.Int("procs", runtime.GOMAXPROCS(0), "schedules at a time")
	flag.Parse()
	debug.SetGCPercent(400) // schedules are small and short-lived

	off, err := sim.ParseSet(*without)
	if err != nil {
		return usage(err)
	}
	m, err := sim.ParseMistake(*mistake)
	if err != nil {
		return usage(err)
	}
	if (*controls || m.InCore()) && !sim.Plantable() {
		return runPlantable()
	}
	if err := sim.Plant(m); err != nil {
		return usage(err)
	}
	o := sim.Options{Without: off, Steps: *steps, Mistake: m}
	switch {
	case *controls:
		return runControls()
	case *one >= 0:
		return runOne(uint64(*one), o)
	default:
		return runMany(sim.Campaign{From: *from, Seeds: *seeds, Goroutines: *procs, Options: o, Again: 100})
	}
}

func usage(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 2
}

// runPlantable runs the same command in a build that has the mistakes of the core. It needs the sources: the
// working directory is proof, as `go -C proof run` makes it.
func runPlantable() int {
	dir, err := os.MkdirTemp("", "weir-sim-")
	if err != nil {
		return usage(err)
	}
	defer os.RemoveAll(dir)
	overlay, err := sim.Overlay("..", dir)
	if err != nil {
		return usage(err)
	}
	bin := filepath.Join(dir, "sim")
	build := exec.Command("go", "build", "-overlay", overlay, "-o", bin, "./sim/cmd/sim")
	again := exec.Command(bin, os.Args[1:]...)
	for _, c := range []*exec.Cmd{build, again} {
		c.Stdout, c.Stderr = os.Stdout, os.Stderr
		if err := c.Run(); err != nil {
			return max(1, c.ProcessState.ExitCode())
		}
	}
	return 0
}

func runMany(c sim.Campaign) int {
	began := time.Now()
	c.Until = func(r *sim.Result) bool { return r.Failed() }
	schedules, t, failed := c.Run()
	took := time.Since(began)
	fmt.Printf("%d schedules in %.1f s on %d goroutines: %.0f a second\n", schedules, took.Seconds(), c.Goroutines, float64(schedules)/took.Seconds())
	fmt.Printf("%d steps, %d records, %d read again, %d states restored, %d inserts of %d rows, %d commits fenced, %d chunks cut short\n", t.Steps, t.Events, t.Replays, t.Saved, t.Inserts, t.Rows, t.Fenced, t.Cut)
	fmt.Printf("%d rollups, %d windows with the numbers of whole rows, %d folds of the ledger, %d readings of the views, %d inserts made again behind a rollup\n", t.Rollups, t.Taken, t.Folds, t.Views, t.Overtaken)
	for f := range sim.Faults {
		fmt.Printf("  %-14s %9d\n", f, t.Faults[f])
	}
	if len(failed) == 0 {
		fmt.Println("no violation")
		return 0
	}
	report(failed[0])
	return 1
}

func report(r sim.Result) {
	fmt.Printf("\nseed %d FAILED:\n", r.Seed)
	for _, p := range r.Problems {
		fmt.Println("  " + p)
	}
	small := sim.Shrink(r)
	fmt.Printf("shrunk to %d steps with %s:\n", small.Steps, small.On)
	for _, p := range small.Problems {
		fmt.Println("  " + p)
	}
	fmt.Println("again: " + sim.Command(small))
}

func runOne(seed uint64, o sim.Options) int {
	o.Trace = func(step int, what string) { fmt.Printf("%5d  %s\n", step, what) }
	r := sim.Run(seed, o)
	fmt.Printf("seed %d, %d steps with %s, digest %016x\n", r.Seed, r.Steps, r.On, r.Digest)
	for _, p := range r.Problems {
		fmt.Println("  " + p)
	}
	if r.Failed() {
		return 1
	}
	fmt.Println("no violation")
	return 0
}

// runControls plants one mistake after the other.
func runControls() int {
	// The switches themselves must change nothing, or every mistake would be found because of another one.
	if n, _, failed := (sim.Campaign{Seeds: 100, Goroutines: runtime.GOMAXPROCS(0)}).Run(); len(failed) > 0 {
		fmt.Printf("%d schedules without a mistake:\n", n)
		report(failed[0])
		return 1
	}
	missed := 0
	for m := sim.None + 1; m < sim.Mistakes; m++ {
		r, ok, err := sim.Control(m)
		switch {
		case err != nil:
			return usage(err)
		case !ok:
			missed++
			fmt.Printf("%-16s NOT FOUND in %d seeds: %s\n", m, sim.Within, m.Text())
		default:
			problem, _, _ := strings.Cut(r.Problems[0], "\n")
			fmt.Printf("%-16s seed %-3d %s\n%27s%s\n", m, r.Seed, m.Text(), "", problem)
		}
	}
	if missed > 0 {
		fmt.Printf("%d mistakes were not found: the simulator proves less than it should\n", missed)
		return 1
	}
	fmt.Printf("all %d mistakes found within %d seeds\n", sim.Mistakes-1, sim.Within)
	return 0
}
