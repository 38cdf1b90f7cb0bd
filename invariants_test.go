package weir_test

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// tests returns the command of each test and fuzz target, "test" or "prove", by
// "package TestName". The package is its folder.
func tests(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && file != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata"):
			return filepath.SkipDir
		case !strings.HasSuffix(file, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		command := "test"
		if regexp.MustCompile(`(?m)^//go:build .*\bprove\b`).Match(text) {
			command = "prove"
		}
		for _, m := range regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`).FindAllStringSubmatch(string(text), -1) {
			all[path.Dir(filepath.ToSlash(file))+" "+m[1]] = command
			if command == "prove" && !strings.Contains(strings.ToLower(string(text)), "make test") {
				t.Errorf("%s does not say which test stands for it in make test", file)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestInvariants: each test in the table of invariants of ARCHITECTURE.md exists, in the
// command of its column, and each invariant has one.
func TestInvariants(t *testing.T) {
	page, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(page), "| invariant | `make test` | `make prove` |\n|---|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	rows := strings.Split(table, "\n")
	if !found || len(rows) < 40 {
		t.Fatalf("the table has %d rows", len(rows))
	}
	known := tests(t)
	for _, row := range rows {
		cells := strings.Split(strings.Trim(row, "|"), "|")
		if len(cells) != 3 {
			t.Errorf("%d cells in %s", len(cells), row)
			continue
		}
		named := 0
		for i, command := range []string{"test", "prove"} {
			folder := ""
			for _, m := range regexp.MustCompile("`([a-z0-9/]+)`|(?:Test|Fuzz)\\w+").FindAllStringSubmatch(cells[1+i], -1) {
				if m[1] != "" {
					folder = m[1]
					continue
				}
				named++
				if known[folder+" "+m[0]] != command {
					t.Errorf("%s %s is in make %q, the table has it in make %s", folder, m[0], known[folder+" "+m[0]], command)
				}
			}
		}
		if named == 0 {
			t.Errorf("no test holds %s", cells[0])
		}
	}
}

// TestNamedTests: a document names no test that does not exist.
func TestNamedTests(t *testing.T) {
	known, n := tests(t), 0
	for _, file := range documents(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile("`([a-z0-9/]+ (?:Test|Fuzz)[A-Z]\\w*)`").FindAllStringSubmatch(string(text), -1) {
			if n++; known[m[1]] == "" {
				t.Errorf("%s: there is no test %s", file, m[1])
			}
		}
	}
	if n == 0 {
		t.Error("no document names a test: the test tests nothing")
	}
}
