package http

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"weir/event"
	"weir/jobs"
)

// TestLagSeconds: a partition with records to read has a lag even before the
// first of them is counted.
func TestLagSeconds(t *testing.T) {
	ago := func(d time.Duration) time.Time { return time.Now().Add(-d) }
	for _, c := range []struct {
		p    jobs.PartitionStatus
		want time.Duration // at least this; 0: exactly 0
	}{
		{jobs.PartitionStatus{Since: ago(time.Hour)}, 0},
		{jobs.PartitionStatus{Lag: 8863, Since: ago(time.Hour)}, time.Hour},
		{jobs.PartitionStatus{Lag: 1, Since: ago(time.Hour), Record: event.Time(ago(time.Minute).UnixMilli())}, time.Minute},
		{jobs.PartitionStatus{Since: ago(time.Hour), Record: event.Time(ago(time.Minute).UnixMilli())}, 0},
	} {
		if got := lag(c.p); got < c.want.Seconds() || got > c.want.Seconds()*1.9 {
			t.Errorf("%+v: %v s, want about %s", c.p, got, c.want)
		}
	}
}

// TestDeadLettersOfEvents: where records are arrays of events, an event that reaches no count is a dead
// letter also if another event of its record counts.
func TestDeadLettersOfEvents(t *testing.T) {
	records := map[string]uint64{"counted": 200, "malformed": 1}
	for want, events := range map[float64]map[string]uint64{1: nil, 400: {"counted": 200, "malformed": 400}} {
		ch := make(chan prometheus.Metric, 1000)
		scrape(ch).job(&jobs.Status{Job: "clicks", Topic: "clicks", Records: records, Events: events})
		close(ch)
		total := 0.0
		for m := range ch {
			if m.Desc() != deadLetters {
				continue
			}
			var value dto.Metric
			if err := m.Write(&value); err != nil {
				t.Fatal(err)
			}
			total += value.GetCounter().GetValue()
		}
		if total != want {
			t.Errorf("%v dead letters, want %v", total, want)
		}
	}
}

// TestWatermarkAbsent: a partition of which nothing is counted has no event time. One of 1970
// would be the slowest of all.
func TestWatermarkAbsent(t *testing.T) {
	for at, want := range map[event.Time]int{0: 0, 1: 1} {
		ch := make(chan prometheus.Metric, 1000)
		scrape(ch).job(&jobs.Status{Job: "clicks", Topic: "clicks", Partitions: []jobs.PartitionStatus{{Watermark: at}}})
		close(ch)
		n := 0
		for m := range ch {
			if m.Desc() == watermark {
				n++
			}
		}
		if n != want {
			t.Errorf("watermark %d: %d series, want %d", at, n, want)
		}
	}
}
