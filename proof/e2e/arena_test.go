//go:build prove

package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"weir/demo/gen"
	"weir/event"
	"weir/internal/await"
	"weir/internal/kafkatest"
)

// An arena is a broker, an engine of its own behind a proxy, up to three
// weir processes and a producer. TestChaos and TestSoak cause faults in all of
// them, and check after each fault that no event is lost or doubled.
type arena struct {
	*stage
	binary   string
	kafka    *kafkatest.Cluster
	chunk    int64 // of its job, in offsets
	engine   *process
	listen   string // of the engine
	data     string // its directory
	proxy    *proxy
	producer *producer
	members  [3]*process // by slot; nil: none
	all      []*process  // that ever ran

	pfcounts map[gen.Group]pfcount // of groups that have not changed since
}

type pfcount struct {
	users int
	count uint64
}

// Slot 0 has the session of production, for the measure of a take-over; the
// others have the shortest session, so that zombies take little time.
const (
	longSession  = 10 * time.Second
	shortSession = 6 * time.Second
)

var arenaJob = `
kafka: {brokers: [%s], group: %s, session: 6s}
clickhouse: {urls: "%s", database: chaos, insert_timeout: 2s}
http: {listen: 127.0.0.1:0}
flush: {stop_timeout: 2m}
memory: 256MiB
audit: {interval: %s}
jobs:
  - name: clicks
    topic: %s
    time: {field: ts}
    window: 1m
    rollups: [1m, 1h]
    chunk: %d
    by: [page]
    measures:
      - {name: users, kind: hll, field: user_id}
      - {name: active, kind: bitmap, field: user_id}
` + bloomOfUsers + measuresOfUsers()

const (
	firstPartitions, lastPartitions = 3, 8

	// The chunks of its job, in offsets. Counts are lost with whole chunks, so that
	// TestChaosControls is done sooner with small ones.
	chunk, smallChunk = 4096, 1024
)

// ownBroker is a broker that strikes may kill.
func ownBroker(t *testing.T) *kafkatest.Cluster {
	t.Helper()
	return kafkatest.Start(t, kafkatest.Config{Properties: map[string]string{
		// A transaction whose producer died blocks readers for this time.
		"transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
	}})
}

// newArena makes everything but the weir processes. The traffic begins paused.
func newArena(t *testing.T, kafka *kafkatest.Cluster, binary string, chunk, rate int64, seed uint64, audit time.Duration) *arena {
	t.Helper()
	a := &arena{binary: binary, kafka: kafka, chunk: chunk, listen: closedPort(t), data: t.TempDir(), pfcounts: map[gen.Group]pfcount{}}
	a.stage = stageOn(t, a.kafka.Addrs(), "http://"+a.listen, "chaos")
	t.Cleanup(a.close) // after the proxy's and the producer's
	a.runEngine()
	a.proxy = newProxy(t, a.url)
	text := fmt.Sprintf(arenaJob, strings.Join(a.brokers, ", "), a.name, a.proxy.url, audit, a.topic("clicks"), chunk)
	if err := os.WriteFile(filepath.Join(a.dir, "weir.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	a.start("migrate").exits(0)
	a.create("clicks", firstPartitions)
	cfg := gen.Default()
	cfg.Seed, cfg.Rate, cfg.Start = seed, rate, event.Time(time.Now().UnixMilli())
	cfg.Users, cfg.Pages, cfg.Disorder = 5000, 40, 20_000
	cfg.LateShare, cfg.FutureShare, cfg.DuplicateShare, cfg.MalformedShare = 0.002, 0.001, 0.01, 0.002
	a.producer = produce(t, a.brokers, a.topic("clicks"), cfg)
	return a
}

// start starts one weir process of any kind in the arena's directory.
func (a *arena) start(args ...string) *process {
	a.t.Helper()
	p := start(a.t, a.binary, a.dir, args...)
	a.all = append(a.all, p)
	return p
}

func (a *arena) runEngine() {
	a.t.Helper()
	a.engine = a.start("engine", "--listen", a.listen, "--data", a.data)
	a.engine.says(`"msg":"engine: ready"`)
}

// run starts a member in a slot.
func (a *arena) run(slot int) *process {
	a.t.Helper()
	session := shortSession
	if slot == 0 {
		session = longSession
	}
	p := a.start("run", "--kafka.session="+session.String())
	p.name = fmt.Sprintf("member %d", slot)
	a.members[slot] = p
	return p
}

// alive are the slots with a member.
func (a *arena) alive() (slots []int) {
	for slot, p := range a.members {
		if p != nil {
			slots = append(slots, slot)
		}
	}
	return slots
}

// close kills the remaining processes and, if the test failed, keeps the logs of
// all recent ones.
func (a *arena) close() {
	for _, p := range a.all {
		p.kill()
	}
	if !a.t.Failed() {
		return
	}
	dir, err := os.MkdirTemp("", "weir-chaos-")
	if err != nil {
		a.t.Log(err)
		return
	}
	for i, p := range a.all {
		name := fmt.Sprintf("%04d-%s.log", i, strings.ReplaceAll(p.name, " ", "-"))
		said := fmt.Sprintf("began %s, ended %s, exit code %d\n%s%s", p.began.Format(time.RFC3339Nano), p.ended.Format(time.RFC3339Nano), p.code, p.out.String(), p.log.String())
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), []byte(said), 0o644))
	}
	err = errors.Join(err, os.WriteFile(filepath.Join(dir, "broker.log"), []byte(a.kafka.Tail(1)), 0o644))
	a.t.Logf("the logs of all processes are in %s %v", dir, err)
	for _, p := range a.members {
		if p != nil {
			a.t.Logf("the last lines of %s:\n%s", p.name, p.log.tail(12))
		}
	}
}

// positions are the offsets up to which the job is durable, by partition.
func (a *arena) positions() map[int32]int64 {
	a.t.Helper()
	rows, err := a.query("SELECT partition, max(next) FROM weir_ledger WHERE job = 'clicks' GROUP BY partition")
	if err != nil {
		return nil
	}
	at := map[int32]int64{}
	for _, row := range rows {
		at[int32(integer(a.t, row[0]))] = integer(a.t, row[1])
	}
	return at
}

// recovered waits until every partition is durable beyond the end that the log
// had at a kill: no killed process, and no insert of one, can have reached that.
func (a *arena) recovered(ends map[int32]int64) {
	a.t.Helper()
	await.Until(a.t, func() error {
		now := a.positions()
		for p, at := range ends {
			if now[p] <= at {
				return notYet("partition %d is at %d, which is not past %d", p, now[p], at)
			}
		}
		return nil
	})
}

// owns waits until a member has partitions.
func (a *arena) owns(p *process) {
	a.t.Helper()
	await.Until(a.t, func() error {
		if len(p.status()["clicks"].Partitions) == 0 {
			return notYet("%s has no partition", p.name)
		}
		return nil
	})
}

// commits are the group's offsets by partition.
func (a *arena) commits() map[int32]int64 {
	a.t.Helper()
	at := map[int32]int64{}
	offsets := a.offsets()
	offsets.Each(func(o kadm.OffsetResponse) { at[o.Partition] = o.At })
	return at
}

// A verdict is the result of a comparison with the truth: the differences, if
// any.
type verdict struct {
	tally
	wrong []string
}

func (v *verdict) hold(d *differences) {
	if d.n > 0 {
		v.wrong = append(v.wrong, d.String())
	}
}

func (v *verdict) add(format string, args ...any) {
	v.wrong = append(v.wrong, fmt.Sprintf(format, args...))
}

// judge compares the answers of SQL with the truth, while the producer is paused
// and everything is durable: each count and PFCOUNT of the view, every outcome
// in the ledger, ledger and rows, and the sketches of the windows that begin at
// from or later, register by register, id by id and bit by bit.
func (a *arena) judge(from event.Time) *verdict {
	a.t.Helper()
	v := new(verdict)
	truth, records := a.producer.state()
	d, y := a.compareView("clicks_1m", "page", truth, a.pfcount)
	v.tally = y
	v.hold(d)
	v.hold(a.compareBooks("clicks"))

	f := truth.Outcomes
	row := a.sql("SELECT sum(counted), sum(malformed), sum(late), sum(future), sum(duplicate), sum(filtered), sum(gap) FROM weir_ledger FINAL WHERE job = 'clicks'")[0]
	// Records in the log but not in the truth were aborted, or are markers.
	want := fmt.Sprint(f.Valid, f.Malformed, f.Late, f.Future, 0, 0, a.stage.end("clicks")-records)
	if got := strings.Join(row, " "); got != want {
		v.add("counted, malformed, late, future, duplicate, filtered and gap in the ledger: %s, want %s", got, want)
	}
	dead := a.number("SELECT count() FROM weir_dead_letters FINAL WHERE job = 'clicks'")
	if n := f.Malformed + f.Late + f.Future; dead != n {
		v.add("%d dead letters, want %d", dead, n)
	}

	part := since(truth, from)
	table := fmt.Sprintf("(SELECT * FROM clicks_state WHERE toUnixTimestamp(window_start) >= %d)", from/1000)
	v.hold(a.compareSketches(table, "users", "page", part))
	v.hold(a.compareBitmaps(table, "active", "page", part))
	v.hold(a.compareFilters(table, "seen", "page", part))
	v.hold(a.compareHistograms(table, "spread", "page", part))
	return v
}

func (a *arena) pfcount(g gen.Group, c *gen.Count) uint64 {
	known, ok := a.pfcounts[g]
	if !ok || known.users != len(c.Users) {
		known = pfcount{len(c.Users), reference(c.Users).Count()}
		a.pfcounts[g] = known
	}
	return known.count
}

// settled waits until everything in the log is durable, and checks that every
// member still runs: none may end by itself.
func (a *arena) settled() {
	a.t.Helper()
	for _, p := range a.members {
		if p != nil && !p.runs() {
			a.t.Fatalf("%s ended by itself, exit code %d:\n%s", p.name, p.code, p.log.tail(15))
		}
	}
	a.caughtUp("clicks")
	for _, p := range a.members {
		if p != nil && !p.runs() {
			a.t.Fatalf("%s ended by itself, exit code %d:\n%s", p.name, p.code, p.log.tail(15))
		}
	}
}

// latest is the newest window of the truth.
func (a *arena) latest() event.Time {
	truth, _ := a.producer.state()
	var last event.Time
	for g := range truth.Counts {
		last = max(last, g.Window)
	}
	return last
}

// verified runs `weir verify`.
func (a *arena) verified() error {
	a.t.Helper()
	p := a.start("verify")
	if p.wait() != 0 {
		return fmt.Errorf("weir verify, exit code %d:\n%s%s", p.code, p.out.tail(10), p.log.tail(3))
	}
	return nil
}
