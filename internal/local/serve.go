package local

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// EngineConfig says where and how the embedded ClickHouse runs.
type EngineConfig struct {
	// Listen is the HTTP address, 127.0.0.1:8123 by default. An address without a
	// host, such as ":8123", means loopback as well; to let other machines reach
	// the engine, name an address of this machine. The engine has no accounts:
	// every client that reaches the port can read and write every table, and files
	// with the rights of the process. Port 0 is any free port.
	Listen string

	// Data is the directory of the tables, made if missing. One engine at a
	// time may have it.
	Data string

	// Library is the path of libchdb.so; empty means libchdb.Find.
	Library string

	// Memory is how many bytes the engine may use in all, half the machine's
	// by default and at least 512 MiB. One query may use three quarters of it.
	Memory int64

	// Queries is how many queries run at the same time, 4 per CPU and at least 8
	// by default. Further queries wait.
	Queries int

	// Body is how many bytes a request's body may have once unpacked, 1 GiB
	// by default. The body of an INSERT is held in memory until it is whole.
	Body int64

	// Settings are ClickHouse settings for every session, by name, in addition to
	// those from the fields above. A request may set others.
	Settings map[string]string

	// Log gets the messages for the operator; nil means slog.Default.
	Log *slog.Logger `json:"-"`
}

// withDefaults fills in what is left out and checks the rest.
func (c EngineConfig) withDefaults() (EngineConfig, error) {
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.Data == "" {
		return c, errors.New("local: engine: a data directory is needed")
	}
	data, err := filepath.Abs(c.Data)
	if err != nil {
		return c, fmt.Errorf("local: engine: data: %w", err)
	}
	c.Data = data
	if c.Listen, err = loopback(c.Listen, "8123"); err != nil {
		return c, fmt.Errorf("local: engine: listen: %w", err)
	}
	if c.Library == "" {
		if c.Library, err = FindEngine(); err != nil {
			return c, err
		}
	}
	if c.Library, err = filepath.Abs(c.Library); err != nil {
		return c, fmt.Errorf("local: engine: library: %w", err)
	}
	if c.Memory == 0 {
		total, err := machineMemory()
		if err != nil {
			return c, fmt.Errorf("local: engine: %w", err)
		}
		c.Memory = max(total/2, 512<<20)
	}
	if c.Memory < 512<<20 {
		return c, fmt.Errorf("local: engine: memory %d is too little; 512 MiB is the least the engine starts and merges in", c.Memory)
	}
	if c.Queries == 0 {
		c.Queries = max(8, 4*runtime.NumCPU())
	}
	if c.Body == 0 {
		c.Body = 1 << 30
	}
	if c.Queries < 1 || c.Body < 1 {
		return c, fmt.Errorf("local: engine: queries %d and body %d must be positive", c.Queries, c.Body)
	}
	return c, nil
}

// loopback completes an address: without a host it gets 127.0.0.1, and an empty
// one also gets the default port.
func loopback(addr, port string) (string, error) {
	if addr == "" {
		return net.JoinHostPort("127.0.0.1", port), nil
	}
	host, p, err := net.SplitHostPort(addr)
	if err != nil {
		return "", err
	}
	if host == "" {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, p), nil
}

// ServeEngine runs ClickHouse in this process and serves its HTTP interface
// until ctx ends; then it lets running queries finish for up to ten seconds.
// It is the core of `weir engine`.
//
// The process becomes the engine's: the working directory moves to Data, stdin
// is closed, HOME and TZ are set, and the engine's threads stay until the
// process ends. A process can have one engine in its life. Exit soon after
// ServeEngine returns: acknowledged data is in files, so the engine needs no
// orderly stop.
func ServeEngine(ctx context.Context, cfg EngineConfig) error {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", cfg.Listen)
	if err != nil {
		return fmt.Errorf("local: engine: %w", err)
	}
	return serveEngine(ctx, cfg, l)
}

// serveEngine is ServeEngine on an open listener, with a complete
// configuration. It closes the listener.
func serveEngine(ctx context.Context, cfg EngineConfig, l net.Listener) error {
	defer l.Close()
	start := time.Now()
	f, err := newFront(cfg)
	if err != nil {
		return fmt.Errorf("local: engine: %w", err)
	}
	f.loopback = l.Addr().(*net.TCPAddr).IP.IsLoopback()
	srv := &http.Server{
		Handler:           f,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    1 << 20,
		ErrorLog:          slog.NewLogLogger(cfg.Log.Handler(), slog.LevelWarn),
	}
	cfg.Log.Info("engine: ready", "url", "http://"+l.Addr().String(), "clickhouse", f.version, "data", cfg.Data, "took", time.Since(start).Round(time.Millisecond))
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	select {
	case err := <-served:
		return fmt.Errorf("local: engine: %w", err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := srv.Shutdown(grace); err != nil {
		srv.Close()
		return fmt.Errorf("local: engine: queries were still running at shutdown: %w", err)
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("local: engine: %w", err)
	}
	return nil
}

// newFront starts the engine and returns the handler in front of it.
func newFront(cfg EngineConfig) (*front, error) {
	if err := os.MkdirAll(cfg.Data, 0o755); err != nil {
		return nil, err
	}
	// The engine reads config.xml in the working directory and ~/.clickhouse-local
	// of the user. Another working directory and HOME prevent that.
	if err := os.Chdir(cfg.Data); err != nil {
		return nil, err
	}
	for name, value := range map[string]string{"HOME": cfg.Data, "TZ": "UTC"} {
		if err := os.Setenv(name, value); err != nil {
			return nil, err
		}
	}
	// An INSERT reads further rows from stdin if that is a pipe or file.
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	if null.Fd() != 0 { // it is 0 if stdin was closed
		err := unix.Dup2(int(null.Fd()), 0)
		null.Close()
		if err != nil {
			return nil, os.NewSyscallError("dup2", err)
		}
	}

	lib, err := load(cfg.Library)
	if err != nil {
		return nil, err
	}
	// With the engine's own handlers a nil pointer in the front would not be a Go
	// panic any more, and a crashed process would take five minutes to end.
	lib.setSignalHandlers(false)
	// This first session keeps the engine running; it serves no requests. The
	// engine takes the server's settings from it.
	boot, err := lib.connect(
		"--path="+cfg.Data,
		fmt.Sprintf("--max_server_memory_usage=%d", cfg.Memory),
		fmt.Sprintf("--mark_cache_size=%d", cfg.Memory/8),
	)
	if err != nil {
		return nil, fmt.Errorf("%w; is another engine using %s?", err, cfg.Data)
	}
	f := &front{
		lib:     lib,
		log:     cfg.Log,
		slots:   make(chan struct{}, cfg.Queries),
		maxBody: cfg.Body,
		defaults: []string{
			"--path=" + cfg.Data,
			fmt.Sprintf("--max_memory_usage=%d", cfg.Memory/4*3),
			// A server queues small inserts by default and answers when the queue is
			// flushed. This engine answers an INSERT when it is on disk.
			"--async_insert=0",
			// Machine code for expressions pays for itself in statements over many rows. The
			// many small ones of weir cost a seventh less processor time without it.
			"--compile_expressions=0",
			"--compile_aggregate_expressions=0",
			"--compile_sort_description=0",
		},
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Settings)) {
		f.defaults = append(f.defaults, "--"+name+"="+cfg.Settings[name])
	}
	if f.version, err = boot.text("SELECT version()"); err != nil {
		return nil, err
	}
	if f.timezone, err = boot.text("SELECT timezone()"); err != nil {
		return nil, err
	}
	return f, nil
}
