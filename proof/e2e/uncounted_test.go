package e2e

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"weir/demo/local/localtest"
	"weir/internal/await"
)

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

// Two processes divide the partitions by number and count into two databases, so each counts half. Both say
// so in every answer; a process with all partitions is complete.
func TestHalfCounted(t *testing.T) {
	parallel(t)
	s := newStage(t)
	_, other := localtest.Engine(t)
	s.clicks()
	s.weir("migrate", "--clickhouse.database="+other).exits(0)
	s.create("clicks", 4)
	clicks := s.minutes(4, 6)
	says := fmt.Sprintf("%d records of partitions ", clicks/2)
	const missed = "are not counted by this database: nothing of them was flushed for "
	var halves []*process
	with := func(i int, database, command string) *process {
		return s.weir(command, fmt.Sprintf("--kafka.member=%d/2", i), "--clickhouse.database="+database, "--clickhouse.insert_timeout=1s")
	}
	databases := []string{s.db, other}
	for i, database := range databases {
		halves = append(halves, with(i, database, "run"))
	}
	idle(func() { // until nothing was flushed for as long as a hand-over of partitions may take
		for _, p := range halves {
			p.ready(503, says, missed)
		}
	})
	for i, database := range databases {
		if n := s.number("SELECT sum(hits) FROM %s.clicks_1m", database); n != int64(clicks/2) {
			t.Errorf("%s counts %d of %d", database, n, clicks)
		}
		if n := s.number("SELECT max(complete) FROM %s.clicks_1m", database); n != 0 {
			t.Errorf("%s holds half, and says that windows are complete", database)
		}
		verify := with(i, database, "verify")
		idle(func() { verify.exits(1).prints("^clicks: " + says + "[0-9, -]+ " + missed) })
	}
	for _, p := range halves {
		p.signal(syscall.SIGTERM)
		p.exits(0)
	}

	p := s.weir("run")
	s.caughtUp("clicks")
	p.ready(200)
	await.Until(t, func() error {
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
