package clickhouse

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"weir/window"
)

// TestSum: views show the exact sum and the mean, of types Decimal and Float64, before and
// after rollups, also where a later event lowers the sum; a rollup that was changed by hand
// shows.
func TestSum(t *testing.T) {
	c := open(t)
	j := clicks()
	j.Rollups = j.Rollups[:2]
	j.Spec.Measures = []window.Measure{
		{Name: "revenue", Kind: window.Sum, Path: "price", Optional: true, Scale: 2},
		{Name: "usual", Kind: window.Avg, Path: "price", Optional: true, Scale: 2},
	}
	s := unasked(t, c, j)
	s.quiet = -time.Hour
	op := operator(t, s.layout.Spec, 0)
	sell := seller(t, op)
	see := func(view string, want ...string) {
		t.Helper()
		got := read(t, c, "SELECT concat(page, ' ', toString(revenue), ' ', ifNull(toString(usual), 'none')) FROM "+c.name(view)+" ORDER BY page, window_start")
		for i, w := range want {
			want[i] = "('" + w + "')"
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %q, want %q", view, got, want)
		}
	}
	sell(0, "/a", `,"price":3.5`, `,"price":0.1`, `,"price":0.2`, "")
	sell(0, "/b", "", `,"price":null`)
	sell(1, "/a", `,"price":7`)
	write(t, s, op.Take())
	roll(t, s, true)
	see("clicks_1m", "/a 3.8 1.2666666666666666", "/a 7 7", "/b 0 none")
	sell(1, "/a", `,"price":-100.01`)
	write(t, s, op.Take())
	for range 2 { // from the live tail, then from the rollup
		see("clicks_1m", "/a 3.8 1.2666666666666666", "/a -93.01 -46.505", "/b 0 none")
		see("clicks_1h", "/a -89.21 -17.842", "/b 0 none")
		roll(t, s, true)
	}
	if got := read(t, c, "SELECT DISTINCT concat(toTypeName(revenue), ' ', toTypeName(usual)) FROM "+c.name("clicks_1h")); fmt.Sprint(got) != "[('Decimal(38, 2) Nullable(Float64)')]" {
		t.Errorf("the types are %s", got)
	}
	if got := findings(t, s); len(got) > 0 {
		t.Errorf("before damage: %v", got)
	}
	(&backend{c: c}).exec(t, "INSERT INTO "+c.name("clicks_1h_rollup")+" (page, country, window_start, revenue_state) SELECT '/a', '', window_start, map("+whole+", (9, 99)) FROM "+c.name("clicks_1h_rollup")+" LIMIT 1")
	got := findings(t, s)
	if len(got) != 1 || got[0].Measure != "revenue" || !strings.Contains(got[0].Of.Text(got[0].Expected)+got[0].Of.Text(got[0].Found), "99.00") {
		t.Errorf("changed by hand: %v", got)
	}
}
