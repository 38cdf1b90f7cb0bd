package sum

import (
	"encoding/binary"
	"maps"
	"slices"
	"strconv"
	"testing"

	"weir/measures/measuretest"
	"weir/window"
)

// TestTwin: a sum has, for each slot, the number of its events and what they add up to.
func TestTwin(t *testing.T) {
	for _, kind := range []*window.Kind{Sum, Avg} {
		measuretest.Twin(t, window.Measure{Kind: kind, Scale: 2}, 64, measuretest.Numbers, func(seen []measuretest.Seen) (state []byte) {
			type total struct{ events, units uint64 }
			totals := map[window.Slot]total{}
			for _, e := range seen {
				n, _ := strconv.ParseUint(e.Value, 10, 64)
				totals[e.Slot] = total{totals[e.Slot].events + 1, totals[e.Slot].units + 100*n}
			}
			for _, slot := range slices.Sorted(maps.Keys(totals)) {
				for _, word := range []uint64{uint64(slot), totals[slot].events, totals[slot].units, 0} {
					state = binary.LittleEndian.AppendUint64(state, word)
				}
			}
			return state
		})
	}
}
