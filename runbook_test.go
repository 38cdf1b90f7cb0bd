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
	sections := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^## (.*)$").FindAllStringSubmatch(read("docs", "runbook.md"), -1) {
		sections["docs/runbook.md#"+strings.ReplaceAll(strings.ToLower(m[1]), " ", "-")] = true
	}
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
		if to := r.Annotations["runbook"]; !sections[to] {
			t.Errorf("%s: the rule leads to %s, which is no section of the runbook", r.Alert, to)
		}
	}
	if n := len(rules.Groups[0].Rules); n < 10 || len(rules.Groups) != 1 {
		t.Errorf("%d rules in %d groups", n, len(rules.Groups))
	}
}
