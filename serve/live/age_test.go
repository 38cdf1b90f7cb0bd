package live

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"weir/event"
)

// TestAge: an answer is at most so old as two hundred times the time that a snapshot and the
// answer take, and at most thirty seconds old, whatever was asked before: it contains all that
// was counted, or flushed by another process, before that. It contains all that was there at
// the time of its AsOf.
func TestAge(t *testing.T) {
	for _, c := range []struct {
		name         string
		recall, took time.Duration // of reading the memory, and of a query to the sink
		most         time.Duration
	}{
		{"cheap", 5 * time.Millisecond, 0, 2 * time.Second},
		{"memory is dear", 20 * time.Millisecond, 0, 8 * time.Second},
		{"the sink is dear", time.Millisecond, 15 * time.Millisecond, 9400 * time.Millisecond},
		{"the sink is slow", 80 * time.Millisecond, 600 * time.Millisecond, oldest},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, 3)
				from, until := w.span()
				w.at(until + w.spec.Window) // all windows have ended, so that answers wait for the sink
				l := w.windows()
				w.recall, w.took = c.recall, c.took
				var mu sync.Mutex
				var truth []event.Time // when each event was counted or flushed, since the beginning
				begun := time.Now()
				since := func() event.Time { return event.Time(time.Since(begun).Microseconds()) }
				done := make(chan struct{})
				go func() {
					defer close(done)
					for turn := range 300 {
						time.Sleep(97 * time.Millisecond)
						w.count(int32(turn%2), 1)
						if turn%10 == 3 {
							w.count(2, 3)
							w.write(1)
						}
						if turn%30 == 7 {
							w.write(0)
							w.ack()
						}
						mu.Lock()
						for n := w.total(); uint64(len(truth)) < n; {
							truth = append(truth, since())
						}
						mu.Unlock()
					}
				}()
				// Several callers ask several questions, so that the parts of an answer are
				// of various ages.
				asked, oldest := 0, event.Time(0)
				var askers sync.WaitGroup
				for asker := range 5 {
					askers.Go(func() {
						q := query{Job: w.spec.Job, Measure: Hits, From: from - event.Time(asker%4)*w.spec.Window, Until: until}
						for {
							select {
							case <-done:
								return
							case <-time.After(time.Duration(31+17*asker) * time.Millisecond):
							}
							v, _, err := l.lookup(t.Context(), q)
							if err != nil {
								t.Error(err)
								return
							}
							mu.Lock()
							asked++
							if hits(v) < uint64(len(truth)) {
								oldest = max(oldest, since()-truth[hits(v)])
								if missed := begun.Add(time.Duration(truth[hits(v)]) * time.Microsecond); missed.Before(v.AsOf) {
									t.Errorf("an answer as of %v lacks what was there at %v", v.AsOf.Sub(begun), missed.Sub(begun))
								}
							}
							if age := time.Since(v.AsOf); age < 0 || age > c.most {
								t.Errorf("an answer is as of %v ago; %v is the most", age, c.most)
							}
							mu.Unlock()
						}
					})
				}
				askers.Wait()
				<-done
				age := time.Duration(oldest) * time.Microsecond
				if age > c.most {
					t.Errorf("an answer was %v old; %v is the most", age, c.most)
				}
				if age < c.most/4 || asked < 10 {
					t.Errorf("%d answers, %v old at most: the test tests nothing", asked, age)
				}
			})
		})
	}
}
