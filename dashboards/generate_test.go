package dashboards_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/demo/local/localtest"
	"weir/event"
	"weir/internal/grafana"
	"weir/internal/grafana/grafanatest"
	"weir/measures"
	"weir/measures/bitmap"
	"weir/measures/bloom"
	"weir/measures/extreme"
	"weir/measures/geo"
	"weir/measures/hll"
	"weir/measures/ordered"
	"weir/measures/quantile"
	"weir/measures/set"
	"weir/measures/sum"
	"weir/measures/topk"
	"weir/sinks/clickhouse"
	"weir/sinks/clickhouse/migrate"
	"weir/sinks/clickhouse/schema"
	"weir/sinks/clickhouse/wire"
	"weir/sinks/sinktest"
	"weir/window"
)

// everything returns a job with a measure of each kind, in its second version.
func everything(t *testing.T) schema.Job {
	t.Helper()
	j := schema.Job{
		Topic: "shop", Keep: 7 * 24 * time.Hour,
		Rollups: []schema.Rollup{{Window: time.Minute}, {Window: time.Hour}},
		Spec: &window.Spec{
			Job: "shop", Version: 2, TimeField: "ts", TimeUnit: event.Millis,
			Window: 60_000, Lateness: 86_400_000, Skew: 600_000, Chunk: 64, MaxGroups: 50,
			By: []window.Dimension{{Name: "page", Path: "page"}, {Name: "cell", Lon: "lon", Lat: "lat", Precision: 5}},
		},
	}
	j.Spec.Measures = []window.Measure{
		{Kind: hll.Kind, Path: "user"}, {Kind: set.Kind, Path: "user"}, {Kind: bitmap.Kind, Path: "user"},
		{Kind: bloom.Kind, Path: "id", Capacity: 1000, Error: 0.01},
		{Kind: extreme.Min, Path: "price"}, {Kind: extreme.Max, Path: "price"}, {Kind: ordered.First, Path: "id"}, {Kind: ordered.Last, Path: "id"},
		{Kind: sum.Sum, Path: "price", Scale: 2}, {Kind: sum.Avg, Path: "price", Scale: 2},
		{Kind: quantile.Kind, Path: "price", Error: 0.01}, {Kind: topk.Kind, Path: "id", K: 3},
		{Kind: geo.Kind, Path: "user", Lon: "lon", Lat: "lat"},
	}
	sinktest.EveryKind(j.Spec, "user")
	for i := range j.Spec.Measures {
		m := &j.Spec.Measures[i]
		m.Name = "m_" + m.Kind.Name
	}
	return j
}

// generated returns the dashboard of that job.
func generated(t *testing.T) dashboard {
	t.Helper()
	made, err := grafana.Job(everything(t), "")
	if err != nil {
		t.Fatal(err)
	}
	b := dashboard{file: "job"}
	if err := json.Unmarshal(made.JSON, &b); err != nil {
		t.Fatal(err)
	}
	if b.UID != made.UID || b.UID != "weir-job-shop-v2" || !strings.Contains(b.Title, "version 2") {
		t.Errorf("uid %q and %q, title %q", made.UID, b.UID, b.Title)
	}
	return b
}

// TestGeneratedRuns runs every query of the dashboard of a job with each kind of measure on
// the engine. Each answers with rows, for each length of windows, for all groups and for one.
func TestGeneratedRuns(t *testing.T) {
	url, database := localtest.Engine(t)
	j := everything(t)
	c, err := clickhouse.Open(wire.Config{URLs: []string{url}, Database: database})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if _, err := c.Migrate(t.Context(), []schema.Job{j}, migrate.Options{}); err != nil {
		t.Fatal(err)
	}
	s, err := c.Job(t.Context(), j)
	if err != nil {
		t.Fatal(err)
	}
	op, err := window.NewOperator(j.Spec)
	if err != nil {
		t.Fatal(err)
	}
	op.Start(window.Plan{TopicID: [16]byte{1}})
	// Two windows, an hour apart and both older than the present hour, and one event that
	// completes them. User 7 buys on every page.
	now := time.Now().UTC().Truncate(time.Hour)
	batch := event.Batch{}
	add := func(at time.Time, page string, user int, price float64) {
		n := int64(len(batch.Records))
		value := fmt.Sprintf(`{"ts":%d,"page":%q,"user":%d,"id":"e%d","price":%.2f,"lon":13.36,"lat":38.11}`, at.UnixMilli(), page, user, n%4, price)
		batch.Records = append(batch.Records, event.Record{Offset: n, Time: event.Time(at.UnixMilli()), Value: []byte(value)})
		batch.Next = n + 1
	}
	for hour := range 2 {
		at := now.Add(time.Duration(hour-3) * time.Hour)
		for i := range 10 {
			add(at, "/p/1", i, 0.1)
		}
		add(at, "/o'brien", 7, 100)
	}
	add(now.Add(-time.Second), "/last", 7, 1)
	if err := op.Observe(&batch); err != nil {
		t.Fatal(err)
	}
	changes := op.Take()
	changes.Table.Seal()
	if err := s.Write(t.Context(), changes); err != nil {
		t.Fatal(err)
	}
	if err := s.Rollup(t.Context(), true, event.Time(now.UnixMilli())); err != nil {
		t.Fatal(err)
	}

	all, one := []string{all}, []string{"/o'brien"}
	from, to := now.Add(-3*time.Hour), now.Add(-2*time.Hour+time.Minute)
	answers := map[string][]string{} // with all groups, in windows of a minute
	for _, length := range []string{"1m", "1h"} {
		for _, page := range [][]string{all, one} {
			vars := map[string][]string{"window": {length}, "by_page": page, "by_cell": all}
			for where, sql := range queriesOf(generated(t)) {
				expanded, err := grafanatest.Expand(sql, grafanatest.Moment{From: from, To: to, Interval: 15 * time.Second, Vars: vars})
				if err != nil {
					t.Errorf("%s: %v", where, err)
					continue
				}
				got, err := localtest.Query(url, database, expanded)
				// Windows of a minute have none beside them whose users could come back.
				alone := length == "1m" && (strings.HasSuffix(where, ": who came back") || strings.HasSuffix(where, ": retention"))
				if err != nil || (got == "") != alone {
					t.Errorf("%s, windows of %s, page %s: no rows, or %v\n%s", where, length, page[0], err, expanded)
				}
				if length == "1m" && page[0] == all[0] {
					_, title, _ := strings.Cut(where, ", ")
					answers[title] = strings.Split(got, "\n")
				}
			}
		}
	}
	for title, want := range map[string]string{ // after the time, in each of the two windows
		"m_hll (hll)":       "10\t10\t10",
		"m_set (set)":       "10",
		"m_bitmap (bitmap)": "10",
		"m_min (min)":       "0.1",
		"m_max (max)":       "100",
		"m_sum (sum)":       "101",
		"m_avg (avg)":       "9.181818181818182",
		"Hits":              "11",
	} {
		found := false
		for name, rows := range answers {
			if !strings.HasSuffix(name, " "+title) || !strings.Contains(rows[0], "\t") {
				continue
			}
			found = true
			for _, row := range rows {
				if _, got, _ := strings.Cut(row, "\t"); got != want {
					t.Errorf("%s: %q, want %q", name, got, want)
				}
			}
			if len(rows) != 2 {
				t.Errorf("%s: %d rows, want two windows", name, len(rows))
			}
		}
		if !found {
			t.Errorf("no time series %s in %q", title, slices.Sorted(maps.Keys(answers)))
		}
	}
}

// TestShapes: each kind has a panel, and no number is added up over rows of a rollup, which
// may be there twice, before they are merged.
func TestShapes(t *testing.T) {
	b := generated(t)
	for _, k := range measures.All {
		if !slices.ContainsFunc(b.Panels, func(p panel) bool { return p.Title == fmt.Sprintf("m_%s (%s)", k, k) }) {
			t.Errorf("no panel of kind %s", k)
		}
	}
	direct := regexp.MustCompile(`(?s)\b(?:sum|count|avg)\([^()]*\)[^()]*FROM shop_v2_\$\{window\}_rollup`)
	for where, sql := range queriesOf(b) {
		if direct.MatchString(sql) {
			t.Errorf("%s adds up rows of a rollup:\n%s", where, sql)
		}
	}
}

// TestMetrics: the dashboard of metrics reads only documented figures.
func TestMetrics(t *testing.T) {
	made, err := grafana.Metrics()
	if err != nil {
		t.Fatal(err)
	}
	var b struct {
		Templating struct {
			List []struct{ Name, Query string }
		}
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(made.JSON, &b); err != nil {
		t.Fatal(err)
	}
	docs, err := os.ReadFile("../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	figure := regexp.MustCompile(`\bweir_\w+`)
	if v := b.Templating.List; len(v) != 2 || v[1].Name != "job" || v[1].Query != "label_values(weir_records_total, job)" {
		t.Errorf("variables %+v, want the data source and the job", v)
	}
	for _, p := range b.Panels {
		names := figure.FindAllString(p.Targets[0].Expr, -1)
		if len(names) == 0 {
			t.Errorf("%s reads nothing", p.Title)
		}
		for _, name := range names {
			row := regexp.MustCompile("\\| `" + strings.TrimSuffix(name, "_bucket") + "` \\|[^|]*\\|([^|]*)").FindStringSubmatch(string(docs))
			if row == nil {
				t.Errorf("%s reads %s, which is not documented", p.Title, name)
				continue
			}
			ofJobs, chosen := strings.Contains(row[1], "job"), regexp.MustCompile(name+`\{[^}]*job=~"\$job"`).MatchString(p.Targets[0].Expr)
			if ofJobs != chosen {
				t.Errorf("%s: %s has a label job: %t, and is asked of the chosen jobs: %t", p.Title, name, ofJobs, chosen)
			}
		}
	}
	if len(b.Panels) < 10 {
		t.Errorf("%d panels", len(b.Panels))
	}
}
