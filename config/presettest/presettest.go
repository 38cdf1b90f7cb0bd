// Package presettest makes the tables of the presets, for the tests of what reads them: the
// dashboards and the queries in documents.
package presettest

import (
	"testing"
	"time"

	"weir/config"
	"weir/sinks/clickhouse"
	"weir/sinks/clickhouse/migrate"
	"weir/sinks/clickhouse/schema"
	"weir/sinks/clickhouse/wire"
	"weir/window"
)

// Migrate makes the tables of the presets in a database. It returns the jobs and, in the
// same order, the sinks that write to their tables. If extend is not nil, it may change the
// spec of each job first. Windows are kept for 20 years: documents name days of 2026, which a
// view refuses as soon as the preset would have deleted them.
func Migrate(t testing.TB, url, database string, extend func(*window.Spec)) (jobs []schema.Job, sinks []*clickhouse.Sink) {
	t.Helper()
	cfg, _, err := config.Load(config.Options{Presets: config.Presets()})
	if err != nil {
		t.Fatal(err)
	}
	client, err := clickhouse.Open(wire.Config{URLs: []string{url}, Database: database})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	for _, j := range cfg.Jobs {
		spec := j.Spec()
		if extend != nil {
			extend(spec)
		}
		job := schema.Job{Spec: spec, Topic: j.Topic, Keep: 20 * 365 * 24 * time.Hour}
		for _, r := range j.Rollups {
			job.Rollups = append(job.Rollups, schema.Rollup{Window: time.Duration(r.Window)})
		}
		jobs = append(jobs, job)
	}
	if _, err := client.Migrate(t.Context(), jobs, migrate.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, job := range jobs {
		sink, err := client.Job(t.Context(), job)
		if err != nil {
			t.Fatal(err)
		}
		sinks = append(sinks, sink)
	}
	return jobs, sinks
}
