package weir_test

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPackageComments: a file that a package's comment names is there, in the package or by its path from here.
// That a list of files is complete, internal/floors says.
func TestPackageComments(t *testing.T) {
	named := 0
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
		for _, name := range regexp.MustCompile(`[\w/]+\.go\b`).FindAllString(text, -1) {
			named++
			_, here := os.Stat(filepath.Join(dir, name))
			if _, root := os.Stat(name); here != nil && root != nil {
				t.Errorf("%s: there is no %s", path, name)
			}
		}
		return nil
	})
	if err != nil || named == 0 {
		t.Fatalf("%d names of files: %v", named, err)
	}
}

// TestOneClick: the walk through ARCHITECTURE.md names files that are there, and few enough to read.
func TestOneClick(t *testing.T) {
	const most, steps = 30, 7
	text, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, walk, _ := strings.Cut(string(text), "## One click, seven steps\n")
	walk, _, _ = strings.Cut(walk, "\n## ")
	if n := len(regexp.MustCompile(`(?m)^\d\. `).FindAllString(walk, -1)); n != steps {
		t.Errorf("the walk has %d steps, want %d", n, steps)
	}
	files := map[string]bool{}
	for _, name := range regexp.MustCompile(`[\w/]+\.(go|sql)\b`).FindAllString(walk, -1) {
		if _, err := os.Stat(name); err != nil {
			t.Errorf("a step names a file that is not there: %v", err)
		}
		files[name] = true
	}
	if n := len(files); n == 0 || n > most {
		t.Errorf("the walk names %d files, want at most %d", n, most)
	}
}
