package live

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"weir/sketches/bitmap"
	"weir/window"
)

// TestMeanwhile: whatever either process counts and flushes, also while the sink answers, an
// answer has all that was counted before the question, and nothing twice.
func TestMeanwhile(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			w := newWorld(t, seed)
			l := w.windows()
			q := query{Job: w.spec.Job, Measure: Hits}
			q.From, q.Until = w.span()
			flush := func() {
				w.ack()
				w.write(0)
				w.ack()
			}
			grown := 0
			for step := range 200 {
				time.Sleep(time.Duration(r.IntN(2000)) * time.Millisecond)
				switch r.IntN(6) {
				case 0, 1:
					w.count(r.Int32N(3), r.Int64N(4))
				case 2:
					w.ack()
					w.write(0)
				case 3:
					w.write(1)
				default:
					w.during = func() {
						w.count(0, 2)
						w.count(2, 2)
						flush()
						w.write(1)
						w.during = flush // if there is another read
					}
					before := w.total()
					a, _, err := l.lookup(t.Context(), q)
					if after := w.total(); err != nil || hits(a) < before || hits(a) > after {
						t.Fatalf("seed %d, step %d: %d hits, %v, want %d to %d", seed, step, hits(a), err, before, after)
					} else if after > before {
						grown++
					}
					w.during = nil
				}
			}
			if grown < 20 {
				t.Errorf("seed %d: %d answers during a flush: the test tests little", seed, grown)
			}
		})
	}
}

// TestTakenOver: an answer contains what the former owner of a partition flushed, and once,
// when this process counts the chunk again.
func TestTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 7)
		l := w.windows()
		q := query{Job: w.spec.Job, Measure: Hits}
		q.From, q.Until = w.span()
		w.count(0, 200)
		w.count(2, 160)
		w.write(1)
		chunk := w.next[2] / w.spec.Chunk * w.spec.Chunk
		w.ops[0].Start(window.Plan{Partition: 2, Warm: chunk, Start: chunk, Lost: chunk, Durable: w.next[2], Replays: w.next[2] - chunk})
		if err := w.log.Feed(w.ops[0], 2, chunk, w.next[2]+20); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if a, _, err := l.lookup(t.Context(), q); err != nil || hits(a) != w.total() || hits(a) < 100 {
				t.Errorf("%d hits, %v, want %d", hits(a), err, w.total())
			}
			w.write(0)
			w.ack()
		}
	})
}

// warm is a world in which everything was counted and flushed once, and asked
// for: the windows that answer, and the question.
func warm(t *testing.T) (*world, *Windows, query) {
	w := newWorld(t, 3)
	l := w.windows()
	for p := range int32(3) {
		w.count(p, 150)
	}
	w.write(0)
	w.ack()
	w.write(1)
	q := query{Job: w.spec.Job, Measure: "users"}
	q.From, q.Until = w.span()
	w.at(q.Until + w.spec.Window) // so that answers wait for the sink
	return w, l, q
}

// TestError: an error of the sink is returned and not kept.
func TestError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, l, q := warm(t)
		w.took = 10 * time.Millisecond
		for _, measure := range []string{"active", Hits, "places", "seen"} {
			q.Measure = measure
			w.fail = errors.New("no answer")
			if _, _, err := l.lookup(t.Context(), q); !errors.Is(err, w.fail) {
				t.Errorf("%s: error %v, want %v", measure, err, w.fail)
			}
			w.fail = nil
			if _, found, err := l.lookup(t.Context(), q); !found || err != nil {
				t.Errorf("%s after an error: %t, %v", measure, found, err)
			}
		}
	})
}

// TestTogether: however many ask at once, one reads, and if that one is called
// away or out of time another one does.
func TestTogether(t *testing.T) {
	for name, end := range map[string]func(context.Context) (context.Context, func()){
		"called away": func(ctx context.Context) (context.Context, func()) {
			return context.WithCancel(ctx)
		},
		"out of time": func(ctx context.Context) (context.Context, func()) {
			ctx, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
			return ctx, func() { context.AfterFunc(ctx, cancel) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, l, q := warm(t)
				q.Measure, w.took = "active", time.Second
				away, leave := end(t.Context())
				first := make(chan error, 1)
				w.fail = errors.New("as the client says it")
				go func() {
					_, _, err := l.lookup(away, q)
					first <- err
				}()
				time.Sleep(time.Millisecond)
				w.mu.Lock()
				w.fail = nil
				w.mu.Unlock()
				leave()
				var wg sync.WaitGroup
				for range 50 {
					wg.Go(func() {
						if v, found, err := l.lookup(t.Context(), q); err != nil || !found || v.Value.(*bitmap.Activity).Count() == 0 {
							t.Errorf("found %t, %v", found, err)
						}
					})
				}
				wg.Wait()
				if err := <-first; err == nil {
					t.Error("the first got an answer")
				}
				if w.queries > 2 {
					t.Errorf("%d queries for 51 questions at once", w.queries)
				}
			})
		})
	}
}

// TestServedAgain: a value serves again for two hundred times as long as making it took, and
// until the oldest thing that it is made from is thirty seconds old; one that is to serve once
// does not.
func TestServedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var u reuse[int]
		made := 0
		step := func(after, took, old time.Duration, want int) {
			t.Helper()
			time.Sleep(after)
			n, since, err := u.get(t.Context(), "key", func(w *work) (int, error) {
				w.from(time.Now().Add(-old))
				time.Sleep(took)
				made++
				w.bytes, w.once = 10, made == 5
				return made, nil
			})
			if n != want || err != nil || since.After(time.Now()) {
				t.Errorf("value %d of %v, %v; want %d", n, since, err, want)
			}
		}
		const ms = time.Millisecond
		step(0, 0, 0, 1)
		step(0, ms, 0, 2)
		step(198*ms, 0, 0, 2)
		step(2*ms, time.Second, 0, 3)
		step(28_999*ms, 0, 0, 3)
		step(ms, time.Second, 20*time.Second, 4)
		step(8_999*ms, 0, 0, 4)
		step(ms, time.Second, 0, 5)
		step(0, ms, 0, 6)
		if bytes := u.held(); bytes != 10 || len(u.made) != 1 {
			t.Errorf("%d bytes in %d values, want 10 in one", bytes, len(u.made))
		}
	})
}
