package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// dashboard runs weir dashboard with the configuration of this repository, and returns what
// it prints.
func dashboard(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out strings.Builder
	c := dashboardCommand()
	c.SetOut(&out)
	c.SetErr(io.Discard)
	c.SilenceUsage, c.SilenceErrors = true, true
	c.SetArgs(append([]string{"-c", "../../weir.yaml"}, args...))
	err := c.ExecuteContext(t.Context())
	return out.String(), err
}

// uids returns the uid of each dashboard in what was printed.
func uids(t *testing.T, printed string) (all []string) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(printed))
	for d.More() {
		var b struct{ UID string }
		if err := d.Decode(&b); err != nil {
			t.Fatal(err)
		}
		all = append(all, b.UID)
	}
	return all
}

// TestDashboards: the files of dashboards/ are those that weir dashboard writes for
// weir.yaml. With -update it writes them.
func TestDashboards(t *testing.T) {
	const kept = "../../dashboards"
	if *update {
		old, err := filepath.Glob(kept + "/*.json")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range old {
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := dashboard(t, "--out", kept); err != nil {
			t.Fatal(err)
		}
	}
	dir := filepath.Join(t.TempDir(), "made", "here") // the command makes it
	if printed, err := dashboard(t, "--out", dir); err != nil || printed != "" {
		t.Fatalf("%v: %s", err, printed)
	}
	files := func(dir string) (names []string) {
		all, err := filepath.Glob(dir + "/*.json")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range all {
			names = append(names, filepath.Base(f))
		}
		return names
	}
	want := []string{"weir-job-clicks.json", "weir-job-locations.json", "weir-metrics.json", "weir-pipeline.json"}
	if got := files(dir); !slices.Equal(got, want) {
		t.Fatalf("wrote %q, want %q", got, want)
	}
	if got := files(kept); !slices.Equal(got, want) {
		t.Errorf("dashboards/ has %q, want %q: make docs", got, want)
	}
	all := ""
	for _, name := range want {
		made, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if is, err := os.ReadFile(filepath.Join(kept, name)); err != nil || string(is) != string(made) {
			t.Errorf("dashboards/%s is not what weir dashboard writes (%v): make docs", name, err)
		}
		if got := uids(t, string(made)); !slices.Equal(got, []string{strings.TrimSuffix(name, ".json")}) {
			t.Errorf("%s has the dashboards %q", name, got)
		}
		all += string(made)
	}

	// Without --out it prints the same.
	printed, err := dashboard(t)
	if err != nil || len(printed) != len(all) || len(uids(t, printed)) != len(want) {
		t.Errorf("%v: printed %q, %d bytes, want %d", err, uids(t, printed), len(printed), len(all))
	}
	printed, err = dashboard(t, "--job", "locations")
	if made, _ := os.ReadFile(filepath.Join(dir, "weir-job-locations.json")); err != nil || printed != string(made) {
		t.Errorf("--job locations: %v, %q", err, uids(t, printed))
	}
}
