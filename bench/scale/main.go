// Command scale measures how much faster a job is with two workers than with one, each on
// a CPU of its own.
//
//	make bench-scale
//
// The log is in memory and the sink accepts everything at once, so that neither a broker
// nor an engine takes the CPUs: it measures decoding, counting and the hand-over of a
// flush, by the wall clock. Two workers have two CPUs, one worker has one of them. CPUs may
// be two halves of one core, and a machine may be busy. So each round also runs a loop that
// shares nothing, one on one CPU and two on two: that is what the machine allows.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"weir/bench/internal/ground"
	"weir/gen"
)

var (
	bench   = ground.Command("scale")
	events  = flag.Int64("events", 400_000, "events of each partition, which are read -passes times")
	passes  = flag.Int64("passes", 10, "how often")
	rounds  = flag.Int("rounds", 5, "rounds; the median counts")
	workers = flag.Int("workers", 0, "internal: read with so many workers, and print the events a second")
	loops   = flag.Int("loops", 0, "internal: run so many loops, and print their steps a second")
)

// floor is the least ratio of two workers to one, as a share of what two loops reach.
const floor = 0.9

func main() { bench.Main(run) }

func run(ctx context.Context) error {
	switch {
	case *workers > 0:
		return read(ctx, *workers)
	case *loops > 0:
		return loop(*loops)
	}
	var all unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		return os.NewSyscallError("sched_getaffinity", err)
	}
	if all.Count() < 2 {
		return errors.New("it takes two CPUs")
	}
	var report ground.Report
	report.Say("# %d clicks in each of %d partitions, 1,000 pages, read %d times from memory; a sink that accepts everything", *events, partitions, *passes)
	report.SayWhere()
	report.Say("%-6s %12s %12s %7s %14s", "round", "one worker/s", "two/s", "ratio", "loops' ratio")
	var ratios, shares []float64
	for round := range *rounds {
		var rate [2][2]float64 // by workers or loops, and their number
		for n := 1; n <= 2; n++ {
			for i, what := range []string{"-workers", "-loops"} {
				var err error
				if rate[i][n-1], err = child(&all, n, what); err != nil {
					return err
				}
			}
		}
		ratio, limit := rate[0][1]/rate[0][0], rate[1][1]/rate[1][0]
		ratios, shares = append(ratios, ratio), append(shares, ratio/limit)
		report.Say("%-6d %12.0f %12.0f %7.2f %14.2f", round+1, rate[0][0], rate[0][1], ratio, limit)
	}
	share := ground.Median(shares)
	report.Say("two workers %.2f x one, %.2f of what two loops reach (floor %.2f)", ground.Median(ratios), share, floor)
	var missed []string
	if share < floor {
		missed = append(missed, "two workers against one")
	}
	return bench.Save(&report, missed)
}

// child runs this program with n workers or loops on as many CPUs, and returns what it
// prints.
func child(all *unix.CPUSet, n int, what string) (float64, error) {
	var some unix.CPUSet
	for cpu := 0; some.Count() < n; cpu++ {
		if all.IsSet(cpu) {
			some.Set(cpu)
		}
	}
	cmd := exec.Command(os.Args[0], what, strconv.Itoa(n), "-events", strconv.FormatInt(*events, 10), "-passes", strconv.FormatInt(*passes, 10))
	cmd.Env = append(os.Environ(), "GOMAXPROCS="+strconv.Itoa(n))
	cmd.Stderr = os.Stderr
	runtime.LockOSThread() // a process inherits from the thread that starts it
	defer runtime.UnlockOSThread()
	if err := unix.SchedSetaffinity(0, &some); err != nil {
		return 0, os.NewSyscallError("sched_setaffinity", err)
	}
	said, err := cmd.Output()
	if err = errors.Join(err, os.NewSyscallError("sched_setaffinity", unix.SchedSetaffinity(0, all))); err != nil {
		return 0, err
	}
	var rate float64
	_, err = fmt.Sscan(string(said), &rate)
	return rate, err
}

// loop runs loops that share nothing.
func loop(n int) error {
	const steps = 2_000_000_000
	began := time.Now()
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			x := uint64(88172645463325252)
			for range steps {
				x ^= x << 13
				x ^= x >> 7
				x ^= x << 17
			}
			if x == 0 { // never: the loop must not be removed
				panic("xorshift has reached 0")
			}
		})
	}
	wg.Wait()
	fmt.Println(steps * float64(n) / time.Since(began).Seconds())
	return nil
}

// traffic makes the events of a partition.
func traffic(partition int32) ([]gen.Record, error) {
	cfg := ground.Traffic(2_000_000, *events)
	cfg.Seed = uint64(partition) + 1
	cfg.Start, cfg.Rate = 1_763_600_000_000, max(1, *events/300)
	g, err := gen.Clicks(cfg)
	if err != nil {
		return nil, err
	}
	var all []gen.Record
	var r gen.Record
	for g.Next(&r) {
		kept := r
		kept.Key, kept.Value = nil, bytes.Clone(r.Value) // the generator uses r again
		all = append(all, kept)
	}
	return all, nil
}
