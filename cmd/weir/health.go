package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weir/config"
)

func healthcheckCommand() *cobra.Command {
	var ready bool
	c := &cobra.Command{
		Use:   "healthcheck",
		Short: "Ask the running process for its health; for containers without a shell",
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, _, err := loadConfig(c, config.Options{NoJobs: true, NoSecrets: true})
			if err != nil {
				return err
			}
			path := "/livez"
			if ready {
				path = "/readyz"
			}
			ctx, cancel := context.WithTimeout(c.Context(), 3*time.Second)
			defer cancel()
			return askHealth(ctx, c.OutOrStdout(), cfg.HTTP.Listen, path)
		},
	}
	configFlags(c)
	c.Flags().BoolVar(&ready, "ready", false, "ask whether it is ready: everything is counted and stored")
	return c
}

// askHealth prints the answer; anything but 200 is an error.
func askHealth(ctx context.Context, out io.Writer, listen, path string) error {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return err
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1" // it listens everywhere: ask on loopback
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+path, nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("no answer: %w", err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 4<<10))
	if err != nil {
		return err
	}
	text := strings.TrimSpace(string(body))
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", path, text)
	}
	fmt.Fprintln(out, text)
	return nil
}
