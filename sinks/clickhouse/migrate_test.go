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
	"weir/measures/geo"
	"weir/measures/hll"
	"weir/measures/quantile"
	"weir/sinks/clickhouse/migrate"
	"weir/sinks/clickhouse/schema"
	"weir/sinks/clickhouse/wire"
	"weir/window"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// locations returns the second preset: geohash cells and last positions.
func locations() schema.Job {
	return schema.Job{
		Topic: "locations", Keep: 7 * 24 * time.Hour,
		Rollups: []schema.Rollup{{Window: time.Minute, Keep: 30 * 24 * time.Hour}, {Window: time.Hour}},
		Spec: &window.Spec{
			Job: "locations", Version: 3, TimeField: "ts", TimeUnit: event.Millis,
			Window: 60_000, Lateness: 86_400_000, Skew: 600_000, Chunk: 1 << 18, MaxGroups: 1_000_000,
			By:       []window.Dimension{{Name: "cell", Lon: "lon", Lat: "lat", Precision: 5}},
			Measures: []window.Measure{{Name: "users", Kind: hll.Kind, Path: "user"}, {Name: "places", Kind: geo.Kind, Path: "user", Lon: "lon", Lat: "lat"}},
		},
	}
}

// total returns a job without groups whose first rollup is longer than its window.
func total() schema.Job {
	return schema.Job{
		Topic: "total", Keep: 7 * 24 * time.Hour, Rollups: []schema.Rollup{{Window: 5 * time.Minute}, {Window: time.Hour}},
		Spec: &window.Spec{
			Job: "total", Version: 1, TimeField: "ts", TimeUnit: event.Millis,
			Window: 60_000, Lateness: 86_400_000, Skew: 600_000, Chunk: 64, MaxGroups: 1,
			Measures: []window.Measure{{Name: "users", Kind: hll.Kind, Path: "user"}},
		},
	}
}

// TestGoldenSQL: the statements of a first migration, on one server and on a
// cluster, are those of the golden files. After a change: go test -update, and
// read the difference.
func TestGoldenSQL(t *testing.T) {
	for file, cfg := range map[string]wire.Config{
		"testdata/server.sql":  {URLs: []string{"http://localhost:8123"}, Database: "weir"},
		"testdata/cluster.sql": {URLs: []string{"http://localhost:8123"}, Database: "weir", Cluster: "main"},
		"testdata/shards.sql":  {Shards: [][]string{{"http://localhost:8123"}, {"http://localhost:8124"}}, Database: "weir", Cluster: "main"},
	} {
		c := dial(t, cfg)
		jobs := []schema.Job{clicks(), locations(), total()}
		if c.Sharded() {
			jobs = []schema.Job{actives()} // the others differ from those of a cluster in the same way
		}
		layouts, err := migrate.Plans(jobs)
		if err != nil {
			t.Fatal(err)
		}
		steps, err := migrate.Steps(c.DB, &migrate.Inventory{}, layouts)
		if err != nil {
			t.Fatal(err)
		}
		steps = append(steps, migrate.WriterAccount(c.DB, &migrate.Account{User: "weir", Password: "hunter2"})...)
		steps = append(steps, migrate.ReaderAccount(c.DB, &migrate.Account{User: "grafana", Password: "hunter2"})...)
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
	jobs := []schema.Job{clicks(), locations(), total()}
	jobs[0].Spec.Measures = append(jobs[0].Spec.Measures, window.Measure{Name: "latency", Kind: quantile.Kind, Path: "ms", Error: 0.01})
	jobs[0].Spec.MaxGroups = 200_000 // its groups are plain strings, those of the other jobs dictionaries
	for i := range jobs {
		full(t, c, jobs[i])
	}
	if again, err := c.Migrate(t.Context(), jobs, migrate.Options{}); err != nil || len(again) != 0 {
		t.Errorf("a migration after these runs %v, %v", again, err)
	}
	layouts, err := migrate.Plans(jobs)
	if err != nil {
		t.Fatal(err)
	}
	inv, err := migrate.Take(t.Context(), c.DB, c.Shards[0])
	if err != nil {
		t.Fatal(err)
	}
	columns := func(name string) []string {
		return read(t, c, "SELECT name, type FROM system.columns WHERE database = "+wire.Text(c.Config.Database)+" AND table = "+wire.Text(name)+" ORDER BY position")
	}
	for _, v := range migrate.Views(c.DB, inv, layouts) {
		_, query, _ := strings.Cut(v.SQL, "\nAS ")
		run(t, c, "CREATE OR REPLACE VIEW "+c.Name("plain")+" AS "+query)
		if got, want := columns(v.Name), columns("plain"); !slices.Equal(got, want) {
			t.Errorf("%s:\n has %s\nwant %s", v.Name, got, want)
		}
	}
}

// TestMigrateAgain: a second migration has nothing to do, two at the same time do no harm,
// and a dry run changes nothing.
func TestMigrateAgain(t *testing.T) {
	c := open(t)
	jobs := []schema.Job{clicks(), total()}
	dry, err := c.Migrate(t.Context(), jobs, migrate.Options{DryRun: true})
	if err != nil || len(dry) < 20 {
		t.Fatalf("%d statements, %v", len(dry), err)
	}
	if _, err := c.Job(t.Context(), clicks()); !fatalWith(err, "run `weir migrate`") {
		t.Errorf("after a dry run the job opens with %v", err)
	}
	var wg sync.WaitGroup
	errs := make([]error, 3)
	var ids [3]string
	for i := range errs {
		wg.Go(func() {
			if _, errs[i] = c.Migrate(t.Context(), jobs, migrate.Options{}); errs[i] == nil {
				ids[i], errs[i] = c.ID(t.Context())
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	if id, err := c.ID(t.Context()); err != nil || len(id) < 16 || id != ids[2] {
		t.Errorf("the database's id is %q, %v; it was %q", id, err, ids)
	}
	again, err := c.Migrate(t.Context(), jobs, migrate.Options{})
	if err != nil || len(again) != 0 {
		t.Errorf("a second migration runs %v, %v", again, err)
	}
	for _, j := range jobs {
		if _, err := c.Job(t.Context(), j); err != nil {
			t.Errorf("job %s: %v", j.Spec.Job, err)
		}
	}
	if n := one(t, c, "SELECT uniqExact(object) FROM "+c.Name("weir_schema")); n == "(0)" {
		t.Error("nothing is recorded")
	}
	if got := read(t, c, "SELECT * FROM "+c.Name("weir_audit")); len(got) != 0 {
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
	full(t, c, j)
	j.Spec.Measures = append(j.Spec.Measures, window.Measure{Name: "ids", Kind: hll.Kind, Path: "id"},
		window.Measure{Name: "latency", Kind: quantile.Kind, Path: "ms", Optional: true, Error: 0.01})
	j.Keep = 500 * 24 * time.Hour
	j.Rollups[0].Keep = 40 * 24 * time.Hour
	if _, err := c.Job(t.Context(), j); !fatalWith(err, "job clicks: measure ids is new: run `weir migrate`") {
		t.Errorf("a job with a new measure opens with %v", err)
	}
	steps, err := c.Migrate(t.Context(), []schema.Job{j}, migrate.Options{})
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
	if got := one(t, c, "SELECT create_table_query FROM system.tables WHERE database = "+wire.Text(c.Config.Database)+" AND name = 'clicks_state'"); !strings.Contains(got, "TTL flushed_at + toIntervalSecond(43200000)") {
		t.Errorf("the state table is %s", got)
	}
	if got := one(t, c, "SELECT groupArray(name) FROM (SELECT name FROM system.columns WHERE database = "+wire.Text(c.Config.Database)+" AND table = 'clicks_1d' AND name LIKE 'latency%' ORDER BY name)"); got != "(['latency_p50','latency_p90','latency_p95','latency_p99'])" {
		t.Errorf("the view has the columns %s", got)
	}
	if again, err := c.Migrate(t.Context(), []schema.Job{j}, migrate.Options{}); err != nil || len(again) != 0 {
		t.Errorf("then it runs %v, %v", again, err)
	}
	// Now the rows live for ever again. Those that have expired are made again, and the views of windows that are asked for
	// know how long they live.
	j.Rollups[0].Keep = 0
	steps, err = c.Migrate(t.Context(), []schema.Job{j}, migrate.Options{})
	if err != nil || len(steps) < 3 || steps[0].Object != "clicks_1m_rollup progress" || !strings.HasSuffix(steps[1].SQL, "REMOVE TTL") {
		t.Fatalf("without a lifetime it runs %v, %v", steps, err)
	}
	about = nil
	for _, s := range steps[2:] {
		about = append(about, s.Object)
	}
	if got := strings.Join(about, " "); got != "clicks_range clicks_range_total clicks_last clicks_last_total clicks_tumble clicks_tumble_total clicks_hop clicks_hop_total clicks_calendar clicks_calendar_total clicks_cumulate clicks_cumulate_total clicks_retention clicks_retention_total clicks_retention_tumble clicks_retention_tumble_total clicks_sessions clicks_sessions_total clicks_funnel weir_audit clicks_1m_rollup progress" {
		t.Errorf("without a lifetime it makes anew %s", got)
	}
}

// TestRollupBesideMeasure: while processes without a measure roll up, whether they began before it was added or
// after, the values that another process counts stay in the views, and get into the rollups by that process.
func TestRollupBesideMeasure(t *testing.T) {
	less, more := actives(), actives()
	more.Spec.Measures = append(more.Spec.Measures, window.Measure{Name: "ids", Kind: hll.Kind, Path: "id"})
	begin := func(c *Client, j schema.Job) *Sink {
		s, err := c.Job(t.Context(), j)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	migrate := func(c *Client, j schema.Job) {
		if _, err := c.Migrate(t.Context(), []schema.Job{j}, migrate.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	for name, first := range map[string]schema.Job{"new": less, "back": more} {
		t.Run(name, func(t *testing.T) {
			c := open(t)
			asking(t, c, first)
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
				views := "SELECT hits, ids FROM " + c.Name("clicks_1m") + " UNION ALL SELECT hits, ids FROM " + c.Name("clicks_1h")
				if got := strings.Join(read(t, c, views), " "); got != "(2,2) (2,2)" {
					t.Errorf("hits and ids are %s", got)
				}
				return one(t, c, "SELECT max(opened), max(done) FROM "+c.Name("weir_rollups"))
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
			if got := read(t, c, "SELECT job FROM "+c.Name("weir_rollups")+" GROUP BY job, `rollup` HAVING max(done) <= (SELECT max(flushed_in) FROM "+c.Name("clicks_state")+")"); len(got) > 0 {
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
	s := asking(t, c, j)
	op := operator(t, j.Spec, 0)
	roll := func(want ...string) {
		t.Helper()
		write(t, s, op.Take())
		if err := s.Rollup(t.Context(), true, 0); err != nil {
			t.Fatal(err)
		}
		if got := read(t, c, "SELECT hits, active FROM "+c.Name("clicks_1h")+" ORDER BY window_start"); !slices.Equal(got, want) {
			t.Errorf("the view has %s, want %s", got, want)
		}
	}
	observe(t, op, 0, 0, noon, click(noon, "/", 1, "a"))
	roll("(1,1)")
	observe(t, op, 0, 1, noon, click(noon, "/", 2, "b"))
	roll("(2,2)")
	run(t, c, "DROP TABLE "+c.Name("clicks_1h_rollup")+" SYNC")
	if _, err := c.Migrate(t.Context(), []schema.Job{j}, migrate.Options{}); err != nil {
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

// TestEachAuditView: weir_audit knows both numbers of records that are arrays of events.
func TestEachAuditView(t *testing.T) {
	c := open(t)
	j := actives()
	j.Spec.Each, j.Spec.Dedupe, j.Rollups = "events", nil, j.Rollups[:1]
	s := full(t, c, j)
	eager(t, c)
	b := &backend{c: c}
	op := operator(t, j.Spec, 0)
	var docs []string
	for i := range 10 {
		docs = append(docs, `{"events":[`+click(noon, "/", i, "a")+`,`+click(noon, "/", 100+i, "b")+`,5]}`)
	}
	observe(t, op, 0, 0, noon, docs...)
	write(t, s, op.Take())
	roll(t, s, true)
	view := func() string {
		return strings.Join(read(t, c, "SELECT kind, partition, chunk, expected, found FROM "+c.Name("weir_audit")+" ORDER BY kind"), " ")
	}
	if got := view(); got != "" {
		t.Fatalf("after a clean run: %s", got)
	}
	if got := one(t, c, "SELECT sum(hits) FROM "+c.Name("clicks_1m")); got != "(20)" {
		t.Errorf("%s hits", got)
	}
	if got := one(t, c, "SELECT counted, malformed, events, events_counted, events_malformed, events_late FROM "+c.Name(schema.LedgerTable)+" FINAL"); got != "(10,0,30,20,10,0)" {
		t.Errorf("the ledger has %s", got)
	}
	change := func(column string, n int) {
		b.exec(t, fmt.Sprintf("INSERT INTO %s (job, version, epoch, partition, chunk, first, %s) VALUES ('clicks', %d, 0, 0, 0, 0, %d)", c.Name(schema.LedgerTable), column, j.Spec.Version, n))
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

// TestNames: jobs that cannot be stored are refused before any statement runs.
func TestNames(t *testing.T) {
	for name, change := range map[string]func(*schema.Job){
		"letters, digits and _": func(j *schema.Job) { j.Spec.Job = "my job" },
		"not begin with weir_":  func(j *schema.Job) { j.Spec.Job = "weir_x" },
		"no topic":              func(j *schema.Job) { j.Topic = "" },
		"is taken":              func(j *schema.Job) { j.Spec.By[0].Name = "hits" },
		`column "users_state"`:  func(j *schema.Job) { j.Spec.By[0].Name = "users_state" },
		"a letter first":        func(j *schema.Job) { j.Spec.Measures[0].Name = "_users" },
		"no multiple of":        func(j *schema.Job) { j.Rollups[1].Window = 90 * time.Second },
		"keep":                  func(j *schema.Job) { j.Keep = 0 },
	} {
		j := clicks()
		change(&j)
		if _, err := migrate.Plans([]schema.Job{j}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v, want %q", err, name)
		}
	}
	// Two jobs would share a table.
	a, b := clicks(), clicks()
	a.Spec.Version = 2
	b.Spec.Job = "clicks_v2"
	if _, err := migrate.Plans([]schema.Job{a, b}); !fatalWith(err, "belongs to job clicks already") {
		t.Errorf("shared tables: %v", err)
	}
	for d, want := range map[time.Duration]string{time.Minute: "1m", 90 * time.Second: "90s", time.Hour: "1h", 36 * time.Hour: "36h", 24 * time.Hour: "1d", 168 * time.Hour: "7d"} {
		if got := schema.Span(d); got != want {
			t.Errorf("%v is %s, want %s", d, got, want)
		}
	}
}

// TestAccountsAreUnderstood: the embedded engine cannot store accounts, but it parses the
// statements that make one. It refuses them for that reason only: ACCESS_DENIED, and
// UNKNOWN_ROLE for the grant to an account that does not exist.
func TestAccountsAreUnderstood(t *testing.T) {
	c := open(t)
	account := &migrate.Account{User: "graf`ana", Password: "hunter2"}
	for _, steps := range [][]migrate.Statement{migrate.WriterAccount(c.DB, account), migrate.ReaderAccount(c.DB, account)} {
		for i, s := range steps {
			if strings.Contains(s.SQL+s.Full, "hunter2") {
				t.Errorf("%s: the password is in it", s.Object)
			}
			err := c.Exec(t.Context(), "try", cmp.Or(s.Full, s.SQL), wire.QueryTimeout)
			var refused *wire.Error
			if want := []int32{497, 497, 511}[i]; !errors.As(err, &refused) || refused.Code != want {
				t.Errorf("%s: the engine says %v, want %d; if it makes accounts now, test what one may do", s.Object, err, want)
			}
		}
	}
}

// TestRollupBesideOldList: a process that began with another list of rollups goes on. What it has made of other
// rows than the views go by is not noted as done, and what it has made of rows that the level below is to get
// yet is no damage.
func TestRollupBesideOldList(t *testing.T) {
	c := open(t)
	j := actives()
	all := []schema.Rollup{{Window: time.Minute}, {Window: time.Hour}, {Window: 24 * time.Hour}}
	level := func(s *Sink, i int) {
		t.Helper()
		s.memos[i].due = time.Time{}
		if err := s.rollup(t.Context(), i, time.Now(), true, 0); err != nil {
			t.Fatal(err)
		}
	}
	j.Rollups = all
	before := asking(t, c, j)
	f := &tap{op: operator(t, j.Spec, 0)}
	write(t, before, f.flow(t, 60))
	roll(t, before, true)
	j.Rollups = []schema.Rollup{all[0], all[2]}
	less := asking(t, c, j)
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
	more := asking(t, c, j)
	write(t, more, f.flow(t, 60))
	roll(t, less, true) // of 1m: 1h has nothing yet
	exact(t, more, "1h is back, and a process without it rolls up")
	more.Quiet = -time.Hour
	for _, f := range within(t, more, audit.Scope{From: 1}) {
		t.Errorf("1h is back, and not made: %+v", f)
	}
	eager(t, c) // it judges no window whose rows may lack some themselves, as those of 1h do
	if got := read(t, c, "SELECT kind, detail FROM "+c.Name("weir_audit")); len(got) > 0 {
		t.Errorf("1h is back, and not made: weir_audit has %q", got)
	}
	roll(t, more, true)
	exact(t, more, "1h is back, and made")
	run(t, c, "TRUNCATE TABLE "+c.Name("clicks_1h_rollup"))
	lost := 0
	for _, f := range within(t, more, audit.Scope{From: 1}) {
		if f.Class == audit.Lost && f.Length == 86_400_000 {
			lost++
		}
	}
	if lost == 0 {
		t.Error("the rows of 1h are gone, and no window of 1d says so")
	}
}

// notes returns what weir says of a job's tables at its start.
func notes(t *testing.T, c *Client, j schema.Job) string {
	t.Helper()
	s, err := c.Job(t.Context(), j)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(s.Notes, "\n")
}

// TestAltered: a table that was changed by hand in what no migration changes is refused by Job
// and by Migrate, in one line with the object and the difference.
func TestAltered(t *testing.T) {
	c, j := open(t), actives()
	install(t, c, j)
	exchange := "EXCHANGE TABLES {clicks_1m_rollup} AND {clicks_1h_rollup}"
	for _, a := range []struct{ sql, undo, words string }{
		{"ALTER TABLE {clicks_state} DROP COLUMN hits", "ALTER TABLE {clicks_state} ADD COLUMN hits SimpleAggregateFunction(maxMap, Map(UInt64, UInt64))", "table clicks_state: `hits` is gone"},
		{"ALTER TABLE {weir_ledger} DROP COLUMN late", "ALTER TABLE {weir_ledger} ADD COLUMN late SimpleAggregateFunction(max, UInt64)", "table weir_ledger: `late` is gone"},
		{"ALTER TABLE {clicks_1m_rollup} MODIFY COLUMN active UInt32", "ALTER TABLE {clicks_1m_rollup} MODIFY COLUMN active SimpleAggregateFunction(max, UInt64)", "table clicks_1m_rollup: `active` is UInt32, weir made it SimpleAggregateFunction(max, UInt64)"},
		{"ALTER TABLE {clicks_state} MODIFY COLUMN flushed_at REMOVE DEFAULT", "ALTER TABLE {clicks_state} MODIFY COLUMN flushed_at DEFAULT now()", "`flushed_at` is SimpleAggregateFunction(max, DateTime('UTC')), weir made it SimpleAggregateFunction(max, DateTime('UTC')) DEFAULT now()"},
		{"ALTER TABLE {clicks_state} MODIFY COLUMN flushed_in MATERIALIZED 0", "ALTER TABLE {clicks_state} MODIFY COLUMN flushed_in REMOVE MATERIALIZED", "`flushed_in` is SimpleAggregateFunction(max, UInt64) MATERIALIZED 0"},
		{"ALTER TABLE {clicks_state} DROP INDEX flushed_in_range", "ALTER TABLE {clicks_state} ADD INDEX flushed_in_range flushed_in TYPE minmax GRANULARITY 1", "INDEX flushed_in_range is gone"},
		{exchange, exchange, "table clicks_1m_rollup: COMMENT is 'Finished numbers of windows of 1h.', weir made it"},
		{"CREATE OR REPLACE TABLE {clicks_1h_rollup} (a UInt8) ENGINE = MergeTree ORDER BY a", "", "its engine is MergeTree, weir made it AggregatingMergeTree"},
	} {
		named := func(sql string) string {
			return strings.NewReplacer("{", wire.Quote(c.Config.Database)+".", "}", "").Replace(sql)
		}
		run(t, c, named(a.sql))
		for _, err := range []error{
			func() error { _, err := c.Job(t.Context(), j); return err }(),
			func() error { _, err := c.Migrate(t.Context(), []schema.Job{j}, migrate.Options{}); return err }(),
		} {
			if !fatalWith(err, a.words) || !fatalWith(err, "the table is not as `weir migrate` made it") {
				t.Errorf("%s: %v, want %q", a.sql, err, a.words)
			}
		}
		if a.undo == "" {
			return
		}
		run(t, c, named(a.undo))
		if _, err := c.Job(t.Context(), j); err != nil {
			t.Errorf("after %s the job opens with %v", a.undo, err)
		}
	}
}

// TestMended: Job names what a migration mends, as an error if the job cannot run without it. After the migration,
// which runs no other statement, it says nothing.
func TestMended(t *testing.T) {
	c, j := open(t), actives()
	full(t, c, j)
	for _, a := range []struct{ name, sql, refuse, note, object string }{
		{"nothing", "", "", "", ""},
		{"a view dropped", "DROP VIEW {clicks_1m}", "", "these are not as this version and configuration want them: clicks_1m: run `weir migrate`", "clicks_1m"},
		{"weir_audit dropped", "DROP VIEW {weir_audit}", "", "want them: weir_audit: run", "weir_audit"},
		{"a view replaced", "CREATE OR REPLACE VIEW {clicks_1h} AS SELECT 12000 AS hits, 1 AS active", "", "want them: clicks_1h: run", "clicks_1h"},
		{"a function replaced", "CREATE OR REPLACE FUNCTION weirSetCount AS state -> 1", "", "want them: weirSetCount: run", "weirSetCount"},
		{"lines that expire", "ALTER TABLE {weir_ledger} MODIFY TTL flushed_at + INTERVAL 30 DAY", "", "weir_ledger ttl", "weir_ledger ttl"},
		{"letters that stay", "ALTER TABLE {weir_dead_letters} REMOVE TTL", "", "weir_dead_letters ttl", "weir_dead_letters ttl"},
		{"values that expire", "ALTER TABLE {clicks_state} MODIFY COLUMN hits TTL flushed_at + INTERVAL 1 DAY", "", "clicks_state states ttl", "clicks_state states ttl"},
		{"no setting", "ALTER TABLE {clicks_state} RESET SETTING auto_statistics_types", "", "clicks_state settings", "clicks_state settings"},
		{"another setting", "ALTER TABLE {weir_ledger} MODIFY SETTING merge_selector_base = 7", "", "", ""},
		{"a comment and a codec", "ALTER TABLE {clicks_state} MODIFY COLUMN active CODEC(ZSTD(3)), COMMENT COLUMN page 'ours'", "", "", ""},
		{"a measure's column dropped", "ALTER TABLE {clicks_state} DROP COLUMN active", "table clicks_state lacks column active: run `weir migrate`", "", "clicks_state active"},
		{"a rollup dropped", "DROP TABLE {clicks_1h_rollup} SYNC", "there is no table clicks_1h_rollup: run `weir migrate`", "", "clicks_1h_rollup progress clicks_1h_rollup"},
	} {
		if a.sql != "" {
			run(t, c, strings.NewReplacer("{", wire.Quote(c.Config.Database)+".", "}", "").Replace(a.sql))
		}
		switch s, err := c.Job(t.Context(), j); {
		case a.refuse != "":
			if !fatalWith(err, a.refuse) {
				t.Errorf("%s: the job opens with %v, want %q", a.name, err, a.refuse)
			}
		case err != nil:
			t.Errorf("%s: %v", a.name, err)
		case (a.note == "") != (len(s.Notes) == 0) || !strings.Contains(strings.Join(s.Notes, " "), a.note):
			t.Errorf("%s: the notes are %q, want %q", a.name, s.Notes, a.note)
		}
		if a.object == "weirSetCount" {
			if got := fmt.Sprint(read(t, c, "SELECT kind, groups FROM "+c.Name("weir_audit"))); got != "[('function','weirSetCount')]" {
				t.Errorf("%s: weir_audit has %s", a.name, got)
			}
		}
		steps, err := c.Migrate(t.Context(), []schema.Job{j}, migrate.Options{})
		if got := about(steps); err != nil || got != a.object {
			t.Errorf("%s: it migrates %s, %v, want %q", a.name, got, err, a.object)
		}
		if got := notes(t, c, j); got != "" {
			t.Errorf("%s: after the migration the notes are %s", a.name, got)
		}
	}
	// A migration that was killed has recorded nothing.
	run(t, c, "TRUNCATE TABLE "+c.Name("weir_schema"))
	for _, want := range []bool{true, false} {
		if steps, err := c.Migrate(t.Context(), []schema.Job{j}, migrate.Options{}); err != nil || len(steps) > 0 != want {
			t.Errorf("without a record it migrates %s, %v", about(steps), err)
		}
	}
	// Every table is as Config.Fsync says, in both directions.
	const tables = 8 // weir's five, state rows, two rollups
	for _, fsync := range []bool{true, false} {
		c.Config.Fsync = fsync
		if got := notes(t, c, j); strings.Count(got, " settings") != tables {
			t.Errorf("fsync %v: the notes are %s", fsync, got)
		}
		if steps, err := c.Migrate(t.Context(), []schema.Job{j}, migrate.Options{}); err != nil || len(steps) != tables {
			t.Errorf("fsync %v: it migrates %s, %v", fsync, about(steps), err)
		}
		want := map[bool]string{true: "(8)", false: "(0)"}[fsync]
		if got := one(t, c, "SELECT countIf(create_table_query LIKE '%fsync_after_insert = 1, fsync_part_directory = 1%') FROM system.tables WHERE database = "+wire.Text(c.Config.Database)); got != want {
			t.Errorf("fsync %v: %s tables have it, want %s", fsync, got, want)
		}
		if got := notes(t, c, j); got != "" {
			t.Errorf("fsync %v: then the notes are %s", fsync, got)
		}
	}
}

// about returns the objects of statements.
func about(steps []migrate.Statement) string {
	var all []string
	for _, s := range steps {
		all = append(all, s.Object)
	}
	return strings.Join(all, " ")
}

// TestChanges: if a change of the configuration is not allowed, the error of Job has the key, its values before and
// after, and the remedy. If it needs a migration, Job says so.
func TestChanges(t *testing.T) {
	const day = 24 * time.Hour
	c := open(t)
	was := func() schema.Job {
		j := clicks()
		j.Spec.Measures, j.Place = j.Spec.Measures[:2], "jobs[3]"
		return j
	}
	full(t, c, was())
	for name, x := range map[string]struct {
		change func(j *schema.Job)
		refuse string // error of Job; empty: it opens, with
		note   string
	}{
		"a group column more": {func(j *schema.Job) { j.Spec.By = append(j.Spec.By, window.Dimension{Name: "lang", Path: "lang"}) }, "jobs[3].by was ", ""},
		"another window": {func(j *schema.Job) { j.Spec.Window, j.Rollups[0].Window = 30_000, 30*time.Second },
			"jobs[3].window was \"1m\", is \"30s\": put it back, or raise jobs[3].version to 2, which begins new tables and counts the log again as far as Kafka keeps it; the tables of version 1 stay", ""},
		"another topic":     {func(j *schema.Job) { j.Topic = "clicks2" }, "jobs[3].topic was clicks, is clicks2: put it back", ""},
		"a measure changed": {func(j *schema.Job) { j.Spec.Measures[0].Path = "visitor" }, "jobs[3].measures[0] (users).field was \"user\", is \"visitor\": put it back, or raise jobs[3].version to 2", ""},
		"a measure more": {func(j *schema.Job) {
			j.Spec.Measures = append(j.Spec.Measures, window.Measure{Name: "spots", Kind: geo.Kind, Path: "user", Lon: "lon", Lat: "lat"})
		}, "job clicks: measure spots is new: run `weir migrate`", ""},
		"a measure renamed":   {func(j *schema.Job) { j.Spec.Measures[0].Name = "visitors" }, "measure visitors is new, and users is gone: a renamed measure begins empty: run `weir migrate`", ""},
		"a measure removed":   {func(j *schema.Job) { j.Spec.Measures = j.Spec.Measures[:1] }, "", "job clicks: measure active is no longer in jobs[3].measures: its values stay, and new windows lack it"},
		"a rollup more":       {func(j *schema.Job) { j.Rollups = append(j.Rollups, schema.Rollup{Window: 7 * day}) }, "job clicks: rollup 7d is new: run `weir migrate`", ""},
		"a rollup removed":    {func(j *schema.Job) { j.Rollups = j.Rollups[:2] }, "", "rollup 1d is no longer in jobs[3].rollups: the table clicks_1d_rollup and the view clicks_1d stay and get nothing new"},
		"another keep":        {func(j *schema.Job) { j.Keep = 500 * day }, "", "want them: clicks_state ttl, "},
		"a keep of a rollup":  {func(j *schema.Job) { j.Rollups[2].Keep = 800 * day }, "", "clicks_1d_rollup ttl"},
		"another keep_states": {func(j *schema.Job) { j.Rollups[1].KeepStates = 60 * day }, "", "clicks_1h_rollup states ttl"},
		"a version raised":    {func(j *schema.Job) { j.Spec.Version = 3 }, "job clicks: version 3 is new: the newest with tables is 1: run `weir migrate`", ""},
		"another job":         {func(j *schema.Job) { j.Spec.Job = "visits" }, "job visits: it is new: run `weir migrate`", ""},
	} {
		j := was()
		x.change(&j)
		s, err := c.Job(t.Context(), j)
		switch {
		case x.refuse != "":
			if !fatalWith(err, x.refuse) {
				t.Errorf("%s: the job opens with %v, want %q", name, err, x.refuse)
			}
			if _, err := c.Migrate(t.Context(), []schema.Job{j}, migrate.Options{DryRun: true}); strings.Contains(x.refuse, "was ") != (err != nil) {
				t.Errorf("%s: it migrates with %v", name, err)
			}
		case err != nil || !strings.Contains(strings.Join(s.Notes, " "), x.note):
			t.Errorf("%s: %v, the notes are %q, want %q", name, err, s.Notes, x.note)
		}
	}
}

// TestVersions: the views show the newest version. An older one can still be opened, with a note that no view shows what
// it counts, and its migration changes no view.
func TestVersions(t *testing.T) {
	c := open(t)
	old, next := actives(), actives()
	next.Spec.Version = 2
	for i, s := range []*Sink{asking(t, c, old), asking(t, c, next)} {
		op := operator(t, s.layout.Spec, 0)
		for n := range 3 + i {
			observe(t, op, 0, int64(n), noon, click(noon, "/", n, fmt.Sprint(n)))
		}
		write(t, s, op.Take())
	}
	for range 2 {
		if got := one(t, c, "SELECT sum(hits) FROM "+c.Name("clicks_1m")); got != "(4)" {
			t.Errorf("the view counts %s, want version 2's 4", got)
		}
		if _, err := c.Migrate(t.Context(), []schema.Job{old}, migrate.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	if got := notes(t, c, old); !strings.HasPrefix(got, "job clicks: version is 1, and the database has version 2, which the views show: this process counts into the tables of version 1, which no view shows; set version to 2") || strings.Contains(got, "\n") {
		t.Errorf("the older version says %s", got)
	}
	if got := notes(t, c, next); got != "" {
		t.Errorf("the newer version says %s", got)
	}
	if others, err := migrate.Others(t.Context(), c.DB, []schema.Job{total()}); err != nil || len(others) != 1 || others[0] != "clicks (version 2)" {
		t.Errorf("other jobs: %v, %v", others, err)
	}
}
