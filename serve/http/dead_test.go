package http

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
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

// TestNotNone: an answer that is made without ClickHouse and has nothing in it is no answer: it would be taken
// for "none". So it is for dead letters that nobody had asked for before, and for every question and key.
func TestNotNone(t *testing.T) {
	d, job := newEndpoints(t)
	job.count(t, map[time.Duration]int{0: 7})
	refused := errors.New("clickhouse: read the ledger: connection refused")
	d.http.Dead = func(context.Context, string, int) ([]DeadLetter, error) { return nil, refused }
	job.sink.away.Store(&refused)
	waitForLook(t, d)
	now := d.http.Windows.Now()
	from := "&from=" + now.Format(time.RFC3339) + "&until=" + now.Add(time.Minute).Format(time.RFC3339)
	for _, path := range []string{
		"dead-letters", "dead-letters?job=clicks", "series?job=clicks&by.page=/p/9" + from, "series?job=clicks&measure=users&by.page=/p/9" + from,
		"returning?job=clicks&n=1&by.page=/p/9", "heat?job=clicks&within=zz" + from, "positions?job=clicks&box=-1,-1,1,1" + from,
		"query?key=w:clicks:hits:now:/p/9", "query?key=w:clicks:users:now:/p/9",
	} {
		res := ask(t, d.http.Handler(), "GET", "/api/v1/"+path, "")
		body, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != 502 || !strings.Contains(string(body), "it is not known whether there is anything") {
			t.Errorf("%s: %s %s, %v", path, res.Status, body, err)
		}
	}
	for _, path := range []string{"series?job=clicks" + from, "returning?job=clicks&n=1", "heat?job=clicks" + from, "query?key=w:clicks:hits:now"} {
		res := ask(t, d.http.Handler(), "GET", "/api/v1/"+path, "")
		body, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != 200 || !strings.Contains(string(body), `"partial":`) {
			t.Errorf("%s: %s %s, %v", path, res.Status, body, err)
		}
	}
}

// TestAwayIsNotDear: a question of a stream for which ClickHouse was waited for in vain is asked again
// soon, and not as late as one whose answers take so long.
func TestAwayIsNotDear(t *testing.T) {
	e, _ := newEndpoints(t)
	synctest.Test(t, func(t *testing.T) {
		away := true
		s := &Server{Windows: e.http.Windows, Dead: func(ctx context.Context, _ string, _ int) ([]DeadLetter, error) {
			if away {
				<-ctx.Done()
				return nil, errors.New("no answer")
			}
			return nil, nil
		}}
		h := newHub(map[string]endpoint{
			"dead-letters": {[]string{"n"}, s.deadLetters},
			"slow": {nil, func(context.Context, question) (any, error) {
				time.Sleep(2 * time.Second)
				return nil, errors.New("no answer")
			}},
			"alone": {nil, func(context.Context, question) (any, error) {
				time.Sleep(3 * time.Second)
				return seriesReply{made: made{Partial: "no answer"}}, nil
			}},
		}, 1, slog.New(slog.DiscardHandler))
		for _, c := range []struct {
			path string
			away bool
			want time.Duration
		}{{"dead-letters", true, 4 * time.Second}, {"dead-letters", false, time.Second}, {"slow", true, 4 * time.Second}, {"alone", true, 6 * time.Second}} {
			time.Sleep(deadLettersAge)
			away = c.away
			one := &topic{question: question{c.path, nil}, asked: map[*viewer]bool{{}: true}}
			began := time.Now()
			_, lacks := h.ask(t.Context(), one.question)
			if got := h.pause(one, time.Since(began), lacks); got != c.want || lacks != c.away {
				t.Errorf("%s while ClickHouse is away (%t) is asked again after %s, want %s", c.path, c.away, got, c.want)
			}
		}
	})
}

// TestNoJSON: an answer that JSON cannot have, such as a time after the year 9999, is an error, and not
// an answer without a word. So it is in a stream.
func TestNoJSON(t *testing.T) {
	e, _ := newEndpoints(t)
	s := &Server{Windows: e.http.Windows, Dead: func(context.Context, string, int) ([]DeadLetter, error) {
		return []DeadLetter{{Job: "clicks", At: time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)}}, nil
	}}
	res := ask(t, s.Handler(), "GET", "/api/v1/dead-letters", "")
	var failed failure
	if err := json.NewDecoder(res.Body).Decode(&failed); err != nil || res.StatusCode != 500 || !strings.Contains(failed.Error, "year") {
		t.Errorf("%d, %+v, %v", res.StatusCode, failed, err)
	}
	payload, lacks := s.hub.ask(t.Context(), question{"dead-letters", nil})
	if text := string(payload); lacks || !strings.HasPrefix(text, `{"status":500,"error":"`) {
		t.Errorf("in a stream: %s, lacks %t", text, lacks)
	}
}
