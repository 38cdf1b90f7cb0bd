package clickhouse

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"weir/measures/extreme"
	"weir/measures/ordered"
	"weir/measures/quantile"
	"weir/measures/set"
	"weir/measures/slots"
	"weir/measures/sum"
	"weir/measures/topk"
	"weir/window"
)

// TestChangedByHand: for each kind that TestAuditMeasures has not, a value of a rollup that was changed by hand
// is found. weirTopK and weirQuantile answer of several windows, also of measures with two errors.
func TestChangedByHand(t *testing.T) {
	c := open(t)
	j := clicks()
	j.Rollups, j.Spec.By = j.Rollups[:2], j.Spec.By[:1]
	const rough = 0.1
	j.Spec.Measures = []window.Measure{
		{Name: "people", Kind: set.Kind, Path: "user"},
		{Name: "least", Kind: extreme.Min, Path: "price"}, {Name: "most", Kind: extreme.Max, Path: "price"},
		{Name: "revenue", Kind: sum.Sum, Path: "price", Scale: 2}, {Name: "usual", Kind: sum.Avg, Path: "price", Scale: 2},
		{Name: "opening", Kind: ordered.First, Path: "sku"}, {Name: "latest", Kind: ordered.Last, Path: "sku"},
		{Name: "top", Kind: topk.Kind, Path: "sku", K: 5},
		{Name: "spread", Kind: quantile.Kind, Path: "price", Error: 0.01}, {Name: "rough", Kind: quantile.Kind, Path: "price", Error: rough},
	}
	s := install(t, c, j)
	s.Quiet = -time.Hour
	op := operator(t, s.layout.Spec, 0)
	for i := range int64(100) { // key n of ten keys has 1 to 19 events
		observe(t, op, 0, i, noon, fmt.Sprintf(`{"ts":%d,"page":"/","user":%d,"price":%d,"sku":"s%d"}`, noon+i%3*60_000, i, i-20, int64(math.Sqrt(float64(i)))))
	}
	write(t, s, op.Take())
	roll(t, s, true)
	if got := findings(t, s); len(got) > 0 {
		t.Fatalf("before damage: %v", got)
	}

	if got := fmt.Sprint(read(t, c, "SELECT e.1, e.2, e.3 FROM (SELECT arrayJoin(weirTopK(top_state, 3)) AS e FROM "+c.Name("clicks_1m_rollup")+" FINAL)")); got != "[('s9',19,0) ('s8',17,0) ('s7',15,0)]" {
		t.Errorf("weirTopK: %s", got)
	}
	for _, states := range []string{"spread_state", "arrayJoin([spread_state, rough_state])"} {
		for _, q := range []float64{0, 0.1, 0.2, 0.5, 0.75, 1} {
			want := math.Min(100*q, 99) - 20
			got := one(t, c, fmt.Sprintf("SELECT weirQuantile(%s, %v) FROM %s FINAL", states, q, c.Name("clicks_1m_rollup")))
			f, err := strconv.ParseFloat(strings.Trim(got, "()"), 64)
			if err != nil || math.Abs(f-want) > rough*math.Abs(want) {
				t.Errorf("weirQuantile of %s: quantile %v is %s, want %v", states, q, got, want)
			}
		}
	}
	err := c.Query(t.Context(), "ask", "SELECT weirQuantile(spread_state, 95) FROM "+c.Name("clicks_1m_rollup"), func(func(...any) error) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "the level of weirQuantile has to be 0 to 1") {
		t.Errorf("weirQuantile at level 95: %v", err)
	}

	b := &backend{c: c}
	for column, to := range map[string]string{
		"people": "99999", "least": "-99", "most": "999",
		"revenue_state": "map(" + slots.WholeSQL + ", (999, 99))", "usual_state": "map(" + slots.WholeSQL + ", (999, 99))",
		"opening": "(opening.time + 1000, opening.slot, opening.offset, 'other')", "latest": "(latest.time, latest.slot, latest.offset, 'zero')",
		"top_state":    "map(" + slots.WholeSQL + ", (9999, 0, [('x', 9999, 0)]))",
		"spread_state": "map(mapKeys(spread_state)[1], (toUInt64(1000000), mapValues(spread_state)[1].2))",
	} {
		b.exec(t, "INSERT INTO "+c.Name("clicks_1h_rollup")+" (page, window_start, "+column+") SELECT '/', window_start, "+to+" FROM "+c.Name("clicks_1h_rollup")+" FINAL WHERE hits > 0 LIMIT 1")
	}
	found := map[string]bool{}
	for _, f := range findings(t, s) {
		found[f.Measure] = true
	}
	for _, m := range s.layout.Measures {
		if m.Name != "rough" && !found[m.Name] {
			t.Errorf("%s was changed by hand, and the audit finds %v", m.Name, found)
		}
	}
}
