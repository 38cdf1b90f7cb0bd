package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"weir/jobs"
	"weir/serve/live"
	"weir/serve/redis"
)

// stuck is how long a running job's flush loop may stand before /livez says
// that a restart would help. An insert that hangs does not stop the loop, so
// an outage of Kafka or ClickHouse never makes a process look dead.
const stuck = 30 * time.Second

// connections is how many clients may hang on at a time, unless it is said
// otherwise. Scrapers, dashboards and health checks are some; each costs some
// 10 KiB.
const connections = 512

// working is how many requests that cost something, of metrics or of windows,
// are worked on at a time, each kind by itself.
const working = 16

// A Build is what `weir version` knows about the binary.
type Build struct {
	Version  string `json:"version"`
	Revision string `json:"revision"`
	Go       string `json:"go"`
}

// An Audit is the outcome of the last audit of all jobs.
type Audit struct {
	At         time.Time  `json:"at"`         // when it ended
	Mismatches int        `json:"mismatches"` // all that do not add up
	Found      []Mismatch `json:"found"`      // the first of these
}

// A Mismatch is one thing that does not add up, and what to do about it.
type Mismatch struct {
	Job  string `json:"job"`
	What string `json:"what"`
	Do   string `json:"do"`
}

// HTTP answers /metrics, /livez, /readyz, /api/v1/status and /api/v1/query.
type HTTP struct {
	Jobs []*jobs.Job
	// Windows answers queries; nil: there is no /api/v1/query.
	Windows *live.Windows
	Build   Build
	// Token, if not empty, must come as a bearer token; the health checks
	// need none, because what asks them has none.
	Token string
	// Audit is what the last audit found; its zero value: there was none. Nil is
	// the same.
	Audit func() Audit
	// RESP is what the Redis endpoint tells of itself; nil: there is none.
	RESP func() redis.Stats
	// Connections is how many clients may hang on at a time; default 512.
	Connections int
	Log         *slog.Logger // nil: silent

	loopback bool     // the listener is: see guard
	refused  refusals // requests without the token
}

func (h *HTTP) log() *slog.Logger {
	if h.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return h.Log
}

// Handler is the whole of it.
func (h *HTTP) Handler() http.Handler {
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), &collector{h})
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", h.guard(atMost(working, promhttp.HandlerFor(reg, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError}))))
	mux.Handle("GET /api/v1/status", h.guard(http.HandlerFunc(h.status)))
	if h.Windows != nil {
		mux.Handle("GET /api/v1/query", h.guard(atMost(working, http.HandlerFunc(h.queryKey))))
	}
	mux.HandleFunc("GET /livez", h.livez)
	mux.HandleFunc("GET /readyz", h.readyz)
	mux.Handle("GET /{$}", h.guard(http.HandlerFunc(h.index)))
	return mux
}

// headerTimeout is how long a client may take to send a request's header.
const headerTimeout = 5 * time.Second

// Serve answers on l until ctx ends, then lets requests in progress finish,
// for 2 s at most.
func (h *HTTP) Serve(ctx context.Context, l net.Listener) error {
	h.loopback = onLoopback(l)
	c := newCrowd(cmp.Or(h.Connections, connections))
	s := &http.Server{
		Handler:           c.answering(h.Handler()),
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
		ConnState:         c.state,
		ConnContext:       c.context,
		ErrorLog:          slog.NewLogLogger(h.log().Handler(), slog.LevelWarn),
	}
	down := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(down)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		_ = s.Shutdown(ctx) // a client that hangs on is cut off with the process
	})
	defer stop()
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("http: %w", err)
	}
	<-down // Serve does not wait for what Shutdown waits for
	return nil
}

func (h *HTTP) index(w http.ResponseWriter, _ *http.Request) {
	fmt.Fprint(w, "weir ", h.Build.Version, "\n\n/metrics\n/livez\n/readyz\n/api/v1/status\n/api/v1/query?key=w:JOB:MEASURE:now\n")
}

func (h *HTTP) status(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	var last *Audit
	if a := h.audit(); !a.At.IsZero() {
		last = &a
	}
	_ = e.Encode(struct {
		Build Build         `json:"build"`
		Audit *Audit        `json:"audit,omitempty"`
		Jobs  []jobs.Status `json:"jobs"`
	}{h.Build, last, h.statuses()}) // the client went away: nobody to tell
}

func (h *HTTP) audit() Audit {
	if h.Audit == nil {
		return Audit{}
	}
	return h.Audit()
}

func (h *HTTP) statuses() []jobs.Status {
	s := make([]jobs.Status, len(h.Jobs))
	for i, j := range h.Jobs {
		s[i] = j.Status()
	}
	return s
}

// livez fails when a restart would help.
func (h *HTTP) livez(w http.ResponseWriter, _ *http.Request) {
	for _, s := range h.statuses() {
		if s.State == "running" && !s.Beat.IsZero() && time.Since(s.Beat) > stuck {
			http.Error(w, fmt.Sprintf("job %s: its loop has stood for %s", s.Job, time.Since(s.Beat).Round(time.Second)), http.StatusServiceUnavailable)
			return
		}
	}
	fmt.Fprintln(w, "ok")
}

// readyz fails while a job has stopped or has no partitions yet, its topic or
// its consumer group is not as it should be, its last flush failed, its sink does
// not answer, or records of its topic wait that nothing is flushed of, whatever
// should read them. What the last audit found it says beside its 200: a process
// that is taken out of service mends no row, and its answers and its counting are
// as good as before.
func (h *HTTP) readyz(w http.ResponseWriter, _ *http.Request) {
	for _, s := range h.statuses() {
		switch {
		case s.Error != "":
			http.Error(w, fmt.Sprintf("job %s: %s: %s", s.Job, s.State, s.Error), http.StatusServiceUnavailable)
			return
		case s.Group != "":
			http.Error(w, fmt.Sprintf("job %s: %s: %s", s.Job, s.State, s.Group), http.StatusServiceUnavailable)
			return
		case s.State != "running":
			http.Error(w, fmt.Sprintf("job %s: %s", s.Job, s.State), http.StatusServiceUnavailable)
			return
		case s.LastError != "":
			http.Error(w, fmt.Sprintf("job %s: the last flush failed: %s", s.Job, s.LastError), http.StatusServiceUnavailable)
			return
		case s.SinkError != "":
			http.Error(w, fmt.Sprintf("job %s: the ledger cannot be read: %s", s.Job, s.SinkError), http.StatusServiceUnavailable)
			return
		case s.Uncounted != nil:
			http.Error(w, fmt.Sprintf("job %s: %v", s.Job, s.Uncounted), http.StatusServiceUnavailable)
			return
		}
	}
	fmt.Fprintln(w, "ok")
	if a := h.audit(); a.Mismatches > 0 {
		fmt.Fprintf(w, "but the audit of %s found %d mismatches: see /api/v1/status, or run weir verify\n", a.At.UTC().Format(time.RFC3339), a.Mismatches)
	}
}
