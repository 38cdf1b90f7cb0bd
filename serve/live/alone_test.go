package live

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"weir/event"
	"weir/internal/outage"
	"weir/window"
)

var errAway = errors.New("connection refused")

var named = []string{Hits, "users", "active", "seen", "places"}

// countedWorld returns a world in which each partition has counted n events, with the clock
// at the last of them, and the window of that time.
func countedWorld(t *testing.T, n int64) (w *world, open event.Time) {
	w = newWorld(t, 3)
	for p := range int32(3) {
		w.count(p, n)
	}
	open = w.reached(n)
	return w, open - open%w.spec.Window
}

// reached sets the clock to the time of the last record below an offset.
func (w *world) reached(offset int64) (now event.Time) {
	for _, rec := range w.log[0] {
		if rec.Offset < offset {
			now = rec.Time
		}
	}
	w.at(now)
	return now
}

// TestAlone: without the sink, windows are answered from memory, marked, if they have not
// ended or if nothing of them was flushed; for others the answer is an error that names such
// a window and the remedy. When the sink is back, answers are whole again.
func TestAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, open := countedWorld(t, 30)
		l := w.windows()
		w.write(0)
		w.ack()
		w.away = errAway
		w.count(0, 370)
		w.count(1, 370)
		now := w.reached(400)
		last := now - now%w.spec.Window
		if last < open+2*w.spec.Window {
			t.Fatal("too little time has passed to test anything")
		}
		mem := window.NewTable(w.spec)
		w.ops[0].Snapshot(mem, all(w.spec))
		mem.Seal()
		end := last + 20*w.spec.Window
		sent := l.jobs[w.spec.Job].state.lastFlushed()
		partial := uint64(0)
		reason := query{Job: w.spec.Job, Measure: Partial, From: last, Until: end}
		for _, r := range []struct {
			name        string
			from, until event.Time
			ok          bool
		}{
			{"the open window", last, last + w.spec.Window, true},
			{"from the open window on", last, end, true},
			{"what was never flushed", sent + w.spec.Window, end, true},
			{"a window that was flushed", open, open + w.spec.Window, false},
			{"from then on", open, end, false},
			{"a window of long ago", open - 1000*w.spec.Window, open - 999*w.spec.Window, false},
			{"everything", 0, end, false},
			{"everything for ever", window.Oldest, window.Newest, false},
		} {
			for _, measure := range named {
				q := query{Job: w.spec.Job, Measure: measure, From: r.from, Until: r.until}
				v, found, err := l.lookup(t.Context(), q)
				if !r.ok {
					if !errors.Is(err, errAway) || !strings.Contains(err.Error(), "is not in memory and ClickHouse cannot be asked for it; ask for now") {
						t.Errorf("%s of %s: %s, %t, %v; want an error", measure, r.name, shown(v), found, err)
					}
					continue
				}
				partial++
				want := sum(selected(mem, &window.Range{From: r.from, Until: r.until, Group: [][]byte{nil, nil}}))
				if err != nil || found != (want > 0) || !strings.Contains(v.Partial, errAway.Error()) {
					t.Errorf("%s of %s: found %t, %v, partial %q", measure, r.name, found, err, v.Partial)
				} else if measure == Hits && hits(v) != want || measure != Hits && found && shown(v)[0] == '0' {
					t.Errorf("%s of %s: %s, want %d", measure, r.name, shown(v), want)
				}
			}
		}
		if n := l.Stats().Partial; n != partial {
			t.Errorf("%d partial answers are counted, want %d", n, partial)
		}
		if v, found, err := l.lookup(t.Context(), reason); !found || err != nil || !strings.Contains(v.Partial, errAway.Error()) {
			t.Errorf("why answers are partial: %q, %t, %v", v.Partial, found, err)
		}
		if list, err := l.Keys(t.Context()); err != nil || len(list) < 10 {
			t.Errorf("%d keys without the sink, %v", len(list), err)
		}
		w.away = nil
		time.Sleep(tryEvery)
		// Answers that were made before may still be served, and the measure partial has the reason.
		if v, found, err := l.lookup(t.Context(), reason); !found || err != nil {
			t.Errorf("the measure partial is %q, %t, %v just after", v.Partial, found, err)
		}
		time.Sleep(saidFor)
		q := query{Job: w.spec.Job, Measure: Hits, Until: end}
		if v, _, err := l.lookup(t.Context(), q); err != nil || v.Partial != "" || hits(v) != w.total() {
			t.Errorf("%s, %v, partial %q when it is back", shown(v), err, v.Partial)
		}
		if v, found, err := l.lookup(t.Context(), reason); found || err != nil {
			t.Errorf("answers are whole, and the measure partial is %q, %t, %v", v.Partial, found, err)
		}
	})
}

// TestFrozen: a sink that accepts queries and does not answer delays one question by a
// few seconds; after that one question at a time tries the sink, and the others are
// answered at once.
func TestFrozen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := countedWorld(t, 150)
		l := w.windows()
		w.frozen = true
		now := func(measure string) query {
			now := l.jobs[w.spec.Job].now()
			open := now - now%w.spec.Window
			return query{Job: w.spec.Job, Measure: measure, From: open, Until: open + w.spec.Window}
		}
		var waited time.Duration
		var slow int
		for range 200 {
			began := time.Now()
			v, _, err := l.lookup(t.Context(), now(Hits))
			if err != nil || v.Partial == "" {
				t.Fatalf("%v, partial %q", err, v.Partial)
			}
			took := time.Since(began)
			if took > sinkTimeout {
				t.Fatalf("an answer took %v", took)
			}
			if took > 0 {
				slow++
			}
			waited += took
			time.Sleep(100 * time.Millisecond)
		}
		if slow == 0 || waited > time.Duration(slow)*sinkTimeout || slow > 20 {
			t.Errorf("%d of 200 questions waited %v", slow, waited)
		}

		// A question about an older window gets an error, just as soon.
		time.Sleep(saidFor + tryEvery)
		began := time.Now()
		old := now(Hits)
		old.From -= 10 * w.spec.Window
		if _, _, err := l.lookup(t.Context(), old); err == nil || time.Since(began) > sinkTimeout {
			t.Errorf("an older window: %v after %v", err, time.Since(began))
		}

		// While one question tries the sink, others do not wait.
		time.Sleep(saidFor + tryEvery)
		var asked sync.WaitGroup
		for i := range 10 {
			asked.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond)
				began := time.Now()
				if _, _, err := l.lookup(t.Context(), now(named[i%4])); err != nil {
					t.Error(err)
				}
				if took := time.Since(began); i > 0 && i%4 > 0 && took > 0 {
					t.Errorf("question %d waited %v", i, took)
				}
			})
		}
		asked.Wait()
		w.frozen = false
		time.Sleep(saidFor)
		if v, _, err := l.lookup(t.Context(), now(Hits)); err != nil || v.Partial != "" {
			t.Errorf("when the sink answers: %v, partial %q", err, v.Partial)
		}
	})
}

// TestCalledOff: a client that disconnects during a query is no sign that the sink is
// down.
func TestCalledOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, open := countedWorld(t, 150)
		l := w.windows()
		q := query{Job: w.spec.Job, Measure: Hits, From: open, Until: open + w.spec.Window}
		w.frozen = true
		ctx, leave := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer leave()
		if v, _, err := l.lookup(ctx, q); err == nil {
			t.Errorf("a question that was called off got %d hits, partial %q", hits(v), v.Partial)
		}
		w.frozen = false
		if v, found, err := l.lookup(t.Context(), q); !found || err != nil || v.Partial != "" {
			t.Errorf("the next one: %t, %v, partial %q", found, err, v.Partial)
		}
	})
}

// TestAwayIsSaid: failed queries of answers count as an outage of the sink in the log,
// with one line for all of them; the first one that works again ends the outage.
func TestAwayIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, open := countedWorld(t, 150)
		var out bytes.Buffer
		l := New(Config{Now: func() time.Time { return time.Now().Add(w.behind) }, Outages: outage.New(slog.New(slog.NewTextHandler(&out, nil)))})
		l.Add(w, w)
		ask := func(seconds int) {
			for range seconds {
				_, _, _ = l.lookup(t.Context(), query{Job: w.spec.Job, Measure: Hits, From: open, Until: open + w.spec.Window})
				time.Sleep(time.Second)
			}
		}
		ask(10)
		if out.Len() > 0 {
			t.Fatalf("nothing failed, and the log says\n%s", &out)
		}
		w.away = errAway
		ask(50)
		w.away = nil
		ask(10)
		text := out.String()
		if strings.Count(text, "\n") != 2 || !strings.Contains(text, outage.ClickHouse.Begins) || !strings.Contains(text, "live reads of job "+w.spec.Job) || !strings.Contains(text, outage.ClickHouse.Ends) {
			t.Errorf("the log says\n%s", text)
		}
	})
}
