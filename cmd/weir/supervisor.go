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

// The jobs of weir up run in a child process, which can be killed with
// signal 9 while broker, engine and traffic go on. The child is the same command again,
// with the same arguments and environment, so it reads the same configuration.

// processEnv is the environment variable that makes weir up such a child. It has a processPlan.
const processEnv = "WEIR_UP_PROCESS"

// The file descriptors that a child inherits. The listeners stay open while there is no
// child: clients that connect then wait for the next one. The news are recoveries, as lines of
// JSON.
const (
	processHTTP = child.First + iota
	processRESP
	processNews
	processLifeline
)

// A processPlan is what a child cannot know from the configuration.
type processPlan struct {
	Brokers    []string
	ClickHouse string
	NewEpoch   bool
}

// runProcess runs the jobs of a configuration as the child of another process.
func runProcess(text string, cfg *config.Config, log *slog.Logger) error {
	var plan processPlan
	if err := json.Unmarshal([]byte(text), &plan); err != nil {
		return fmt.Errorf("%s: %w", processEnv, err)
	}
	ctx := child.Follow(processLifeline, exitFailed) // broker and engine go with the parent
	web, err := child.Listener(processHTTP)
	if err != nil {
		return err
	}
	resp, err := child.Listener(processRESP)
	if err != nil {
		return err
	}
	cfg.Kafka.Brokers, cfg.ClickHouse.URLs = plan.Brokers, []string{plan.ClickHouse}
	return runJobs(ctx, cfg, runOptions{log: log, http: web, resp: resp, newEpoch: plan.NewEpoch, process: newProcess()})
}

// newProcess returns what the page may know of this process, a child, and do to it.
func newProcess() *httpserver.Process {
	var last atomic.Pointer[httpserver.Recovery]
	go func() {
		f := os.NewFile(processNews, "news")
		defer f.Close()
		for news := json.NewDecoder(f); ; {
			r := &httpserver.Recovery{}
			if news.Decode(r) != nil {
				return // the parent is gone, and this process ends
			}
			last.Store(r)
		}
	}()
	return &httpserver.Process{Recovery: last.Load, Kill: func() {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL) // cannot fail
		select {}
	}}
}

// A supervisor runs the child process, and its successors if it is killed.
type supervisor struct {
	args, env []string
	listeners []*os.File
	err       io.Writer
	log       *slog.Logger
	died      func(context.Context, *supervisor, death) // called for each death; it may take long

	mu   sync.Mutex
	now  *child.Process
	news *os.File            // to now
	last httpserver.Recovery // told last; zero: none
}

// A death is the end of a child by a signal.
type death struct {
	pid    int
	signal syscall.Signal
	at     time.Time
}

func newSupervisor(plan processPlan, listeners ...net.Listener) (*supervisor, error) {
	text, err := json.Marshal(plan)
	if err != nil {
		return nil, err
	}
	s := &supervisor{args: os.Args[1:], env: append(os.Environ(), processEnv+"="+string(text)), err: os.Stderr}
	for _, l := range listeners {
		f, err := l.(*net.TCPListener).File()
		if err != nil {
			s.close()
			return nil, err
		}
		s.listeners = append(s.listeners, f)
	}
	return s, nil
}

func (s *supervisor) close() {
	for _, f := range s.listeners {
		f.Close()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.news != nil {
		s.news.Close()
	}
}

// shortLife is how long a child must have run to be started again at once.
const shortLife = 3 * time.Second

// run keeps a child until ctx ends, and then lets it drain. It starts another one when a
// signal has ended it. If the child ends by itself, run returns why.
func (s *supervisor) run(ctx context.Context) error {
	for {
		began := time.Now()
		c, err := s.start()
		if err != nil {
			return fmt.Errorf("starting the process of the jobs: %w", err)
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
			return &exit{exitUnflushed, fmt.Errorf("the process of the jobs was ended by signal %d before it had drained; the next start counts the rest", state.Signal()), ""}
		case !state.Signaled() && state.ExitStatus() != 0:
			return &exit{state.ExitStatus(), fmt.Errorf("the process of the jobs, %d, has ended: see above", c.Cmd.Process.Pid), ""}
		case !state.Signaled():
			return nil
		}
		d := death{c.Cmd.Process.Pid, state.Signal(), time.Now()}
		s.log.Warn("the process of the jobs was killed; another one starts", "pid", d.pid, "signal", int(d.signal))
		go s.died(ctx, s, d)
		if d.at.Sub(began) < shortLife {
			select {
			case <-time.After(shortLife):
			case <-ctx.Done():
			}
		}
	}
}

func (s *supervisor) start() (*child.Process, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(exe, s.args...)
	cmd.Env, cmd.Stderr = s.env, s.err
	theirs, ours, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	c, err := child.Start(cmd, nil, append(slices.Clone(s.listeners), theirs)...)
	if err != nil {
		ours.Close()
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.news != nil {
		s.news.Close()
	}
	s.now, s.news = c, ours
	if !s.last.At.IsZero() {
		s.pass()
	}
	return c, nil
}

// tell tells the child, and its successors, how a recovery goes. Of an earlier death than the
// last one it tells nothing.
func (s *supervisor) tell(r httpserver.Recovery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.At.Before(s.last.At) {
		return
	}
	s.last = r
	s.pass()
}

// pass writes the last recovery to the child. The caller holds the lock.
func (s *supervisor) pass() {
	_ = json.NewEncoder(s.news).Encode(s.last) // an error means that the child has ended
}

// kill ends the child with signal 9, as a crash or the kernel would. Another one starts.
func (s *supervisor) kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now != nil {
		s.now.Kill()
	}
}
