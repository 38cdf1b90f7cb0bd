package e2e

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"weir/internal/await"
	"weir/internal/kafkatest"
	"weir/internal/local/localtest"
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

// At the start weir waits for a dependency that does not answer for the configured
// time, and logs that; then the exit code is 69.
func TestUnreachableAtStart(t *testing.T) {
	parallel(t)
	s := newStage(t)
	s.clicks()
	for _, c := range []struct{ name, flag, limit, line string }{
		{"clickhouse", "--clickhouse.urls=http://" + closedPort(t), "--clickhouse.connect_timeout=3s", `"msg":"clickhouse does not answer yet"`},
		{"kafka", "--kafka.brokers=" + closedPort(t), "--kafka.connect_timeout=3s", `"msg":"kafka does not answer yet"`},
	} {
		p := s.weir("run", c.flag, c.limit).exits(69)
		if took := p.ended.Sub(p.began); took < time.Second {
			t.Errorf("%s: gave up after %s, want about 3 s", c.name, took)
		}
		p.says(c.line)
		p.says("^error: " + c.name + `\.\w+ .*no answer for 3s`)
		p.says("^hint: .*weir check")
	}
}

// ClickHouse goes away between its first answer and the comparison of the tables:
// weir waits as if it had not answered yet.
func TestEngineGoesAwayAtStart(t *testing.T) {
	parallel(t)
	s := newStage(t)
	s.clicks()
	s.create("clicks", 1)
	proxy := newProxy(t, s.url)
	const away = 3
	var asked atomic.Int64
	proxy.handle(func(w http.ResponseWriter, r *http.Request) {
		sql, err := io.ReadAll(r.Body)
		if err != nil || bytes.Contains(sql, []byte("system.columns")) && asked.Add(1) <= away {
			panic(http.ErrAbortHandler)
		}
		r.Body = io.NopCloser(bytes.NewReader(sql))
		proxy.forward.ServeHTTP(w, r)
	})
	p := s.weir("run", "--clickhouse.urls="+proxy.url)
	p.says(`"msg":"weir runs"`)
	p.says(`"msg":"clickhouse does not answer yet",.*list columns`)
	if n := asked.Load(); n != away+1 {
		t.Errorf("the columns were asked for %d times, want %d", n, away+1)
	}
	p.signal(syscall.SIGTERM)
	p.exits(0)

	p = s.weir("run", "--clickhouse.urls="+proxy.url, "--clickhouse.database=nowhere").exits(1)
	p.says("^error: clickhouse: job clicks: there is no database nowhere: run `weir migrate`")
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

// ClickHouse is killed, frozen, and stopped while weir counts: weir keeps running,
// reports the outage, keeps within its memory, and continues by itself.
func TestEngineDown(t *testing.T) {
	parallel(t)
	s, engine := ownEngine(t, house.broker.get(t).Addrs())
	s.clicks()
	live := s.traffic("clicks", "--rate", "3000", "--malformed", "0.002")
	p := s.weir("run", "--memory=64MiB", "--clickhouse.insert_timeout=5s", "--resp.listen=127.0.0.1:0")
	c := p.redis()
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
		p.answersAlone(c)
		end()
		s.passes("clicks", old)
		await.Until(t, func() error { return c.differ(expects{{"EXISTS w:clicks:partial:now", "0"}}) })
		await.Until(t, func() error {
			if code, body, err := p.get("/readyz"); err != nil || code != 200 {
				return notYet("/readyz says %d %s, %v", code, body, err)
			}
			return nil
		})
	}
	outage("killed", engine.kill, func() { engine.run(t) })
	outage("frozen", func() { engine.signal(syscall.SIGSTOP) }, func() { engine.signal(syscall.SIGCONT) })
	outage("stopped", func() {
		engine.signal(syscall.SIGTERM)
		engine.exits(0)
	}, func() { engine.run(t) })
	p.says(`"msg":"clickhouse: outage; it is tried again until it works","what":"(flush|rollup) of job clicks"`)
	p.says(`"msg":"clickhouse: the outage is over; nothing was lost"`)

	live.signal(syscall.SIGTERM)
	truth := live.answer()
	s.caughtUp("clicks")
	hits := int64(0)
	for _, counted := range truth.Counts {
		hits += counted.Hits
	}
	await.Until(t, func() error {
		return c.differ(expects{{"GET w:clicks:hits:" + span(truth), fmt.Sprint(hits)}, {"EXISTS w:clicks:partial:now", "0"}})
	})
	p.signal(syscall.SIGTERM)
	p.exits(0)
	s.sameClicks(truth)
	s.audited()
}

// answersAlone checks live answers while ClickHouse is away: the window now is
// answered partially, and marked so; an older window is an error.
func (p *process) answersAlone(c *cli) {
	p.t.Helper()
	await.Until(p.t, func() error {
		if why := c.ask("GET w:clicks:partial:now"); len(why) != 1 || !strings.HasPrefix(why[0], "only what this process knows by itself: clickhouse: ") {
			return notYet("why answers are partial: %q", why)
		}
		if n := c.ask("PFCOUNT w:clicks:users:now", "BITCOUNT w:clicks:active:now"); len(n) != 2 || strings.HasPrefix(strings.Join(n, ""), "ERR") {
			return notYet("now: %q", n)
		}
		code, body, err := p.get("/api/v1/query?key=w:clicks:hits:now")
		if err != nil || code != 200 || !strings.Contains(body, `"partial":true,"reason":"only what this process knows by itself: `) {
			return notYet("now over HTTP: %d %s, %v", code, body, err)
		}
		const remedy = "is not in memory and ClickHouse cannot be asked for it; ask for now, or again when it answers: "
		if old := c.ask("GET w:clicks:hits:-1000"); len(old) != 1 || !strings.Contains(old[0], remedy) {
			return notYet("a window of long ago: %q", old)
		}
		if code, body, err := p.get("/api/v1/query?key=w:clicks:hits:-1000"); err != nil || code != 502 || !strings.Contains(body, remedy) {
			return notYet("a window of long ago over HTTP: %d %s, %v", code, body, err)
		}
		return nil
	})
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
	engine.kill()
	if err := os.RemoveAll(engine.dir); err != nil {
		t.Fatal(err)
	}
	copied(kept, engine.dir)
	engine.run(t)
	truth = union(truth, s.produced("clicks", 5_000, "--seed", "3"))
	p.says("may have lost what it had acknowledged")
	s.caughtUp("clicks")
	p.signal(syscall.SIGTERM)
	p.exits(0)
	s.sameClicks(truth)
}

// ClickHouse is away when weir is stopped: weir ends within the configured time,
// and its exit code says that records will be read again.
func TestStopWithoutEngine(t *testing.T) {
	parallel(t)
	s, engine := ownEngine(t, house.broker.get(t).Addrs())
	s.clicks()
	first := s.produced("clicks", 20_000, "--seed", "1")
	p := s.weir("run", "--flush.stop_timeout=2s")
	s.caughtUp("clicks")
	engine.kill()
	second := s.produced("clicks", 20_000, "--seed", "2")
	end := s.end("clicks")
	await.Until(t, func() error {
		if at := p.counted("clicks"); at != end {
			return notYet("counted to %d of %d", at, end)
		}
		return nil
	})
	p.signal(syscall.SIGTERM)
	p.exits(75).says("^error: .*unflushed changes; they will be read again")
	engine.run(t)
	s.untilEnd()
	s.sameClicks(union(first, second))
}

// The broker is killed in the middle of a backlog, and while no records come: weir
// continues by itself when the broker is back.
func TestBrokerDown(t *testing.T) {
	parallel(t)
	kafka := kafkatest.Start(t, kafkatest.Config{Properties: map[string]string{"group.initial.rebalance.delay.ms": "3000"}})
	url, db := localtest.Engine(t)
	s := stageOn(t, kafka.Addrs(), url, db)
	s.clicks()
	first := s.produced("clicks", 300_000, "--seed", "1")
	end := s.end("clicks")
	p := s.weir("run", "--flush.interval=100ms")
	s.passes("clicks", 0)
	kafka.Kill(1)
	t.Logf("the broker was killed at %d of %d", s.position("clicks"), end)
	p.says(`"level":"WARN".*"msg":"kafka: outage`)
	if code, _, err := p.get("/livez"); err != nil || code != 200 {
		t.Errorf("/livez without a broker: %d, %v", code, err)
	}
	if err := kafka.Run(1); err != nil {
		t.Fatal(err)
	}
	s.caughtUp("clicks")

	kafka.Kill(1)
	time.Sleep(time.Second)
	if err := kafka.Run(1); err != nil {
		t.Fatal(err)
	}
	second := s.produced("clicks", 20_000, "--seed", "2")
	s.caughtUp("clicks")
	p.says("kafka: the outage is over")

	// A restart waits neither for the session of the killed process, which is longer
	// than a test waits for anything, nor for the broker's delay for a new group.
	old := s.position("clicks")
	p.kill()
	third := s.produced("clicks", 20_000, "--seed", "3")
	p = s.weir("run", "--kafka.session=5m")
	s.passes("clicks", old)
	t.Logf("past the old position %s after the restart", time.Since(p.began).Round(10*time.Millisecond))
	s.caughtUp("clicks")
	p.signal(syscall.SIGTERM)
	p.exits(0)
	s.sameClicks(union(first, second, third))
}

// The tables are changed by hand while weir runs, and before it starts: weir names
// the column, and nothing is lost once the column is back.
func TestSchemaAltered(t *testing.T) {
	parallel(t)
	s := newStage(t)
	s.clicks()
	first := s.produced("clicks", 20_000, "--seed", "1")
	p := s.weir("run")
	s.caughtUp("clicks")

	s.sql("ALTER TABLE clicks_state RENAME COLUMN active TO gone")
	second := s.produced("clicks", 20_000, "--seed", "2")
	p.exits(1)
	p.says(`^error: .*active.*the table is not as .weir migrate. made it`)

	p = s.weir("run").exits(1)
	p.says(`^error: .*table clicks_state lacks column active: run `)
	s.weir("check").exits(1).prints("clicks_state lacks column active")

	s.sql("ALTER TABLE clicks_state RENAME COLUMN gone TO active")
	s.untilEnd()
	s.sameClicks(union(first, second))

	// A missing view and a missing table.
	s.sql("DROP VIEW clicks_1m")
	s.sql("DROP TABLE clicks_1h_rollup SYNC")
	s.weir("run").exits(1).says("^error: .*clicks_1h_rollup.*weir migrate")
	s.migrate()
	s.untilEnd()
	s.sameClicks(union(first, second))

	// What a job means cannot be changed under its tables.
	s.configure(fmt.Sprintf(clicksJob, s.topic("clicks")) + "    lateness: 1h\n")
	s.weir("run").exits(1).says(`^error: .*jobs\[0\]\.lateness was .*, is .*put it back, or raise jobs\[0\]\.version to 2`)
}
