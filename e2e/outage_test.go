package e2e

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"weir/internal/kafkatest"
	"weir/internal/local/localtest"
)

// closedPort is an address where nobody listens.
func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// A dependency that does not answer at the start is waited for as long as
// configured, with a line that says so; then the exit code is 69.
func TestUnreachableAtStart(t *testing.T) {
	parallel(t)
	s := newStage(t)
	s.clicks()
	for _, c := range []struct{ name, flag, limit, line string }{
		{"clickhouse", "--clickhouse.url=http://" + closedPort(t), "--clickhouse.connect_timeout=3s", `"msg":"clickhouse does not answer yet"`},
		{"kafka", "--kafka.brokers=" + closedPort(t), "--kafka.connect_timeout=3s", `"msg":"kafka does not answer yet"`},
	} {
		p := s.weir("run", c.flag, c.limit).exits(69, 20*time.Second)
		if took := p.ended.Sub(p.began); took < time.Second {
			t.Errorf("%s: gave up after %s, want about 3 s", c.name, took)
		}
		p.says(c.line, 0)
		p.says("^error: "+c.name+" .*no answer for 3s", 0)
		p.says("^hint: .*weir check", 0)
	}
}

// ClickHouse goes away between its first sign of life and the comparison of the
// tables: it is waited for as if it had not been there yet.
func TestEngineGoesAwayAtStart(t *testing.T) {
	parallel(t)
	s := newStage(t)
	s.clicks()
	s.create("clicks", 1)
	d := newDoor(t, s.url)
	const away = 3
	var asked atomic.Int64
	d.turns(func(w http.ResponseWriter, r *http.Request) {
		sql, err := io.ReadAll(r.Body)
		if err != nil || bytes.Contains(sql, []byte("system.columns")) && asked.Add(1) <= away {
			panic(http.ErrAbortHandler)
		}
		r.Body = io.NopCloser(bytes.NewReader(sql))
		d.proxy.ServeHTTP(w, r)
	})
	p := s.weir("run", "--clickhouse.url="+d.url)
	p.says(`"msg":"weir runs"`, 20*time.Second)
	p.says(`"msg":"clickhouse does not answer yet",.*list columns`, 0)
	if n := asked.Load(); n != away+1 {
		t.Errorf("the columns were asked for %d times, want %d", n, away+1)
	}
	p.signal(syscall.SIGTERM)
	p.exits(0, 20*time.Second)

	p = s.weir("run", "--clickhouse.url="+d.url, "--clickhouse.database=nowhere").exits(1, 20*time.Second)
	p.says("^error: clickhouse: job clicks: there is no database nowhere: run `weir migrate`", 0)
}

// An engineProcess is `weir engine`, of which a test may do what it likes.
type engineProcess struct {
	*process
	dir, listen string
}

func (e *engineProcess) url() string { return "http://" + e.listen }

// run starts it, again or for the first time, and waits until it answers.
func (e *engineProcess) run(t *testing.T) {
	t.Helper()
	e.process = launch(t, e.dir, "engine", "--listen", e.listen, "--data", e.dir)
	e.says(`"msg":"engine: ready"`, 60*time.Second)
}

// ownEngine is a stage with an engine of its own.
func ownEngine(t *testing.T, brokers []string) (*stage, *engineProcess) {
	t.Helper()
	e := &engineProcess{dir: t.TempDir(), listen: closedPort(t)}
	e.run(t)
	return stageOn(t, brokers, e.url(), "outage"), e
}

// ClickHouse is killed, frozen, and stopped while weir counts: weir stays up,
// says what is wrong, keeps within its memory, and goes on by itself.
func TestEngineDown(t *testing.T) {
	parallel(t)
	s, engine := ownEngine(t, house.broker.get(t).Addrs())
	s.clicks()
	live := s.traffic("clicks", "--rate", "8000", "--malformed", "0.002")
	p := s.weir("run", "--memory=64MiB", "--clickhouse.insert_timeout=2s")
	s.passes("clicks", 0, 30*time.Second)

	failing := func() error {
		if st := p.status()["clicks"]; st.LastError == "" {
			return notYet("the status knows of no error")
		}
		return nil
	}
	outage := func(name string, begin, end func()) {
		old := s.position("clicks")
		begin()
		eventually(t, 15*time.Second, failing)
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
		s.passes("clicks", old, 30*time.Second)
		eventually(t, 10*time.Second, func() error {
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
		engine.exits(0, 20*time.Second)
	}, func() { engine.run(t) })
	p.says(`"msg":"clickhouse: outage; it is tried again until it works","what":"(flush|rollup) of job clicks"`, 0)
	p.says(`"msg":"clickhouse: the outage is over; nothing was lost"`, 20*time.Second)

	live.signal(syscall.SIGTERM)
	truth := live.answer(20 * time.Second)
	s.caughtUp("clicks", 30*time.Second)
	p.signal(syscall.SIGTERM)
	p.exits(0, 10*time.Second)
	s.sameClicks(truth)
	s.audited()
}

// ClickHouse is away when weir is asked to stop: it ends in the time it was
// given and says by its exit code that something will be read again.
func TestStopWithoutEngine(t *testing.T) {
	parallel(t)
	s, engine := ownEngine(t, house.broker.get(t).Addrs())
	s.clicks()
	first := s.produced("clicks", 20_000, "--seed", "1")
	p := s.weir("run", "--flush.stop_timeout=2s")
	s.caughtUp("clicks", 30*time.Second)
	engine.kill()
	second := s.produced("clicks", 20_000, "--seed", "2")
	end := s.end("clicks")
	eventually(t, 20*time.Second, func() error {
		if at := p.counted("clicks"); at != end {
			return notYet("counted to %d of %d", at, end)
		}
		return nil
	})
	p.signal(syscall.SIGTERM)
	p.exits(75, 15*time.Second).says("^error: .*unflushed changes; they will be read again", 0)
	engine.run(t)
	s.untilEnd()
	s.sameClicks(union(first, second))
}

// The broker is killed in the middle of a backlog and while nothing comes:
// weir goes on by itself once it is back.
func TestBrokerDown(t *testing.T) {
	parallel(t)
	kafka := kafkatest.Start(t, kafkatest.Config{Properties: map[string]string{"group.initial.rebalance.delay.ms": "3000"}})
	url, db := localtest.Engine(t)
	s := stageOn(t, kafka.Addrs(), url, db)
	s.clicks()
	first := s.produced("clicks", 300_000, "--seed", "1")
	end := s.end("clicks")
	p := s.weir("run", "--flush.interval=100ms")
	s.passes("clicks", 0, 40*time.Second)
	kafka.Kill(1)
	t.Logf("the broker was killed at %d of %d", s.position("clicks"), end)
	p.says(`"level":"WARN".*"msg":"kafka: outage`, 15*time.Second)
	if code, _, err := p.get("/livez"); err != nil || code != 200 {
		t.Errorf("/livez without a broker: %d, %v", code, err)
	}
	if err := kafka.Run(1); err != nil {
		t.Fatal(err)
	}
	s.caughtUp("clicks", 60*time.Second)

	kafka.Kill(1)
	time.Sleep(time.Second)
	if err := kafka.Run(1); err != nil {
		t.Fatal(err)
	}
	second := s.produced("clicks", 20_000, "--seed", "2")
	s.caughtUp("clicks", 60*time.Second)
	p.says("kafka: the outage is over", 20*time.Second)

	// A restart does not wait for the delay that the broker grants a new group.
	old := s.position("clicks")
	p.kill()
	third := s.produced("clicks", 20_000, "--seed", "3")
	p = s.weir("run", "--kafka.session=10s")
	s.passes("clicks", old, 30*time.Second)
	if took := time.Since(p.began); took > 10*time.Second { // 3 s where nothing else runs
		t.Errorf("past the old position %s after the restart, want 3 s", took)
	}
	s.caughtUp("clicks", 30*time.Second)
	p.signal(syscall.SIGTERM)
	p.exits(0, 10*time.Second)
	s.sameClicks(union(first, second, third))
}

// The tables are changed by hand under a running weir and under one that
// starts: it says which column, and nothing is lost once it is back.
func TestSchemaAltered(t *testing.T) {
	parallel(t)
	s := newStage(t)
	s.clicks()
	first := s.produced("clicks", 20_000, "--seed", "1")
	p := s.weir("run")
	s.caughtUp("clicks", 30*time.Second)

	s.sql("ALTER TABLE clicks_state RENAME COLUMN active TO gone")
	second := s.produced("clicks", 20_000, "--seed", "2")
	p.exits(1, 30*time.Second)
	p.says(`^error: .*active.*the table is not as .weir migrate. made it`, 0)

	p = s.weir("run").exits(1, 30*time.Second)
	p.says(`^error: .*table clicks_state lacks column active.*changed by hand`, 0)
	s.weir("check").exits(1, 30*time.Second).prints("clicks_state lacks column active", 0)

	s.sql("ALTER TABLE clicks_state RENAME COLUMN gone TO active")
	s.untilEnd()
	s.sameClicks(union(first, second))

	// A view and a table less.
	s.sql("DROP VIEW clicks_1m")
	s.sql("DROP TABLE clicks_1h_rollup SYNC")
	s.weir("run").exits(1, 30*time.Second).says("^error: .*clicks_1h_rollup.*weir migrate", 0)
	s.migrate()
	s.untilEnd()
	s.sameClicks(union(first, second))

	// What a job means cannot be changed under its tables.
	s.configure(fmt.Sprintf(clicksJob, s.topic("clicks")) + "    lateness: 1h\n")
	s.weir("run").exits(1, 30*time.Second).says("^error: .*meaning has changed.*lateness.*raise the job's version", 0)
}
