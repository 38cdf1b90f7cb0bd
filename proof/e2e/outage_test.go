package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"weir/internal/await"
	"weir/internal/kafkatest"
)

// closedPort is an address without a listener.
func closedPort(t *testing.T) string {
	t.Helper()
	port, err := kafkatest.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", port)
}

// An engineProcess is a `weir engine` that a test may kill or freeze.
type engineProcess struct {
	*process
	dir, listen string
}

func (e *engineProcess) url() string { return "http://" + e.listen }

// run starts it, again or for the first time, and waits until it answers.
func (e *engineProcess) run(t *testing.T) {
	t.Helper()
	e.process = launch(t, e.dir, "engine", "--listen", e.listen, "--data", e.dir)
	e.says(`"msg":"engine: ready"`)
}

// ownEngine is a stage with an engine of its own.
func ownEngine(t *testing.T, brokers []string) (*stage, *engineProcess) {
	t.Helper()
	e := &engineProcess{dir: t.TempDir(), listen: closedPort(t)}
	e.run(t)
	return stageOn(t, brokers, e.url(), "outage"), e
}

// ClickHouse is killed and frozen while weir counts: weir keeps running,
// reports the outage, keeps within its memory, and continues by itself.
func TestEngineDown(t *testing.T) {
	parallel(t)
	s, engine := ownEngine(t, house.broker.get(t).Addrs())
	s.clicks()
	live := s.traffic("clicks", "--rate", "3000", "--malformed", "0.002")
	p := s.weir("run", "--memory=64MiB", "--clickhouse.insert_timeout=5s")
	s.passes("clicks", 0)

	failing := func() error {
		if st := p.status()["clicks"]; st.LastError == "" {
			return notYet("the status knows of no error")
		}
		return nil
	}
	outage := func(name string, begin, end func()) {
		old := s.position("clicks")
		begin()
		await.Until(t, failing)
		for deadline := time.Now().Add(2 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
			if st := p.status()["clicks"]; st.MemoryBytes > st.MemoryBudget {
				t.Fatalf("%s: holds %d bytes with a budget of %d", name, st.MemoryBytes, st.MemoryBudget)
			}
		}
		if code, _, err := p.get("/livez"); err != nil || code != 200 {
			t.Errorf("%s: /livez says %d, %v: a restart would not help", name, code, err)
		}
		if code, body, err := p.get("/readyz"); err != nil || code != 503 {
			t.Errorf("%s: /readyz says %d %s, %v", name, code, body, err)
		}
		end()
		s.passes("clicks", old)
		await.Until(t, func() error {
			if code, body, err := p.get("/readyz"); err != nil || code != 200 {
				return notYet("/readyz says %d %s, %v", code, body, err)
			}
			return nil
		})
	}
	outage("killed", engine.kill, func() { engine.run(t) })
	outage("frozen", func() { engine.signal(syscall.SIGSTOP) }, func() { engine.signal(syscall.SIGCONT) })
	p.says(`"msg":"clickhouse: outage; it is tried again until it works","what":"(flush|rollup) of job clicks"`)
	p.says(`"msg":"clickhouse: the outage is over; nothing was lost"`)

	live.signal(syscall.SIGTERM)
	truth := live.answer()
	s.caughtUp("clicks")
	p.signal(syscall.SIGTERM)
	p.exits(0)
	s.sameClicks(truth)
	s.audited()
}

// ClickHouse loses what it acknowledged in its last seconds, as after a power loss, or when its disk goes back
// to a snapshot: weir notices, reads its open chunks again, and each measure is that of the events.
func TestEngineGoesBack(t *testing.T) {
	parallel(t)
	s, engine := ownEngine(t, house.broker.get(t).Addrs())
	s.clicks()
	p := s.weir("run", "--flush.interval=100ms")
	truth := s.produced("clicks", 5_000, "--seed", "1")
	s.caughtUp("clicks")
	kept := filepath.Join(t.TempDir(), "disk")
	copied := func(from, to string) {
		t.Helper()
		if out, err := exec.Command("cp", "-a", from, to).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	engine.signal(syscall.SIGSTOP) // so that the copy is of one moment
	copied(engine.dir, kept)
	engine.signal(syscall.SIGCONT)
	truth = union(truth, s.produced("clicks", 20_000, "--seed", "2"))
	s.caughtUp("clicks")
	await.Until(t, func() error { // weir tells a new start from an old one by seconds
		if up := s.number("SELECT uptime()"); up < 6 {
			return fmt.Errorf("the engine runs for %d s", up)
		}
		return nil
	})
	engine.kill()
	if err := os.RemoveAll(engine.dir); err != nil {
		t.Fatal(err)
	}
	copied(kept, engine.dir)
	engine.run(t)
	truth = union(truth, s.produced("clicks", 5_000, "--seed", "3")) // the ledger has these only after the chunks were read again
	p.says("may have lost what it had acknowledged")
	s.caughtUp("clicks")
	p.signal(syscall.SIGTERM)
	p.exits(0)
	s.sameClicks(truth)
}
