package local

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"weir/demo/child"
)

// The library holds ClickHouse's own listeners, of HTTP and of the native protocol with which
// servers ask each other for rows of Distributed tables. They belong to the program
// clickhouse-local, which the library runs as a whole. A Native is a process that runs it: that of an
// Engine, and those of tests of several servers and of measurements, which need no proxy.
//
// It does no replication: clickhouse-local never says under which address other replicas reach
// it, so each Replicated table stays read-only (docs/clickhouse.md).

// nativeEnv is the environment variable that holds the configuration of a child. A process that has
// it is a child.
const nativeEnv = "WEIR_NATIVE_CHILD"

// NativeConfig says where and how a Native runs.
type NativeConfig struct {
	Data     string            // directory of the tables, made if missing
	HTTP     int               // port on 127.0.0.1
	TCP      int               // the same, of the native protocol; 0 means that it does not listen
	Config   string            // file with ClickHouse's configuration, such as remote_servers and macros; empty means none
	Settings map[string]string // ClickHouse settings for every session, by name
	Zone     string            // its time zone, such as Asia/Kathmandu; empty means UTC
	Library  string            // path of libchdb.so; empty means libchdb.Find
	Log      *slog.Logger      `json:"-"` // gets what the process says; nil means slog.Default

	alive string   // the path under which it says that it is alive; empty means /ping
	args  []string // of the process, for people who list processes
}

// A Native is a ClickHouse with its own listeners, in a child process.
type Native struct {
	*child.Process
	cfg  NativeConfig
	said said
}

// startTimeout is how long a child may take to answer. Loading takes about 0.2 s if the library is
// in the page cache; otherwise 560 MB are read first, and the machine may be busy.
const startTimeout = 2 * time.Minute

// StartNative starts one and returns when it answers. The child is this program's executable, which
// must call MaybeChild; it dies with this process. Cancelling ctx stops the start, not a running Native.
func StartNative(ctx context.Context, cfg NativeConfig) (*Native, error) {
	n, err := startNative(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("local: native: %w", err)
	}
	return n, nil
}

func startNative(ctx context.Context, cfg NativeConfig) (*Native, error) {
	var err error
	if cfg.Library == "" {
		if cfg.Library, err = FindEngine(); err != nil {
			return nil, err
		}
	}
	for _, path := range []*string{&cfg.Data, &cfg.Config, &cfg.Library} {
		if *path == "" {
			continue
		}
		if *path, err = filepath.Abs(*path); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(cfg.Data, 0o755); err != nil {
		return nil, err
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	text, err := json.Marshal(cfg)
	if err != nil {
		return nil, err
	}
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	n := &Native{cfg: cfg, said: said{log: cfg.Log}}
	cmd := exec.Command(exe, cfg.args...)
	// The engine reads config.xml in the working directory and ~/.clickhouse-local
	// of the user. Another working directory and HOME prevent that.
	cmd.Dir = cfg.Data
	cmd.Env = append(environment(), nativeEnv+"="+string(text), "HOME="+cfg.Data, "TZ="+cmp.Or(cfg.Zone, "UTC"))
	cmd.Stdout, cmd.Stderr = &n.said, &n.said
	if n.Process, err = child.Start(cmd, n.said.end); err != nil {
		return nil, err
	}
	if err := n.await(ctx); err != nil {
		n.Kill()
		return nil, err
	}
	return n, nil
}

// environment is this process's environment without the variables WEIR_…, which
// may hold passwords and tokens: every client of the engine can read the
// engine's environment by file('/proc/self/environ').
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "WEIR_") })
}

// await returns when it answers.
func (n *Native) await(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	go func() {
		select {
		case <-n.Gone:
			cancel()
		case <-limited.Done():
		}
	}()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for limited.Err() == nil {
		req, err := http.NewRequestWithContext(limited, http.MethodGet, n.URL()+"/"+cmp.Or(n.cfg.alive, "ping"), nil)
		if err != nil {
			return err
		}
		res, err := client.Do(req)
		if err == nil {
			res.Body.Close()
			if res.StatusCode == http.StatusOK { // else another program has the port, and this one will end
				return nil
			}
		}
		select {
		case <-limited.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	select {
	case <-n.Gone:
		return n.why()
	default:
		return fmt.Errorf("no answer within %s", startTimeout)
	}
}

// why explains the end of the process: its last words and its exit status.
func (n *Native) why() error {
	err := n.Err
	if err == nil {
		err = errors.New("it ended by itself")
	}
	if words := cmp.Or(n.said.cause, n.said.last); words != "" {
		return fmt.Errorf("%s (%w)", words, err)
	}
	return err
}

// URL returns its address, such as http://127.0.0.1:8123.
func (n *Native) URL() string {
	return "http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(n.cfg.HTTP))
}

// Pid returns the process id.
func (n *Native) Pid() int { return n.Cmd.Process.Pid }

// Kill ends it with signal 9. What it has acknowledged is in its directory.
func (n *Native) Kill() {
	n.Process.Kill()
	<-n.Gone
	n.Close()
}

// said passes a child's output on to a log, line by line.
type said struct {
	log   *slog.Logger
	line  []byte
	cause string // the first line of a Go crash, before its stacks
	last  string // the last line
}

func (s *said) Write(p []byte) (int, error) {
	for _, b := range p {
		if b != '\n' && len(s.line) < 16<<10 {
			s.line = append(s.line, b)
			continue
		}
		s.end()
	}
	return len(p), nil
}

// end passes on a line.
func (s *said) end() {
	if len(s.line) == 0 {
		return
	}
	s.last = string(s.line)
	s.line = s.line[:0]
	if s.cause == "" && (strings.HasPrefix(s.last, "panic: ") || strings.HasPrefix(s.last, "fatal error: ")) {
		s.cause = s.last
	}
	s.log.Warn("engine: " + s.last)
}

// MaybeChild runs the engine and never returns if StartEngine or StartNative started this
// process. In any other process it does nothing. Call it first in main, and in
// TestMain of tests that start an engine.
func MaybeChild() {
	text, ok := os.LookupEnv(nativeEnv)
	if !ok {
		return
	}
	os.Unsetenv(nativeEnv)
	if err := runNative(text); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(1)
}

// runNative is the child's side. It returns only if it could not start, without an error if ClickHouse
// has written it.
func runNative(text string) error {
	var cfg NativeConfig
	if err := json.Unmarshal([]byte(text), &cfg); err != nil {
		return err
	}
	// If the parent is gone, nothing that was acknowledged is lost.
	child.Follow(child.First, 0)
	if err := awaitFormer(cfg.Data); err != nil {
		return err
	}
	resolve, err := dlopen(cfg.Library)
	if err != nil {
		return fmt.Errorf("load the engine: %w", err)
	}
	var handlers func(enabled bool)
	var run func(argc int32, argv unsafe.Pointer) unsafe.Pointer
	if err := errors.Join(resolve("chdb_set_signal_handlers_enabled", &handlers), resolve("query_stable_v2", &run)); err != nil {
		return fmt.Errorf("load the engine: version 26.7 or newer is needed: %w", err)
	}
	// With the engine's own handlers a crashed process would take five minutes to end.
	handlers(false)
	args := []string{
		"clickhouse", "--path=" + cfg.Data, "--listen_host=127.0.0.1", fmt.Sprint("--http_port=", cfg.HTTP),
		// A server queues small inserts by default and answers when the queue is
		// flushed. This one answers an INSERT when it is on disk.
		"--async_insert=0",
	}
	listen := "SYSTEM START LISTEN HTTP; "
	if cfg.TCP != 0 {
		args, listen = append(args, fmt.Sprint("--tcp_port=", cfg.TCP)), "SYSTEM START LISTEN TCP; "+listen
	}
	if cfg.Config != "" {
		args = append(args, "--config-file="+cfg.Config)
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Settings)) {
		args = append(args, "--"+name+"="+cfg.Settings[name])
	}
	// The program ends with its statements, so the last one takes for ever.
	args = append(args, "--query="+listen+
		"SELECT sleepEachRow(1) FROM numbers(1000000000) SETTINGS max_block_size = 1, function_sleep_max_microseconds_per_block = 0 FORMAT Null")
	var argv []unsafe.Pointer
	var keep [][]byte // what argv points at, with a NUL behind each
	for _, arg := range args {
		text := append([]byte(arg), 0)
		keep, argv = append(keep, text), append(argv, unsafe.Pointer(&text[0]))
	}
	result := run(int32(len(argv)), unsafe.Pointer(&argv[0]))
	runtime.KeepAlive(argv)
	runtime.KeepAlive(keep)
	return nativeError(result)
}

// awaitFormer waits until no engine uses the directory. An engine that does may be the child of a
// parent that was killed: the kernel ends it, but on a busy machine not before its successor starts.
// ClickHouse locks the file status, and gives up if that is locked.
func awaitFormer(data string) error {
	f, err := os.Open(filepath.Join(data, "status"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
		fmt.Fprintln(os.Stderr, "waits for the end of the engine of a process that was killed, in "+data)
		for err = unix.EINTR; errors.Is(err, unix.EINTR); {
			err = unix.Flock(int(f.Fd()), unix.LOCK_EX)
		}
	}
	return err
}

// nativeError returns the error of a result of query_stable_v2, struct local_result_v2 of chdb.h.
func nativeError(result unsafe.Pointer) error {
	if result == nil {
		return errors.New("clickhouse-local ended without a result")
	}
	text := *(**byte)(unsafe.Add(result, 48))
	if text == nil {
		return nil
	}
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(text), n)) != 0 {
		n++
	}
	return errors.New(unsafe.String(text, n))
}
