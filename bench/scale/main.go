// Command scale measures what a chunk means at a high rate: the slots of a row, their bytes, and how long a
// restart reads.
//
//	make bench-scale
//
// One group gets a window of a minute from 32 partitions. The window and the chunks are shorter by
// the same factor, so the number of slots is that of the whole. A restart reads of each partition again at most what
// the ledger has no state of: the speed is that of the core with hits and an HLL, by the CPU time of the process.
package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"syscall"
	"time"

	"weir/event"
	"weir/measures/hll"
	"weir/measures/quantile"
	"weir/measures/sum"
	"weir/measures/topk"
	"weir/window"
)

const (
	partitions = 32
	minute     = 60.0
	batch      = 1 << 10
	saveAfter  = 1 << 18 // of package config
	sample     = 4 << 20 // events by which the speed is measured
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

func run() error {
	began := used()
	if _, err := count(sample, 1<<18, nil); err != nil {
		return err
	}
	speed := sample / (used() - began).Seconds()
	fmt.Println("rate    chunk      slots   hits     sum      quantile  top list  read again        of one CPU")
	for _, c := range []struct{ rate, shorter, chunk int64 }{{10e6, 256, 1 << 18}, {10e6, 256, 1 << 25}, {100e6, 1024, 1 << 28}} {
		row, err := count(c.rate*minute/c.shorter, c.chunk/c.shorter, []window.Measure{
			{Name: "spent", Kind: sum.Sum, Path: "ms"}, {Name: "usual", Kind: quantile.Kind, Path: "ms", Error: 0.01}, {Name: "often", Kind: topk.Kind, Path: "user", K: 100},
		})
		if err != nil {
			return err
		}
		slots := 0
		for range row.Hits {
			slots++
		}
		state := func(m int) string { return size(len(row.AppendState(nil, m))) }
		again := float64(partitions * min(c.chunk, saveAfter))
		fmt.Printf("%3d M   %-9d  %5d  %s  %s  %s   %s   %5.1f M records  %5.1f s\n", c.rate/1e6, c.chunk, slots, size(16*slots), state(1), state(2), state(3), again/1e6, again/speed)
	}
	return nil
}

// used returns the CPU time of the process.
func used() time.Duration {
	var r syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r) // of itself, it does not fail
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// count counts events of one group and window, and returns its row.
func count(events, chunk int64, measures []window.Measure) (row window.Row, err error) {
	spec := &window.Spec{
		Job: "scale", Version: 1, TimeUnit: event.RecordTime, Window: 60_000, Skew: 1000, Chunk: chunk, MaxGroups: 10,
		Measures: append([]window.Measure{{Name: "users", Kind: hll.Kind, Path: "user"}}, measures...),
	}
	op, err := window.NewOperator(spec)
	if err != nil {
		return row, err
	}
	r := rand.New(rand.NewPCG(1, 1))
	zipf := rand.NewZipf(r, 1.1, 4, 99_999)
	var values [][]byte
	for range 1 << 16 {
		values = append(values, fmt.Appendf(nil, `{"user":%d,"ms":%d}`, zipf.Uint64(), int(20*r.ExpFloat64()*r.ExpFloat64())))
	}
	each := events / partitions
	whole := window.NewTable(spec)
	for p := range int32(partitions) {
		first := r.Int64N(spec.Chunk) // the window begins anywhere in a chunk
		op.Start(window.Plan{Partition: p, Warm: first, Start: first})
		for at := first; at < first+each; at += batch {
			b := event.Batch{Partition: p, First: at, Next: min(at+batch, first+each)}
			for o := at; o < b.Next; o++ {
				b.Records = append(b.Records, event.Record{Offset: o, Time: 1_763_600_040_000, Value: values[int(o*7919)&(len(values)-1)]})
			}
			if err := op.Observe(&b); err != nil {
				return row, err
			}
		}
		op.Stop(p)
		taken := op.Take()
		whole.Merge(taken.Table)
		op.Reuse(taken.Table)
	}
	whole.Seal()
	return whole.Row(0), nil
}

func size(n int) string {
	if n < 1<<20 {
		return fmt.Sprintf("%4.0f KiB", float64(n)/1024)
	}
	return fmt.Sprintf("%4.0f MiB", float64(n)/(1<<20))
}
