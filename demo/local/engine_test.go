package local_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"weir/demo/local"
	"weir/demo/local/libchdb"
	"weir/demo/local/localtest"
	"weir/internal/await"
	"weir/internal/tcptest"
)

// quiet drops the log lines that a test provokes.
var quiet = slog.New(slog.DiscardHandler)

func start(t *testing.T, dir string) *local.Engine {
	t.Helper()
	localtest.Wanted(t)
	e, err := local.StartEngine(t.Context(), local.EngineConfig{Listen: "127.0.0.1:0", Data: dir, Memory: 1 << 30, Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

func query(t *testing.T, url, sql string) string {
	t.Helper()
	got, err := localtest.Query(url, "", sql)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// running waits until a query that contains part runs, or until none does.
func running(t *testing.T, url, part string, runs bool) {
	t.Helper()
	await.Until(t, func() error {
		got := query(t, url, "SELECT count() > 0 FROM system.processes WHERE query LIKE '%"+part+"%' AND query NOT LIKE '%system.processes%'")
		if got == "1" != runs {
			return fmt.Errorf("a query with %q: running is not %v", part, runs)
		}
		return nil
	})
}

func TestEngineGoesOn(t *testing.T) {
	dir := t.TempDir()
	e := start(t, dir)
	query(t, e.URL(), "CREATE TABLE t (a UInt64) ENGINE = MergeTree ORDER BY a")
	query(t, e.URL(), "CREATE FUNCTION plusOne AS (x) -> x + 1")
	query(t, e.URL(), "INSERT INTO t VALUES (1), (2)")
	pid := e.Pid()
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	if alive(pid) {
		t.Error("the child outlives Close")
	}
	if _, err := http.Get(e.URL() + "/ping"); err == nil {
		t.Error("something answers after Close")
	}
	e = start(t, dir)
	if got := query(t, e.URL(), "SELECT plusOne(sum(a)) FROM t"); got != "4" {
		t.Errorf("after a restart: %q", got)
	}
	if _, err := local.StartEngine(t.Context(), local.EngineConfig{Listen: "127.0.0.1:0", Data: dir, Log: quiet}); err == nil {
		t.Error("two engines on one directory")
	} else if !strings.Contains(err.Error(), dir) {
		t.Errorf("the error does not name the directory: %v", err)
	}
}

// alive says whether a process runs; a zombie does not.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

// TestSignalsOfTheGroup: ^C, timeout(1) and systemd signal the engine's process
// too. It goes on until its parent stops it.
func TestSignalsOfTheGroup(t *testing.T) {
	e := start(t, t.TempDir())
	pid := e.Pid()
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGHUP, syscall.SIGTERM} {
		if err := syscall.Kill(pid, sig); err != nil {
			t.Fatal(err)
		}
		if got := query(t, e.URL(), "SELECT 1"); got != "1" {
			t.Errorf("after %v it answers %q", sig, got)
		}
	}
	query(t, e.URL(), "SELECT sleep(1)") // it would end meanwhile
	if e.Pid() != pid {
		t.Error("another process runs now")
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if alive(pid) {
		t.Error("the child outlives Close")
	}
}

// TestKill kills the engine again and again while several clients insert.
// Every row that was acknowledged must be there, exactly once where the
// client did not retry.
func TestKill(t *testing.T) {
	e := start(t, t.TempDir())
	query(t, e.URL(), "CREATE TABLE t (a UInt64) ENGINE = MergeTree ORDER BY a")
	var next, acknowledged atomic.Uint64
	var kept sync.Map
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				n := next.Add(1)
				if _, err := localtest.Query(e.URL(), "", fmt.Sprintf("INSERT INTO t VALUES (%d)", n)); err == nil {
					kept.Store(n, true)
					acknowledged.Add(1)
				}
			}
		})
	}
	for kill := 1; kill <= 3; kill++ {
		before := acknowledged.Load()
		await.Until(t, func() error {
			if n := acknowledged.Load(); n < before+20 {
				return fmt.Errorf("%d inserts got through since the last kill", n-before)
			}
			return nil
		})
		pid := e.Pid()
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		await.Until(t, func() error {
			if e.Restarts() < kill {
				return fmt.Errorf("not restarted after kill %d", kill)
			}
			return nil
		})
		if e.Pid() == pid {
			t.Error("the same process")
		}
	}
	last := acknowledged.Load()
	await.Until(t, func() error {
		if acknowledged.Load() == last {
			return errors.New("no insert gets through after the last kill")
		}
		return nil
	})
	close(stop)
	wg.Wait()
	stored := map[string]int{}
	for _, a := range strings.Fields(query(t, e.URL(), "SELECT a FROM t")) {
		stored[a]++
	}
	kept.Range(func(n, _ any) bool {
		if stored[fmt.Sprint(n)] != 1 {
			t.Errorf("row %d was acknowledged and is there %d times", n, stored[fmt.Sprint(n)])
		}
		return true
	})
	t.Logf("%d acknowledged, %d stored", acknowledged.Load(), len(stored))
}

// TestEngineTriesAgain: an engine whose starts fail is tried again until it comes back, or Close.
func TestEngineTriesAgain(t *testing.T) {
	localtest.Wanted(t)
	real, err := local.FindEngine()
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link.so")
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	var out await.Output
	e, err := local.StartEngine(t.Context(), local.EngineConfig{Listen: "127.0.0.1:0", Data: t.TempDir(), Library: link, Memory: 1 << 30, Log: slog.New(slog.NewTextHandler(&out, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	os.Remove(link)
	syscall.Kill(e.Pid(), syscall.SIGKILL)
	await.Until(t, func() error {
		if strings.Count(out.String(), "starting it again") < 3 || !strings.Contains(out.String(), "link.so") {
			return errors.New("it does not try again")
		}
		return nil
	})
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	query(t, e.URL(), "SELECT 1")
}

func TestEngineDoesNotStart(t *testing.T) {
	localtest.Wanted(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	busy := tcptest.Listen(t)
	for name, test := range map[string]struct {
		cfg  local.EngineConfig
		want string
	}{
		"no data directory": {local.EngineConfig{}, "data directory"},
		"data is a file":    {local.EngineConfig{Data: file}, "not a directory"},
		"no such library":   {local.EngineConfig{Library: "/nosuch/libchdb.so"}, "/nosuch/libchdb.so"},
		"not a library":     {local.EngineConfig{Library: file}, file},
		"bad address":       {local.EngineConfig{Listen: "nonsense"}, "listen"},
		"port taken":        {local.EngineConfig{Listen: busy.Addr().String()}, "in use"},
		"little memory":     {local.EngineConfig{Memory: 1 << 20}, "512 MiB"},
	} {
		if test.cfg.Data == "" && name != "no data directory" {
			test.cfg.Data = t.TempDir()
		}
		if test.cfg.Listen == "" {
			test.cfg.Listen = "127.0.0.1:0"
		}
		test.cfg.Log = quiet
		e, err := local.StartEngine(t.Context(), test.cfg)
		if err == nil {
			e.Close()
			t.Errorf("%s: it started", name)
		} else if !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want something with %q", name, err, test.want)
		}
	}
	t.Setenv(libchdb.Env, "")
	t.Chdir(t.TempDir())
	if _, err := local.StartEngine(t.Context(), local.EngineConfig{Data: t.TempDir()}); !errors.Is(err, libchdb.ErrMissing) || !strings.Contains(err.Error(), "make engine") {
		t.Errorf("without a library: %v", err)
	}
}

// TestEngineDiesWithParent kills the parent with kill -9, which it cannot
// handle.
func TestEngineDiesWithParent(t *testing.T) {
	localtest.Wanted(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), parentEnv+"="+t.TempDir())
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	var pid int
	var url string
	if _, scanErr := fmt.Sscan(line, &pid, &url); err != nil || scanErr != nil {
		cmd.Process.Kill()
		t.Fatalf("the parent said %q, %v", line, err)
	}
	if got := query(t, url, "SELECT 1"); got != "1" || !alive(pid) {
		t.Errorf("the engine answers %q", got)
	}
	cmd.Process.Kill()
	cmd.Wait()
	t.Cleanup(func() {
		if t.Failed() {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	await.Until(t, func() error {
		if alive(pid) {
			return errors.New("the engine outlives its parent")
		}
		return nil
	})
}

// TestEngineOfKilledParent: the engine of a parent that was killed may end only after the
// next one starts. Another engine that is alive is an error.
func TestEngineOfKilledParent(t *testing.T) {
	localtest.Wanted(t)
	dir := t.TempDir()
	former, err := os.Create(filepath.Join(dir, "status")) // the former engine, as ClickHouse sees it
	if err != nil {
		t.Fatal(err)
	}
	defer former.Close()
	if err := syscall.Flock(int(former.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	var out await.Output
	started := make(chan error, 1)
	cfg := local.EngineConfig{Listen: "127.0.0.1:0", Data: dir, Memory: 1 << 30, Log: slog.New(slog.NewTextHandler(&out, nil))}
	go func() {
		e, err := local.StartEngine(t.Context(), cfg)
		if err == nil {
			t.Cleanup(func() { e.Close() })
			_, err = localtest.Query(e.URL(), "", "SELECT 1")
		}
		started <- err
	}()
	await.Until(t, func() error {
		if !strings.Contains(out.String(), "waits for the end of the engine") {
			return errors.New("the engine does not wait for the former one")
		}
		return nil
	})
	if _, err := local.StartEngine(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), dir+" is used by another engine") {
		t.Errorf("a second engine: %v", err)
	}
	former.Close()
	if err := <-started; err != nil {
		t.Error(err)
	}
}

// TestCloseFinishesQueries: a query in flight gets its answer.
func TestCloseFinishesQueries(t *testing.T) {
	e := start(t, t.TempDir())
	answer := make(chan string, 1)
	go func() {
		got, err := localtest.Query(e.URL(), "", "SELECT sleep(1), 'done'")
		answer <- fmt.Sprint(got, err)
	}()
	running(t, e.URL(), "done", true)
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if got := <-answer; got != "0\tdone<nil>" {
		t.Errorf("%q", got)
	}
}

// TestClientsWaitForRestart: between a crash and the restart a request
// waits instead of being refused.
func TestClientsWaitForRestart(t *testing.T) {
	e := start(t, t.TempDir())
	pid := e.Pid()
	syscall.Kill(pid, syscall.SIGKILL)
	for e.Pid() == pid { // until its last thread has ended, the kernel accepts connections for it
		time.Sleep(time.Millisecond)
	}
	client := &http.Client{Transport: &http.Transport{}, Timeout: await.Never}
	res, err := client.Get(e.URL() + "/ping")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if text, _ := io.ReadAll(res.Body); string(text) != "Ok.\n" {
		t.Errorf("%q", text)
	}
}

func TestStartIsCancelled(t *testing.T) {
	localtest.Wanted(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := local.StartEngine(ctx, local.EngineConfig{Listen: "127.0.0.1:0", Data: t.TempDir(), Log: quiet}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// TestPortTaken: a start fails with ClickHouse's words if another program has the port.
func TestPortTaken(t *testing.T) {
	localtest.Wanted(t)
	port := tcptest.Listen(t).Addr().(*net.TCPAddr).Port
	if _, err := local.StartNative(t.Context(), local.NativeConfig{Data: t.TempDir(), HTTP: port, Log: quiet}); err == nil || !strings.Contains(err.Error(), "Address already in use") {
		t.Errorf("%v", err)
	}
}

// TestForeignPages: a page of another site in a browser on this machine can neither write nor read,
// neither through the engine's address nor through ClickHouse's own port.
func TestForeignPages(t *testing.T) {
	e := start(t, t.TempDir())
	query(t, e.URL(), "CREATE TABLE t (a UInt64) ENGINE = MergeTree ORDER BY a")
	own := e.ClickHouse()
	for _, test := range []struct {
		name, url, header, value string
		status                   int
	}{
		{"another site", e.URL(), "Sec-Fetch-Site", "cross-site", http.StatusForbidden},
		{"another port", e.URL(), "Sec-Fetch-Site", "same-site", http.StatusForbidden},
		{"another origin", e.URL(), "Origin", "http://evil.example", http.StatusForbidden},
		{"a rebound name", e.URL(), "Host", "evil.example:8123", http.StatusForbidden},
		{"ClickHouse's port", own, "", "", http.StatusNotFound},
		{"ClickHouse's port, a wrong secret", own, "X-Weir-Key", "x", http.StatusNotFound},
		{"the same origin", e.URL(), "Origin", e.URL(), http.StatusOK},
		{"no browser", e.URL(), "", "", http.StatusOK},
		{"an account", e.URL(), "X-ClickHouse-User", "grafana", http.StatusOK},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, test.url, strings.NewReader("INSERT INTO t VALUES (1)"))
		if err != nil {
			t.Fatal(err)
		}
		if test.header == "Host" {
			req.Host = test.value
		} else if test.header != "" {
			req.Header.Set(test.header, test.value)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode != test.status {
			t.Errorf("%s: %s %s, want %d", test.name, res.Status, text, test.status)
		}
	}
	if got := query(t, e.URL(), "SELECT count() FROM t"); got != "3" {
		t.Errorf("%s rows, want those of 3", got)
	}
	// A link or an image is a GET, and a browser of an old kind says nothing of the site.
	res, err := http.Get(e.URL() + "/?query=INSERT+INTO+t+VALUES+(1)")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if text, _ := io.ReadAll(res.Body); !strings.Contains(string(text), "Code: 164.") {
		t.Errorf("a GET that writes: %s %s", res.Status, text)
	}
}

// TestMemory: the engine keeps to its limit, and survives a query that needs
// more.
func TestMemory(t *testing.T) {
	e := start(t, t.TempDir())
	if got := query(t, e.URL(), "SELECT value FROM system.server_settings WHERE name = 'max_server_memory_usage'"); got != fmt.Sprint(1<<30) {
		t.Errorf("limit of the engine %s", got)
	}
	if got := query(t, e.URL(), "SELECT getSetting('max_memory_usage')"); got != fmt.Sprint(3<<28) {
		t.Errorf("limit of a query %s", got)
	}
	if _, err := localtest.Query(e.URL(), "", "SELECT length(groupArray(number)) FROM numbers(1000000000)"); err == nil || !strings.Contains(err.Error(), "Code: 241.") {
		t.Errorf("a query of 8 GB: %v", err)
	}
	if query(t, e.URL(), "SELECT 1"); e.Restarts() != 0 {
		t.Error("the engine did not survive")
	}
}

// TestEngineKnowsNoSecrets: secrets in weir's environment are not in the
// engine's, which every query can read.
func TestEngineKnowsNoSecrets(t *testing.T) {
	t.Setenv("WEIR_CLICKHOUSE_PASSWORD", "kq7-plum")
	t.Setenv("KEPT", "for-the-engine")
	e := start(t, t.TempDir())
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", e.Pid()))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(environ, []byte("KEPT=for-the-engine")) {
		t.Error("not the engine's environment")
	}
	if bytes.Contains(environ, []byte("kq7-plum")) {
		t.Error("the engine has the password in its environment")
	}
	got, err := localtest.Query(e.URL(), "", "SELECT position(raw_blob, 'kq7-plum') FROM file('/proc/self/environ', RawBLOB, 'raw_blob String')")
	if err == nil && got != "0" {
		t.Error("a query reads the password")
	}
}
