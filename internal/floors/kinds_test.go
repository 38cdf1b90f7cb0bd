package floors

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"weir/window"
)

// asksKind has the files that may ask a measure for its kind.
var asksKind = map[string]string{
	"cmd/weir/up.go": "shows a PFCOUNT to try, where the job has a distinct count",
}

// TestKinds: everything that only one kind of measure needs is in the kind's own files, so
// that a new kind needs no change elsewhere. No other code branches on a kind, by its
// value, its name, or the type of its sketch. Tests may.
func TestKinds(t *testing.T) {
	const root = "../.."
	kinds := kindVars(t, filepath.Join(root, "window"))
	var names []string
	for _, k := range window.Kinds() {
		names = append(names, k.String())
	}
	if len(kinds) != len(names) {
		t.Fatalf("the kinds %v are held in %v", names, kinds)
	}
	files := 0
	used := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name := d.Name()
		if err != nil || d.IsDir() {
			if err == nil && path != root && (strings.HasPrefix(name, ".") || name == "sketches" || name == "node_modules") {
				return filepath.SkipDir
			}
			return err
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || slices.Contains(names, strings.TrimPrefix(strings.TrimSuffix(name, ".go"), "measure_")) {
			return nil
		}
		files++
		path, _ = filepath.Rel(root, path)
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, filepath.Join(root, path), nil, 0)
		if err != nil {
			return err
		}
		one := branches{file: f, kinds: kinds, names: names}
		ast.Inspect(f, one.visit)
		for _, at := range one.found {
			if used[filepath.ToSlash(path)] = true; asksKind[filepath.ToSlash(path)] == "" {
				t.Errorf("%s:%d branches on a kind of measure: it belongs into the file of the kind", path, set.Position(at).Line)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 100 {
		t.Fatalf("only %d files found: the test tests nothing", files)
	}
	for path := range asksKind {
		if !used[path] {
			t.Errorf("%s asks for no kind: take it off the list", path)
		}
	}
}

// kindVars returns the variables of a package that hold its kinds.
func kindVars(t *testing.T, dir string) (vars []string) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.VAR {
				continue
			}
			for _, s := range g.Specs {
				v := s.(*ast.ValueSpec)
				if typ, ok := v.Type.(*ast.Ident); ok && typ.Name == "Kind" {
					for _, name := range v.Names {
						vars = append(vars, name.Name)
					}
				}
			}
		}
	}
	return vars
}

// branches finds the places where a file branches on the kind of a measure.
type branches struct {
	file         *ast.File
	kinds, names []string
	found        []token.Pos
}

func (b *branches) visit(n ast.Node) bool {
	var of []ast.Expr
	switch n := n.(type) {
	case *ast.CaseClause:
		of = n.List
	case *ast.BinaryExpr:
		if n.Op == token.EQL || n.Op == token.NEQ {
			of = []ast.Expr{n.X, n.Y}
		}
	}
	if slices.ContainsFunc(of, b.kind) {
		b.found = append(b.found, n.Pos())
	}
	return true
}

// kind reports whether an expression is a kind: window.HLL, "hll" or *hll.Sketch.
func (b *branches) kind(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return b.file.Name.Name == "window" && slices.Contains(b.kinds, e.Name)
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return err == nil && e.Kind == token.STRING && slices.Contains(b.names, text)
	case *ast.SelectorExpr:
		of, ok := e.X.(*ast.Ident)
		return ok && of.Name == "window" && slices.Contains(b.kinds, e.Sel.Name)
	case *ast.StarExpr:
		s, ok := e.X.(*ast.SelectorExpr)
		if !ok {
			return false
		}
		of, ok := s.X.(*ast.Ident)
		return ok && slices.Contains(b.names, of.Name)
	}
	return false
}
