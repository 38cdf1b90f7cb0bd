package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"weir/internal/child"
)

// childEnv is the environment variable that holds the child's configuration. A
// process that has it is a child.
const childEnv = "WEIR_ENGINE_CHILD"

// The file descriptors that the child inherits, in addition to stdin, stdout
// and stderr.
const (
	childListener = child.First + iota // the listening socket
	childLifeline
)

// MaybeChild runs the engine and never returns if StartEngine or StartNative started this
// process. In any other process it does nothing. Call it first in main, and in
// TestMain of tests that start an engine.
func MaybeChild() {
	if text, ok := os.LookupEnv(nativeEnv); ok {
		os.Unsetenv(nativeEnv)
		fmt.Fprintln(os.Stderr, runNative(text))
		os.Exit(1)
	}
	text, ok := os.LookupEnv(childEnv)
	if !ok {
		return
	}
	os.Unsetenv(childEnv)
	if err := runChild(text); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func runChild(text string) error {
	var cfg EngineConfig
	if err := json.Unmarshal([]byte(text), &cfg); err != nil {
		return fmt.Errorf("local: engine: %s: %w", childEnv, err)
	}
	// The parent stops its engine after its last writes. If it is gone, nothing that was
	// acknowledged is lost.
	ctx := child.Follow(childLifeline, 0)
	l, err := child.Listener(childListener)
	if err != nil {
		return fmt.Errorf("local: engine: %w", err)
	}
	cfg.Log = slog.New(slog.NewJSONHandler(os.Stderr, childLog)) // relay reads it
	if err := awaitFormer(cfg); err != nil {
		return fmt.Errorf("local: engine: %w", err)
	}
	return serveEngine(ctx, cfg, l)
}

// awaitFormer waits until no engine uses the directory. The parent has locked it, so an
// engine that uses it is the child of a parent that was killed: the kernel ends it, but
// on a busy machine not before its successor starts. ClickHouse locks the file status, and
// gives up if that is locked.
func awaitFormer(cfg EngineConfig) error {
	f, err := os.Open(filepath.Join(cfg.Data, "status"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
		cfg.Log.Info("engine: waits for the end of the engine of a process that was killed", "data", cfg.Data)
		for err = unix.EINTR; errors.Is(err, unix.EINTR); {
			err = unix.Flock(int(f.Fd()), unix.LOCK_EX)
		}
	}
	return err
}

// childLog writes durations with their unit: JSON alone would write
// nanoseconds, and relay could not tell that the number was a duration.
var childLog = &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	return a
}}

// relay passes a child's stderr on to a log, line by line: records of the
// child's logger as records, and other lines (a crash) as warnings.
type relay struct {
	log   *slog.Logger
	line  []byte
	cause string // the first line of a Go crash, before its stacks
	last  string // the last line that was not a record
}

func (r *relay) Write(p []byte) (int, error) {
	for _, b := range p {
		if b != '\n' && len(r.line) < 16<<10 {
			r.line = append(r.line, b)
			continue
		}
		if len(r.line) > 0 {
			r.pass()
		}
		r.line = r.line[:0]
	}
	return len(p), nil
}

// end passes on a last line without a line end.
func (r *relay) end() {
	if len(r.line) > 0 {
		r.pass()
	}
	r.line = nil
}

// words returns the line that best explains the child's end, empty if it wrote
// nothing.
func (r *relay) words() string {
	if r.cause != "" {
		return r.cause
	}
	return r.last
}

func (r *relay) pass() {
	var record map[string]any
	var level slog.Level
	if json.Unmarshal(r.line, &record) != nil || level.UnmarshalText(fmt.Append(nil, record["level"])) != nil {
		r.last = string(r.line)
		if r.cause == "" && (strings.HasPrefix(r.last, "panic: ") || strings.HasPrefix(r.last, "fatal error: ")) {
			r.cause = r.last
		}
		r.log.Warn("engine: " + r.last)
		return
	}
	msg := fmt.Sprint(record["msg"])
	for _, known := range []string{"time", "level", "msg"} {
		delete(record, known)
	}
	var attrs []any
	for _, key := range slices.Sorted(maps.Keys(record)) {
		attrs = append(attrs, key, record[key])
	}
	r.log.Log(context.Background(), level, msg, attrs...)
}
