package sim

import (
	"weir/sketches/bloom"
	"weir/window"
)

type bloomKeeper struct{ pool *bloom.Pool }

func newBloomKeeper(m *window.Measure) keeper {
	return &bloomKeeper{bloom.NewPool(m.Capacity, m.Error)}
}

func (k *bloomKeeper) grow(n int) { k.pool.Grow(n) }

func (k *bloomKeeper) merge(i uint32, state []byte) error { return k.pool.MergeClickHouse(i, state) }

func (k *bloomKeeper) bytes(dst []byte, i uint32) []byte { return k.pool.AppendClickHouse(dst, i) }

func (k *bloomKeeper) count(i uint32, f *reference, rec *record, _ window.Slot, _ string) {
	k.pool.Add(i, bloom.Hash(f.text("e", rec.id)))
}
