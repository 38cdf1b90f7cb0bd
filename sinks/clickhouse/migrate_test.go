package clickhouse

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/audit"
	"weir/event"
	"weir/internal/await"
	"weir/window"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// locations returns the second preset: geohash cells and last positions.
func locations() Job {
	return Job{
		Topic: "locations", Keep: 7 * 24 * time.Hour,
		Rollups: []Rollup{{Window: time.Minute, Keep: 30 * 24 * time.Hour}, {Window: time.Hour}},
		Spec: &window.Spec{
			Job: "locations", Version: 3, TimeField: "ts", TimeUnit: event.Millis,
			Window: 60_000, Lateness: 86_400_000, Skew: 600_000, Chunk: 1 << 18, MaxGroups: 1_000_000,
			By:       []window.Column{{Name: "cell", Lon: "lon", Lat: "lat", Precision: 5}},
			Measures: []window.Measure{{Name: "users", Kind: window.HLL, Path: "user"}, {Name: "places", Kind: window.Geo, Path: "user", Lon: "lon", Lat: "lat"}},
		},
	}
}

// total returns a job without groups whose first rollup is longer than its window.
func total() Job {
	return Job{
		Topic: "total", Keep: 7 * 24 * time.Hour, Rollups: []Rollup{{Window: 5 * time.Minute}, {Window: time.Hour}},
		Spec: &window.Spec{
			Job: "total", Version: 1, TimeField: "ts", TimeUnit: event.Millis,
			Window: 60_000, Lateness: 86_400_000, Skew: 600_000, Chunk: 64, MaxGroups: 1,
			Measures: []window.Measure{{Name: "users", Kind: window.HLL, Path: "user"}},
		},
	}
}

// TestGoldenSQL: the statements of a first migration, on one server and on a
// cluster, are those of the golden files. After a change: go test -update, and
// read the difference.
func TestGoldenSQL(t *testing.T) {
	for file, cfg := range map[string]Config{
		"testdata/server.sql":  {URLs: []string{"http://localhost:8123"}, Database: "weir"},
		"testdata/cluster.sql": {URLs: []string{"http://localhost:8123"}, Database: "weir", Cluster: "main"},
		"testdata/shards.sql":  {Shards: [][]string{{"http://localhost:8123"}, {"http://localhost:8124"}}, Database: "weir", Cluster: "main"},
	} {
		c := dial(t, cfg)
		jobs := []Job{clicks(), locations(), total()}
		if c.sharded() {
			jobs = []Job{actives()} // the others differ from those of a cluster in the same way
		}
		layouts, err := plans(jobs)
		if err != nil {
			t.Fatal(err)
		}
		steps, err := c.steps(&inventory{}, layouts)
		if err != nil {
			t.Fatal(err)
		}
		steps = append(steps, c.writer(&Account{User: "weir", Password: "hunter2"})...)
		steps = append(steps, c.reader(&Account{User: "grafana", Password: "hunter2"})...)
		var b strings.Builder
		for _, s := range steps {
			b.WriteString("-- " + s.Object + "\n" + s.SQL + ";\n\n")
		}
		if *update {
			if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if b.String() != string(want) {
			t.Errorf("%s differs: run go test -update and read the difference", file)
		}
		if strings.Contains(b.String(), "hunter2") {
			t.Error("a password is in the SQL")
		}
	}
}

// TestViewColumns: the columns in the statement of a view are those of its query.
func TestViewColumns(t *testing.T) {
	c := open(t)
	jobs := []Job{clicks(), locations(), total()}
	jobs[0].Spec.Measures = append(jobs[0].Spec.Measures, window.Measure{Name: "latency", Kind: window.Quantile, Path: "ms", Error: 0.01})
	jobs[0].Spec.MaxGroups = 200_000 // its groups are plain strings, those of the other jobs dictionaries
	for i := range jobs {
		install(t, c, jobs[i])
	}
	if again, err := c.Migrate(t.Context(), jobs, Migration{}); err != nil || len(again) != 0 {
		t.Errorf("a migration after these runs %v, %v", again, err)
	}
	layouts, err := plans(jobs)
	if err != nil {
		t.Fatal(err)
	}
	inv, err := c.inventory(t.Context(), c.shards[0])
	if err != nil {
		t.Fatal(err)
	}
	columns := func(name string) []string {
		return read(t, c, "SELECT name, type FROM system.columns WHERE database = "+text(c.cfg.Database)+" AND table = "+text(name)+" ORDER BY position")
	}
	for _, v := range c.wanted(inv, layouts) {
		_, query, _ := strings.Cut(v.sql, "\nAS ")
		run(t, c, "CREATE OR REPLACE VIEW "+c.name("plain")+" AS "+query)
		if got, want := columns(v.name), columns("plain"); !slices.Equal(got, want) {
			t.Errorf("%s:\n has %s\nwant %s", v.name, got, want)
		}
	}
}

// TestMigrateAgain: a second migration has nothing to do, two at the same time do no harm,
// and a dry run changes nothing.
func TestMigrateAgain(t *testing.T) {
	c := open(t)
	jobs := []Job{clicks(), total()}
	dry, err := c.Migrate(t.Context(), jobs, Migration{DryRun: true})
	if err != nil || len(dry) < 20 {
		t.Fatalf("%d statements, %v", len(dry), err)
	}
	if _, err := c.Job(t.Context(), clicks()); !fatalWith(err, "run `weir migrate`") {
		t.Errorf("after a dry run the job opens with %v", err)
	}
	var wg sync.WaitGroup
	errs := make([]error, 3)
	for i := range errs {
		wg.Go(func() { _, errs[i] = c.Migrate(t.Context(), jobs, Migration{}) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	again, err := c.Migrate(t.Context(), jobs, Migration{})
	if err != nil || len(again) != 0 {
		t.Errorf("a second migration runs %v, %v", again, err)
	}
	for _, j := range jobs {
		if _, err := c.Job(t.Context(), j); err != nil {
			t.Errorf("job %s: %v", j.Spec.Job, err)
		}
	}
	if n := one(t, c, "SELECT uniqExact(object) FROM "+c.name("weir_schema")); n == "(0)" {
		t.Error("nothing is recorded")
	}
	if got := read(t, c, "SELECT * FROM "+c.name("weir_audit")); len(got) != 0 {
		t.Errorf("the audit of nothing finds %q", got)
	}
}

func fatalWith(err error, words string) bool {
	var fatal interface{ Fatal() bool }
	return errors.As(err, &fatal) && fatal.Fatal() && strings.Contains(err.Error(), words)
}

// TestMigrateForward: a migration adds a measure and changes lifetimes.
func TestMigrateForward(t *testing.T) {
	c := open(t)
	j := clicks()
	install(t, c, j)
	j.Spec.Measures = append(j.Spec.Measures, window.Measure{Name: "ids", Kind: window.HLL, Path: "id"},
		window.Measure{Name: "latency", Kind: window.Quantile, Path: "ms", Optional: true, Error: 0.01})
	j.Keep = 500 * 24 * time.Hour
	j.Rollups[0].Keep = 40 * 24 * time.Hour
	if _, err := c.Job(t.Context(), j); !fatalWith(err, "job clicks: measure ids is new: run `weir migrate`") {
		t.Errorf("a job with a new measure opens with %v", err)
	}
	steps, err := c.Migrate(t.Context(), []Job{j}, Migration{})
	if err != nil {
		t.Fatal(err)
	}
	var about []string
	for _, s := range steps {
		about = append(about, s.Object)
	}
	all := strings.Join(about, ", ")
	for _, want := range []string{"clicks_state ids", "clicks_1d_rollup ids", "clicks_1d_rollup ids_state", "clicks_state latency", "clicks_1d_rollup latency_state", "clicks_state ttl", "clicks_1m_rollup ttl", "weir_jobs", "clicks_1m", "weir_audit"} {
		if !strings.Contains(all, want) {
			t.Errorf("nothing is done about %s: %s", want, all)
		}
	}
	if got := one(t, c, "SELECT create_table_query FROM system.tables WHERE database = "+text(c.cfg.Database)+" AND name = 'clicks_state'"); !strings.Contains(got, "TTL flushed_at + toIntervalSecond(43200000)") {
		t.Errorf("the state table is %s", got)
	}
	if got := one(t, c, "SELECT groupArray(name) FROM (SELECT name FROM system.columns WHERE database = "+text(c.cfg.Database)+" AND table = 'clicks_1d' AND name LIKE 'latency%' ORDER BY name)"); got != "(['latency_p50','latency_p90','latency_p95','latency_p99'])" {
		t.Errorf("the view has the columns %s", got)
	}
	if again, err := c.Migrate(t.Context(), []Job{j}, Migration{}); err != nil || len(again) != 0 {
		t.Errorf("then it runs %v, %v", again, err)
	}
	// Now the rows live for ever again. Those that have expired are made again, and the views of windows that are asked for
	// know how long they live.
	j.Rollups[0].Keep = 0
	steps, err = c.Migrate(t.Context(), []Job{j}, Migration{})
	if err != nil || len(steps) < 3 || steps[0].Object != "clicks_1m_rollup progress" || !strings.HasSuffix(steps[1].SQL, "REMOVE TTL") {
		t.Fatalf("without a lifetime it runs %v, %v", steps, err)
	}
	about = nil
	for _, s := range steps[2:] {
		about = append(about, s.Object)
	}
	if got := strings.Join(about, " "); got != "clicks_over clicks_over_total clicks_calendar clicks_calendar_total clicks_cumulative clicks_cumulative_total clicks_retention clicks_retention_total clicks_retention_over clicks_retention_over_total clicks_sessions clicks_sessions_total clicks_funnel weir_audit clicks_1m_rollup progress" {
		t.Errorf("without a lifetime it makes anew %s", got)
	}
}

// TestRollupBesideMeasure: while processes without a measure roll up, whether they began before it was added or
// after, the values that another process counts stay in the views, and get into the rollups by that process.
func TestRollupBesideMeasure(t *testing.T) {
	less, more := actives(), actives()
	more.Spec.Measures = append(more.Spec.Measures, window.Measure{Name: "ids", Kind: window.HLL, Path: "id"})
	begin := func(c *Client, j Job) *Sink {
		s, err := c.Job(t.Context(), j)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	migrate := func(c *Client, j Job) {
		if _, err := c.Migrate(t.Context(), []Job{j}, Migration{}); err != nil {
			t.Fatal(err)
		}
	}
	for name, first := range map[string]Job{"new": less, "back": more} {
		t.Run(name, func(t *testing.T) {
			c := open(t)
			unaudited(t, c, first)
			if name == "back" {
				migrate(c, less)
			}
			before := begin(c, less)
			migrate(c, more)
			after, newer := begin(c, less), begin(c, more)
			if len(after.Notes) != 2 || !strings.Contains(after.Notes[1], "clicks_1m shows ids, which") {
				t.Errorf("a process that lacks a measure says %q", after.Notes)
			}
			op := operator(t, more.Spec, 0)
			observe(t, op, 0, 0, noon, click(noon, "/", 1, "a"), click(noon, "/", 1, "b"))
			write(t, newer, op.Take())
			progress := func(s *Sink) string {
				t.Helper()
				if err := s.Rollup(t.Context(), true, 0); err != nil {
					t.Fatal(err)
				}
				views := "SELECT hits, ids FROM " + c.name("clicks_1m") + " UNION ALL SELECT hits, ids FROM " + c.name("clicks_1h")
				if got := strings.Join(read(t, c, views), " "); got != "(2,2) (2,2)" {
					t.Errorf("hits and ids are %s", got)
				}
				return one(t, c, "SELECT max(opened), max(done) FROM "+c.name("weir_rollups"))
			}
			made := progress(before)
			if again := progress(before); again != made {
				t.Errorf("the rounds are %s, and %s after nothing was written", made, again)
			}
			for _, s := range []*Sink{after, newer, before, after} {
				progress(s)
			}
			migrate(c, less) // the measure goes, so that nothing waits for processes that count it
			op = operator(t, less.Spec, 1)
			observe(t, op, 1, 0, noon, click(noon, "/", 1, "c"))
			write(t, after, op.Take())
			if err := after.Rollup(t.Context(), true, 0); err != nil {
				t.Fatal(err)
			}
			if got := read(t, c, "SELECT job FROM "+c.name("weir_rollups")+" GROUP BY job, `rollup` HAVING max(done) <= (SELECT max(flushed_in) FROM "+c.name("clicks_state")+")"); len(got) > 0 {
				t.Errorf("%d rollups are not done", len(got))
			}
		})
	}
}

// TestRollupDropped: a rollup whose table was dropped is made from what the shorter one still holds, as a new one is,
// also where there are no state rows any more, and also by a process that had made its windows before.
func TestRollupDropped(t *testing.T) {
	for _, how := range []string{"a new process", "the process goes on"} {
		t.Run(how, func(t *testing.T) { rollupDropped(t, how == "a new process") })
	}
}

func rollupDropped(t *testing.T, restart bool) {
	c := open(t)
	j := actives()
	s := unaudited(t, c, j)
	op := operator(t, j.Spec, 0)
	roll := func(want ...string) {
		t.Helper()
		write(t, s, op.Take())
		if err := s.Rollup(t.Context(), true, 0); err != nil {
			t.Fatal(err)
		}
		if got := read(t, c, "SELECT hits, active FROM "+c.name("clicks_1h")+" ORDER BY window_start"); !slices.Equal(got, want) {
			t.Errorf("the view has %s, want %s", got, want)
		}
	}
	observe(t, op, 0, 0, noon, click(noon, "/", 1, "a"))
	roll("(1,1)")
	observe(t, op, 0, 1, noon, click(noon, "/", 2, "b"))
	roll("(2,2)")
	run(t, c, "DROP TABLE "+c.name("clicks_1h_rollup")+" SYNC")
	run(t, c, "TRUNCATE TABLE "+c.name("clicks_state"))
	if _, err := c.Migrate(t.Context(), []Job{j}, Migration{}); err != nil {
		t.Fatal(err)
	}
	if restart {
		var err error
		if s, err = c.Job(t.Context(), j); err != nil {
			t.Fatal(err)
		}
		roll("(2,2)")
	}
	const later = noon + 3_600_000
	observe(t, op, 0, 2, later, click(later, "/", 1, "c"))
	roll("(2,2)", "(1,1)")
	observe(t, op, 0, 3, later, click(noon+60_000, "/", 1, "d"))
	roll("(3,2)", "(1,1)")
}

// TestMigrateRounds: tables from before there were rounds get the columns, their rows are
// rolled up once more, and the views are exact from then on.
func TestMigrateRounds(t *testing.T) {
	c := open(t)
	s := install(t, c, actives())
	f := &tap{op: operator(t, s.layout.Spec, 0)}
	write(t, s, f.flow(t, 8))
	roll(t, s, true)
	b := &backend{c: c}
	for _, table := range []string{"clicks_state", "clicks_1m_rollup", "clicks_1h_rollup"} {
		column := "rolled_in"
		if table == "clicks_state" {
			column = "flushed_in"
		}
		b.exec(t, "ALTER TABLE "+c.name(table)+" DROP INDEX "+indexName(column)+", DROP COLUMN "+column)
	}
	b.exec(t, "ALTER TABLE "+c.name("weir_rollups")+" DROP COLUMN opened, DROP COLUMN done, ADD COLUMN since SimpleAggregateFunction(max, DateTime('UTC'))")
	b.exec(t, "ALTER TABLE "+c.name("weir_schema")+" UPDATE sql = replaceRegexpAll(sql, '\n    `(flushed_in|rolled_in|opened|done)`[^\n]*', '') WHERE 1 SETTINGS mutations_sync = 1")
	if _, err := c.Job(t.Context(), actives()); !fatalWith(err, "lacks column opened, which is new: run `weir migrate`") {
		t.Errorf("before the migration the job opens with %v", err)
	}
	if _, err := c.Migrate(t.Context(), []Job{actives()}, Migration{}); err != nil {
		t.Fatal(err)
	}
	if again, err := c.Migrate(t.Context(), []Job{actives()}, Migration{}); err != nil || len(again) != 0 {
		t.Errorf("then it runs %v, %v", again, err)
	}
	if _, err := c.Job(t.Context(), actives()); err != nil {
		t.Error(err)
	}
	s = another(c, s)
	exact(t, s, "migrated")
	roll(t, s, true)
	exact(t, s, "migrated, rolled up")
	write(t, s, f.flow(t, 8))
	exact(t, s, "migrated, written to")
	roll(t, s, true)
	exact(t, s, "migrated, written to, rolled up")
	for table, column := range map[string]string{"clicks_state": "flushed_in", "clicks_1m_rollup": "rolled_in"} {
		if got := one(t, c, "SELECT count() FROM system.data_skipping_indices WHERE database = "+text(c.cfg.Database)+" AND table = "+text(table)+" AND name = "+text(indexName(column))); got != "(1)" {
			t.Errorf("%s has %s indexes on %s", table, got, column)
		}
	}
}

// TestMigrateSettings: tables from before they had settings of merges get these, and one that an
// administrator has set stays.
func TestMigrateSettings(t *testing.T) {
	c := open(t)
	install(t, c, actives())
	b := &backend{c: c}
	b.exec(t, "ALTER TABLE "+c.name("clicks_state")+" RESET SETTING auto_statistics_types")
	b.exec(t, "ALTER TABLE "+c.name(LedgerTable)+" RESET SETTING auto_statistics_types")
	b.exec(t, "ALTER TABLE "+c.name(LedgerTable)+" MODIFY SETTING merge_selector_base = 7")
	if _, err := c.Job(t.Context(), actives()); err != nil {
		t.Errorf("before the migration the job opens with %v", err)
	}
	if ran, err := c.Migrate(t.Context(), []Job{actives()}, Migration{}); err != nil || len(ran) != 2 {
		t.Errorf("the migration runs %v, %v; want a statement for each of two tables", ran, err)
	}
	if again, err := c.Migrate(t.Context(), []Job{actives()}, Migration{}); err != nil || len(again) != 0 {
		t.Errorf("then it runs %v, %v", again, err)
	}
	for table, base := range map[string]string{"clicks_state": "", LedgerTable: "merge_selector_base = 7", "clicks_1m_rollup": "", "weir_dead_letters": ""} {
		create := one(t, c, "SELECT create_table_query FROM system.tables WHERE database = "+text(c.cfg.Database)+" AND name = "+text(table))
		if !strings.Contains(create, `auto_statistics_types = \'\'`) {
			t.Errorf("%s has statistics: %s", table, create)
		}
		if base == "" == strings.Contains(create, "merge_selector_base") || !strings.Contains(create, base) {
			t.Errorf("%s is without %q: %s", table, base, create)
		}
	}
}

// TestMigrateFsync: every table is made as Config.Fsync says. If it is changed, weir says so at its start, and the
// migration changes the tables, in both directions.
func TestMigrateFsync(t *testing.T) {
	c := open(t)
	synced := func() string {
		return one(t, c, "SELECT countIf(create_table_query LIKE '%fsync_after_insert = 1, fsync_part_directory = 1%'), count() FROM system.tables WHERE engine LIKE '%MergeTree' AND database = "+text(c.cfg.Database))
	}
	const tables = 8 // weir's five, state rows, two rollups
	c.cfg.Fsync = true
	unasked(t, c, actives())
	if got, want := synced(), fmt.Sprintf("(%d,%d)", tables, tables); got != want {
		t.Errorf("made with fsync, %s tables have it, want %s", got, want)
	}
	if _, err := c.Migrate(t.Context(), []Job{actives()}, Migration{}); err != nil { // the views that unasked leaves out
		t.Fatal(err)
	}
	for _, fsync := range []bool{true, false, true} {
		said := c.cfg.Fsync != fsync
		c.cfg.Fsync = fsync
		if got := strings.Contains(notes(t, c, actives()), "clickhouse.fsync = "+fmt.Sprint(fsync)); got != said {
			t.Errorf("fsync %v: weir says so at its start: %v, want %v", fsync, got, said)
		}
		want, statements := fmt.Sprintf("(0,%d)", tables), 0
		if fsync {
			want = fmt.Sprintf("(%d,%[1]d)", tables)
		}
		if said {
			statements = tables
		}
		if ran, err := c.Migrate(t.Context(), []Job{actives()}, Migration{}); err != nil || len(ran) != statements {
			t.Errorf("fsync %v: the migration runs %v, %v; want %d statements", fsync, ran, err, statements)
		}
		if got := synced(); got != want {
			t.Errorf("fsync %v: %s tables have it, want %s", fsync, got, want)
		}
		if got := notes(t, c, actives()); got != "" {
			t.Errorf("fsync %v: then weir says %v", fsync, got)
		}
	}
}

// TestMigrateKilled: a migration that is killed has made tables and recorded none. The next one
// records them, so that what is dropped by hand later is not taken for new.
func TestMigrateKilled(t *testing.T) {
	c := open(t)
	j := actives()
	unasked(t, c, j)
	run(t, c, "TRUNCATE TABLE "+c.name("weir_schema"))
	if _, err := c.Migrate(t.Context(), []Job{j}, Migration{}); err != nil {
		t.Fatal(err)
	}
	if again, err := c.Migrate(t.Context(), []Job{j}, Migration{}); err != nil || len(again) != 0 {
		t.Errorf("then it runs %v, %v", again, err)
	}
	run(t, c, "ALTER TABLE "+c.name("clicks_state")+" DROP COLUMN hits")
	if _, err := c.Migrate(t.Context(), []Job{j}, Migration{}); !fatalWith(err, "column hits is gone") {
		t.Errorf("without a column it migrates with %v", err)
	}
}

// notes returns what weir says of a job's tables at its start.
func notes(t *testing.T, c *Client, j Job) string {
	t.Helper()
	s, err := c.Job(t.Context(), j)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(s.Notes, "\n")
}

// TestViewDropped: a view that was dropped is named, and made again.
func TestViewDropped(t *testing.T) {
	c := open(t)
	j := actives()
	s := install(t, c, j)
	if len(s.Notes) > 0 {
		t.Fatalf("the notes are %q", s.Notes)
	}
	run(t, c, "DROP VIEW "+c.name("clicks_1m"), "DROP VIEW "+c.name("weir_audit"))
	for _, view := range []string{"clicks_1m", "weir_audit"} {
		if got := notes(t, c, j); !strings.Contains(got, "there is no view "+view+", which weir migrate had made") {
			t.Errorf("without %s the notes are %q", view, got)
		}
	}
	if steps, err := c.Migrate(t.Context(), []Job{j}, Migration{}); err != nil || len(steps) != 2 {
		t.Errorf("it migrates with %v, %v", steps, err)
	}
	if got := notes(t, c, j); got != "" {
		t.Errorf("with the views the notes are %q", got)
	}
}

// TestRenamed: the views of a database that was renamed read its old name, which is said until they are made again.
func TestRenamed(t *testing.T) {
	c := open(t)
	j := actives()
	s := install(t, c, j)
	f := &tap{op: operator(t, s.layout.Spec, 0)}
	write(t, s, f.flow(t, 8))
	want := one(t, c, "SELECT sum(hits) FROM "+c.name("clicks_1m"))
	now := c.cfg.Database + "_renamed"
	run(t, c, "RENAME DATABASE "+quote(c.cfg.Database)+" TO "+quote(now), "CREATE DATABASE "+quote(c.cfg.Database))
	c = dial(t, Config{URLs: c.cfg.URLs, Database: now})
	defer run(t, c, "DROP DATABASE "+quote(now))
	if got := notes(t, c, j); !strings.Contains(got, "view clicks_1m is not the one of this version and configuration") {
		t.Errorf("the notes are %q", got)
	}
	if _, err := c.Migrate(t.Context(), []Job{j}, Migration{}); err != nil {
		t.Fatal(err)
	}
	if got := notes(t, c, j); got != "" {
		t.Errorf("with new views the notes are %q", got)
	}
	if got := one(t, c, "SELECT sum(hits) FROM "+c.name("clicks_1m")); got != want {
		t.Errorf("the view has %s hits, before %s", got, want)
	}
}

// TestLifeChanged: a TTL of a table of all jobs, or of a column, that was changed by hand is named, and put right. A
// ledger whose lines expire loses positions, and hits that expire become 0.
func TestLifeChanged(t *testing.T) {
	c := open(t)
	j := actives()
	install(t, c, j)
	run(t, c, "ALTER TABLE "+c.name(LedgerTable)+" MODIFY TTL flushed_at + INTERVAL 30 DAY", "ALTER TABLE "+c.name("weir_dead_letters")+" REMOVE TTL",
		"ALTER TABLE "+c.name("clicks_state")+" MODIFY COLUMN hits TTL flushed_at + INTERVAL 1 DAY",
		"ALTER TABLE "+c.name("clicks_1m_rollup")+" MODIFY COLUMN hits TTL rolled_at + INTERVAL 1 DAY, MODIFY COLUMN active TTL rolled_at + INTERVAL 1 DAY")
	s, err := c.Job(t.Context(), j)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(s.Notes, "\n")
	for _, want := range []string{
		"table weir_ledger: its rows live by the TTL flushed_at + toIntervalDay(30), and were made to live by none",
		"table weir_dead_letters: its rows live by the TTL none, and were made to live by flushed_at + toIntervalDay(30)",
		"table clicks_state: the values of hits live by another TTL",
		"table clicks_1m_rollup: the values of hits, active live by another TTL",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the notes are %q, want %q", got, want)
		}
	}
	if steps, err := c.Migrate(t.Context(), []Job{j}, Migration{}); err != nil || len(steps) != 4 {
		t.Errorf("it migrates with %v, %v", steps, err)
	}
	if s, err = c.Job(t.Context(), j); err != nil || len(s.Notes) > 0 {
		t.Errorf("after the migration: %v, the notes are %q", err, s.Notes)
	}
}

// TestExchanged: the tables of two rollups that were exchanged are refused by everything, with the remedy.
func TestExchanged(t *testing.T) {
	c := open(t)
	j := actives()
	j.Rollups = []Rollup{{Window: time.Minute}, {Window: time.Hour}}
	install(t, c, j)
	exchange := "EXCHANGE TABLES " + c.name("clicks_1m_rollup") + " AND " + c.name("clicks_1h_rollup")
	run(t, c, exchange)
	const words = "table clicks_1m_rollup: it is the table of windows of 1h: it was exchanged"
	if _, err := c.Job(t.Context(), j); !fatalWith(err, words) {
		t.Errorf("the job opens with %v", err)
	}
	if _, err := c.Migrate(t.Context(), []Job{j}, Migration{}); !fatalWith(err, words) {
		t.Errorf("it migrates with %v", err)
	}
	run(t, c, exchange)
	if _, err := c.Job(t.Context(), j); err != nil {
		t.Errorf("when they are exchanged again, the job opens with %v", err)
	}
}

// TestMigrateOutcome: a ledger from before there was an outcome, throttled, is refused
// until the migration has added its column; the lines that it has stay.
func TestMigrateOutcome(t *testing.T) {
	c := open(t)
	s := install(t, c, actives())
	f := &tap{op: operator(t, s.layout.Spec, 0)}
	write(t, s, f.flow(t, 8))
	lines := one(t, c, "SELECT count(), sum(next - first) FROM "+c.name(LedgerTable)+" FINAL")
	b := &backend{c: c}
	b.exec(t, "DROP VIEW "+c.name("weir_audit"))
	b.exec(t, "ALTER TABLE "+c.name(LedgerTable)+" DROP COLUMN throttled")
	b.exec(t, "ALTER TABLE "+c.name("weir_schema")+" UPDATE sql = replaceRegexpAll(sql, '\n    `throttled`[^\n]*', '') WHERE 1 SETTINGS mutations_sync = 1")
	if _, err := c.Job(t.Context(), actives()); !fatalWith(err, "lacks column throttled, which is new: run `weir migrate`") {
		t.Errorf("before the migration the job opens with %v", err)
	}
	if _, err := c.Migrate(t.Context(), []Job{actives()}, Migration{}); err != nil {
		t.Fatal(err)
	}
	if again, err := c.Migrate(t.Context(), []Job{actives()}, Migration{}); err != nil || len(again) != 0 {
		t.Errorf("then it runs %v, %v", again, err)
	}
	if got := one(t, c, "SELECT count(), sum(next - first) FROM "+c.name(LedgerTable)+" FINAL WHERE throttled = 0"); got != lines {
		t.Errorf("the ledger has %s, before %s", got, lines)
	}
	s = another(c, s)
	write(t, s, f.flow(t, 8))
	exact(t, s, "migrated, written to")
}

// TestMigrateEvents: the same for a ledger from before records could be arrays of events.
func TestMigrateEvents(t *testing.T) {
	c := open(t)
	s := install(t, c, actives())
	f := &tap{op: operator(t, s.layout.Spec, 0)}
	write(t, s, f.flow(t, 8))
	b := &backend{c: c}
	var drop []string
	for _, name := range eventColumns() {
		drop = append(drop, "DROP COLUMN "+name)
	}
	b.exec(t, "DROP VIEW "+c.name("weir_audit"))
	b.exec(t, "ALTER TABLE "+c.name(LedgerTable)+" "+strings.Join(drop, ", "))
	b.exec(t, "ALTER TABLE "+c.name("weir_schema")+" UPDATE sql = replaceRegexpAll(sql, '\n    `events(_[a-z]+)?`[^\n]*', '') WHERE 1 SETTINGS mutations_sync = 1")
	lines := one(t, c, "SELECT count(), sum(counted), sum(next - first) FROM "+c.name(LedgerTable)+" FINAL")
	if _, err := c.Job(t.Context(), actives()); !fatalWith(err, "lacks column events, which is new: run `weir migrate`") {
		t.Errorf("before the migration the job opens with %v", err)
	}
	if _, err := c.Migrate(t.Context(), []Job{actives()}, Migration{}); err != nil {
		t.Fatal(err)
	}
	if again, err := c.Migrate(t.Context(), []Job{actives()}, Migration{}); err != nil || len(again) != 0 {
		t.Errorf("then it runs %v, %v", again, err)
	}
	if got := one(t, c, "SELECT count(), sum(counted), sum(next - first) FROM "+c.name(LedgerTable)+" FINAL WHERE events = 0 AND events_counted = 0"); got != lines {
		t.Errorf("the ledger has %s, before %s", got, lines)
	}
	s = another(c, s)
	write(t, s, f.flow(t, 8))
	exact(t, s, "migrated, written to")
	roll(t, s, true)
	if found := findings(t, s); len(found) != 0 {
		t.Errorf("the audit finds %v", found)
	}
	if got := one(t, c, "SELECT count() FROM "+c.name("weir_audit")); got != "(0)" {
		t.Errorf("weir_audit has %s rows", got)
	}
}

// TestEachAuditView: weir_audit knows both numbers of records that are arrays of events.
func TestEachAuditView(t *testing.T) {
	c := open(t)
	j := actives()
	j.Spec.Each, j.Spec.Dedupe, j.Rollups = "events", nil, j.Rollups[:1]
	s := install(t, c, j)
	inv, err := c.inventory(t.Context(), c.shards[0])
	if err != nil {
		t.Fatal(err)
	}
	d := auditData{c: c, Quiet: -3600} // it judges the newest rows too
	for _, r := range inv.audited(nil) {
		d.Jobs = append(d.Jobs, auditJob{c: c, r: r, levels: inv.lengths(r, nil)})
	}
	b := &backend{c: c}
	for _, v := range d.views() {
		b.exec(t, v.sql)
	}
	op := operator(t, j.Spec, 0)
	var docs []string
	for i := range 10 {
		docs = append(docs, `{"events":[`+click(noon, "/", i, "a")+`,`+click(noon, "/", 100+i, "b")+`,5]}`)
	}
	observe(t, op, 0, 0, noon, docs...)
	write(t, s, op.Take())
	roll(t, s, true)
	view := func() string {
		return strings.Join(read(t, c, "SELECT kind, partition, chunk, expected, found FROM "+c.name("weir_audit")+" ORDER BY kind"), " ")
	}
	if got := view(); got != "" {
		t.Fatalf("after a clean run: %s", got)
	}
	if got := one(t, c, "SELECT sum(hits) FROM "+c.name("clicks_1m")); got != "(20)" {
		t.Errorf("%s hits", got)
	}
	if got := one(t, c, "SELECT counted, malformed, events, events_counted, events_malformed, events_late FROM "+c.name(LedgerTable)+" FINAL"); got != "(10,0,30,20,10,0)" {
		t.Errorf("the ledger has %s", got)
	}
	change := func(column string, n int) {
		b.exec(t, fmt.Sprintf("INSERT INTO %s (job, version, epoch, partition, chunk, first, %s) VALUES ('clicks', %d, 0, 0, 0, 0, %d)", c.name(LedgerTable), column, j.Spec.Version, n))
	}
	change("events_late", 1)
	if got := view(); got != "('events',0,0,30,20)" {
		t.Errorf("an event late too many: %s", got)
	}
	change("events", 31)
	if got := view(); got != "" { // it adds up again
		t.Errorf("and in all: %s", got)
	}
	change("events_counted", 21)
	change("events", 32)
	if got := view(); got != "('rows missing',0,0,21,20)" {
		t.Errorf("an event counted too many: %s", got)
	}
}

// TestAlteredByHand: opening a job whose tables were changed by hand is an error that names
// the change; a migration repairs it only if that loses nothing.
func TestAlteredByHand(t *testing.T) {
	for _, a := range []struct {
		name, sql string
		opens     string // part of the error of Job
		migrates  string // part of the error of Migrate; empty: it repairs
	}{
		{"a column dropped", "ALTER TABLE {clicks_state} DROP COLUMN hits", "lacks column hits, which weir migrate had made: it was changed by hand", "column hits is gone"},
		{"a measure's column dropped", "ALTER TABLE {clicks_state} DROP COLUMN active", "lacks column active", ""},
		{"another type", "ALTER TABLE {clicks_1m_rollup} MODIFY COLUMN users UInt32", "column users is UInt32, weir made it SimpleAggregateFunction(max, UInt64)", "column users is UInt32"},
		{"a table dropped", "DROP TABLE {clicks_1h_rollup} SYNC", "there is no table clicks_1h_rollup, which weir migrate had made", ""},
		{"a table remade", "CREATE OR REPLACE TABLE {clicks_1h_rollup} (a UInt8) ENGINE = MergeTree ORDER BY a", "its engine is MergeTree", "its engine is MergeTree"},
		{"another order", "CREATE OR REPLACE TABLE {weir_rollups} (job String, version UInt32, rollup UInt32) ENGINE = AggregatingMergeTree ORDER BY job", "it is ordered by (job)", "it is ordered by (job)"},
		{"a DEFAULT removed", "ALTER TABLE {clicks_state} MODIFY COLUMN flushed_at REMOVE DEFAULT", "column flushed_at is no longer DEFAULT now(), as weir migrate had made it: it was changed by hand", ""},
		{"another DEFAULT", "ALTER TABLE {weir_ledger} MODIFY COLUMN began DateTime('UTC') DEFAULT toDateTime(0)", "column began is", "column began is"},
		{"another DEFAULT of the same type", "ALTER TABLE {clicks_1m_rollup} MODIFY COLUMN rolled_at DEFAULT toDateTime(0, 'UTC')", "column rolled_at is no longer DEFAULT now()", ""},
		{"a column that ClickHouse computes", "ALTER TABLE {clicks_state} MODIFY COLUMN flushed_in MATERIALIZED 0", "column flushed_in is MATERIALIZED SimpleAggregateFunction(max, UInt64), weir made it Simple", "column flushed_in is MATERIALIZED"},
		{"a ledger column dropped", "ALTER TABLE {weir_ledger} DROP COLUMN late", "lacks column late", "column late is gone"},
	} {
		t.Run(a.name, func(t *testing.T) {
			c, j := open(t), clicks()
			j.Spec.Measures, j.Rollups = j.Spec.Measures[:2], j.Rollups[:2] // as much as the cases name
			install(t, c, j)
			sql := a.sql
			for _, name := range []string{"clicks_state", "clicks_1m_rollup", "clicks_1h_rollup", "weir_rollups", "weir_ledger"} {
				sql = strings.ReplaceAll(sql, "{"+name+"}", c.name(name))
			}
			if err := c.exec(t.Context(), "alter", sql, await.Never); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Job(t.Context(), j); !fatalWith(err, a.opens) {
				t.Errorf("the job opens with %v, want %q", err, a.opens)
			}
			_, err := c.Migrate(t.Context(), []Job{j}, Migration{})
			if a.migrates != "" {
				if !fatalWith(err, a.migrates) {
					t.Errorf("it migrates with %v, want %q", err, a.migrates)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Job(t.Context(), j); err != nil {
				t.Errorf("after the migration the job opens with %v", err)
			}
		})
	}
}

// TestColumnOfALaterVersion: a table that an older version of weir made gets the missing
// column and keeps its rows; no error says that it was changed by hand.
func TestColumnOfALaterVersion(t *testing.T) {
	c := open(t)
	s := install(t, c, clicks())
	op := operator(t, s.layout.Spec, 0)
	observe(t, op, 0, 0, noon, "no event")
	write(t, s, op.Take())
	for _, sql := range []string{
		"ALTER TABLE " + c.name("weir_dead_letters") + " DROP COLUMN payload_bytes",
		"INSERT INTO " + c.name("weir_schema") + " (object, sql) SELECT object, replaceRegexpOne(sql, '\n *`payload_bytes`[^\n]*', '') FROM " +
			c.name("weir_schema") + " WHERE object = 'weir_dead_letters'",
	} {
		if err := c.exec(t.Context(), "go back", sql, await.Never); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Job(t.Context(), clicks()); !fatalWith(err, "table weir_dead_letters lacks column payload_bytes, which is new: run `weir migrate`") {
		t.Errorf("the job opens with %v", err)
	}
	steps, err := c.Migrate(t.Context(), []Job{clicks()}, Migration{})
	if err != nil || len(steps) != 1 {
		t.Fatalf("it migrates with %v, %v", steps, err)
	}
	s, err = c.Job(t.Context(), clicks())
	if err != nil {
		t.Fatal(err)
	}
	observe(t, op, 0, 1, noon, strings.Repeat("x", 20_000))
	write(t, s, op.Take())
	got := strings.Join(read(t, c, "SELECT offset, length(payload), payload_bytes FROM "+c.name("weir_dead_letters")+" FINAL ORDER BY offset"), " ")
	if want := "(0,8,0) (1,16384,20000)"; got != want {
		t.Errorf("dead letters %s, want %s", got, want)
	}
}

// TestAlteredWhileRunning: a write into a table that was changed is an error that says so.
func TestAlteredWhileRunning(t *testing.T) {
	c := open(t)
	s := install(t, c, clicks())
	op := operator(t, s.layout.Spec, 0)
	observe(t, op, 0, 0, noon, click(noon, "/", 1, "a"))
	changes := op.Take()
	changes.Table.Seal()
	if err := c.exec(t.Context(), "alter", "ALTER TABLE "+c.name("clicks_state")+" DROP COLUMN active", await.Never); err != nil {
		t.Fatal(err)
	}
	if err := s.Write(t.Context(), changes); !fatalWith(err, "the table is not as `weir migrate` made it") {
		t.Errorf("without a column: %v", err)
	}
	if err := c.exec(t.Context(), "drop", "DROP TABLE "+c.name("clicks_state")+" SYNC", await.Never); err != nil {
		t.Fatal(err)
	}
	if err := s.Write(t.Context(), changes); !fatalWith(err, "run `weir migrate`") {
		t.Errorf("without the table: %v", err)
	}
	// Nothing is lost: when the table is restored, the same changes can be written.
	if _, err := c.Migrate(t.Context(), []Job{clicks()}, Migration{}); err != nil {
		t.Fatal(err)
	}
	write(t, s, changes)
	if got := one(t, c, "SELECT sum(hits) FROM "+c.name("clicks_1m")); got != "(1)" {
		t.Errorf("%s hits", got)
	}
}

// TestVersions: the views show the newest version; an older one can still be opened.
func TestVersions(t *testing.T) {
	c := open(t)
	old, next := clicks(), clicks()
	next.Spec.Version = 2
	first := install(t, c, old)
	second := install(t, c, next)
	for i, s := range []*Sink{first, second} {
		op := operator(t, s.layout.Spec, 0)
		var docs []string
		for n := range 3 + i {
			docs = append(docs, click(noon, "/", n, string(rune('a'+n))))
		}
		observe(t, op, 0, 0, noon, docs...)
		write(t, s, op.Take())
	}
	for range 2 {
		if got := one(t, c, "SELECT sum(hits) FROM "+c.name("clicks_1m")); got != "(4)" {
			t.Errorf("the view counts %s, want version 2's 4", got)
		}
		// The older configuration migrates again: the views stay.
		if _, err := c.Migrate(t.Context(), []Job{old}, Migration{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Job(t.Context(), old); err != nil {
		t.Errorf("the older version opens with %v", err)
	}
}

// TestNames: jobs that cannot be stored are refused before any statement runs.
func TestNames(t *testing.T) {
	for name, change := range map[string]func(*Job){
		"letters, digits and _": func(j *Job) { j.Spec.Job = "my job" },
		"not begin with weir_":  func(j *Job) { j.Spec.Job = "weir_x" },
		"no topic":              func(j *Job) { j.Topic = "" },
		"is taken":              func(j *Job) { j.Spec.By[0].Name = "hits" },
		`column "users_state"`:  func(j *Job) { j.Spec.By[0].Name = "users_state" },
		"a letter first":        func(j *Job) { j.Spec.Measures[0].Name = "_users" },
		"no multiple of":        func(j *Job) { j.Rollups[1].Window = 90 * time.Second },
		"keep":                  func(j *Job) { j.Keep = 0 },
	} {
		j := clicks()
		change(&j)
		if _, err := plans([]Job{j}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v, want %q", err, name)
		}
	}
	// Two jobs would share a table.
	a, b := clicks(), clicks()
	a.Spec.Version = 2
	b.Spec.Job = "clicks_v2"
	if _, err := plans([]Job{a, b}); !fatalWith(err, "belongs to job clicks already") {
		t.Errorf("shared tables: %v", err)
	}
	for d, want := range map[time.Duration]string{time.Minute: "1m", 90 * time.Second: "90s", time.Hour: "1h", 36 * time.Hour: "36h", 24 * time.Hour: "1d", 168 * time.Hour: "7d"} {
		if got := span(d); got != want {
			t.Errorf("%v is %s, want %s", d, got, want)
		}
	}
}

// TestLongerFirstRollup: the numbers of a job without groups, whose first rollup is longer
// than its window, are right in the live tail and in the rollup.
func TestLongerFirstRollup(t *testing.T) {
	c := open(t)
	s := install(t, c, total())
	op := operator(t, s.layout.Spec, 0)
	var docs []string
	for i := range 60 {
		docs = append(docs, click(noon+int64(i%12)*60_000, "/", i%20, ""))
	}
	want := "(60) (20,1763640000,25) (20,1763640300,25) (10,1763640600,10)"
	observe(t, op, 0, 0, noon+720_000, docs...)
	write(t, s, op.Take())
	for _, name := range []string{"live", "rolled up", "rolled up twice"} {
		got := one(t, c, "SELECT sum(hits) FROM "+c.name("total_5m")) + " " +
			strings.Join(read(t, c, "SELECT users, toUnixTimestamp(window_start), hits FROM "+c.name("total_5m")+" ORDER BY window_start"), " ")
		if got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
		if err := s.Rollup(t.Context(), true, 0); err != nil {
			t.Fatal(err)
		}
	}
	if got := one(t, c, "SELECT hits, users FROM "+c.name("total_1h")); got != "(60,20)" {
		t.Errorf("the hour is %s", got)
	}
}

// TestAccountsAreUnderstood: the embedded engine cannot store accounts, but it parses the
// statements that make one. It refuses them for that reason only: ACCESS_DENIED, and
// UNKNOWN_ROLE for the grant to an account that does not exist.
func TestAccountsAreUnderstood(t *testing.T) {
	c := open(t)
	account := &Account{User: "graf`ana", Password: "hunter2"}
	for _, steps := range [][]Statement{c.writer(account), c.reader(account)} {
		for i, s := range steps {
			if strings.Contains(s.SQL+s.run, "hunter2") {
				t.Errorf("%s: the password is in it", s.Object)
			}
			err := c.exec(t.Context(), "try", cmp.Or(s.run, s.SQL), queryTimeout)
			var refused *Error
			if want := []int32{497, 497, 511}[i]; !errors.As(err, &refused) || refused.Code != want {
				t.Errorf("%s: the engine says %v, want %d; if it makes accounts now, test what one may do", s.Object, err, want)
			}
		}
	}
}

// TestRollupRemovedBehind: a process was killed when it had made 1m and not yet 1h. If 1h is removed
// then, 1d is made from 1m, of all that it holds, and 1h is when it comes back.
func TestRollupRemovedBehind(t *testing.T) {
	c := open(t)
	j := actives()
	all := []Rollup{{Window: time.Minute}, {Window: time.Hour}, {Window: 24 * time.Hour}}
	j.Rollups = all
	s := unaudited(t, c, j)
	f := &tap{op: operator(t, j.Spec, 0)}
	level := func(i int) {
		t.Helper()
		s.memos[i].due = time.Time{}
		if err := s.rollup(t.Context(), i, time.Now(), true, 0); err != nil {
			t.Fatal(err)
		}
	}
	for _, levels := range [][]int{{0, 1, 2}, {0, 1}, {0, 2}} {
		write(t, s, f.flow(t, 60))
		for _, i := range levels {
			level(i)
		}
	}
	exact(t, s, "before")
	j.Rollups = []Rollup{all[0], all[2]}
	s = unaudited(t, c, j)
	exact(t, s, "1h is removed")
	roll(t, s, true)
	exact(t, s, "1h is removed, and 1d made")
	write(t, s, f.flow(t, 60))
	roll(t, s, true)
	// It is as if this had been a minute ago.
	run(t, c, "ALTER TABLE "+c.name("clicks_1d_rollup")+" UPDATE rolled_at = rolled_at - 60 WHERE 1 SETTINGS mutations_sync = 1")
	j.Rollups = all
	s = unaudited(t, c, j)
	exact(t, s, "1h is back")
	// If rows of 1m have expired by then, 1h lacks windows that 1d was made of: that is no damage.
	run(t, c, "CREATE TABLE "+c.name("held")+" AS "+c.name("clicks_1m_rollup"), "INSERT INTO "+c.name("held")+" SELECT * FROM "+c.name("clicks_1m_rollup"),
		"TRUNCATE TABLE "+c.name("clicks_1m_rollup"),
		"ALTER TABLE "+c.name("weir_schema")+" DELETE WHERE object = 'clicks_1h_rollup' SETTINGS mutations_sync = 1") // the table is old
	s.quiet = -time.Hour
	for _, f := range within(t, s, audit.Scope{From: 1}) {
		if f.Kind == audit.Lost && f.Length == 86_400_000 {
			t.Errorf("1h is back, of nothing: %+v", f)
		}
	}
	run(t, c, "INSERT INTO "+c.name("clicks_1m_rollup")+" SELECT * FROM "+c.name("held"), "DROP TABLE "+c.name("held")+" SYNC")
	roll(t, s, true)
	exact(t, s, "1h is back, and made")
}

// TestRollupBesideOldList: a process that began with another list of rollups goes on. What it has made of other
// rows than the views go by is not noted as done, and what it has made of rows that the level below is to get
// yet is no damage.
func TestRollupBesideOldList(t *testing.T) {
	c := open(t)
	j := actives()
	all := []Rollup{{Window: time.Minute}, {Window: time.Hour}, {Window: 24 * time.Hour}}
	level := func(s *Sink, i int) {
		t.Helper()
		s.memos[i].due = time.Time{}
		if err := s.rollup(t.Context(), i, time.Now(), true, 0); err != nil {
			t.Fatal(err)
		}
	}
	j.Rollups = all
	before := unaudited(t, c, j)
	f := &tap{op: operator(t, j.Spec, 0)}
	write(t, before, f.flow(t, 60))
	roll(t, before, true)
	j.Rollups = []Rollup{all[0], all[2]}
	less := unaudited(t, c, j)
	write(t, before, f.flow(t, 60))
	level(before, 0)
	level(before, 1)
	write(t, less, f.flow(t, 60))
	level(less, 0)
	level(before, 2) // of 1h, which lacks the last events
	exact(t, less, "1h is removed, and a process that has it rolls up")
	roll(t, less, true)
	exact(t, less, "1h is removed, and 1d made")

	j.Rollups = all
	more := unaudited(t, c, j)
	write(t, more, f.flow(t, 60))
	roll(t, less, true) // of 1m: 1h has nothing yet
	exact(t, more, "1h is back, and a process without it rolls up")
	more.quiet = -time.Hour
	for _, f := range within(t, more, audit.Scope{From: 1}) {
		t.Errorf("1h is back, and not made: %+v", f)
	}
	if got := read(t, c, "SELECT kind, detail FROM "+c.name("weir_audit")); len(got) > 0 {
		t.Errorf("1h is back, and not made: weir_audit has %q", got)
	}
	roll(t, more, true)
	exact(t, more, "1h is back, and made")
	run(t, c, "TRUNCATE TABLE "+c.name("clicks_1h_rollup"))
	lost := 0
	for _, f := range within(t, more, audit.Scope{From: 1}) {
		if f.Kind == audit.Lost && f.Length == 86_400_000 {
			lost++
		}
	}
	if lost == 0 {
		t.Error("the rows of 1h are gone, and no window of 1d says so")
	}
}

// TestMeasureComesBack: windows that were made while a measure was left out get what the rows hold of it
// when it comes back.
func TestMeasureComesBack(t *testing.T) {
	less, more := actives(), actives()
	more.Spec.Measures = append(more.Spec.Measures, window.Measure{Name: "ids", Kind: window.HLL, Path: "id"})
	c := open(t)
	s := unaudited(t, c, more)
	op := operator(t, more.Spec, 0)
	observe(t, op, 0, 0, noon, click(noon, "/", 1, "a"), click(noon, "/", 1, "b"))
	write(t, s, op.Take())
	roll(t, unaudited(t, c, less), true)
	s = unaudited(t, c, more)
	same := func(when string) {
		t.Helper()
		views := "SELECT hits, ids FROM " + c.name("clicks_1m") + " UNION ALL SELECT hits, ids FROM " + c.name("clicks_1h")
		if got := strings.Join(read(t, c, views), " "); got != "(2,2) (2,2)" {
			t.Errorf("%s: hits and ids are %s", when, got)
		}
		s.quiet = -time.Hour
		for _, f := range within(t, s, audit.Scope{From: 1}) {
			t.Errorf("%s: %+v", when, f)
		}
	}
	same("ids is back")
	roll(t, s, true)
	same("ids is back, and windows are made")
	if steps, err := c.Migrate(t.Context(), []Job{more}, Migration{}); err != nil || len(steps) > 0 {
		t.Errorf("a second migration: %v %v", steps, err)
	}
}

// TestViewReplaced: a view that was made again by hand is named, and the next migration makes it as it was.
func TestViewReplaced(t *testing.T) {
	c := open(t)
	j := actives()
	s := unasked(t, c, j)
	op := operator(t, s.layout.Spec, 0)
	observe(t, op, 0, 0, event.Time(noon), click(noon, "/", 7, "a"))
	write(t, s, op.Take())
	notes := func() string {
		t.Helper()
		inv, err := c.inventory(t.Context(), c.shards[0])
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(inv.notes(c, s.layout))
	}
	if got := notes(); strings.Contains(got, "made again or altered") {
		t.Errorf("the notes are %s", got)
	}
	record := c.name("weir_schema")
	run(t, c, "CREATE OR REPLACE VIEW "+c.name("clicks_1h")+" AS SELECT 12000 AS hits",
		// It is as if weir migrate had run some minutes before.
		"CREATE TABLE "+c.name("earlier")+" AS "+record, "INSERT INTO "+c.name("earlier")+" SELECT * REPLACE (applied_at - toIntervalMinute(3) AS applied_at) FROM "+record,
		"TRUNCATE TABLE "+record, "INSERT INTO "+record+" SELECT * FROM "+c.name("earlier"))
	if got := notes(); !strings.Contains(got, "view clicks_1h was made again or altered") {
		t.Errorf("the notes are %s", got)
	}
	for _, want := range []bool{true, false} {
		steps, err := c.Migrate(t.Context(), []Job{j}, Migration{})
		if err != nil || slices.ContainsFunc(steps, func(s Statement) bool { return s.Object == "clicks_1h" }) != want {
			t.Errorf("%d statements, %v; clicks_1h among them: want %v", len(steps), err, want)
		}
	}
	if got := notes(); strings.Contains(got, "made again or altered") {
		t.Errorf("after a migration the notes are %s", got)
	}
	if got := one(t, c, "SELECT hits FROM "+c.name("clicks_1h")); got != "(1)" {
		t.Errorf("the view shows %s", got)
	}
}
