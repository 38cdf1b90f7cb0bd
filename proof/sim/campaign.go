package sim

import (
	"sync"
	"sync/atomic"
)

// A Campaign is many seeds, run on a few goroutines, each of which runs one
// schedule at a time from beginning to end.
type Campaign struct {
	From, Seeds uint64 // seeds [From, From+Seeds)
	Goroutines  int
	Options     Options

	// Again: every Again-th seed runs twice, to compare the digests; 0: none.
	Again uint64

	// Until, if set, is called after each schedule; the campaign stops when it
	// returns true. It is called from all goroutines.
	Until func(*Result) bool
}

// Run runs the seeds. It returns a few failing Results, the first by seed, and
// the totals of all runs.
func (c Campaign) Run() (schedules uint64, totals Totals, failed []Result) {
	var (
		mu   sync.Mutex
		next atomic.Uint64
		stop atomic.Bool
		wg   sync.WaitGroup
	)
	for range c.Goroutines {
		wg.Go(func() {
			var sum Totals
			n := uint64(0)
			var bad []Result
			for !stop.Load() {
				i := next.Add(1) - 1
				if i >= c.Seeds {
					break
				}
				r := Run(c.From+i, c.Options)
				if c.Again > 0 && i%c.Again == 0 && !r.Failed() {
					if again := Run(c.From+i, c.Options); again.Digest != r.Digest {
						r.Problems = append(r.Problems, "two runs of the seed differ: something besides the seed decides")
					}
				}
				n++
				sum.add(&r.Totals)
				if r.Failed() {
					bad = append(bad, r)
				}
				if c.Until != nil && c.Until(&r) {
					stop.Store(true)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			schedules += n
			totals.add(&sum)
			failed = append(failed, bad...)
		})
	}
	wg.Wait()
	return schedules, totals, failed
}
