// Package bitmap is the kind of measure that keeps ids that are small integers.
package bitmap

import (
	"weir/sketches/bitmap"
	"weir/window"
)

// Kind is the set of ids themselves, unsigned integers below 2^32: ClickHouse's
// groupBitmap.
var Kind = &window.Kind{
	Name:        "bitmap",
	HoldsValues: true,
	Intake:      func(*window.Spec, *window.Measure, []int) window.Intake { return new(intake) },
	Column:      func(*window.Measure) window.Column { return new(column) },
}

type intake struct{ ids [window.BlockSize]uint32 }

func (in *intake) Read(d *window.Decoder, at, n int) (ok bool, reason string) {
	if in.ids[n], ok = d.Uint32(at); !ok {
		return false, d.Wrong(at, "is not an unsigned integer below 2^32")
	}
	return true, ""
}

func (in *intake) Add(to window.Store, rows []uint32) {
	to.(*column).pool.AddBatch(rows, in.ids[:len(rows)])
}

type column struct{ pool bitmap.Pool }

func (c *column) Grow(n int) { c.pool.Grow(n) }

func (c *column) Merge(i uint32, from window.Column, j uint32) {
	c.pool.Merge(i, &from.(*column).pool, j)
}

func (c *column) Load(i uint32, state []byte) error { return c.pool.MergeClickHouse(i, state) }

func (c *column) AppendState(dst []byte, i uint32) []byte {
	return c.pool.AppendClickHouse(dst, i)
}

func (c *column) Number(i uint32) uint64 { return c.pool.Count(i) }

func (c *column) Reset() { c.pool.Reset() }

func (c *column) Bytes() int { return c.pool.Bytes() }
