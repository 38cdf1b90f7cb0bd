package live

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"weir/window"
)

// TestTakenOver: an answer contains what the former owner of a partition
// flushed, even if this process has flushed more of the partition by the time
// the ledger is read.
func TestTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 7)
		l := w.windows(1 << 30)
		hook := w.hook
		plain := w.windows(0)
		w.hook = hook
		from, until := w.span()
		q := query{Job: w.spec.Job, Measure: Hits, From: from, Until: until}
		w.count(0, 200)
		w.write(0)
		w.ack()
		w.count(2, 40)
		w.write(1)
		time.Sleep(time.Minute)
		ask(t, "before", q, l, plain) // everything is kept now
		w.count(2, 160)
		w.write(1)
		time.Sleep(time.Second)
		chunk := w.next[2] / w.spec.Chunk * w.spec.Chunk
		w.ops[0].Start(window.Plan{Partition: 2, Warm: chunk, Start: chunk, Lost: chunk, Durable: w.next[2], Replays: w.next[2] - chunk})
		if err := w.log.Feed(w.ops[0], 2, chunk, w.next[2]+20); err != nil {
			t.Fatal(err)
		}
		w.write(0)
		w.ack()
		time.Sleep(time.Minute)
		ask(t, "taken over", q, l, plain)
	})
}

// TestNoEmptySeries: series without content are not kept, however many groups
// are asked for, whether they exist or not.
func TestNoEmptySeries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 7)
		from, until := w.span()
		w.at(until)
		l := w.windows(1 << 30)
		w.count(0, 100)
		mem, err := w.Live(t.Context(), all(w.spec))
		if err != nil {
			t.Fatal(err)
		}
		for row := range mem[0].Rows { // windows with rows in memory, which need no totals
			q := query{Job: w.spec.Job, Measure: Hits, From: row.Window(), Until: row.Window() + w.spec.Window, Group: row.Group(nil)}
			if _, _, err := l.lookup(t.Context(), q); err != nil {
				t.Fatal(err)
			}
		}
		w.fail = errors.New("no sink")
		for i := range 100 {
			q := query{Job: w.spec.Job, Measure: "users", From: from, Until: until, Group: [][]byte{fmt.Append(nil, i)}}
			if _, _, err := l.lookup(t.Context(), q); !errors.Is(err, w.fail) {
				t.Fatalf("got error %v", err)
			}
		}
		for key, of := range l.jobs[w.spec.Job].cache.series {
			if len(of.entries) == 0 {
				t.Fatalf("series %q is kept, without a piece, one of %d", key, len(l.jobs[w.spec.Job].cache.series))
			}
		}
	})
}
