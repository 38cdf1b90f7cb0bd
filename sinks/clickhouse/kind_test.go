package clickhouse

import (
	"slices"
	"testing"

	"weir/measures"
	"weir/sinks/sinktest"
	"weir/window"
)

// TestEveryKind: each kind of measure has columns or a table of its own, and the job of
// sinktest has a measure of each kind.
func TestEveryKind(t *testing.T) {
	for _, k := range measures.All {
		if has := k.SQL(&window.Measure{Capacity: 1, Error: 0.1}) != nil; has == k.ByMember {
			t.Errorf("kind %s has columns: %t, rows of its own: %t", k, has, k.ByMember)
		}
		if !slices.ContainsFunc(sinktest.Spec().Measures, func(m window.Measure) bool { return m.Kind == k.Kind }) {
			t.Errorf("the suite has no measure of kind %s", k)
		}
	}
}
