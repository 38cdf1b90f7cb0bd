package http

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestDeadLettersAway: while ClickHouse does not answer, a question about dead letters waits two
// seconds and gets those that were read before, marked as partial; questions soon after
// share the read.
func TestDeadLettersAway(t *testing.T) {
	e, _ := newEndpoints(t)
	synctest.Test(t, func(t *testing.T) {
		away, jobs := false, len(e.http.Windows.Jobs())
		var reads atomic.Int64
		s := &Server{Windows: e.http.Windows, Dead: func(ctx context.Context, _ string, n int) ([]DeadLetter, error) {
			if reads.Add(1); n != deadLettersMost {
				t.Errorf("%d asked for", n)
			}
			if away {
				<-ctx.Done()
				return nil, errors.New("no answer")
			}
			return []DeadLetter{{Job: "clicks", Offset: 7}, {Job: "clicks", Offset: 8}}, nil
		}}
		ask := func(partial string, took time.Duration) {
			t.Helper()
			began := time.Now()
			answer, err := s.deadLetters(t.Context(), question{"dead-letters", nil})
			if r, _ := answer.(deadLettersReply); err != nil || len(r.DeadLetters) != 2*jobs || !strings.HasPrefix(r.Partial, partial) || (r.Partial == "") != (partial == "") || time.Since(began) != took {
				t.Errorf("%+v, %v after %s", r, err, time.Since(began))
			}
		}
		ask("", 0)
		away = true
		ask("", 0) // still new
		time.Sleep(deadLettersAge)
		ask("no answer", deadLettersTimeout)
		ask("no answer", 0)
		if away = false; jobs < 2 || reads.Load() != int64(2*jobs) {
			t.Errorf("%d reads for %d jobs, want two each", reads.Load(), jobs)
		}
		time.Sleep(deadLettersAge)
		ask("", 0)
	})
}
