package http

import (
	"testing"
	"time"

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
