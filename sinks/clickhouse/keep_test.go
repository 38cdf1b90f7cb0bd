package clickhouse

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"weir/audit"
	"weir/event"
	"weir/sinks/clickhouse/migrate"
	"weir/sinks/clickhouse/schema"
	"weir/sinks/clickhouse/wire"
)

// TestExpiredUncounted: events of which the state rows expired before they were rolled up, or before the
// rest of their window was counted, are in no view. The audit notes how many, if a rollup is kept for ever.
func TestExpiredUncounted(t *testing.T) {
	const day = 24 * time.Hour
	for _, c := range []struct {
		name   string
		rolled bool          // before the rows expire
		later  int64         // of the events after that
		keep   time.Duration // of the longer rollup
		want   audit.Finding // what is noted
	}{
		{"never rolled up", false, noon + 7_200_000, 0, audit.Finding{Class: audit.Short, Expected: 5, Found: 2}},
		{"the rest of the window", true, noon, 0, audit.Finding{Class: audit.Short, Expected: 5, Found: 3}},
		{"rolled up", true, noon + 7_200_000, 0, audit.Finding{}},
		{"not kept", false, noon + 7_200_000, 90 * day, audit.Finding{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cl := open(t)
			j := actives()
			j.Keep, j.Rollups = 4*day, []schema.Rollup{{Window: time.Minute, Keep: 90 * day}, {Window: time.Hour, Keep: c.keep}}
			s := install(t, cl, j)
			op := operator(t, s.layout.Spec, 0, 1)
			observe(t, op, 0, 0, event.Time(noon), click(noon, "/", 1, "a"), click(noon, "/", 2, "b"), click(noon, "/", 3, "c"))
			write(t, s, op.Take())
			if c.rolled {
				roll(t, s, true)
			}
			// It is as if this had been five days ago: the rows are gone, and the line is there.
			run(t, cl, "TRUNCATE TABLE "+cl.Name("clicks_state"),
				"ALTER TABLE "+cl.Name(schema.LedgerTable)+" UPDATE began = began - 5 * 86400, flushed_at = flushed_at - 5 * 86400 WHERE 1 SETTINGS mutations_sync = 1",
				"ALTER TABLE "+cl.Name("clicks_1m_rollup")+" UPDATE rolled_at = rolled_at - 5 * 86400 WHERE 1 SETTINGS mutations_sync = 1",
				"ALTER TABLE "+cl.Name("clicks_1h_rollup")+" UPDATE rolled_at = rolled_at - 5 * 86400 WHERE 1 SETTINGS mutations_sync = 1")
			observe(t, op, 1, 0, event.Time(c.later), click(c.later, "/", 4, "d"), click(c.later, "/", 5, "e"))
			write(t, s, op.Take())
			for _, when := range []string{"in the live tail", "rolled up"} {
				if when == "rolled up" {
					roll(t, s, true)
				}
				a := audited(t, s, audit.Scope{})
				for f := range a.Findings {
					t.Errorf("%s: the audit finds %+v", when, f)
				}
				var got audit.Finding
				for f := range a.Notes {
					got = f
				}
				if got != c.want {
					t.Errorf("%s: the audit notes %+v, want %+v", when, got, c.want)
				}
			}
		})
	}
}

// TestExpiredStates: events that are counted after state rows of their hour have expired are in the hits of longer
// rollups together with all that was counted before. Other numbers and states are not made anew of the rows that
// are left, in this rollup or in one that is added, and the audit compares none of them.
func TestExpiredStates(t *testing.T) {
	const day = 24 * time.Hour
	c := open(t)
	j := actives()
	j.Keep = ages
	j.Rollups = []schema.Rollup{{Window: time.Minute}, {Window: time.Hour}, {Window: day}}
	s := asking(t, c, j)
	s.Quiet = -time.Hour
	op := operator(t, s.layout.Spec, 0)
	n := int64(0)
	count := func(minutes ...int64) {
		t.Helper()
		for _, m := range minutes {
			at := noon + m*60_000
			observe(t, op, 0, n, event.Time(at), click(at, "/", int(n), fmt.Sprint(n)))
			n++
		}
		write(t, s, op.Take())
		roll(t, s, true)
		roll(t, s, true)
	}
	equal := func(when, view, want string) {
		t.Helper()
		if got := strings.Join(read(t, c, "SELECT hits, active FROM "+c.Name(view)+" ORDER BY window_start"), " "); got != want {
			t.Errorf("%s: %s has %s, want %s", when, view, got, want)
		}
	}
	count(0, 1, 2, 60, 61, 120)
	equal("counted", "clicks_1h", "(3,3) (2,2) (1,1)")
	run(t, c, "ALTER TABLE "+c.Name("clicks_state")+" DELETE WHERE window_start < fromUnixTimestamp("+fmt.Sprint(noon/1000+3600)+") SETTINGS mutations_sync = 1")
	count(3, 62)
	equal("expired", "clicks_1m", "(1,1) (1,1) (1,1) (1,1) (1,1) (1,1) (1,1) (1,1)")
	equal("expired", "clicks_1h", "(4,3) (3,3) (1,1)")
	equal("expired", "clicks_1d", "(8,7)")
	if got := one(t, c, "SELECT bitmapCardinality(groupBitmapMergeState(active_state)) FROM "+c.Name("clicks_1h_states")); got != "(7)" {
		t.Errorf("the states of the hours have %s ids, want 7", got)
	}
	for _, f := range within(t, s, audit.Scope{From: 1}) {
		if f.Measure != "" { // that rows are gone is found
			t.Errorf("the audit finds %+v", f)
		}
	}
	j.Rollups = append(j.Rollups[:1:1], schema.Rollup{Window: 30 * time.Minute}, j.Rollups[1], j.Rollups[2])
	s = asking(t, c, j)
	for range j.Rollups {
		roll(t, s, true)
	}
	equal("with another rollup", "clicks_30m", "(4,0) (3,3) (1,1)")
	equal("with another rollup", "clicks_1h", "(4,3) (3,3) (1,1)")
}

// TestWholeSince: a rollup that is added, comes back, or is kept longer, when state rows have expired lacks windows of before.
// So do state rows that are kept longer.
// Questions that need these are refused, the audit does not judge them, and a further migration
// changes nothing.
func TestWholeSince(t *testing.T) {
	const day = 24 * time.Hour
	for _, how := range []string{"added", "back", "kept longer"} {
		c := open(t)
		j := actives()
		j.Keep = 4 * day
		longer := []schema.Rollup{{Window: time.Hour}, {Window: day}}
		j.Rollups = longer
		if how != "added" {
			j.Rollups = append([]schema.Rollup{{Window: time.Minute, Keep: 3 * day}}, longer...)
		}
		s := full(t, c, j)
		if how == "back" {
			j.Rollups = longer
			s = full(t, c, j)
		}
		op, n := operator(t, s.layout.Spec, 0, 1), int64(0)
		today := time.Now().Unix() / 86400 * 86400
		count := func(partition int32, ago int64) { // two events in each hour of a day
			for m := range int64(48) {
				at := (today - ago*86400 + m*1800 + 60) * 1000
				observe(t, op, partition, n, event.Time(at), click(at, "/", 7, "a"))
				n++
			}
			write(t, s, op.Take())
			roll(t, s, true)
			n = 0
		}
		count(0, 8)
		// It is as if this had been eight days ago: state rows have expired, of each hour the first half.
		back := func(table string, columns ...string) {
			t.Helper()
			var to []string
			for _, name := range columns {
				to = append(to, name+" = "+name+" - 8 * 86400")
			}
			run(t, c, "ALTER TABLE "+c.Name(table)+" UPDATE "+strings.Join(to, ", ")+" WHERE 1 SETTINGS mutations_sync = 1")
		}
		run(t, c, "INSERT INTO "+c.Name("weir_jobs")+" SELECT * REPLACE (created_at - toIntervalDay(10) AS created_at) FROM "+c.Name("weir_jobs"),
			"ALTER TABLE "+c.Name("clicks_state")+" DELETE WHERE toMinute(window_start) < 30 SETTINGS mutations_sync = 1")
		if how != "added" {
			run(t, c, "TRUNCATE TABLE "+c.Name("clicks_1m_rollup"))
		}
		back("clicks_state", "flushed_at")
		back(schema.LedgerTable, "began", "flushed_at")
		back("clicks_1h_rollup", "rolled_at")
		back("clicks_1d_rollup", "rolled_at")
		count(1, 1)

		j.Rollups, j.Keep = append([]schema.Rollup{{Window: time.Minute, Keep: 30 * day}}, longer...), 20*day
		if _, err := c.Migrate(t.Context(), []schema.Job{j}, migrate.Options{}); err != nil {
			t.Fatal(err)
		}
		if steps, err := c.Migrate(t.Context(), []schema.Job{j}, migrate.Options{}); err != nil || len(steps) > 0 {
			t.Errorf("%s: a second migration: %v, %v", how, steps, err)
		}
		s, err := c.Job(t.Context(), j)
		if err != nil {
			t.Fatal(err)
		}
		s.Quiet = -time.Hour
		roll(t, s, true)
		roll(t, s, true)

		date := func(ago int64) string { return time.Unix(today-ago*86400, 0).UTC().Format(time.DateOnly) }
		calendar := func(ago int64, zone string) string {
			return fmt.Sprintf("clicks_calendar_total(from='%s', to='%s', unit='day', zone='%s')", date(ago), date(0), zone)
		}
		sum := "SELECT count(), sum(hits) FROM " + wire.Quote(c.Config.Database) + "."
		if got := one(t, c, sum+calendar(9, "UTC")); got != "(2,96)" { // of whole days
			t.Errorf("%s: days of UTC: %s", how, got)
		}
		const gone = "ask for later windows: some of this range are not kept any more, or a rollup that they need was added"
		refusedBy(t, c, calendar(9, "Asia/Kolkata"), gone)
		if got := one(t, c, sum+calendar(1, "Asia/Kolkata")); got != "(1,37)" {
			t.Errorf("%s: days of Kolkata: %s, want that of yesterday, until 18:30 UTC", how, got)
		}
		over := func(ago int64) string {
			return fmt.Sprintf("clicks_tumble_total(from='%s', to='%s', size='90m')", date(ago), date(ago-1))
		}
		refusedBy(t, c, over(8), gone)
		if got := one(t, c, sum+over(1)); got != "(16,48)" {
			t.Errorf("%s: windows of 90 minutes: %s", how, got)
		}
		hours := func(ago int64) string {
			return fmt.Sprintf("clicks_tumble_total(from='%s', to='%s', size='1h')", date(ago), date(ago-1))
		}
		if how == "kept longer" { // otherwise hours were the shortest windows, which have no states of their own
			if got := one(t, c, sum+hours(8)); got != "(24,48)" {
				t.Errorf("%s: hours: %s", how, got)
			}
		} else {
			refusedBy(t, c, hours(8), gone)
		}
		for _, question := range []string{"clicks_sessions_total(from='%s', to='%s', measure='active', every='1h', gap='5m')", "clicks_funnel(from='%s', to='%s', steps=['active'])"} {
			ask := func(ago int64) error {
				return c.Shards.Query(t.Context(), "ask", "SELECT count() FROM "+wire.Quote(c.Config.Database)+"."+fmt.Sprintf(question, date(ago), date(ago-1)), func(scan func(...any) error) error { return nil })
			}
			if err := ask(8); err == nil || !strings.Contains(err.Error(), "because rows had expired when their rollup was added or a keep made longer") {
				t.Errorf("%s: %s of then: %v", how, question, err)
			}
			if err := ask(1); err != nil {
				t.Errorf("%s: %s of yesterday: %v", how, question, err)
			}
		}
		for _, f := range within(t, s, audit.Scope{From: 1}) {
			t.Errorf("%s: the audit finds %+v", how, f)
		}
		if got := read(t, c, "SELECT kind, detail FROM "+c.Name("weir_audit")); len(got) != 0 {
			t.Errorf("%s: the view finds %q", how, got)
		}
	}
}
