package e2e

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"syscall"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"weir/demo/local"
	"weir/internal/await"
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

// A topic that is deleted and created again reuses offsets for other records: its job says so
// and stops, no other job does, and --new-epoch counts them beside the old ones.
func TestTopicRecreated(t *testing.T) {
	parallel(t)
	s := newStage(t)
	s.configure(fmt.Sprintf(clicksJob, s.topic("clicks")),
		strings.Replace(fmt.Sprintf(clicksJob, s.topic("other")), "name: clicks", "name: other", 1))
	s.migrate()
	s.create("other", 2)
	first := s.produced("clicks", 20_000, "--seed", "1")
	p := s.weir("run")
	s.caughtUp("clicks")

	// Under a running process.
	s.recreate("clicks", 4)
	second := s.produced("clicks", 30_000, "--seed", "2")
	p.says(`"level":"ERROR".*a job has stopped; the other jobs go on without it.*"job":"clicks".*deleted and created again.*--new-epoch`)
	p.ready(503, "job clicks: stopped", "deleted and created again")
	others := s.produced("other", 3_000, "--kind", "clicks")
	s.caughtUp("other")
	s.sameView("other_1m", "page", others)
	p.signal(syscall.SIGTERM)
	p.exits(1).says(`^hint: .*--new-epoch`)
	s.sameClicks(first) // nothing of the new topic came in under the old offsets

	// At a start of the job alone.
	s.configure(fmt.Sprintf(clicksJob, s.topic("clicks")))
	s.weir("run").exits(1).says(`^error: .*deleted and created again`)
	s.untilEnd("--new-epoch")
	both := union(first, second)
	s.sameClicks(both)
	if n := s.number("SELECT max(epoch) FROM weir_ledger WHERE job = 'clicks'"); n != 1 {
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
