package window

import (
	"weir/sketches/bitmap"
)

// Bitmap is the set of ids themselves, unsigned integers below 2^32: ClickHouse's
// groupBitmap.
var Bitmap Kind = bitmapKind{}

type bitmapKind struct {
	grouped
	count
}

func (bitmapKind) String() string { return "bitmap" }

func (bitmapKind) HoldsValues() bool { return true }

func (bitmapKind) paths(*Measure) []string { return nil }

func (bitmapKind) column(*Measure) column { return new(bitmapColumn) }

func (bitmapKind) intake(*Spec, *Measure, []int) intake { return new(bitmapIntake) }

type bitmapIntake struct{ ids [blockSize]uint32 }

func (in *bitmapIntake) read(d *decoder, at, n int) (ok bool, reason string) {
	if in.ids[n], ok = d.uint32(at); !ok {
		return false, d.wrong(at, "is not an unsigned integer below 2^32")
	}
	return true, ""
}

func (in *bitmapIntake) add(to store, rows []uint32) {
	to.(*bitmapColumn).pool.AddBatch(rows, in.ids[:len(rows)])
}

type bitmapColumn struct{ pool bitmap.Pool }

func (c *bitmapColumn) grow(n int) { c.pool.Grow(n) }

func (c *bitmapColumn) merge(i uint32, from column, j uint32) {
	c.pool.Merge(i, &from.(*bitmapColumn).pool, j)
}

func (c *bitmapColumn) load(i uint32, state []byte) error { return c.pool.MergeClickHouse(i, state) }

func (c *bitmapColumn) appendState(dst []byte, i uint32) []byte {
	return c.pool.AppendClickHouse(dst, i)
}

func (c *bitmapColumn) number(i uint32) uint64 { return c.pool.Count(i) }

func (c *bitmapColumn) reset() { c.pool.Reset() }

func (c *bitmapColumn) bytes() int { return c.pool.Bytes() }

// Bitmap returns the pool of measure m, which is of kind Bitmap, and the row's index in it.
// The caller must not change the pool.
func (r Row) Bitmap(m int) (*bitmap.Pool, uint32) { return &r.t.columns[m].(*bitmapColumn).pool, r.i }
