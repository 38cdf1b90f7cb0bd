package ordered

import (
	"cmp"
	"encoding/binary"
	"slices"
	"testing"

	"weir/measures/measuretest"
	"weir/window"
)

// TestTwin: the first and the last value are those of the first and the last event, by time and place in the log.
func TestTwin(t *testing.T) {
	order := func(a, b measuretest.Seen) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.Slot, b.Slot), cmp.Compare(a.Offset, b.Offset))
	}
	state := func(value string, words ...uint64) (state []byte) {
		for _, w := range words {
			state = binary.LittleEndian.AppendUint64(state, w)
		}
		return append(state, value...)
	}
	measuretest.Twin(t, window.Measure{Kind: First}, 64, measuretest.Texts, func(seen []measuretest.Seen) []byte {
		if len(seen) == 0 {
			return nil
		}
		e := slices.MinFunc(seen, order)
		return state(e.Value, 1<<42-1-uint64(e.Time), ^uint64(e.Slot), ^uint64(e.Offset))
	})
	measuretest.Twin(t, window.Measure{Kind: Last}, 64, measuretest.Texts, func(seen []measuretest.Seen) []byte {
		if len(seen) == 0 {
			return nil
		}
		e := slices.MaxFunc(seen, order)
		return state(e.Value, uint64(e.Time)+1, uint64(e.Slot), uint64(e.Offset))
	})
}
