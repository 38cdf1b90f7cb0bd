package weir_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

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
