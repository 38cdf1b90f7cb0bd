package clickhouse

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/config"
	"weir/internal/await"
	"weir/sinks/clickhouse/migrate"
	"weir/sinks/clickhouse/schema"
	"weir/sinks/clickhouse/verify"
	"weir/sinks/clickhouse/wire"
	"weir/window"
)

// TestConfiguredNames checks that a configuration knows every table and view of its jobs, and those
// of weir's own, so that it refuses two of one name with file and line, and `weir check
// --offline` does, before a migration has to.
func TestConfiguredNames(t *testing.T) {
	cfg, _, err := config.Load(config.Options{File: "weir.yaml", Data: []byte(`
jobs:
  - {name: bare, topic: a, time: {field: ts}, window: 1m}
  - {name: grouped, topic: a, time: {field: ts}, window: 30s, rollups: [1m, 1h], by: [page], measures: [{name: users, kind: hll, field: id}]}
  - {name: sets, version: 3, topic: a, time: {field: ts}, window: 1m, by: [page], measures: [{name: users, kind: set, field: id}]}
  - {name: bitmaps, topic: a, time: {field: ts}, window: 1m, measures: [{name: users, kind: bitmap, field: id}]}
  - name: places
    version: 2
    topic: a
    time: {field: ts}
    window: 1m
    measures:
      - {name: where, kind: geo, member: id, lon: lon, lat: lat}
      - {name: users, kind: set, field: id}
`)})
	if err != nil {
		t.Fatal(err)
	}
	same := func(what string, got, want []string) {
		t.Helper()
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s:\nthe configuration knows %q\nClickHouse gets        %q", what, got, want)
		}
	}
	for i := range cfg.Jobs {
		c := &cfg.Jobs[i]
		spec := c.Spec()
		j := schema.Job{Spec: spec, Topic: c.Topic, Keep: time.Duration(c.Keep)}
		for _, r := range c.Rollups {
			j.Rollups = append(j.Rollups, schema.Rollup{Window: time.Duration(r.Window)})
		}
		l, err := j.Plan()
		if err != nil {
			t.Fatal(err)
		}
		tables, views := migrate.Objects(l)
		for _, name := range tables {
			views = append(views, name+wire.AllShards)
		}
		same("job "+c.Name, c.Tables(), append(tables, views...))
	}
	ours := slices.Clone(verify.AuditViews)
	for _, table := range schema.Common() {
		ours = append(ours, table.Name)
	}
	same("weir itself", slices.Clone(config.OurTables), ours)
}

// TestNamesAfterRestart: ClickHouse reads the tables and views of a job again when it restarts,
// whatever words of SQL its columns are called. Of those that the configuration refuses it does
// not read them.
func TestNamesAfterRestart(t *testing.T) {
	c := open(t)
	b := &backend{c: c}
	again := func(name string) error {
		b.exec(t, "DETACH TABLE "+c.Name(name))
		return c.Exec(t.Context(), "test", "ATTACH TABLE "+c.Name(name), await.Never)
	}
	j := clicks()
	j.Spec.By = nil
	for _, name := range []string{"select", "from", "where", "all", "distinct", "case", "interval", "date", "in", "limit", "and", "or", "between", "exists", "null", "array"} {
		j.Spec.By = append(j.Spec.By, window.Dimension{Name: name, Path: "page"})
	}
	for i, name := range []string{"top", "cube", "true"} {
		j.Spec.Measures[i].Name = name
	}
	s := asking(t, c, j)
	tables, views := migrate.Objects(s.layout)
	for _, name := range append(tables, views...) {
		if err := again(name); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"not", "cube", "false", "inf", "infinity", "nan", "rollup", "top", "true"} {
		_, _, err := config.Load(config.Options{File: "weir.yaml", Data: fmt.Appendf(nil, "jobs: [{name: j, topic: a, time: {field: ts}, window: 1m, by: [{name: '%s', field: x}]}]", name)})
		if err == nil || !strings.Contains(err.Error(), "keeps for itself") {
			t.Errorf("%s: %v", name, err)
		}
		b.exec(t, fmt.Sprintf("CREATE TABLE %s (`slot` UInt64, `%s` String) ENGINE = MergeTree ORDER BY (`slot`, `%[2]s`)", c.Name("t_"+name), name))
		b.exec(t, fmt.Sprintf("CREATE VIEW %s AS SELECT `%s`, count() AS hits FROM %s GROUP BY `%[2]s`", c.Name("v_"+name), name, c.Name("t_"+name)))
		if again("v_"+name) == nil && again("t_"+name) == nil {
			t.Errorf("ClickHouse reads tables and views with a column %s again: it need not be refused", name)
		}
	}
}
