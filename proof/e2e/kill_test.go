package e2e

import (
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

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
// killed and another takes over. It answers about all windows, by redis-cli.
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

	third := s.weir("run", "--resp.listen=127.0.0.1:0")
	await.Until(t, func() error { return share(third, 2) })
	first.kill()
	await.Until(t, func() error { return share(third, 4) }) // a session of 6 s
	live.signal(syscall.SIGTERM)
	truth := union(backlog, live.answer())
	s.caughtUp("clicks")
	third.redis().has(truth)
	third.signal(syscall.SIGTERM)
	third.exits(0)
	s.sameClicks(truth)
	s.audited()
}
