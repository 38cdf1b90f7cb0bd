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

// A quantileKeeper has a histogram for each slot of a row.
type quantileKeeper struct {
	histograms []map[window.Slot]slotHistogram
}

type slotHistogram struct {
	events uint64
	counts map[uint32]uint64 // by bucket, below 2^32
}

func newQuantileKeeper(*window.Measure) keeper { return new(quantileKeeper) }

func (k *quantileKeeper) grow(n int) {
	for len(k.histograms) < n {
		k.histograms = append(k.histograms, map[window.Slot]slotHistogram{})
	}
}

// words is the histogram as it is stored.
func (h slotHistogram) words() (b []byte) {
	for _, bucket := range slices.Backward(slices.Sorted(maps.Keys(h.counts))) {
		b = binary.BigEndian.AppendUint64(b, uint64(bucket)<<32|h.counts[bucket])
	}
	return b
}

// merge keeps the histogram of more events for each slot; see sumKeeper.merge.
func (k *quantileKeeper) merge(i uint32, state []byte) error {
	for len(state) > 0 {
		if len(state) < 24 {
			return fmt.Errorf("%d bytes behind a histogram", len(state))
		}
		slot, is := window.Slot(binary.LittleEndian.Uint64(state)), slotHistogram{binary.LittleEndian.Uint64(state[8:]), map[uint32]uint64{}}
		n := binary.LittleEndian.Uint64(state[16:])
		if state = state[24:]; n > uint64(len(state)) || n%8 != 0 {
			return fmt.Errorf("a histogram of %d bytes in %d", n, len(state))
		}
		for words := state[:n]; len(words) > 0; words = words[8:] {
			w := binary.BigEndian.Uint64(words)
			is.counts[uint32(w>>32)] = w & (1<<32 - 1)
		}
		state = state[n:]
		have := k.histograms[i][slot]
		if cmp.Or(cmp.Compare(is.events, have.events), slices.Compare(is.words(), have.words())) > 0 {
			k.histograms[i][slot] = is
		}
	}
	return nil
}

func (k *quantileKeeper) bytes(dst []byte, i uint32) []byte {
	word := binary.LittleEndian.AppendUint64
	for _, slot := range slices.Sorted(maps.Keys(k.histograms[i])) {
		h := k.histograms[i][slot]
		words := h.words()
		dst = append(word(word(word(dst, uint64(slot)), h.events), uint64(len(words))), words...)
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
	h := k.histograms[i][slot]
	if h.counts == nil {
		h.counts = map[uint32]uint64{}
	}
	h.counts[uint32(scale<<28+1<<27+bucket)]++
	k.histograms[i][slot] = slotHistogram{h.events + 1, h.counts}
}
