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

// stuck is how long the flush loop of a running job may make no step before
// /livez fails, so that an orchestrator restarts the process. An insert that
// hangs does not stop the loop: an outage of Kafka or ClickHouse does not fail
// /livez.
const stuck = 30 * time.Second

// connections is the default of HTTP.Connections. Scrapers, dashboards and health
// checks need few; each connection costs about 10 KiB.
const connections = 512

// working is how many requests for metrics the server works on at a time, and how
// many for windows: both cost CPU.
const working = 16

// A Build is what `weir version` knows about the binary.
type Build struct {
	Version  string `json:"version"`
	Revision string `json:"revision"`
	Go       string `json:"go"`
}

// An Audit is the result of the last audit of all jobs.
type Audit struct {
	At         time.Time  `json:"at"`         // when it ended
	Mismatches int        `json:"mismatches"` // all that do not add up
	Found      []Mismatch `json:"found"`      // the first few of the mismatches
}

// A Mismatch is one finding of the audit, and what to do about it.
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
	// Token, if not empty, is the bearer token that requests must carry; the health
	// checks need none, because orchestrators have none.
	Token string
	// Audit returns the last audit, or its zero value if there was none yet. Nil:
	// there are no audits.
	Audit func() Audit
	// RESP returns the counters of the Redis endpoint; nil: there is none.
	RESP func() redis.Stats
	// Connections is how many connections may be open at a time; default 512.
	Connections int
	Log         *slog.Logger // nil: silent

	loopback bool     // the listener is on loopback: see guard
	refused  refusals // requests without the token
}

func (h *HTTP) log() *slog.Logger {
	if h.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return h.Log
}

// Handler returns the handler of all paths.
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

// headerTimeout is how long a client may take to send the header of a request.
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
		_ = s.Shutdown(ctx) // a client that stays connected is cut off when the process ends
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
	}{h.Build, last, h.statuses()}) // an error means that the client has disconnected
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

// livez fails when the flush loop of a job makes no step: a restart helps.
func (h *HTTP) livez(w http.ResponseWriter, _ *http.Request) {
	for _, s := range h.statuses() {
		if s.State == "running" && !s.Beat.IsZero() && time.Since(s.Beat) > stuck {
			http.Error(w, fmt.Sprintf("job %s: its loop has stood for %s", s.Job, time.Since(s.Beat).Round(time.Second)), http.StatusServiceUnavailable)
			return
		}
	}
	fmt.Fprintln(w, "ok")
}

// readyz fails while a job has stopped or has no partitions yet, while the watch
// finds its topic or consumer group at fault, while its last flush failed, while
// its sink does not answer, and while records of its topic wait in a partition
// that no process flushes. A finding of the last audit does not fail it: taking
// the process out of service would repair no row, and its counting and answers
// are as good as before. readyz then answers 200 and names the finding.
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
