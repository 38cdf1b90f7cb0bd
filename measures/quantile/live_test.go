package quantile

import (
	"encoding/json"
	"math"
	"testing"

	"weir/sketches/histogram"
)

// TestSummary: what HTTP says of the numbers 1 to 10,000, and of none.
func TestSummary(t *testing.T) {
	layout := histogram.NewLayout(6)
	pool := new(histogram.Pool)
	pool.Grow(1)
	for n := range 10_000 {
		pool.Add(0, layout.Of(float64(n+1)))
	}
	said := func(value any) map[string]*float64 {
		t.Helper()
		text, err := json.Marshal(Live.Number(value))
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]*float64
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		return got
	}
	got := said(&Answer{pool.Append(nil, 0)})
	want := map[string]float64{"min": 1, "p50": 5001, "p90": 9001, "p95": 9501, "p99": 9901, "p999": 9991, "max": 10_000}
	for key, want := range want {
		if v := got[key]; v == nil || math.Abs(*v-want) > 0.0055*want {
			t.Errorf("%s is %v, want %v", key, v, want)
		}
	}
	if *got["p99"] == *got["p95"] || *got["p999"] == *got["p99"] || *got["count"] != 10_000 || len(got) != len(want)+1 {
		t.Errorf("%v", got)
	}
	for key, v := range said(nil) {
		if (key == "count") != (v != nil) || v != nil && *v != 0 {
			t.Errorf("of nothing %s is %v", key, v)
		}
	}
}
