package sim

import (
	"weir/sketches/bloom"
	"weir/sketches/hll"
	"weir/window"
)

// A setKeeper keeps hashes of 32 bits as a bitmapKeeper keeps ids.
type setKeeper struct{ bitmapKeeper }

func newSetKeeper(*window.Measure) keeper { return new(setKeeper) }

func (k *setKeeper) count(i uint32, f *reference, rec *record, _ window.Slot, _ string) {
	hash := bloom.Hash
	if key := f.spec.HashKey; key != nil {
		hash = func(id []byte) uint64 { return hll.KeyedHash(*key, id) }
	}
	k.pool.Add(i, uint32(hash(f.text("u", rec.user))))
}
