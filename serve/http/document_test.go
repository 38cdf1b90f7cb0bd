package http

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"weir/jobs"
)

// A document is a Markdown document: heading → text of the section.
type document map[string]string

func readPage(t *testing.T, file string) document {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p := document{}
	for _, section := range regexp.MustCompile(`(?m)^##+ `).Split("## \n"+string(text), -1)[1:] {
		heading, body, _ := strings.Cut(section, "\n")
		p[heading] = body
	}
	return p
}

// rows returns the rows with that many cells of all tables in a section, without the
// header rows.
func (p document) rows(t *testing.T, heading string, cells int) (rows [][]string) {
	t.Helper()
	body, ok := p[heading]
	if !ok {
		t.Fatalf("there is no section %q", heading)
	}
	lines := strings.Split(body, "\n")
	for i, line := range lines {
		inner, isRow := strings.CutPrefix(line, "| ")
		if !isRow || i+1 < len(lines) && strings.HasPrefix(lines[i+1], "|--") {
			continue
		}
		row := strings.Split(strings.TrimSuffix(strings.TrimSpace(inner), " |"), " | ")
		if len(row) == cells {
			rows = append(rows, row)
		}
	}
	return rows
}

var quotedWord = regexp.MustCompile("`([^`]+)`")

// names returns the texts in backquotes in a cell.
func names(cell string) (all []string) {
	for _, m := range quotedWord.FindAllStringSubmatch(cell, -1) {
		all = append(all, m[1])
	}
	return all
}

// routes reads from the source the paths of Handler and the status codes that the
// handler functions name.
func routes(t *testing.T) map[string][]int {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	functions := map[string]*ast.FuncDecl{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				functions[f.Name.Name] = f
			}
		}
	}
	codes := map[string]int{
		"StatusOK": 200, "StatusNoContent": 204, "StatusBadRequest": 400, "StatusUnauthorized": 401, "StatusForbidden": 403, "StatusNotFound": 404,
		"StatusBadGateway": 502, "StatusServiceUnavailable": 503, "HTTPErrorOnError": 500,
	}
	found := map[string][]int{}
	ast.Inspect(functions["Handler"], func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) != 2 {
			return true
		}
		of, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || of.Sel.Name != "Handle" && of.Sel.Name != "HandleFunc" {
			return true
		}
		pattern, err := strconv.Unquote(call.Args[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		method, path, _ := strings.Cut(strings.TrimSuffix(pattern, "{$}"), " ")
		all := []int{200}
		switch {
		case method == "POST" && (path == "/api/v1/session" || path == "/api/v1/kill"): // the one changes nothing here, the other no data
			all = nil
		case method != "GET":
			t.Errorf("%s takes more than GET", pattern)
		}
		look := func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			if code, ok := codes[id.Name]; ok {
				all = append(all, code)
			} else if strings.HasPrefix(id.Name, "Status") && len(id.Name) > len("Status") {
				t.Errorf("%s answers %s, which this test does not know", path, id.Name)
			}
			return true
		}
		ast.Inspect(call.Args[1], func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && functions[id.Name] != nil {
				ast.Inspect(functions[id.Name].Body, func(n ast.Node) bool {
					if id, ok := n.(*ast.Ident); ok && (id.Name == "statusOf" || id.Name == "sameSite") { // the codes of an error, of a guard
						ast.Inspect(functions[id.Name].Body, look)
					}
					return look(n)
				})
			}
			return look(n)
		})
		slices.Sort(all)
		found[path] = slices.Compact(all)
		return true
	})
	return found
}

// TestDocumentHTTP compares docs/http.md with the handlers: paths, status codes,
// which paths need a token, and the fields of the answers.
func TestDocumentHTTP(t *testing.T) {
	p := readPage(t, "../../docs/http.md")
	d, _ := newEndpoints(t)
	guarded := (&Server{Token: "secret", Windows: d.http.Windows, Worker: &Worker{}}).Handler()
	served := routes(t)
	if len(served) < 6 {
		t.Errorf("only the paths %v found: the test tests little", served)
	}
	told := map[string]bool{}
	link := regexp.MustCompile("^\\[`([^`]+)`\\]\\(#([a-z-]+)\\)$")
	for _, row := range p.rows(t, "", 3) {
		m := link.FindStringSubmatch(row[0])
		if m == nil {
			t.Fatalf("%q is no link to a path's section", row[0])
		}
		path := m[1]
		told[path] = true
		want, ok := served[path]
		if !ok {
			t.Errorf("%s is described and not served", path)
			continue
		}
		method := "GET"
		if path == "/api/v1/session" || path == "/api/v1/kill" {
			method = "POST"
		}
		if code := ask(t, guarded, method, path, "").StatusCode; (code == 401) != (row[2] == "yes") {
			t.Errorf("%s without the token is %d, and the page says %q", path, code, row[2])
		}
		var codes []int
		for _, row := range p.rows(t, strings.ReplaceAll(strings.ToUpper(m[2][:1])+m[2][1:], "-", " "), 2) {
			if code, err := strconv.Atoi(row[0]); err == nil {
				codes = append(codes, code)
			}
		}
		if !slices.Equal(codes, want) {
			t.Errorf("%s: the page tells of %v, the handler answers %v", path, codes, want)
		}
	}
	for path := range served {
		if !told[path] {
			t.Errorf("%s is served and not described", path)
		}
	}
	documentOpenAPI(t, p)

	for heading, v := range map[string]any{
		"Query": queryReply{}, "A partition": jobs.PartitionStatus{}, "Uncounted records": jobs.Uncounted{},
	} {
		fields(t, heading, p.rows(t, heading, 2), v)
	}
	// The status section has four tables; the text in front of each says which it is.
	build, job, _ := strings.Cut(p["Status"], "An element of `jobs`")
	build, audit, _ := strings.Cut(build, "`audit`:")
	fields(t, "audit", document{"": audit}.rows(t, "", 2), Audit{})
	fields(t, "build", document{"": build}.rows(t, "", 2), Build{})
	fields(t, "jobs", document{"": job}.rows(t, "", 2), jobs.Status{})
}

// documentOpenAPI compares the page with openapi.json: the parameters of each path, and
// the fields of its answer.
func documentOpenAPI(t *testing.T, p document) {
	t.Helper()
	d, _ := readOpenAPI(t)
	var file struct {
		Components struct{ Schemas map[string]any }
	}
	if err := json.Unmarshal(openapi, &file); err != nil {
		t.Fatal(err)
	}
	sections := 0
	for path, methods := range d.Paths {
		var ref struct {
			Ref string `json:"$ref"`
		}
		schema := methods["get"].Responses["200"].Content["application/json"].Schema
		if schema == nil || json.Unmarshal(schema, &ref) != nil || ref.Ref == "" {
			continue
		}
		sections++
		heading := strings.TrimPrefix(path, "/api/v1/")
		heading = strings.ReplaceAll(strings.ToUpper(heading[:1])+heading[1:], "-", " ")
		var want, got []string
		for _, q := range methods["get"].Parameters {
			want = append(want, q.Name)
		}
		for _, row := range p.rows(t, heading, 3) {
			got = append(got, names(row[0])...)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: the page has the parameters %v, the file %v", path, got, want)
		}
		want, got = paths("", file.Components.Schemas[filepath.Base(ref.Ref)]), nil
		for _, row := range p.rows(t, heading, 2) {
			if _, err := strconv.Atoi(row[0]); err != nil {
				got = append(got, names(row[0])...)
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: the page has the fields %v, the file %v", path, got, want)
		}
	}
	if sections < 10 {
		t.Errorf("only %d paths with fields found: the test tests little", sections)
	}
}

// paths returns the fields of a schema, such as points[].at.
func paths(prefix string, schema any) (all []string) {
	object, _ := schema.(map[string]any)
	properties, _ := object["properties"].(map[string]any)
	for name, inner := range properties {
		all = append(all, prefix+name)
		all = append(all, paths(prefix+name+".", inner)...)
		if object, _ := inner.(map[string]any); object["items"] != nil {
			all = append(all, paths(prefix+name+"[].", object["items"])...)
		}
	}
	return all
}

// fields checks that the first cells of rows name the JSON fields of a value, each
// once.
func fields(t *testing.T, what string, rows [][]string, v any) {
	t.Helper()
	var want, got []string
	for f := range reflect.TypeOf(v).Fields() {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "-" {
			want = append(want, name)
		}
	}
	for _, row := range rows {
		if _, err := strconv.Atoi(row[0]); err != nil {
			got = append(got, names(row[0])...)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("%s: the page has the fields %v, JSON has %v", what, got, want)
	}
}

// TestDocumentQuery sends the queries of docs/http.md and checks that the answers
// have the form that the page shows.
func TestDocumentQuery(t *testing.T) {
	d, job := newEndpoints(t)
	job.count(t, map[time.Duration]int{0: 5})
	text, err := os.ReadFile("../../docs/http.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := regexp.MustCompile(`(?m)^\$ curl 'http://127\.0\.0\.1:8686/api/v1/query\?([^']+)'\n(\{.*\})$`).FindAllStringSubmatch(string(text), -1)
	if len(shown) < 2 {
		t.Fatal("the page shows no questions")
	}
	for _, m := range shown {
		v, err := url.ParseQuery(m[1])
		if err != nil {
			t.Fatal(err)
		}
		var want queryReply
		r := json.NewDecoder(bytes.NewReader([]byte(m[2])))
		r.DisallowUnknownFields()
		if err := r.Decode(&want); err != nil {
			t.Errorf("%s: %v", m[2], err)
		}
		code, got := d.gets(v.Get("key"), v.Get("member"))
		if got.Value, want.Value = 0, 0; code != 200 || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %d %+v, the page shows %+v", m[1], code, got, want)
		}
	}
}

// figures reads the metrics of this package from the source, as rows of
// docs/metrics.md. A scrape would not do: it prints some metrics only in states that
// a test cannot produce.
func figures(t *testing.T) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "metrics.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	texts := func(n ast.Node) string {
		var all []string
		ast.Inspect(n, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok {
				text, err := strconv.Unquote(lit.Value)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, text)
			}
			return true
		})
		return strings.Join(all, ", ")
	}
	types, labels, found := map[string]string{}, map[string]string{"nil": "–"}, map[string]string{}
	kinds := map[string]string{"gauge": "gauge", "count": "counter", "MustNewConstHistogram": "histogram"}
	each := func(visit func(name string, call *ast.CallExpr)) {
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				switch f := call.Fun.(type) {
				case *ast.Ident:
					visit(f.Name, call)
				case *ast.SelectorExpr:
					visit(f.Sel.Name, call)
				}
			}
			return true
		})
	}
	each(func(name string, call *ast.CallExpr) {
		if kind, ok := kinds[name]; ok && len(call.Args) > 1 {
			if id, ok := call.Args[0].(*ast.Ident); ok {
				types[id.Name] = kind
			}
		}
	})
	for _, d := range file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.VAR {
			continue
		}
		for _, s := range g.Specs {
			v := s.(*ast.ValueSpec)
			switch value := v.Values[0].(type) {
			case *ast.CompositeLit: // byJob, byPartition
				labels[v.Names[0].Name] = texts(value)
			case *ast.CallExpr: // desc(name, help, labels)
				of := texts(value.Args[2])
				if id, isName := value.Args[2].(*ast.Ident); isName {
					of = labels[id.Name]
				}
				kind := types[v.Names[0].Name]
				if of == "" || kind == "" {
					t.Errorf("%s: no labels or no type found", v.Names[0].Name)
				}
				name := "weir_" + texts(value.Args[0])
				found[name] = "| `" + name + "` | " + kind + " | " + of + " | " + texts(value.Args[1]) + " |"
			}
		}
	}
	return found
}

// TestDocumentMetrics: docs/metrics.md has a row for each figure, and no others.
func TestDocumentMetrics(t *testing.T) {
	text, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	want := figures(t)
	if len(want) < 35 {
		t.Errorf("only %d figures found: the test tests little", len(want))
	}
	got := map[string]bool{}
	for line := range strings.SplitSeq(string(text), "\n") {
		if !strings.HasPrefix(line, "| `weir_") {
			continue
		}
		name := names(line)[0]
		if got[name] {
			t.Errorf("%s has two rows", name)
		}
		got[name] = true
		if line != want[name] {
			t.Errorf("the page has\n%s\nand the source\n%s", line, want[name])
		}
	}
	for name, row := range want {
		if !got[name] {
			t.Errorf("the page lacks\n%s", row)
		}
	}
}
