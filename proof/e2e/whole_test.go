package e2e

import (
	"fmt"
	"strings"
	"testing"

	"weir/demo/gen"
	"weir/event"
)

// Everything at once: two jobs on topics with every kind of disorder, three
// spans of time on both sides of a midnight, and all queries.
func TestWhole(t *testing.T) {
	parallel(t)
	s := newStage(t)
	s.configure(fmt.Sprintf(`
  - name: clicks
    topic: %s
    time: {field: ts, unit: ms}
    window: 1m
    rollups: [1m, 1h, 1d]
    lateness: 24h
    skew: 10m
    by: [page]
    dedupe: {field: event_id, error: 0.000001}
    measures:
      - {name: users, kind: hll, field: user_id}
      - {name: active, kind: bitmap, field: user_id}
`, s.topic("clicks"))+bloomOfUsers+measuresOfUsers(), strings.Replace(fmt.Sprintf(locationsJob, s.topic("locations")), "[1m, 1h]", "[1m, 1h, 1d]", 1))
	s.migrate()

	spoiled := []string{"--disorder", "3m", "--late", "0.01", "--future", "0.01", "--malformed", "0.02", "--pages", "60", "--users", "20000"}
	var clicks, locations []*gen.Truth
	for i, start := range []string{"26h", "100m", "10m"} {
		seed := fmt.Sprint(7 + i)
		clicks = append(clicks, s.produced("clicks", 40_000, append(spoiled, "--start", start, "--seed", seed, "--duplicates", "0.02", "--truth.dedupe")...))
		locations = append(locations, s.produced("locations", 15_000, append(spoiled, "--start", start, "--seed", seed, "--duplicates", "0.02")...))
	}
	s.untilEnd()

	truth := union(clicks...)
	if f := truth.Outcomes; min(f.Valid, f.Malformed, f.Late, f.Future, f.Duplicate) < 500 {
		t.Fatalf("the traffic lacks a kind: %+v", f)
	}
	s.sameClicks(truth)
	s.compareFilters("clicks_state", "seen", "page", truth).report(t)
	s.compareHistograms("clicks_state", "spread", "page", truth).report(t)
	for view, window := range map[string]event.Time{"clicks_1h": 3_600_000, "clicks_1d": 86_400_000} {
		long := rollup(truth, window)
		s.sameView(view, "page", long)
		s.sameSketches(view+"_states", "users_state", "page", long)
		s.sameBitmaps(view+"_states", "active_state", "page", long)
		s.compareHistograms(view+"_rollup", "spread_state", "page", long).report(t)
	}

	where := union(locations...)
	s.sameOutcomes("locations", where)
	s.sameView("locations_1m", "cell", where)
	s.sameSketches("locations_state", "users", "cell", where)
	s.samePlaces("locations_places", where)
	s.sameView("locations_1h", "cell", rollup(where, 3_600_000))
	s.sameView("locations_1d", "cell", rollup(where, 86_400_000))

	s.audited()

	// The audit can find something: it finds deleted rows.
	s.sql("ALTER TABLE clicks_state DELETE WHERE page = '/p/3' SETTINGS mutations_sync = 2")
	s.weir("verify").exits(1).prints("/p/3")
	for _, kind := range []string{"rows missing", "window"} {
		if n := s.number("SELECT count() FROM weir_audit WHERE job = 'clicks' AND kind = '%s'", kind); n == 0 {
			t.Errorf("weir_audit finds nothing of kind %q after rows were deleted", kind)
		}
	}
}
