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

	"weir/demo/local/libchdb"
	"weir/internal/backoff"
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
	url   string
	cfg   EngineConfig
	key   string // the secret between proxy and ClickHouse
	proxy *http.Server
	lock  *os.File // of the directory, against engines of other processes

	stop context.CancelFunc
	done chan struct{}

	mu       sync.Mutex
	now      *Native // nil while there is none
	restarts int
}

// The first restart is immediate. Without a quiet time behind it, the next ones wait.
const quiet = time.Minute

func pauses() backoff.Backoff[time.Duration] {
	return backoff.Backoff[time.Duration]{First: 100 * time.Millisecond, Most: 5 * time.Second}
}

// StartEngine starts an engine and returns when it answers. The child is this
// program's executable, which must call MaybeChild; it dies with this process,
// even if that is killed. Cancelling ctx stops the start, not a running engine:
// Close does that.
func StartEngine(ctx context.Context, cfg EngineConfig) (*Engine, error) {
	e, err := startEngine(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("local: engine: %w", err)
	}
	return e, nil
}

func startEngine(ctx context.Context, cfg EngineConfig) (*Engine, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	run, stop := context.WithCancel(context.Background())
	e := &Engine{cfg: cfg, key: rand.Text(), stop: stop, done: make(chan struct{})}
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
	<-ctx.Done()
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

// Close stops the engine. Running queries may take up to ten seconds to end;
// Close returns when the child has ended. It can be called again.
func (e *Engine) Close() error {
	e.stop()
	<-e.done
	return nil
}

// supervise watches one child after another until Close.
func (e *Engine) supervise(ctx context.Context) {
	defer close(e.done)
	defer e.lock.Close()
	defer e.proxy.Close()
	pause, last := pauses(), time.Now()
	for c := e.child(); c != nil; c = e.child() {
		select {
		case <-ctx.Done():
			e.drain()
			c.Kill()
			return
		case <-c.Gone:
		}
		c.Kill()
		e.set(nil)
		wait := time.Duration(0)
		if time.Since(last) > quiet {
			pause = pauses()
		} else if e.Restarts() > 0 {
			wait = pause.Next()
		}
		e.restart(ctx, c.why(), wait, &pause)
		last = time.Now()
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

// restart starts a new child after a crash, or none after Close.
func (e *Engine) restart(ctx context.Context, cause error, wait time.Duration, pause *backoff.Backoff[time.Duration]) {
	for {
		e.cfg.Log.Error("engine: crashed; starting it again", "error", cause, "wait", wait)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
		start := time.Now()
		if cause = e.launch(ctx); cause == nil {
			e.mu.Lock()
			e.restarts++
			e.mu.Unlock()
			e.cfg.Log.Warn("engine: back", "url", e.url, "took", time.Since(start).Round(time.Millisecond))
			return
		}
		if ctx.Err() != nil {
			return
		}
		wait = pause.Next()
	}
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
