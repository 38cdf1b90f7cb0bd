package e2e

import (
	"regexp"
	"strconv"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
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
	s.untilEnd("--kafka.on_data_loss=skip")
	s.audited()

	counted := s.number("SELECT sum(counted) FROM weir_ledger FINAL WHERE job = 'clicks'")
	short := counted - s.number("SELECT sum(hits) FROM clicks_1m")
	if short <= 0 {
		t.Fatalf("%d events were counted and the rows are short of %d: no row has events from both sides", counted, short)
	}
	noted := int64(0)
	v := s.weir("verify")
	v.exits(0)
	for _, m := range regexp.MustCompile(`note: .*: (\d+) events were counted, the rows hold (\d+): records were deleted`).FindAllStringSubmatch(v.out.String(), -1) {
		expected, _ := strconv.ParseInt(m[1], 10, 64)
		found, _ := strconv.ParseInt(m[2], 10, 64)
		noted += expected - found
	}
	if noted != short {
		t.Errorf("weir verify notes %d missing events, it is %d\n%s", noted, short, v.out.String())
	}
}
