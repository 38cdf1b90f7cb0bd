package http

import (
	"cmp"
	"context"
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
	"weir/serve/page"
)

// connectionsMost is the default of Server.Connections. Scrapers, dashboards and health
// checks need few; each connection costs about 10 KiB.
const connectionsMost = 512

// requestsMost is how many requests for metrics the server answers at a time, and how
// many for windows: both cost CPU.
const requestsMost = 16

// Server answers the page at /, /metrics, /livez, /readyz and the paths below /api/v1/.
type Server struct {
	Jobs []*jobs.Job
	// Windows answers queries; nil: there is no /api/v1/query.
	Windows *live.Windows
	Build   Build
	// Token, if not empty, is the bearer token that requests must carry; the health
	// checks need none, because orchestrators have none.
	Token string
	// Audit returns the last audit, with a zero At if there was none yet. Nil: there
	// are no audits.
	Audit func() Audit
	// K withholds groups and cells of the map with fewer people; 0: none. See private.go.
	K int
	// Dead returns the last n dead letters of a job, in any order; nil: there are none.
	Dead func(ctx context.Context, job string, n int) ([]DeadLetter, error)
	// SQL returns a SELECT that answers a question, "" if there is none; nil: there is none
	// for any.
	SQL func(Statement) string
	// IDs answers questions about ids over several windows; nil: they have no answer.
	IDs IDs
	// Rollups answers questions about long ranges and old windows; nil: package live answers all
	// that it can.
	Rollups Rollups
	// Process is this process as weir up has started it; nil: it has not, and there is no path
	// that kills it.
	Process *Process
	// Redis is the address of the Redis endpoint; empty: there is none.
	Redis string
	// RESP returns the counters of the Redis endpoint; nil: there is none.
	RESP func() RESP
	// Connections is how many connections may be open at a time; default 512.
	Connections int
	Log         *slog.Logger // nil: silent

	loopback bool          // the listener is on loopback: see guard
	refused  refusals      // requests without the token
	hub      *hub          // of the streams; nil before Handler
	answerIn time.Duration // in place of answerTimeout, for tests
}

func (s *Server) log() *slog.Logger {
	if s.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return s.Log
}

// routes returns the handlers by their patterns. It begins the streams.
func (s *Server) routes() map[string]http.Handler {
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), &collector{s})
	all := map[string]http.Handler{
		"GET /metrics":       s.guard(atMost(requestsMost, promhttp.HandlerFor(reg, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError}))),
		"GET /api/v1/status": s.guard(http.HandlerFunc(s.status)),
		"GET /livez":         http.HandlerFunc(s.livez),
		"GET /readyz":        http.HandlerFunc(s.readyz),
		"GET /{$}":           s.open(http.HandlerFunc(page.Serve)),
		"GET /page/":         s.open(http.HandlerFunc(page.Serve)),
	}
	if s.Windows == nil {
		return all
	}
	endpoints := s.endpoints()
	s.hub = newHub(endpoints, min(viewersMost, cmp.Or(s.Connections, connectionsMost)/2), s.log())
	for name := range endpoints {
		all["GET /api/v1/"+name] = s.guard(atMost(requestsMost, s.api(name)))
	}
	all["GET /api/v1/query"] = s.guard(atMost(requestsMost, http.HandlerFunc(s.query)))
	all["GET /api/v1/stream"] = s.guard(http.HandlerFunc(s.stream))
	all["GET /api/v1/openapi.json"] = s.guard(http.HandlerFunc(s.openAPI))
	all["POST /api/v1/session"] = s.guard(http.HandlerFunc(s.session))
	if s.Process != nil {
		all["POST /api/v1/kill"] = s.guard(http.HandlerFunc(s.kill))
	}
	return all
}

// Handler returns the handler of all paths.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	for pattern, h := range s.routes() {
		mux.Handle(pattern, h)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// An answer is of this moment, and some are private: no cache may keep one. The page sets
		// its own.
		w.Header().Set("Cache-Control", "no-store")
		mux.ServeHTTP(w, r)
	})
}

// headerTimeout is how long a client may take to send the header of a request.
const headerTimeout = 5 * time.Second

// writeTimeout closes a connection whose request has no answer. A question may take
// answerTimeout, which is shorter, so the client gets an answer.
const (
	writeTimeout  = 30 * time.Second
	answerTimeout = 25 * time.Second
)

// errAnswerTimeout is why a question is given up.
var errAnswerTimeout = errors.New("ClickHouse is slow, or the question is too large: ask for a shorter range")

// inTime answers a question with f, or with an error if that takes too long.
func (s *Server) inTime(ctx context.Context, f func(ctx context.Context) error) error {
	most := cmp.Or(s.answerIn, answerTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, most, errAnswerTimeout)
	defer cancel()
	err := f(ctx)
	if err != nil && errors.Is(context.Cause(ctx), errAnswerTimeout) {
		return fmt.Errorf("no answer within %s: %w", most, errAnswerTimeout)
	}
	return err
}

// Serve answers on l until ctx ends, and then until the requests in progress are
// answered, for 2 s at most.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	s.loopback = onLoopback(l)
	c := newConnections(cmp.Or(s.Connections, connectionsMost))
	server := &http.Server{
		Handler:           c.answering(s.Handler()),
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
		ConnState:         c.state,
		ConnContext:       c.context,
		ErrorLog:          slog.NewLogLogger(s.log().Handler(), slog.LevelWarn),
	}
	if s.hub != nil {
		server.RegisterOnShutdown(s.hub.close)
	}
	down := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(down)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		_ = server.Shutdown(ctx) // a client that stays connected is cut off when the process ends
	})
	defer stop()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("http: %w", err)
	}
	<-down // Serve does not wait for what Shutdown waits for
	return nil
}
