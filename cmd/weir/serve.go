package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/spf13/cobra"

	"weir/config"
	"weir/internal/bounded"
	"weir/serve/redis"
)

// scratchKeys is the default of how much memory the keys of clients may take.
const scratchKeys config.Size = 1 << 30

func serveCommand() *cobra.Command {
	var listen, passwordFile string
	var readOnly bool
	memory, idle := scratchKeys, config.Duration(0)
	c := &cobra.Command{
		Use:   "serve",
		Short: "The Redis endpoint alone, with scratch keys in memory",
		Long: `Answer any Redis client: HyperLogLog, bitmaps, Bloom filters, positions,
sorted sets, CL.THROTTLE, locks and transactions, as docs/commands-redis.md
lists them. Keys are in memory, and are lost when the process ends.

It listens on loopback only, unless there is a password, which clients give with AUTH.`,
		Example: "  weir serve --listen 127.0.0.1:6379\n  redis-cli PFADD visitors anna boris",
		RunE: func(c *cobra.Command, _ []string) error {
			if memory < 1<<20 {
				return &exit{exitUsage, fmt.Errorf("--memory %s: want at least 1MiB", memory), ""}
			}
			password, err := readPassword(passwordFile)
			if err != nil {
				return err
			}
			if err := guardListen(listen, password.IsSet()); err != nil {
				return err
			}
			l, err := place{addr: listen, key: "--listen"}.listen()
			if err != nil {
				return err
			}
			log := newLog(c.ErrOrStderr(), config.Log{Level: "info", Format: "auto"})
			log.Info("weir serves", "redis", l.Addr().String(), "read_only", readOnly, "memory", memory.String(), "password", password.IsSet())
			_, clients := connectionLimits(log, 0)
			keepTo(int64(memory))
			s := redis.New(redis.Config{
				Password: password.Reveal(), ReadOnly: readOnly, Memory: int(memory), Idle: time.Duration(idle), Clients: clients, Log: log,
			})
			return s.Serve(c.Context(), l)
		},
	}
	c.Flags().StringVar(&listen, "listen", "127.0.0.1:6379", "address to listen on")
	c.Flags().StringVar(&passwordFile, "password-file", "", "file with the password that AUTH must give (or WEIR_RESP_PASSWORD)")
	c.Flags().BoolVar(&readOnly, "read-only", false, "refuse every command that writes")
	c.Flags().TextVar(&memory, "memory", memory, "`size` of the scratch keys beyond which writes are refused")
	c.Flags().TextVar(&idle, "idle", idle, "close connections that send nothing for this `duration`; 0s: never")
	return c
}

// readPassword reads the password from a file or the environment, never from
// the command line, which other users can see.
func readPassword(file string) (config.Secret, error) {
	if file == "" {
		return config.NewSecret(os.Getenv("WEIR_RESP_PASSWORD")), nil
	}
	text, err := bounded.ReadFile(file, 64<<10)
	if err != nil {
		return config.Secret{}, &exit{exitConfig, fmt.Errorf("--password-file %s: %w", file, err), ""}
	}
	password := config.NewSecret(string(bytes.TrimRight(text, "\r\n")))
	if !password.IsSet() {
		return config.Secret{}, &exit{exitConfig, fmt.Errorf("--password-file %s: the file is empty", file), ""}
	}
	return password, nil
}

// guardListen refuses an address that other machines can reach, unless there is
// a password.
func guardListen(listen string, password bool) error {
	if _, _, err := net.SplitHostPort(listen); err != nil {
		return &exit{exitUsage, fmt.Errorf("--listen %s: %w", listen, err), "such as 127.0.0.1:6379"}
	}
	if !password && !config.IsLoopback(listen) {
		return &exit{exitConfig, fmt.Errorf("--listen %s: others could reach it, and there is no password", listen),
			"set one with --password-file, or listen on 127.0.0.1"}
	}
	return nil
}
