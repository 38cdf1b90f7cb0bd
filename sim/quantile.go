package sim

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"

	"weir/window"
)

// A quantileKeeper has the count of each bucket in each slot of a row.
type quantileKeeper struct{ counts []map[slotBucket]uint64 }

type slotBucket struct {
	slot   window.Slot
	bucket uint32
}

func newQuantileKeeper(*window.Measure) keeper { return new(quantileKeeper) }

func (k *quantileKeeper) grow(n int) {
	for len(k.counts) < n {
		k.counts = append(k.counts, map[slotBucket]uint64{})
	}
}

func (k *quantileKeeper) merge(i uint32, state []byte) error {
	for ; len(state) > 0; state = state[24:] {
		if len(state) < 24 {
			return fmt.Errorf("a histogram of %d bytes", len(state))
		}
		at := slotBucket{window.Slot(binary.LittleEndian.Uint64(state[4:])), binary.LittleEndian.Uint32(state)}
		k.counts[i][at] = max(k.counts[i][at], binary.LittleEndian.Uint64(state[16:]))
	}
	return nil
}

func (k *quantileKeeper) bytes(dst []byte, i uint32) []byte {
	keys := slices.SortedFunc(maps.Keys(k.counts[i]), func(a, b slotBucket) int {
		return cmp.Or(cmp.Compare(a.slot, b.slot), cmp.Compare(a.bucket, b.bucket))
	})
	for _, at := range keys {
		dst = binary.LittleEndian.AppendUint32(dst, at.bucket)
		dst = binary.LittleEndian.AppendUint64(dst, uint64(at.slot))
		dst = binary.LittleEndian.AppendUint32(dst, 0)
		dst = binary.LittleEndian.AppendUint64(dst, k.counts[i][at])
	}
	return dst
}

// count takes how far east an event is, at scale 3. The numbers are hundredths: the
// logarithm of a power of two is exact, and no other one is near a bound.
func (k *quantileKeeper) count(i uint32, _ *reference, rec *record, slot window.Slot, _ string) {
	if !rec.placed() {
		return
	}
	const scale = 3
	bucket := 0
	if v := float64(rec.lon) / 100; v != 0 {
		bucket = int(math.Ceil(math.Log2(math.Abs(v))*(1<<scale))) + 1023<<scale
		if v < 0 {
			bucket = -bucket
		}
	}
	k.counts[i][slotBucket{slot, uint32(scale<<28 + 1<<27 + bucket)}]++
}
