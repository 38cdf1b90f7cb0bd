package hll

import (
	"testing"

	"weir/measures/measuretest"
	"weir/sketches/hll"
	"weir/window"
)

// TestTwin: an HLL is that of the ids, added one by one.
func TestTwin(t *testing.T) {
	measuretest.Twin(t, window.Measure{Kind: Kind}, 64, measuretest.Texts, func(seen []measuretest.Seen) []byte {
		var s hll.Sketch
		for _, e := range seen {
			s.Add([]byte(e.Value))
		}
		return s.AppendClickHouse(nil)
	})
}
