package clickhouse

import (
	"testing"

	"weir/measures"
	"weir/window"
)

// TestEveryKind: each kind of measure has columns or a table of its own.
func TestEveryKind(t *testing.T) {
	for _, k := range measures.All {
		if has := k.SQL(&window.Measure{Capacity: 1, Error: 0.1}) != nil; has == k.ByMember {
			t.Errorf("kind %s has columns: %t, rows of its own: %t", k, has, k.ByMember)
		}
	}
}
