package weir_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// program returns the Go source of the binary, without its tests.
func program(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		name := d.Name()
		switch {
		case err != nil:
			return err
		case d.IsDir() && file != "." && (strings.HasPrefix(name, ".") || strings.HasSuffix(name, "test") || slices.Contains([]string{"testdata", "bench", "sim", "e2e", "stack"}, name)):
			return filepath.SkipDir
		case filepath.Ext(name) == ".go" && !strings.HasSuffix(name, "_test.go"):
			text, err := os.ReadFile(file)
			all.Write(text)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// TestRunbookLines: docs/runbook.md has every warning and error that the program logs with a text of its own,
// and no line that it does not write. "…" stands there for what varies.
func TestRunbookLines(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("docs", "runbook.md"))
	if err != nil {
		t.Fatal(err)
	}
	source := program(t)
	logged := regexp.MustCompile(`\b(?:log|Log|say)\.(?:Warn|Error)\("([^"\\]+)"`).FindAllStringSubmatch(source, -1)
	for _, m := range logged {
		if !strings.Contains(string(page), m[1]) {
			t.Errorf("docs/runbook.md lacks the line\n- `%s`", m[1])
		}
	}
	lines := regexp.MustCompile("(?m)^- `([^`]+)`$").FindAllStringSubmatch(string(page), -1)
	for _, m := range lines {
		// The source may put a line together from several texts, of which the beginning of one is found.
		if !slices.ContainsFunc(strings.Split(m[1], "…"), func(part string) bool {
			part = strings.TrimSpace(part)
			return len(part) > 4 && strings.Contains(source, part[:min(24, len(part))])
		}) {
			t.Errorf("docs/runbook.md has a line that nothing writes:\n%s", m[1])
		}
	}
	if len(logged) < 20 || len(lines) < 50 {
		t.Errorf("only %d texts and %d lines found: the test tests little", len(logged), len(lines))
	}
}

// TestRunbookAlerts: the figures of each alert rule exist with their labels, and the runbook has a section
// for it. That the rules fire is tested in make prove (dashboards TestAlerts).
func TestRunbookAlerts(t *testing.T) {
	read := func(of ...string) string {
		text, err := os.ReadFile(filepath.Join(of...))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	var rules struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	d := yaml.NewDecoder(strings.NewReader(read("dashboards", "alerts.yaml")))
	d.KnownFields(true)
	if err := d.Decode(&rules); err != nil {
		t.Fatal(err)
	}
	pairs := func(text, pattern string) map[string]string {
		found := map[string]string{}
		for _, m := range regexp.MustCompile("(?m)"+pattern).FindAllStringSubmatch(text, -1) {
			found[m[1]] = m[2]
		}
		return found
	}
	labels := pairs(read("docs", "metrics.md"), "^\\| `(weir_\\w+)` \\| \\w+ \\| ([^|]*) \\|")
	sections := pairs(read("docs", "runbook.md"), "^\\| `(Weir\\w+)` \\| \\[[^]]*\\]\\(#([a-z-]+)\\) \\|$")
	for _, r := range rules.Groups[0].Rules {
		figure := regexp.MustCompile(`weir_\w+`).FindString(r.Expr)
		has, ok := labels[figure]
		if !ok {
			t.Errorf("%s: there is no figure %q", r.Alert, figure)
		}
		for _, used := range regexp.MustCompile(`\$labels\.(\w+)|(\w+)=`).FindAllStringSubmatch(r.Annotations["summary"]+r.Expr, -1) {
			if name := used[1] + used[2]; !slices.Contains(strings.Split(has, ", "), name) {
				t.Errorf("%s: %s has no label %s", r.Alert, figure, name)
			}
		}
		if got, want := r.Annotations["runbook"], "docs/runbook.md#"+sections[r.Alert]; sections[r.Alert] == "" || got != want {
			t.Errorf("%s: the rule leads to %s, the runbook's table to %q", r.Alert, got, sections[r.Alert])
		}
	}
	if n := len(rules.Groups[0].Rules); n != len(sections) || n < 10 || len(rules.Groups) != 1 {
		t.Errorf("%d rules in %d groups, and %d in the runbook", n, len(rules.Groups), len(sections))
	}
}
