package http

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"
	"sync"
	"time"
)

const (
	// tick is the time between two answers to a question of a stream; heartbeat is the
	// time between two signs of life.
	tick      = time.Second
	heartbeat = 15 * time.Second

	// askEvery and rareTick bound what a dear question costs: it is asked again after a
	// hundred times as long as its answer took, but at the latest after rareTick.
	askEvery = 100
	rareTick = 30 * time.Second
	// lackEvery is that of a question for which ClickHouse was waited for in vain: how long
	// that took says nothing about what an answer costs.
	lackEvery = 2

	// viewersMost is how many streams there may be; half of the connections if that is
	// less.
	viewersMost = 256
	// asksMost is how many questions a stream may have, and topicsMost how many different
	// ones all streams may have: the pages of more than fifty people of whom no two look at the same.
	asksMost   = 16
	topicsMost = 512

	// slow is how long a write to a viewer may take before the viewer is dropped.
	slow = 30 * time.Second
	// gather is how long a viewer waits for further answers before it writes.
	gather = 100 * time.Millisecond
	// unsent is how many bytes the kernel holds for a viewer that does not read.
	unsent = 64 << 10
	// atOnce is how many bytes a viewer writes at once.
	atOnce = 32 << 10
)

// writers are for the answers of a second. Without one, each answer would take the server
// three writes to the connection. A viewer holds one while it writes, so that those that read
// slowly hold 8 MiB at most, all together.
var writers = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, atOnce) }}

// A hub answers the questions of all streams. Each question that at least one viewer asks
// is a topic: it is answered once a second, however many viewers ask it, and all of them
// get the same bytes. So the cost of a viewer is that of writing them. Nothing is queued
// for a viewer: one that reads slowly gets the latest answers when it has read the earlier
// ones, and is dropped if one write takes longer than `slow`.
type hub struct {
	endpoints map[string]endpoint
	log       *slog.Logger
	most      int // viewers
	closed    chan struct{}
	close     func() // ends all streams

	mu      sync.Mutex
	viewers int
	topics  map[string]*topic
	last    uint64        // the number of the last answer
	news    chan struct{} // closed when there is another one
}

// A topic is a question and its latest answer.
type topic struct {
	question
	viewers int // that ask it
	stop    context.CancelFunc
	number  uint64 // of the answer; 0: there is none yet
	payload []byte // of the event: one line of JSON
}

func newHub(endpoints map[string]endpoint, most int, log *slog.Logger) *hub {
	h := &hub{endpoints: endpoints, log: log, most: most, closed: make(chan struct{}), topics: map[string]*topic{}, news: make(chan struct{})}
	h.close = sync.OnceFunc(func() { close(h.closed) })
	return h
}

// stream answers GET /api/v1/stream?ask=series%3Fjob%3Dclicks&ask=…
func (s *Server) stream(w http.ResponseWriter, r *http.Request) {
	h := s.hub
	asked, err := parametersOf(r)
	var questions []question
	if err == nil {
		questions, err = h.questions(asked)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if r.Method == http.MethodHead {
		w.Header().Set("Content-Type", "text/event-stream")
		return // without a body there is nothing to wait for
	}
	topics, err := h.join(questions)
	if err != nil {
		w.Header().Set("Retry-After", "5")
		w.Header().Set("Connection", "close") // it would be held for nothing
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	defer h.leave(topics)
	narrow(r, unsent) // else the kernel takes megabytes
	w.Header().Set("Content-Type", "text/event-stream")
	to := http.NewResponseController(w)
	send := func(texts ...[]byte) bool {
		_ = to.SetWriteDeadline(time.Now().Add(slow)) // an error means that there are no deadlines
		all := writers.Get().(*bufio.Writer)
		all.Reset(w)
		defer func() {
			all.Reset(nil)
			writers.Put(all)
		}()
		for _, text := range texts {
			_, _ = all.Write(text) // Flush returns the error
		}
		return all.Flush() == nil && to.Flush() == nil
	}
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	seen := uint64(0)
	for texts := [][]byte{[]byte("retry: 1000\n\n")}; len(texts) == 0 || send(texts...); {
		var news chan struct{}
		if texts, seen, news = h.after(seen, topics); len(texts) > 0 {
			continue
		}
		select {
		case <-news:
			time.Sleep(gather) // for those that come just after
		case <-beat.C:
			texts = [][]byte{[]byte(": heartbeat\n\n")}
		case <-r.Context().Done():
			return
		case <-h.closed:
			return
		}
	}
}

// questions reads the parameters ask.
func (h *hub) questions(asked url.Values) (all []question, err error) {
	for name := range asked {
		if name != "ask" {
			return nil, fmt.Errorf("%w: stream has no parameter %.64q; it has ask, several times", errQuestion, name)
		}
	}
	if n := len(asked["ask"]); n < 1 || n > asksMost {
		return nil, fmt.Errorf("%w: %d times ask; want 1 to %d", errQuestion, n, asksMost)
	}
	for _, text := range asked["ask"] {
		path, parameters, _ := strings.Cut(text, "?")
		if _, ok := h.endpoints[path]; !ok {
			return nil, fmt.Errorf("%w: ask=%.64q; there is no such path for streams", errQuestion, text)
		}
		values, err := url.ParseQuery(parameters)
		if err != nil {
			return nil, fmt.Errorf("%w: ask=%.64q: %w", errQuestion, text, err)
		}
		all = append(all, question{path, values})
	}
	return all, nil
}

// join adds a viewer and returns the topics of its questions. It is an error if there are too
// many viewers or questions.
func (h *hub) join(questions []question) (topics []*topic, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	missing := map[string]bool{}
	for _, q := range questions {
		if id := q.id(); h.topics[id] == nil {
			missing[id] = true
		}
	}
	n := len(h.topics)
	switch {
	case h.viewers == h.most:
		return nil, fmt.Errorf("%d viewers have a stream already, as many as may: try again when one of them has left", h.most)
	case n+len(missing) > topicsMost:
		return nil, fmt.Errorf("all viewers together ask %d different questions already, and may ask %d: look at what others look at, or try again later", n, topicsMost)
	}
	h.viewers++
	for _, q := range questions {
		t := h.topics[q.id()]
		if t == nil {
			ctx, stop := context.WithCancel(context.Background())
			t = &topic{question: q, stop: stop}
			h.topics[q.id()] = t
			go h.answer(ctx, t)
		}
		t.viewers++
		topics = append(topics, t)
	}
	return topics, nil
}

// id is the same for equal questions.
func (q question) id() string { return q.path + "?" + q.Encode() }

// leave removes a viewer, and the topics that no other one asks.
func (h *hub) leave(topics []*topic) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.viewers--
	for _, t := range topics {
		if t.viewers--; t.viewers == 0 {
			t.stop()
			delete(h.topics, t.id())
		}
	}
}

// after returns, in pieces, the events for the answers to a viewer's questions after one of a
// number, the number of the last one, and what is closed when there is another. An event is
// named after the question's place among those that the viewer asks. The payload is that of
// the topic and no copy, so that viewers that read slowly hold little memory.
func (h *hub) after(seen uint64, topics []*topic) (pieces [][]byte, last uint64, news chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, t := range topics {
		if t.number > seen {
			pieces = append(pieces, fmt.Appendf(nil, "event: ask%d\ndata: ", i), t.payload, []byte("\n\n"))
		}
	}
	return pieces, h.last, h.news
}

// answer answers the question of a topic until no viewer asks it any more.
func (h *hub) answer(ctx context.Context, t *topic) {
	for {
		began := time.Now()
		payload, lacks := h.ask(ctx, t.question)
		if ctx.Err() != nil {
			return
		}
		h.publish(t, payload)
		// Whole seconds, so that the answers of a second leave in one write.
		next := time.Now().Add(pause(time.Since(began), lacks)).Truncate(tick)
		select {
		case <-time.After(time.Until(next)):
		case <-ctx.Done():
			return
		case <-h.closed:
			return
		}
	}
}

// pause returns how long a question waits until it is asked again, if its answer took so long;
// lacks says that ClickHouse was waited for in vain.
func pause(took time.Duration, lacks bool) time.Duration {
	if lacks {
		return min(max(tick, lackEvery*took), rareTick)
	}
	return min(max(tick, askEvery*took), rareTick)
}

// An eventData is what an event carries: the answer, or the status and the error that a
// GET would get.
type eventData struct {
	Status int    `json:"status"`
	Answer any    `json:"answer,omitempty"`
	Error  string `json:"error,omitempty"`
}

// ask returns the payload of the answer to a question, and whether ClickHouse was
// waited for in vain. If answering panics, the process goes on, as it does where net/http handles a
// request.
func (h *hub) ask(ctx context.Context, q question) (payload []byte, lacks bool) {
	defer func() {
		if fault := recover(); fault != nil {
			h.log.Error("http: no answer for a stream, because of a fault in weir", "question", q.id(), "fault", fault, "stack", string(debug.Stack()))
			payload, _ = json.Marshal(eventData{Status: http.StatusInternalServerError, Error: "no answer, because of a fault in weir: its log says more"})
		}
	}()
	e := h.endpoints[q.path]
	ctx, cancel := context.WithTimeout(ctx, rareTick)
	defer cancel()
	data := eventData{Status: http.StatusOK}
	var err error
	if data.Answer, err = e.ask(ctx, q); err != nil {
		data = eventData{Status: statusOf(err), Error: err.Error()}
	}
	partial, may := data.Answer.(interface{ lacks() bool })
	lacks = data.Status == http.StatusBadGateway || may && partial.lacks()
	text, err := json.Marshal(data) // without line breaks
	if err != nil {
		text, _ = json.Marshal(eventData{Status: http.StatusInternalServerError, Error: err.Error()}) // as send
	}
	return text, lacks
}

// publish makes a payload the latest one of a topic, and wakes all viewers.
func (h *hub) publish(t *topic, payload []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if bytes.Equal(payload, t.payload) {
		return
	}
	h.last++
	t.number, t.payload = h.last, payload
	close(h.news)
	h.news = make(chan struct{})
}
