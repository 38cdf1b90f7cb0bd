package http

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/await"
	"weir/internal/tcptest"
)

// TestUnreadableParameters: a parameter that cannot be read is an error on every path.
// Left out, the answer would be one to another question.
func TestUnreadableParameters(t *testing.T) {
	e, job := newEndpoints(t)
	job.count(t, map[time.Duration]int{0: 7})
	h := e.http.Handler()
	gone, end := context.WithCancel(t.Context())
	end() // so that a stream ends too, after it has begun
	for _, path := range []string{
		"series?job=clicks&by.page=%zz",
		"series?job=clicks&last=5m;step=1m",
		"query?key=w:clicks:active:now&member=%zz",
		"stream?ask=jobs&ask=%zz",
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/api/v1/"+path, nil).WithContext(gone))
		if w.Code != 400 {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}

// TestTimesOfOtherZones: the bounds of from and until hold in UTC.
func TestTimesOfOtherZones(t *testing.T) {
	e, _ := newEndpoints(t)
	h := e.http.Handler()
	for path, want := range map[string]int{
		"from=1970-01-01T00:00:00%2B00:01&until=1970-01-01T00:00:01Z":      400,
		"from=2105-12-31T23:00:00-01:30&until=2105-12-31T23:59:59-01:30":   400,
		"from=1970-01-01T00:00:00Z&until=1970-01-01T00:00:01Z":             200,
		"from=2026-11-20T14:00:00%2B02:00&until=2026-11-20T10:05:00-02:00": 200,
	} {
		if code := get(t, h, "/api/v1/series?job=clicks&"+path, nil); code != want {
			t.Errorf("%s: %d, want %d", path, code, want)
		}
	}
}

// TestHeadOfStream: HEAD gets the header of a stream, and takes no place of a viewer.
func TestHeadOfStream(t *testing.T) {
	e, _ := newEndpoints(t)
	h := e.http.Handler()
	gone, end := context.WithCancel(t.Context())
	end() // so that a stream ends too, after it has begun
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("HEAD", "/api/v1/stream?ask=jobs", nil).WithContext(gone))
	if w.Code != 200 || w.Header().Get("Content-Type") != "text/event-stream" || w.Body.Len() > 0 {
		t.Errorf("%d %v %q", w.Code, w.Header(), w.Body)
	}
}

// TestViewersShareAnswers: all viewers write the bytes of one answer. A copy for each
// would let slow ones hold any amount of memory.
func TestViewersShareAnswers(t *testing.T) {
	h := newHub(nil, 2, slog.New(slog.DiscardHandler))
	one := &topic{asked: map[*viewer]bool{}}
	h.publish(one, []byte(`{"status":200}`))
	for range 2 {
		v := &viewer{topics: []*topic{one}}
		pieces := h.news(v)
		if text := bytes.Join(pieces, nil); !bytes.HasPrefix(text, []byte("id: "+h.run+".1\nevent: ask0\ndata: {")) || !bytes.HasSuffix(text, []byte("}\n\n")) {
			t.Errorf("%q", text)
		}
		if len(pieces) != 3 || &pieces[1][0] != &one.payload[0] {
			t.Errorf("a copy of the answer in %q", pieces)
		}
	}
}

// TestBrokenBetweenEvents: a stream that breaks between two events and goes on with the id of
// the first brings the second, whichever question was answered first.
func TestBrokenBetweenEvents(t *testing.T) {
	h := newHub(nil, 2, slog.New(slog.DiscardHandler))
	late, early := &topic{asked: map[*viewer]bool{}}, &topic{asked: map[*viewer]bool{}}
	h.publish(early, []byte("{}"))
	h.publish(late, []byte("{}"))
	var got []string
	for _, piece := range h.news(&viewer{topics: []*topic{late, early}}) {
		if head, ok := strings.CutSuffix(string(piece), "\ndata: "); ok {
			got = append(got, head)
		}
	}
	first, second := "id: "+h.run+".1\nevent: ask1", "id: "+h.run+".2\nevent: ask0"
	if want := []string{first, second}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if again := h.news(&viewer{topics: []*topic{late, early}, seen: 1}); len(again) == 0 || !strings.HasPrefix(string(again[0]), second) {
		t.Errorf("after the first: %q", again)
	}
}

// A countedConn counts the writes to it, except heartbeats: how many of these there are
// depends on the machine's speed.
type countedConn struct {
	net.Conn
	writes *atomic.Int64
}

func (c countedConn) Write(p []byte) (int, error) {
	if !bytes.Contains(p, []byte(": heartbeat\n")) {
		c.writes.Add(1)
	}
	return c.Conn.Write(p)
}

type countedListener struct {
	net.Listener
	writes atomic.Int64
}

func (l *countedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return countedConn{c, &l.writes}, err
}

// TestAnswersInFewWrites: the answers of a second take few writes to a connection, however
// many there are.
func TestAnswersInFewWrites(t *testing.T) {
	s := &Server{}
	s.hub = newHub(map[string]endpoint{"long": {parameters: []string{"n"}, answer: func(context.Context, question) (any, error) { return strings.Repeat("x", 5000), nil }}}, 2, slog.New(slog.DiscardHandler))
	server := httptest.NewUnstartedServer(http.HandlerFunc(s.stream))
	l := &countedListener{Listener: server.Listener}
	server.Listener = l
	server.Start()
	t.Cleanup(server.Close)
	query := ""
	for i := range asksMost {
		query += fmt.Sprintf("ask=long%%3Fn%%3D%d&", i)
	}
	query = strings.TrimSuffix(query, "&")
	early := listen(t, server.URL, query, "") // has them answered
	for range asksMost {
		early.next()
	}
	before := l.writes.Load()
	late := listen(t, server.URL, query, "")
	for range asksMost {
		late.next()
	}
	if n := l.writes.Load() - before; n >= asksMost { // the header, and three chunks of three writes
		t.Errorf("%d writes for %d answers", n, asksMost)
	}
}

// TestRefusedStream: a stream with a question too many is refused, with the reason, and its
// connection is closed.
func TestRefusedStream(t *testing.T) {
	s := &Server{hub: newHub(map[string]endpoint{"jobs": {}}, 1, slog.New(slog.DiscardHandler))}
	for i := range topicsMost {
		s.hub.topics[fmt.Sprint(i)] = &topic{}
	}
	w := httptest.NewRecorder()
	s.stream(w, httptest.NewRequest("GET", "/api/v1/stream?ask=jobs", nil))
	if w.Code != 503 || w.Header().Get("Connection") != "close" || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), "512 different questions") {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	if len(s.hub.places) > 0 {
		t.Error("it has kept its place")
	}
}

// TestWaitersGiveWay: a connection of a viewer that waits for a place is closed for a new one,
// where there are as many as allowed; those of viewers that have a place stay.
func TestWaitersGiveWay(t *testing.T) {
	e, job := newEndpoints(t)
	job.count(t, map[time.Duration]int{0: 7})
	e.http.Connections = 4 // and half as many viewers
	l := tcptest.Listen(t)
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- e.http.Serve(ctx, l) }()
	const stream = "GET /api/v1/stream?ask=jobs HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
	open := func(want string) *bufio.Scanner {
		t.Helper()
		lines := bufio.NewScanner(dialHTTP(t, l, stream))
		for lines.Scan() {
			if lines.Text() == want {
				return lines
			}
		}
		t.Fatalf("no %q: %v", want, lines.Err())
		return nil
	}
	open("event: ask0")
	open("event: ask0")
	waits := open("event: wait")
	open("event: wait")
	res, err := http.ReadResponse(bufio.NewReader(dialHTTP(t, l, "GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")), nil)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Errorf("a health check: %v, %v", res, err)
	}
	for waits.Scan() { // until its connection is closed
	}
	if n := len(e.http.hub.places); n != 2 {
		t.Errorf("%d viewers, want the two that had a place", n)
	}
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// TestFaultInStream: a panic in an answer ends neither the stream nor the process.
func TestFaultInStream(t *testing.T) {
	var log bytes.Buffer
	h := newHub(map[string]endpoint{"jobs": {answer: func(context.Context, question) (any, error) { panic("out of luck") }}}, 2, slog.New(slog.NewTextHandler(&log, nil)))
	if payload, _ := h.ask(t.Context(), question{"jobs", nil}); !strings.Contains(string(payload), `"status":500`) {
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
		"hangs": {answer: func(ctx context.Context, _ question) (any, error) {
			asked <- true
			<-ctx.Done()
			return nil, ctx.Err()
		}},
		"answers": {answer: func(context.Context, question) (any, error) { return 7, nil }},
	}, 2, slog.New(slog.DiscardHandler))
	first, _ := h.join([]question{{"hangs", nil}}, "")
	await.Receive(t, "the first question", asked)
	second, _ := h.join([]question{{"answers", nil}}, "")
	await.Until(t, func() error {
		if len(h.news(second)) == 0 {
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

// TestManyQuestions: a question is asked again after a hundred times as long as its answer took.
// Where all together would take more than half of the time, each waits longer in the same
// measure, but none longer than 30 s; when the others are not asked any more, it waits less again.
func TestManyQuestions(t *testing.T) {
	h := newHub(nil, topicsMost, slog.New(slog.DiscardHandler))
	var viewers []*viewer
	for i := range 100 {
		one := &topic{question: question{fmt.Sprint(i), nil}, asked: map[*viewer]bool{}, stop: func() {}}
		v := &viewer{topics: []*topic{one}}
		one.asked[v], h.topics[one.question.id()] = true, one
		viewers = append(viewers, v)
	}
	wait := func(what string, took, want time.Duration) {
		t.Helper()
		if d := h.pause(viewers[0].topics[0], took, false) - want; d < -time.Millisecond || d > time.Millisecond {
			t.Errorf("%s is asked again after %v, want %v", what, want+d, want)
		}
	}
	wait("a cheap one", time.Millisecond, time.Second)
	wait("a dear one", 70*time.Millisecond, 7*time.Second)
	for _, v := range viewers {
		h.pause(v.topics[0], 10*time.Millisecond, false) // a hundredth each
	}
	wait("one of a hundred", 10*time.Millisecond, 2*time.Second)
	for _, v := range viewers {
		h.pause(v.topics[0], time.Second, false)
	}
	wait("one of a hundred dear ones", time.Second, 30*time.Second)
	for _, v := range viewers[1:] {
		h.leave(v)
		h.pause(v.topics[0], time.Second, false) // its last answer comes later
	}
	wait("the one that is left", time.Millisecond, time.Second)
}

// TestQuestionsMost: a viewer with a question too many is refused and told why; one with
// questions that are asked already is not.
func TestQuestionsMost(t *testing.T) {
	h := newHub(map[string]endpoint{"": {nil, func(context.Context, question) (any, error) { return nil, nil }}}, topicsMost, slog.New(slog.DiscardHandler))
	asks := func(from, n int) (all []question) {
		for i := range n {
			all = append(all, question{"", map[string][]string{"x": {fmt.Sprint(from + i)}}})
		}
		return all
	}
	for i := range topicsMost / asksMost {
		v, err := h.join(asks(i*asksMost, asksMost), "")
		if err != nil {
			t.Fatalf("viewer %d: %v", i, err)
		}
		defer h.leave(v)
	}
	if _, err := h.join(asks(topicsMost-1, 2), ""); err == nil || !strings.Contains(err.Error(), "ask 512 different questions already, and may ask 512: look at what others look at") {
		t.Errorf("a question too many: %v", err)
	}
	v, err := h.join(asks(0, asksMost), "")
	if err != nil {
		t.Fatalf("the questions of another: %v", err)
	}
	h.leave(v)
}
