package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"weir/demo/gen"
	"weir/demo/local/localtest"
	"weir/internal/await"
)

// A stage is the environment of one test: a topic prefix, a consumer group, a
// database and a configuration of its own.
type stage struct {
	t       *testing.T
	dir     string
	name    string // the test's name, in the characters of topics and groups
	brokers []string
	url, db string
	shards  []string // other engines that have a part of the jobs' rows; nil: there is one engine
	client  *kgo.Client
	admin   *kadm.Client
}

// newStage is a stage on the shared broker and the shared engine.
func newStage(t *testing.T) *stage {
	t.Helper()
	url, db := localtest.Engine(t)
	return stageOn(t, house.broker.get(t).Addrs(), url, db)
}

func stageOn(t *testing.T, brokers []string, url, db string) *stage {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.UnknownTopicRetries(-1), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchMaxBytes(1<<20))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	name := strings.ToLower(strings.NewReplacer("/", "_", " ", "_").Replace(t.Name()))
	return &stage{t: t, dir: t.TempDir(), name: name, brokers: brokers, url: url, db: db, client: client, admin: kadm.NewClient(client)}
}

// topic is the name of one of the test's topics.
func (s *stage) topic(kind string) string { return s.name + "." + kind }

// jobs as most tests want them. %s is the topic.
var (
	clicksJob = `
  - name: clicks
    topic: %s
    time: {field: ts}
    window: 1m
    rollups: [1m, 1h]
    chunk: 65536
    by: [page]
    measures:
      - {name: users, kind: hll, field: user_id}
      - {name: active, kind: bitmap, field: user_id}
` + measuresOfUsers()
	locationsJob = `
  - name: locations
    topic: %s
    time: {field: ts}
    window: 1m
    rollups: [1m, 1h]
    chunk: 65536
    by: [{name: cell, geohash: {lon: lon, lat: lat, precision: 5}}]
    measures:
      - {name: users, kind: hll, field: user_id}
      - {name: places, kind: geo, member: user_id, lon: lon, lat: lat}
` + measuresOfUsers()
)

// configure writes the configuration of the test's processes.
func (s *stage) configure(jobs ...string) {
	s.t.Helper()
	text := fmt.Sprintf(`
kafka: {brokers: [%s], group: %s, session: 6s}
clickhouse: {urls: "%s", database: %s}
http: {listen: 127.0.0.1:0}
flush: {interval: 400ms, stop_timeout: 2m}
memory: 256MiB
jobs:%s`, strings.Join(s.brokers, ", "), s.name, s.url, s.db, strings.Join(jobs, ""))
	if err := os.WriteFile(filepath.Join(s.dir, "weir.yaml"), []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// clicks is the configuration of the clicks job alone, with its tables.
func (s *stage) clicks() {
	s.t.Helper()
	s.configure(fmt.Sprintf(clicksJob, s.topic("clicks")))
	s.migrate()
}

func (s *stage) migrate() {
	s.t.Helper()
	s.weir("migrate").exits(0)
}

// weir starts it in the stage's directory, where its weir.yaml lies.
func (s *stage) weir(args ...string) *process {
	s.t.Helper()
	return launch(s.t, s.dir, args...)
}

// untilEnd reads what there is.
func (s *stage) untilEnd(more ...string) *process {
	s.t.Helper()
	return s.weir(append([]string{"run", "--until", "end"}, more...)...).exits(0)
}

// traffic starts a generator of clicks or locations; its truth is complete
// once it has ended, by itself or by SIGTERM. There are some forty pages, read much
// and little: every row is compared with the truth, and more pages are more rows of the
// same kind.
func (s *stage) traffic(kind string, more ...string) *traffic {
	s.t.Helper()
	truth := filepath.Join(s.t.TempDir(), "truth.jsonl")
	args := []string{"gen", "--kafka.brokers", strings.Join(s.brokers, ","), "--topic", s.topic(kind), "--kind", kind, "--truth", truth, "--pages", "40"}
	return &traffic{process: s.weir(append(args, more...)...), truth: truth}
}

// produced is traffic that has ended, as fast as it could.
func (s *stage) produced(kind string, events int, more ...string) *gen.Truth {
	s.t.Helper()
	return s.traffic(kind, append([]string{"--rate", "0", "--events", strconv.Itoa(events)}, more...)...).answer()
}

type traffic struct {
	*process
	truth string
}

// answer is the truth about the traffic, when it has ended.
func (g *traffic) answer() *gen.Truth {
	g.t.Helper()
	g.exits(0)
	f, err := os.Open(g.truth)
	if err != nil {
		g.t.Fatal(err)
	}
	defer f.Close()
	dec := json.NewDecoder(f)
	decode := func(line any) {
		if err := dec.Decode(line); err != nil {
			g.t.Fatalf("%s: %v", g.truth, err)
		}
	}
	var head struct {
		gen.Rules
		gen.Outcomes
		Groups, Places int
	}
	decode(&head)
	truth := gen.NewTruth(head.Rules)
	truth.Outcomes = head.Outcomes
	for range head.Groups {
		var line struct {
			gen.Group
			gen.Count
		}
		decode(&line)
		truth.Counts[line.Group] = &line.Count
	}
	for range head.Places {
		var line struct {
			gen.Member
			gen.Place
		}
		decode(&line)
		truth.Places[line.Member] = line.Place
	}
	return truth
}

// query returns the rows of one statement, on all shards one after the other; it may fail.
func (s *stage) query(sql string) (rows [][]string, err error) {
	urls := []string{s.url}
	if !strings.Contains(sql, "weir_") { // those tables are on the first shard
		urls = append(urls, s.shards...)
	}
	for _, url := range urls {
		text, err := localtest.Query(url, s.db, sql)
		if err != nil {
			return nil, err
		}
		if text == "" {
			continue
		}
		for line := range strings.SplitSeq(text, "\n") {
			rows = append(rows, strings.Split(line, "\t"))
		}
	}
	return rows, nil
}

// sql returns the rows of one statement.
func (s *stage) sql(format string, args ...any) [][]string {
	s.t.Helper()
	rows, err := s.query(fmt.Sprintf(format, args...))
	if err != nil {
		s.t.Fatal(err)
	}
	return rows
}

// number is the one number a statement returns.
func (s *stage) number(format string, args ...any) int64 {
	s.t.Helper()
	rows := s.sql(format, args...)
	if len(rows) != 1 || len(rows[0]) != 1 {
		s.t.Fatalf("%s: want one number, got %v", fmt.Sprintf(format, args...), rows)
	}
	return integer(s.t, rows[0][0])
}

func integer(t *testing.T, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// position is the durable offset of a job, summed over partitions; 0 if the
// engine is down.
func (s *stage) position(job string) int64 {
	s.t.Helper()
	rows, err := s.query(fmt.Sprintf("SELECT sum(last.2) FROM (SELECT max((epoch, next)) AS last FROM weir_ledger WHERE job = '%s' GROUP BY partition)", job))
	if err != nil {
		return -1
	}
	return integer(s.t, rows[0][0])
}

// end is the end of the topic's log, summed over partitions.
func (s *stage) end(kind string) int64 {
	s.t.Helper()
	var sum int64
	for _, at := range s.ends(kind) {
		sum += at
	}
	return sum
}

func (s *stage) ends(kind string) map[int32]int64 {
	s.t.Helper()
	listed := asked(s, func(ctx context.Context) (kadm.ListedOffsets, error) {
		res, err := s.admin.ListEndOffsets(ctx, s.topic(kind))
		if err == nil {
			err = res.Error()
		}
		return res, err
	})
	ends := make(map[int32]int64)
	listed.Each(func(o kadm.ListedOffset) { ends[o.Partition] = o.Offset })
	return ends
}

// caughtUp waits until a job is durable to the end of its log. Brokers add the
// markers of transactions to the log after they have answered that these are
// over.
func (s *stage) caughtUp(job string) {
	s.t.Helper()
	await.Until(s.t, func() error {
		if at, end := s.position(job), s.end(job); at != end {
			return notYet("job %s is at %d of %d", job, at, end)
		}
		return nil
	})
}

// passes waits until a job's durable position is past another.
func (s *stage) passes(job string, position int64) {
	s.t.Helper()
	await.Until(s.t, func() error {
		if at := s.position(job); at <= position {
			return notYet("job %s is at %d, which is not past %d", job, at, position)
		}
		return nil
	})
}

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
