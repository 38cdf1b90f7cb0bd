package local

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"weir/internal/child"
)

// The library also holds ClickHouse's own listeners, of HTTP and of the native protocol with which
// servers ask each other for rows of Distributed tables. They belong to the program
// clickhouse-local, which the library runs as a whole, without the sessions that the front
// serves; so a process has either. A Native is such a process, for tests of several servers and
// for measurements of ClickHouse without the front.
//
// It does no replication: clickhouse-local never says under which address other replicas reach
// it, so each Replicated table stays read-only (docs/clickhouse.md).

// nativeEnv is the environment variable that holds the configuration of a child that runs it.
const nativeEnv = "WEIR_NATIVE_CHILD"

// NativeConfig says where and how a Native runs.
type NativeConfig struct {
	Data    string // directory of the tables, made if missing
	HTTP    int    // port on 127.0.0.1
	TCP     int    // the same, of the native protocol
	Config  string // file with ClickHouse's configuration, such as remote_servers and macros; empty means none
	Threads int    // of a statement, at most; 0 means ClickHouse's default, the number of CPUs
	Zone    string // its time zone, such as Asia/Kathmandu; empty means UTC
	Library string // path of libchdb.so; empty means libchdb.Find
}

// A Native is a ClickHouse with its own listeners, in a child process.
type Native struct {
	cfg NativeConfig
	p   *child.Process
	out strings.Builder
}

// StartNative starts one and returns when it answers. The child is this program's executable, which
// must call MaybeChild; it dies with this process.
func StartNative(cfg NativeConfig) (*Native, error) {
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
			return nil, fmt.Errorf("local: native: %w", err)
		}
	}
	if err := os.MkdirAll(cfg.Data, 0o755); err != nil {
		return nil, fmt.Errorf("local: native: %w", err)
	}
	text, err := json.Marshal(cfg)
	if err != nil {
		return nil, err
	}
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("local: native: %w", err)
	}
	n := &Native{cfg: cfg}
	cmd := exec.Command(exe)
	cmd.Dir = cfg.Data
	cmd.Env = append(environment(), nativeEnv+"="+string(text), "HOME="+cfg.Data, "TZ="+cmp.Or(cfg.Zone, "UTC"))
	cmd.Stdout, cmd.Stderr = &n.out, &n.out
	if n.p, err = child.Start(cmd, nil); err != nil {
		return nil, fmt.Errorf("local: native: %w", err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for end := time.Now().Add(startTimeout); ; time.Sleep(20 * time.Millisecond) {
		res, err := client.Get(n.URL() + "/ping")
		if err == nil {
			res.Body.Close()
			return n, nil
		}
		select {
		case <-n.p.Gone:
			return nil, fmt.Errorf("local: native: it ended: %w\n%s", n.p.Err, &n.out)
		default:
		}
		if time.Now().After(end) {
			n.Kill()
			return nil, fmt.Errorf("local: native: no answer within %s: %w\n%s", startTimeout, err, &n.out)
		}
	}
}

// URL returns its address, such as http://127.0.0.1:8123.
func (n *Native) URL() string {
	return "http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(n.cfg.HTTP))
}

// Pid returns the process id.
func (n *Native) Pid() int { return n.p.Cmd.Process.Pid }

// Kill ends it with signal 9. What it has acknowledged is in its directory.
func (n *Native) Kill() {
	n.p.Kill()
	<-n.p.Gone
	n.p.Close()
}

// runNative is the child's side. It returns only if it could not start.
func runNative(text string) error {
	var cfg NativeConfig
	if err := json.Unmarshal([]byte(text), &cfg); err != nil {
		return fmt.Errorf("local: native: %w", err)
	}
	child.Follow(child.First, 0)
	resolve, err := dlopen(cfg.Library)
	if err != nil {
		return fmt.Errorf("local: native: %w", err)
	}
	var handlers func(enabled bool)
	var run func(argc int32, argv unsafe.Pointer) unsafe.Pointer
	if err := errors.Join(resolve("chdb_set_signal_handlers_enabled", &handlers), resolve("query_stable_v2", &run)); err != nil {
		return fmt.Errorf("local: native: %w", err)
	}
	handlers(false)
	args := []string{
		"clickhouse", "--path=" + cfg.Data, "--listen_host=127.0.0.1",
		fmt.Sprint("--http_port=", cfg.HTTP), fmt.Sprint("--tcp_port=", cfg.TCP), "--async_insert=0",
		// The program ends with its statements, so the last one takes for ever.
		"--query=SYSTEM START LISTEN TCP; SYSTEM START LISTEN HTTP; " +
			"SELECT sleepEachRow(1) FROM numbers(1000000000) SETTINGS max_block_size = 1, function_sleep_max_microseconds_per_block = 0 FORMAT Null",
	}
	if cfg.Config != "" {
		args = append(args, "--config-file="+cfg.Config)
	}
	if cfg.Threads != 0 {
		args = append(args, fmt.Sprint("--max_threads=", cfg.Threads))
	}
	var keep arena
	var argv []unsafe.Pointer
	for _, arg := range args {
		argv = append(argv, keep.add(arg))
	}
	result := run(int32(len(argv)), unsafe.Pointer(&argv[0]))
	runtime.KeepAlive(argv)
	runtime.KeepAlive(keep)
	return fmt.Errorf("local: native: clickhouse-local ended: %s", nativeError(result))
}

// nativeError returns the error of a result of query_stable_v2, struct local_result_v2 of chdb.h.
func nativeError(result unsafe.Pointer) string {
	if result == nil {
		return "no result"
	}
	text := *(**byte)(unsafe.Add(result, 48))
	if text == nil {
		return "without an error"
	}
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(text), n)) != 0 {
		n++
	}
	return unsafe.String(text, n)
}
