package http

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestDeadLettersAway: while ClickHouse does not answer, a question about dead letters waits two
// seconds.
func TestDeadLettersAway(t *testing.T) {
	e, _ := newEndpoints(t)
	synctest.Test(t, func(t *testing.T) {
		s := &Server{Windows: e.http.Windows, Dead: func(ctx context.Context, _ string, n int) ([]DeadLetter, error) {
			<-ctx.Done()
			return nil, fmt.Errorf("%d letters: no answer", n)
		}}
		began := time.Now()
		answer, err := s.deadLetters(t.Context(), asking{call: call{"dead-letters", nil}})
		if r, _ := answer.(deadLettersReply); err != nil || r.Partial != "50 letters: no answer" || time.Since(began) != deadLettersTimeout {
			t.Errorf("%+v, %v after %s", r, err, time.Since(began))
		}
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
	payload := s.hub.ask(t.Context(), call{"dead-letters", nil})
	if text := string(payload); !strings.HasPrefix(text, `{"status":500,"error":"`) {
		t.Errorf("in a stream: %s", text)
	}
}
