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
