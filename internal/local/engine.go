package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"weir/internal/local/libchdb"
)

// FindEngine returns the path of the engine's library; see libchdb.Find for
// where it looks. The error names the remedy, `make engine`.
func FindEngine() (string, error) { return libchdb.Find() }

// Engine is an embedded ClickHouse in a child process. A crash of the engine
// takes the child, not this process; the child is started again on the same
// data and the same address. What was acknowledged before the crash is there
// after it.
type Engine struct {
	url  string
	cfg  EngineConfig
	exe  string
	sock *os.File // the listening socket, kept open across restarts

	stop context.CancelFunc
	done chan struct{}

	mu       sync.Mutex
	pid      int
	restarts int
	err      error // why it is down for good
}

// Bounds of restarting: the first restart is immediate, the wait doubles from
// restartMin to restartMax, and restartLimit crashes without restartForget of
// quiet between them are the end.
const (
	restartMin    = 100 * time.Millisecond
	restartMax    = 5 * time.Second
	restartLimit  = 10
	restartForget = time.Minute
)

// startTimeout is how long a child may take to answer /ping. Loading takes
// about 0.2 s with a warm page cache; a cold one must first read 560 MB.
const startTimeout = 60 * time.Second

// StartEngine starts an engine in a child process and returns when it
// answers. The child is this program's executable, which must call MaybeChild;
// it dies with this process, even if that is killed. Cancelling ctx stops the
// start, not a running engine: Close does that.
func StartEngine(ctx context.Context, cfg EngineConfig) (*Engine, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("local: engine: %w", err)
	}
	// The socket is made here and inherited by every child: the address stays
	// ours between a crash and the restart, and clients that connect meanwhile
	// wait instead of being refused.
	l, err := net.Listen("tcp", cfg.Listen)
	if err != nil {
		return nil, fmt.Errorf("local: engine: %w", err)
	}
	sock, err := l.(*net.TCPListener).File()
	url := "http://" + l.Addr().String()
	l.Close() // sock is a copy and keeps the address
	if err != nil {
		return nil, fmt.Errorf("local: engine: %w", err)
	}
	run, stop := context.WithCancel(context.Background())
	e := &Engine{url: url, cfg: cfg, exe: exe, sock: sock, stop: stop, done: make(chan struct{})}
	ready := make(chan error, 1)
	go e.supervise(run, ready)
	select {
	case err = <-ready:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		e.Close()
		return nil, fmt.Errorf("local: engine: %w", err)
	}
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

// Err is why the engine went down for good, nil after Close.
func (e *Engine) Err() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.err
}

// Close stops the engine, lets running queries end for up to ten seconds, and
// returns when the child is gone.
func (e *Engine) Close() error {
	e.stop()
	<-e.done
	return e.Err()
}

// supervise runs one child after another until stopped or given up.
func (e *Engine) supervise(ctx context.Context, ready chan<- error) {
	defer close(e.done)
	defer e.sock.Close()
	wait, crashes := time.Duration(0), 0
	for first := true; ; first = false {
		start := time.Now()
		c, err := e.spawn()
		if err == nil {
			e.setPid(c.cmd.Process.Pid)
			err = c.await(ctx, e.url)
			if err == nil && first {
				ready <- nil
			}
			if err == nil && !first {
				e.mu.Lock()
				e.restarts++
				e.mu.Unlock()
				e.cfg.Log.Warn("engine: back after a crash", "url", e.url, "took", time.Since(start).Round(time.Millisecond))
			}
			if err == nil {
				select {
				case <-c.gone:
					err = c.err
				case <-ctx.Done():
				}
			}
			if ctx.Err() != nil {
				c.end()
				e.setPid(0)
				return
			}
			c.kill()
			e.setPid(0)
		}
		if first && time.Since(start) < startTimeout && e.neverReady(ready, err) {
			return
		}
		if time.Since(start) > restartForget {
			wait, crashes = 0, 0
		}
		if crashes++; crashes > restartLimit {
			e.fail(fmt.Errorf("the engine crashed %d times in a row, last: %w", crashes, err))
			return
		}
		e.cfg.Log.Error("engine: crashed; starting it again", "error", err, "wait", wait)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
		wait = min(max(2*wait, restartMin), restartMax)
	}
}

// neverReady reports a first start that failed, and says so.
func (e *Engine) neverReady(ready chan<- error, err error) bool {
	select {
	case ready <- err:
	default:
		return false // it was ready, and crashed later
	}
	if err == nil {
		return false
	}
	e.fail(err)
	return true
}

func (e *Engine) fail(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.err = err
	e.cfg.Log.Error("engine: down for good", "error", err)
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
	cmd.Env = append(os.Environ(), childEnv+"="+string(config))
	cmd.ExtraFiles = []*os.File{childListener - 3: e.sock, childLifeline - 3: theirs}
	cmd.Stderr = &relay{log: e.cfg.Log}
	cmd.SysProcAttr = dieWithParent()
	c := &child{cmd: cmd, lifeline: ours, gone: make(chan struct{})}
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
		c.err = cmd.Wait()
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

// await returns when the child answers /ping.
func (c *child) await(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	answered := make(chan error, 1)
	go func() {
		// The socket listens already, so one request waits for the engine.
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/ping", nil)
		if err == nil {
			req.Close = true
			var res *http.Response
			if res, err = http.DefaultTransport.RoundTrip(req); err == nil {
				io.Copy(io.Discard, res.Body)
				res.Body.Close()
			}
		}
		answered <- err
	}()
	select {
	case err := <-answered:
		return err
	case <-c.gone:
		return c.err
	}
}

// end asks the child to finish, and kills it if that takes too long.
func (c *child) end() {
	c.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-c.gone:
	case <-time.After(15 * time.Second):
	}
	c.kill()
}

func (c *child) kill() {
	c.cmd.Process.Kill()
	<-c.gone
	c.lifeline.Close()
}
