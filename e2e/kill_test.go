package e2e

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"weir/internal/await"
)

// kill -9 again and again in the middle of a backlog, at random times, while
// more records come: at the end the numbers equal the truth. Each new process
// passes the old position without waiting for the session of the killed one,
// which is longer than this test waits for anything.
func TestKillInBacklog(t *testing.T) {
	parallel(t)
	s := newStage(t)
	s.clicks()
	backlog := s.produced("clicks", 200_000, "--duplicates", "0.01", "--late", "0.005", "--malformed", "0.002")
	live := s.traffic("clicks", "--rate", "2000", "--seed", "2", "--malformed", "0.002")

	rng := rand.New(rand.NewPCG(1, 0))
	var took []time.Duration
	for n := range 6 {
		old := s.position("clicks")
		p := s.weir("run", "--kafka.session=5m")
		s.passes("clicks", old)
		if n > 0 { // a process was killed before
			took = append(took, time.Since(p.began).Round(10*time.Millisecond))
		}
		time.Sleep(time.Duration(rng.Int64N(int64(700 * time.Millisecond))))
		p.kill()
	}
	t.Logf("past the old position after %v", took)
	live.signal(syscall.SIGTERM)
	truth := union(backlog, live.answer())
	s.untilEnd()
	s.sameClicks(truth)
	s.audited()
}

// A second member joins in the middle, works, and leaves; then the first one is
// killed and another takes over.
func TestMembersComeAndGo(t *testing.T) {
	parallel(t)
	s := newStage(t)
	s.clicks()
	backlog := s.produced("clicks", 60_000, "--duplicates", "0.01")
	live := s.traffic("clicks", "--rate", "1500", "--seed", "2")

	first := s.weir("run")
	s.passes("clicks", 0)
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
	await.Until(t, shared)
	s.passes("clicks", s.position("clicks"))

	second.signal(syscall.SIGTERM)
	second.exits(0)
	await.Until(t, func() error { return share(first, 4) })
	s.passes("clicks", s.position("clicks"))

	third := s.weir("run")
	await.Until(t, func() error { return share(third, 2) })
	first.kill()
	await.Until(t, func() error { return share(third, 4) }) // a session of 6 s
	live.signal(syscall.SIGTERM)
	truth := union(backlog, live.answer())
	s.caughtUp("clicks")
	third.signal(syscall.SIGTERM)
	third.exits(0)
	s.sameClicks(truth)
	s.audited()
}

// SIGTERM under load: everything that was counted is durable when the process
// ends, and the group knows it.
func TestStopUnderLoad(t *testing.T) {
	parallel(t)
	s := newStage(t)
	s.clicks()
	live := s.traffic("clicks", "--rate", "2000")
	rng := rand.New(rand.NewPCG(1, 0))
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		old := s.position("clicks")
		p := s.weir("run")
		s.passes("clicks", old)
		time.Sleep(time.Duration(rng.Int64N(int64(400 * time.Millisecond)))) // anywhere between two flushes
		counted := p.counted("clicks")
		p.signal(sig)
		p.exits(0)
		if at := s.position("clicks"); at < counted {
			t.Errorf("%v: counted to %d, durable to %d", sig, counted, at)
		}
		await.Until(t, func() error { // the load goes on
			if s.position("clicks") == s.end("clicks") {
				return notYet("there was no load")
			}
			return nil
		})
		s.committed()
		s.adds("clicks")
	}
	live.signal(syscall.SIGTERM)
	truth := live.answer()
	s.untilEnd()
	s.sameClicks(truth)
	s.committed()
}

// committed checks that the group's offsets equal the ledger's, so that nothing
// is read again.
func (s *stage) committed() {
	s.t.Helper()
	offsets := s.offsets()
	for _, row := range s.sql("SELECT partition, max(next) FROM weir_ledger WHERE job = 'clicks' GROUP BY partition") {
		o, _ := offsets.Lookup(s.topic("clicks"), int32(integer(s.t, row[0])))
		if o.At != integer(s.t, row[1]) {
			s.t.Errorf("partition %s: the group is at %d, the ledger at %s", row[0], o.At, row[1])
		}
	}
}

// The same backfill twice: the second changes no answer.
func TestUntilEndTwice(t *testing.T) {
	parallel(t)
	s := newStage(t)
	s.configure(strings.Replace(fmt.Sprintf(clicksJob, s.topic("clicks")), "[1m, 1h]", "[1m, 1h, 1d]", 1))
	s.migrate()
	truth := s.produced("clicks", 50_000, "--start", "3h", "--late", "0.01", "--malformed", "0.01")
	questions := []string{
		"SELECT * FROM clicks_1m ORDER BY ALL", "SELECT * FROM clicks_1h ORDER BY ALL", "SELECT * FROM clicks_1d ORDER BY ALL",
		"SELECT window_start, page, arraySort(CAST(maxMap(hits), 'Array(Tuple(UInt64, UInt64))')), weirPfCount(uniqCombined64MergeState(14)(users)) FROM clicks_state GROUP BY 1, 2 ORDER BY 1, 2",
		"SELECT * EXCEPT (flushed_at, began) FROM weir_ledger FINAL ORDER BY ALL",
		"SELECT * EXCEPT flushed_at FROM weir_dead_letters FINAL ORDER BY ALL",
	}
	var before [][][]string
	s.untilEnd()
	for _, sql := range questions {
		before = append(before, s.sql("%s", sql))
	}
	s.untilEnd()
	for i, sql := range questions {
		if after := s.sql("%s", sql); !slices.EqualFunc(before[i], after, slices.Equal) {
			t.Errorf("%s: %s", sql, firstDifference(before[i], after))
		}
	}
	s.sameClicks(truth)

	// And once more after the group has lost its offsets.
	asked(s, func(ctx context.Context) (kadm.DeleteGroupResponse, error) {
		res, err := s.admin.DeleteGroup(ctx, s.name+".clicks")
		if errors.Is(err, kerr.GroupIDNotFound) { // the first answer was lost
			err = nil
		}
		return res, err
	})
	s.untilEnd()
	for i, sql := range questions {
		if after := s.sql("%s", sql); !slices.EqualFunc(before[i], after, slices.Equal) {
			t.Errorf("after the group was deleted: %s: %s", sql, firstDifference(before[i], after))
		}
	}
	s.sameClicks(truth)
}

func firstDifference(before, after [][]string) string {
	for i := range min(len(before), len(after)) {
		if !slices.Equal(before[i], after[i]) {
			return fmt.Sprintf("row %d was %v and is %v", i, before[i], after[i])
		}
	}
	return fmt.Sprintf("%d rows before, %d after", len(before), len(after))
}
