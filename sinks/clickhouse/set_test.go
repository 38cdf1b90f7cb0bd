package clickhouse

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"weir/event"
	"weir/sketches/bitmap"
	"weir/sketches/idset"
	"weir/window"
)

// TestSetFunctions: weirSetCount corrects as Go does, and weirSetHas finds what Go has
// hashed, whatever the form of the id.
func TestSetFunctions(t *testing.T) {
	c := open(t)
	functionsOn(t, c)
	for _, n := range []uint64{0, 1, 10_000, 65_535, 65_536, 92_682, 999_884, 3_000_000} {
		if got, want := one(t, c, fmt.Sprintf("SELECT weirSetCount(groupBitmapState(toUInt32(number))) FROM numbers(%d)", n)), fmt.Sprintf("(%d)", idset.Count(n)); got != want {
			t.Errorf("of %d bits: %s, want %s", n, got, want)
		}
	}
	var set bitmap.Activity
	for _, id := range []string{"7", "", "6f1c2a4e-2b0f-4f0c-9a53-5d1d2f1b7c11", "ü"} {
		set.Add(window.SetHash(nil, []byte(id)))
	}
	got := one(t, c, fmt.Sprintf("SELECT arrayMap(id -> weirSetHas(s, id), ['7', '', '6f1c2a4e-2b0f-4f0c-9a53-5d1d2f1b7c11', 'ü', '8', '07']), weirSetHas(s, 7), weirSetHas(s, 8) FROM (SELECT CAST(unhex('%x'), 'AggregateFunction(groupBitmap, UInt32)') AS s)",
		set.AppendClickHouse(nil)))
	if got != "([1,1,1,1,0,0],1,0)" {
		t.Errorf("members: %s", got)
	}
}

// TestSet: the views count ids of any form, before and after rollups; states answer who
// was in both of two sets; and a set that was changed by hand is found.
func TestSet(t *testing.T) {
	c := open(t)
	j := clicks()
	j.Rollups = j.Rollups[:2]
	j.Spec.Measures = []window.Measure{{Name: "people", Kind: window.Set, Path: "who"}}
	s := unasked(t, c, j)
	s.quiet = -time.Hour
	op := operator(t, s.layout.Spec, 0)
	n := int64(0)
	visit := func(minute int64, page string, people ...string) {
		t.Helper()
		for _, who := range people {
			ts := int64(noon) + minute*60_000
			observe(t, op, 0, n, event.Time(ts), fmt.Sprintf(`{"event_id":"e%d","ts":%d,"page":"%s","who":%s}`, n, ts, page, who))
			n++
		}
	}
	visit(0, "/a", `"ann"`, `"6f1c2a4e-2b0f"`, `7`, `"7"`, `"ann"`)
	visit(1, "/a", `"ann"`, `"bob"`)
	write(t, s, op.Take())
	visit(0, "/b", `"ann"`, `""`, `7`)
	visit(1, "/a", `"carl"`, `"bob"`)
	write(t, s, op.Take())
	for range 2 {
		if got := fmt.Sprint(read(t, c, "SELECT page, people, toTypeName(people) FROM "+c.name("clicks_1m")+" ORDER BY page, window_start")); got != "[('/a',3,'UInt64') ('/a',3,'UInt64') ('/b',3,'UInt64')]" {
			t.Errorf("by minute: %s", got)
		}
		roll(t, s, true)
	}
	if got := fmt.Sprint(read(t, c, "SELECT page, people FROM "+c.name("clicks_1h")+" ORDER BY page")); got != "[('/a',5) ('/b',3)]" {
		t.Errorf("by hour: %s", got)
	}
	const both = "SELECT weirSetCount(bitmapAnd(a, b)), weirSetCount(bitmapAndnot(a, b)), weirSetHas(bitmapAnd(a, b), 'ann'), weirSetHas(bitmapAnd(a, b), 'bob'), weirSetHas(bitmapAndnot(a, b), 'bob') FROM " +
		"(SELECT groupBitmapMergeStateIf(people_state, page = '/a') AS a, groupBitmapMergeStateIf(people_state, page = '/b') AS b FROM "
	if got := one(t, c, both+c.name("clicks_1h_rollup")+")"); got != "(2,3,1,0,1)" {
		t.Errorf("in both: %s", got)
	}
	if got := one(t, c, strings.ReplaceAll(both, "people_state", "people")+c.name("clicks_state")+")"); got != "(2,3,1,0,1)" {
		t.Errorf("in both, by the state rows: %s", got)
	}
	if got := findings(t, s); len(got) > 0 {
		t.Errorf("before damage: %v", got)
	}
	(&backend{c: c}).exec(t, "INSERT INTO "+c.name("clicks_1h_rollup")+" (page, country, window_start, people) SELECT '/b', '', window_start, 99 FROM "+c.name("clicks_1h_rollup")+" LIMIT 1")
	if got := findings(t, s); len(got) != 1 || got[0].Measure != "people" || got[0].Expected != 99 || got[0].Found != 3 {
		t.Errorf("raised by hand: %v", got)
	}
}

// TestSetOfBitmaps: a table with sets in another form, as before the first version, is refused, with another
// remedy if a weir made it so.
func TestSetOfBitmaps(t *testing.T) {
	c := open(t)
	j := clicks()
	j.Spec.Measures = []window.Measure{{Name: "people", Kind: window.Set, Path: "who"}}
	unasked(t, c, j)
	run(t, c, "ALTER TABLE "+c.name("clicks_state")+" DROP COLUMN people", "ALTER TABLE "+c.name("clicks_state")+" ADD COLUMN people AggregateFunction(groupBitmap, UInt32)")
	refused := func(want ...string) {
		t.Helper()
		for what, do := range map[string]func() error{
			"migrate": func() error { _, err := c.Migrate(t.Context(), []Job{j}, Migration{}); return err },
			"start":   func() error { _, err := c.Job(t.Context(), j); return err },
		} {
			err := do()
			for _, text := range want {
				if err == nil || !strings.Contains(err.Error(), text) {
					t.Errorf("%s: %v, want %q", what, err, text)
				}
			}
		}
	}
	refused("column people is AggregateFunction(groupBitmap, UInt32), weir made it ALIAS", "change it back, or raise the job's version")
	run(t, c, "INSERT INTO "+c.name("weir_schema")+" (object, sql) VALUES ('clicks_state', 'CREATE TABLE clicks_state (`people` AggregateFunction(groupBitmap, UInt32))')")
	refused("an earlier weir made column people as AggregateFunction(groupBitmap, UInt32), and this one stores the measure as ALIAS", "raise the job's version, or give the measure another name; do not change the column")
}

// TestSetSize: a million ids in a rollup take at most 2.6 bytes each on disk, also after the
// window was rolled up again and the parts were merged.
func TestSetSize(t *testing.T) {
	c := open(t)
	j := clicks()
	j.Rollups = j.Rollups[:1]
	j.Spec.By, j.Spec.Dedupe = nil, nil
	j.Spec.Measures = []window.Measure{{Name: "people", Kind: window.Set, Path: "who"}}
	s := unasked(t, c, j)
	state, rollup := c.name("clicks_state"), c.name("clicks_1m_rollup")
	const ids = 1_000_000
	for round, n := range []int{ids * 9 / 10, ids} {
		run(t, c, fmt.Sprintf("INSERT INTO %s (window_start, hits, people_ids, flushed_in) SELECT toDateTime(%d, 'UTC'), map(1, %d), groupUniqArray(toUInt32(bitAnd(xxHash64(toString(number)), 4294967295))), %d FROM numbers(%[3]d)", state, noon/1000, n, 10+10*round))
		roll(t, s, true)
	}
	run(t, c, "OPTIMIZE TABLE "+rollup+" FINAL")
	got := one(t, c, "SELECT people, length(people_ids.2), bitmapCardinality(people_state) = people_ids.1, people_ids.2 = arraySort(people_ids.2) FROM "+rollup)
	hashes := map[uint32]bool{}
	for n := range ids {
		hashes[window.SetHash(nil, fmt.Append(nil, n))] = true
	}
	if want := fmt.Sprintf("(%d,%d,1,1)", idset.Count(uint64(len(hashes))), len(hashes)); got != want {
		t.Errorf("the rollup has %s, want %s", got, want)
	}
	var bytes uint64
	if _, err := fmt.Sscanf(one(t, c, "SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND database = "+text(c.cfg.Database)+" AND table = 'clicks_1m_rollup'"), "(%d)", &bytes); err != nil {
		t.Fatal(err)
	}
	if each := float64(bytes) / ids; each > 2.6 || each < 1 {
		t.Errorf("%.2f bytes an id", each)
	}
}
