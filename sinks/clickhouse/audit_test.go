package clickhouse

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"weir/internal/await"
	"weir/window"
)

// TestAuditView: weir_audit says the same as Audit, for everybody who has
// only SQL: nothing after a clean run, and the place of every damage.
func TestAuditView(t *testing.T) {
	c := open(t)
	j, other := clicks(), total()
	s := install(t, c, j)
	if _, err := c.Migrate(t.Context(), []Job{other}, Migration{}); err != nil {
		t.Fatal(err)
	}
	// The view with nothing left out: the test is alone.
	inv, err := c.inventory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d := auditData{c: c, Quiet: -3600}
	for _, r := range inv.audited(nil) {
		d.Jobs = append(d.Jobs, auditJob{c, r, inv.lengths(r, nil)})
	}
	if len(d.Jobs) != 2 {
		t.Fatalf("%d jobs are audited", len(d.Jobs))
	}
	b := &backend{c}
	b.exec(t, render("audit", d))

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
	expect("a slot raised", "('clicks','rows in excess',0,3,0,0,'',64,65)")
	b.exec(t, "ALTER TABLE "+c.name("clicks_state")+" DELETE WHERE page = '/p/0' AND window_start = "+key+" SETTINGS mutations_sync = 1")
	expect("a row deleted", "('clicks','rows missing',0,3,0,0,'',64,34)", "('clicks','rows missing',0,0,0,0,'',64,34)", fmt.Sprintf("('clicks','window',0,0,0,%d,'/p/0 ',60,0)", noon/1000))
	b.exec(t, "ALTER TABLE "+c.name("weir_ledger")+" DELETE WHERE partition = 3 AND chunk = 1 SETTINGS mutations_sync = 1")
	expect("a line deleted", "('clicks','no line',0,3,1,0,'',0,64)", "('clicks','hole',0,3,2,0,'',64,128)")
	b.exec(t, "INSERT INTO "+c.name("weir_ledger")+" (job, version, epoch, partition, chunk, first, next, counted) VALUES ('clicks', 1, 0, 0, 2, 128, 151, 0)")
	expect("a line changed", "('clicks','fates',0,0,2,0,'',23,22)")
}

// TestAuditWaits: the view that migrate makes leaves out what was just
// written, and finds the same damage a little later.
func TestAuditWaits(t *testing.T) {
	c := open(t)
	s := install(t, c, clicks())
	op := operator(t, s.layout.Spec, 0)
	observe(t, op, 0, 0, noon, click(noon, "/", 1, "a"))
	changes := op.Take()
	changes.Lines = nil // a flush that was broken off before the ledger
	write(t, s, changes)
	count := "SELECT count() FROM " + c.name("weir_audit")
	if got := one(t, c, count); got != "(0)" {
		t.Errorf("at once: %s", got)
	}
	await.Until(t, func() error {
		if got := one(t, c, count); got != "(1)" {
			return fmt.Errorf("found %s", got)
		}
		return nil
	})
}

// TestAuditLeavesExpiredOut: chunks that began longer ago than state rows are
// kept are not held against their rows.
func TestAuditLeavesExpiredOut(t *testing.T) {
	c := open(t)
	j := clicks()
	j.Keep = time.Hour
	s := install(t, c, j)
	s.quiet = -time.Hour
	op := operator(t, s.layout.Spec, 0)
	observe(t, op, 0, 0, noon, click(noon, "/", 1, "a"), click(noon, "/", 2, "b"))
	write(t, s, op.Take())
	b := &backend{c}
	b.exec(t, "TRUNCATE TABLE "+c.name("clicks_state"))
	count := func() (n int) {
		_, err := s.Audit(t.Context(), 0, 0, func(window.Finding) error { n++; return nil }, nil)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := count(); n != 1 {
		t.Errorf("%d findings, want the rows missing", n)
	}
	// The chunk's first line was written long ago.
	b.exec(t, "INSERT INTO "+c.name("weir_ledger")+" (job, version, epoch, partition, chunk, first, began) VALUES ('clicks', 1, 0, 0, 0, 0, now() - 3000)")
	if n := count(); n != 0 {
		t.Errorf("%d findings, want none", n)
	}
}

// TestAuditLags: a replica that does not have the newest rows yet, or their
// ledger lines, shows findings that name what is missing and say so; once it
// has caught up there are none.
func TestAuditLags(t *testing.T) {
	c := open(t)
	s := install(t, c, clicks())
	s.quiet = -time.Hour
	op := operator(t, s.layout.Spec, 0)
	observe(t, op, 0, 0, noon, click(noon, "/", 1, "a"), click(noon, "/", 2, "b"))
	write(t, s, op.Take())
	b := &backend{c}
	audit := func() (all []window.Finding) {
		t.Helper()
		_, err := s.Audit(t.Context(), 0, 0, func(f window.Finding) error { all = append(all, f); return nil }, nil)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	if got := audit(); len(got) != 0 {
		t.Fatalf("before: %v", got)
	}
	for _, lag := range []struct {
		table string
		want  window.Misfit
	}{{"clicks_state", window.Missing}, {"weir_ledger", window.Unknown}} {
		part := one(t, c, "SELECT name FROM system.parts WHERE active AND database = '"+c.cfg.Database+"' AND table = '"+lag.table+"' ORDER BY name DESC LIMIT 1")
		part = strings.Trim(part, "()'")
		b.exec(t, "ALTER TABLE "+c.name(lag.table)+" DETACH PART '"+part+"'")
		got := audit()
		if len(got) != 1 || got[0].Misfit != lag.want || got[0].Partition != 0 || got[0].Chunk != 0 {
			t.Errorf("%s lags: %v", lag.table, got)
		} else if advice := got[0].Advice(); !strings.Contains(advice, "on a replica that lags, ask again when it has caught up") {
			t.Errorf("%s lags: the advice is %q", lag.table, advice)
		}
		b.exec(t, "ALTER TABLE "+c.name(lag.table)+" ATTACH PART '"+part+"'")
		if got := audit(); len(got) != 0 {
			t.Errorf("%s has caught up: %v", lag.table, got)
		}
	}
}
