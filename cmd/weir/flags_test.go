package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestFlagValues: an impossible value is a usage error that names the flag,
// before anything is started or created.
func TestFlagValues(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		line []string
		want string
	}{
		{[]string{"gen", "--late", "1.5"}, "error: --late is 1.5, want 0 to 1"},
		{[]string{"gen", "--late", "0.6", "--future", "0.6"}, "error: --late, --future, --duplicates and --malformed add up to 1.2, want at most 1"},
		{[]string{"gen", "--users", "0"}, "error: --users is 0, want 1 to"},
		{[]string{"gen", "--partitions", "0"}, "error: --partitions 0: want at least 1"},
		{[]string{"broker", "--partitions", "0"}, "error: --partitions 0: want at least 1"},
		{[]string{"broker", "--listen", "9092"}, `error: --listen "9092": want host:port, with a port from 0 to 65535`},
		{[]string{"broker", "--listen", "127.0.0.1:99999"}, `error: --listen "127.0.0.1:99999": want host:port`},
		{[]string{"broker", "--listen", "127.0.0.1:0", "--data", file}, "error: --data " + file + " is a file"},
		{[]string{"engine", "--listen", "8123"}, `error: --listen "8123": want host:port`},
		{[]string{"engine", "--data", file}, "error: --data " + file + " is a file"},
		{[]string{"up", "--data", file}, "error: --data " + file + " is a file"},
		{[]string{"up", "--data", filepath.Join(file, "below")}, "error: --data " + filepath.Join(file, "below") + ": "},
		{[]string{"verify", "--from", "yesterday"}, `error: --from "yesterday" is neither a time`},
		{[]string{"repair", "--to", "tomorrow"}, `error: --to "tomorrow" is neither a time`},
	} {
		var out bytes.Buffer
		if code := execute(t.Context(), c.line, &out, &out); code != exitUsage || !strings.Contains(out.String(), c.want) {
			t.Errorf("weir %s: exit code %d, want %d and %s in\n%s", strings.Join(c.line, " "), code, exitUsage, c.want, &out)
		}
	}
}

// TestFlagTypes: the help of each flag that takes a value says what it takes.
func TestFlagTypes(t *testing.T) {
	n := 0
	var look func(c *cobra.Command)
	look = func(c *cobra.Command) {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			n++
			if kind, _ := pflag.UnquoteUsage(f); kind == "" && f.NoOptDefVal == "" {
				t.Errorf("the help of %s has --%s without what it takes", c.CommandPath(), f.Name)
			}
		})
		for _, sub := range c.Commands() {
			look(sub)
		}
	}
	look(newRoot())
	if n < 50 {
		t.Errorf("there are %d flags only", n)
	}
}
