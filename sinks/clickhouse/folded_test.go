package clickhouse

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"weir/event"
	"weir/measures"
	"weir/measures/set"
	"weir/sinks/clickhouse/wire"
	"weir/window"
)

// sorted sorts a set, because the union has no order.
func sorted(state string) string {
	if strings.HasPrefix(state, "groupUniqArrayArray(") {
		return "arraySort(" + state + ")"
	}
	return state
}

// TestFolded: what rollups make of states in less time is what fold makes of merge, for each
// kind that adds up: of states that repeat slots and of some that do not, of slot 0 and of
// rows without an event of the measure.
func TestFolded(t *testing.T) {
	c := open(t)
	j := clicks()
	j.Spec.Measures, j.Spec.Chunk = nil, 1<<12
	for _, k := range measures.All {
		if k.Additive || k.Kind == set.Kind {
			j.Spec.Measures = append(j.Spec.Measures, window.Measure{Name: k.Name, Kind: k.Kind, Path: "n", Optional: true, Error: 0.01, K: 3})
		}
	}
	s := install(t, c, j)
	if err := c.Exec(t.Context(), "prepare", "SYSTEM STOP MERGES "+c.Name("clicks_state"), wire.QueryTimeout); err != nil {
		t.Fatal(err)
	}
	op := operator(t, s.layout.Spec, 0, 1, 2)
	r := rand.New(rand.NewPCG(7, 5))
	for n := range int64(3000) {
		doc := fmt.Sprintf(`{"ts":%d,"page":"/%d","n":%d}`, int64(noon)+n, r.IntN(3), r.IntN(500)-20)
		if r.IntN(500) == 0 {
			doc = fmt.Sprintf(`{"ts":%d,"page":"/none"}`, int64(noon)+n)
		}
		observe(t, op, int32(n%3), n/3, event.Time(noon), doc)
		if r.IntN(400) == 0 || n == 2999 {
			write(t, s, op.Take())
		}
	}
	slots := one(t, c, "SELECT max(n) > max(d) FROM (SELECT sum(length(hits)) AS n, length(groupUniqArrayArray(mapKeys(hits))) AS d FROM "+c.Name("clicks_state")+" GROUP BY page, window_start)")
	if slots != "(1)" {
		t.Fatal("no slot is written twice: the test tests nothing")
	}
	if got := one(t, c, "SELECT max(arrayMax(tupleElement(mapValues(topk), 2))) > 0 FROM "+c.Name("clicks_state")); got != "(1)" {
		t.Fatal("no list of a slot lacks a key: the test tests nothing")
	}
	for m := range s.layout.Counted {
		sql := fmt.Sprintf("SELECT count(), countIf(a = b), countIf(toTypeName(a) = toTypeName(b)), countIf(length(a) > 0) > 0 FROM (SELECT %s AS a, %s AS b FROM %s AS _s GROUP BY page, window_start)",
			sorted(m.Fold(m.Merge("_s."+m.Stored()))), m.Folded("_s."+m.Stored()), c.Name("clicks_state"))
		if got := one(t, c, sql); got != "(4,4,4,1)" {
			t.Errorf("%s: %s groups, equal, of equal types, some not empty; want (4,4,4,1)", m.Name, got)
		}
	}
}
