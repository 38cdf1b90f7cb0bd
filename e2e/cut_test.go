package e2e

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Records deleted inside a chunk that was being read, with events of the same
// windows on both sides: counts are too low, never too high, and weir verify
// says by exactly how much, without calling it damage.
func TestCutInsideWindow(t *testing.T) {
	parallel(t)
	s := newStage(t)
	s.clicks()
	s.produced("clicks", 20_000, "--seed", "1")
	s.untilEnd()
	before := s.ends("clicks")
	s.produced("clicks", 20_000, "--seed", "2")
	cut := kadm.Offsets{}
	for p, to := range s.ends("clicks") {
		cut.Add(kadm.Offset{Topic: s.topic("clicks"), Partition: p, At: before[p] + (to-before[p])/2})
	}
	s.deleteTo(cut)
	skips := s.untilEnd("--kafka.on_data_loss=skip")
	skips.says("Kafka deleted records before they were read")
	skips.says(`"WARN".*Kafka deleted the beginning of the open chunk after it was counted.*"from":0,"to":\d+,`)
	s.audited()

	counted := s.number("SELECT sum(counted) FROM weir_ledger FINAL WHERE job = 'clicks'")
	short := counted - s.number("SELECT sum(hits) FROM clicks_1m")
	if short <= 0 {
		t.Fatalf("%d events were counted and the rows are short of %d: no row has events from both sides", counted, short)
	}
	s.notes(`: (\d+) events were counted, the rows hold (\d+): records were deleted`, short)
}

// notes wants weir verify to note that so many events are missing, and no damage.
func (s *stage) notes(pattern string, short int64) {
	s.t.Helper()
	noted := int64(0)
	out := s.weir("verify").exits(0).out.String()
	for _, m := range regexp.MustCompile(`note: .*`+pattern).FindAllStringSubmatch(out, -1) {
		noted += integer(s.t, m[1]) - integer(s.t, m[2])
	}
	if noted != short {
		s.t.Errorf("weir verify notes %d missing events, it is %d\n%s", noted, short, out)
	}
	if !strings.Contains(out, "adds up, except for the") {
		s.t.Errorf("weir verify calls it clean:\n%s", out)
	}
}

// Records that were counted are deleted before their chunk ends, with events of
// the same windows before and after: the second reading overlaps the first, and
// counts are too low. The process says so when it begins to read, and weir verify
// by how much: every offset here was counted, so its bound is exact.
func TestCutBelowPosition(t *testing.T) {
	parallel(t)
	s := newStage(t)
	s.clicks()
	s.create("clicks", 4)
	s.migrate()
	now := time.Now()
	clicks := func(n int) {
		t.Helper()
		var records []*kgo.Record
		for i := range 4 * n {
			records = append(records, &kgo.Record{Topic: s.topic("clicks"), Partition: int32(i % 4), Timestamp: now,
				Value: fmt.Appendf(nil, `{"ts":%d,"page":"/p/%d","user_id":%d}`, now.UnixMilli(), i%3, i)})
		}
		if err := s.client.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	clicks(717)
	s.untilEnd()
	cut := kadm.Offsets{}
	for p := range s.ends("clicks") {
		cut.Add(kadm.Offset{Topic: s.topic("clicks"), Partition: p, At: 493})
	}
	s.deleteTo(cut)
	clicks(1283)
	s.untilEnd().says(`"WARN".*Kafka deleted the beginning of the open chunk after it was counted.*"partition":2,"chunk":0,"from":0,"to":493,"counted_to":717,"missing_at_most":493`)
	s.audited()
	short := 8000 - s.number("SELECT sum(hits) FROM clicks_1m")
	if short <= 0 {
		t.Fatalf("the rows are short of %d", short)
	}
	s.notes(`partition \d, chunk 0: at most (\d+) events were counted, the rows hold (\d+), so up to \d+ are missing: offsets up to 717 were counted, those below 493 were deleted`, short)
}
