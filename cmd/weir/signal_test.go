package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"weir/config"
	"weir/demo/local/localtest"
	"weir/internal/await"
)

// A stage is a broker, an engine with answers that a test can set, and a directory
// with a configuration for both.
type stage struct {
	dir, database string
	engine        string
	server        *account
	kafka         *kfake.Cluster
	weir          string
	client        *kgo.Client
}

func newStage(t *testing.T) *stage {
	t.Helper()
	engine, database := localtest.Engine(t)
	s := &stage{dir: t.TempDir(), database: database, engine: engine, server: newAccount(t, engine, ""), weir: binary(t)}
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "clicks", "appended"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	s.kafka = cluster
	addr := cluster.ListenAddrs()[0]
	if s.client, err = kgo.NewClient(kgo.SeedBrokers(addr), kgo.UnknownTopicRetries(-1), kgo.DefaultProduceTopic("clicks")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.client.Close)
	text := fmt.Sprintf(`
kafka: {brokers: [%s], session: 6s}
clickhouse: {urls: "%s", database: %s}
http: {listen: 127.0.0.1:0}
flush: {interval: 100ms, stop_timeout: 2m}
jobs:
  - {name: clicks, topic: clicks, time: {field: ts}, window: 1m, measures: [{name: users, kind: hll, field: user_id}]}
  - {name: appended, topic: appended, time: {field: ts}, window: 1m, lateness: 5d, measures: [{name: users, kind: hll, field: user_id}]}
`, addr, s.server.URL, database)
	if err := os.WriteFile(filepath.Join(s.dir, "weir.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

// command returns weir with these arguments, which reads the configuration of the stage.
func (s *stage) command(args ...string) *exec.Cmd {
	cmd := exec.Command(s.weir, args...)
	cmd.Dir, cmd.Env = s.dir, append(os.Environ(), "WEIR_CONFIG=")
	return cmd
}

// start runs weir; ended is closed when it has ended.
func (s *stage) start(t *testing.T, args ...string) (cmd *exec.Cmd, out *await.Output, ended <-chan struct{}) {
	t.Helper()
	cmd, out = s.command(args...), new(await.Output)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.WaitDelay = await.Never
	return cmd, out, launch(t, cmd)
}

// launch starts a process and returns a channel that is closed when it has ended. The
// process is killed at the end of the test.
func launch(t *testing.T, cmd *exec.Cmd) <-chan struct{} {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }() // the exit code says it
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
	return ended
}

// ends waits until a process that launch has started ends, and returns its exit code.
func ends(t *testing.T, cmd *exec.Cmd, ended <-chan struct{}) int {
	t.Helper()
	select {
	case <-ended:
	case <-time.After(await.Never):
		t.Fatalf("%q does not end:\n%v", cmd.Args, cmd.Stderr)
	}
	return cmd.ProcessState.ExitCode()
}

// done runs weir to its end, which must have exit code 0, and returns its output.
func (s *stage) done(t *testing.T, args ...string) string {
	t.Helper()
	cmd, out, ended := s.start(t, args...)
	if code := ends(t, cmd, ended); code != 0 {
		t.Fatalf("weir %q: exit code %d:\n%s", args, code, out)
	}
	return out.String()
}

func (s *stage) produce(t *testing.T) {
	t.Helper()
	value := fmt.Sprintf(`{"ts":%d,"user_id":7}`, time.Now().UnixMilli())
	if err := s.client.ProduceSync(t.Context(), &kgo.Record{Value: []byte(value)}).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

func (s *stage) hits(t *testing.T) string {
	t.Helper()
	n, err := localtest.Query(s.engine, s.database, "SELECT sum(hits) FROM clicks_1m")
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestHangup: SIGHUP stops the process like other signals, and a second one from
// the terminal does not interrupt the stop. Counted events are flushed.
func TestHangup(t *testing.T) {
	// Under nohup a child would start with SIGHUP ignored; a signal that this process
	// handles is not ignored in the child.
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	s := newStage(t)
	s.done(t, "migrate")
	cmd, out, ended := s.start(t, "run")
	eventually(t, "a start", func() bool { return strings.Count(out.String(), "partition assigned") == 2 })
	// An event in ClickHouse: the job is past its beginning, where a stop waits for nothing.
	s.produce(t)
	eventually(t, "the first event", func() bool { return s.hits(t) == "1" })
	s.server.answer.Store("241 Memory limit exceeded. (MEMORY_LIMIT_EXCEEDED)") // so that the stop takes some time
	s.produce(t)
	address := regexp.MustCompile(`"http":"([^"]+)"`).FindStringSubmatch(out.String())
	if address == nil {
		t.Fatalf("it does not say where it answers:\n%s", out)
	}
	eventually(t, "a flush that is refused", func() bool { // a flush, not a rollup: an event waits for it
		res, err := http.Get("http://" + address[1] + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		return err == nil && regexp.MustCompile(`(?m)^weir_flush_failures_total\{job="clicks".*\} [1-9]`).Match(text)
	})
	for range 2 {
		if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatalf("%v; it ended with %v:\n%s", err, cmd.ProcessState, out)
		}
		eventually(t, "the stop", func() bool { return strings.Contains(out.String(), "stopping: last flush") })
	}
	s.server.answer.Store("")
	if code := ends(t, cmd, ended); code != 0 {
		t.Errorf("it ended with %v, want exit code 0:\n%s", cmd.ProcessState, out)
	}
	if n := s.hits(t); n != "2" {
		t.Errorf("%s hits after the stop, want 2", n)
	}
}

// worksOn checks a process whose log is not read: it must count, write log lines,
// continue counting, and stop normally.
func (s *stage) worksOn(t *testing.T, cmd *exec.Cmd, ended <-chan struct{}) {
	t.Helper()
	s.produce(t)
	eventually(t, "the first event", func() bool { return s.hits(t) == "1" })
	s.server.answer.Store("241 Memory limit exceeded. (MEMORY_LIMIT_EXCEEDED)") // a line in the log
	s.produce(t)
	eventually(t, "a write that is refused", func() bool { return s.server.refused.Load() > 2 })
	s.server.answer.Store("")
	eventually(t, "the second event", func() bool { return s.hits(t) == "2" })
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := ends(t, cmd, ended); code != 0 {
		t.Errorf("it ended with %v, want exit code 0", cmd.ProcessState)
	}
}

// TestReaderStuck: the reader of the log does not read; the process continues
// counting and answering, and stops normally.
func TestReaderStuck(t *testing.T) {
	s := newStage(t)
	s.done(t, "migrate")
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	cmd := s.command("run", "--log.level=debug", "--flush.stop_timeout=2m")
	cmd.Stderr = write
	full := make([]byte, 1<<20)
	_ = write.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
	if _, err := write.Write(full); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("filling the pipe: %v, want a write that finds no room", err)
	}
	ended := launch(t, cmd)
	s.worksOn(t, cmd, ended)
	write.Close()
}

// TestSpool: lines come in order; lines without room are counted, and their number
// is logged when the reader reads again.
func TestSpool(t *testing.T) {
	read, write := io.Pipe()
	s := newSpool(write)
	log := newLog(s, config.Log{Level: "info", Format: "json"})
	log.Info("line", "n", 0)
	await.Until(t, func() error { // it takes the line, and waits for the reader
		if n := len(s.lines); n > 0 {
			return fmt.Errorf("%d lines wait", n)
		}
		return nil
	})
	for i := range 3*spoolLines - 1 {
		log.Info("line", "n", 1+i)
	}
	lines := bufio.NewScanner(read)
	n, lost := 0, 0
	for n+lost < 3*spoolLines && lines.Scan() {
		var line struct {
			N     *int
			Lines int
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		switch {
		case line.N == nil:
			lost += line.Lines
		case *line.N != n:
			t.Fatalf("line %d comes as number %d", *line.N, n)
		default:
			n++
		}
	}
	if n != spoolLines+1 {
		t.Errorf("%d lines are kept for the reader, want %d and the one that is being written", n, spoolLines)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestPrinterEnds: a command whose purpose is its output ends with its reader,
// without a message.
func TestPrinterEnds(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	read.Close() // gone before the first line
	cmd := exec.Command(binary(t), "config", "schema")
	words := new(await.Output)
	cmd.Stdout, cmd.Stderr = write, words
	err = cmd.Run()
	write.Close()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		t.Fatalf("it ended with %v, want by SIGPIPE", err)
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); !ok || !status.Signaled() || status.Signal() != syscall.SIGPIPE {
		t.Errorf("it ended with %v, want by SIGPIPE", exit)
	}
	if words.String() != "" {
		t.Errorf("it said %q", words)
	}
}

// TestSecondSignal: the first signal starts a last flush, which here fails; the
// second ends the process at once, and the next process counts the unflushed
// events.
func TestSecondSignal(t *testing.T) {
	s := newStage(t)
	s.done(t, "migrate")
	cmd, out, ended := s.start(t, "run")
	s.produce(t)
	eventually(t, "the first event", func() bool { return s.hits(t) == "1" })
	s.server.answer.Store("241 Memory limit exceeded. (MEMORY_LIMIT_EXCEEDED)")
	s.produce(t)
	eventually(t, "a flush that fails", func() bool { return strings.Contains(out.String(), "clickhouse: outage") })

	signal := func() {
		t.Helper()
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
	}
	signal()
	select {
	case <-ended:
		t.Fatalf("one signal ended it, with a flush owed:\n%s", out)
	case <-time.After(2 * time.Second):
	}
	signal()
	<-ended // its status must name the signal: a process that waited for its flush would have an exit code
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() || status.Signal() != syscall.SIGTERM {
		t.Errorf("it ended with %v, want by the signal:\n%s", cmd.ProcessState, out)
	}
	if n := s.hits(t); n != "1" {
		t.Errorf("%s hits before the next run, want 1", n)
	}
	s.server.answer.Store("")
	s.done(t, "run", "--until", "end")
	if n := s.hits(t); n != "2" {
		t.Errorf("%s hits after the next run, want 2", n)
	}
}
