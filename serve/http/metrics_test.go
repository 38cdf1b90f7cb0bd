package http

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

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
