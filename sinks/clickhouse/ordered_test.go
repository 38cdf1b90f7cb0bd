package clickhouse

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"weir/event"
	"weir/window"
)

// TestOrdered: views show the value of the earliest and of the latest event, whichever
// comes into the log first, before and after rollups of both lengths, NULL if no event had
// one; and a value that was changed by hand is found.
func TestOrdered(t *testing.T) {
	c := open(t)
	j := clicks()
	j.Rollups = j.Rollups[:2]
	j.Spec.Measures = []window.Measure{{Name: "entry", Kind: window.First, Path: "title", Optional: true}, {Name: "exit", Kind: window.Last, Path: "title", Optional: true}}
	s := unaudited(t, c, j)
	s.quiet = -time.Hour
	op := operator(t, s.layout.Spec, 0)
	n := int64(0)
	visit := func(seconds int64, page, title string) {
		t.Helper()
		ts := int64(noon) + seconds*1000
		observe(t, op, 0, n, event.Time(ts), fmt.Sprintf(`{"event_id":"e%d","ts":%d,"page":"%s"%s}`, n, ts, page, title))
		n++
	}
	see := func(view string, want ...string) {
		t.Helper()
		got := read(t, c, "SELECT page, ifNull(entry, 'none'), ifNull(exit, 'none'), toTypeName(exit) FROM "+c.name(view)+" ORDER BY page, window_start")
		for i := range want {
			want[i] = "(" + want[i] + ",'Nullable(String)')"
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %s, want %s", view, got, want)
		}
	}
	visit(30, "/a", `,"title":"middle"`)
	visit(10, "/a", `,"title":"second"`)
	visit(20, "/b", ``)
	visit(70, "/a", `,"title":7.50`)
	write(t, s, op.Take())
	see("clicks_1m", "'/a','second','middle'", "'/a','7.50','7.50'", "'/b','none','none'")
	// What docs/sketches/first.md asks of the last hour has the last value before it is rolled up.
	page, err := os.ReadFile("../../docs/sketches/first.md")
	if err != nil {
		t.Fatal(err)
	}
	hour := strings.NewReplacer("now()", fmt.Sprintf("toDateTime(%d)", noon/1000+75), "FROM clicks_", "FROM "+quote(c.cfg.Database)+".clicks_").Replace(sqlBlocks(string(page))[0])
	if got := read(t, c, hour); fmt.Sprint(got) != "[('second','7.50')]" {
		t.Errorf("%s\nanswers %s", hour, got)
	}
	roll(t, s, true)
	see("clicks_1h", "'/a','second','7.50'", "'/b','none','none'")
	visit(5, "/a", `,"title":"first"`)
	visit(30, "/a", `,"title":""`) // the time of middle, and behind it
	visit(71, "/a", `,"title":"it's last"`)
	visit(71, "/b", `,"title":true`)
	write(t, s, op.Take())
	for range 2 {
		see("clicks_1m", "'/a','first',''", "'/a','7.50','it\\'s last'", "'/b','none','none'", "'/b','true','true'")
		see("clicks_1h", "'/a','first','it\\'s last'", "'/b','true','true'")
		roll(t, s, true)
	}
	if got := findings(t, s); len(got) > 0 {
		t.Errorf("before damage: %v", got)
	}
	change := func(column, tuple string) {
		t.Helper()
		(&backend{c: c}).exec(t, "INSERT INTO "+c.name("clicks_1h_rollup")+" (page, country, window_start, "+column+") SELECT '/a', '', window_start, "+tuple+" FROM "+
			"(SELECT window_start, max(entry) AS entry, max(exit) AS exit FROM "+c.name("clicks_1h_rollup")+" WHERE page = '/a' GROUP BY window_start)")
	}
	change("exit", "(exit.time, exit.slot, exit.offset, 'it''s now')")
	change("entry", "(entry.time + 1000, entry.slot, entry.offset, 'earlier')")
	got := findings(t, s)
	if len(got) != 2 || got[0].Measure != "entry" || got[1].Measure != "exit" || got[0].Expected>>22 != got[0].Found>>22+1000 {
		t.Errorf("changed by hand: %+v", got)
	}
}
