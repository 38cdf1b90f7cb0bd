package http

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

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

// common returns the names in the line of a section that begins with "Common parameters": the
// section Questions explains them.
func (p document) common(heading string) []string {
	line := regexp.MustCompile("(?m)^Common parameters: .*$").FindString(p[heading])
	return names(line)
}

var quotedWord = regexp.MustCompile("`([^`]+)`")

// names returns the texts in backquotes in a cell.
func names(cell string) (all []string) {
	for _, m := range quotedWord.FindAllStringSubmatch(cell, -1) {
		all = append(all, m[1])
	}
	return all
}

// TestDocumentHTTP compares docs/http.md with the handlers: paths, which paths need a token,
// and the fields of the answers.
func TestDocumentHTTP(t *testing.T) {
	p := readPage(t, "../../docs/http.md")
	d, _ := newEndpoints(t)
	s := &Server{Token: "secret", Windows: d.http.Windows, Worker: &Worker{}}
	guarded := s.Handler()
	methods := map[string]string{} // by path
	for pattern := range s.routes() {
		method, path, _ := strings.Cut(strings.TrimSuffix(pattern, "{$}"), " ")
		methods[path] = method
	}
	for _, row := range p.rows(t, "", 3) {
		path := names(row[0])[0]
		if methods[path] == "" {
			t.Errorf("%s is described and not served", path)
		} else if code := ask(t, guarded, methods[path], path, "").StatusCode; (code == 401) != (row[2] == "yes") {
			t.Errorf("%s without the token is %d, and the page says %q", path, code, row[2])
		}
		delete(methods, path)
	}
	for path := range methods {
		t.Errorf("%s is served and not described", path)
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
	var common []string
	for _, row := range p.rows(t, "Questions", 2) {
		common = append(common, names(row[0])...)
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
		want, got := []string(nil), p.common(heading)
		for _, q := range methods["get"].Parameters {
			want = append(want, q.Name)
		}
		for _, row := range p.rows(t, heading, 3) {
			got = append(got, names(row[0])...)
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: the page has the parameters %v, the file %v", path, got, want)
		}
		want, got = paths("", file.Components.Schemas[filepath.Base(ref.Ref)]), nil
		for _, row := range p.rows(t, heading, 2) {
			if _, err := strconv.Atoi(row[0]); err != nil {
				got = append(got, relative(names(row[0]))...)
			}
		}
		want = slices.DeleteFunc(want, func(field string) bool { // what the section Questions explains
			return !slices.Contains(got, field) && slices.Contains(common, field[strings.LastIndexByte(field, '.')+1:])
		})
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

// relative completes names that begin with a point or a bracket by the first one.
func relative(all []string) []string {
	for i, name := range all {
		if name[0] == '.' || name[0] == '[' {
			all[i] = all[0] + name
		}
	}
	return all
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

// figures reads the metrics of this package from the source, as rows of
// docs/metrics.md. A scrape would not do: it prints some metrics only in states that
// a test cannot produce.
func figures(t *testing.T) map[string]string {
	t.Helper()
	source, err := os.ReadFile("metrics.go")
	if err != nil {
		t.Fatal(err)
	}
	types, found := map[string]string{}, map[string]string{}
	for _, m := range regexp.MustCompile(`(gauge|count|MustNewConstHistogram)\((\w+),`).FindAllStringSubmatch(string(source), -1) {
		types[m[2]] = map[string]string{"gauge": "gauge", "count": "counter", "MustNewConstHistogram": "histogram"}[m[1]]
	}
	labels := strings.NewReplacer("nil", "–", "byJob", "job, topic", "byPartition", "job, topic, partition", "[]string{", "", "}", "", `"`, "")
	for _, m := range regexp.MustCompile(`(\w+) += desc\("(\w+)", "([^"]+)", (.+)\)\n`).FindAllStringSubmatch(string(source), -1) {
		found["weir_"+m[2]] = "| `weir_" + m[2] + "` | " + types[m[1]] + " | " + labels.Replace(m[4]) + " | " + m[3] + " |"
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
