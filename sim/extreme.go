package sim

import (
	"encoding/binary"
	"fmt"
	"math"

	"weir/window"
)

// An extremeKeeper lists every number that a row was given, and looks for the greatest or
// the least.
type extremeKeeper struct {
	given [][]float64
	of    func([]float64) float64
}

func (k *extremeKeeper) grow(n int) {
	for len(k.given) < n {
		k.given = append(k.given, nil)
	}
}

func (k *extremeKeeper) merge(i uint32, state []byte) error {
	switch len(state) {
	case 0:
	case 8:
		k.given[i] = append(k.given[i], math.Float64frombits(binary.LittleEndian.Uint64(state)))
	default:
		return fmt.Errorf("a number of %d bytes", len(state))
	}
	return nil
}

func (k *extremeKeeper) bytes(dst []byte, i uint32) []byte {
	if len(k.given[i]) == 0 {
		return dst
	}
	return binary.LittleEndian.AppendUint64(dst, math.Float64bits(k.of(k.given[i])))
}

// count takes how far east an event is. The record spells hundredths; the nearest
// float64 of the text is that of the quotient.
func (k *extremeKeeper) count(i uint32, _ *reference, rec *record, _ window.Slot, _ string) {
	if rec.placed() {
		k.given[i] = append(k.given[i], float64(rec.lon)/100)
	}
}
