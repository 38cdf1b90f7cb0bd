// Command clickhouse is a stand-in for the ClickHouse server of docker-compose.yml, for
// machines that cannot pull its image. It is the embedded engine behind a proxy that
// checks accounts.
//
// The first account is the one of CLICKHOUSE_USER and CLICKHOUSE_PASSWORD, as in
// the official image, and may do everything. Others are made as on a server, with the
// statements of weir migrate: CREATE USER and ALTER USER … IDENTIFIED WITH sha256_hash,
// and GRANT. They are stored beside the tables. The first word of a statement decides
// which right it needs: SELECT for reading, INSERT for inserting, the first account for
// all other statements. A wrong password is refused with ClickHouse's code 516, a
// missing right with 497.
//
// It lacks the native protocol, settings and quotas of accounts, rights on single
// tables, and server configuration.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"weir/demo/local"
)

func main() {
	local.MaybeChild() // the engine is this binary, started again
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, "/var/lib/clickhouse"); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, data string) error {
	engine, err := local.StartEngine(ctx, local.EngineConfig{
		Listen: "127.0.0.1:0", Data: filepath.Join(data, "engine"), Memory: containerMemory() / 4 * 3, Log: slog.Default(),
	})
	if err != nil {
		return err
	}
	proxy, err := newProxy(engine.URL(), os.Getenv("CLICKHOUSE_USER"), os.Getenv("CLICKHOUSE_PASSWORD"), filepath.Join(data, "accounts.json"))
	if err != nil {
		return errors.Join(err, engine.Close())
	}
	server := &http.Server{Addr: ":8123", Handler: proxy, ReadHeaderTimeout: 10 * time.Second}
	closed := make(chan error, 1)
	go func() { closed <- server.ListenAndServe() }()
	slog.Info("the stand-in for ClickHouse answers", "http", server.Addr)
	select {
	case err = <-closed:
	case <-ctx.Done():
		drain, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		err = server.Shutdown(drain)
	}
	return errors.Join(err, engine.Close())
}

// containerMemory returns the memory limit of the container in bytes, from control groups
// of version 1 or 2; 0 if there is none.
func containerMemory() int64 {
	for _, file := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		if err == nil && limit < 1<<50 { // without a limit, version 1 has a huge number
			return limit
		}
	}
	return 0
}
