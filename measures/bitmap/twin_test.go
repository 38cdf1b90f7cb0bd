package bitmap

import (
	"strconv"
	"testing"

	"weir/measures/measuretest"
	"weir/sketches/bitmap"
	"weir/window"
)

// TestTwin: a bitmap is that of the ids, added one by one.
func TestTwin(t *testing.T) {
	measuretest.Twin(t, window.Measure{Kind: Kind}, 64, measuretest.Numbers, func(seen []measuretest.Seen) []byte {
		ids := new(bitmap.Pool)
		ids.Grow(1)
		for _, e := range seen {
			id, _ := strconv.ParseUint(e.Value, 10, 32)
			ids.Add(0, uint32(id))
		}
		return ids.AppendClickHouse(nil, 0)
	})
}
