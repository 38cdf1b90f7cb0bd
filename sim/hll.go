package sim

import (
	"weir/sketches/hll"
	"weir/window"
)

type hllKeeper struct{ pool hll.Pool }

func newHLLKeeper(*window.Measure) keeper { return new(hllKeeper) }

func (k *hllKeeper) grow(n int) { k.pool.Grow(n) }

func (k *hllKeeper) merge(i uint32, state []byte) error {
	_, err := k.pool.MergeClickHouse(i, state)
	return err
}

func (k *hllKeeper) bytes(dst []byte, i uint32) []byte { return k.pool.AppendClickHouse(dst, i) }

func (k *hllKeeper) count(i uint32, f *reference, rec *record, _ window.Slot, m string) {
	text := f.text("u", rec.user)
	if m == addedMeasure {
		text = f.text("e", rec.id)
	}
	if f.spec.HashKey != nil {
		k.pool.Add(i, hll.KeyedHash(*f.spec.HashKey, text))
	} else {
		k.pool.Add(i, hll.Hash(text))
	}
}
