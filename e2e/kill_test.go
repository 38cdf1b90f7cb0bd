package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"time"
)

// kill -9 again and again in the middle of a backlog, at random moments, while
// more comes in: what is there in the end is the truth, and a process is past
// the old position within 3 s of its start.
func TestKillInBacklog(t *testing.T) {
	parallel(t)
	s := newStage(t)
	s.clicks()
	backlog := s.produced("clicks", 400_000, "--duplicates", "0.01", "--late", "0.005", "--malformed", "0.002")
	live := s.traffic("clicks", "--rate", "4000", "--seed", "2", "--malformed", "0.002")

	var took []time.Duration
	for n := range 6 {
		old := s.position("clicks")
		p := s.weir("run", "--kafka.session=10s")
		s.passes("clicks", old, 30*time.Second)
		if n > 0 { // there was a process that died
			took = append(took, time.Since(p.began).Round(10*time.Millisecond))
		}
		time.Sleep(rand.N(700 * time.Millisecond))
		p.kill()
	}
	t.Logf("past the old position after %v", took)
	slices.Sort(took)
	// The floor is 3 s; a machine with other things to do gets more.
	if median := took[len(took)/2]; median > 10*time.Second {
		t.Errorf("a restart is past the old position after %s, want 3 s", median)
	}
	live.signal(syscall.SIGTERM)
	truth := union(backlog, live.answer(20*time.Second))
	s.untilEnd()
	s.sameClicks(truth)
	s.audited()
}

// A second member joins in the middle, works, and leaves; then the first one
// is killed and the second takes over.
func TestMembersComeAndGo(t *testing.T) {
	parallel(t)
	s := newStage(t)
	s.clicks()
	backlog := s.produced("clicks", 200_000, "--duplicates", "0.01")
	live := s.traffic("clicks", "--rate", "3000", "--seed", "2")

	first := s.weir("run")
	s.passes("clicks", 0, 30*time.Second)
	second := s.weir("run")
	share := func(p *process, n int) error {
		if got := len(p.status()["clicks"].Partitions); got != n {
			return notYet("%d partitions, want %d", got, n)
		}
		return nil
	}
	shared := func() error {
		if err := share(first, 2); err != nil {
			return err
		}
		return share(second, 2)
	}
	eventually(t, 30*time.Second, shared)
	s.passes("clicks", s.position("clicks"), 10*time.Second)

	second.signal(syscall.SIGTERM)
	second.exits(0, 10*time.Second)
	eventually(t, 30*time.Second, func() error { return share(first, 4) })
	s.passes("clicks", s.position("clicks"), 10*time.Second)

	third := s.weir("run")
	eventually(t, 30*time.Second, func() error { return share(third, 2) })
	first.kill()
	eventually(t, 30*time.Second, func() error { return share(third, 4) }) // a session of 6 s
	live.signal(syscall.SIGTERM)
	truth := union(backlog, live.answer(20*time.Second))
	s.caughtUp("clicks", 20*time.Second)
	third.signal(syscall.SIGTERM)
	third.exits(0, 10*time.Second)
	s.sameClicks(truth)
	s.audited()
}

// SIGTERM under load: everything that was counted is durable when the process
// ends, and the group knows it.
func TestStopUnderLoad(t *testing.T) {
	parallel(t)
	s := newStage(t)
	s.clicks()
	live := s.traffic("clicks", "--rate", "20000")
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		old := s.position("clicks")
		p := s.weir("run")
		s.passes("clicks", old, 30*time.Second)
		time.Sleep(rand.N(400 * time.Millisecond)) // anywhere between two flushes
		counted := p.counted("clicks")
		p.signal(sig)
		p.exits(0, 10*time.Second)
		if at := s.position("clicks"); at < counted {
			t.Errorf("%v: counted to %d, durable to %d", sig, counted, at)
		}
		if now := s.end("clicks"); s.position("clicks") == now {
			t.Fatal("there was no load")
		}
		s.committed()
		s.adds("clicks")
	}
	live.signal(syscall.SIGTERM)
	truth := live.answer(20 * time.Second)
	s.untilEnd()
	s.sameClicks(truth)
	s.committed()
}

// committed wants the group's offsets to be those of the ledger: that is what
// "nothing to replay" means.
func (s *stage) committed() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 20*time.Second)
	defer cancel()
	offsets, err := s.admin.FetchOffsets(ctx, s.name+".clicks")
	if err != nil {
		s.t.Fatal(err)
	}
	for _, row := range s.sql("SELECT partition, max(next) FROM weir_ledger WHERE job = 'clicks' GROUP BY partition") {
		o, _ := offsets.Lookup(s.topic("clicks"), int32(integer(s.t, row[0])))
		if o.At != integer(s.t, row[1]) {
			s.t.Errorf("partition %s: the group is at %d, the ledger at %s", row[0], o.At, row[1])
		}
	}
}

// The same backfill twice: the second changes nothing that anybody can ask.
func TestUntilEndTwice(t *testing.T) {
	parallel(t)
	s := newStage(t)
	s.clicks()
	truth := s.produced("clicks", 50_000, "--start", "3h", "--late", "0.01", "--malformed", "0.01")
	asked := []string{
		"SELECT * FROM clicks_1m ORDER BY ALL", "SELECT * FROM clicks_1h ORDER BY ALL", "SELECT * FROM clicks_1d ORDER BY ALL",
		"SELECT window_start, page, arraySort(CAST(maxMap(hits), 'Array(Tuple(UInt64, UInt64))')), hex(uniqCombined64MergeState(14)(users)) FROM clicks_state GROUP BY 1, 2 ORDER BY 1, 2",
		"SELECT * EXCEPT (flushed_at, began) FROM weir_ledger FINAL ORDER BY ALL",
		"SELECT * EXCEPT flushed_at FROM weir_dead_letters FINAL ORDER BY ALL",
	}
	var before [][][]string
	s.untilEnd()
	for _, sql := range asked {
		before = append(before, s.sql("%s", sql))
	}
	s.untilEnd()
	for i, sql := range asked {
		if after := s.sql("%s", sql); !slices.EqualFunc(before[i], after, slices.Equal) {
			t.Errorf("%s: %s", sql, firstDifference(before[i], after))
		}
	}
	s.sameClicks(truth)

	// And once more after the group has forgotten where it was.
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if _, err := s.admin.DeleteGroup(ctx, s.name+".clicks"); err != nil {
		t.Fatal(err)
	}
	s.untilEnd()
	for i, sql := range asked {
		if after := s.sql("%s", sql); !slices.EqualFunc(before[i], after, slices.Equal) {
			t.Errorf("after the group was deleted: %s: %s", sql, firstDifference(before[i], after))
		}
	}
}

func firstDifference(before, after [][]string) string {
	for i := range min(len(before), len(after)) {
		if !slices.Equal(before[i], after[i]) {
			return fmt.Sprintf("row %d was %v and is %v", i, before[i], after[i])
		}
	}
	return fmt.Sprintf("%d rows before, %d after", len(before), len(after))
}
