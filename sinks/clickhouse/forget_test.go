package clickhouse

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"weir/event"
	"weir/internal/await"
	"weir/measures/ordered"
	"weir/measures/set"
	"weir/measures/topk"
	"weir/sinks/clickhouse/migrate"
	"weir/sinks/clickhouse/schema"
	"weir/sinks/clickhouse/wire"
	"weir/window"
)

// week returns clicks with a rollup that keeps the states of sets for a week.
func week() schema.Job {
	j := clicks()
	j.Keep = 7 * 24 * time.Hour
	j.Rollups = []schema.Rollup{{Window: time.Minute}, {Window: time.Hour, KeepStates: j.Keep}}
	return j
}

// run runs statements.
func run(t *testing.T, c *Client, statements ...string) {
	t.Helper()
	for _, sql := range statements {
		if err := c.Exec(t.Context(), "test", sql, await.Never); err != nil {
			t.Fatalf("%s\n%v", sql, err)
		}
	}
}

// age changes rows of a rollup as if they were made eight days ago, and makes the server
// apply the TTLs, which it does by itself in time.
func age(t *testing.T, c *Client, table, where string) {
	t.Helper()
	run(t, c, "ALTER TABLE "+c.Name(table)+" UPDATE rolled_at = rolled_at - 8 * 86400 WHERE "+where+" SETTINGS mutations_sync = 1",
		"OPTIMIZE TABLE "+c.Name(table)+" FINAL")
}

// TestForgetsOldRows: weir migrate sets the TTL on existing tables, and the server applies
// it to their rows by itself.
func TestForgetsOldRows(t *testing.T) {
	c := open(t)
	j := week()
	j.Rollups[1].KeepStates = 0
	s := full(t, c, j)
	op := operator(t, s.layout.Spec, 0)
	observe(t, op, 0, 0, event.Time(noon), click(noon, "/", 1, "a"))
	write(t, s, op.Take())
	if err := s.Rollup(t.Context(), true, 0); err != nil {
		t.Fatal(err)
	}
	age(t, c, "clicks_1h_rollup", "1")
	held := "SELECT sum(bitmapCardinality(active_state)), sum(bitmapCardinality(seen_state)) > 0, sum(weirPfCount(users_state)), max(active) FROM " + c.Name("clicks_1h_rollup")
	if got := one(t, c, held); got != "(1,1,1,1)" {
		t.Fatalf("without keep_states the rows hold %s", got)
	}
	steps, err := c.Migrate(t.Context(), []schema.Job{week()}, migrate.Options{})
	if err != nil || len(steps) == 0 || !strings.Contains(steps[0].SQL, "MODIFY COLUMN `active_state` AggregateFunction(groupBitmap, UInt32) COMMENT ") || !strings.Contains(steps[0].SQL, " CODEC(ZSTD(1)) TTL rolled_at + toIntervalSecond(604800), MODIFY COLUMN `seen_state`") {
		t.Fatalf("it migrates with %v, %v", steps, err)
	}
	await.Until(t, func() error {
		if got := one(t, c, held); got != "(0,0,1,1)" {
			return fmt.Errorf("the old rows hold %s", got)
		}
		return nil
	})
	if again, err := c.Migrate(t.Context(), []schema.Job{week()}, migrate.Options{}); err != nil || len(again) != 0 {
		t.Errorf("a second migration runs %v, %v", again, err)
	}
	steps, err = c.Migrate(t.Context(), []schema.Job{j}, migrate.Options{})
	if err != nil || len(steps) == 0 || !strings.HasSuffix(steps[0].SQL, "MODIFY COLUMN `active_state` REMOVE TTL, MODIFY COLUMN `seen_state` REMOVE TTL") {
		t.Errorf("back it migrates with %v, %v", steps, err)
	}
	if again, err := c.Migrate(t.Context(), []schema.Job{j}, migrate.Options{}); err != nil || len(again) != 0 {
		t.Errorf("then it runs %v, %v", again, err)
	}
}

// named returns a job with rollups that keep states for a week, and the measures that hold
// values of events as they are.
func named() schema.Job {
	j := week()
	j.Spec.Measures = []window.Measure{
		{Name: "people", Kind: set.Kind, Path: "user"},
		{Name: "entry", Kind: ordered.First, Path: "id"},
		{Name: "exit", Kind: ordered.Last, Path: "id"},
		{Name: "top", Kind: topk.Kind, Path: "id", K: 3},
	}
	return j
}

// TestForgetsValues: values of events expire from rollups as ids do, and from finished numbers
// too where these hold them. Hits and the numbers of sets stay. What is made or asked for
// from windows without values is unknown, and never a part of what there was.
func TestForgetsValues(t *testing.T) {
	c := open(t)
	j := named()
	s := asking(t, c, j)
	s.Quiet = -time.Hour // the audit judges rows of now
	op := operator(t, s.layout.Spec, 0)
	begin := time.Now().Truncate(24 * time.Hour).Add(-9 * 24 * time.Hour).UnixMilli()
	minute := func(n int) int64 { return begin + int64(n)*60_000 }
	observe(t, op, 0, 0, event.Time(minute(90)), click(minute(0), "/", 1, "a"), click(minute(1), "/", 2, "b"), click(minute(2), "/", 3, "c"), click(minute(90), "/", 4, "d"))
	write(t, s, op.Take())
	roll(t, s, true)
	if err := s.Rollup(t.Context(), true, 0); err != nil {
		t.Fatal(err)
	}
	expect := func(what, sql, want string) {
		t.Helper()
		if got := strings.Join(read(t, c, sql), " "); got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	numbers := func(view string) string {
		return "SELECT hits, people, entry, exit, arrayMap(x -> x.1, top) FROM " + c.Name(view) + " ORDER BY window_start"
	}
	over := func(size int) string {
		return fmt.Sprintf("SELECT hits, people, entry, exit, arrayMap(x -> x.1, top) FROM %s(from=toDateTime(%d), to=toDateTime(%[2]d + 7200), size='%ds') ORDER BY window_start", c.Name("clicks_tumble_total"), begin/1000, size)
	}
	const minutes = "(1,1,'a','a',['a']) (1,1,'b','b',['b']) (1,1,'c','c',['c']) (1,1,'d','d',['d'])"
	expect("minutes", numbers("clicks_1m"), minutes)
	expect("hours", numbers("clicks_1h"), "(3,3,'a','c',['a','b','c']) (1,1,'d','d',['d'])")
	expect("two hours", over(7200), "(4,4,'a','d',['a','b','c'])")

	// The first minute, and the hour that it is in, are a week old.
	first := fmt.Sprint("toUnixTimestamp(window_start) = ", begin/1000)
	age(t, c, "clicks_1m_rollup", first)
	age(t, c, "clicks_1h_rollup", first)
	expect("what the minutes hold", "SELECT entry.4, exit.4, length(top_state) FROM "+c.Name("clicks_1m_rollup")+" ORDER BY window_start", "('','',0) ('b','b',1) ('c','c',1) ('d','d',1)")
	expect("what the hours hold", "SELECT entry.4, exit.4, entry_state.4, exit_state.4, length(top_state), bitmapCardinality(people_state) FROM "+c.Name("clicks_1h_rollup")+" ORDER BY window_start",
		"('','','','',0,0) ('d','d','d','d',1,1)")
	expect("minutes, expired", numbers("clicks_1m"), strings.Replace(minutes, "'a','a',['a']", "NULL,NULL,[]", 1))
	expect("hours, expired", numbers("clicks_1h"), "(3,3,NULL,NULL,[]) (1,1,'d','d',['d'])")
	expect("two hours, of which one is unknown", over(7200), "(4,NULL,NULL,NULL,[])")
	expect("each hour", over(3600), "(3,NULL,NULL,NULL,[]) (1,1,'d','d',['d'])")
	if got := findings(t, s); len(got) > 0 {
		t.Errorf("the audit finds %v", got)
	}

	// State rows still answer for the first minute, until they expire too.
	whole := &window.Range{From: event.Time(begin), Until: event.Time(minute(120))}
	rows := func(m int) error { return s.Rows(t.Context(), whole, m, window.NewTable(s.layout.Spec)) }
	for m := range s.layout.Spec.Measures {
		if err := rows(m); err != nil {
			t.Errorf("with state rows, measure %d: %v", m, err)
		}
	}
	run(t, c, "ALTER TABLE "+c.Name("clicks_state")+" DELETE WHERE "+first+" SETTINGS mutations_sync = 1")

	// A rollup that is made from what is left has no values of the hour that lost them.
	j.Rollups = append(j.Rollups[:1:1], schema.Rollup{Window: 30 * time.Minute, KeepStates: j.Keep}, j.Rollups[1])
	s = asking(t, c, j)
	roll(t, s, true)
	expect("half hours", numbers("clicks_30m"), "(3,0,NULL,NULL,[]) (1,1,'d','d',['d'])")

	for m := range s.layout.Spec.Measures {
		if err := rows(m); !fatalWith(err, "the states of 1 windows of the range are not kept any more (keep 7d)") {
			t.Errorf("the rows of measure %d: %v", m, err)
		}
	}
	if _, err := s.State(t.Context(), whole, 1); !fatalWith(err, "not kept any more") {
		t.Errorf("the first value: %v", err)
	}
	late := &window.Range{From: event.Time(minute(1)), Until: event.Time(minute(120))}
	if state, err := s.State(t.Context(), late, 1); err != nil || !strings.HasSuffix(string(state), "b") {
		t.Errorf("windows whose values are there: %q, %v", state, err)
	}
}

// TestErase runs the SQL of docs/security.md that erases a person, and checks that nothing
// of the person is left.
func TestErase(t *testing.T) {
	c := open(t)
	j := clicks()
	j.Spec.Measures = append(j.Spec.Measures, window.Measure{Name: "people", Kind: set.Kind, Path: "user"}, window.Measure{Name: "products", Kind: topk.Kind, Path: "user", K: 3},
		window.Measure{Name: "entry", Kind: ordered.First, Path: "user"}, window.Measure{Name: "exit", Kind: ordered.Last, Path: "user"})
	s := full(t, c, j)
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
	blocks := strings.Split(section(string(page), "## People in the data"), "```sql\n")[1:]
	if len(blocks) != 2 {
		t.Fatalf("docs/security.md has %d blocks of SQL under People in the data, not two: of weir.yaml, and of other measures", len(blocks))
	}
	for i, block := range blocks {
		block, _, _ = strings.Cut(block, "```\n")
		for sql := range strings.SplitSeq(block, ";") {
			if sql = strings.TrimSpace(sql); sql == "" {
				continue
			}
			sql = strings.NewReplacer("ALTER TABLE ", "ALTER TABLE "+wire.Quote(c.Config.Database)+".", "locations_places_state", "clicks_places_state", "user_id", "user").Replace(sql) + " SETTINGS mutations_sync = 1"
			run(t, c, sql)
			if i == 1 && strings.Contains(sql, "clicks_1h_rollup") { // as the page says
				run(t, c, strings.ReplaceAll(sql, "1h_rollup", "1d_rollup"))
			}
		}
	}
	const left = "SELECT groupUniqArrayArray(bitmapToArray(people%[1]s)) = [toUInt32(bitAnd(xxHash64('41'), 4294967295))], arraySort(groupUniqArrayArray(arrayFlatten(arrayMap(top -> top.3.1, mapValues(products%[1]s))))), " +
		"arraySort(groupUniqArray(entry%[1]s.4)), arraySort(groupUniqArray(exit%[1]s.4)) FROM {clicks_%[2]s}"
	for _, x := range []struct{ sql, want string }{
		{"SELECT groupUniqArrayArray(bitmapToArray(active)) FROM {clicks_state}", "([41])"},
		{"SELECT groupUniqArrayArray(bitmapToArray(active_state)) FROM {clicks_1h_rollup}", "([41])"},
		{"SELECT groupUniqArrayArray(bitmapToArray(active_state)) FROM {clicks_1d_rollup}", "([41])"},
		{fmt.Sprintf(left, "", "state"), "(1,['41'],['','41'],[''])"},
		{"SELECT arraySort(groupUniqArrayArray(arrayFlatten(arrayMap(top -> top.3.1, mapValues(products_state))))), arraySort(groupUniqArray(entry.4)), groupUniqArray(exit.4) FROM {clicks_1m_rollup}", "(['41'],['','41'],[''])"},
		{fmt.Sprintf(left, "_state", "1h_rollup"), "(1,['41'],['','41'],[''])"},
		{fmt.Sprintf(left, "_state", "1d_rollup"), "(1,['41'],['','41'],[''])"},
		{"SELECT arraySort(groupUniqArray(entry.4)), groupUniqArray(exit.4) FROM {clicks_1d_rollup}", "(['','41'],[''])"},
		{"SELECT sum(people), sum(arraySum(arrayMap(k -> k.2, products))) FROM {clicks_1h}", "(3,1)"},
		{"SELECT groupUniqArray(member) FROM {clicks_places_state}", "(['41'])"},
		{"SELECT groupArray(payload) FROM {weir_dead_letters}", `(['{"user":41,"page":null}'])`},
		{"SELECT sum(hits), sum(active) FROM {clicks_1m}", "(3,3)"}, // numbers stay
		{"SELECT count() FROM {weir_audit}", "(0)"},
	} {
		sql := x.sql
		_, name, _ := strings.Cut(strings.TrimSuffix(sql, "}"), "{")
		if got := one(t, c, strings.Replace(sql, "{"+name+"}", c.Name(name), 1)); got != x.want {
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
