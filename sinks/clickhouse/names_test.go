package clickhouse

import (
	"slices"
	"testing"
	"time"

	"weir/internal/config"
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
		spec, err := c.Spec()
		if err != nil {
			t.Fatal(err)
		}
		j := Job{Spec: spec, Topic: c.Topic, Keep: time.Duration(c.Keep)}
		for _, r := range c.Rollups {
			j.Rollups = append(j.Rollups, Rollup{Window: time.Duration(r.Window)})
		}
		l, err := j.plan()
		if err != nil {
			t.Fatal(err)
		}
		tables, views := l.objects()
		for _, name := range tables {
			views = append(views, name+AllShards)
		}
		same("job "+c.Name, c.Tables(), append(tables, views...))
	}
	ours := []string{"weir_audit"}
	for _, table := range common() {
		ours = append(ours, table.name)
	}
	same("weir itself", slices.Clone(config.OurTables), ours)
}
