package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"weir/config"
	"weir/demo/child"
	httpserver "weir/serve/http"
)

// The jobs of weir up run in a child process, the worker, so that it can be killed with
// signal 9 while broker, engine and traffic go on. The worker is the same command again,
// with the same arguments and environment, so it reads the same configuration.

// workerEnv is the environment variable that makes weir up a worker. It has a workerPlan.
const workerEnv = "WEIR_UP_WORKER"

// The file descriptors that a worker inherits. The listeners stay open while there is no
// worker: clients that connect then wait for the next one. The news are recoveries, as lines of
// JSON.
const (
	workerHTTP = child.First + iota
	workerRESP
	workerNews
	workerLifeline
)

// A workerPlan is what a worker cannot know from the configuration.
type workerPlan struct {
	Brokers    []string
	ClickHouse string
	NewEpoch   bool
}

// runWorker runs the jobs of a configuration as the worker of another process.
func runWorker(text string, cfg *config.Config, log *slog.Logger) error {
	var plan workerPlan
	if err := json.Unmarshal([]byte(text), &plan); err != nil {
		return fmt.Errorf("%s: %w", workerEnv, err)
	}
	ctx := child.Follow(workerLifeline, exitFailed) // broker and engine go with the parent
	web, err := child.Listener(workerHTTP)
	if err != nil {
		return err
	}
	resp, err := child.Listener(workerRESP)
	if err != nil {
		return err
	}
	cfg.Kafka.Brokers, cfg.ClickHouse.URLs = plan.Brokers, []string{plan.ClickHouse}
	return runJobs(ctx, cfg, runOptions{log: log, http: web, resp: resp, newEpoch: plan.NewEpoch, worker: mortal()})
}

// mortal returns what the page may know of this process, a worker, and do to it.
func mortal() *httpserver.Worker {
	var last atomic.Pointer[httpserver.Recovery]
	go func() {
		f := os.NewFile(workerNews, "news")
		defer f.Close()
		for news := json.NewDecoder(f); ; {
			r := &httpserver.Recovery{}
			if news.Decode(r) != nil {
				return // the parent is gone, and this process ends
			}
			last.Store(r)
		}
	}()
	return &httpserver.Worker{Recovery: last.Load, Kill: func() {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL) // cannot fail
		select {}
	}}
}

// A worker is the child process, and its successors if it is killed.
type worker struct {
	args, env []string
	listeners []*os.File
	err       io.Writer
	log       *slog.Logger
	died      func(context.Context, *worker, death) // called for each death; it may take long

	mu   sync.Mutex
	now  *child.Process
	news *os.File            // to now
	last httpserver.Recovery // told last; zero: none
}

// A death is the end of a worker by a signal.
type death struct {
	pid    int
	signal syscall.Signal
	at     time.Time
}

func newWorker(plan workerPlan, listeners ...net.Listener) (*worker, error) {
	text, err := json.Marshal(plan)
	if err != nil {
		return nil, err
	}
	w := &worker{args: os.Args[1:], env: append(os.Environ(), workerEnv+"="+string(text)), err: os.Stderr}
	for _, l := range listeners {
		f, err := l.(*net.TCPListener).File()
		if err != nil {
			w.close()
			return nil, err
		}
		w.listeners = append(w.listeners, f)
	}
	return w, nil
}

func (w *worker) close() {
	for _, f := range w.listeners {
		f.Close()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.news != nil {
		w.news.Close()
	}
}

// shortLife is how long a worker must have run to be started again at once.
const shortLife = 3 * time.Second

// run keeps a worker until ctx ends, and then lets it drain. It starts another one when a
// signal has ended it. If the worker ends by itself, run returns why.
func (w *worker) run(ctx context.Context) error {
	for {
		began := time.Now()
		c, err := w.start()
		if err != nil {
			return fmt.Errorf("the worker: %w", err)
		}
		select {
		case <-c.Gone:
		case <-ctx.Done():
			c.Ask()
			<-c.Gone
		}
		c.Close()
		state, _ := c.Cmd.ProcessState.Sys().(syscall.WaitStatus)
		switch {
		case state.Signaled() && ctx.Err() != nil:
			return &exit{exitUnflushed, fmt.Errorf("the worker was ended by signal %d before it had drained; the next start counts the rest", state.Signal()), ""}
		case !state.Signaled() && state.ExitStatus() != 0:
			return &exit{state.ExitStatus(), fmt.Errorf("the worker, process %d, has ended: see above", c.Cmd.Process.Pid), ""}
		case !state.Signaled():
			return nil
		}
		d := death{c.Cmd.Process.Pid, state.Signal(), time.Now()}
		w.log.Warn("the worker was killed; another one starts", "pid", d.pid, "signal", int(d.signal))
		go w.died(ctx, w, d)
		if d.at.Sub(began) < shortLife {
			select {
			case <-time.After(shortLife):
			case <-ctx.Done():
			}
		}
	}
}

func (w *worker) start() (*child.Process, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(exe, w.args...)
	cmd.Env, cmd.Stderr = w.env, w.err
	theirs, ours, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	c, err := child.Start(cmd, nil, append(slices.Clone(w.listeners), theirs)...)
	if err != nil {
		ours.Close()
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.news != nil {
		w.news.Close()
	}
	w.now, w.news = c, ours
	if !w.last.At.IsZero() {
		w.pass()
	}
	return c, nil
}

// tell tells the worker, and those after it, how a recovery goes. Of an earlier death than the
// last one it tells nothing.
func (w *worker) tell(r httpserver.Recovery) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r.At.Before(w.last.At) {
		return
	}
	w.last = r
	w.pass()
}

// pass writes the last recovery to the worker. The caller holds the lock.
func (w *worker) pass() {
	_ = json.NewEncoder(w.news).Encode(w.last) // an error means that the worker has ended
}

// kill ends the worker with signal 9, as a crash or the kernel would. Another one starts.
func (w *worker) kill() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.now != nil {
		w.now.Kill()
	}
}
