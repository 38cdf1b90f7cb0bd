package jobs

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"weir/window"
)

// letters makes dead letters of consecutive offsets.
func letters(outcome window.Outcome, reason string, partition int32, first int64, n int) []window.DeadLetter {
	var dead []window.DeadLetter
	for i := range n {
		dead = append(dead, window.DeadLetter{Partition: partition, Offset: first + int64(i), Outcome: outcome, Reason: reason, Payload: []byte("x")})
	}
	return dead
}

func stored(good uint64, dead ...window.DeadLetter) *window.Changes {
	c := &window.Changes{Dead: dead}
	c.Outcomes[window.Counted] = good
	for _, d := range dead {
		c.Outcomes[d.Outcome]++
	}
	return c
}

// TestStatusOfValues: the status adds up what measures with bad: skip left out, and events of records without a time.
func TestStatusOfValues(t *testing.T) {
	j := &Job{}
	j.status.init(&Config{Spec: &window.Spec{Job: "clicks", Measures: []window.Measure{{Name: "users"}, {Name: "sum", Bad: "skip"}, {Name: "max", Bad: "skip"}}}, Log: slog.New(slog.DiscardHandler)})
	if s := j.Status(); s.Skipped != nil || s.Timeless != 0 {
		t.Errorf("at first %v and %d", s.Skipped, s.Timeless)
	}
	j.status.counted(&window.Changes{Skipped: []uint64{0, 3, 0}, Timeless: 2})
	j.status.counted(&window.Changes{Skipped: []uint64{0, 4, 0}})
	if s := j.Status(); len(s.Skipped) != 2 || s.Skipped["sum"] != 7 || s.Skipped["max"] != 0 || s.Timeless != 2 {
		t.Errorf("then %v and %d", s.Skipped, s.Timeless)
	}
}

// TestQuality: a warning about bad records has the share, the most frequent
// reason and an example. It comes at once, then once a minute, and when it is
// over.
func TestQuality(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == slog.LevelKey {
			return slog.Attr{}
		}
		return a
	}}))
	var q quality
	now := time.UnixMilli(1_763_600_000_000)
	flush := func(after time.Duration, c *window.Changes, want string) {
		t.Helper()
		out.Reset()
		now = now.Add(after)
		q.add(now, c, "clicks", log)
		if got := strings.TrimSuffix(out.String(), "\n"); got != want {
			t.Errorf("said\n%s\nwant\n%s", got, want)
		}
	}
	const page, user = "field page is missing", "field user is neither text nor number"
	flush(0, stored(900, letters(window.Malformed, page, 0, 17, 90)...), "") // not yet a thousand
	flush(time.Second, stored(0, append(letters(window.Malformed, page, 1, 5, 4000), letters(window.Malformed, user, 2, 9, 10)...)...),
		`msg="82 % of the last 5,000 records of job clicks are malformed, 99 % of these: field page is missing, e.g. partition 0 offset 17" see=weir_dead_letters`)
	if q.malformed.warning == "" {
		t.Error("the status has no warning")
	}
	for range 58 {
		flush(time.Second, stored(0, letters(window.Malformed, user, 3, 1, 100)...), "")
	}
	flush(2*time.Second, stored(0, letters(window.Malformed, user, 3, 1, 100)...),
		`msg="100 % of the last 5,900 records of job clicks are malformed: field user is neither text nor number, e.g. partition 3 offset 1" see=weir_dead_letters for=1m1s in_all=10000`)
	flush(61*time.Second, stored(10_000, letters(window.Malformed, user, 3, 1, 3)...),
		`msg="this is over: at most 1 % of the last 10,003 records of job clicks are malformed" see=weir_dead_letters lasted=2m2s in_all=10003`)
	if q.malformed.warning != "" {
		t.Errorf("the warning still stands: %s", q.malformed.warning)
	}
	// A quiet topic is checked at the end of each minute; each outcome has its own
	// warning.
	flush(10*time.Second, stored(0, letters(window.Late, "older than the record by more than lateness", 1, 7, 30)...), "")
	flush(time.Minute, stored(30), `msg="50 % of the last 60 records of job clicks are late: older than the record by more than lateness, e.g. partition 1 offset 7" see=weir_dead_letters`)
	c := stored(2000)
	c.Capped = 500
	flush(time.Second, c, `msg="25 % of the last 2,000 records of job clicks are of groups beyond max_groups and count under __other__" see=jobs[].max_groups`)
}
