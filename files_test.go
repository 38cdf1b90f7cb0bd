package weir_test

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// ofKind matches the files that docs/files.md describes together: those named
// after a kind of measure, and the interface that they implement.
var ofKind = regexp.MustCompile(`^(measure_)?(hll|set|bitmap|bloom|geo|min|max|sum|quantile|topk|extreme|first|last|ordered|kind|number)\.go$|^measure\.go$`)

// TestFileMaps: docs/files.md has a map for each package with more than 2,500
// lines; each map has every file of its package, and no file that is not there.
func TestFileMaps(t *testing.T) {
	page, err := os.ReadFile("docs/files.md")
	if err != nil {
		t.Fatal(err)
	}
	maps := map[string][]string{}
	for _, section := range strings.Split(string(page), "\n## ")[1:] {
		dir, rows, _ := strings.Cut(section, "\n")
		for _, row := range regexp.MustCompile("(?m)^\\| (`.*?) \\|").FindAllStringSubmatch(rows, -1) {
			for _, name := range regexp.MustCompile("`(.+?)`").FindAllStringSubmatch(row[1], -1) {
				maps[dir] = append(maps[dir], name[1])
			}
		}
	}
	lines, files := map[string]int{}, map[string][]string{}
	for _, root := range []string{"audit", "cmd", "e2e", "event", "flow", "gen", "ingest", "internal", "jobs", "limits", "locks", "schemas", "serve", "sim", "sinks", "sketches", "window"} {
		err := filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			dir := filepath.Dir(path)
			lines[dir] += strings.Count(string(text), "\n")
			files[dir] = append(files[dir], filepath.Base(path))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for dir, n := range lines {
		if n > 2500 && maps[dir] == nil {
			t.Errorf("docs/files.md has no map of %s, which has %d lines", dir, n)
		}
	}
	for dir, patterns := range maps {
		for _, pattern := range patterns {
			if !slices.ContainsFunc(files[dir], func(f string) bool { return matches(t, pattern, f) }) {
				t.Errorf("docs/files.md: %s has no file %s", dir, pattern)
			}
		}
		for _, f := range files[dir] {
			if f == "doc.go" || dir != "e2e" && (strings.HasSuffix(f, "_test.go") || ofKind.MatchString(f)) {
				continue
			}
			if !slices.ContainsFunc(patterns, func(p string) bool { return matches(t, p, f) }) {
				t.Errorf("docs/files.md: the map of %s lacks %s", dir, f)
			}
		}
	}
}

// matches reports whether a file's name matches a name or pattern of the page.
func matches(t *testing.T, pattern, name string) bool {
	ok, err := filepath.Match(pattern, name)
	if err != nil {
		t.Fatal(err)
	}
	return ok
}

// TestPackageComments: a file that a package's comment names is there, in the package or by its path from here, and
// a comment that lists the files of the package ("Files:") lists each one.
func TestPackageComments(t *testing.T) {
	lists := 0
	err := filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "." && strings.HasPrefix(d.Name(), "."):
			return filepath.SkipDir
		}
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.PackageClauseOnly)
		if err != nil || f.Doc == nil {
			return err
		}
		text, dir := f.Doc.Text(), filepath.Dir(path)
		var named []string
		for _, name := range regexp.MustCompile(`[\w/]+\.go\b`).FindAllString(text, -1) {
			named = append(named, name)
			_, here := os.Stat(filepath.Join(dir, name))
			if _, root := os.Stat(name); here != nil && root != nil {
				t.Errorf("%s: there is no %s", path, name)
			}
		}
		if !strings.Contains(text, "\nFiles:\n") {
			return nil
		}
		lists++
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		for _, file := range files {
			if name := filepath.Base(file); name != "doc.go" && !strings.HasSuffix(name, "_test.go") && !slices.Contains(named, name) {
				t.Errorf("%s lists the files of the package, without %s", path, name)
			}
		}
		return err
	})
	if err != nil || lists == 0 {
		t.Fatalf("%d lists of files: %v", lists, err)
	}
}
