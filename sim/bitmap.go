package sim

import (
	"weir/sketches/bitmap"
	"weir/window"
)

type bitmapKeeper struct{ pool bitmap.Pool }

func newBitmapKeeper(*window.Measure) keeper { return new(bitmapKeeper) }

func (k *bitmapKeeper) grow(n int) { k.pool.Grow(n) }

func (k *bitmapKeeper) merge(i uint32, state []byte) error { return k.pool.MergeClickHouse(i, state) }

func (k *bitmapKeeper) bytes(dst []byte, i uint32) []byte { return k.pool.AppendClickHouse(dst, i) }

func (k *bitmapKeeper) count(i uint32, _ *reference, rec *record, _ window.Slot, _ string) {
	if rec.device >= 0 {
		k.pool.Add(i, uint32(rec.device))
	}
}
