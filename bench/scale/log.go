package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"weir/audit"
	"weir/event"
	"weir/jobs"
	"weir/window"
)

// partitions is the number of partitions, half of them for each of two workers.
const partitions = 4

// read runs a job over a log in memory and prints the events a second, and how many CPUs it
// used on average.
func read(ctx context.Context, workers int) error {
	l := log{length: *events * *passes, ended: make(chan moment, 1)}
	for p := range int32(partitions) {
		made, err := traffic(p)
		if err != nil {
			return err
		}
		var batches []event.Batch
		for i, r := range made {
			if i%512 == 0 {
				batches = append(batches, event.Batch{Partition: p})
			}
			b := &batches[len(batches)-1]
			b.Records = append(b.Records, event.Record{Time: r.Time, Value: r.Value})
		}
		l.batches[p] = batches
	}
	spec := &window.Spec{
		Job: "clicks", Version: 1, TimeField: "ts", TimeUnit: event.Millis,
		Window: 60_000, Lateness: 86_400_000, Skew: 600_000, Chunk: 1 << 18, MaxGroups: 10_000,
		By:       []window.Column{{Name: "page", Path: "page"}},
		Measures: []window.Measure{{Name: "users", Kind: window.HLL, Path: "user_id"}, {Name: "active", Kind: window.Bitmap, Path: "user_id"}},
	}
	job, err := jobs.New(jobs.Config{Spec: spec, Topic: "clicks", Source: &l, Sink: nothing{}, Workers: workers, UntilEnd: true})
	if err != nil {
		return err
	}
	began := now()
	if err := job.Run(ctx); err != nil {
		return err
	}
	if n := job.Status().Records[window.Counted.String()]; n != uint64(l.length)*partitions {
		return fmt.Errorf("%d events counted, want %d: %v", n, l.length*partitions, job.Status().Records)
	}
	// The job ends up to a second later, when it looks whether everything is read.
	ended := <-l.ended
	took := ended.at.Sub(began.at).Seconds()
	fmt.Println(float64(l.length)*partitions/took, (ended.cpu-began.cpu).Seconds()/took)
	return nil
}

// A moment is a time, and the CPU time of this process until then.
type moment struct {
	at  time.Time
	cpu time.Duration
}

func now() moment {
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		panic(err) // only for a wrong argument
	}
	return moment{time.Now(), time.Duration(used.Utime.Nano() + used.Stime.Nano())}
}

// A log is a topic in memory. Each partition repeats its batches up to its length.
type log struct {
	batches [partitions][]event.Batch
	length  int64
	ended   chan moment // when everything is counted
}

func (l *log) Next(ctx context.Context) (jobs.Generation, error) { return generation{l}, nil }

func (l *log) Spans(context.Context) (map[int32]event.Span, error) {
	spans := map[int32]event.Span{}
	for p := range int32(partitions) {
		spans[p] = event.Span{Next: l.length, End: l.length}
	}
	return spans, nil
}

type generation struct{ *log }

func (g generation) Partitions() (all []event.Assignment) {
	for p := range int32(partitions) {
		all = append(all, event.Assignment{Partition: p, Committed: -1, LogEnd: g.length})
	}
	return all
}

func (generation) Missing() error { return nil }

func (generation) Done() <-chan struct{} { return nil }

func (generation) Commit(context.Context, map[int32]int64) error { return nil }

func (generation) Release() {}

const (
	perPart = 4 // batches in a part: about 400 KB, as in a response of a broker
	buffers = 2 // responses that the workers may not have finished, as of one broker
)

// Fetch delivers responses with a part of each partition. All partitions are alike.
func (g generation) Fetch(ctx context.Context, from map[int32]int64, deliver func(event.Part) error) error {
	free := make(chan struct{}, buffers)
	for range buffers {
		free <- struct{}{}
	}
	for at := from[0]; at < g.length; {
		select {
		case <-free:
		case <-ctx.Done():
			return ctx.Err()
		}
		next := at
		for range perPart {
			next = min(next+int64(len(g.batch(0, next).Records)), g.length)
		}
		var unfinished atomic.Int32
		unfinished.Store(partitions)
		done := func() {
			if unfinished.Add(-1) > 0 {
				return
			}
			if next == g.length {
				g.ended <- now()
			}
			free <- struct{}{}
		}
		for p := range int32(partitions) {
			if err := deliver(g.part(p, at, next, done)); err != nil {
				return err
			}
		}
		at = next
	}
	<-ctx.Done()
	return nil
}

// batch returns the batch that holds an offset, which is a multiple of its length from
// the beginning of its pass.
func (l *log) batch(p int32, offset int64) *event.Batch {
	return &l.batches[p][offset%*events/512]
}

func (l *log) part(p int32, from, to int64, done func()) event.Part {
	return event.Part{
		Partition: p, HighWater: l.length, LastStable: l.length,
		Unpack: func(yield func(*event.Batch) error) error {
			var b event.Batch
			for at := from; at < to; at = b.Next {
				of := l.batch(p, at)
				b = event.Batch{Partition: p, First: at, Next: min(at+int64(len(of.Records)), to), Records: append(b.Records[:0], of.Records...)}
				for i := range b.Records {
					b.Records[i].Offset = at + int64(i)
				}
				if err := yield(&b); err != nil {
					return err
				}
			}
			return nil
		},
		Done: done,
	}
}

// nothing is a sink that accepts everything and keeps nothing.
type nothing struct{}

func (nothing) Known(context.Context) (map[int32]window.Known, error) { return nil, nil }

func (nothing) Write(context.Context, *window.Changes) error { return nil }

func (nothing) Rollup(context.Context, bool, event.Time) error { return nil }

func (nothing) Coverage(context.Context) (audit.Coverage, error) { return audit.Coverage{}, nil }
