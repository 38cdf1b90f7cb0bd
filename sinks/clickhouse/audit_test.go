package clickhouse

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/audit"
	"weir/event"
	"weir/sinks/clickhouse/migrate"
	"weir/sinks/clickhouse/schema"
	"weir/sinks/clickhouse/verify"
	"weir/sinks/clickhouse/wire"
	"weir/window"
)

// eager makes weir_audit judge the newest rows too, because no other process writes. It returns how many jobs it is of.
func eager(t *testing.T, c *Client) int {
	t.Helper()
	inv, err := migrate.Take(t.Context(), c.DB, c.Shards[0])
	if err != nil {
		t.Fatal(err)
	}
	jobs := inv.JobsOf(nil)
	for _, v := range verify.Views(c.DB, jobs, -time.Hour) {
		run(t, c, v.SQL)
	}
	return len(jobs)
}

// TestAuditView: weir_audit shows the same as Audit: nothing after a clean run, and the
// place of every damage.
func TestAuditView(t *testing.T) {
	c := open(t)
	j, other := clicks(), total()
	j.Rollups = j.Rollups[:1] // TestRepair has three
	s := full(t, c, j)
	if _, err := c.Migrate(t.Context(), []schema.Job{other}, migrate.Options{}); err != nil {
		t.Fatal(err)
	}
	if n := eager(t, c); n != 2 {
		t.Fatalf("%d jobs are audited", n)
	}

	op := operator(t, j.Spec, 0, 3)
	for p := range int32(2) {
		var docs []string
		for i := range 150 {
			docs = append(docs, click(noon+int64(i)*1000, fmt.Sprintf("/p/%d", i%2), i, fmt.Sprint(p, i)))
		}
		observe(t, op, p*3, 0, noon, docs...)
	}
	write(t, s, op.Take())
	if err := s.Rollup(t.Context(), true, 0); err != nil {
		t.Fatal(err)
	}
	view := func() []string {
		return read(t, c, "SELECT job, kind, epoch, partition, chunk, toUnixTimestamp(assumeNotNull(window_start)), groups, expected, found FROM "+c.Name("weir_audit"))
	}
	if got := view(); len(got) != 0 {
		t.Fatalf("after a clean run: %q", got)
	}
	expect := func(what string, want ...string) {
		t.Helper()
		got := strings.Join(view(), "\n")
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("%s: %s is not found in\n%s", what, w, got)
			}
		}
	}
	b := &backend{c: c}
	key := fmt.Sprintf("toDateTime(%d, 'UTC')", noon/1000)
	slot := uint64(window.MakeSlot(0, 3, 0))
	b.exec(t, fmt.Sprintf("INSERT INTO %s (page, country, window_start, hits) VALUES ('/p/0', '', %s, map(%d, 31))", c.Name("clicks_state"), key, slot))
	expect("a slot raised", "('clicks','"+audit.Excess.String()+"',0,3,0,0,'',64,65)")
	b.exec(t, "ALTER TABLE "+c.Name("clicks_state")+" DELETE WHERE page = '/p/0' AND window_start = "+key+" SETTINGS mutations_sync = 1")
	expect("a row deleted", "('clicks','"+audit.Missing.String()+"',0,3,0,0,'',64,34)", "('clicks','"+audit.Missing.String()+"',0,0,0,0,'',64,34)", fmt.Sprintf("('clicks','%v',0,0,0,%d,'/p/0 ',60,0)", audit.Lost, noon/1000))
	b.exec(t, "ALTER TABLE "+c.Name("weir_ledger")+" DELETE WHERE partition = 3 AND chunk = 1 SETTINGS mutations_sync = 1")
	expect("a line deleted", "('clicks','"+audit.Unknown.String()+"',0,3,1,0,'',0,64)", "('clicks','"+audit.Hole.String()+"',0,3,2,0,'',64,128)")
	b.exec(t, "INSERT INTO "+c.Name("weir_ledger")+" (job, version, epoch, partition, chunk, first, next, counted) VALUES ('clicks', 1, 0, 0, 2, 128, 151, 0)")
	expect("a line changed", "('clicks','"+audit.Unbalanced.String()+"',0,0,2,0,'',23,22)")

	// As a session has it in which ClickHouse takes names as MySQL does.
	all := "SELECT * FROM " + c.Name("weir_audit") + " ORDER BY ALL"
	if plain, other := read(t, c, all), read(t, c, all+" SETTINGS prefer_column_name_to_alias = 1"); !slices.Equal(plain, other) {
		t.Errorf("with prefer_column_name_to_alias it finds %q, and without %q", other, plain)
	}
}

// TestAuditFolds: the view compares the rows of folded chunks with their fold, and leaves out lines that it covers.
func TestAuditFolds(t *testing.T) {
	c := open(t)
	s := full(t, c, clicks())
	if n := eager(t, c); n != 1 {
		t.Fatalf("%d jobs are audited", n)
	}
	b, op := &backend{c: c}, operator(t, s.layout.Spec, 0)
	var docs []string
	for i := range 4*int(s.layout.Spec.Chunk) + 9 {
		docs = append(docs, click(noon+int64(i), "/p", i, fmt.Sprint(i)))
	}
	observe(t, op, 0, 0, noon, docs...)
	changes := op.Take()
	lines := func(want string, view ...string) {
		t.Helper()
		ledger := one(t, c, "SELECT groupArray((chunk, first, next, counted)) FROM (SELECT * FROM "+c.Name("weir_ledger")+" FINAL ORDER BY chunk)")
		if got := read(t, c, "SELECT kind, chunk, expected, found FROM "+c.Name("weir_audit")); ledger != "("+want+")" || !slices.Equal(got, view) {
			t.Errorf("the ledger is %s, want %s; the view has %q, want %q", ledger, want, got, view)
		}
	}
	const all, folded = "[(0,0,64,64),(1,64,128,64),(2,128,192,64),(3,192,256,64),(4,256,265,9)]", "[(0,0,256,256),(4,256,265,9)]"
	write(t, s, changes)
	if err := s.Fold(t.Context()); err != nil {
		t.Fatal(err)
	}
	lines(all) // they are too new
	s.foldAge = 0
	if err := s.Fold(t.Context()); err != nil {
		t.Fatal(err)
	}
	lines(folded)
	write(t, s, changes)
	lines("[(0,0,256,256),(1,64,128,64),(2,128,192,64),(3,192,256,64),(4,256,265,9)]")
	b.exec(t, fmt.Sprintf("INSERT INTO %s (page, country, window_start, hits) VALUES ('/p', '', toDateTime(%d, 'UTC'), map(%d, 70))", c.Name("clicks_state"), noon/1000, uint64(window.MakeSlot(0, 0, 2))))
	if err := s.Rollup(t.Context(), true, 0); err != nil {
		t.Fatal(err)
	}
	s.folded = time.Time{} // an hour ago
	if err := s.Rollup(t.Context(), false, 0); err != nil {
		t.Fatal(err)
	}
	lines(folded, "('rows in excess',0,256,262)")
}

// TestAuditWaits: the view that migrate makes does not judge rows of the last seconds,
// and finds the same damage when they are older.
func TestAuditWaits(t *testing.T) {
	c := open(t)
	s := full(t, c, clicks())
	b := &backend{c: c}
	op := operator(t, s.layout.Spec, 0)
	observe(t, op, 0, 0, noon, click(noon, "/", 1, "a"))
	changes := op.Take()
	changes.Lines = nil // a flush that was interrupted before it wrote the ledger
	count := "SELECT count() FROM " + c.Name("weir_audit")
	began := time.Now()
	write(t, s, changes)
	if got := one(t, c, count); got != "(0)" && time.Since(began) < verify.Quiet {
		t.Errorf("at once: %s", got)
	}
	b.exec(t, "TRUNCATE TABLE "+c.Name("clicks_state"))
	b.exec(t, fmt.Sprintf("ALTER TABLE %s MODIFY COLUMN flushed_at DEFAULT now() - %d", c.Name("clicks_state"), int(verify.Quiet.Seconds())))
	write(t, s, changes)
	if got := one(t, c, count); got != "(1)" {
		t.Errorf("later: %s", got)
	}
}

// TestAuditLeavesExpiredOut: chunks that began longer ago than state rows are kept are
// not compared with their rows.
func TestAuditLeavesExpiredOut(t *testing.T) {
	c := open(t)
	j := actives()
	j.Keep = time.Hour
	s := install(t, c, j)
	s.Quiet = -time.Hour
	op := operator(t, s.layout.Spec, 0)
	observe(t, op, 0, 0, noon, click(noon, "/", 1, "a"), click(noon, "/", 2, "b"))
	write(t, s, op.Take())
	b := &backend{c: c}
	b.exec(t, "TRUNCATE TABLE "+c.Name("clicks_state"))
	count := func() int { return len(findings(t, s)) }
	if n := count(); n != 1 {
		t.Errorf("%d findings, want the rows missing", n)
	}
	// The chunk's first line was written long ago.
	b.exec(t, "INSERT INTO "+c.Name("weir_ledger")+" (job, version, epoch, partition, chunk, first, began) VALUES ('clicks', 1, 0, 0, 0, 0, now() - 3000)")
	if n := count(); n != 0 {
		t.Errorf("%d findings, want none", n)
	}
}

// TestAuditAhead: the server's clock stepped back by two hours, or is behind that of another
// replica: the times of rows and lines are ahead of it. The audit and weir_audit compare them
// all the same. They say how many differ, and find which do when the clock has passed these
// times.
func TestAuditAhead(t *testing.T) {
	c := open(t)
	j := actives()
	j.Rollups = j.Rollups[:1]
	s := full(t, c, j)
	b := &backend{c: c}
	for table, column := range map[string]string{"clicks_state": "flushed_at", "weir_ledger": "flushed_at", "clicks_1m_rollup": "rolled_at"} {
		b.exec(t, fmt.Sprintf("ALTER TABLE %s MODIFY COLUMN %s DEFAULT now() + 7200", c.Name(table), column))
	}
	f := &tap{op: operator(t, s.layout.Spec, 0)}
	write(t, s, f.flow(t, 100))
	for range 2 {
		roll(t, s, true)
	}
	expect := func(what string, view string, want ...audit.Finding) {
		t.Helper()
		got := findings(t, s)
		for i := range got {
			if by := got[i].By; by > 7_000_000 && by <= 7_200_000 { // it falls as time passes
				got[i].By = 1
			}
			got[i].Offsets, got[i].Gaps = audit.Offsets{}, 0
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %+v, want %+v", what, got, want)
		}
		if got := strings.Join(read(t, c, "SELECT kind, count() FROM "+c.Name("weir_audit")+" GROUP BY kind ORDER BY kind"), " "); got != view {
			t.Errorf("%s: weir_audit has %s, want %s", what, got, view)
		}
	}
	expect("before", "")
	// A row loses its events of the second chunk.
	b.exec(t, fmt.Sprintf("ALTER TABLE %s UPDATE hits = mapFilter((k, v) -> k = 0, hits) WHERE window_start = toDateTime(%d, 'UTC') SETTINGS mutations_sync = 1", c.Name("clicks_state"), noon/1000))
	expect("damage", "('ahead',2)", audit.Finding{Class: audit.Ahead, Expected: 1, Found: 1, By: 1})
	for table, column := range map[string]string{"clicks_state": "flushed_at", "weir_ledger": "flushed_at", "clicks_1m_rollup": "rolled_at"} {
		b.exec(t, fmt.Sprintf("ALTER TABLE %s UPDATE %s = %[2]s - 7200 - 60 WHERE 1 SETTINGS mutations_sync = 1", c.Name(table), column))
	}
	expect("damage, and the clock has passed", "('rows missing',1) ('window',1)",
		audit.Finding{Class: audit.Lost, Window: noon, Length: 60_000, Group: "/p/0 ", Expected: 17, Found: 11},
		audit.Finding{Class: audit.Missing, Chunk: 1, Expected: 36, Found: 30})
}

// TestAuditMeasures: the hits of a rollup are right, and the number or the states of a
// measure are outdated, in the rollup or in the rows that it is made from. The audit finds
// each, with its level and the measure's name. A repair corrects the rollup.
func TestAuditMeasures(t *testing.T) {
	c := open(t)
	j := clicks()
	j.Rollups = j.Rollups[:2] // one of state rows, one of a rollup
	s := install(t, c, j)
	s.Quiet = -time.Hour
	b := &backend{c: c}
	f := &tap{op: operator(t, s.layout.Spec, 0)}
	tables := []string{"clicks_state", "clicks_1m_rollup", "clicks_1h_rollup"}
	keep := func(as string) {
		roll(t, s, true)
		for _, table := range tables {
			b.exec(t, "CREATE TABLE "+c.Name(as+table)+" ENGINE = MergeTree ORDER BY window_start AS SELECT * FROM "+c.Name(table)+" FINAL")
		}
	}
	write(t, s, f.flow(t, 60))
	keep("before_")
	write(t, s, f.flow(t, 90))
	keep("after_")
	roll(t, s, true) // the live tail is empty now
	// put writes a table as it is now, with some columns as they were before.
	put := func(table string, old ...string) {
		t.Helper()
		var columns, from []string
		for _, x := range s.layout.Tables() {
			if x.Name != table {
				continue
			}
			for _, col := range x.Columns {
				at := "a."
				if slices.Contains(old, col.Name) {
					at = "b."
				}
				columns, from = append(columns, wire.Quote(col.Name)), append(from, at+wire.Quote(col.Name))
			}
		}
		b.exec(t, "TRUNCATE TABLE "+c.Name(table))
		b.exec(t, "INSERT INTO "+c.Name(table)+" ("+strings.Join(columns, ", ")+") SELECT "+strings.Join(from, ", ")+" FROM "+c.Name("after_"+table)+" AS a JOIN "+c.Name("before_"+table)+" AS b USING (page, country, window_start)")
	}
	if got := findings(t, s); len(got) > 0 {
		t.Fatalf("before: %v", got)
	}
	for level, table := range tables {
		for at, columns := range [][][]string{{{"users", "seen"}, {"active"}}, {{"users", "seen"}, {"active"}}, {{"users_state", "active_state", "seen"}}}[level] {
			put(table, columns...)
			behind, lost := map[string]int{}, map[string]int{}
			got := findings(t, s)
			const day = 86_400_000 // and more than all spans that hold the events
			if at == 0 {
				if old := within(t, s, audit.Scope{Measures: noon + 3*day}); len(old) > 0 {
					t.Errorf("%s of %s, too old to be compared: %v", columns, table, old)
				}
			}
			for _, f := range got {
				if !slices.Contains(columns, f.Measure+"_state") && !slices.Contains(columns, f.Measure) {
					t.Errorf("%s of %s: %v", columns, table, f)
				}
				switch {
				case f.Class == audit.Behind && level > 0 && f.Length == event.Time(s.layout.Levels[level-1].Seconds)*1000:
					behind[f.Measure]++
				case f.Class == audit.Lost && level == 0: // of both rollups, whose states are these rows
					lost[f.Measure]++
				default:
					t.Errorf("%s of %s: %v", columns, table, f)
				}
			}
			for _, column := range columns {
				name, _, _ := strings.Cut(column, "_")
				if (level > 0) != (behind[name] > 0) || (level == 0) && lost[name] == 0 {
					t.Errorf("%s of %s is as before: found %v", column, table, got)
				}
			}
			if level == 0 {
				put(table)
			} else if _, err := s.Repair(t.Context(), 0, 0, nil); err != nil {
				t.Fatal(err)
			}
			if got := findings(t, s); len(got) > 0 {
				t.Errorf("%s of %s are mended: %v", columns, table, got)
			}
			roll(t, s, true)
			roll(t, s, true)
		}
	}
	exact(t, s, "at the end")
}
