package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"weir/internal/child"
	"weir/internal/config"
)

// The jobs of weir up run in a child process, the worker, so that it can be killed with
// signal 9 while broker, engine and traffic go on. The worker is the same command again,
// with the same arguments and environment, so it reads the same configuration.

// workerEnv is the environment variable that makes weir up a worker. It has a workerPlan.
const workerEnv = "WEIR_UP_WORKER"

// The file descriptors that a worker inherits. The listeners stay open while there is no
// worker: clients that connect then wait for the next one.
const (
	workerHTTP = child.First + iota
	workerRESP
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
	cfg.Kafka.Brokers, cfg.ClickHouse.URL = plan.Brokers, plan.ClickHouse
	return runJobs(ctx, cfg, runOptions{log: log, http: web, resp: resp, newEpoch: plan.NewEpoch})
}

// A worker is the child process, and its successors if it is killed.
type worker struct {
	args, env []string
	listeners []*os.File
	err       io.Writer
	log       *slog.Logger
	died      func(context.Context, death) // called for each death; it may take long

	mu  sync.Mutex
	now *child.Process
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
		w.mu.Lock()
		w.now = c
		w.mu.Unlock()
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
		go w.died(ctx, d)
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
	return child.Start(cmd, nil, w.listeners...)
}

// kill ends the worker with signal 9, as a crash or the kernel would. Another one starts.
func (w *worker) kill() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.now != nil {
		w.now.Kill()
	}
}

// answers waits until a worker answers at a URL, or until ctx ends.
func (w *worker) answers(ctx context.Context, url string) error {
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/livez", nil)
		if err != nil {
			return err
		}
		req.Close = true
		res, err := http.DefaultTransport.RoundTrip(req)
		if err == nil {
			return res.Body.Close()
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		case <-time.After(20 * time.Millisecond): // a worker was killed on the way
		}
	}
}
