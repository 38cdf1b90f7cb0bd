// Command scale measures how much faster a job is with two workers than with one, each on
// a CPU of its own.
//
//	make bench-scale
//
// The log is in memory and the sink accepts everything at once, so that neither a broker
// nor an engine takes the CPUs: it measures decoding, counting and the hand-over of a
// flush, by the wall clock. Two workers have two CPUs, one worker has one of them. CPUs may
// be two halves of one core, share a cache, and be busy. So each round also runs two processes
// of one worker each, which share nothing: that is what the machine allows.
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

	"golang.org/x/sys/unix"

	"weir/bench/internal/ground"
	"weir/gen"
)

var (
	bench   = ground.Command("scale")
	events  = flag.Int64("events", 400_000, "events of each partition, which are read -passes times")
	passes  = flag.Int64("passes", 5, "how often")
	rounds  = flag.Int("rounds", 9, "rounds; the medians count")
	workers = flag.Int("workers", 0, "internal: read with so many workers, and print the events a second and the CPUs used")
)

const (
	leastShare = 0.9 // the least speed of two workers, as a share of that of two processes
	leastUse   = 0.9 // of the CPUs, by two workers; it differs less from run to run
)

func main() { bench.Main(run) }

func run(ctx context.Context) error {
	if *workers > 0 {
		return read(ctx, *workers)
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
	report.Say("%-6s %12s %12s %16s %8s", "round", "one worker/s", "two/s", "two processes/s", "CPUs")
	one, two := cpus(&all, 0, 1), cpus(&all, 0, 2)
	var gains, shares, uses []float64
	for round := range *rounds {
		alone, err := child(one, 1)()
		if err != nil {
			return err
		}
		together, err := child(two, 2)()
		if err != nil {
			return err
		}
		first, second := child(one, 1), child(cpus(&all, 1, 1), 1)
		a, errA := first()
		b, errB := second()
		if err := errors.Join(errA, errB); err != nil {
			return err
		}
		apart := a.rate + b.rate
		report.Say("%-6d %12.0f %12.0f %16.0f %8.2f", round+1, alone.rate, together.rate, apart, together.cpus)
		gains = append(gains, together.rate/alone.rate)
		shares = append(shares, together.rate/apart)
		uses = append(uses, together.cpus/2)
	}
	gain, share, use := ground.Median(gains), ground.Median(shares), ground.Median(uses)
	report.Say("two workers %.2f x one, %.2f of what two processes reach (floor %.2f); they keep their CPUs %.0f %% busy (floor %.0f %%)",
		gain, share, leastShare, 100*use, 100*leastUse)
	var missed []string
	if share < leastShare {
		missed = append(missed, "two workers against two processes")
	}
	if use < leastUse {
		missed = append(missed, "two workers that are busy")
	}
	return bench.Save(&report, missed)
}

// cpus returns n of the CPUs, those behind the first ones that it skips.
func cpus(all *unix.CPUSet, skip, n int) (some unix.CPUSet) {
	for cpu := 0; some.Count() < n; cpu++ {
		switch {
		case !all.IsSet(cpu):
		case skip > 0:
			skip--
		default:
			some.Set(cpu)
		}
	}
	return some
}

// A result is what a child measures.
type result struct {
	rate float64 // events a second
	cpus float64 // that it used on average
}

// child starts this program with n workers on some CPUs. The function that it returns waits
// for its end.
func child(on unix.CPUSet, n int) func() (result, error) {
	cmd := exec.Command(os.Args[0], "-workers", strconv.Itoa(n), "-events", strconv.FormatInt(*events, 10), "-passes", strconv.FormatInt(*passes, 10))
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, os.Stderr
	cmd.Env = append(os.Environ(), "GOMAXPROCS="+strconv.Itoa(n))
	err := start(cmd, on)
	return func() (r result, _ error) {
		if err == nil {
			err = cmd.Wait()
		}
		if err == nil {
			_, err = fmt.Sscan(said.String(), &r.rate, &r.cpus)
		}
		return r, err
	}
}

// start starts a process on some CPUs.
func start(cmd *exec.Cmd, on unix.CPUSet) error {
	runtime.LockOSThread() // a process inherits from the thread that starts it
	defer runtime.UnlockOSThread()
	var before unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return os.NewSyscallError("sched_getaffinity", err)
	}
	if err := unix.SchedSetaffinity(0, &on); err != nil {
		return os.NewSyscallError("sched_setaffinity", err)
	}
	return errors.Join(cmd.Start(), os.NewSyscallError("sched_setaffinity", unix.SchedSetaffinity(0, &before)))
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
