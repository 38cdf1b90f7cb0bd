// Package dashboards_test checks the Grafana files in this folder by Grafana's
// rules, without a Grafana, and the alerts with Prometheus's promtool. TestDashboards in cmd/weir writes them with -update.
package dashboards_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"weir/internal/grafana/grafanatest"
)

const (
	plugin = "grafana-clickhouse-datasource"
	all    = grafanatest.All
)

type dashboard struct {
	file          string
	UID           string `json:"uid"`
	Title         string `json:"title"`
	SchemaVersion int    `json:"schemaVersion"`
	Templating    struct {
		List []struct {
			Name, Type string
			Query      string
			Datasource *datasource
		}
	}
	Panels []panel
}

type datasource struct{ Type, UID string }

type panel struct {
	ID         int
	Type       string
	Title      string
	Datasource *datasource
	GridPos    struct{ X, Y, W, H int }

	FieldConfig struct {
		Defaults struct {
			Thresholds struct {
				Steps []struct {
					Color string
					Value *float64
				}
			}
		}
	}

	Targets []struct {
		Datasource *datasource
		RefID      string
		EditorType string
		QueryType  string
		Format     int
		RawSQL     string
	}
}

func load(t *testing.T) []dashboard {
	t.Helper()
	files, err := filepath.Glob("*.json")
	if err != nil {
		t.Fatal(err)
	}
	var boards []dashboard
	for _, file := range files {
		if file == "weir-metrics.json" { // on Prometheus: TestMetrics
			continue
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		b := dashboard{file: file}
		if err := json.Unmarshal(data, &b); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		boards = append(boards, b)
	}
	if len(boards) != 3 {
		t.Fatalf("%d dashboards, want those of two jobs and that of the pipeline", len(boards))
	}
	return boards
}

func TestDashboards(t *testing.T) {
	uids, titles := map[string]string{}, map[string]string{}
	for _, b := range append(load(t), generated(t)) {
		if b.UID == "" || b.Title == "" || b.SchemaVersion < 39 {
			t.Errorf("%s: uid %q, title %q, schema version %d", b.file, b.UID, b.Title, b.SchemaVersion)
		}
		if uids[b.UID] != "" || titles[b.Title] != "" {
			t.Errorf("%s: uid or title is that of %s%s", b.file, uids[b.UID], titles[b.Title])
		}
		uids[b.UID], titles[b.Title] = b.file, b.file
		if v := b.Templating.List; len(v) == 0 || v[0].Type != "datasource" || v[0].Name != "datasource" || v[0].Query != plugin {
			t.Errorf("%s: the first variable has to be the data source", b.file)
		}
		for _, v := range b.Templating.List[1:] {
			if v.Type == "custom" {
				continue // its values are fixed
			}
			checkSource(t, b.file+", variable "+v.Name, v.Datasource)
		}
		ids := map[int]bool{}
		for i, p := range b.Panels {
			where := b.file + ", " + p.Title
			if p.Title == "" || p.ID == 0 || ids[p.ID] {
				t.Errorf("%s: id %d is 0 or taken, or there is no title", where, p.ID)
			}
			ids[p.ID] = true
			checkSource(t, where, p.Datasource)
			if g := p.GridPos; g.W < 1 || g.H < 1 || g.X < 0 || g.Y < 0 || g.X+g.W > 24 {
				t.Errorf("%s: %+v does not fit into 24 columns", where, g)
			}
			for _, q := range b.Panels[:i] {
				if a, c := p.GridPos, q.GridPos; a.X < c.X+c.W && c.X < a.X+a.W && a.Y < c.Y+c.H && c.Y < a.Y+a.H {
					t.Errorf("%s lies over %s", where, q.Title)
				}
			}
			// Without thresholds Grafana shows every number above 80 in red.
			alarms := p.Title == "Audit mismatches"
			if steps := p.FieldConfig.Defaults.Thresholds.Steps; p.Type == "stat" && (len(steps) == 0 || steps[0].Value != nil || (len(steps) == 2 && steps[1].Color == "red" && *steps[1].Value == 1) != alarms) {
				t.Errorf("%s: thresholds %+v", where, steps)
			}
			if len(p.Targets) != 1 {
				t.Errorf("%s: %d queries, want one", where, len(p.Targets))
			}
			for _, q := range p.Targets {
				checkSource(t, where, q.Datasource)
				format := map[string]int{"timeseries": 0, "table": 1}
				if want, ok := format[q.QueryType]; !ok || want != q.Format || q.EditorType != "sql" || q.RefID == "" {
					t.Errorf("%s: query type %q, format %d, editor %q, ref %q", where, q.QueryType, q.Format, q.EditorType, q.RefID)
				}
				if (p.Type == "timeseries") != (q.QueryType == "timeseries") {
					t.Errorf("%s: a %s with a query for a %s", where, p.Type, q.QueryType)
				}
				if q.QueryType == "timeseries" && !strings.Contains(q.RawSQL, "AS time") {
					t.Errorf("%s: a time series needs a column called time", where)
				}
			}
		}
	}
}

// checkSource refuses a fixed uid, which exists only on the machine where the
// dashboard was made.
func checkSource(t *testing.T, where string, d *datasource) {
	t.Helper()
	if d == nil || d.Type != plugin || d.UID != "${datasource}" {
		t.Errorf("%s: data source %+v, want type %s and uid ${datasource}", where, d, plugin)
	}
}

// queries returns all queries of the dashboards in this folder, including those of variables.
func queries(t *testing.T) map[string]string { return queriesOf(load(t)...) }

func queriesOf(boards ...dashboard) map[string]string {
	all := map[string]string{}
	for _, b := range boards {
		for _, v := range b.Templating.List[1:] {
			if v.Type == "query" {
				all[b.file+", variable "+v.Name] = v.Query
			}
		}
		for _, p := range b.Panels {
			for _, q := range p.Targets {
				all[fmt.Sprintf("%s, %d %s", b.file, p.ID, p.Title)] = q.RawSQL
			}
		}
	}
	return all
}

// Choices of variables to try: each length of windows, and all pages, one, or several; and jobs.
var choices = func() (tried []map[string][]string) {
	for _, length := range []string{"1d", "1h", "1m"} {
		for _, pages := range [][]string{{all}, {"/p/1"}, {"/p/1", "/o'brien"}} {
			tried = append(tried, map[string][]string{"window": {length}, "by_page": pages, "by_cell": {all}, "job": {all}})
		}
	}
	for _, jobs := range [][]string{{"clicks"}, {"clicks", "locations"}} {
		tried = append(tried, map[string][]string{"window": {"1d"}, "by_page": {all}, "by_cell": {all}, "job": jobs})
	}
	return tried
}()

// known are the tables and views that the dashboards may read. The value says
// whether a row may be there several times until ClickHouse merges it.
var known = map[string]bool{
	"clicks_1m": false, "clicks_${window}": false, "clicks_${window}_states": true,
	"locations_1m": false, "locations_${window}": false, "locations_${window}_states": true, "locations_places": false,
	"weir_ledger": true, "weir_audit": false, "weir_dead_letters": true,
}

var (
	from   = regexp.MustCompile(`\b(?:FROM|JOIN)\s+([a-z][\w${}]*)( FINAL)?`)
	adding = regexp.MustCompile(`\b(sum|count|avg)\(`)
)

// TestQueriesReadWhatIsPromised: queries read only documented tables, and do
// not add up rows of a table whose rows may be there twice.
func TestQueriesReadWhatIsPromised(t *testing.T) {
	for where, sql := range queries(t) {
		found := 0
		for _, m := range from.FindAllStringSubmatchIndex(sql, -1) {
			name, final := sql[m[2]:m[3]], m[4] >= 0
			if name == "windows" { // a WITH of the query
				continue
			}
			repeats, ok := known[name]
			if !ok {
				t.Errorf("%s reads %s, which is not a documented table", where, name)
			}
			found++
			// The SELECT that this FROM belongs to.
			list := sql[strings.LastIndex(sql[:m[0]], "SELECT"):m[0]]
			if repeats && !final && adding.MatchString(list) {
				t.Errorf("%s adds up rows of %s that may be there twice; use the view or FINAL", where, name)
			}
		}
		if found == 0 {
			t.Errorf("%s reads nothing", where)
		}
	}
}

func TestProvisioning(t *testing.T) {
	var sources struct {
		APIVersion  int `yaml:"apiVersion"`
		Datasources []struct {
			Name, UID, Type, URL string
			JSONData             map[string]any    `yaml:"jsonData"`
			SecureJSONData       map[string]string `yaml:"secureJsonData"`
		}
	}
	read(t, "provisioning/datasources/weir.yaml", &sources)
	if len(sources.Datasources) != 2 || sources.APIVersion != 1 {
		t.Fatalf("%+v", sources)
	}
	if p := sources.Datasources[1]; p.Type != "prometheus" || p.UID == "" || p.URL != "http://prometheus:9090" {
		t.Errorf("data source %+v", p)
	}
	d := sources.Datasources[0]
	if d.Type != plugin || d.UID == "" || d.JSONData["host"] == nil || d.JSONData["port"] == nil || d.JSONData["defaultDatabase"] != "weir" {
		t.Errorf("data source %+v", d)
	}
	if !strings.HasPrefix(d.SecureJSONData["password"], "$") {
		t.Error("the password has to come from the environment")
	}
	var providers struct {
		APIVersion int `yaml:"apiVersion"`
		Providers  []struct {
			Name, Type string
			Options    struct{ Path string }
		}
	}
	read(t, "provisioning/dashboards/weir.yaml", &providers)
	if providers.APIVersion != 1 || len(providers.Providers) != 1 || providers.Providers[0].Type != "file" || !strings.HasPrefix(providers.Providers[0].Options.Path, "/") {
		t.Errorf("providers %+v", providers)
	}
}

// TestScraped: Prometheus keeps weir's label job, which alerts and dashboards read, and
// reads the rules.
func TestScraped(t *testing.T) {
	var c struct {
		RuleFiles     []string `yaml:"rule_files"`
		ScrapeConfigs []struct {
			HonorLabels bool `yaml:"honor_labels"`
		} `yaml:"scrape_configs"`
	}
	read(t, "prometheus.yaml", &c)
	if len(c.ScrapeConfigs) != 1 || !c.ScrapeConfigs[0].HonorLabels || !slices.Equal(c.RuleFiles, []string{"/etc/prometheus/alerts.yaml"}) {
		t.Errorf("%+v", c)
	}
}

func read(t *testing.T, file string, into any) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(data, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}
