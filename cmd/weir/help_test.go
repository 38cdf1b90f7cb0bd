package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestHelp: help shows a command's own flags, and with --help-all those of the configuration, too; every command is in a
// group and has an example.
func TestHelp(t *testing.T) {
	help := func(args ...string) string {
		var out, errs bytes.Buffer
		if code := execute(t.Context(), args, &out, &errs); code != 0 {
			t.Fatalf("%q: exit %d: %s", args, code, &errs)
		}
		return out.String()
	}
	for _, c := range newRoot().Commands() {
		switch c.Name() {
		case "help", "completion":
			continue
		}
		text := help(c.Name(), "--help")
		if c.Name() != "version" && c.GroupID == "" || !c.HasSubCommands() && !strings.Contains(text, "Examples:\n  weir "+c.Name()) {
			t.Errorf("weir %s is in group %q, and its help is\n%s", c.Name(), c.GroupID, text)
		}
		if strings.Contains(text, "--clickhouse.urls") {
			t.Errorf("the help of %s has the flags of the configuration", c.Name())
		}
		if c.Flag(helpAll) != nil && !strings.Contains(help(c.Name(), "--help-all"), "--clickhouse.urls") {
			t.Errorf("weir %s --help-all has no flags of the configuration", c.Name())
		}
	}
	if text := help("--help"); !strings.Contains(text, "Try it:\n") || strings.Index(text, "  infer ") < strings.Index(text, "Write a configuration:") {
		t.Errorf("weir --help has no groups:\n%s", text)
	}
}

// TestComplete: a shell is offered the configured jobs, and outcomes.
func TestComplete(t *testing.T) {
	file := filepath.Join(t.TempDir(), "weir.yaml")
	if err := os.WriteFile(file, []byte("jobs: [{name: clicks, topic: clicks, window: 1m, time: {field: ts}, by: [{name: page, field: page}], measures: [{name: users, kind: hll, field: user}]}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"tap --config " + file + " --job ":      "clicks",
		"tap --outcome ":                        "malformed",
		"produce --time-unit ":                  "rfc3339",
		"check --output ":                       "json",
		"run --config " + file + " --kafka.bro": "--kafka.brokers",
	} {
		var out, errs bytes.Buffer
		args := strings.Split("__complete "+line, " ")
		if code := execute(t.Context(), args, &out, &errs); code != 0 || !strings.Contains(out.String(), want) {
			t.Errorf("%q: exit %d, %q, want %s", line, code, out.String(), want)
		}
	}
}
