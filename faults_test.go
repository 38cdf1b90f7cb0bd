package weir_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"weir/sim"
)

// testNames returns all tests and fuzz targets of the module, as "package
// TestName", the package being its folder.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names := make(map[string]bool)
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && file != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata"):
			return filepath.SkipDir
		case !strings.HasSuffix(file, "_test.go"):
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range parsed.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if ok && f.Recv == nil && f.Name.Name != "TestMain" {
				names[path.Dir(filepath.ToSlash(file))+" "+f.Name.Name] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestFaults: each row of docs/faults.md is whole and names a test or a fault of the
// simulator, every test that it names exists, and every fault of the simulator is in it.
func TestFaults(t *testing.T) {
	file := filepath.Join("docs", "faults.md")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	names := testNames(t)
	quoted := regexp.MustCompile("`([^`]+)`")
	isTest := regexp.MustCompile(`^[a-z0-9/]+ (Test|Fuzz)[A-Z]\w*$`)
	var met sim.Set
	rows := 0
	for n, line := range strings.Split(string(text), "\n") {
		inner, ok := strings.CutPrefix(line, "| ")
		if !ok || strings.HasPrefix(line, "| fault |") {
			continue
		}
		rows++
		cells := strings.Split(strings.TrimSuffix(inner, " |"), " | ")
		if len(cells) != 3 {
			t.Errorf("%s:%d: %d cells, want 3", file, n+1, len(cells))
			continue
		}
		shown := quoted.FindAllStringSubmatch(cells[2], -1)
		if len(shown) == 0 {
			t.Errorf("%s:%d: %q names no test", file, n+1, cells[2])
		}
		for _, m := range shown {
			fault, err := sim.ParseSet(m[1])
			switch {
			case isTest.MatchString(m[1]) && !names[m[1]]:
				t.Errorf("%s:%d: there is no test %s", file, n+1, m[1])
			case !isTest.MatchString(m[1]) && err != nil:
				t.Errorf("%s:%d: %s is neither a test nor a fault of the simulator", file, n+1, m[1])
			case err == nil:
				met |= fault
			}
		}
	}
	if rows < 60 {
		t.Errorf("%s: only %d rows found: the test tests little", file, rows)
	}
	// A filter is not a fault: the simulator switches it on so that its outcome
	// occurs.
	if missing := sim.All &^ met &^ sim.Set(0).With(sim.Where); missing != 0 {
		t.Errorf("%s leaves out what the simulator does: %s", file, missing)
	}
}
