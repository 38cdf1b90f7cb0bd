package clickhouse

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"weir/event"
	"weir/window"
)

// TestMax: views and plain SQL show the greatest number of a window, NULL if no event had
// one, before and after rollups; a number that was raised by hand shows too.
func TestMax(t *testing.T) {
	c := open(t)
	j := clicks()
	j.Rollups = j.Rollups[:2]
	j.Spec.Measures = []window.Measure{{Name: "dearest", Kind: window.Max, Path: "price", Optional: true}}
	s := unaudited(t, c, j)
	s.quiet = -time.Hour
	op := operator(t, s.layout.Spec, 0)
	n := int64(0)
	sell := func(minute int64, page string, prices ...string) {
		t.Helper()
		for _, price := range prices {
			ts := int64(noon) + minute*60_000
			doc := strings.TrimSuffix(click(ts, page, int(n), fmt.Sprint(n)), "}") + price + "}"
			observe(t, op, 0, n, event.Time(ts), doc)
			n++
		}
	}
	sell(0, "/a", `,"price":-3.5`, `,"price":-1.25`, "")
	sell(0, "/b", "", `,"price":null`)
	sell(1, "/a", `,"price":-7`)
	write(t, s, op.Take())
	const shown = " AS m, toTypeName(any(dearest)) AS type FROM (SELECT page, window_start, dearest FROM "
	see := func(view string, want ...string) {
		t.Helper()
		got := read(t, c, "SELECT page, ifNull(toString(max(dearest)), 'none')"+shown+c.name(view)+") GROUP BY page, window_start ORDER BY page, window_start")
		for i, w := range want {
			page, number, _ := strings.Cut(w, " ")
			want[i] = fmt.Sprintf("('%s','%s','Nullable(Float64)')", page, number)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %q, want %q", view, got, want)
		}
	}
	see("clicks_1m", "/a -1.25", "/a -7", "/b none")
	sell(1, "/b", `,"price":9007199254740993`)
	sell(0, "/a", `,"price":-2`)
	write(t, s, op.Take())
	for range 2 {
		see("clicks_1m", "/a -1.25", "/a -7", "/b none", "/b 9007199254740992")
		roll(t, s, true)
	}
	see("clicks_1h", "/a -1.25", "/b 9007199254740992")
	if got := one(t, c, "SELECT max(dearest) FROM "+c.name("clicks_1h_rollup")+" WHERE page = '/a'"); got != "(-1.25)" {
		t.Errorf("of all windows of a page: %s", got)
	}
	if got := findings(t, s); len(got) > 0 {
		t.Errorf("before damage: %v", got)
	}
	(&backend{c: c}).exec(t, "INSERT INTO "+c.name("clicks_1h_rollup")+" (page, country, window_start, dearest) SELECT '/a', '', window_start, 99 FROM "+c.name("clicks_1h_rollup")+" LIMIT 1")
	got := findings(t, s)
	if len(got) == 0 || got[0].Measure != "dearest" || window.Max.Text(got[0].Expected) != "99" || window.Max.Text(got[0].Found) != "-1.25" || got[0].Of != window.Max {
		t.Errorf("raised by hand: %v", got)
	}
}
