package clickhouse

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/audit"
	"weir/event"
	"weir/sinks/clickhouse/schema"
)

func findings(t *testing.T, s *Sink) (all []audit.Finding) {
	t.Helper()
	return within(t, s, audit.Scope{})
}

func within(t *testing.T, s *Sink, scope audit.Scope) (all []audit.Finding) {
	t.Helper()
	return slices.Collect(audited(t, s, scope).Findings)
}

func audited(t *testing.T, s *Sink, scope audit.Scope) *audit.Audit {
	t.Helper()
	a := audit.New(audit.Job{Chunk: s.layout.Spec.Chunk}, scope)
	if err := s.Audit(t.Context(), a, nil); err != nil {
		t.Fatal(err)
	}
	return a
}

// TestRepair: three levels, with windows whose length does not divide a day, are emptied
// one after the other. Audit and weir_audit find that, and Repair makes the windows of a
// range again. It leaves windows whose rows are gone as they are.
func TestRepair(t *testing.T) {
	c := open(t)
	j := clicks()
	j.Keep = ages
	j.Spec.Measures = j.Spec.Measures[1:3] // TestAuditMeasures has the rest
	j.Rollups = []schema.Rollup{{Window: 7 * time.Minute}, {Window: 35 * time.Minute}, {Window: 7 * 24 * time.Hour}}
	s := full(t, c, j)
	b := &backend{c: c}
	f := &tap{op: operator(t, s.layout.Spec, 0), minute: true}
	write(t, s, f.flow(t, 100))
	roll(t, s, true)
	roll(t, s, true)
	s.Quiet = -time.Hour
	if got := findings(t, s); len(got) > 0 {
		t.Fatalf("after a clean run: %+v", got)
	}
	views := []string{"clicks_7m", "clicks_35m", "clicks_7d"}
	show := func() (all []string) {
		for _, v := range views {
			all = append(all, read(t, c, "SELECT page, toUnixTimestamp(window_start) AS w, hits, active, seen FROM "+c.Name(v)+" ORDER BY page, w")...)
		}
		return all
	}
	want := show()
	for i, v := range views {
		roll(t, s, true) // the audit does not judge rows that a repair has just made until the next rollup
		b.exec(t, "TRUNCATE TABLE "+c.Name(v+"_rollup"))
		behind := 0
		for _, f := range findings(t, s) {
			if f.Class == audit.Behind && f.Length == event.Time(s.layout.Levels[i].Seconds)*1000 {
				behind++
			}
		}
		if n := fmt.Sprintf("(%d)", behind); behind == 0 || one(t, c, "SELECT count() FROM "+c.Name("weir_audit")+" WHERE kind = 'rollup' AND detail LIKE '"+v+"_rollup%'") != n {
			t.Errorf("%s emptied: %d findings, the view has %v", v, behind, read(t, c, "SELECT * FROM "+c.Name("weir_audit")))
		}
		if i == 0 { // repair one half first
			half := event.Time(noon + 50*60_000)
			done, err := s.Repair(t.Context(), 0, half, nil)
			if err != nil || done[0].Made != 8 || done[1].Made == 0 || done[2].Made != 1 {
				t.Errorf("half repaired: %+v, %v", done, err)
			}
			for _, f := range findings(t, s) {
				if f.Class == audit.Behind && f.Window < half {
					t.Errorf("half repaired: %+v", f)
				}
			}
		}
		if _, err := s.Repair(t.Context(), 0, 0, nil); err != nil {
			t.Fatal(err)
		}
		if got := show(); !slices.Equal(got, want) {
			t.Errorf("%s repaired:\n got %q\nwant %q", v, got, want)
		}
		if got := findings(t, s); len(got) > 0 {
			t.Errorf("%s repaired: %+v", v, got)
		}
	}
	// State rows are gone, by their TTL or by hand: the rollups stay as they are.
	b.exec(t, "ALTER TABLE "+c.Name("clicks_state")+fmt.Sprintf(" DELETE WHERE window_start < toDateTime(%d, 'UTC') SETTINGS mutations_sync = 1", noon/1000+30*60))
	done, err := s.Repair(t.Context(), 0, 0, nil)
	if err != nil || done[0].Left == 0 || done[0].Made == 0 || done[1].Left != 0 {
		t.Errorf("repaired without some state rows: %+v, %v", done, err)
	}
	if got := show(); !slices.Equal(got, want) {
		t.Errorf("repaired without some state rows:\n got %q\nwant %q", got, want)
	}
}

// TestAuditTail: a rollup is not behind because of windows in the live tail, or windows
// that its own keep has removed.
func TestAuditTail(t *testing.T) {
	c := open(t)
	j := actives()
	j.Rollups[0].Keep = 24 * time.Hour
	s := install(t, c, j)
	s.Quiet = -time.Hour
	f := &tap{op: operator(t, s.layout.Spec, 0)}
	write(t, s, f.flow(t, 6))
	if got := findings(t, s); len(got) > 0 {
		t.Errorf("before a rollup: %+v", got)
	}
	roll(t, s, true)
	(&backend{c: c}).exec(t, "TRUNCATE TABLE "+c.Name("clicks_1m_rollup"))
	var kinds []string
	for _, f := range findings(t, s) {
		kinds = append(kinds, f.Class.String())
	}
	if got := strings.Join(kinds, " "); strings.Contains(got, "rollup") {
		t.Errorf("windows of before the rollup's keep: %s", got)
	}
}
