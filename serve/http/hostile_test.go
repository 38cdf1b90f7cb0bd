package http

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"weir/internal/await"
)

// TestViewersShareAnswers: all viewers write the bytes of one answer. A copy for each
// would let slow ones hold any amount of memory.
func TestViewersShareAnswers(t *testing.T) {
	h := newHub(nil, 2, slog.New(slog.DiscardHandler))
	one := &standing{}
	h.publish(one, []byte(`{"status":200}`))
	pieces, seen := h.after(0, []*standing{one})
	if text := string(bytes.Join(pieces, nil)); text != "event: ask0\ndata: {\"status\":200}\n\n" || &pieces[1][0] != &one.payload[0] {
		t.Errorf("%q, or a copy of the answer", text)
	}
	h.publish(one, []byte(`{"status":200}`))
	if pieces, _ := h.after(seen, []*standing{one}); len(pieces) > 0 {
		t.Errorf("the same answer again: %q", pieces)
	}
	h.publish(one, []byte(`{"status":404}`))
	if pieces, _ := h.after(seen, []*standing{one}); len(pieces) != 3 {
		t.Errorf("another answer: %q", pieces)
	}
}

// TestRefusedStream: a viewer or a question too many is refused with the reason, and the
// connection is closed. Questions that others ask already are none too many.
func TestRefusedStream(t *testing.T) {
	s := &Server{hub: newHub(map[string]endpoint{"jobs": {[]string{"n"}, nil, func(context.Context, asking) (any, error) { return 1, nil }}}, 1+questionsMost/asksMost, slog.New(slog.DiscardHandler))}
	questions := func(from, n int) (all []call) {
		for i := range n {
			all = append(all, call{"jobs", url.Values{"n": {fmt.Sprint(from + i)}}})
		}
		return all
	}
	refused := func(want string) {
		t.Helper()
		w := httptest.NewRecorder()
		s.stream(w, httptest.NewRequest("GET", "/api/v1/stream?ask=jobs", nil))
		if w.Code != 503 || w.Header().Get("Connection") != "close" || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%d %v %s, want %s", w.Code, w.Header(), w.Body, want)
		}
	}
	for i := range questionsMost / asksMost {
		if _, err := s.hub.join(questions(i*asksMost, asksMost)); err != nil {
			t.Fatalf("viewer %d: %v", i, err)
		}
	}
	refused("there is no room for another question: all viewers together ask 512 different ones, and may ask 512; look at what others look at")
	last, err := s.hub.join(questions(0, asksMost))
	if err != nil {
		t.Fatalf("the questions of another: %v", err)
	}
	refused("there is no stream for another viewer: 33 have one, which is the most")
	s.hub.leave(last)
	s.hub.close()
}

// TestFaultInStream: a panic in an answer ends neither the stream nor the process.
func TestFaultInStream(t *testing.T) {
	var log bytes.Buffer
	h := newHub(map[string]endpoint{"jobs": {answer: func(context.Context, asking) (any, error) { panic("out of luck") }}}, 2, slog.New(slog.NewTextHandler(&log, nil)))
	if payload := h.ask(t.Context(), call{"jobs", nil}); !strings.Contains(string(payload), `"status":500`) {
		t.Errorf("the event is %s", payload)
	}
	if !strings.Contains(log.String(), "out of luck") {
		t.Errorf("the log says %q", log.String())
	}
}

// TestHungQuestion: while one question of the streams hangs, the others are answered.
func TestHungQuestion(t *testing.T) {
	asked := make(chan bool)
	h := newHub(map[string]endpoint{
		"hangs": {answer: func(ctx context.Context, _ asking) (any, error) {
			asked <- true
			<-ctx.Done()
			return nil, ctx.Err()
		}},
		"answers": {answer: func(context.Context, asking) (any, error) { return 7, nil }},
	}, 2, slog.New(slog.DiscardHandler))
	first, _ := h.join([]call{{"hangs", nil}})
	await.Receive(t, "the first question", asked)
	second, _ := h.join([]call{{"answers", nil}})
	await.Until(t, func() error {
		if pieces, _ := h.after(0, second); len(pieces) == 0 {
			return errors.New("no answer yet")
		}
		return nil
	})
	h.leave(first)
	h.leave(second)
}

// TestWithheldCell: what is withheld of a map does not follow from its total.
func TestWithheldCell(t *testing.T) {
	e, job := newEndpoints(t)
	job.count(t, map[time.Duration]int{0: 7, time.Second: 42})
	job.visit(t, map[time.Duration]int{time.Minute: 8}, 170, -40)
	for k, want := range map[int]heatReply{0: {People: 3}, 2: {People: 2, Withheld: 1}, 3: {People: 3, Withheld: 2}, 4: {Withheld: 2}} {
		e.http.K = k
		var r heatReply
		if get(t, e.http.Handler(), "/api/v1/heat?job=clicks&last=5m&precision=3", &r); r.People != want.People || r.Withheld != want.Withheld {
			t.Errorf("k=%d: %+v", k, r)
		}
	}
}
