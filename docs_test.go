package weir_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"weir/config"
	"weir/config/presettest"
	"weir/demo/local/localtest"
	"weir/measures/bloom"
	"weir/measures/extreme"
	"weir/measures/hll"
	"weir/measures/ordered"
	"weir/measures/quantile"
	"weir/measures/set"
	"weir/measures/sum"
	"weir/measures/topk"
	"weir/window"
)

func TestMain(m *testing.M) { localtest.Main(m) }

// documents returns the Markdown files that people read.
func documents(t *testing.T) []string {
	t.Helper()
	files := []string{"README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"}
	err := filepath.WalkDir("docs", func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".md") {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// blocks returns the fenced blocks of one language in a document.
func blocks(t *testing.T, file, language string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, m := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```").FindAllStringSubmatch(string(text), -1) {
		found = append(found, m[1])
	}
	return found
}

// TestDocumentsSQL runs every SQL block of every document on the engine, with
// the tables of the presets. docs/sql.md has a stricter test of its own beside the
// sink.
func TestDocumentsSQL(t *testing.T) {
	url, database := localtest.Engine(t)
	presets(t, url, database)
	n := 0
	for _, file := range documents(t) {
		if file == filepath.Join("docs", "sql.md") || file == filepath.Join("docs", "tutorial.md") || filepath.Dir(file) == filepath.Join("docs", "sources") {
			continue // these have stricter tests: beside the sink, in e2e, and in cmd/weir
		}
		for _, sql := range blocks(t, file, "sql") {
			for _, statement := range strings.Split(sql, ";\n") {
				if strings.TrimSpace(statement) == "" {
					continue
				}
				n++
				if _, err := localtest.Query(url, database, statement); err != nil {
					t.Errorf("%s:\n%s\n%v", file, statement, err)
				}
			}
		}
	}
	if n < 5 {
		t.Errorf("only %d statements found: the test tests nothing", n)
	}
}

// presets makes the presets' tables.
func presets(t *testing.T, url, database string) {
	t.Helper()
	presettest.Migrate(t, url, database, func(spec *window.Spec) {
		if spec.Job == "clicks" {
			// The preset lacks these measures, to save memory.
			spec.Measures = append(spec.Measures, window.Measure{Name: "seen", Kind: bloom.Kind, Path: "event_id", Optional: true, Capacity: 100_000, Error: 0.01},
				window.Measure{Name: "dearest", Kind: extreme.Max, Path: "price", Optional: true},
				window.Measure{Name: "revenue", Kind: sum.Sum, Path: "price", Optional: true, Scale: 2},
				window.Measure{Name: "entry", Kind: ordered.First, Path: "page"},
				window.Measure{Name: "exit", Kind: ordered.Last, Path: "page"},
				window.Measure{Name: "people", Kind: set.Kind, Path: "user_id"},
				window.Measure{Name: "latency", Kind: quantile.Kind, Path: "ms", Optional: true, Error: 0.01},
				window.Measure{Name: "waited", Kind: hll.Kind, Path: "user_id", Where: []window.Condition{{Path: "ms", AtLeast: "200"}}},
				window.Measure{Name: "products", Kind: topk.Kind, Path: "page", K: 10},
				window.Measure{Name: "cheapest", Kind: extreme.Min, Path: "price", Optional: true})
		}
	})
}

// TestDocumentsYAML loads every YAML block of every document.
func TestDocumentsYAML(t *testing.T) {
	for _, file := range documents(t) {
		for _, y := range blocks(t, file, "yaml") {
			if filepath.Dir(file) == "docs/sources" { // TestSources has the schemas of these pages
				y = strings.ReplaceAll(y, "file: ", "file: cmd/weir/testdata/sources/")
			}
			_, _, err := config.Load(config.Options{File: file, Data: []byte(y), NoJobs: true, NoSecrets: true})
			if err != nil {
				t.Errorf("%s:\n%s\n%v", file, y, err)
			}
		}
	}
}

// TestDocumentsMake: every make target that a document quotes exists.
func TestDocumentsMake(t *testing.T) {
	text, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	targets := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^([a-z-]+):`).FindAllStringSubmatch(string(text), -1) {
		targets[m[1]] = true
	}
	n := 0
	for _, file := range documents(t) {
		if file == "CHANGELOG.md" { // it tells what was
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile("(?m)(?:`|^)make ([a-z-]+)").FindAllStringSubmatch(string(text), -1) {
			n++
			if !targets[m[1]] {
				t.Errorf("%s quotes `make %s`, which is no target", file, m[1])
			}
		}
	}
	if n < 5 {
		t.Errorf("only %d quotes found: the test tests nothing", n)
	}
}

// anchor returns the anchor that GitHub makes from a heading.
func anchor(heading string) string {
	heading = strings.ToLower(strings.ReplaceAll(heading, "`", ""))
	return strings.ReplaceAll(regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(heading, ""), " ", "-")
}

// TestDocumentsLinks: every link between documents leads to an existing file and
// heading.
func TestDocumentsLinks(t *testing.T) {
	for _, file := range documents(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`\]\(([^)#:]*)(?:#([^)]*))?\)`).FindAllStringSubmatch(string(text), -1) {
			to := filepath.Join(filepath.Dir(file), m[1])
			if m[1] == "" {
				to = file
			}
			target, err := os.Stat(to)
			if err != nil {
				t.Errorf("%s links to %s, which is not there", file, m[1])
				continue
			}
			if m[2] == "" || target.IsDir() {
				continue
			}
			page, err := os.ReadFile(to)
			if err != nil {
				t.Fatal(err)
			}
			there := false
			for _, h := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(string(page), -1) {
				there = there || anchor(h[1]) == m[2]
			}
			if !there {
				t.Errorf("%s links to #%s of %s, which has no such heading", file, m[2], to)
			}
		}
	}
}
