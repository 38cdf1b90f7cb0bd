// Command clickhouse stands in for the ClickHouse server of docker-compose.yml
// where its image cannot be had: the embedded engine, behind a door that has
// accounts.
//
// The first account is that of CLICKHOUSE_USER and CLICKHOUSE_PASSWORD, as in
// the official image, and may do everything. Others are made as on a server, with
// CREATE USER and ALTER USER … IDENTIFIED WITH sha256_hash and GRANT, as weir
// migrate words them, and are kept beside the tables. What a statement needs is told by its first word: SELECT for what
// reads, INSERT for what inserts, the first account for all else. A wrong
// password is refused with ClickHouse's code 516, a missing right with 497.
//
// Not there: the native protocol, settings and quotas of accounts, rights on
// single tables, server configuration.
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

	"weir/internal/local"
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
	door, err := newDoor(engine.URL(), os.Getenv("CLICKHOUSE_USER"), os.Getenv("CLICKHOUSE_PASSWORD"), filepath.Join(data, "accounts.json"))
	if err != nil {
		return errors.Join(err, engine.Close())
	}
	server := &http.Server{Addr: ":8123", Handler: door, ReadHeaderTimeout: 10 * time.Second}
	closed := make(chan error, 1)
	go func() { closed <- server.ListenAndServe() }()
	slog.Info("the stand-in for ClickHouse answers", "http", server.Addr)
	select {
	case err = <-closed:
	case <-engine.Done():
		err = engine.Err()
	case <-ctx.Done():
		drain, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		err = server.Shutdown(drain)
	}
	return errors.Join(err, engine.Close())
}

// containerMemory is the limit of the container in bytes, by control groups of
// either version; 0 where there is none.
func containerMemory() int64 {
	for _, file := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		if err == nil && limit < 1<<50 { // version 1 says a number beyond all memory for none
			return limit
		}
	}
	return 0
}
