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
