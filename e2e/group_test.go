package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"weir/internal/await"
	"weir/internal/local/localtest"
)

// rewrite changes the stage's configuration.
func (s *stage) rewrite(old, new string) {
	s.t.Helper()
	file := filepath.Join(s.dir, "weir.yaml")
	text, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(text), old) {
		s.t.Fatalf("no %q in the configuration, %v", old, err)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), old, new, 1)), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// ready waits for an answer of /readyz.
func (p *process) ready(code int, words ...string) {
	p.t.Helper()
	await.Until(p.t, func() error {
		got, body, err := p.get("/readyz")
		if err != nil || got != code {
			return errors.Join(fmt.Errorf("readyz of %s: %d %s, want %d", p.name, got, body, code), err)
		}
		for _, w := range words {
			if !strings.Contains(body, w) {
				return fmt.Errorf("readyz of %s: %s, want %q in it", p.name, body, w)
			}
		}
		return nil
	})
}

// Two deployments with one kafka.group and two databases: the first counts
// everything, the other counts nothing and says why, in the log, over HTTP and
// in weir check. When the first ends, the second counts everything too.
func TestOneGroupTwoDatabases(t *testing.T) {
	parallel(t)
	a := newStage(t)
	a.clicks()
	a.create("clicks", 4)
	url, db := localtest.Engine(t)
	b := stageOn(t, a.brokers, url, db)
	b.clicks()

	one := a.weir("run")
	one.ready(200)
	two := b.weir("run")
	two.ready(503, "job clicks", "is taken", "into database "+a.db+" at ", "this process into "+b.db+" at ")
	two.says(`"level":"ERROR".*group ` + regexp.QuoteMeta(a.name) + `\.clicks is taken.*` + a.db + ` at .*` + b.db + ` at `)
	one.says(`"level":"WARN".*counts into another database.*` + b.db + ` at `)
	check := b.weir("check").exits(1)
	check.prints(`✗ kafka +group ` + regexp.QuoteMeta(a.name) + `\.clicks: .*` + a.db + ` at .*` + b.db + ` at `)
	a.weir("check").exits(0).prints(`✓ kafka +group `)

	truth := a.produced("clicks", 20_000)
	a.caughtUp("clicks")
	a.sameClicks(truth)
	one.ready(200)
	two.ready(503)
	if n := b.number("SELECT count() FROM weir_ledger"); n != 0 {
		t.Errorf("the second database has %d ledger lines", n)
	}

	one.signal(syscall.SIGTERM)
	one.exits(0)
	two.ready(200)
	b.caughtUp("clicks")
	b.sameClicks(truth)
	a.audited()
	b.audited()
}

// A process is killed, and its parent does not collect it. The process that is
// started instead does not wait for the session of the killed one, which is
// longer than this test.
func TestKilledAndNotReaped(t *testing.T) {
	parallel(t)
	s := newStage(t)
	s.clicks()
	s.create("clicks", 4)
	s.rewrite("session: 6s", "session: 5m")
	var log text
	killed := exec.Command(house.binary.get(t), "run")
	killed.Dir, killed.Stderr, killed.SysProcAttr = s.dir, &log, dieWithTest()
	killed.Env = append(os.Environ(), "WEIR_CONFIG=")
	killed.WaitDelay = 5 * time.Second
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = killed.Process.Kill(); _ = killed.Wait() }) // Wait collects it
	await.Until(t, func() error {
		if text := log.String(); strings.Count(text, "partition assigned") < 4 {
			return fmt.Errorf("it has no partitions:\n%s", text)
		}
		return nil
	})
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", killed.Process.Pid)); err == nil && strings.Contains(string(stat), ") R") {
		t.Logf("it is not dead yet: %s", stat) // it will be, and the next process checks repeatedly
	}
	p := s.weir("run")
	p.says("took members out of the group whose process is dead")
	p.ready(200)
	truth := s.produced("clicks", 5_000)
	s.caughtUp("clicks")
	s.sameClicks(truth)
}

// A consumer that is not weir leads weir's group: until it leaves, its
// partitions are not counted, and weir names it.
func TestStrangerInGroup(t *testing.T) {
	parallel(t)
	s := newStage(t)
	s.clicks()
	s.create("clicks", 4)
	group := s.name + ".clicks"
	stranger, err := kgo.NewClient(kgo.SeedBrokers(s.brokers...), kgo.ClientID("kcat-tail"), kgo.ConsumerGroup(group),
		kgo.ConsumeTopics(s.topic("clicks")), kgo.Balancers(kgo.RangeBalancer()))
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	go func() {
		for t.Context().Err() == nil {
			stranger.PollFetches(t.Context())
		}
	}()
	await.Until(t, func() error {
		d, err := s.admin.DescribeGroups(await.Context(t), group)
		if err != nil || len(d[group].Members) != 1 || d[group].State != "Stable" {
			return errors.Join(fmt.Errorf("the stranger is not in the group: %v", d), err)
		}
		return nil
	})
	p := s.weir("run")
	p.ready(503, "job clicks", "not weir", `client "kcat-tail" at `, "member kcat-tail-", `assignor "range"`)
	p.says(`"level":"ERROR".*not weir.*kcat-tail`)
	s.weir("check").exits(1).prints(`✗ kafka +group .*kcat-tail`)
	truth := s.produced("clicks", 5_000)
	stranger.Close()
	p.ready(200)
	s.caughtUp("clicks")
	s.sameClicks(truth)
}

// Three processes divide the partitions by number, without a group. One is killed, and runs
// again with another database: the others keep their partitions and count on, and what is
// not counted meanwhile is said. When it runs again as before, every number is that of the log.
func TestFixedMembers(t *testing.T) {
	parallel(t)
	s := newStage(t)
	_, other := localtest.Engine(t)
	s.clicks()
	s.weir("migrate", "--clickhouse.database="+other).exits(0)
	s.create("clicks", 6)
	check := func() *process {
		p := s.weir("check", "--kafka.member", "1/3", "--clickhouse.insert_timeout=1s")
		idle(func() { p.wait() }) // it watches for as long as records may wait
		return p
	}
	before := s.produced("clicks", 1000, "--seed", "4")
	check().exits(0).prints(`^✓ ledger     job clicks: not counted yet: 1000 records; no process has counted any into this database yet`)
	run := func(member string) *process { return s.weir("run", "--kafka.member", member) }
	members := []*process{run("0/3"), run("1/3"), run("2/3")}
	for _, p := range members {
		p.ready(200)
	}
	first := s.produced("clicks", 10_000)
	s.caughtUp("clicks")

	members[0].kill()
	elsewhere := s.weir("run", "--kafka.member", "0/3", "--clickhouse.database="+other)
	await.Until(t, func() error {
		if s.number("SELECT count() FROM %s.weir_ledger", other) == 0 {
			return notYet("nothing is in the other ledger")
		}
		return nil
	})
	counted := s.position("clicks")
	second := s.produced("clicks", 10_000, "--seed", "2")
	s.passes("clicks", counted+1)
	live := s.traffic("clicks", "--rate", "100", "--seed", "3")
	await.Until(t, func() error {
		p := check()
		p.prints(`✓ kafka +member 1/3: a fixed share`)
		if p.code != 1 { // nothing of the others was flushed all the while, on a machine that stood still
			return notYet("weir check ends with %d\n%s", p.code, p.out.String())
		}
		p.prints(`^✗ ledger     job clicks: \d+ records of partitions? [0-9, -]+ are not counted by this database: nothing of them was flushed for \d+s; kafka.member is 1/3 here: see that members 0/3 to 2/3 all run, with the same kafka.group and database`)
		return nil
	})
	live.signal(syscall.SIGTERM)
	third := live.answer()
	elsewhere.kill()
	members[0] = run("0/3")
	s.caughtUp("clicks")
	for _, p := range members[1:] {
		if n := strings.Count(p.log.String(), "kafka: partitions of this member"); n != 1 {
			t.Errorf("%s has taken its partitions %d times, want once", p.name, n)
		}
	}
	s.sameClicks(union(before, first, second, third))
	for _, p := range members {
		p.ready(200)
	}
	s.audited()

	for _, p := range members {
		p.kill()
	}
	s.click(0, time.Now())
	check().exits(0).prints(`^! ledger     job clicks: 1 records of partition 0 are not counted by this database: nothing of them was flushed for \d+s, nor of any other partition: perhaps no member runs; kafka.member is 1/3 here`)
}
