package weir_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"weir/window"
)

// differs stands in docs/runbook.md for a part of a line that varies.
const differs = "…"

// computed are the messages that are not literals where they are logged, by file
// and expression. The value is the texts that they are made from, each a literal
// in that file or in the file named first. Without texts, another entry or
// another program has the text.
var computed = map[string][]string{
	"internal/outage/outage.go o.Begins": {}, // the Subjects, wherever they are
	"internal/outage/outage.go o.GoesOn": {},
	"internal/outage/outage.go o.Ends":   {},
	"internal/local/child.go msg":        {}, // the engine's child logs through its parent, in these words
	"cmd/weir/run.go compactedTopic": {"cmd/weir/check.go",
		"the topic is compacted (cleanup.policy): records may vanish between two readings of a chunk; ",
		"each row keeps the greater count of the two then, so that events may be missing, and the audit shows outcomes that do not sum up; count topics with cleanup.policy=delete"},
	"cmd/weir/run.go w.String()": {"internal/config/flags.go", "no key of this name; did you mean %s?"},
	"cmd/weir/run.go note": {"sinks/clickhouse/check.go",
		"job ", "%s is %d, and the database has version %d, which the views show: this process counts into the tables of version %[2]d, which no view shows; set version to %[3]d to go on with that one",
		"job ", "measure %s is no longer in %s: its values stay, and new windows lack it; if it comes back, the windows in between will lack it too",
		"job ", "view %s shows %s, which this process does not count: run `weir migrate` if no process counts it; until then the views read rows instead of the rollups that this process makes",
		"job ", "these are not as this version and configuration want them: %s: run `weir migrate`; until then rows live, and views show, as before",
		"job ", "rollup %s is no longer in %s: the table %s and the view %s_%[1]s stay and get nothing new; drop them when nothing reads them",
		"job ", "shard %d of %d cannot ask cluster %s, which the views read: %v; until it can, its views, dashboards and weir_audit fail",
		"job ", "for shard %d, cluster %s is the shards %s, and clickhouse.shards has %d: until its remote_servers list each of these once, its views, dashboards and weir_audit are wrong"},
	"ingest/survey.go text": {"ingest/member.go", "group %s is taken: its members count into database %s, and this process into %s. ",
		"Each would count a part of the records, so this process gets no partitions while the other members are in the group. ",
		"Give one of the two deployments another kafka.group, or stop one: the other then reads from the position in its own ledger"},
	"ingest/survey.go wrong": {"",
		"%s are with a program that is not weir, so weir does not count them: %s, in group %s by assignor %q. Give it a group of its own, or stop it",
		"%s are counted into database %s, and the rest into %s: %s. Give one of the two deployments another kafka.group"},
	"ingest/survey.go odd":      {"", "a program that is not weir is in group %s, and has no partitions of topic %s: %s"},
	"jobs/quality.go p.warning": {"", "%s of the last %s records of job %s %s"},
}

// loggers are the names of loggers, and others the names of other values with a
// method Error.
var (
	loggers = []string{"log", "Log", "say"}
	others  = []string{"http", "kafka", "w", "t", "err"}
)

// spoken returns the warnings and errors that the source can log, with differs for
// the varying parts, each with a place where it is logged.
func spoken(t *testing.T) map[string]string {
	t.Helper()
	found, used := map[string]string{}, map[string]bool{}
	texts := map[string]map[string]bool{} // of each file, its string literals
	type wait struct{ key, prefix, at string }
	var waiting []wait
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		file = filepath.ToSlash(file)
		switch {
		case err != nil:
			return err
		case d.IsDir():
			// These are not part of the binary: tests, measurements, the simulator.
			if name := d.Name(); file != "." && strings.HasPrefix(name, ".") || strings.HasSuffix(name, "test") || slices.Contains([]string{"testdata", "bench", "sim", "e2e", "stack"}, name) {
				return filepath.SkipDir
			}
			return nil
		case !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go"):
			return nil
		}
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		texts[file] = map[string]bool{}
		at := func(n ast.Node) string { return fmt.Sprintf("%s:%d", file, set.Position(n.Pos()).Line) }
		say := func(message ast.Expr) {
			switch prefix, rest := written(message); {
			case rest == nil:
				found[prefix] = at(message)
			case prefix != "" && computed[file+" "+source(rest)] == nil:
				found[prefix+differs] = at(message)
			default:
				waiting = append(waiting, wait{file + " " + source(rest), prefix, at(message)})
			}
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
					texts[file][text] = true
				}
			case *ast.KeyValueExpr: // of an outage.Subject
				if key, ok := n.Key.(*ast.Ident); ok && slices.Contains([]string{"Begins", "GoesOn", "Ends"}, key.Name) {
					say(n.Value)
				}
			case *ast.CallExpr:
				method, ok := n.Fun.(*ast.SelectorExpr)
				if !ok || len(n.Args) == 0 {
					return true
				}
				of := last(method.X)
				switch name := method.Sel.Name; {
				case name == "NewLogLogger": // of an http.Server
					found["http: "+differs] = at(n)
				case name == "Log" && len(n.Args) > 2, name == "LogAttrs":
					say(n.Args[2]) // with a computed level
				case name != "Warn" && name != "Error", slices.Contains(others, of) && name == "Error":
				case slices.Contains(loggers, of):
					say(n.Args[0])
				default:
					t.Errorf("%s: %s.%s: does it write to the log? Then it is to be called log", at(n), source(method.X), name)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range waiting {
		parts, known := computed[w.key]
		if !known {
			t.Errorf("%s: the message is computed from %q, which this test does not know: name its texts in computed", w.at, w.key)
			continue
		}
		used[w.key] = true
		if len(parts) == 0 {
			continue
		}
		file, _, _ := strings.Cut(w.key, " ")
		if parts[0] != "" {
			file = parts[0]
		}
		for _, p := range parts[1:] {
			if !texts[file][p] {
				t.Errorf("%s: %s has no text %q any more", w.key, file, p)
			}
		}
		switch {
		case strings.HasPrefix(parts[1], "job "): // pairs
			for i := 1; i < len(parts); i += 2 {
				found[w.prefix+parts[i]+differs+": "+verbs(parts[i+1])] = w.at
			}
		case strings.HasSuffix(parts[1], " "): // parts of one line
			found[w.prefix+verbs(strings.Join(parts[1:], ""))] = w.at
		default:
			for _, p := range parts[1:] {
				found[w.prefix+verbs(p)] = w.at
			}
		}
	}
	for key := range computed {
		if !used[key] {
			t.Errorf("computed has %q, which nothing logs", key)
		}
	}
	return found
}

// written returns the literal part of a message; rest is the expression for the rest.
func written(e ast.Expr) (text string, rest ast.Expr) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, _ = strconv.Unquote(e.Value)
		return text, nil
	case *ast.BinaryExpr:
		left, odd := written(e.X)
		if odd != nil {
			left += differs
		}
		right, odd := written(e.Y)
		return left + right, odd
	case *ast.CallExpr:
		if source(e.Fun) == "fmt.Sprintf" {
			text, rest = written(e.Args[0])
			return verbs(text), rest
		}
	}
	return "", e
}

var verb = regexp.MustCompile(`%(\[\d+\])?[+#]?[a-z]`)

// verbs replaces the verbs of a format by differs, and also text in backquotes,
// which a line of the runbook cannot hold.
func verbs(format string) string {
	text := verb.ReplaceAllString(format, differs)
	text = strings.ReplaceAll(text, "%%", "%")
	text = regexp.MustCompile("`[^`]*`;?").ReplaceAllString(text, differs)
	return regexp.MustCompile(differs+"(_?"+differs+")+").ReplaceAllString(text, differs)
}

// source returns the source text of an expression of names.
func source(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return source(e.X) + "." + e.Sel.Name
	case *ast.CallExpr:
		return source(e.Fun) + "()"
	}
	return fmt.Sprintf("%T", e)
}

// last returns the last name of an expression.
func last(e ast.Expr) string {
	name := strings.TrimSuffix(source(e), "()")
	return name[strings.LastIndex(name, ".")+1:]
}

// TestRunbookLines: docs/runbook.md has a line for every warning and error that
// can be in the log, and no others.
func TestRunbookLines(t *testing.T) {
	file := filepath.Join("docs", "runbook.md")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^- `([^`]+)`$").FindAllStringSubmatch(string(text), -1) {
		if lines[m[1]] {
			t.Errorf("%s has the line %q twice", file, m[1])
		}
		lines[m[1]] = true
	}
	want := spoken(t)
	// The warnings about bad records have one form, with several outcomes.
	quality, err := os.ReadFile(filepath.Join("jobs", "quality.go"))
	if err != nil {
		t.Fatal(err)
	}
	const form = "records of job " + differs + " "
	for line, at := range maps.Clone(want) {
		before, after, ok := strings.Cut(line, form+differs)
		if !ok {
			continue
		}
		delete(want, line)
		for _, m := range regexp.MustCompile(`"(are [^"]+)"( \+ window\.Other)?`).FindAllStringSubmatch(string(quality), -1) {
			if m[2] != "" {
				m[1] += window.Other
			}
			want[before+form+m[1]+after] = at
		}
	}
	if len(want) < 50 {
		t.Errorf("only %d lines found in the source: the test tests little", len(want))
	}
	for _, line := range slices.Sorted(maps.Keys(want)) {
		if !lines[line] {
			t.Errorf("%s: %s lacks the line\n- `%s`", want[line], file, line)
		}
	}
	for _, line := range slices.Sorted(maps.Keys(lines)) {
		if want[line] == "" {
			t.Errorf("%s has a line that nothing writes:\n%s", file, line)
		}
	}
}

// TestRunbookAlerts: Prometheus can read each rule, its figures exist, and the
// runbook has a section for it.
func TestRunbookAlerts(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("dashboards", "alerts.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var rules struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	d := yaml.NewDecoder(strings.NewReader(string(data)))
	d.KnownFields(true)
	if err := d.Decode(&rules); err != nil {
		t.Fatal(err)
	}
	metrics, err := os.ReadFile(filepath.Join("docs", "metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	labels := map[string]string{} // of a figure
	for _, m := range regexp.MustCompile("(?m)^\\| `(weir_\\w+)` \\| \\w+ \\| ([^|]*) \\|").FindAllStringSubmatch(string(metrics), -1) {
		labels[m[1]] = m[2]
	}
	runbook, err := os.ReadFile(filepath.Join("docs", "runbook.md"))
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(Weir\\w+)` \\| \\[[^]]*\\]\\(#([a-z-]+)\\) \\|$").FindAllStringSubmatch(string(runbook), -1) {
		sections[m[1]] = m[2]
	}
	// PromQL is a large language; the rules use only this part of it.
	form := regexp.MustCompile(`^(?:absent\((\w+)\)|(?:time\(\) - )?(\w+) (?:>|>=|==) \d+|increase\((\w+)(?:\{(\w+)="\w+"\})?\[\d+m\]\) > \d+)$`)
	n := 0
	for _, r := range rules.Groups[0].Rules {
		n++
		m := form.FindStringSubmatch(r.Expr)
		if m == nil {
			t.Errorf("%s: %q is not of a form that this test knows to be right", r.Alert, r.Expr)
			continue
		}
		has, ok := labels[m[1]+m[2]+m[3]]
		if !ok {
			t.Errorf("%s: there is no figure %s", r.Alert, m[1]+m[2]+m[3])
		}
		for _, used := range append(regexp.MustCompile(`\$labels\.(\w+)`).FindAllStringSubmatch(r.Annotations["summary"], -1), []string{"", m[4]}) {
			if used[1] != "" && !slices.Contains(strings.Split(has, ", "), used[1]) {
				t.Errorf("%s: the figure has no label %s", r.Alert, used[1])
			}
		}
		if s := r.Labels["severity"]; s != "page" && s != "ticket" {
			t.Errorf("%s: severity %q", r.Alert, s)
		}
		if r.For != "" && !regexp.MustCompile(`^\d+m$`).MatchString(r.For) {
			t.Errorf("%s: for %q", r.Alert, r.For)
		}
		if got, want := r.Annotations["runbook"], "docs/runbook.md#"+sections[r.Alert]; sections[r.Alert] == "" || got != want {
			t.Errorf("%s: the rule leads to %s, the runbook's table to %q", r.Alert, got, sections[r.Alert])
		}
	}
	if n != len(sections) || n < 10 || len(rules.Groups) != 1 {
		t.Errorf("%d rules in %d groups, and %d in the runbook", n, len(rules.Groups), len(sections))
	}
}
