package sim

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"weir/window"
)

// A sumKeeper has the sum of each slot of a row. The sums of the simulator's logs are
// small, so that an int64 holds them.
type sumKeeper struct{ sums []map[window.Slot]slotSum }

type slotSum struct {
	events uint64
	sum    int64
}

func newSumKeeper(*window.Measure) keeper { return new(sumKeeper) }

func (k *sumKeeper) grow(n int) {
	for len(k.sums) < n {
		k.sums = append(k.sums, map[window.Slot]slotSum{})
	}
}

// merge keeps the sum of more events for each slot. There is only one sum of as many
// events, unless the beginning of the chunk has expired for one reader and not for
// another.
func (k *sumKeeper) merge(i uint32, state []byte) error {
	for ; len(state) > 0; state = state[32:] {
		if len(state) < 32 {
			return fmt.Errorf("a sum of %d bytes", len(state))
		}
		slot, is := window.Slot(binary.LittleEndian.Uint64(state)), slotSum{binary.LittleEndian.Uint64(state[8:]), int64(binary.LittleEndian.Uint64(state[16:]))}
		if have := k.sums[i][slot]; is.events > have.events || is.events == have.events && is.sum > have.sum {
			k.sums[i][slot] = is
		}
	}
	return nil
}

func (k *sumKeeper) bytes(dst []byte, i uint32) []byte {
	for _, slot := range slices.Sorted(maps.Keys(k.sums[i])) {
		s := k.sums[i][slot]
		for _, word := range []uint64{uint64(slot), s.events, uint64(s.sum), uint64(s.sum >> 63)} {
			dst = binary.LittleEndian.AppendUint64(dst, word)
		}
	}
	return dst
}

// count takes how far east an event is, in the hundredths that the record spells.
func (k *sumKeeper) count(i uint32, _ *reference, rec *record, slot window.Slot, _ string) {
	if rec.placed() {
		s := k.sums[i][slot]
		k.sums[i][slot] = slotSum{s.events + 1, s.sum + int64(rec.lon)}
	}
}
