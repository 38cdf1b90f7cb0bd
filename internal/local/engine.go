package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"weir/internal/backoff"
	"weir/internal/child"
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

// Engine is an embedded ClickHouse in a child process. A crash of the engine
// ends the child, not this process; this process starts the child again with
// the same data and address. Data that was acknowledged before the crash is
// there after it.
type Engine struct {
	url    string
	cfg    EngineConfig
	policy restarts
	exe    string
	sock   *os.File // the listening socket, kept open across restarts
	lock   *os.File // of the directory, against engines of other processes

	stop context.CancelFunc
	done chan struct{}

	mu       sync.Mutex
	pid      int
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

// startTimeout is how long a child may take to answer /ping. Loading takes
// about 0.2 s if the library is in the page cache; otherwise 560 MB are read
// first, and the machine may be busy.
const startTimeout = 2 * time.Minute

// StartEngine starts an engine in a child process and returns when it
// answers. The child is this program's executable, which must call MaybeChild;
// it dies with this process, even if that is killed. Cancelling ctx stops the
// start, not a running engine: Close does that.
func StartEngine(ctx context.Context, cfg EngineConfig) (*Engine, error) {
	return startEngine(ctx, cfg, defaultRestarts)
}

func startEngine(ctx context.Context, cfg EngineConfig, policy restarts) (*Engine, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	e := &Engine{cfg: cfg, policy: policy, done: make(chan struct{})}
	if e.exe, err = os.Executable(); err != nil {
		return nil, fmt.Errorf("local: engine: %w", err)
	}
	// This process makes the socket and every child inherits it. So the address
	// stays taken between a crash and the restart, and clients that connect
	// meanwhile wait instead of being refused.
	l, err := net.Listen("tcp", cfg.Listen)
	if err != nil {
		return nil, fmt.Errorf("local: engine: %w", err)
	}
	e.url = "http://" + l.Addr().String()
	e.sock, err = l.(*net.TCPListener).File()
	l.Close() // sock is a duplicate and keeps the address
	if err != nil {
		return nil, fmt.Errorf("local: engine: %w", err)
	}
	if e.lock, err = lockDir(cfg.Data, "engine"); err != nil {
		e.sock.Close()
		return nil, fmt.Errorf("local: engine: %w", err)
	}
	c, err := e.launch(ctx)
	if err != nil {
		e.lock.Close()
		e.sock.Close()
		return nil, fmt.Errorf("local: engine: %w", err)
	}
	run, stop := context.WithCancel(context.Background())
	e.stop = stop
	go e.supervise(run, c)
	return e, nil
}

// URL returns the engine's address, such as http://127.0.0.1:8123. It does not
// change.
func (e *Engine) URL() string { return e.url }

// Pid returns the child's process id, 0 while there is none.
func (e *Engine) Pid() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.pid
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
func (e *Engine) supervise(ctx context.Context, c *process) {
	defer close(e.done)
	defer e.lock.Close()
	defer e.sock.Close()
	defer e.setPid(0)
	crashes, last := 0, time.Now()
	for c != nil {
		select {
		case <-ctx.Done():
			c.end()
			return
		case <-c.Gone:
		}
		c.kill()
		e.setPid(0)
		if time.Since(last) > e.policy.quiet {
			crashes = 0
		}
		last = time.Now()
		c, crashes = e.restart(ctx, c.why(), crashes)
	}
}

// restart starts a new child after a crash. A start that fails counts as a
// crash too. It returns nil after Close, or after too many crashes.
func (e *Engine) restart(ctx context.Context, cause error, crashes int) (*process, int) {
	for {
		if crashes++; crashes > e.policy.limit {
			err := fmt.Errorf("local: engine: crashed %d times in a row: %w", crashes, cause)
			e.cfg.Log.Error("engine: down for good", "crashes", crashes, "error", cause)
			e.mu.Lock()
			e.err = err
			e.mu.Unlock()
			return nil, crashes
		}
		wait := e.policy.wait(crashes)
		e.cfg.Log.Error("engine: crashed; starting it again", "error", cause, "wait", wait)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, crashes
		}
		start := time.Now()
		c, err := e.launch(ctx)
		if err == nil {
			e.mu.Lock()
			e.restarts++
			e.mu.Unlock()
			e.cfg.Log.Warn("engine: back", "url", e.url, "took", time.Since(start).Round(time.Millisecond))
			return c, crashes
		}
		if ctx.Err() != nil {
			return nil, crashes
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

// launch starts a child and waits until it answers.
func (e *Engine) launch(ctx context.Context) (*process, error) {
	c, err := e.spawn()
	if err != nil {
		return nil, err
	}
	if err := c.await(ctx, e.url); err != nil {
		c.kill()
		return nil, err
	}
	e.setPid(c.Cmd.Process.Pid)
	return c, nil
}

func (e *Engine) setPid(pid int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.pid = pid
}

// A process is one run of the engine in a child process.
type process struct {
	*child.Process
	said *relay
}

// spawn starts the child.
func (e *Engine) spawn() (*process, error) {
	config, err := json.Marshal(e.cfg)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(e.exe, "engine", "--listen", e.cfg.Listen, "--data", e.cfg.Data)
	cmd.Env = append(environment(), childEnv+"="+string(config))
	said := &relay{log: e.cfg.Log}
	cmd.Stderr = said
	p, err := child.Start(cmd, said.end, e.sock)
	if err != nil {
		return nil, err
	}
	return &process{p, said}, nil
}

// environment is this process's environment without the variables WEIR_…, which
// may hold passwords and tokens: every client of the engine can read the
// engine's environment by file('/proc/self/environ').
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "WEIR_") })
}

// await returns when the child answers /ping. If it does not, await kills the
// child, and the error contains its last output.
func (c *process) await(ctx context.Context, url string) error {
	limited, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	answered := make(chan error, 1)
	go func() {
		// The socket listens already, so one request waits for the engine.
		req, err := http.NewRequestWithContext(limited, http.MethodGet, url+"/ping", nil)
		if err == nil {
			req.Close = true
			var res *http.Response
			if res, err = http.DefaultTransport.RoundTrip(req); err == nil {
				res.Body.Close()
			}
		}
		answered <- err
	}()
	var err error
	select {
	case err = <-answered:
	case <-c.Gone:
		err = errors.New("no answer")
	}
	if err == nil {
		return nil
	}
	// The connection of a child that ends breaks before its exit status is there,
	// so either event may come first. The kill does not change the status of a
	// process that is ending already.
	c.kill()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case limited.Err() != nil:
		return fmt.Errorf("no answer within %s: %w", startTimeout, c.why())
	case c.Cmd.ProcessState.Exited():
		return c.why()
	default: // by a signal, which may be ours
		return fmt.Errorf("%w: %w", err, c.why())
	}
}

// why explains the end of a child: its last output and its exit status.
func (c *process) why() error {
	err := c.Err
	if err == nil {
		err = errors.New("it ended by itself")
	}
	if words := c.said.words(); words != "" {
		return fmt.Errorf("%s (%w)", words, err)
	}
	return err
}

// end asks the child to stop, and kills it if that takes too long.
func (c *process) end() {
	c.Ask()
	select {
	case <-c.Gone:
	case <-time.After(15 * time.Second):
	}
	c.kill()
}

func (c *process) kill() {
	c.Kill()
	<-c.Gone
	c.Close()
}
