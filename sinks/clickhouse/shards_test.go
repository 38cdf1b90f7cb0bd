//go:build prove

package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/audit"
	"weir/demo/local/localtest"
	"weir/event"
	"weir/internal/await"
	"weir/sinks/clickhouse/migrate"
	"weir/sinks/clickhouse/schema"
	"weir/sinks/clickhouse/verify"
	"weir/sinks/clickhouse/wire"
	"weir/sinks/sinktest"
	"weir/window"
)

// openShards connects to shards: databases of the engine, behind addresses that know them all
// under one name.
func openShards(t *testing.T, n int) (*Client, []*door, []string) {
	t.Helper()
	var doors []*door
	var databases []string
	cfg := wire.Config{InsertTimeout: 2 * time.Second}
	for range n {
		engine, database := localtest.Engine(t)
		if cfg.Database == "" {
			cfg.Database = database
		}
		d := newDoor(t, engine, cfg.Database, database)
		doors, databases = append(doors, d), append(databases, database)
		cfg.Shards = append(cfg.Shards, []string{d.url})
	}
	return dial(t, cfg), doors, databases
}

// TestShardsConformance: shards pass the suite that one server passes: what is written,
// rolled up, audited and repaired is that of one server. The views are those of a cluster, over
// tables of all shards. Distributed tables need servers that know each other; tables of the
// engine Merge stand for them here, which read the tables of several databases of one server.
// In make test: TestGoldenSQL, and TestConformance of one server.
func TestShardsConformance(t *testing.T) {
	long(t)
	sinktest.Run(t, func(t *testing.T) sinktest.Backend {
		c, _, databases := openShards(t, 2)
		b := &backend{c: c}
		made := ""
		b.before = func(t *testing.T, l *schema.Layout) {
			if now := fmt.Sprint(l.Spec.Meaning(), len(l.Measures)); made == now {
				return
			} else {
				made = now
			}
			c.Wide = true
			defer func() { c.Wide = false }()
			for _, v := range append(schema.SpreadViews(c.DB, []*schema.Layout{l}), l.Views(c.DB)[:len(l.Levels)]...) { // the suite reads no others
				if err := c.Exec(t.Context(), v.Name, merged(v.SQL, databases), wire.QueryTimeout); err != nil {
					t.Fatalf("%v\n%s", err, v.SQL)
				}
			}
		}
		return b
	}, "Merges", "Views", "Audit", "Repair") // the others are about tables of the home shard, and the measures
}

// TestShardsLive: live reads of shards are those of one server.
// In make test: TestGoldenSQL, and TestLive of one server.
func TestShardsLive(t *testing.T) {
	long(t)
	sinktest.RunLive(t, func(t *testing.T) sinktest.Backend {
		c, _, _ := openShards(t, 2)
		return &backend{c: c}
	}, "Selections", "Merged", "WhileWritten")
}

// merged puts a Merge table in the place of a Distributed one.
func merged(sql string, databases []string) string {
	head, tail, ok := strings.Cut(sql, "ENGINE = Distributed('', '"+databases[0]+"', '")
	if !ok {
		return sql
	}
	table, tail, _ := strings.Cut(tail, "')")
	return head + "ENGINE = Merge(REGEXP('^(" + strings.Join(databases, "|") + ")$'), '^" + table + "$')" + tail
}

// TestShardsAudit: the audit of a cluster's shards in SQL finds nothing where nothing is wrong,
// and the rows that one shard has lost.
// In make test: TestGoldenSQL, and TestAuditView of one server.
func TestShardsAudit(t *testing.T) {
	c, doors, databases := openShards(t, 3)
	engine, _ := localtest.Engine(t)
	j := actives()
	s := install(t, c, j)
	op := operator(t, j.Spec, 0)
	for i := range 200 {
		observe(t, op, 0, int64(i), noon, click(noon+int64(i)*1000, fmt.Sprint("/p/", i%40), i, fmt.Sprint(i)))
	}
	write(t, s, op.Take())
	if err := s.Rollup(t.Context(), true, noon+3_600_000); err != nil {
		t.Fatal(err)
	}
	inv, err := migrate.Take(t.Context(), c.DB, c.Shards[0])
	if err != nil {
		t.Fatal(err)
	}
	c.Wide = true
	var statements []string
	for _, v := range verify.Views(c.DB, inv.JobsOf([]*schema.Layout{s.layout}), -time.Hour) {
		statements = append(statements, v.SQL)
	}
	for _, v := range schema.SpreadViews(c.DB, []*schema.Layout{s.layout}) {
		statements = append([]string{merged(v.SQL, databases)}, statements...)
	}
	for _, sql := range statements {
		if err := c.Exec(t.Context(), "make what the audit reads", sql, wire.QueryTimeout); err != nil {
			t.Fatalf("%v\n%s", err, sql)
		}
	}
	kinds := func() (all []string) {
		err := c.Query(t.Context(), "audit", "SELECT DISTINCT kind FROM "+c.Name("weir_audit")+" ORDER BY kind", func(scan func(...any) error) error {
			var kind string
			err := scan(&kind)
			all = append(all, kind)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	if got := kinds(); len(got) > 0 {
		t.Errorf("the audit finds %v", got)
	}
	c.Wide = false
	found := func() string {
		a := audit.New(audit.Job{Name: "clicks", Topic: "clicks", Chunk: j.Spec.Chunk}, audit.Scope{})
		s.Quiet = -time.Hour
		if err := s.Audit(t.Context(), a, nil); err != nil {
			t.Fatal(err)
		}
		kinds := map[string]bool{}
		for f := range a.Findings {
			kinds[f.Class.String()] = true
		}
		return fmt.Sprint(slices.Sorted(maps.Keys(kinds)))
	}
	if got := found(); got != "[]" {
		t.Errorf("weir verify finds %s", got)
	}

	// While a shard is away, the groups of the others are answered for.
	doors[1].close("refuses")
	answered, away := 0, 0
	for i := range 40 {
		group := [][]byte{fmt.Append(nil, "/p/", i), {}}
		n, err := s.Total(t.Context(), &window.Range{From: noon, Until: noon + 3_600_000, Group: group})
		switch here := c.Shards.Of("clicks", group...) != 1; {
		case here && (err != nil || n != 5):
			t.Errorf("page %d: %d hits, want 5; %v", i, n, err)
		case here:
			answered++
		case err == nil:
			t.Errorf("page %d is on the shard that is away, and has %d hits", i, n)
		default:
			away++
		}
	}
	if answered == 0 || away == 0 {
		t.Errorf("%d pages answered, %d away: want both", answered, away)
	}
	doors[1].open()

	// A second shard has rows of the first one, too: a sum over all shards is too great.
	copied := "INSERT INTO `" + databases[1] + "`.clicks_state SELECT * FROM `" + databases[0] + "`.clicks_state"
	if _, err := localtest.Query(engine, "", copied); err != nil {
		t.Fatal(err)
	}
	if got := found(); !strings.Contains(got, "excess") {
		t.Errorf("a row is on two shards: weir verify finds %s", got)
	}
	if err := c.ExecOn(t.Context(), c.Shards[2:], "lose rows", "TRUNCATE TABLE "+c.Name("clicks_state"), wire.QueryTimeout); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(kinds()); got != "[rows missing window]" { // the rows on two shards merge
		t.Errorf("a shard has lost its rows: the audit finds %s", got)
	}
}

// TestShardsAway: whichever request of a flush is the last before a shard is away or the process
// dies, and whatever becomes of that request, no position is durable before all shards have its
// rows: the next process finds in the ledger where to go on, and in the end every count is that
// of the log. With a ledger line that does not wait for all shards, events are lost: so the test
// can fail.
// In make test: TestUnknownResult.
func TestShardsAway(t *testing.T) {
	for _, mistake := range []string{"", "the line does not wait"} {
		t.Run(mistake, func(t *testing.T) {
			c, doors, _ := openShards(t, 3)
			j := actives()
			install(t, c, j)
			r := rand.New(rand.NewPCG(3, 2))
			const events = 600
			at := event.Time(noon)
			feed := func(op *window.Operator, from, to int64) *window.Changes {
				for i := from; i < to; i++ {
					observe(t, op, 0, i, at, click(int64(at)+i*100, fmt.Sprint("/p/", i%23), int(i), fmt.Sprint(i)))
				}
				changes := op.Take()
				changes.Table.Seal()
				return changes
			}
			for life := 0; ; life++ {
				s := c.sink(plan(t, j))
				known, err := s.Known(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				next := known[0].Next
				if next == events {
					break
				}
				op, err := window.NewOperator(j.Spec)
				if err != nil {
					t.Fatal(err)
				}
				begin := next / j.Spec.Chunk * j.Spec.Chunk
				op.Start(window.Plan{Partition: 0, TopicID: [16]byte{1}, Warm: begin, Start: begin, Durable: next, Lost: begin, Cut: begin})
				from := begin
				for from < events { // until it dies
					to := min(from+1+r.Int64N(40), events)
					changes := feed(op, from, to)
					from = to
					shard, how := doors[r.IntN(3)], []string{"", "refuses", "loses answers"}[r.IntN(3)]
					if how != "" {
						shard.closeAfter(int64(r.IntN(3)), how)
					}
					ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
					err := s.Write(ctx, changes)
					cancel()
					shard.open()
					if err != nil {
						if mistake != "" {
							var lines []ledgerLine
							for _, line := range changes.Lines {
								lines = append(lines, ledgerLine{job: &s.layout.Job, Line: &line})
							}
							_ = writeLines{c}.run(t.Context(), [][]ledgerLine{lines})
						}
						break // killed: what it has in memory is gone
					}
				}
				if life > 10_000 {
					t.Fatal("no end")
				}
			}
			s := c.sink(plan(t, j))
			total, err := s.Total(t.Context(), &window.Range{From: at, Until: at + 86_400_000})
			if err != nil {
				t.Fatal(err)
			}
			if mistake == "" && total != events || mistake != "" && total == events {
				t.Errorf("%d events counted of %d", total, events)
			}
		})
	}
}

// TestShardsRefused: shards that are not those with which the database was made are refused,
// with what to do, and nothing is written.
// In make test: TestOtherDatabase.
func TestShardsRefused(t *testing.T) {
	c, doors, _ := openShards(t, 3)
	jobs := []schema.Job{actives()}
	if _, err := c.Job(t.Context(), jobs[0]); !fatalWith(err, "run `weir migrate`") {
		t.Errorf("not set up: %v", err)
	}
	// The home shard cannot be reached at first, so the setting up is broken off.
	doors[0].close("read-only")
	if _, err := c.Migrate(t.Context(), jobs, migrate.Options{}); err == nil {
		t.Error("set up without the home shard")
	}
	doors[0].open()
	if _, err := c.Migrate(t.Context(), jobs, migrate.Options{}); err != nil {
		t.Fatal(err)
	}
	if again, err := c.Migrate(t.Context(), jobs, migrate.Options{}); err != nil || len(again) > 0 {
		t.Errorf("a second time it runs %v, %v", again, err)
	}
	if _, err := c.Job(t.Context(), jobs[0]); err != nil {
		t.Fatal(err)
	}
	a, b, d := doors[0].url, doors[1].url, doors[2].url
	with := func(urls ...string) *Client {
		cfg := wire.Config{Database: c.Config.Database}
		for _, u := range urls {
			cfg.Shards = append(cfg.Shards, []string{u})
		}
		if len(urls) == 1 {
			cfg.URLs, cfg.Shards = urls, nil
		}
		return dial(t, cfg)
	}
	engine, other := localtest.Engine(t)
	single := newDoor(t, engine, c.Config.Database, other)
	if _, err := with(single.url).Migrate(t.Context(), jobs, migrate.Options{}); err != nil {
		t.Fatal(err)
	}
	_, empty := localtest.Engine(t)
	fresh := newDoor(t, engine, c.Config.Database, empty)
	if _, err := with(fresh.url, b, d).Migrate(t.Context(), jobs, migrate.Options{DryRun: true}); err != nil {
		t.Errorf("an empty home shard while no shard has a row: %v", err) // as after a setting up that was broken off
	}
	if err := c.ExecOn(t.Context(), wire.Shards{c.Shards[2]}, "count", "INSERT INTO "+c.Name("clicks_state")+" (page) VALUES ('/p')", wire.QueryTimeout); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		what string
		c    *Client
		says string
	}{
		{"another order", with(b, a, d), "stay as they were"},
		{"fewer", with(a, b), "the database has 3 shards, and clickhouse.shards has 2"},
		{"one of them as a single server", with(a), "list all of them in clickhouse.shards"},
		{"another one of them as a single server", with(b), "list all of them in clickhouse.shards"},
		{"an existing database as a shard", with(a, b, single.url), "does not spread its rows"},
		{"an existing database as the home shard", with(single.url, fresh.url), "does not spread its rows"},
		{"an empty server in the place of one", with(a, fresh.url, d), "its rows are gone"},
		{"an empty server in the place of the home shard", with(fresh.url, b, d), "its ledger and its rows are gone"},
	} {
		for from, try := range map[string]func() error{
			"a run":       func() error { _, err := x.c.Job(t.Context(), jobs[0]); return err },
			"a migration": func() error { _, err := x.c.Migrate(t.Context(), jobs, migrate.Options{}); return err },
		} {
			var err error
			await.Until(t, func() error { // a connection may break, and weir run tries again then
				var e *wire.Error
				if err = try(); errors.As(err, &e) && !e.Fatal() {
					return err
				}
				return nil
			})
			if !fatalWith(err, x.says) {
				t.Errorf("%s: %s says %v, want %q", x.what, from, err, x.says)
			}
		}
	}
	var e *wire.Error
	doors[1].close("refuses")
	if _, err := c.Job(t.Context(), jobs[0]); !errors.As(err, &e) || e.Fatal() || !strings.Contains(err.Error(), "shard 2 ("+b+")") {
		t.Errorf("a shard is away: %v", err)
	}
	doors[1].open()
	await.Until(t, func() error { _, err := c.Job(t.Context(), jobs[0]); return err })

	// The database of a shard is dropped while weir runs: migrate refuses it, so no error may advise that.
	if err := c.ExecOn(t.Context(), wire.Shards{c.Shards[1]}, "drop", "DROP DATABASE "+wire.Quote(c.Config.Database)+" SYNC", wire.QueryTimeout); err != nil {
		t.Fatal(err)
	}
	ask := func() error {
		return wire.Shards{c.Shards[1]}.Query(t.Context(), "count", "SELECT count() FROM "+c.Name("clicks_state"), func(func(...any) error) error { return nil })
	}
	again := func() error {
		_, err := c.Migrate(t.Context(), jobs, migrate.Options{})
		return err
	}
	for what, try := range map[string]func() error{"a question": ask, "a migration": again} {
		if err := try(); !fatalWith(err, "shard 2 ("+b+")") || !fatalWith(err, "restore it; or begin a new clickhouse.database") {
			t.Errorf("a shard's database is gone: %s says %v", what, err)
		}
	}
}
