package e2e

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"weir/internal/await"
	"weir/internal/local"
)

// asked repeats a request to the broker until it succeeds: a broker that has just
// started, or whose coordinator is loading, answers with temporary errors. The request
// must be idempotent.
func asked[T any](s *stage, ask func(context.Context) (T, error)) (answer T) {
	s.t.Helper()
	await.Until(s.t, func() (err error) {
		// A shorter time-out per try, because a client also waits for a broker that is gone.
		ctx, cancel := context.WithTimeout(s.t.Context(), await.Never/6)
		defer cancel()
		answer, err = ask(ctx)
		return err
	})
	return answer
}

// create makes a topic.
func (s *stage) create(kind string, partitions int32) {
	s.t.Helper()
	asked(s, func(ctx context.Context) (kadm.CreateTopicResponse, error) { // a deletion takes its time
		return s.admin.CreateTopic(ctx, partitions, 1, nil, s.topic(kind))
	})
}

// grow adds partitions to a topic until it has n.
func (s *stage) grow(kind string, n int) {
	s.t.Helper()
	asked(s, func(ctx context.Context) (kadm.CreatePartitionsResponses, error) {
		res, err := s.admin.UpdatePartitions(ctx, n, s.topic(kind))
		if err == nil {
			err = res.Error()
		}
		if errors.Is(err, kerr.InvalidPartitions) && len(s.ends(kind)) == n { // the first answer was lost
			err = nil
		}
		return res, err
	})
}

// deleteTo deletes the records before the given offsets.
func (s *stage) deleteTo(cut kadm.Offsets) {
	s.t.Helper()
	asked(s, func(ctx context.Context) (kadm.DeleteRecordsResponses, error) {
		res, err := s.admin.DeleteRecords(ctx, cut)
		if err == nil {
			err = res.Error()
		}
		return res, err
	})
}

// offsets are what the group of the clicks job has committed.
func (s *stage) offsets() kadm.OffsetResponses {
	s.t.Helper()
	return asked(s, func(ctx context.Context) (kadm.OffsetResponses, error) {
		res, err := s.admin.FetchOffsets(ctx, s.name+".clicks")
		if err == nil {
			err = res.Error()
		}
		return res, err
	})
}

// recreate deletes a topic and makes it again.
func (s *stage) recreate(kind string, partitions int32) {
	s.t.Helper()
	if _, err := s.admin.DeleteTopic(await.Context(s.t), s.topic(kind)); err != nil {
		s.t.Fatal(err)
	}
	s.create(kind, partitions)
	// The controller answers before the broker lets go of the old logs, and what is
	// produced until then belongs to these.
	await.Until(s.t, func() error {
		for p, end := range s.ends(kind) {
			if end != 0 {
				return notYet("partition %d ends at %d", p, end)
			}
		}
		return nil
	})
}

// A topic that is deleted and created again reuses offsets for other records: weir says so
// and stops, and counts them beside the old ones with --new-epoch.
func TestTopicRecreated(t *testing.T) {
	parallel(t)
	s := newStage(t)
	s.clicks()
	first := s.produced("clicks", 20_000, "--seed", "1")
	p := s.weir("run")
	s.caughtUp("clicks")

	// Under a running process.
	s.recreate("clicks", 4)
	second := s.produced("clicks", 30_000, "--seed", "2")
	p.exits(1)
	p.says(`^error: .*deleted and created again`)
	p.says(`^hint: .*--new-epoch`)
	s.sameClicks(first) // nothing of the new topic came in under the old offsets

	// At a start.
	s.weir("run").exits(1).says(`^error: .*deleted and created again`)
	s.untilEnd("--new-epoch")
	both := union(first, second)
	s.sameClicks(both)
	if n := s.number("SELECT max(epoch) FROM weir_ledger"); n != 1 {
		t.Errorf("the new topic is counted in epoch %d, want 1", n)
	}
	// The decision is in the ledger: the flag need not be repeated, and has no effect if it
	// is.
	s.untilEnd()
	s.untilEnd("--new-epoch")
	s.sameClicks(both)
	s.audited()
}

// A fail-over to another cluster and back: its topic has more partitions, so that some members have only
// partitions that the ledger does not know. None of them counts anything without --new-epoch. Back on the
// first cluster, weir knows how far its own topic is counted.
func TestFailOverAndBack(t *testing.T) {
	parallel(t)
	s := newStage(t)
	s.create("clicks", 2)
	s.clicks()
	first := s.produced("clicks", 2_000, "--seed", "1")
	s.untilEnd()

	broker, err := local.StartBroker(t.Context(), local.BrokerConfig{Listen: "127.0.0.1:0", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = broker.Close() })
	other := stageOn(t, []string{broker.Addr()}, s.url, s.db)
	other.create("clicks", 6)
	other.clicks()
	second := other.produced("clicks", 6_000, "--seed", "2")
	members := []*process{other.weir("run"), other.weir("run"), other.weir("run"), other.weir("run", "--kafka.member=2/3")}
	for _, p := range members {
		p.exits(1).says(`^error: .*deleted and created again`)
	}
	s.sameClicks(first)
	other.untilEnd("--new-epoch")
	s.sameClicks(union(first, second))

	p := s.weir("run")
	third := s.produced("clicks", 1_000, "--seed", "3")
	await.Until(t, func() error {
		if n := s.number("SELECT sum(counted) FROM weir_ledger FINAL WHERE epoch = 0"); n != 3_000 {
			return notYet("%d records are counted", n)
		}
		slowest := s.number("SELECT toUnixTimestamp64Milli(min(at)) FROM (SELECT max(watermark) AS at FROM weir_ledger WHERE epoch = 0 GROUP BY partition)")
		if st := p.status()["clicks"]; int64(st.Complete) != slowest || st.Waited > 0 {
			return notYet("complete until %d, want %d as of this cluster; %v waited", st.Complete, slowest, st.Waited)
		}
		return nil
	})
	p.ready(200)
	p.signal(syscall.SIGTERM)
	p.exits(0)
	s.sameClicks(union(first, second, third))
	s.audited()

	// The other cluster's events come out again with a new version.
	s.rewrite("name: clicks", "name: clicks\n    version: 2")
	s.migrate()
	s.untilEnd()
	s.sameView("clicks_1m", "page", union(first, third))
}

// A topic that is created again with fewer partitions: weir verify says so, until the new topic is
// counted. A partition that is added to it then is read without a restart, although the old topic
// had one of that number. What of the old topic is damaged cannot be read again.
func TestTopicRecreatedSmaller(t *testing.T) {
	parallel(t)
	s := newStage(t)
	s.clicks()
	first := s.produced("clicks", 8_000, "--seed", "1")
	s.untilEnd()
	s.recreate("clicks", 2)
	second := s.produced("clicks", 8_000, "--seed", "1") // in each partition more than the ledger has
	verify := func(code int, patterns ...string) {
		t.Helper()
		rested(t, func() int64 {
			return min(s.number("%s", newest("weir_ledger")), s.number("%s", newest("clicks_state")))
		})
		out := s.weir("verify", "--stopped").exits(code).out.String()
		for _, p := range patterns {
			if !regexp.MustCompile("(?m)" + p).MatchString(out) {
				t.Errorf("weir verify does not say %q, but\n%s", p, out)
			}
		}
	}
	verify(1, `^clicks: partition 0: the topic was deleted and created again: the ledger reaches to \d+ of the old one, and nothing of the new one is counted`,
		`^clicks: partition 3: the ledger reaches to \d+, the topic has no such partition`, `--new-epoch`)
	s.untilEnd("--new-epoch")
	s.sameClicks(union(first, second))
	verify(0, `everything adds up`)

	p := s.weir("run")
	p.says("partition assigned")
	s.grow("clicks", 3)
	await.Until(t, func() error {
		if n := len(s.ends("clicks")); n != 3 {
			return notYet("%d partitions", n)
		}
		return nil
	})
	third := s.produced("clicks", 6_000, "--seed", "3")
	await.Until(t, func() error {
		if !p.runs() {
			t.Fatalf("the process ended: %s", p.log.tail(3))
		}
		if n := s.number("SELECT sum(counted) FROM weir_ledger FINAL"); n != 22_000 {
			return notYet("%d records are counted", n)
		}
		return nil
	})
	p.signal(syscall.SIGTERM)
	p.exits(0)
	s.sameClicks(union(first, second, third))
	s.sql("ALTER TABLE clicks_state DELETE WHERE page = '/p/1' SETTINGS mutations_sync = 1")
	verify(1, `^  partition 1 cannot be read again under epoch 0: the topic was deleted`, `--topic `+regexp.QuoteMeta(s.topic("clicks"))+`:1 --reset-offsets --to-offset 0 `)
}

// Partitions that are added while weir runs are read without a restart, from
// their first record on.
func TestPartitionsAdded(t *testing.T) {
	parallel(t)
	s := newStage(t)
	s.clicks()
	s.create("clicks", 2)
	first := s.produced("clicks", 20_000, "--seed", "1")
	p := s.weir("run")
	s.caughtUp("clicks")
	s.grow("clicks", 5)
	await.Until(t, func() error {
		if n := len(s.ends("clicks")); n != 5 {
			return notYet("%d partitions", n)
		}
		return nil
	})
	second := s.produced("clicks", 20_000, "--seed", "2")
	for i, at := range s.ends("clicks") {
		if at == 0 {
			t.Fatalf("partition %d got nothing", i)
		}
	}
	s.caughtUp("clicks")
	select {
	case <-p.done:
		t.Fatal("the process ended")
	default:
	}
	s.sameClicks(union(first, second))
}

// Records that the broker deleted before they were read stop weir with an error; with
// on_data_loss=skip it records the gap and counts the rest. No window has events on both
// sides of the cut, as with a retention above lateness + skew.
func TestRecordsDeleted(t *testing.T) {
	parallel(t)
	s := newStage(t)
	s.clicks()
	first := s.produced("clicks", 20_000, "--seed", "1", "--start", "3h")
	s.untilEnd()
	before := s.ends("clicks")
	s.produced("clicks", 20_000, "--seed", "2")
	after := s.ends("clicks")

	// Half of the new records, in all partitions but one.
	cut := kadm.Offsets{}
	var gone, kept int64
	for p, to := range after {
		at := before[p]
		if p != 3 {
			at += (to - before[p]) / 2
		}
		gone, kept = gone+at-before[p], kept+to-at
		cut.Add(kadm.Offset{Topic: s.topic("clicks"), Partition: p, At: at})
	}
	s.deleteTo(cut)
	p := s.weir("run").exits(1)
	p.says(`^error: .*retention passed the position.*records are gone`)
	p.says(`^hint: .*on_data_loss`)
	s.sameClicks(first)

	s.untilEnd("--kafka.on_data_loss=skip").says("Kafka deleted records before they were read")
	row := s.sql("SELECT sum(counted), sum(gap) FROM weir_ledger FINAL WHERE job = 'clicks'")[0]
	if want := []string{strconv.Itoa(int(first.Outcomes.Valid + kept)), strconv.Itoa(int(gone))}; row[0] != want[0] || row[1] != want[1] {
		t.Errorf("the ledger has counted %s with a gap of %s, want %v", row[0], row[1], want)
	}
	if hits := s.number("SELECT sum(hits) FROM clicks_1m"); hits != first.Outcomes.Valid+kept {
		t.Errorf("%d hits, want %d", hits, first.Outcomes.Valid+kept)
	}
	s.adds("clicks")
	s.audited()
}

// weir waits for a topic that does not exist yet, says so, and reads it when it exists.
func TestTopicMissing(t *testing.T) {
	parallel(t)
	s := newStage(t)
	s.clicks()
	p := s.weir("run")
	p.says(`"level":"WARN".*` + s.topic("clicks") + `.*the topic does not exist`)
	if code, body, err := p.get("/readyz"); err != nil || code != 503 {
		t.Errorf("/readyz without a topic: %d %s %v", code, body, err)
	}
	if code, body, err := p.get("/livez"); err != nil || code != 200 {
		t.Errorf("/livez without a topic: %d %s %v", code, body, err)
	}
	health := "--http.listen=" + strings.TrimPrefix(p.address(), "http://")
	healthy := func(code int, args ...string) {
		t.Helper()
		await.Until(t, func() error { // it asks for three seconds
			h := s.weir(append([]string{"healthcheck", health}, args...)...)
			if h.wait() != code || code == 1 && !strings.Contains(h.log.String(), "/readyz: job clicks: joining") {
				return notYet("healthcheck %v: %d %s", args, h.code, h.log.tail(1))
			}
			return nil
		})
	}
	healthy(1, "--ready")
	healthy(0)
	truth := s.produced("clicks", 5_000)
	s.caughtUp("clicks")
	s.sameClicks(truth)
	p.says("topic " + s.topic("clicks") + " exists; it is read")
	await.Until(t, func() error {
		if code, body, err := p.get("/readyz"); err != nil || code != 200 {
			return notYet("/readyz with the topic: %d %s %v", code, body, err)
		}
		return nil
	})
	healthy(0, "--ready")
}

// Transactions that were aborted are gaps; those that were committed count.
func TestTransactions(t *testing.T) {
	parallel(t)
	s := newStage(t)
	s.clicks()
	s.create("clicks", 1)
	producer, err := kgo.NewClient(kgo.SeedBrokers(s.brokers...), kgo.UnknownTopicRetries(-1), kgo.TransactionalID(s.name), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(producer.Close)
	now := time.Now()
	for n, commit := range []kgo.TransactionEndTry{kgo.TryCommit, kgo.TryAbort, kgo.TryCommit} {
		if err := producer.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		for i := range 100 {
			value := fmt.Sprintf(`{"ts":%d,"user_id":%d,"page":"/t/%d"}`, now.UnixMilli(), i, n)
			if err := producer.ProduceSync(await.Context(t), &kgo.Record{Topic: s.topic("clicks"), Value: []byte(value)}).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
		if err := producer.EndTransaction(await.Context(t), commit); err != nil {
			t.Fatal(err)
		}
	}
	s.untilEnd()
	got := s.sql("SELECT page, hits, users FROM clicks_1m ORDER BY page")
	if fmt.Sprint(got) != "[[/t/0 100 100] [/t/2 100 100]]" {
		t.Errorf("counted %v, want pages 0 and 2", got)
	}
	if row := s.sql("SELECT sum(counted), sum(gap) FROM weir_ledger FINAL")[0]; fmt.Sprint(row) != "[200 103]" {
		t.Errorf("the ledger has counted and gap %v, want 200, and 100 aborted with three markers", row)
	}
	s.adds("clicks")
}
