package live

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"weir/event"
	"weir/jobs"
	"weir/measures"
	"weir/measures/set"
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

	mu     sync.Mutex      // guards what is above as well
	sink   *memory.Sink    // has the rows
	flight *window.Changes // of the first process
	hook   func(*window.Changes)

	queries int           // reads, those of no windows apart
	fail    error         // of a read of windows
	away    error         // of any read
	frozen  bool          // no read is answered
	took    time.Duration // by each read
	recall  time.Duration // that reading memory takes
	behind  time.Duration // the clock, from that of the bubble; see at
	during  func()        // once, in the middle of the next read: after its rows are fixed
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{t: t, spec: sinktest.Spec(), log: sinktest.NewLog(seed)}
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
func (w *world) windows() *Windows {
	l := New(Config{Now: func() time.Time { return time.Now().Add(w.behind) }})
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
	if process == 0 {
		w.flight = c
	}
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
func (w *world) Status() jobs.Status               { return jobs.Status{} }
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
// calling what read has returned. One of no windows is a look.
func (w *world) query(ctx context.Context, r *window.Range, read func() (answer func(), err error)) error {
	if w.frozen {
		<-ctx.Done()
		return ctx.Err()
	}
	w.mu.Lock()
	answer, err := read()
	err, during := cmp.Or(w.away, err), func() {}
	if r.From < r.Until {
		w.queries++
		err = cmp.Or(w.fail, err)
		if w.during != nil {
			during, w.during = w.during, nil
		}
	}
	w.mu.Unlock()
	time.Sleep(w.took)
	during()
	if err == nil {
		answer()
	}
	return err
}

func (w *world) Total(ctx context.Context, r *window.Range) (n uint64, err error) {
	err = w.query(ctx, r, func() (func(), error) {
		total, err := w.sink.Total(ctx, r)
		return func() { n = total }, err
	})
	return n, err
}

func (w *world) Totals(ctx context.Context, r *window.Range, yield func(event.Time, uint64)) error {
	return w.query(ctx, r, func() (func(), error) {
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
	return w.query(ctx, r, func() (func(), error) { return func() {}, w.sink.Rows(ctx, r, m, into) })
}

func (w *world) State(ctx context.Context, r *window.Range, m int) (state []byte, err error) {
	err = w.query(ctx, r, func() (func(), error) {
		now, err := w.sink.State(ctx, r, m)
		return func() { state = now }, err
	})
	return state, err
}

func (w *world) States(ctx context.Context, r *window.Range, m int, yield func(event.Time, []byte) error) error {
	var failed error
	err := w.query(ctx, r, func() (func(), error) {
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
	return w.query(ctx, r, func() (func(), error) { return func() {}, w.sink.Places(ctx, r, m, last) })
}

func (w *world) Windows(ctx context.Context, r *window.Range, limit int, yield func(event.Time, []string) bool) error {
	return w.query(ctx, r, func() (func(), error) { return func() {}, w.sink.Windows(ctx, r, limit, yield) })
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

// hits is the number of events that an answer is.
func hits(a Answer) uint64 {
	n, _ := a.Value.(Count)
	return uint64(n)
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
		ok = bytes.Equal(a.Value.(*bitmap.Activity).AppendBytes(nil), want.AppendBytes(nil))
	case *set.Answer:
		got := a.Value.(*set.Answer)
		ok = got.Count() == want.Count() && got.Common(want) == want.Count()
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
		ok = reflect.DeepEqual(a.Value, want)
	}
	return ok
}

// shown is an answer as a failing test prints it.
func shown(v Answer) string {
	if n, ok := v.Value.(Count); ok || v.Value == nil {
		return fmt.Sprint(uint64(n), " hits")
	}
	for _, k := range measures.All {
		if n := k.Live.Number(v.Value); n != nil && fmt.Sprint(n) != "0" {
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

// sum adds up the counts of a sealed table.
func sum(t *window.Table) (total uint64) {
	for row := range t.Rows {
		for _, n := range row.Hits {
			total += n
		}
	}
	return total
}
