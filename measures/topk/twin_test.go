package topk

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"
	"testing"

	"weir/measures/measuretest"
	"weir/window"
)

// TestTwin: a list has, for each slot, its keys and their counts, the most frequent first.
func TestTwin(t *testing.T) {
	m := window.Measure{Kind: Kind, K: 3}
	listed, cuts := Listed(&m), 0
	measuretest.Twin(t, m, 256, measuretest.Texts, func(seen []measuretest.Seen) (state []byte) {
		slots := map[window.Slot]map[string]uint64{}
		for _, e := range seen {
			if slots[e.Slot] == nil {
				slots[e.Slot] = map[string]uint64{}
			}
			slots[e.Slot][e.Value]++
		}
		word := func(n uint64) { state = binary.LittleEndian.AppendUint64(state, n) }
		for _, slot := range slices.Sorted(maps.Keys(slots)) {
			counts := slots[slot]
			keys := slices.SortedFunc(maps.Keys(counts), func(a, b string) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b)) })
			events := uint64(0)
			for _, n := range counts {
				events += n
			}
			word(uint64(slot))
			word(events)
			floor := uint64(0)
			if len(keys) > listed {
				floor, keys, cuts = counts[keys[listed]], keys[:listed], cuts+1
			}
			word(floor)
			word(uint64(len(keys)))
			for _, key := range keys {
				word(uint64(len(key)))
				state = append(state, key...)
				word(counts[key])
				word(0)
			}
		}
		return state
	})
	if cuts == 0 {
		t.Error("no list is cut: the test tests little")
	}
}
