package local

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"weir/internal/backoff"
	"weir/internal/local/libchdb"
)

// FindEngine returns the path of the engine's library; see libchdb.Find for
// where it looks. The error names the remedy, `make engine`, or says that this
// binary cannot have an engine.
func FindEngine() (string, error) {
	if err := embedded(); err != nil {
		return "", err
	}
	return libchdb.Find()
}

// Engine is an embedded ClickHouse: a Native in a child process, and a proxy in
// front of it. A crash of ClickHouse ends the child, not this process; this process
// starts the child again with the same data. Data that was acknowledged before the
// crash is there after it. The proxy keeps the address, and requests wait meanwhile.
type Engine struct {
	url    string
	cfg    EngineConfig
	policy restarts
	key    string // the secret between proxy and ClickHouse
	proxy  *http.Server
	lock   *os.File // of the directory, against engines of other processes

	stop context.CancelFunc
	done chan struct{}

	mu       sync.Mutex
	now      *Native // nil while there is none
	restarts int
	err      error // why it has stopped for good
}

// restarts bounds restarts: the first is immediate, the others wait. After limit
// crashes without a quiet time between them the engine is not started again.
type restarts struct {
	pause backoff.Backoff[time.Duration]
	quiet time.Duration
	limit int
}

var defaultRestarts = restarts{pause: backoff.Backoff[time.Duration]{First: 100 * time.Millisecond, Most: 5 * time.Second}, quiet: time.Minute, limit: 10}

// StartEngine starts an engine and returns when it answers. The child is this
// program's executable, which must call MaybeChild; it dies with this process,
// even if that is killed. Cancelling ctx stops the start, not a running engine:
// Close does that.
func StartEngine(ctx context.Context, cfg EngineConfig) (*Engine, error) {
	e, err := startEngine(ctx, cfg, defaultRestarts)
	if err != nil {
		return nil, fmt.Errorf("local: engine: %w", err)
	}
	return e, nil
}

func startEngine(ctx context.Context, cfg EngineConfig, policy restarts) (*Engine, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	run, stop := context.WithCancel(context.Background())
	e := &Engine{cfg: cfg, policy: policy, key: rand.Text(), stop: stop, done: make(chan struct{})}
	l, err := net.Listen("tcp", cfg.Listen)
	if err != nil {
		return nil, err
	}
	if e.lock, err = lockDir(cfg.Data, "engine"); err != nil {
		l.Close()
		return nil, err
	}
	config := fmt.Appendf(nil, keyed, e.key, cfg.Memory, cfg.Memory/8)
	if err = os.WriteFile(e.config(), config, 0o600); err == nil {
		err = e.launch(ctx)
	}
	if err != nil {
		e.lock.Close()
		l.Close()
		return nil, err
	}
	e.url = "http://" + l.Addr().String()
	e.proxy = e.newProxy(l.Addr().(*net.TCPAddr).IP.IsLoopback())
	go func() { _ = e.proxy.Serve(l) }() // until supervise ends it
	go e.supervise(run)
	return e, nil
}

// config returns the file of ClickHouse's configuration.
func (e *Engine) config() string { return filepath.Join(e.cfg.Data, "engine.xml") }

// ServeEngine runs an engine until ctx ends. It is the core of `weir engine`.
func ServeEngine(ctx context.Context, cfg EngineConfig) error {
	start := time.Now()
	e, err := StartEngine(ctx, cfg)
	if err != nil {
		return err
	}
	e.cfg.Log.Info("engine: ready", "url", e.url, "data", e.cfg.Data, "took", time.Since(start).Round(time.Millisecond))
	select {
	case <-ctx.Done():
	case <-e.done:
	}
	return e.Close()
}

// URL returns the engine's address, such as http://127.0.0.1:8123. It does not
// change.
func (e *Engine) URL() string { return e.url }

// child returns the child, nil while there is none.
func (e *Engine) child() *Native {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.now
}

// Pid returns the child's process id, 0 while there is none.
func (e *Engine) Pid() int {
	if c := e.child(); c != nil {
		return c.Pid()
	}
	return 0
}

// Restarts counts how often the engine came back after a crash.
func (e *Engine) Restarts() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.restarts
}

// Done is closed when the engine has stopped for good: after Close, or after
// too many crashes. Err tells which.
func (e *Engine) Done() <-chan struct{} { return e.done }

// Err returns the reason why the engine stopped for good; nil while it runs and
// after Close.
func (e *Engine) Err() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.err
}

// Close stops the engine. Running queries may take up to ten seconds to end;
// Close returns when the child has ended. It can be called again.
func (e *Engine) Close() error {
	e.stop()
	<-e.done
	return e.Err()
}

// supervise watches one child after another until Close, or until too many
// crashes.
func (e *Engine) supervise(ctx context.Context) {
	defer close(e.done)
	defer e.lock.Close()
	defer e.proxy.Close()
	crashes, last := 0, time.Now()
	for {
		c := e.child()
		select {
		case <-ctx.Done():
			e.drain()
			c.Kill()
			return
		case <-c.Gone:
		}
		c.Kill()
		e.set(nil)
		if time.Since(last) > e.policy.quiet {
			crashes = 0
		}
		last = time.Now()
		if crashes = e.restart(ctx, c.why(), crashes); e.child() == nil {
			return
		}
	}
}

// drain lets running queries end.
func (e *Engine) drain() {
	grace, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := e.proxy.Shutdown(grace); err != nil {
		e.cfg.Log.Warn("engine: queries were still running at its end", "error", err)
	}
}

// restart starts a new child after a crash. A start that fails counts as a
// crash too. There is none after Close, or after too many crashes.
func (e *Engine) restart(ctx context.Context, cause error, crashes int) int {
	for {
		if crashes++; crashes > e.policy.limit {
			err := fmt.Errorf("local: engine: crashed %d times in a row: %w", crashes, cause)
			e.cfg.Log.Error("engine: down for good", "crashes", crashes, "error", cause)
			e.mu.Lock()
			e.err = err
			e.mu.Unlock()
			return crashes
		}
		wait := e.policy.wait(crashes)
		e.cfg.Log.Error("engine: crashed; starting it again", "error", cause, "wait", wait)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return crashes
		}
		start := time.Now()
		err := e.launch(ctx)
		if err == nil {
			e.mu.Lock()
			e.restarts++
			e.mu.Unlock()
			e.cfg.Log.Warn("engine: back", "url", e.url, "took", time.Since(start).Round(time.Millisecond))
			return crashes
		}
		if ctx.Err() != nil {
			return crashes
		}
		cause = err
	}
}

// wait returns how long to wait after the nth crash in a row.
func (r *restarts) wait(n int) time.Duration {
	if n <= 1 {
		r.pause.Reset()
		return 0
	}
	return r.pause.Next()
}

// launch starts a child, which becomes the present one when it answers. If another program takes
// its port first, it gets another one.
func (e *Engine) launch(ctx context.Context) error {
	for {
		port, err := freePort()
		if err != nil {
			return err
		}
		c, err := startNative(ctx, NativeConfig{
			Data: e.cfg.Data, HTTP: port, Config: e.config(), Settings: e.cfg.Settings, Library: e.cfg.Library, Log: e.cfg.Log,
			alive: e.key, args: []string{"engine", "--data", e.cfg.Data},
		})
		if err == nil {
			e.set(c)
			return nil
		}
		if !strings.Contains(err.Error(), "Address already in use") {
			return err
		}
	}
}

func (e *Engine) set(c *Native) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.now = c
}

// freePort picks a port of loopback below the range of outgoing connections, which could take it
// before ClickHouse does.
func freePort() (int, error) {
	for range 500 {
		port := 15000 + mathrand.IntN(15000)
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			return port, l.Close()
		}
	}
	return 0, errors.New("no port of 127.0.0.1 is free")
}
