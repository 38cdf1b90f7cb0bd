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
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"weir/internal/local/libchdb"
)

// FindEngine returns the path of the engine's library; see libchdb.Find for
// where it looks. The error names the remedy, `make engine`, or says that this
// binary is of those that cannot have an engine.
func FindEngine() (string, error) {
	if err := embedded(); err != nil {
		return "", err
	}
	return libchdb.Find()
}

// Engine is an embedded ClickHouse in a child process. A crash of the engine
// takes the child, not this process; the child is started again on the same
// data and the same address. What was acknowledged before the crash is there
// after it.
type Engine struct {
	url    string
	cfg    EngineConfig
	policy restarts
	exe    string
	sock   *os.File // the listening socket, kept open across restarts

	stop context.CancelFunc
	done chan struct{}

	mu       sync.Mutex
	pid      int
	restarts int
	err      error // why it is down for good
}

// restarts bounds restarting: the first one is immediate, the wait then
// doubles from min to max, and limit crashes without a quiet time between
// them are the end.
type restarts struct {
	min, max, quiet time.Duration
	limit           int
}

var defaultRestarts = restarts{min: 100 * time.Millisecond, max: 5 * time.Second, quiet: time.Minute, limit: 10}

// startTimeout is how long a child may take to answer /ping. Loading takes
// about 0.2 s with a warm page cache; a cold one must first read 560 MB, and
// a machine may have other things to do.
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
	// The socket is made here and inherited by every child: the address stays
	// ours between a crash and the restart, and clients that connect meanwhile
	// wait instead of being refused.
	l, err := net.Listen("tcp", cfg.Listen)
	if err != nil {
		return nil, fmt.Errorf("local: engine: %w", err)
	}
	e.url = "http://" + l.Addr().String()
	e.sock, err = l.(*net.TCPListener).File()
	l.Close() // sock is a copy and keeps the address
	if err != nil {
		return nil, fmt.Errorf("local: engine: %w", err)
	}
	c, err := e.launch(ctx)
	if err != nil {
		e.sock.Close()
		return nil, fmt.Errorf("local: engine: %w", err)
	}
	run, stop := context.WithCancel(context.Background())
	e.stop = stop
	go e.supervise(run, c)
	return e, nil
}

// URL is where the engine answers, such as http://127.0.0.1:8123. It does not
// change.
func (e *Engine) URL() string { return e.url }

// Pid is the child's process id, 0 while there is none.
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

// Done is closed when the engine is down for good: after Close, or when it
// crashed too often. Err tells which.
func (e *Engine) Done() <-chan struct{} { return e.done }

// Err is why the engine went down for good; nil while it runs and after Close.
func (e *Engine) Err() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.err
}

// Close stops the engine, lets running queries end for up to ten seconds, and
// returns when the child is gone. It can be called again.
func (e *Engine) Close() error {
	e.stop()
	<-e.done
	return e.Err()
}

// supervise watches one child after another until stopped or given up.
func (e *Engine) supervise(ctx context.Context, c *child) {
	defer close(e.done)
	defer e.sock.Close()
	defer e.setPid(0)
	crashes, last := 0, time.Now()
	for c != nil {
		select {
		case <-ctx.Done():
			c.end()
			return
		case <-c.gone:
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

// restart brings up a new child after a crash, or after a number of attempts
// that count as crashes as well. It returns nil when stopped or given up.
func (e *Engine) restart(ctx context.Context, cause error, crashes int) (*child, int) {
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

// wait is how long to wait after the nth crash in a row.
func (r restarts) wait(n int) time.Duration {
	if n <= 1 {
		return 0
	}
	return min(r.max, r.min<<min(n-2, 20))
}

// launch starts a child and waits until it answers.
func (e *Engine) launch(ctx context.Context) (*child, error) {
	c, err := e.spawn()
	if err != nil {
		return nil, err
	}
	if err := c.await(ctx, e.url); err != nil {
		c.kill()
		return nil, err
	}
	e.setPid(c.cmd.Process.Pid)
	return c, nil
}

func (e *Engine) setPid(pid int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.pid = pid
}

// child is one run of the engine's process.
type child struct {
	cmd      *exec.Cmd
	lifeline *os.File // our end; closing it ends the child
	said     *relay
	gone     chan struct{}
	err      error // why it ended; read after gone
}

// spawn starts the child.
func (e *Engine) spawn() (*child, error) {
	config, err := json.Marshal(e.cfg)
	if err != nil {
		return nil, err
	}
	theirs, ours, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(e.exe, "engine", "--listen", e.cfg.Listen, "--data", e.cfg.Data)
	cmd.Env = append(environment(), childEnv+"="+string(config))
	cmd.ExtraFiles = []*os.File{childListener - 3: e.sock, childLifeline - 3: theirs}
	said := &relay{log: e.cfg.Log}
	cmd.Stderr = said
	cmd.SysProcAttr = dieWithParent()
	c := &child{cmd: cmd, lifeline: ours, said: said, gone: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		// dieWithParent watches the thread that forked, not the process. Locked,
		// the thread lives until the child is gone; without the lock Go could
		// end it and thereby kill a healthy engine.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := cmd.Start(); err != nil {
			started <- err
			return
		}
		started <- nil
		c.err = cmd.Wait() // after its stderr was read to the end
		said.end()
		if c.err == nil {
			c.err = errors.New("it ended by itself")
		}
		close(c.gone)
	}()
	err = <-started
	theirs.Close()
	if err != nil {
		ours.Close()
		return nil, err
	}
	return c, nil
}

// environment is this process's without what concerns weir alone: passwords
// and tokens may stand in WEIR_…, and whoever reaches the engine can read its
// environment by file('/proc/self/environ').
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "WEIR_") })
}

// await returns when the child answers /ping. If it does not, the child is
// gone on return, and the error has its last words.
func (c *child) await(ctx context.Context, url string) error {
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
	case <-c.gone:
		err = errors.New("no answer")
	}
	if err == nil {
		return nil
	}
	// A child that ends breaks the connection before it can be waited for, so
	// either event may be seen first. The kernel keeps the status of a process
	// that is ending already: the kill does not hide it.
	c.kill()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case limited.Err() != nil:
		return fmt.Errorf("no answer within %s: %w", startTimeout, c.why())
	case c.cmd.ProcessState.Exited():
		return c.why()
	default: // by a signal, which may be ours
		return fmt.Errorf("%w: %w", err, c.why())
	}
}

// why explains a child that is gone: its last words and its exit.
func (c *child) why() error {
	if words := c.said.words(); words != "" {
		return fmt.Errorf("%s (%w)", words, c.err)
	}
	return c.err
}

// end asks the child to finish, and kills it if that takes too long.
func (c *child) end() {
	_ = c.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-c.gone:
	case <-time.After(15 * time.Second):
	}
	c.kill()
}

func (c *child) kill() {
	_ = c.cmd.Process.Kill() // an error means that it is gone already
	<-c.gone
	c.lifeline.Close()
}
