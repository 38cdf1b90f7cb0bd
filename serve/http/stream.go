package http

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strconv"
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
	// lackEvery is that of a question for which ClickHouse was waited for in vain: that it took more
	// than a second says nothing about what an answer costs.
	lackEvery = 2
	// share is how much of the time the answers to all questions may take together; most of it is
	// ClickHouse's. If they would take more, all are asked less often in the same measure, so
	// that very many different questions are answered later, and not refused.
	share = 0.5

	// viewersMost is how many streams there may be; half of the connections if that is
	// less.
	viewersMost = 256
	// asksMost is how many questions a stream may have, and topicsMost how many different
	// ones all streams may have: the pages of more than fifty people of whom no two look at the same.
	asksMost   = 16
	topicsMost = 512

	// slow is how long a write to a viewer may take before the viewer is dropped.
	slow = 30 * time.Second
	// patience is how long a question waits for the one before it.
	patience = 250 * time.Millisecond
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
// ones, and is dropped if one write takes longer than `slow`. A viewer too many waits for a
// place.
type hub struct {
	endpoints map[string]endpoint
	run       string // of ids: names this hub among those of earlier processes
	log       *slog.Logger

	places chan struct{} // has an element for each viewer
	turn   chan struct{} // full while a question is answered: see queue

	mu     sync.Mutex
	topics map[string]*topic
	demand float64 // of all topics
	last   uint64  // the id of the last answer
	closed chan struct{}
}

// A topic is a question and its latest answer.
type topic struct {
	question
	asked   map[*viewer]bool // the viewers that ask it
	stop    context.CancelFunc
	demand  float64 // how much of the time its answers take, if it is asked as often as it may be
	latest  uint64  // the id of the answer; 0: there is none yet
	payload []byte  // of the event: one line of JSON
}

// A viewer is one stream.
type viewer struct {
	topics []*topic
	seen   uint64        // it has every answer up to this id
	wake   chan struct{} // has an element if there may be something to write
}

func newHub(endpoints map[string]endpoint, most int, log *slog.Logger) *hub {
	var run [6]byte
	_, _ = rand.Read(run[:]) // never fails
	return &hub{endpoints: endpoints, run: hex.EncodeToString(run[:]), log: log, places: make(chan struct{}, most), turn: make(chan struct{}, 1), topics: map[string]*topic{}, closed: make(chan struct{})}
}

// close ends all streams.
func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case <-h.closed:
	default:
		close(h.closed)
	}
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
	begin := func(texts ...[]byte) bool {
		narrow(r, unsent) // else the kernel takes megabytes
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusOK)
		return send(append([][]byte{[]byte("retry: 1000\n\n")}, texts...)...)
	}
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	waited := false
	select {
	case h.places <- struct{}{}:
	default:
		waited = true
		busy := idle(r) // before the event says that it waits
		placed := begin(h.full()) && h.wait(r, func() bool { return send(heart) }, beat.C)
		busy()
		if !placed {
			return
		}
	}
	defer func() { <-h.places }()
	v, err := h.join(questions, r.Header.Get("Last-Event-ID"))
	switch {
	case err != nil && !waited:
		w.Header().Set("Retry-After", "5")
		w.Header().Set("Connection", "close") // it would be held for nothing
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	case err != nil:
		return // when it comes again, it is told why
	}
	defer h.leave(v)
	if !waited && !begin() {
		return
	}
	for {
		select {
		case <-v.wake:
			time.Sleep(gather)
			select {
			case <-v.wake: // for what came meanwhile
			default:
			}
			if news := h.news(v); len(news) > 0 && !send(news...) {
				return
			}
		case <-beat.C:
			if !send(heart) {
				return
			}
		case <-r.Context().Done():
			return
		case <-h.closed:
			return
		}
	}
}

// heart is a sign of life.
var heart = []byte(": heartbeat\n\n")

// full returns the event for a viewer that waits.
func (h *hub) full() []byte {
	text, _ := json.Marshal(eventData{Status: http.StatusServiceUnavailable, Error: fmt.Sprintf("%d viewers have a stream already, as many as may: this one waits until one of them leaves", cap(h.places))})
	return fmt.Appendf(nil, "event: wait\ndata: %s\n\n", text)
}

// wait waits for a place and takes it; it returns false if the viewer has gone. Its connection may
// be closed for another one meanwhile. To refuse it would cost more: it would come again and
// again.
func (h *hub) wait(r *http.Request, alive func() bool, beat <-chan time.Time) bool {
	for {
		select {
		case h.places <- struct{}{}:
			return true
		case <-beat:
			if !alive() {
				return false
			}
		case <-r.Context().Done():
			return false
		case <-h.closed:
			return false
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

// errEnds is the reason why a process that ends takes no viewers.
var errEnds = errors.New("this process ends")

// join adds a viewer, which has a place, and has everything up to the event of that id. It is an
// error if there are too many questions.
func (h *hub) join(questions []question, lastID string) (*viewer, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case <-h.closed:
		return nil, errEnds
	default:
	}
	seen := uint64(0)
	if run, n, ok := strings.Cut(lastID, "."); ok && run == h.run {
		seen, _ = strconv.ParseUint(n, 10, 64) // 0 if it is no number
	}
	missing := map[string]bool{}
	for _, q := range questions {
		if id := q.id(); h.topics[id] == nil {
			missing[id] = true
		}
	}
	if n := len(h.topics); n+len(missing) > topicsMost {
		return nil, fmt.Errorf("all viewers together ask %d different questions already, and may ask %d: look at what others look at, or try again later", n, topicsMost)
	}
	v := &viewer{seen: seen, wake: make(chan struct{}, 1)}
	for _, q := range questions {
		id := q.id()
		t := h.topics[id]
		if t == nil {
			ctx, stop := context.WithCancel(context.Background())
			t = &topic{question: q, asked: map[*viewer]bool{}, stop: stop}
			h.topics[id] = t
			go h.answer(ctx, t)
		}
		t.asked[v] = true
		v.topics = append(v.topics, t)
	}
	v.wakeUp()
	return v, nil
}

// id is the same for equal questions.
func (q question) id() string { return q.path + "?" + q.Encode() }

func (v *viewer) wakeUp() {
	select {
	case v.wake <- struct{}{}:
	default:
	}
}

// leave removes a viewer, and the topics that no other one asks.
func (h *hub) leave(v *viewer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range v.topics {
		if delete(t.asked, v); len(t.asked) == 0 {
			t.stop()
			delete(h.topics, t.question.id())
			h.demand -= t.demand
		}
	}
}

// news returns the events that a viewer does not have yet, in pieces. An event is named
// after the question's place among those that the viewer asks. The events are in the order
// of their ids: a client whose connection breaks between two of them names the last one that
// it has, and gets all that follow. The payload is that of the topic and no copy, so that
// viewers that read slowly hold little memory.
func (h *hub) news(v *viewer) (pieces [][]byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	places := make([]int, 0, asksMost)
	for i, t := range v.topics {
		if t.latest > v.seen {
			places = append(places, i)
		}
	}
	slices.SortStableFunc(places, func(a, b int) int { return cmp.Compare(v.topics[a].latest, v.topics[b].latest) })
	for _, i := range places {
		t := v.topics[i]
		head := fmt.Sprintf("id: %s.%d\nevent: ask%d\ndata: ", h.run, t.latest, i)
		pieces = append(pieces, []byte(head), t.payload, []byte("\n\n"))
	}
	v.seen = h.last
	return pieces
}

// answer answers the question of a topic until no viewer asks it any more.
func (h *hub) answer(ctx context.Context, t *topic) {
	for {
		began := time.Now()
		done := h.queue(ctx)
		asked := time.Now()
		payload, lacks := h.ask(ctx, t.question)
		took := time.Since(asked)
		done()
		if ctx.Err() != nil {
			return
		}
		h.publish(t, payload)
		// Whole seconds, so that the answers of a second leave in one write.
		next := time.Now().Add(h.pause(t, took, lacks)).Truncate(tick)
		if !next.After(began.Add(tick / 2)) {
			next = next.Add(tick)
		}
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
func (h *hub) pause(t *topic, took time.Duration, lacks bool) time.Duration {
	own := min(max(tick, askEvery*took), rareTick)
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(t.asked) == 0 {
		return own // it has left, and is not asked again
	}
	h.demand -= t.demand
	t.demand = float64(took) / float64(own)
	h.demand += t.demand
	if lacks && took > tick {
		return min(lackEvery*took, rareTick)
	}
	return min(time.Duration(float64(own)*max(1, h.demand/share)), rareTick)
}

// queue waits until the question before is answered, but not for long: one that hangs holds up
// no other. Questions that are answered at the same time wait for each other in ClickHouse, and
// each would seem dearer than it is.
func (h *hub) queue(ctx context.Context) (done func()) {
	select {
	case h.turn <- struct{}{}:
		return func() { <-h.turn }
	case <-time.After(patience):
	case <-ctx.Done():
	}
	return func() {}
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

// publish makes a payload the latest one of a topic, and wakes its viewers.
func (h *hub) publish(t *topic, payload []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if bytes.Equal(payload, t.payload) {
		return
	}
	h.last++
	t.latest, t.payload = h.last, payload
	for v := range t.asked {
		v.wakeUp()
	}
}
