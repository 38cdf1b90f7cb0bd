package clickhouse

import (
	"slices"
	"testing"

	"weir/sinks/sinktest"
	"weir/window"
)

// TestEveryKind: each kind of measure has columns or a table of its own, and the job of
// sinktest has a measure of each kind.
func TestEveryKind(t *testing.T) {
	for _, k := range window.Kinds() {
		if has := kinds[k] != nil; has == k.ByMember() {
			t.Errorf("kind %s has columns: %t, rows of its own: %t", k, has, k.ByMember())
		}
		if !slices.ContainsFunc(sinktest.Spec().Measures, func(m window.Measure) bool { return m.Kind == k }) {
			t.Errorf("the suite has no measure of kind %s", k)
		}
	}
}
