package floors

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// mapped is how many files a package has at least whose comment must list them; others may.
const mapped = 20

// TestReadingOrder: the comment of a package of many files lists them under "Files:", each one that is there and
// no other, in the order in which they are read: callers before what they call. At most a quarter of the calls
// between files go back to one further up.
func TestReadingOrder(t *testing.T) {
	const root = "../.."
	lists := 0
	err := filepath.WalkDir(root, func(dir string, d os.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if name := d.Name(); dir != root && (strings.HasPrefix(name, ".") || name == "node_modules" || name == "bench") {
			return filepath.SkipDir // bench has a program in each folder, and is a module of its own
		}
		set := token.NewFileSet()
		var files []*ast.File
		var names, listed []string
		paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
		for _, path := range paths {
			name := filepath.Base(path)
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(set, path, nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			files = append(files, f)
			if _, list, ok := strings.Cut("\n"+f.Doc.Text(), "\nFiles:\n"); ok {
				listed = regexp.MustCompile(`\w+\.go\b`).FindAllString(list, -1)
			}
			if name != "doc.go" {
				names = append(names, name)
			}
		}
		if listed == nil {
			if len(names) >= mapped {
				t.Errorf("%s: no comment lists the %d files (\"Files:\")", dir, len(names))
			}
			return err
		}
		lists++
		for _, name := range names {
			if !slices.Contains(listed, name) {
				t.Errorf("%s: the list of files has no %s", dir, name)
			}
		}
		for i, name := range listed {
			if !slices.Contains(names, name) || slices.Contains(listed[:i], name) {
				t.Errorf("%s: the list of files has %s, which is not there or listed before", dir, name)
			}
		}
		calls, back := climbs(set, files, listed)
		if t.Logf("%s: %d calls between files, %d back", dir, calls, len(back)); 4*len(back) > calls {
			t.Errorf("%s: of %d calls between files %d go back in the list: %s", dir, calls, len(back), strings.Join(back, ", "))
		}
		return err
	})
	if err != nil || lists < 10 {
		t.Fatalf("%d lists of files: %v", lists, err)
	}
}

// climbs counts the calls between files of a package, and lists those that go back in the order of the files.
func climbs(set *token.FileSet, files []*ast.File, order []string) (calls int, back []string) {
	info := types.Info{Uses: map[*ast.Ident]types.Object{}}
	// What other packages declare does not matter here, so nothing is imported: errors about that are left out.
	conf := types.Config{FakeImportC: true, Error: func(error) {}, Importer: none{}}
	pkg, _ := conf.Check("p", set, files, &info)
	file := func(at token.Pos) string { return filepath.Base(set.Position(at).Filename) }
	for id, used := range info.Uses {
		f, ok := used.(*types.Func)
		if !ok || f.Pkg() != pkg {
			continue
		}
		if of := f.Signature().Recv(); of != nil && types.IsInterface(of.Type()) {
			continue
		}
		from, to := file(id.Pos()), file(f.Pos())
		if from == to {
			continue
		}
		calls++
		if slices.Index(order, from) > slices.Index(order, to) {
			back = append(back, from+" → "+to+" "+f.Name())
		}
	}
	slices.Sort(back)
	return calls, back
}

// none imports every package as an empty one.
type none struct{}

func (none) Import(path string) (*types.Package, error) {
	p := types.NewPackage(path, filepath.Base(path))
	p.MarkComplete()
	return p, nil
}
