package http

import (
	"os"
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

var quotedWord = regexp.MustCompile("`([^`]+)`")

// names returns the texts in backquotes in a cell.
func names(cell string) (all []string) {
	for _, m := range quotedWord.FindAllStringSubmatch(cell, -1) {
		all = append(all, m[1])
	}
	return all
}

// TestDocumentHTTP compares docs/http.md with the handlers: paths, which paths need a token,
// and the fields that openapi.json does not have.
func TestDocumentHTTP(t *testing.T) {
	p := readPage(t, "../../docs/http.md")
	d, _ := newEndpoints(t)
	s := &Server{Token: "secret", Windows: d.http.Windows, Process: &Process{}}
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
