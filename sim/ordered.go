package sim

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"weir/window"
)

// An orderedKeeper lists every value that a row was given, each with its place in the
// order of events as three numbers, of which the greatest come first or last.
type orderedKeeper struct {
	given [][]placed
	down  [3]uint64 // what the three numbers are counted down from; 0: they are as they are
}

type placed struct {
	at    [3]uint64
	value []byte
}

func (k *orderedKeeper) grow(n int) {
	for len(k.given) < n {
		k.given = append(k.given, nil)
	}
}

func (k *orderedKeeper) merge(i uint32, state []byte) error {
	if len(state) == 0 {
		return nil
	}
	if len(state) < 24 {
		return fmt.Errorf("a value of %d bytes", len(state))
	}
	var p placed
	for n := range p.at {
		p.at[n] = binary.LittleEndian.Uint64(state[8*n:])
	}
	p.value = bytes.Clone(state[24:])
	k.given[i] = append(k.given[i], p)
	return nil
}

func (k *orderedKeeper) bytes(dst []byte, i uint32) []byte {
	if len(k.given[i]) == 0 {
		return dst
	}
	best := slices.MaxFunc(k.given[i], func(a, b placed) int {
		if c := slices.Compare(a.at[:], b.at[:]); c != 0 {
			return c
		}
		return bytes.Compare(a.value, b.value)
	})
	for _, word := range best.at {
		dst = binary.LittleEndian.AppendUint64(dst, word)
	}
	return append(dst, best.value...)
}

// count takes the user of an event.
func (k *orderedKeeper) count(i uint32, f *reference, rec *record, _ window.Slot, _ string) {
	at := [3]uint64{uint64(f.stamp.Time) + 1, f.stamp.Slot, uint64(f.stamp.Offset)}
	if k.down != [3]uint64{} {
		at = [3]uint64{k.down[0] - uint64(f.stamp.Time), k.down[1] - f.stamp.Slot, k.down[2] - uint64(f.stamp.Offset)}
	}
	k.given[i] = append(k.given[i], placed{at, bytes.Clone(f.text("u", rec.user))})
}
