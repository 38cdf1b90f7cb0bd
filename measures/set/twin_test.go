package set

import (
	"encoding/binary"
	"maps"
	"slices"
	"testing"

	"github.com/cespare/xxhash/v2"

	"weir/measures/measuretest"
	"weir/window"
)

// TestTwin: a set is the lower halves of the ids' XXH64, ascending.
func TestTwin(t *testing.T) {
	measuretest.Twin(t, window.Measure{Kind: Kind}, 64, measuretest.Texts, func(seen []measuretest.Seen) (state []byte) {
		hashes := map[uint32]bool{}
		for _, e := range seen {
			hashes[uint32(xxhash.Sum64String(e.Value))] = true
		}
		for _, h := range slices.Sorted(maps.Keys(hashes)) {
			state = binary.LittleEndian.AppendUint32(state, h)
		}
		return state
	})
}
