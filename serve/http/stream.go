package http

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync"
	"time"
)

const (
	// tick is the time between two answers to a question, and poll that between two looks of a
	// viewer for new ones; heartbeat is the time between two signs of life.
	tick      = time.Second
	poll      = tick / 10
	heartbeat = 15 * time.Second

	// A question is asked again after a hundred times as long as its answer took (askEvery), but
	// at the latest after rareTick.
	askEvery = 100
	rareTick = 30 * time.Second

	// viewersMost is how many streams there may be, or half of the connections if that is less.
	viewersMost = 256
	// asksMost is how many questions a stream may have, and questionsMost how many different
	// ones all streams may have: the pages of more than fifty people who look at different things.
	asksMost      = 16
	questionsMost = 512

	// slow is how long a write to a viewer may take before the viewer is dropped.
	slow = 30 * time.Second
	// unsent is how many bytes the kernel holds for a viewer that does not read.
	unsent = 64 << 10
	// atOnce is how many bytes a viewer writes at once.
	atOnce = 32 << 10
)

// writers gather the answers of a second: without one, each answer would take the server
// three writes to the connection. A viewer holds one only while it writes. So viewers that read
// slowly hold at most 8 MiB, all together.
var writers = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, atOnce) }}

// A hub answers the questions of all streams. It answers a question once a second, however
// many viewers ask it, and all of them get the same bytes. Nothing is queued for a viewer. One
// that reads slowly gets the latest answers when it has read the earlier ones. It is dropped if
// one write takes longer than `slow`.
type hub struct {
	endpoints map[string]endpoint
	log       *slog.Logger
	most      int // viewers
	closed    chan struct{}
	close     func() // ends all streams

	mu       sync.Mutex
	viewers  int
	standing map[string]*standing // by the ids of the questions
	last     uint64               // the number of the last answer
}

// A standing question is asked by at least one viewer.
type standing struct {
	call
	viewers int // that ask it
	stop    context.CancelFunc
	number  uint64 // of the latest answer; 0: there is none yet
	payload []byte // of the event: one line of JSON
}

func newHub(endpoints map[string]endpoint, most int, log *slog.Logger) *hub {
	h := &hub{endpoints: endpoints, log: log, most: most, closed: make(chan struct{}), standing: map[string]*standing{}}
	h.close = sync.OnceFunc(func() { close(h.closed) })
	return h
}

// stream answers GET /api/v1/stream?ask=series%3Fjob%3Dclicks&ask=…
func (s *Server) stream(w http.ResponseWriter, r *http.Request) {
	h := s.hub
	questions, err := h.questions(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	asked, err := h.join(questions)
	if err != nil {
		w.Header().Set("Retry-After", "5")
		w.Header().Set("Connection", "close") // it would be held for nothing
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	defer h.leave(asked)
	narrow(r, unsent) // else the kernel takes megabytes
	w.Header().Set("Content-Type", "text/event-stream")
	look := time.NewTicker(poll)
	defer look.Stop()
	sent, seen := time.Now(), uint64(0)
	for texts := [][]byte{[]byte("retry: 1000\n\n")}; ; {
		if len(texts) > 0 {
			if !write(w, texts) {
				return
			}
			sent = time.Now()
		}
		select {
		case <-look.C:
		case <-r.Context().Done():
			return
		case <-h.closed:
			return
		}
		texts, seen = h.after(seen, asked)
		if len(texts) == 0 && time.Since(sent) >= heartbeat {
			texts = [][]byte{[]byte(": heartbeat\n\n")}
		}
	}
}

// write sends texts to a viewer, and reports whether it has taken them in time.
func write(w http.ResponseWriter, texts [][]byte) bool {
	to := http.NewResponseController(w)
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

// questions reads the parameters ask of a request.
func (h *hub) questions(r *http.Request) (all []call, err error) {
	asked, err := parametersOf(r)
	if err != nil {
		return nil, err
	}
	for name := range asked {
		if name != "ask" {
			return nil, fmt.Errorf("%w: stream has no parameter %.64q; it has ask, several times", errQuestion, name)
		}
	}
	if n := len(asked["ask"]); n < 1 || n > asksMost {
		return nil, fmt.Errorf("%w: %d times ask; want 1 to %d", errQuestion, n, asksMost)
	}
	for _, text := range asked["ask"] {
		q, err := parseCall(text)
		if err == nil && h.endpoints[q.path].answer == nil {
			err = errors.New("there is no such path for streams")
		}
		if err != nil {
			return nil, fmt.Errorf("%w: ask=%.64q: %w", errQuestion, text, err)
		}
		all = append(all, q)
	}
	return all, nil
}

// join adds a viewer and returns its questions. It fails if there are too many viewers or
// questions.
func (h *hub) join(questions []call) (asked []*standing, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	missing := 0
	for _, q := range questions {
		if h.standing[q.id()] == nil {
			missing++
		}
	}
	n := len(h.standing)
	switch {
	case h.viewers == h.most:
		return nil, fmt.Errorf("there is no stream for another viewer: %d have one, which is the most; try again when one of them has left", h.most)
	case n+missing > questionsMost:
		return nil, fmt.Errorf("there is no room for another question: all viewers together ask %d different ones, and may ask %d; look at what others look at, or try again later", n, questionsMost)
	}
	h.viewers++
	for _, q := range questions {
		st := h.standing[q.id()]
		if st == nil {
			ctx, stop := context.WithCancel(context.Background())
			st = &standing{call: q, stop: stop}
			h.standing[q.id()] = st
			go h.answer(ctx, st)
		}
		st.viewers++
		asked = append(asked, st)
	}
	return asked, nil
}

// leave removes a viewer, and the questions that no other one asks.
func (h *hub) leave(asked []*standing) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.viewers--
	for _, st := range asked {
		if st.viewers--; st.viewers == 0 {
			st.stop()
			delete(h.standing, st.id())
		}
	}
}

// after returns, in pieces, the events for the answers to a viewer's questions after one of a
// number, and the number of the last one. An event is named after the question's place among
// those that the viewer asks. The payload is no copy, so that viewers that read slowly hold
// little memory.
func (h *hub) after(seen uint64, asked []*standing) (pieces [][]byte, last uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, st := range asked {
		if st.number > seen {
			pieces = append(pieces, fmt.Appendf(nil, "event: ask%d\ndata: ", i), st.payload, []byte("\n\n"))
		}
	}
	return pieces, h.last
}

// answer answers a question until no viewer asks it any more.
func (h *hub) answer(ctx context.Context, st *standing) {
	for {
		began := time.Now()
		payload := h.ask(ctx, st.call)
		if ctx.Err() != nil {
			return
		}
		h.publish(st, payload)
		pause := min(max(tick, askEvery*time.Since(began)), rareTick)
		next := time.Now().Add(pause).Truncate(tick) // so that the answers of a second leave in one write
		select {
		case <-time.After(time.Until(next)):
		case <-ctx.Done():
			return
		case <-h.closed:
			return
		}
	}
}

// An eventData is what an event carries: the answer, or the status and the error that a
// GET would get.
type eventData struct {
	Status int    `json:"status"`
	Answer any    `json:"answer,omitempty"`
	Error  string `json:"error,omitempty"`
}

// ask returns the payload of the answer to a question. If answering panics, the process goes
// on, as it does where net/http handles a request.
func (h *hub) ask(ctx context.Context, q call) (payload []byte) {
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
	payload, err = json.Marshal(data) // without line breaks
	if err != nil {
		payload, _ = json.Marshal(eventData{Status: http.StatusInternalServerError, Error: err.Error()}) // as send
	}
	return payload
}

// publish makes a payload the latest one of a question.
func (h *hub) publish(st *standing, payload []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !bytes.Equal(payload, st.payload) {
		h.last++
		st.number, st.payload = h.last, payload
	}
}
