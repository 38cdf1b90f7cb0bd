package clickhouse

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"weir/window"
)

// TestExtremes: views and plain SQL show the greatest and the least number of a window,
// NULL if no event had one, before and after rollups; a number that was raised or lowered
// by hand shows too.
func TestExtremes(t *testing.T) {
	c := open(t)
	j := clicks()
	j.Rollups = j.Rollups[:2]
	j.Spec.Measures = []window.Measure{{Name: "dearest", Kind: window.Max, Path: "price", Optional: true}, {Name: "cheapest", Kind: window.Min, Path: "price", Optional: true}}
	s := unasked(t, c, j)
	s.quiet = -time.Hour
	op := operator(t, s.layout.Spec, 0)
	sell := seller(t, op)
	sell(0, "/a", `,"price":-3.5`, `,"price":-1.25`, "")
	sell(0, "/b", "", `,"price":null`)
	sell(1, "/a", `,"price":-7`)
	write(t, s, op.Take())
	see := func(view string, want ...string) {
		t.Helper()
		got := read(t, c, "SELECT page, ifNull(toString(min(cheapest)), 'none'), ifNull(toString(max(dearest)), 'none'), toTypeName(any(cheapest)), toTypeName(any(dearest)) FROM "+
			"(SELECT page, window_start, cheapest, dearest FROM "+c.name(view)+") GROUP BY page, window_start ORDER BY page, window_start")
		for i, w := range want {
			f := strings.Fields(w)
			want[i] = fmt.Sprintf("('%s','%s','%s','Nullable(Float64)','Nullable(Float64)')", f[0], f[1], f[2])
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %q, want %q", view, got, want)
		}
	}
	see("clicks_1m", "/a -3.5 -1.25", "/a -7 -7", "/b none none")
	sell(1, "/b", `,"price":9007199254740993`)
	sell(0, "/a", `,"price":-2`, `,"price":-3.75`)
	write(t, s, op.Take())
	for range 2 {
		see("clicks_1m", "/a -3.75 -1.25", "/a -7 -7", "/b none none", "/b 9007199254740992 9007199254740992")
		roll(t, s, true)
	}
	see("clicks_1h", "/a -7 -1.25", "/b 9007199254740992 9007199254740992")
	if got := one(t, c, "SELECT min(cheapest), max(dearest) FROM "+c.name("clicks_1h_rollup")+" WHERE page = '/a'"); got != "(-7,-1.25)" {
		t.Errorf("of all windows of a page: %s", got)
	}
	if got := findings(t, s); len(got) > 0 {
		t.Errorf("before damage: %v", got)
	}
	(&backend{c: c}).exec(t, "INSERT INTO "+c.name("clicks_1h_rollup")+" (page, country, window_start, dearest, cheapest) SELECT '/a', '', window_start, 99, -99 FROM "+c.name("clicks_1h_rollup")+" LIMIT 1")
	got := findings(t, s)
	for i, want := range []struct {
		measure         string
		of              window.Kind
		expected, found string
	}{{"dearest", window.Max, "99", "-1.25"}, {"cheapest", window.Min, "-99", "-7"}} {
		if len(got) != 2 || got[i].Measure != want.measure || got[i].Of.Kind != want.of || got[i].Of.Text(got[i].Expected) != want.expected || got[i].Of.Text(got[i].Found) != want.found {
			t.Errorf("%s changed by hand: %+v", want.measure, got)
		}
	}
}
