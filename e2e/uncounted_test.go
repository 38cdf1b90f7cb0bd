package e2e

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"weir/event"
	"weir/ingest"
	"weir/internal/await"
	"weir/internal/config"
	"weir/internal/local/localtest"
	"weir/jobs"
	httpserver "weir/serve/http"
	"weir/sinks/clickhouse"
)

// halfSource reads only some partitions of its topic, like a member of a group
// whose other members write to another database.
type halfSource struct {
	*ingest.Source
	only []int32
}

func (s halfSource) Next(ctx context.Context) (jobs.Generation, error) {
	g, err := s.Source.Next(ctx)
	return halfGeneration{g, s.only}, err
}

type halfGeneration struct {
	*ingest.Generation
	only []int32
}

func (g halfGeneration) Partitions() (some []event.Assignment) {
	all := g.Generation.Partitions()
	for _, p := range g.only {
		some = append(some, all[p])
	}
	return some
}

func (g halfGeneration) Fetch(ctx context.Context, from map[int32]int64, deliver func(event.Part) error) error {
	_ = g.Generation.Fetch(ctx, from, deliver) // it ends with the test
	return nil
}

// half runs the stage's clicks job over some partitions into a database, until
// the test ends or stop is called.
func (s *stage) half(database, group string, only ...int32) (job *jobs.Job, stop func()) {
	s.t.Helper()
	cfg, _, err := config.Load(config.Options{File: filepath.Join(s.dir, "weir.yaml")})
	if err != nil {
		s.t.Fatal(err)
	}
	spec, err := cfg.Jobs[0].Spec()
	if err != nil {
		s.t.Fatal(err)
	}
	client, err := clickhouse.Open(clickhouse.Config{URLs: []string{s.url}, Database: database})
	if err != nil {
		s.t.Fatal(err)
	}
	j := clickhouse.Job{Spec: spec, Topic: cfg.Jobs[0].Topic, Keep: time.Duration(cfg.Jobs[0].Keep)}
	for _, r := range cfg.Jobs[0].Rollups {
		j.Rollups = append(j.Rollups, clickhouse.Rollup{Window: time.Duration(r.Window), Keep: time.Duration(r.Keep)})
	}
	sink, err := client.Job(s.t.Context(), j)
	if err != nil {
		s.t.Fatal(err)
	}
	id, err := client.ID(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	src, err := ingest.Open(ingest.Config{
		Brokers: s.brokers, Group: group, Topic: j.Topic, ClientID: "half", Session: 6 * time.Second,
		Database: ingest.Database{ID: id, Name: database},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	job, err = jobs.New(jobs.Config{
		Spec: spec, Topic: j.Topic, Source: halfSource{src, only}, Sink: sink,
		Flush: 200 * time.Millisecond, Look: 2 * time.Second, WaitLimit: 6 * time.Second,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- job.Run(ctx) }()
	once := false
	stop = func() {
		if once {
			return
		}
		once = true
		cancel()
		if err := <-ended; err != nil {
			s.t.Error(err)
		}
		src.Close()
		client.Close()
	}
	s.t.Cleanup(stop)
	return job, stop
}

// minutes produces one click of a page in each partition for each of the last
// minutes, oldest first, and the record's own time is the event's.
func (s *stage) minutes(partitions int32, n int) (clicks int) {
	s.t.Helper()
	now := time.Now()
	for i := n; i > 0; i-- {
		for p := range partitions {
			s.click(p, now.Add(-time.Duration(i)*time.Minute))
			clicks++
		}
	}
	return clicks
}

func (s *stage) click(partition int32, at time.Time) {
	s.t.Helper()
	value := fmt.Appendf(nil, `{"ts":%d,"page":"/p/%d","user_id":%d}`, at.UnixMilli(), partition, at.UnixMilli()%1000)
	r := &kgo.Record{Topic: s.topic("clicks"), Partition: partition, Timestamp: at, Value: value}
	if err := s.client.ProduceSync(s.t.Context(), r).FirstErr(); err != nil {
		s.t.Fatal(err)
	}
}

func ready(j *jobs.Job) (code int, body string) {
	w := httptest.NewRecorder()
	(&httpserver.Server{Jobs: []*jobs.Job{j}}).Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/readyz", nil))
	return w.Code, w.Body.String()
}

// Two databases share a topic's partitions, so each counts half. Both say so in
// every answer; a database with all partitions is complete.
func TestHalfCounted(t *testing.T) {
	parallel(t)
	s := newStage(t)
	_, other := localtest.Engine(t)
	s.clicks()
	s.weir("migrate", "--clickhouse.database="+other).exits(0)
	s.create("clicks", 4)
	clicks := s.minutes(4, 6)

	group := s.name + ".clicks"
	first, stopFirst := s.half(s.db, group, 0, 1)
	second, stopSecond := s.half(other, group+".second", 2, 3)
	var wait []func()
	for _, half := range []struct {
		job      *jobs.Job
		database string
		misses   string
	}{{first, s.db, "2-3"}, {second, other, "0-1"}} {
		says := fmt.Sprintf("%d records of partitions %s are not counted by this database: nothing of them was flushed for", clicks/2, half.misses)
		await.Until(t, func() error {
			if n := half.job.Status().Rollups; n < 2 { // they would note complete windows
				return notYet("%d rollups", n)
			}
			if code, body := ready(half.job); code != 503 || !strings.Contains(body, says) {
				return notYet("/readyz says %d %s", code, body)
			}
			return nil
		})
		counted := fmt.Sprintf("FROM %s.clicks_1m", half.database)
		if n := s.number("SELECT sum(hits) %s", counted); n != int64(clicks/2) {
			t.Errorf("%s counts %d of %d", half.database, n, clicks)
		}
		if n := s.number("SELECT max(complete) %s", counted); n != 0 {
			t.Errorf("%s holds half, and says that windows are complete", half.database)
		}
		at := []string{"--clickhouse.database=" + half.database, "--clickhouse.insert_timeout=1s"}
		verify, check := s.weir(append([]string{"verify"}, at...)...), s.weir(append([]string{"check"}, at...)...)
		wait = append(wait, func() {
			verify.exits(1).prints("^clicks: " + says + ` \d+s; in consumer group \S+: .*half`)
			check.exits(1).prints("^✗ ledger     job clicks: " + says)
		})
	}
	idle(func() { // they watch for as long as a hand-over of partitions may take
		for _, w := range wait {
			w()
		}
	})
	stopFirst()
	stopSecond()

	p := s.weir("run")
	s.caughtUp("clicks")
	await.Until(t, func() error {
		if code, body, err := p.get("/readyz"); err != nil || code != 200 {
			return notYet("/readyz says %d %s, %v", code, body, err)
		}
		if n := s.number("SELECT sum(complete) FROM clicks_1m"); n != int64(clicks-4) {
			return notYet("%d windows and pages are complete, want all of %d but the newest of each partition", n, clicks)
		}
		return nil
	})
	if n := s.number("SELECT sum(hits) FROM clicks_1m"); n != int64(clicks) {
		t.Errorf("counts %d of %d", n, clicks)
	}
	s.weir("check").exits(0).prints("^✓ ledger     job clicks: every partition with waiting records is counted into this database")
	p.signal(syscall.SIGTERM)
	p.exits(0)
	s.audited()
}

// No process counts records that come while weir is stopped: verify says so,
// unless --stopped says that this is intended; check, which runs before a
// start, does not complain.
func TestStoppedWhileProducing(t *testing.T) {
	parallel(t)
	s := newStage(t)
	s.clicks()
	s.create("clicks", 4)
	clicks := s.minutes(4, 3)
	s.weir("check").exits(0).prints(fmt.Sprintf("^✓ ledger     job clicks: not counted yet: %d records; no process is in consumer group %s.clicks", clicks, s.name))
	s.untilEnd()
	s.weir("verify").exits(0).prints("^clicks: everything adds up: .*; 0 records not counted yet")
	s.click(2, time.Now())
	verify := s.weir("verify", "--clickhouse.insert_timeout=1s")
	idle(func() { verify.exits(1) }) // it watches for as long as a hand-over of partitions may take
	verify.prints(`^clicks: 1 records of partition 2 are not counted by this database: nothing of them was flushed for \d+s; no process is in consumer group ` + s.name + ".clicks: start weir run")
	verify.says("^clicks: records wait to be counted; waiting up to ")
	s.weir("verify", "--stopped").exits(0).prints("^clicks: everything adds up: .*; 1 record not counted yet")
	s.weir("check").exits(0)
	s.untilEnd()
	s.audited()
}

// ClickHouse goes away while nothing is produced: /readyz fails, /livez does
// not, and both are well when it is back.
func TestEngineDownInSilence(t *testing.T) {
	parallel(t)
	s, engine := ownEngine(t, house.broker.get(t).Addrs())
	s.clicks()
	s.create("clicks", 1)
	p := s.weir("run")
	is := func(code int) {
		t.Helper()
		await.Until(t, func() error {
			if got, body, err := p.get("/readyz"); err != nil || got != code {
				return notYet("/readyz says %d %s, %v; want %d", got, body, err, code)
			}
			return nil
		})
		if got, body, err := p.get("/livez"); err != nil || got != 200 {
			t.Errorf("/livez says %d %s, %v", got, body, err)
		}
	}
	for name, strike := range map[string]struct{ begin, end func() }{
		"killed": {engine.kill, func() { engine.run(t) }},
		"frozen": {func() { engine.signal(syscall.SIGSTOP) }, func() { engine.signal(syscall.SIGCONT) }},
	} {
		is(200)
		strike.begin()
		is(503)
		if _, body, _ := p.get("/readyz"); !strings.Contains(body, "job clicks: the ledger cannot be read: ") {
			t.Errorf("%s: /readyz says %s", name, body)
		}
		strike.end()
	}
	is(200)
	if st := p.status()["clicks"]; st.Flushes > 1 {
		t.Errorf("%d flushes: the topic was not silent", st.Flushes)
	}
	p.signal(syscall.SIGTERM)
	p.exits(0)
}

// A producer's clock says 2106, and its topic allows that: the record is
// counted by the rules, in a window of its own, and the windows of the present
// become complete when they end, not earlier.
func TestClockOfAProducer(t *testing.T) {
	parallel(t)
	s := newStage(t)
	s.configure(strings.Replace(fmt.Sprintf(clicksJob, s.topic("clicks")), "chunk: 65536", "chunk: 1024", 1))
	s.migrate()
	wide := "9223372036854775807"
	asked(s, func(ctx context.Context) (kadm.CreateTopicResponse, error) {
		return s.admin.CreateTopic(ctx, 2, 1, map[string]*string{"message.timestamp.after.max.ms": &wide, "message.timestamp.before.max.ms": &wide}, s.topic("clicks"))
	})
	far := time.Date(2106, 2, 7, 0, 0, 0, 0, time.UTC)
	for p := range int32(2) {
		s.click(p, far) // first, because a complete window stays complete
	}
	past := s.minutes(2, 6)
	p := s.weir("run")
	s.caughtUp("clicks")
	complete := func() int64 {
		return s.number("SELECT sum(complete) FROM clicks_1m WHERE window_start < now() + INTERVAL 1 HOUR")
	}
	await.Until(t, func() error {
		if st := p.status()["clicks"]; st.Rollups < 2 {
			return notYet("%d rollups", st.Rollups)
		}
		return nil
	})
	if n := complete(); n != 0 {
		t.Errorf("%d windows and pages are complete: nothing is known of the present", n)
	}
	// The next chunk of each partition begins.
	var rest []*kgo.Record
	for p := range int32(2) {
		for at := s.ends("clicks")[p]; at < 1024; at++ {
			rest = append(rest, &kgo.Record{Topic: s.topic("clicks"), Partition: p, Value: []byte("no click")})
		}
	}
	if err := s.client.ProduceSync(t.Context(), rest...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	for p := range int32(2) {
		s.click(p, time.Now())
	}
	await.Until(t, func() error {
		if n := complete(); n != int64(past) {
			return notYet("%d windows and pages are complete, want %d", n, past)
		}
		return nil
	})
	if open := s.number("SELECT count() FROM clicks_1m WHERE complete = 0"); open != 4 {
		t.Errorf("%d windows and pages are open, want one a partition now and one in 2106", open)
	}
	p.signal(syscall.SIGTERM)
	p.exits(0)
	s.audited()
}
