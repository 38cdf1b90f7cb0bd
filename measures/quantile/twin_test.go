package quantile

import (
	"encoding/binary"
	"maps"
	"slices"
	"strconv"
	"testing"

	"weir/measures/measuretest"
	"weir/sketches/histogram"
	"weir/window"
)

// TestTwin: a histogram has, for each slot, how many of its events are in each bucket.
func TestTwin(t *testing.T) {
	m := window.Measure{Kind: Kind, Error: 0.05}
	layout := histogram.NewLayout(histogram.ScaleFor(m.Error))
	measuretest.Twin(t, m, 64, measuretest.Numbers, func(seen []measuretest.Seen) (state []byte) {
		slots := map[window.Slot]histogram.Counts{}
		for _, e := range seen {
			f, _ := strconv.ParseFloat(e.Value, 64)
			counts := slots[e.Slot]
			counts.Add(histogram.Counts{{Bucket: layout.Of(f), N: 1}})
			slots[e.Slot] = counts
		}
		for _, slot := range slices.Sorted(maps.Keys(slots)) {
			words := slots[slot].AppendState(nil)
			for _, word := range []uint64{uint64(slot), slots[slot].Total(), uint64(len(words))} {
				state = binary.LittleEndian.AppendUint64(state, word)
			}
			state = append(state, words...)
		}
		return state
	})
}
