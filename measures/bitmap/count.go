// Package bitmap is the kind of measure that keeps ids that are small integers.
package bitmap

import (
	"math"

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

func (in *intake) Read(d *window.Decoder, at int, events []window.Entry) {
	for _, e := range events {
		if n, ok := d.Whole(e, at); ok && 0 <= n && n <= math.MaxUint32 {
			in.ids[e] = uint32(n)
		} else if in.ids[e], ok = d.Value(e, at).Uint32(); !ok {
			d.Refuse(e, at, "is not an unsigned integer below 2^32")
		}
	}
}

func (in *intake) Add(to window.Store, rows []uint32, events []window.Entry) {
	to.(*column).pool.AddBatch(rows, window.Pick(in.ids[:], events))
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
