package clickhouse

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"weir/event"
	"weir/internal/await"
	"weir/window"
)

// week returns clicks with rollups that keep the states of sets for a week.
func week() Job {
	j := clicks()
	j.Keep = 7 * 24 * time.Hour
	j.Rollups = []Rollup{{Window: time.Minute, KeepStates: j.Keep}, {Window: time.Hour, KeepStates: j.Keep}}
	return j
}

// run runs statements.
func run(t *testing.T, c *Client, statements ...string) {
	t.Helper()
	for _, sql := range statements {
		if err := c.exec(t.Context(), "test", sql, await.Never); err != nil {
			t.Fatalf("%s\n%v", sql, err)
		}
	}
}

// age changes rows of a rollup as if they were made eight days ago, and makes the server
// apply the TTLs, which it does by itself in time.
func age(t *testing.T, c *Client, table, where string) {
	t.Helper()
	run(t, c, "ALTER TABLE "+c.name(table)+" UPDATE rolled_at = rolled_at - 8 * 86400 WHERE "+where+" SETTINGS mutations_sync = 1",
		"OPTIMIZE TABLE "+c.name(table)+" FINAL")
}

// TestForgets: the states of sets expire from rollups, and nothing else does. Numbers and
// HLL states stay, no number falls when a window is made again for a late event, and a new
// rollup makes no number of the states that are left.
func TestForgets(t *testing.T) {
	c := open(t)
	j := week()
	s := install(t, c, j)
	op := operator(t, s.layout.Spec, 0)
	minute := func(n int) int64 { return noon + int64(n)*60_000 }
	observe(t, op, 0, 0, event.Time(noon), // three minutes with 1, 2 and 3 people
		click(minute(0), "/", 1, "a"),
		click(minute(1), "/", 1, "b"), click(minute(1), "/", 2, "c"),
		click(minute(2), "/", 3, "d"), click(minute(2), "/", 4, "e"), click(minute(2), "/", 5, "f"))
	write(t, s, op.Take())
	if err := s.Rollup(t.Context(), true, 0); err != nil {
		t.Fatal(err)
	}
	numbers := func(view string) string {
		return strings.Join(read(t, c, "SELECT hits, users, active, seen > 0 FROM "+c.name(view)+" ORDER BY window_start"), " ")
	}
	states := func(table string) string {
		return strings.Join(read(t, c, "SELECT weirPfCount(uniqCombined64MergeState(14)(users_state)), bitmapCardinality(groupBitmapMergeState(active_state)), bitmapCardinality(groupBitmapMergeState(seen_state)) > 0 FROM "+
			c.name(table)+" GROUP BY window_start ORDER BY window_start"), " ")
	}
	expect := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	const minutes, hour = "(1,1,1,1) (2,2,2,1) (3,3,3,1)", "(6,5,5,1)"
	expect("minutes", numbers("clicks_1m"), minutes)
	expect("the hour", numbers("clicks_1h"), hour)
	expect("states of minutes", states("clicks_1m_rollup"), "(1,1,1) (2,2,1) (3,3,1)")

	// The first two minutes are a week old, the third is not.
	run(t, c, fmt.Sprintf("ALTER TABLE %s UPDATE flushed_at = flushed_at - 6 * 86400 WHERE toUnixTimestamp(window_start) < %d SETTINGS mutations_sync = 1", c.name("clicks_state"), minute(2)/1000))
	age(t, c, "clicks_1m_rollup", fmt.Sprint("toUnixTimestamp(window_start) < ", minute(2)/1000))
	age(t, c, "clicks_1h_rollup", "1")
	expect("states of minutes, expired", states("clicks_1m_rollup"), "(1,0,0) (2,0,0) (3,3,1)")
	expect("states of the hour, expired", states("clicks_1h_rollup"), "(5,0,0)")
	expect("minutes, expired", numbers("clicks_1m"), minutes)
	expect("the hour, expired", numbers("clicks_1h"), hour)

	// Another rollup is made from what is left.
	j.Rollups = append(j.Rollups, Rollup{Window: 24 * time.Hour, KeepStates: j.Keep})
	j.Rollups[1].KeepStates = 30 * 24 * time.Hour
	s = install(t, c, j)
	if err := s.Rollup(t.Context(), true, 0); err != nil {
		t.Fatal(err)
	}
	expect("the day, made of hours without states", numbers("clicks_1d"), "(6,5,0,0)")
	expect("its states", states("clicks_1d_rollup"), "(5,0,0)")

	// After a late event, the minute is made again from all its state rows. The hour, of
	// which two minutes lack their states, keeps its number.
	observe(t, op, 0, 6, event.Time(noon), click(minute(2), "/", 6, "g"))
	write(t, s, op.Take())
	if err := s.Rollup(t.Context(), true, 0); err != nil {
		t.Fatal(err)
	}
	expect("minutes, with a late event", numbers("clicks_1m"), "(1,1,1,1) (2,2,2,1) (4,4,4,1)")
	expect("the hour, with a late event", numbers("clicks_1h"), "(7,6,5,1)")
	expect("the day, with a late event", numbers("clicks_1d"), "(7,6,0,0)")
	expect("the audit", strings.Join(read(t, c, "SELECT * FROM "+c.name("weir_audit")), " "), "")

	// The state rows still have all ids, until they expire too.
	all := &window.Range{From: 0, Until: event.Time(minute(60))}
	if _, err := s.State(t.Context(), all, 1); err != nil {
		t.Errorf("with state rows: %v", err)
	}
	run(t, c, "TRUNCATE TABLE "+c.name("clicks_state"))
	if _, err := s.State(t.Context(), all, 0); err != nil {
		t.Errorf("an HLL: %v", err)
	}
	if _, err := s.State(t.Context(), all, 1); !fatalWith(err, "the states of 2 windows of the range are not kept any more (keep_states 7d)") {
		t.Errorf("a range with windows whose ids are gone answers with %v", err)
	}
	err := s.States(t.Context(), all, 2, func(event.Time, []byte) error { return nil })
	if !fatalWith(err, "not kept any more") {
		t.Errorf("a range with windows whose bits are gone answers with %v", err)
	}
	late := &window.Range{From: event.Time(minute(2)), Until: event.Time(minute(60))}
	if _, err := s.State(t.Context(), late, 1); err != nil {
		t.Errorf("windows whose ids are there: %v", err)
	}
}

// TestForgetsOldRows: weir migrate sets the TTL on existing tables, and the server applies
// it to their rows by itself.
func TestForgetsOldRows(t *testing.T) {
	c := open(t)
	j := week()
	for i := range j.Rollups {
		j.Rollups[i].KeepStates = 0
	}
	s := install(t, c, j)
	op := operator(t, s.layout.Spec, 0)
	observe(t, op, 0, 0, event.Time(noon), click(noon, "/", 1, "a"))
	write(t, s, op.Take())
	if err := s.Rollup(t.Context(), true, 0); err != nil {
		t.Fatal(err)
	}
	age(t, c, "clicks_1m_rollup", "1")
	held := "SELECT sum(bitmapCardinality(active_state)), sum(bitmapCardinality(seen_state)) > 0, sum(weirPfCount(users_state)), max(active) FROM " + c.name("clicks_1m_rollup")
	if got := one(t, c, held); got != "(1,1,1,1)" {
		t.Fatalf("without keep_states the rows hold %s", got)
	}
	steps, err := c.Migrate(t.Context(), []Job{week()}, Migration{})
	if err != nil || len(steps) == 0 || !strings.Contains(steps[0].SQL, "MODIFY COLUMN `active_state` AggregateFunction(groupBitmap, UInt32) CODEC(ZSTD(1)) TTL rolled_at + toIntervalSecond(604800), MODIFY COLUMN `seen_state`") {
		t.Fatalf("it migrates with %v, %v", steps, err)
	}
	await.Until(t, func() error {
		if got := one(t, c, held); got != "(0,0,1,1)" {
			return fmt.Errorf("the old rows hold %s", got)
		}
		return nil
	})
	if again, err := c.Migrate(t.Context(), []Job{week()}, Migration{}); err != nil || len(again) != 0 {
		t.Errorf("a second migration runs %v, %v", again, err)
	}
	steps, err = c.Migrate(t.Context(), []Job{j}, Migration{})
	if err != nil || len(steps) == 0 || !strings.HasSuffix(steps[0].SQL, "MODIFY COLUMN `active_state` REMOVE TTL, MODIFY COLUMN `seen_state` REMOVE TTL") {
		t.Errorf("back it migrates with %v, %v", steps, err)
	}
	if again, err := c.Migrate(t.Context(), []Job{j}, Migration{}); err != nil || len(again) != 0 {
		t.Errorf("then it runs %v, %v", again, err)
	}
}

// TestErase runs the SQL of docs/security.md that erases a person, and checks that nothing
// of the person is left.
func TestErase(t *testing.T) {
	c := open(t)
	s := install(t, c, clicks())
	op := operator(t, s.layout.Spec, 0)
	observe(t, op, 0, 0, event.Time(noon), click(noon, "/", 41, "a"), click(noon, "/", 42, "b"), click(noon, "/b", 42, "c"),
		`{"user":42,"page":null}`, `{"user":41,"page":null}`)
	write(t, s, op.Take())
	if err := s.Rollup(t.Context(), true, 0); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	block, _, ok := strings.Cut(section(string(page), "## People in the data"), "```\n")
	_, block, found := strings.Cut(block, "```sql\n")
	if !ok || !found {
		t.Fatal("docs/security.md has no SQL under People in the data")
	}
	for sql := range strings.SplitSeq(block, ";") {
		if sql = strings.TrimSpace(sql); sql != "" {
			run(t, c, strings.NewReplacer("ALTER TABLE ", "ALTER TABLE "+quote(c.cfg.Database)+".", "locations_places_state", "clicks_places_state", "user_id", "user").Replace(sql)+" SETTINGS mutations_sync = 1")
		}
	}
	for _, x := range []struct{ sql, want string }{
		{"SELECT groupUniqArrayArray(bitmapToArray(active)) FROM {clicks_state}", "([41])"},
		{"SELECT groupUniqArrayArray(bitmapToArray(active_state)) FROM {clicks_1m_rollup}", "([41])"},
		{"SELECT groupUniqArrayArray(bitmapToArray(active_state)) FROM {clicks_1h_rollup}", "([41])"},
		{"SELECT groupUniqArrayArray(bitmapToArray(active_state)) FROM {clicks_1d_rollup}", "([41])"},
		{"SELECT groupUniqArray(member) FROM {clicks_places_state}", "(['41'])"},
		{"SELECT groupArray(payload) FROM {weir_dead_letters}", `(['{"user":41,"page":null}'])`},
		{"SELECT sum(hits), sum(active) FROM {clicks_1m}", "(3,3)"}, // numbers stay
		{"SELECT count() FROM {weir_audit}", "(0)"},
	} {
		sql := x.sql
		_, name, _ := strings.Cut(strings.TrimSuffix(sql, "}"), "{")
		if got := one(t, c, strings.Replace(sql, "{"+name+"}", c.name(name), 1)); got != x.want {
			t.Errorf("%s: %s, want %s", x.sql, got, x.want)
		}
	}
}

// section returns a page's text from a heading to the next one.
func section(page, heading string) string {
	_, text, _ := strings.Cut(page, heading+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	return text
}
