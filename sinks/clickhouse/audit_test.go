package clickhouse

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/audit"
	"weir/event"
	"weir/window"
)

// TestAuditView: weir_audit shows the same as Audit: nothing after a clean run, and the
// place of every damage.
func TestAuditView(t *testing.T) {
	c := open(t)
	j, other := clicks(), total()
	j.Rollups = j.Rollups[:1] // TestRepair has three
	s := install(t, c, j)
	if _, err := c.Migrate(t.Context(), []Job{other}, Migration{}); err != nil {
		t.Fatal(err)
	}
	// The view judges the newest rows too, because no other process writes.
	inv, err := c.inventory(t.Context(), c.shards[0])
	if err != nil {
		t.Fatal(err)
	}
	d := auditData{c: c, Quiet: -3600}
	for _, r := range inv.audited(nil) {
		d.Jobs = append(d.Jobs, auditJob{c: c, r: r, levels: inv.lengths(r, nil)})
	}
	if len(d.Jobs) != 2 {
		t.Fatalf("%d jobs are audited", len(d.Jobs))
	}
	b := &backend{c: c}
	for _, v := range d.views() {
		b.exec(t, v.sql)
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
		return read(t, c, "SELECT job, kind, epoch, partition, chunk, toUnixTimestamp(assumeNotNull(window_start)), groups, expected, found FROM "+c.name("weir_audit"))
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
	key := fmt.Sprintf("toDateTime(%d, 'UTC')", noon/1000)
	slot := uint64(window.MakeSlot(0, 3, 0))
	b.exec(t, fmt.Sprintf("INSERT INTO %s (page, country, window_start, hits) VALUES ('/p/0', '', %s, map(%d, 31))", c.name("clicks_state"), key, slot))
	expect("a slot raised", "('clicks','"+audit.Excess.String()+"',0,3,0,0,'',64,65)")
	b.exec(t, "ALTER TABLE "+c.name("clicks_state")+" DELETE WHERE page = '/p/0' AND window_start = "+key+" SETTINGS mutations_sync = 1")
	expect("a row deleted", "('clicks','"+audit.Missing.String()+"',0,3,0,0,'',64,34)", "('clicks','"+audit.Missing.String()+"',0,0,0,0,'',64,34)", fmt.Sprintf("('clicks','%v',0,0,0,%d,'/p/0 ',60,0)", audit.Lost, noon/1000))
	b.exec(t, "ALTER TABLE "+c.name("weir_ledger")+" DELETE WHERE partition = 3 AND chunk = 1 SETTINGS mutations_sync = 1")
	expect("a line deleted", "('clicks','"+audit.Unknown.String()+"',0,3,1,0,'',0,64)", "('clicks','"+audit.Hole.String()+"',0,3,2,0,'',64,128)")
	b.exec(t, "INSERT INTO "+c.name("weir_ledger")+" (job, version, epoch, partition, chunk, first, next, counted) VALUES ('clicks', 1, 0, 0, 2, 128, 151, 0)")
	expect("a line changed", "('clicks','"+audit.Unbalanced.String()+"',0,0,2,0,'',23,22)")

	// As a session has it in which ClickHouse takes names as MySQL does.
	all := "SELECT * FROM " + c.name("weir_audit") + " ORDER BY ALL"
	if plain, other := read(t, c, all), read(t, c, all+" SETTINGS prefer_column_name_to_alias = 1"); !slices.Equal(plain, other) {
		t.Errorf("with prefer_column_name_to_alias it finds %q, and without %q", other, plain)
	}
}

// TestAuditViewOfRemovedRollup: a rollup that is in no configuration any more gets nothing new,
// so weir_audit compares the longer one with the shorter one that it is made from now, also
// after a migration of another job.
func TestAuditViewOfRemovedRollup(t *testing.T) {
	c := open(t)
	j := actives()
	j.Rollups = []Rollup{{Window: time.Minute}, {Window: time.Hour}, {Window: 24 * time.Hour}}
	f := &tap{op: operator(t, j.Spec, 0)}
	count := func() {
		s := install(t, c, j)
		write(t, s, f.flow(t, 60))
		for range 2 {
			roll(t, s, true)
		}
		for _, v := range []string{"1m", "1h"} { // the view judges what is older than seconds
			run(t, c, "ALTER TABLE "+c.name("clicks_"+v+"_rollup")+" UPDATE rolled_at = rolled_at - 60 WHERE 1 SETTINGS mutations_sync = 1")
		}
	}
	count()
	j.Rollups = slices.Delete(j.Rollups, 1, 2)
	count()
	expect := func(what, want string) {
		t.Helper()
		if got := one(t, c, "SELECT groupUniqArray((kind, detail LIKE '%clicks_1d_rollup%')) FROM "+c.name("weir_audit")); got != want {
			t.Errorf("%s: the view finds %s, want %s", what, got, want)
		}
	}
	expect("1h is removed", "([])")
	if _, err := c.Migrate(t.Context(), []Job{total()}, Migration{}); err != nil {
		t.Fatal(err)
	}
	expect("another job is migrated", "([])")
	run(t, c, "ALTER TABLE "+c.name("clicks_1m_rollup")+" UPDATE hits = hits - 1 WHERE 1 SETTINGS mutations_sync = 1")
	expect("rows are changed", "([('rollup',0),('window',1)])")
}

// TestAuditWaits: the view that migrate makes does not judge rows of the last seconds,
// and finds the same damage when they are older.
func TestAuditWaits(t *testing.T) {
	c := open(t)
	s := install(t, c, clicks())
	b := &backend{c: c}
	op := operator(t, s.layout.Spec, 0)
	observe(t, op, 0, 0, noon, click(noon, "/", 1, "a"))
	changes := op.Take()
	changes.Lines = nil // a flush that was interrupted before it wrote the ledger
	count := "SELECT count() FROM " + c.name("weir_audit")
	began := time.Now()
	write(t, s, changes)
	if got := one(t, c, count); got != "(0)" && time.Since(began) < quiet {
		t.Errorf("at once: %s", got)
	}
	b.exec(t, "TRUNCATE TABLE "+c.name("clicks_state"))
	b.exec(t, fmt.Sprintf("ALTER TABLE %s MODIFY COLUMN flushed_at DEFAULT now() - %d", c.name("clicks_state"), int(quiet.Seconds())))
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
	s := unasked(t, c, j)
	s.quiet = -time.Hour
	op := operator(t, s.layout.Spec, 0)
	observe(t, op, 0, 0, noon, click(noon, "/", 1, "a"), click(noon, "/", 2, "b"))
	write(t, s, op.Take())
	b := &backend{c: c}
	b.exec(t, "TRUNCATE TABLE "+c.name("clicks_state"))
	count := func() int { return len(findings(t, s)) }
	if n := count(); n != 1 {
		t.Errorf("%d findings, want the rows missing", n)
	}
	// The chunk's first line was written long ago.
	b.exec(t, "INSERT INTO "+c.name("weir_ledger")+" (job, version, epoch, partition, chunk, first, began) VALUES ('clicks', 1, 0, 0, 0, 0, now() - 3000)")
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
	s := install(t, c, j)
	b := &backend{c: c}
	for table, column := range map[string]string{"clicks_state": "flushed_at", "weir_ledger": "flushed_at", "clicks_1m_rollup": "rolled_at"} {
		b.exec(t, fmt.Sprintf("ALTER TABLE %s MODIFY COLUMN %s DEFAULT now() + 7200", c.name(table), column))
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
		if got := strings.Join(read(t, c, "SELECT kind, count() FROM "+c.name("weir_audit")+" GROUP BY kind ORDER BY kind"), " "); got != view {
			t.Errorf("%s: weir_audit has %s, want %s", what, got, view)
		}
	}
	expect("before", "")
	// A row loses its events of the second chunk.
	b.exec(t, fmt.Sprintf("ALTER TABLE %s UPDATE hits = mapFilter((k, v) -> k = 0, hits) WHERE window_start = toDateTime(%d, 'UTC') SETTINGS mutations_sync = 1", c.name("clicks_state"), noon/1000))
	expect("damage", "('ahead',2)", audit.Finding{Kind: audit.Ahead, Expected: 1, Found: 1, By: 1})
	for table, column := range map[string]string{"clicks_state": "flushed_at", "weir_ledger": "flushed_at", "clicks_1m_rollup": "rolled_at"} {
		b.exec(t, fmt.Sprintf("ALTER TABLE %s UPDATE %s = %[2]s - 7200 - 60 WHERE 1 SETTINGS mutations_sync = 1", c.name(table), column))
	}
	expect("damage, and the clock has passed", "('rows missing',1) ('window',1)",
		audit.Finding{Kind: audit.Lost, Window: noon, Length: 60_000, Group: "/p/0 ", Expected: 17, Found: 11},
		audit.Finding{Kind: audit.Missing, Chunk: 1, Expected: 36, Found: 30})
}

// TestAuditLags: on a replica that lacks the newest rows, or their ledger lines, the audit
// finds what is missing; when the replica has caught up, it finds nothing.
func TestAuditLags(t *testing.T) {
	c := open(t)
	j := actives()
	j.Rollups = j.Rollups[:1]
	s := unasked(t, c, j)
	s.quiet = -time.Hour
	op := operator(t, s.layout.Spec, 0)
	observe(t, op, 0, 0, noon, click(noon, "/", 1, "a"), click(noon, "/", 2, "b"))
	write(t, s, op.Take())
	b := &backend{c: c}
	if got := findings(t, s); len(got) != 0 {
		t.Fatalf("before: %v", got)
	}
	for _, lag := range []struct {
		table string
		want  audit.Kind
	}{{"clicks_state", audit.Missing}, {"weir_ledger", audit.Unknown}} {
		part := one(t, c, "SELECT name FROM system.parts WHERE active AND database = '"+c.cfg.Database+"' AND table = '"+lag.table+"' ORDER BY name DESC LIMIT 1")
		part = strings.Trim(part, "()'")
		b.exec(t, "ALTER TABLE "+c.name(lag.table)+" DETACH PART '"+part+"'")
		got := findings(t, s)
		if len(got) != 1 || got[0].Kind != lag.want || got[0].Partition != 0 || got[0].Chunk != 0 {
			t.Errorf("%s lags: %+v", lag.table, got)
		}
		b.exec(t, "ALTER TABLE "+c.name(lag.table)+" ATTACH PART '"+part+"'")
		if got := findings(t, s); len(got) != 0 {
			t.Errorf("%s has caught up: %v", lag.table, got)
		}
	}
}

// TestAuditMeasures: the hits of a rollup are right, and the number or the states of a
// measure are outdated, in the rollup or in the rows that it is made from. The audit finds
// each, with its level and the measure's name. A repair corrects the rollup.
func TestAuditMeasures(t *testing.T) {
	c := open(t)
	j := clicks()
	j.Rollups = j.Rollups[:2] // one of state rows, one of a rollup
	s := unasked(t, c, j)
	s.quiet = -time.Hour
	b := &backend{c: c}
	f := &tap{op: operator(t, s.layout.Spec, 0)}
	tables := []string{"clicks_state", "clicks_1m_rollup", "clicks_1h_rollup"}
	keep := func(as string) {
		roll(t, s, true)
		for _, table := range tables {
			b.exec(t, "CREATE TABLE "+c.name(as+table)+" ENGINE = MergeTree ORDER BY window_start AS SELECT * FROM "+c.name(table)+" FINAL")
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
		for _, x := range s.layout.tables() {
			if x.name != table {
				continue
			}
			for _, col := range x.columns {
				at := "a."
				if slices.Contains(old, col.name) {
					at = "b."
				}
				columns, from = append(columns, quote(col.name)), append(from, at+quote(col.name))
			}
		}
		b.exec(t, "TRUNCATE TABLE "+c.name(table))
		b.exec(t, "INSERT INTO "+c.name(table)+" ("+strings.Join(columns, ", ")+") SELECT "+strings.Join(from, ", ")+" FROM "+c.name("after_"+table)+" AS a JOIN "+c.name("before_"+table)+" AS b USING (page, country, window_start)")
	}
	if got := findings(t, s); len(got) > 0 {
		t.Fatalf("before: %v", got)
	}
	for level, table := range tables {
		for at, columns := range [][][]string{{{"users", "seen"}, {"active"}}, {{"users_state", "active_state"}, {"users", "seen_state"}}, {{"users_state", "active_state", "seen"}}}[level] {
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
				state := slices.Contains(columns, f.Measure+"_state")
				if !state && !slices.Contains(columns, f.Measure) {
					t.Errorf("%s of %s: %v", columns, table, f)
				}
				switch {
				case f.Kind == audit.Behind && level > 0 && f.Length == event.Time(s.layout.levels[level-1].seconds)*1000:
					behind[f.Measure]++
				case f.Kind == audit.Lost && state == (level > 0) && level < 2 && f.Length == event.Time(s.layout.levels[level].seconds)*1000:
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

// TestAuditForgotten: if the states of sets have expired, in a rollup or in the rows that
// it is made from, they are not compared; their numbers are.
func TestAuditForgotten(t *testing.T) {
	c := open(t)
	j := clicks()
	j.Rollups = j.Rollups[:2]
	s := unasked(t, c, j)
	s.quiet = -time.Hour
	b := &backend{c: c}
	f := &tap{op: operator(t, s.layout.Spec, 0)}
	write(t, s, f.flow(t, 60))
	for range 2 {
		roll(t, s, true)
	}
	forget := func(table string) {
		b.exec(t, "ALTER TABLE "+c.name(table)+" UPDATE active_state = bitmapBuild(CAST([], 'Array(UInt32)')), seen_state = bitmapBuild(CAST([], 'Array(UInt32)')) WHERE 1 SETTINGS mutations_sync = 1")
	}
	age := func(table string) {
		b.exec(t, "ALTER TABLE "+c.name(table)+" UPDATE rolled_at = rolled_at - 31 * 86400 WHERE 1 SETTINGS mutations_sync = 1")
	}
	forget("clicks_1h_rollup")
	if got := findings(t, s); len(got) == 0 {
		t.Error("states that are gone too early are not found")
	}
	age("clicks_1h_rollup")
	if got := findings(t, s); len(got) > 0 {
		t.Errorf("states of 1h let go: %v", got)
	}
	forget("clicks_1m_rollup")
	age("clicks_1m_rollup")
	if got := findings(t, s); len(got) > 0 {
		t.Errorf("states of 1m let go: %v", got)
	}
	b.exec(t, "ALTER TABLE "+c.name("clicks_1m_rollup")+" UPDATE active = active - 1 WHERE 1 SETTINGS mutations_sync = 1")
	if got := findings(t, s); len(got) == 0 || got[0].Measure != "active" || got[0].Kind != audit.Behind {
		t.Errorf("a number is too small: %v", got)
	}
}

// TestAuditShorterRollup: windows that were rolled up before there was a shorter rollup are no damage to it.
func TestAuditShorterRollup(t *testing.T) {
	c := open(t)
	j, more := actives(), actives()
	j.Rollups = more.Rollups[1:]
	s := unaudited(t, c, j)
	op := operator(t, j.Spec, 0)
	observe(t, op, 0, 0, noon, click(noon, "/", 1, "a"), click(noon, "/", 2, "b"))
	write(t, s, op.Take())
	if err := s.Rollup(t.Context(), true, 0); err != nil {
		t.Fatal(err)
	}
	run(t, c, "TRUNCATE TABLE "+c.name("clicks_state"))
	run(t, c, "TRUNCATE TABLE "+c.name("weir_ledger"))
	if _, err := c.Migrate(t.Context(), []Job{more}, Migration{}); err != nil {
		t.Fatal(err)
	}
	s, err := c.Job(t.Context(), more)
	if err != nil {
		t.Fatal(err)
	}
	found := func() (n int) {
		t.Helper()
		a := audit.New(audit.Job{Name: "clicks", Topic: "clicks", Chunk: j.Spec.Chunk}, audit.Scope{From: 1})
		if err := s.Audit(t.Context(), a, nil); err != nil {
			t.Fatal(err)
		}
		for range a.Findings {
			n++
		}
		return n
	}
	made := func(at string) {
		t.Helper()
		run(t, c, "ALTER TABLE "+c.name("clicks_1h_rollup")+" UPDATE rolled_at = now() "+at+" WHERE 1 SETTINGS mutations_sync = 2")
	}
	made("- INTERVAL 1 DAY")
	if n := found(); n != 0 {
		t.Errorf("%d findings in windows from before the shorter rollup", n)
	}
	made("+ INTERVAL 1 SECOND")
	if n := found(); n != 1 {
		t.Errorf("%d findings in windows whose rows are gone", n)
	}
}

// TestAuditFirstAndLast: windows that begin at the first second of DateTime, or end after its last one, are
// judged in each rollup, and repaired.
func TestAuditFirstAndLast(t *testing.T) {
	c := open(t)
	j := actives()
	s := unaudited(t, c, j)
	s.quiet = -time.Hour
	op := operator(t, j.Spec, 0)
	const last = event.Time(math.MaxUint32) * 1000
	observe(t, op, 0, 0, 0, click(0, "/", 1, "a"))
	observe(t, op, 0, 1, last, click(int64(last), "/", 2, "b"))
	write(t, s, op.Take())
	if err := s.Rollup(t.Context(), true, 0); err != nil {
		t.Fatal(err)
	}
	if got := findings(t, s); len(got) > 0 {
		t.Fatalf("before damage: %v", got)
	}
	for i := len(j.Rollups) - 1; i >= 0; i-- {
		run(t, c, "TRUNCATE TABLE "+c.name(s.layout.levels[i].table))
		behind := map[event.Time]bool{} // longer rollups hold more than this one, too
		for _, f := range findings(t, s) {
			if f.Kind == audit.Behind {
				behind[f.Window] = true
			}
		}
		if len(behind) != 2 || !behind[0] {
			t.Errorf("%s is emptied: found are %v", s.layout.levels[i].table, behind)
		}
		if _, err := s.Repair(t.Context(), 0, 0, nil); err != nil {
			t.Fatal(err)
		}
		if err := s.Rollup(t.Context(), true, 0); err != nil {
			t.Fatal(err)
		}
		if got := findings(t, s); len(got) > 0 {
			t.Errorf("%s is repaired: %v", s.layout.levels[i].table, got)
		}
		if got := one(t, c, "SELECT count(), sum(hits) FROM "+c.name(s.layout.levels[i].table)+" FINAL"); got != "(2,2)" {
			t.Errorf("%s is repaired: rows and hits are %s", s.layout.levels[i].table, got)
		}
	}
}

// TestAuditNew: what is missing of new rows and lines is not judged, and counted.
func TestAuditNew(t *testing.T) {
	c := open(t)
	j := actives()
	s := unasked(t, c, j)
	op := operator(t, j.Spec, 0, 1)
	for p := range int32(2) {
		observe(t, op, p, 0, noon, click(noon, "/", 1, "a"), click(noon, "/", 2, "b"))
	}
	write(t, s, op.Take())
	look := func(quiet time.Duration) (findings, unjudged int) {
		s.quiet = quiet
		a := audit.New(audit.Job{Name: "clicks", Topic: "clicks", Chunk: j.Spec.Chunk}, audit.Scope{})
		if err := s.Audit(t.Context(), a, nil); err != nil {
			t.Fatal(err)
		}
		for range a.Findings {
			findings++
		}
		return findings, a.Unjudged()
	}
	for _, lost := range []bool{false, true} {
		want := 0
		if lost {
			run(t, c, "TRUNCATE TABLE "+c.name("clicks_state"))
			want = 2
		}
		if findings, unjudged := look(time.Hour); findings != 0 || unjudged != want {
			t.Errorf("rows are gone: %t; of new ones %d findings and %d chunks not judged, want none and %d", lost, findings, unjudged, want)
		}
		if findings, unjudged := look(-time.Hour); findings != want || unjudged != 0 {
			t.Errorf("rows are gone: %t; of old ones %d findings and %d chunks not judged, want %d and none", lost, findings, unjudged, want)
		}
	}
}
