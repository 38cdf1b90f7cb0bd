// Package localtest gives tests a real ClickHouse: the embedded engine, on a
// temporary directory, one per test binary.
//
//	func TestMain(m *testing.M) { localtest.Main(m) }
//
//	func TestSink(t *testing.T) {
//		url, database := localtest.Engine(t)
//		…
//	}
//
// A missing engine library fails the test and names the remedy; only -short
// skips the test.
package localtest

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"weir/demo/local"
)

var shared struct {
	once   sync.Once
	engine *local.Engine
	dir    string
	err    error
}

// Main is TestMain for packages that use Engine. The engine is a child process
// of the test binary, started from the same file: in the child, Main runs the
// engine. In the parent it runs the tests, then stops the engine and removes
// its directory.
func Main(m *testing.M) {
	local.MaybeChild()
	hooked.Store(true)
	code := m.Run()
	Stop()
	os.Exit(code)
}

var hooked atomic.Bool

const pattern = "weir-engine-*" // of the engine's directory

// Stop stops the engine, if one was started, and removes its directory. Main
// calls it; a package with its own TestMain must call it before os.Exit.
func Stop() {
	if shared.engine != nil {
		shared.engine.Close()
	}
	if shared.dir != "" {
		os.RemoveAll(shared.dir)
	}
}

// Hook must be called first by a TestMain that does not use Main.
func Hook() {
	local.MaybeChild()
	hooked.Store(true)
}

var databases atomic.Uint64

// Wanted skips the test under go test -short, which starts no
// engine. Engine calls it; a test with an engine of its own must call it.
func Wanted(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short starts no engine: make test does")
	}
}

// Engine starts the engine if it does not run yet and makes a database for
// this test, dropped when the test ends. The URL has no path or query, such as
// http://127.0.0.1:34567.
func Engine(t testing.TB) (url, database string) {
	t.Helper()
	Wanted(t)
	if !hooked.Load() {
		t.Fatal("localtest: TestMain must be `func TestMain(m *testing.M) { localtest.Main(m) }`")
	}
	shared.once.Do(func() {
		if shared.dir, shared.err = temporary(); shared.err != nil {
			return
		}
		shared.engine, shared.err = local.StartEngine(context.Background(), local.EngineConfig{
			Listen: "127.0.0.1:0",
			Data:   shared.dir,
			Memory: 4 << 30,
			// Tests read few rows per statement: a second thread for each costs processor
			// time and saves none.
			Settings: map[string]string{"max_threads": "1"},
			Log:      slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
		})
	})
	if shared.err != nil {
		t.Fatalf("localtest: %v", shared.err)
	}
	url = shared.engine.URL()
	database = fmt.Sprintf("test_%d", databases.Add(1))
	if _, err := Query(url, "", "CREATE DATABASE "+database); err != nil {
		t.Fatalf("localtest: %v", err)
	}
	t.Cleanup(func() {
		if _, err := Query(url, "", "DROP DATABASE IF EXISTS "+database+" SYNC"); err != nil {
			t.Errorf("localtest: %v", err)
		}
	})
	return url, database
}

// Query runs one statement over HTTP and returns its output as tab-separated
// text without the last line end. An empty database is the default one.
func Query(url, database, sql string) (string, error) {
	if database != "" {
		url += "/?database=" + database
	}
	res, err := http.Post(url, "text/plain", strings.NewReader(sql))
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return "", err
	}
	if res.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: %s: %s", sql, res.Status, strings.TrimSpace(string(text)))
	}
	return strings.TrimSuffix(string(text), "\n"), nil
}
