package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"weir/internal/await"
	"weir/jobs"
)

// A process is one weir, started and watched.
type process struct {
	t     *testing.T
	name  string
	cmd   *exec.Cmd
	out   text // standard output
	log   text // standard error
	began time.Time
	done  chan struct{}
	ended time.Time // after done
	code  int       // after done; -1: killed
}

// launch starts weir. At the end of the test it kills the process if it still
// runs, and prints its last lines if the test failed.
func launch(t *testing.T, dir string, args ...string) *process {
	t.Helper()
	p := start(t, house.binary.get(t), dir, args...)
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("%s, exit code %d, said at last:\n%s\n%s", p.name, p.code, p.out.tail(6), p.log.tail(25))
		}
	})
	return p
}

// start starts a binary. The caller must stop it.
func start(t *testing.T, binary, dir string, args ...string) *process {
	t.Helper()
	p := &process{t: t, name: "weir " + args[0], cmd: exec.Command(binary, args...), began: time.Now(), done: make(chan struct{})}
	p.cmd.Dir = dir
	p.cmd.Env = append(os.Environ(), "WEIR_CONFIG=", "WEIR_ENGINE="+house.engine.get(t))
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.log
	p.cmd.WaitDelay = await.Never // its output is read to the end
	p.cmd.SysProcAttr = dieWithTest()
	started := make(chan error)
	go func() {
		// The kernel kills the process when the thread that started it ends, so the
		// thread is kept.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err != nil {
			return
		}
		_ = p.cmd.Wait() // the exit code is read below
		p.ended, p.code = time.Now(), p.cmd.ProcessState.ExitCode()
		close(p.done)
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	return p
}

// signal sends a signal; it does nothing for a process that has ended.
func (p *process) signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) }

// kill is kill -9.
func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	<-p.done
}

// runs reports whether the process has not ended.
func (p *process) runs() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// wait returns the exit code, and fails the test if the process never ends.
func (p *process) wait() int {
	p.t.Helper()
	select {
	case <-p.done:
		return p.code
	case <-time.After(await.Never):
		p.signal(syscall.SIGQUIT) // the stacks go to its log
		<-p.done
		p.t.Fatalf("%s did not end within %s", p.name, await.Never)
		return 0
	}
}

// exits waits for the end and checks the exit code.
func (p *process) exits(code int) *process {
	p.t.Helper()
	if got := p.wait(); got != code {
		p.t.Fatalf("%s: exit code %d, want %d:\n%s%s", p.name, got, code, p.out.tail(5), p.log.tail(15))
	}
	return p
}

// says waits for a text in the log and returns the line.
func (p *process) says(pattern string) string {
	p.t.Helper()
	line, ok := p.log.await(p.done, regexp.MustCompile(pattern))
	if !ok {
		p.t.Fatalf("%s did not say %q, but\n%s", p.name, pattern, p.log.tail(15))
	}
	return line
}

// prints is says for standard output.
func (p *process) prints(pattern string) string {
	p.t.Helper()
	line, ok := p.out.await(p.done, regexp.MustCompile(pattern))
	if !ok {
		p.t.Fatalf("%s did not print %q, but\n%s%s", p.name, pattern, p.out.tail(15), p.log.tail(15))
	}
	return line
}

// address is where `weir run` serves HTTP.
func (p *process) address() string {
	p.t.Helper()
	var line struct{ HTTP string }
	said := p.says(`"msg":"weir runs"`)
	if err := json.Unmarshal([]byte(said), &line); err != nil || line.HTTP == "" {
		p.t.Fatalf("no address in %q", said)
	}
	return "http://" + line.HTTP
}

// get asks the process over HTTP.
func (p *process) get(path string) (code int, body string, err error) {
	p.t.Helper()
	return get(p.address() + path)
}

func get(url string) (code int, body string, err error) {
	res, err := http.Get(url)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return res.StatusCode, string(b), err
}

// ready waits for an answer of /readyz.
func (p *process) ready(code int, words ...string) {
	p.t.Helper()
	await.Until(p.t, func() error {
		got, body, err := p.get("/readyz")
		if err != nil || got != code {
			return errors.Join(fmt.Errorf("readyz of %s: %d %s, want %d", p.name, got, body, code), err)
		}
		for _, w := range words {
			if !strings.Contains(body, w) {
				return fmt.Errorf("readyz of %s: %s, want %q in it", p.name, body, w)
			}
		}
		return nil
	})
}

// status is /api/v1/status, by job. A process that does not answer has none.
func (p *process) status() map[string]jobs.Status {
	p.t.Helper()
	return statusAt(p.t, p.address())
}

func statusAt(t *testing.T, address string) map[string]jobs.Status {
	t.Helper()
	code, body, err := get(address + "/api/v1/status")
	if err != nil {
		return nil
	}
	var s struct{ Jobs []jobs.Status }
	if err := json.Unmarshal([]byte(body), &s); err != nil || code != http.StatusOK {
		t.Errorf("status: %d %s: %v", code, body, err)
		return nil
	}
	by := make(map[string]jobs.Status)
	for _, j := range s.Jobs {
		by[j.Job] = j
	}
	return by
}

// A text is the output of a process, line by line.
type text struct{ await.Output }

func (x *text) tail(n int) string {
	lines := strings.Split(strings.TrimRight(x.String(), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// await returns the first line that the pattern is found in, if there is one
// before the process has ended.
func (x *text) await(done <-chan struct{}, pattern *regexp.Regexp) (string, bool) {
	find := func() (string, bool) {
		for line := range strings.Lines(x.String()) {
			if pattern.MatchString(line) {
				return line, true
			}
		}
		return "", false
	}
	deadline := time.After(await.Never)
	for {
		if line, ok := find(); ok {
			return line, true
		}
		select {
		case <-done:
			return find()
		case <-deadline:
			return "", false
		case <-time.After(10 * time.Millisecond):
		}
	}
}

var errNotYet = errors.New("not yet")

func notYet(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errNotYet, fmt.Sprintf(format, args...))
}
