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
	"weir/sinks/sinktest"
	"weir/window"
)

// openShards connects to shards: databases of the engine, behind addresses that know them all
// under one name.
func openShards(t *testing.T, n int) (*Client, []*door, []string) {
	t.Helper()
	var doors []*door
	var databases []string
	cfg := Config{InsertTimeout: 2 * time.Second}
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
		b.before = func(t *testing.T, l *layout) {
			if now := fmt.Sprint(l.Spec.Meaning(), len(l.measures)); made == now {
				return
			} else {
				made = now
			}
			c.wide = true
			defer func() { c.wide = false }()
			for _, v := range append(c.spread([]*layout{l}), l.views(c)[:len(l.levels)]...) { // the suite reads no others
				if err := c.exec(t.Context(), v.name, merged(v.sql, databases), queryTimeout); err != nil {
					t.Fatalf("%v\n%s", err, v.sql)
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
	inv, err := c.inventory(t.Context(), c.shards[0])
	if err != nil {
		t.Fatal(err)
	}
	c.wide = true
	d := auditData{c: c, Quiet: -3600}
	for _, r := range inv.audited(nil) {
		d.Jobs = append(d.Jobs, auditJob{c: c, r: r, levels: inv.lengths(r, []*layout{s.layout}), wide: true})
	}
	var statements []string
	for _, v := range d.views() {
		statements = append(statements, v.sql)
	}
	for _, v := range c.spread([]*layout{s.layout}) {
		statements = append([]string{merged(v.sql, databases)}, statements...)
	}
	for _, sql := range statements {
		if err := c.exec(t.Context(), "make what the audit reads", sql, queryTimeout); err != nil {
			t.Fatalf("%v\n%s", err, sql)
		}
	}
	kinds := func() (all []string) {
		err := c.query(t.Context(), "audit", "SELECT DISTINCT kind FROM "+c.name("weir_audit")+" ORDER BY kind", func(scan func(...any) error) error {
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
	c.wide = false
	found := func() string {
		a := audit.New(audit.Job{Name: "clicks", Topic: "clicks", Chunk: j.Spec.Chunk}, audit.Scope{})
		s.quiet = -time.Hour
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
		switch here := c.shards.of("clicks", group...) != 1; {
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
	if err := c.execOn(t.Context(), c.shards[2:], "lose rows", "TRUNCATE TABLE "+c.name("clicks_state"), queryTimeout); err != nil {
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
							_ = c.writeLines(t.Context(), []linesRequest{{&s.layout.Job, changes.Lines}})
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
	jobs := []Job{actives()}
	if _, err := c.Job(t.Context(), jobs[0]); !fatalWith(err, "run `weir migrate`") {
		t.Errorf("not set up: %v", err)
	}
	// The home shard cannot be reached at first, so the setting up is broken off.
	doors[0].close("read-only")
	if _, err := c.Migrate(t.Context(), jobs, Migration{}); err == nil {
		t.Error("set up without the home shard")
	}
	doors[0].open()
	if _, err := c.Migrate(t.Context(), jobs, Migration{}); err != nil {
		t.Fatal(err)
	}
	if again, err := c.Migrate(t.Context(), jobs, Migration{}); err != nil || len(again) > 0 {
		t.Errorf("a second time it runs %v, %v", again, err)
	}
	if _, err := c.Job(t.Context(), jobs[0]); err != nil {
		t.Fatal(err)
	}
	a, b, d := doors[0].url, doors[1].url, doors[2].url
	with := func(urls ...string) *Client {
		cfg := Config{Database: c.cfg.Database}
		for _, u := range urls {
			cfg.Shards = append(cfg.Shards, []string{u})
		}
		if len(urls) == 1 {
			cfg.URLs, cfg.Shards = urls, nil
		}
		return dial(t, cfg)
	}
	engine, other := localtest.Engine(t)
	single := newDoor(t, engine, c.cfg.Database, other)
	if _, err := with(single.url).Migrate(t.Context(), jobs, Migration{}); err != nil {
		t.Fatal(err)
	}
	_, empty := localtest.Engine(t)
	fresh := newDoor(t, engine, c.cfg.Database, empty)
	if _, err := with(fresh.url, b, d).Migrate(t.Context(), jobs, Migration{DryRun: true}); err != nil {
		t.Errorf("an empty home shard while no shard has a row: %v", err) // as after a setting up that was broken off
	}
	if err := c.execOn(t.Context(), shards{c.shards[2]}, "count", "INSERT INTO "+c.name("clicks_state")+" (page) VALUES ('/p')", queryTimeout); err != nil {
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
			"a migration": func() error { _, err := x.c.Migrate(t.Context(), jobs, Migration{}); return err },
		} {
			var err error
			await.Until(t, func() error { // a connection may break, and weir run tries again then
				var e *Error
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
	var e *Error
	doors[1].close("refuses")
	if _, err := c.Job(t.Context(), jobs[0]); !errors.As(err, &e) || e.Fatal() || !strings.Contains(err.Error(), "shard 2 ("+b+")") {
		t.Errorf("a shard is away: %v", err)
	}
	doors[1].open()
	await.Until(t, func() error { _, err := c.Job(t.Context(), jobs[0]); return err })

	// The database of a shard is dropped while weir runs: migrate refuses it, so no error may advise that.
	if err := c.execOn(t.Context(), shards{c.shards[1]}, "drop", "DROP DATABASE "+quote(c.cfg.Database)+" SYNC", queryTimeout); err != nil {
		t.Fatal(err)
	}
	ask := func() error {
		return c.shards[1].query(t.Context(), "count", "SELECT count() FROM "+c.name("clicks_state"), func(func(...any) error) error { return nil })
	}
	migrate := func() error {
		_, err := c.Migrate(t.Context(), jobs, Migration{})
		return err
	}
	for what, try := range map[string]func() error{"a question": ask, "a migration": migrate} {
		if err := try(); !fatalWith(err, "shard 2 ("+b+")") || !fatalWith(err, restoreIt) {
			t.Errorf("a shard's database is gone: %s says %v", what, err)
		}
	}
}
