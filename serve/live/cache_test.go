package live

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"weir/event"
	"weir/jobs"
	"weir/sinks/memory"
	"weir/sinks/sinktest"
	"weir/sketches/bitmap"
	"weir/sketches/bloom"
	"weir/sketches/geo"
	"weir/sketches/hll"
	"weir/window"
)

// A world is one sink and two processes that flush into it. The first has the
// windows under test; of the second only what it flushes is seen. Run in a
// bubble of synctest, where making an answer takes no time: so nothing is
// served twice unless a test lets it take some.
type world struct {
	t    *testing.T
	spec *window.Spec
	log  *sinktest.Log
	ops  [2]*window.Operator // of both processes
	next [3]int64            // by partition; the last is the other process's

	mu     sync.Mutex   // guards what is above as well
	sink   *memory.Sink // has the rows
	ledger map[window.Origin]int64
	round  uint64 // the current one: each look at the ledger opens the next
	writes []write
	flight *window.Changes // of the first process
	hook   func(*window.Changes)
	memory int64

	queries int           // reads of rows
	looks   int           // and of the ledger
	fail    error         // of reading rows
	away    error         // of the ledger as well
	frozen  bool          // the ledger does not answer
	took    time.Duration // by each query
	recall  time.Duration // that reading memory takes
	behind  time.Duration // the clock, from that of the bubble; see at
	stalled bool          // writers between rows and ledger lines, which are held
	held    []window.Line
	during  func() // once, in the middle of the next read: after its rows are fixed
}

type write struct {
	round  uint64
	starts []event.Time
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{t: t, spec: sinktest.Spec(), log: sinktest.NewLog(seed), ledger: map[window.Origin]int64{}}
	w.sink = newSink(t, w.spec)
	for i := range w.ops {
		op, err := window.NewOperator(w.spec)
		if err != nil {
			t.Fatal(err)
		}
		w.ops[i] = op
	}
	for p := range int32(3) {
		w.ops[p/2].Start(window.Plan{Partition: p})
	}
	return w
}

// windows answer for the first process.
func (w *world) windows(memory int64) *Windows {
	l := New(Config{Now: func() time.Time { return time.Now().Add(w.behind) }, Memory: memory})
	l.Add(w, w)
	return l
}

// at sets the clock that questions mean.
func (w *world) at(now event.Time) { w.behind = time.Until(time.UnixMilli(int64(now))) }

// count lets the owner of a partition count n offsets more.
func (w *world) count(partition int32, n int64) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.log.Feed(w.ops[partition/2], partition, w.next[partition], w.next[partition]+n); err != nil {
		w.t.Fatal(err)
	}
	w.next[partition] += n
}

// write makes changes durable; those of the first process are not acknowledged
// before ack.
func (w *world) write(process int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.ops[process].Take()
	c.Table.Seal()
	if err := w.sink.Write(context.Background(), &window.Changes{Table: c.Table}); err != nil {
		w.t.Fatal(err)
	}
	wr := write{round: w.round}
	for row := range c.Table.Rows {
		wr.starts = append(wr.starts, row.Window())
	}
	w.writes = append(w.writes, wr)
	if w.held = append(w.held, c.Lines...); !w.stalled {
		w.land()
	}
	if process == 0 {
		w.flight = c
	}
}

// land writes the ledger lines that are held back.
func (w *world) land() {
	for _, l := range w.held {
		o := window.Origin{Partition: l.Partition, Epoch: l.Epoch}
		w.ledger[o] = max(w.ledger[o], l.Next)
	}
	w.held = nil
}

// ack tells the first process that its write is durable.
func (w *world) ack() {
	w.mu.Lock()
	flight := w.flight
	w.mu.Unlock()
	if flight != nil {
		w.hook(flight)
		w.mu.Lock()
		w.flight = nil
		w.mu.Unlock()
	}
}

// total is how many events the first process has counted or either has flushed.
func (w *world) total() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := window.NewTable(w.spec)
	if err := w.sink.Rows(context.Background(), all(w.spec), window.Counts, t); err != nil {
		w.t.Fatal(err)
	}
	w.ops[0].Snapshot(t, all(w.spec))
	t.Seal()
	return sum(t)
}

func all(spec *window.Spec) *window.Range {
	return &window.Range{From: window.Oldest, Until: window.Newest, Group: make([][]byte, len(spec.By))}
}

func (w *world) Spec() *window.Spec                { return w.spec }
func (w *world) Status() jobs.Status               { return jobs.Status{MemoryBytes: w.memory} }
func (w *world) OnFlush(f func(c *window.Changes)) { w.hook = f }

func (w *world) Live(_ context.Context, r *window.Range) ([]*window.Table, error) {
	w.mu.Lock()
	tables := []*window.Table{window.NewTable(w.spec)}
	w.ops[0].Snapshot(tables[0], r)
	if w.flight != nil {
		t := window.NewTable(w.spec)
		w.flight.Table.Copy(t, r)
		tables = append(tables, t)
	}
	for _, t := range tables {
		t.Seal()
	}
	w.mu.Unlock()
	time.Sleep(w.recall)
	return tables, nil
}

// query is a query to the sink: it reads what is there now, and answers later, by
// calling what read has returned.
func (w *world) query(read func() (answer func(), err error)) error {
	w.mu.Lock()
	answer, err := read()
	w.queries++
	err, during := cmp.Or(w.fail, w.away, err), w.during
	w.during = nil
	w.mu.Unlock()
	time.Sleep(w.took)
	if during != nil {
		during()
	}
	if err == nil {
		answer()
	}
	return err
}

func (w *world) Total(ctx context.Context, r *window.Range) (n uint64, err error) {
	err = w.query(func() (func(), error) {
		total, err := w.sink.Total(ctx, r)
		return func() { n = total }, err
	})
	return n, err
}

func (w *world) Totals(ctx context.Context, r *window.Range, yield func(event.Time, uint64)) error {
	return w.query(func() (func(), error) {
		totals := map[event.Time]uint64{}
		err := w.sink.Totals(ctx, r, func(start event.Time, n uint64) { totals[start] = n })
		return func() {
			for start, n := range totals {
				yield(start, n)
			}
		}, err
	})
}

func (w *world) Rows(ctx context.Context, r *window.Range, m int, into *window.Table) error {
	return w.query(func() (func(), error) { return func() {}, w.sink.Rows(ctx, r, m, into) })
}

func (w *world) State(ctx context.Context, r *window.Range, m int) (state []byte, err error) {
	err = w.query(func() (func(), error) {
		now, err := w.sink.State(ctx, r, m)
		return func() { state = now }, err
	})
	return state, err
}

func (w *world) States(ctx context.Context, r *window.Range, m int, yield func(event.Time, []byte) error) error {
	var failed error
	err := w.query(func() (func(), error) {
		states := map[event.Time][]byte{}
		err := w.sink.States(ctx, r, m, func(start event.Time, state []byte) error { states[start] = state; return nil })
		return func() {
			for start, state := range states {
				if err := yield(start, state); err != nil {
					failed = err
				}
			}
		}, err
	})
	return cmp.Or(err, failed)
}

func (w *world) Places(ctx context.Context, r *window.Range, m int, last *geo.Last) error {
	return w.query(func() (func(), error) { return func() {}, w.sink.Places(ctx, r, m, last) })
}

func (w *world) Windows(ctx context.Context, r *window.Range, limit int, yield func(event.Time, []string) bool) error {
	return w.query(func() (func(), error) { return func() {}, w.sink.Windows(ctx, r, limit, yield) })
}

func (w *world) Progress(ctx context.Context) (map[window.Origin]int64, uint64, error) {
	if w.frozen {
		<-ctx.Done()
		return nil, 0, ctx.Err()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.looks++
	round := w.round
	w.round++
	return maps.Clone(w.ledger), round, w.away
}

func (w *world) Touched(_ context.Context, since uint64) (starts []event.Time, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, wr := range w.writes {
		if wr.round >= since {
			starts = append(starts, wr.starts...)
		}
	}
	return starts, cmp.Or(w.fail, w.away)
}

// A query asks for windows that start in [From, Until), also where no key can.
type query struct {
	Job, Measure string
	From, Until  event.Time
	Group        [][]byte
}

func (w *Windows) planOf(q query) (*plan, error) {
	s, err := w.source(q.Job)
	if err != nil {
		return nil, err
	}
	return s.plan(q.Measure, q.From, q.Until, append(slices.Clone(q.Group), make([][]byte, max(0, len(s.spec.By)-len(q.Group)))...))
}

// lookup is Lookup of a query.
func (w *Windows) lookup(ctx context.Context, q query) (a Answer, found bool, err error) {
	p, err := w.planOf(q)
	if err != nil {
		return a, false, err
	}
	a, err = p.answer(ctx)
	return a, a.Found(), err
}

// recent is Recent of a query.
func (w *Windows) recent(q query) (a Answer, found, known bool) {
	p, err := w.planOf(q)
	if err != nil {
		return a, false, false
	}
	a, known = p.source.answers.recent(p.id)
	return a, a.Found(), known
}

// hits is the number of events that an answer is.
func hits(a Answer) uint64 {
	n, _ := a.Value.(Count)
	return uint64(n)
}

// ask wants two Windows to say the same.
func ask(t *testing.T, what string, q query, got, want *Windows) {
	t.Helper()
	a, foundA, errA := got.lookup(t.Context(), q)
	b, foundB, errB := want.lookup(t.Context(), q)
	if foundA != foundB || errA != nil || errB != nil {
		t.Fatalf("%s: %+v: found %t (%v), want %t (%v)", what, q, foundA, errA, foundB, errB)
	}
	if !foundA {
		return
	}
	if !same(a, b) {
		t.Fatalf("%s: %+v: %s, want %s", what, q, shown(a), shown(b))
	}
}

// same reports whether two values say the same.
func same(a, b Answer) bool {
	if reflect.TypeOf(a.Value) != reflect.TypeOf(b.Value) {
		return false
	}
	ok := true
	switch want := b.Value.(type) {
	case *hll.Sketch:
		ok = bytes.Equal(a.Value.(*hll.Sketch).AppendClickHouse(nil), want.AppendClickHouse(nil))
	case *bitmap.Activity:
		ok = bytes.Equal(a.Value.(*bitmap.Activity).AppendClickHouse(nil), want.AppendClickHouse(nil))
	case *Top, *Quantiles:
		ok = reflect.DeepEqual(a.Value, want)
	case *Set:
		got := a.Value.(*Set)
		ok = bytes.Equal(got.hashes.AppendState(nil, 0), want.hashes.AppendState(nil, 0)) && got.Count() == want.Count()
	case *bloom.Filter:
		for p := range 3 {
			for id := range 1000 {
				h := bloom.Hash(fmt.Appendf(nil, "p%de%d", p, id))
				ok = ok && a.Value.(*bloom.Filter).Has(h) == want.Has(h)
			}
		}
	case *geo.Set:
		got := a.Value.(*geo.Set)
		ok = got.Len() == want.Len()
		for member, score := range want.Slice(0, want.Len()) {
			s, has := got.Score([]byte(member))
			ok = ok && has && s == score
		}
	default:
		ok = ok && a.Value == want
	}
	return ok
}

// shown is an answer as a failing test prints it.
func shown(v Answer) string {
	if n, ok := v.Value.(Count); ok || v.Value == nil {
		return fmt.Sprint(uint64(n), " hits")
	}
	for _, k := range kinds {
		if n := k.Number(v.Value); n != nil && n != any(0) {
			return fmt.Sprintf("%v of %T", n, v.Value)
		}
	}
	return fmt.Sprintf("a %T", v.Value)
}

// span is the range of windows of what has been counted so far, and a bit.
func (w *world) span() (from, until event.Time) {
	first := w.log[0][0].Time
	from = first - first%w.spec.Window - 5*w.spec.Window
	return from, from + 40*w.spec.Window
}

// TestKept: whatever both processes count and flush, and whenever, what is put
// together from kept windows is what memory and sink say together, and most of
// it without a query.
func TestKept(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			w := newWorld(t, seed)
			kept := w.windows(1 << 30)
			hook := w.hook
			plain := w.windows(0)
			w.hook = hook
			from, until := w.span()
			asked := 0
			for step := range 400 {
				time.Sleep(time.Duration(r.IntN(2000)) * time.Millisecond)
				switch r.IntN(8) {
				case 0, 1:
					w.count(r.Int32N(3), r.Int64N(4))
				case 2:
					w.ack()
					w.write(0)
				case 3:
					w.ack()
				case 4:
					if r.IntN(4) == 0 {
						w.write(1)
					}
				default:
					q := query{Job: w.spec.Job, Measure: []string{Hits, "users", "active", "seen", "places"}[r.IntN(5)], From: from, Until: until}
					if r.IntN(3) == 0 {
						q.From += event.Time(r.IntN(20)) * w.spec.Window
						q.Until -= event.Time(r.IntN(20)) * w.spec.Window
					}
					if q.Measure != "places" {
						q.Group = [][][]byte{nil, {nil, []byte("DE")}, {[]byte("/p/1")}, {[]byte("/p/2"), []byte("??")}}[r.IntN(4)]
					}
					if r.IntN(5) == 0 { // something happens while the sink answers
						w.during = func() {
							w.ack()
							w.write(0)
							w.ack()
						}
						if _, _, err := kept.lookup(t.Context(), q); err != nil {
							t.Fatal(err)
						}
						w.during = nil
					}
					ask(t, fmt.Sprintf("seed %d, step %d", seed, step), q, kept, plain)
					asked++
				}
			}
			entries, bytes := 0, int64(0)
			for _, of := range kept.jobs[w.spec.Job].cache.series {
				if of.positions != nil {
					bytes += of.positions.bytes
				}
				for _, e := range of.entries {
					entries++
					bytes += e.bytes
				}
			}
			if entries != kept.cache.recent.Len() || bytes != kept.cache.bytes {
				t.Errorf("seed %d: %d windows of %d bytes, but the cache says %d and %d", seed, entries, bytes, kept.cache.recent.Len(), kept.cache.bytes)
			}
			s := kept.Stats()
			if s.Hits < 4*s.Misses || s.Stale == 0 || s.Evicted > 0 {
				t.Errorf("seed %d: %d questions, %+v: the test tests little", seed, asked, s)
			}
		})
	}
}

// warm is a world in which everything was counted and flushed once, and asked
// for: the windows that answer, and the question.
func warm(t *testing.T, memory int64) (*world, *Windows, query) {
	w := newWorld(t, 3)
	l := w.windows(memory)
	for p := range int32(3) {
		w.count(p, 150)
	}
	w.write(0)
	w.ack()
	w.write(1)
	q := query{Job: w.spec.Job, Measure: "users"}
	q.From, q.Until = w.span()
	if _, found, err := l.lookup(t.Context(), q); !found || err != nil {
		t.Fatal(found, err)
	}
	if w.queries == 0 {
		t.Fatal("nothing was read")
	}
	w.queries = 0
	return w, l, q
}

// fresh returns Windows that have cached nothing.
func (w *world) fresh(memory int64) *Windows {
	hook := w.hook
	defer func() { w.hook = hook }()
	return w.windows(memory)
}

// TestOwnFlush: what the process itself flushes, into old windows too, is in
// the answer without a query; a range that was never asked for takes one.
func TestOwnFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, l, q := warm(t, 1<<30)
		for range 20 {
			w.count(0, 10)
			w.count(1, 10)
			w.write(0)
			w.ack()
			time.Sleep(time.Second)
			if _, _, err := l.lookup(t.Context(), q); err != nil {
				t.Fatal(err)
			}
		}
		if w.queries > 0 {
			t.Errorf("%d queries for what the process knew", w.queries)
		}
		ask(t, "at the end", q, l, w.fresh(0))
	})
}

// TestOwnCounts: counts need no query either, once they were asked for after a flush,
// window by window or all together.
func TestOwnCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, l, q := warm(t, 1<<30)
		q.Measure = Hits
		first, last := q.From, q.Until
		var read uint64
		for i := range 20 {
			w.count(0, 10)
			w.count(1, 10)
			w.write(0)
			w.ack()
			time.Sleep(6 * time.Second)
			for start := first; start < last; start += w.spec.Window {
				q.From, q.Until = start, start+w.spec.Window
				ask(t, "one", q, l, w.fresh(0))
			}
			q.From, q.Until = first, last
			ask(t, "all", q, l, w.fresh(0))
			if now := l.Stats().Misses; i == 0 {
				read = now
			} else if now > read {
				t.Errorf("round %d: %d windows were read", i, now-read)
			}
		}
	})
}

// TestNearby: questions about the counts of one window after the other make few
// queries.
func TestNearby(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, l, q := warm(t, 1<<30)
		time.Sleep(2 * rewritten)
		q.Measure, q.Group = Hits, [][]byte{[]byte("/p/1"), []byte("DE")}
		for start := q.From; start < q.From+36*w.spec.Window; start += w.spec.Window {
			one := q
			one.From, one.Until = start, start+w.spec.Window
			if _, _, err := l.lookup(t.Context(), one); err != nil {
				t.Fatal(err)
			}
		}
		if w.queries > 3 {
			t.Errorf("%d queries for 36 windows, want one for seventeen", w.queries)
		}
		ask(t, "all of them", q, l, w.fresh(0))
	})
}

// TestOthersFlush: what another process flushes is in the answers of two
// seconds later, late rows of old windows too; what it left alone is not read
// again.
func TestOthersFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, l, q := warm(t, 1<<30)
		w.took = 20 * time.Millisecond // answers are served again now
		for range 10 {
			w.count(2, 20)
			w.write(1)
			time.Sleep(6 * time.Second) // an answer that had to be read takes 20 ms and more
			got, _, err := l.lookup(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			want, _, err := w.fresh(0).lookup(t.Context(), q)
			if err != nil || !same(got, want) {
				t.Fatalf("%s, want %s (%v)", shown(got), shown(want), err)
			}
		}
		if s := l.Stats(); s.Stale == 0 || s.Misses > 40+s.Stale {
			t.Errorf("%+v: windows were read that no process wrote to", s)
		}
	})
}

// TestLateLine: a writer stalls between its rows and the ledger lines that say
// so, for longer than any flush may take, while rounds pass and this process
// looks at the ledger. What it wrote is in the answers once the lines are there.
func TestLateLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, l, q := warm(t, 1<<30)
		w.count(2, 50)
		w.stalled = true
		w.write(1)
		for range 10 {
			time.Sleep(time.Minute)
			if _, _, err := l.lookup(t.Context(), q); err != nil {
				t.Fatal(err)
			}
		}
		w.mu.Lock()
		w.land()
		w.mu.Unlock()
		time.Sleep(lookAge)
		ask(t, "the lines are there", q, l, w.fresh(0))
	})
}

// TestForgotten: a series without questions is not updated, and is right at the
// next question; after a long time everything is read anew.
func TestForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, l, q := warm(t, 1<<30)
		for _, pause := range []time.Duration{2 * forgotten, 2 * unwatched} {
			time.Sleep(pause)
			w.count(0, 30)
			w.write(0)
			w.ack()
			w.count(2, 30)
			w.write(1)
			ask(t, pause.String(), q, l, w.fresh(0))
		}
	})
}

// TestRoom: what is kept stays within a quarter of the budget and out of the
// jobs' way, whatever is asked for, and the answers stay right.
func TestRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const memory = 400 << 10
		w, l, q := warm(t, memory)
		for i := range 60 {
			q.Measure = []string{Hits, "users", "active", "seen", "places"}[i%5]
			if q.Group = nil; i%5 < 4 {
				q.Group = [][]byte{fmt.Appendf(nil, "/p/%d", i%4)}
			}
			time.Sleep(10 * time.Second)
			ask(t, "a tight budget", q, l, w.fresh(0))
			if l.cache.bytes > memory/4 {
				t.Fatalf("%d bytes of windows are kept, of a budget of %d", l.cache.bytes, memory)
			}
		}
		if s := l.Stats(); s.Evicted == 0 || s.Windows == 0 {
			t.Errorf("%+v: want some evicted and some kept", s)
		}
		w.memory = memory // the jobs need it themselves
		w.count(0, 1)
		w.write(0)
		w.ack()
		if l.cache.bytes != 0 || l.cache.recent.Len() != 0 {
			t.Errorf("%d bytes are kept while the jobs need all the memory", l.cache.bytes)
		}
		for _, s := range l.jobs {
			if len(s.cache.series) != 0 {
				t.Errorf("%d series without a window", len(s.cache.series))
			}
		}
		ask(t, "no room", q, l, w.fresh(0))
	})
}

// TestError: an error of the sink is returned and not cached.
func TestError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, l, q := warm(t, 1<<30)
		w.at(q.Until)
		w.took = 10 * time.Millisecond
		for _, measure := range []string{"active", Hits, "places", "seen"} {
			q.Measure = measure
			w.fail = errors.New("no answer")
			if _, _, err := l.lookup(t.Context(), q); !errors.Is(err, w.fail) {
				t.Errorf("%s: error %v, want %v", measure, err, w.fail)
			}
			w.fail = nil
			ask(t, "after an error", q, l, w.fresh(0))
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
				w, l, q := warm(t, 1<<30)
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
				for i := range 50 {
					q := q
					q.From += event.Time(i%2) * w.spec.Window // the same question, and another about the same windows
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
				if w.queries > 3 {
					t.Errorf("%d queries for 51 questions at once", w.queries)
				}
			})
		})
	}
}

// TestServedAgain: a value is served again for a thousand times
// as long as making it took, four times as long as it waited for others, and no
// longer than two seconds, or five if it is dear.
func TestServedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var u reuse[int]
		made := 0
		get := func(took, waits time.Duration) int {
			n, _, err := u.get(t.Context(), "key", func(w *work) (int, error) {
				if n, known := u.recent("key"); known {
					t.Errorf("value %d is at hand while one is made", n)
				}
				time.Sleep(took)
				_ = w.wait(func() error { time.Sleep(waits); return nil })
				made++
				w.bytes = 10
				return made, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		step := func(after, took, waits time.Duration, want int) {
			t.Helper()
			time.Sleep(after)
			if n, known := u.recent("key"); known != (want == made) || known && n != want {
				t.Errorf("value %d is at hand, %v, want %d", n, known, want)
			}
			if n := get(took, waits); n != want {
				t.Errorf("value %d, want %d", n, want)
			}
		}
		step(0, 0, 0, 1)
		step(0, time.Millisecond, 0, 2)
		step(996*time.Millisecond, 0, 0, 2)
		step(11*time.Millisecond, time.Second, 0, 3)
		step(3990*time.Millisecond, 0, 0, 3)
		step(11*time.Millisecond, 0, 100*time.Millisecond, 4)
		step(299*time.Millisecond, 0, 0, 4)
		step(2*time.Millisecond, 4*time.Millisecond, 0, 5)
		step(1995*time.Millisecond, 0, 0, 5)
		step(2*time.Millisecond, 0, 0, 6)
		if bytes, n := u.held(); bytes != 10 || n != 1 {
			t.Errorf("%d bytes in %d values, want 10 in one", bytes, n)
		}
	})
}
