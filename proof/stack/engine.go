package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// errNoEngine says that no container engine answers, and that none can be started on
// this machine.
var errNoEngine = errors.New("no container engine")

// An engine runs containers: the machine's own dockerd, or one that is started
// for this run and ends with it.
type engine struct {
	cache   string   // directory of what is fetched and built once
	env     []string // of every command
	dockerd *exec.Cmd
	died    chan error // of dockerd
}

// ownNetwork is the environment variable of a process that inNamespace has started.
const ownNetwork = "WEIR_STACK_ALONE"

// openEngine fetches everything that the stack needs, and returns an engine. If none
// answers, it runs this program again in a network namespace of its own, where that
// process starts an engine and runs everything; the error is then that process's exit
// code.
func openEngine(ctx context.Context) (*engine, error) {
	cache, err := realDir(".cache/stack")
	if err != nil {
		return nil, err
	}
	e := &engine{cache: cache, env: os.Environ()}
	if os.Getenv(ownNetwork) != "" {
		return e, e.start(ctx)
	}
	lock, err := os.OpenFile(filepath.Join(cache, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	// The lock is held until the process ends.
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, fmt.Errorf("another run holds %s: %w", lock.Name(), err)
	}
	there := e.answers(ctx) == nil
	if !there {
		if os.Geteuid() != 0 {
			return nil, fmt.Errorf("%w: docker does not answer, and to start one needs root", errNoEngine)
		}
		if err := install(ctx, "dockerd", "docker.io"); err != nil {
			return nil, fmt.Errorf("%w: %w", errNoEngine, err)
		}
	}
	if err := e.findCompose(ctx); err != nil {
		return nil, err
	}
	if _, err := e.fetch(ctx); err != nil {
		return nil, err
	}
	if !there {
		return nil, e.inNamespace(ctx)
	}
	return e, nil
}

// inNamespace runs this program once more, in a network namespace without a connection
// to other networks. Containers reach each other and this program only, and no other
// process has the ports that the stack publishes.
func (e *engine) inNamespace(ctx context.Context) error {
	c := exec.CommandContext(ctx, "/proc/self/exe", os.Args[1:]...)
	c.Env = append(e.env, ownNetwork+"=yes")
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Setpgid: true}
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) } // it still has to clean up
	err := c.Run()
	var ended *exec.ExitError
	switch {
	case err == nil:
		return &done{}
	case errors.As(err, &ended):
		return &done{ended.ExitCode()}
	}
	return fmt.Errorf("%w: a network namespace: %w", errNoEngine, err)
}

// realDir makes a directory and returns its path without symbolic links, because dockerd
// needs such a path.
func realDir(dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(dir)
}

func (e *engine) answers(ctx context.Context) error { return e.run(ctx, "docker", "info") }

// start starts a dockerd with its own directory and socket.
func (e *engine) start(ctx context.Context) error {
	if err := loopbackUp(); err != nil {
		return fmt.Errorf("%w: loopback: %w", errNoEngine, err)
	}
	const state = "/run/weir-stack"
	if err := os.MkdirAll(state, 0o700); err != nil {
		return err
	}
	socket := "unix://" + filepath.Join(state, "docker.sock")
	e.env = append(e.env, "DOCKER_HOST="+socket)
	args := []string{
		"--host", socket, "--data-root", filepath.Join(e.cache, "docker"),
		"--exec-root", filepath.Join(state, "exec"), "--pidfile", filepath.Join(state, "docker.pid"),
		"--ip-forward=false", // containers talk to each other and to this machine
	}
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err == nil && limit.Max < 1<<20 {
		// By default dockerd wants a million open files for each container, which this
		// machine may not allow.
		args = append(args, "--default-ulimit", "nofile=1024:4096")
	}
	log, err := os.Create(filepath.Join(e.cache, "dockerd.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	e.dockerd = exec.Command("dockerd", args...)
	e.dockerd.Stdout, e.dockerd.Stderr = log, log
	e.dockerd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // dockerd gets no ctrl-C, because the stack has to be removed first
	if err := e.dockerd.Start(); err != nil {
		return fmt.Errorf("%w: %w", errNoEngine, err)
	}
	e.died = make(chan error, 1)
	go func() { e.died <- e.dockerd.Wait() }()
	for deadline := time.Now().Add(time.Minute); ; {
		if e.answers(ctx) == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-e.died:
			e.dockerd = nil
			return fmt.Errorf("%w: dockerd ended: %w\n%s", errNoEngine, err, tail(log.Name(), 5))
		case <-time.After(200 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%w: dockerd does not answer\n%s", errNoEngine, tail(log.Name(), 5))
		}
	}
}

// loopbackUp enables the loopback interface of a new network namespace.
func loopbackUp() error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(socket)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, lo)
}

// install installs a missing program with Debian's package manager.
func install(ctx context.Context, program, pkg string) error {
	if _, err := exec.LookPath(program); err == nil {
		return nil
	}
	if _, err := exec.LookPath("apt-get"); err != nil || os.Geteuid() != 0 {
		return fmt.Errorf("%s is missing, and this program can install it only on Debian as root: install it", program)
	}
	say("installing %s", pkg)
	noninteractive := append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	if err := command(ctx, noninteractive, "apt-get", "install", "-qq", "--no-install-recommends", pkg); err == nil {
		return nil
	}
	if err := command(ctx, noninteractive, "apt-get", "update", "-qq"); err != nil {
		return err
	}
	return command(ctx, noninteractive, "apt-get", "install", "-qq", "--no-install-recommends", pkg)
}

// composeFrom is the Debian release whose docker compose is taken where docker has none:
// the first release that has version 2. It is a program of its own and runs on others too.
const composeFrom = "trixie"

// findCompose fetches the compose plugin if docker has none, into a docker configuration
// for this run.
func (e *engine) findCompose(ctx context.Context) error {
	if e.run(ctx, "docker", "compose", "version") == nil {
		return nil
	}
	config := filepath.Join(e.cache, "config")
	e.env = append(e.env, "DOCKER_CONFIG="+config)
	if e.run(ctx, "docker", "compose", "version") == nil {
		return nil
	}
	if err := install(ctx, "mmdebstrap", "mmdebstrap"); err != nil {
		return err
	}
	say("fetching docker compose from Debian %s", composeFrom)
	files := filepath.Join(e.cache, "compose-"+composeFrom)
	if err := os.RemoveAll(files); err != nil {
		return err
	}
	if err := command(ctx, e.env, "mmdebstrap", "--quiet", "--format=directory", "--variant=extract", "--include=docker-compose", composeFrom, files); err != nil {
		return err
	}
	plugins := filepath.Join(config, "cli-plugins")
	if err := os.MkdirAll(plugins, 0o755); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(files, "usr/libexec/docker/cli-plugins/docker-compose"), filepath.Join(plugins, "docker-compose")); err != nil {
		return err
	}
	if err := os.RemoveAll(files); err != nil {
		return err
	}
	return e.run(ctx, "docker", "compose", "version")
}

// stop ends the dockerd that start has started.
func (e *engine) stop() error {
	if e.dockerd == nil {
		return nil
	}
	if err := e.dockerd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	if err := <-e.died; err != nil {
		return fmt.Errorf("dockerd: %w", err)
	}
	return nil
}

// run runs a command. Its error has the command's output.
func (e *engine) run(ctx context.Context, name string, args ...string) error {
	return command(ctx, e.env, name, args...)
}

// output runs a command and returns its standard output.
func (e *engine) output(ctx context.Context, name string, args ...string) (string, error) {
	return output(ctx, e.env, name, args...)
}

func command(ctx context.Context, env []string, name string, args ...string) error {
	_, err := output(ctx, env, name, args...)
	return err
}

func output(ctx context.Context, env []string, name string, args ...string) (string, error) {
	c := exec.CommandContext(ctx, name, args...)
	c.Env = env
	// A command that is asked to end may still have to clean up.
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	c.WaitDelay = 30 * time.Second
	var out, words bytes.Buffer
	c.Stdout, c.Stderr = &out, &words
	if err := c.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, lastLines(words.String()+out.String(), 20))
	}
	return strings.TrimSpace(out.String()), nil
}

// tail returns the end of a file, for an error.
func tail(file string, lines int) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	return lastLines(string(text), lines)
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
