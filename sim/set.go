package sim

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"weir/sketches/bloom"
	"weir/sketches/hll"
	"weir/window"
)

// A setKeeper keeps hashes of 32 bits.
type setKeeper struct{ sets []map[uint32]bool }

func newSetKeeper(*window.Measure) keeper { return new(setKeeper) }

func (k *setKeeper) grow(n int) {
	for len(k.sets) < n {
		k.sets = append(k.sets, map[uint32]bool{})
	}
}

func (k *setKeeper) merge(i uint32, state []byte) error {
	if len(state)%4 != 0 {
		return fmt.Errorf("hashes in %d bytes", len(state))
	}
	for ; len(state) > 0; state = state[4:] {
		k.sets[i][binary.LittleEndian.Uint32(state)] = true
	}
	return nil
}

func (k *setKeeper) bytes(dst []byte, i uint32) []byte {
	for _, h := range slices.Sorted(maps.Keys(k.sets[i])) {
		dst = binary.LittleEndian.AppendUint32(dst, h)
	}
	return dst
}

func (k *setKeeper) count(i uint32, f *reference, rec *record, _ window.Slot, _ string) {
	hash := bloom.Hash
	if key := f.spec.HashKey; key != nil {
		hash = func(id []byte) uint64 { return hll.KeyedHash(*key, id) }
	}
	k.sets[i][uint32(hash(f.text("u", rec.user)))] = true
}
