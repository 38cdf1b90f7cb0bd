package outage

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

var errDown = errors.New("connection refused")

// reporter returns a Reporter that writes into a buffer, without times.
func reporter() (*Reporter, *bytes.Buffer) {
	var b bytes.Buffer
	return New(slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))), &b
}

// TestOneOutage: sixty-four jobs, each trying two things every second for three
// and a half minutes, write five lines: the beginning, one a minute, the end.
func TestOneOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, out := reporter()
		var sources []*Source
		for i := range 64 {
			sources = append(sources, r.Of(ClickHouse, fmt.Sprintf("flush of job j%d", i)), r.Of(ClickHouse, fmt.Sprintf("rollup of job j%d", i)))
		}
		for range 210 {
			for _, s := range sources {
				s.Failed(errDown)
			}
			time.Sleep(time.Second)
		}
		for _, s := range sources {
			if n := strings.Count(out.String(), "over"); n > 0 {
				t.Fatalf("over before all of them worked:\n%s", out)
			}
			s.Worked()
		}
		want := `level=WARN msg="clickhouse: outage; it is tried again until it works" what="flush of job j0" error="connection refused"
level=WARN msg="clickhouse: the outage goes on" for=1m0s failures=7681 failing="flush of job j0, rollup of job j0, flush of job j1 and 125 more" error="connection refused"
level=WARN msg="clickhouse: the outage goes on" for=2m0s failures=15361 failing="flush of job j0, rollup of job j0, flush of job j1 and 125 more" error="connection refused"
level=WARN msg="clickhouse: the outage goes on" for=3m0s failures=23041 failing="flush of job j0, rollup of job j0, flush of job j1 and 125 more" error="connection refused"
level=WARN msg="clickhouse: the outage is over; nothing was lost" lasted=3m30s failures=26880
`
		if out.String() != want {
			t.Errorf("got\n%swant\n%s", out, want)
		}
	})
}

// TestApart: two subjects have separate outages, and a source that works writes
// nothing.
func TestApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, out := reporter()
		flush, fetch := r.Of(ClickHouse, "flush"), r.Of(Kafka, "fetch")
		flush.Worked()
		fetch.Worked()
		fetch.Gone()
		if out.Len() > 0 {
			t.Fatalf("all is well, and the log says\n%s", out)
		}
		flush.Failed(errDown)
		fetch.Failed(errDown)
		fetch.Worked()
		if text := out.String(); strings.Count(text, "\n") != 3 || !strings.Contains(text, Kafka.Ends) || strings.Contains(text, ClickHouse.Ends) {
			t.Errorf("got\n%s", out)
		}
	})
}

// TestGone: an outage does not wait for a source that is gone, but it is over
// only when another source works.
func TestGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, out := reporter()
		flush, rollup := r.Of(ClickHouse, "flush"), r.Of(ClickHouse, "rollup")
		flush.Failed(errDown)
		flush.Gone()
		if strings.Contains(out.String(), ClickHouse.Ends) {
			t.Fatalf("nothing has worked yet:\n%s", out)
		}
		rollup.Worked()
		if !strings.Contains(out.String(), ClickHouse.Ends) {
			t.Errorf("the rollup works, the flush is gone:\n%s", out)
		}
	})
}

// TestFlapping: a source that fails and works in turns is reported, and does not
// fill the log.
func TestFlapping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, out := reporter()
		s := r.Of(ClickHouse, "flush")
		for range 600 { // ten minutes
			s.Failed(errDown)
			time.Sleep(500 * time.Millisecond)
			s.Worked()
			time.Sleep(500 * time.Millisecond)
		}
		if n := strings.Count(out.String(), "\n"); n < 20 || n > 120 {
			t.Errorf("%d lines in ten minutes, want 20 to 120", n)
		}
		// An outage that begins in the lull is reported as soon as the lull is over.
		out.Reset()
		time.Sleep(time.Minute)
		s.Failed(errDown)
		s.Worked()
		out.Reset()
		for range 11 {
			s.Failed(errDown)
			time.Sleep(time.Second)
		}
		if text := out.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, ClickHouse.Begins) {
			t.Errorf("an outage that began in the lull and goes on: %q", text)
		}
		s.Worked()
		if text := out.String(); !strings.Contains(text, "failures=11") {
			t.Errorf("what failed in the lull is not counted: %q", text)
		}
	})
}
