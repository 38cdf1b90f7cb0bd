package bloom

import (
	"testing"

	"weir/measures/measuretest"
	"weir/sketches/bloom"
	"weir/window"
)

// TestTwin: a filter is that of the ids, added one by one.
func TestTwin(t *testing.T) {
	m := window.Measure{Kind: Kind, Capacity: 300, Error: 0.01}
	measuretest.Twin(t, m, 64, measuretest.Texts, func(seen []measuretest.Seen) []byte {
		ids := bloom.NewPool(m.Capacity, m.Error)
		ids.Grow(1)
		for _, e := range seen {
			ids.AddBatch([]uint32{0}, []uint64{bloom.Hash([]byte(e.Value))})
		}
		return ids.AppendClickHouse(nil, 0)
	})
}
