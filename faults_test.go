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
	"strconv"
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

// TestFaults: the table of docs/faults.md is whole, every test that it names
// exists, and every fault of the simulator is in it.
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
		if !ok || strings.HasPrefix(line, "| # |") {
			continue
		}
		rows++
		cells := strings.Split(strings.TrimSuffix(inner, "|"), "|")
		if len(cells) != 4 {
			t.Errorf("%s:%d: %d cells, want 4", file, n+1, len(cells))
			continue
		}
		for i := range cells {
			if cells[i] = strings.TrimSpace(cells[i]); cells[i] == "" {
				t.Errorf("%s:%d: cell %d is empty", file, n+1, i+1)
			}
		}
		if cells[0] != strconv.Itoa(rows) {
			t.Errorf("%s:%d: row %s, want %d", file, n+1, cells[0], rows)
		}
		tests := 0
		for _, m := range quoted.FindAllStringSubmatch(cells[3], -1) {
			fault, err := sim.ParseSet(m[1])
			switch {
			case isTest.MatchString(m[1]):
				tests++
				if !names[m[1]] {
					t.Errorf("%s:%d: there is no test %s", file, n+1, m[1])
				}
			case err != nil:
				t.Errorf("%s:%d: %s is neither a test nor a fault of the simulator", file, n+1, m[1])
			case !strings.Contains(cells[3], "`sim TestSchedules`"):
				t.Errorf("%s:%d: the fault %s without the test that makes it", file, n+1, m[1])
			default:
				met |= fault
			}
		}
		if tests == 0 && cells[3] != "no test" {
			t.Errorf("%s:%d: %q names no test, and does not say so", file, n+1, cells[3])
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
