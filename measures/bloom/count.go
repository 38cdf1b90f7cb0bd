// Package bloom is the kind of measure that answers whether an id was seen.
package bloom

import (
	"weir/sketches/bitmap"
	"weir/sketches/bloom"
	"weir/window"
)

// Kind tells whether an id was seen. It is a split-block filter, whose bits are a
// groupBitmap in ClickHouse. Its hash has no key, so that SQL can compute it too.
var Kind = &window.Kind{
	Name:        "bloom",
	HoldsValues: true,
	Intake:      func(*window.Spec, *window.Measure, []int) window.Intake { return new(intake) },
	Column:      func(m *window.Measure) window.Column { return &column{bloom.NewPool(m.Capacity, m.Error)} },
}

type intake struct{ hashes [window.BlockSize]uint64 }

func (in *intake) Read(d *window.Decoder, at int, events []window.Entry) {
	for _, e := range events {
		if id, ok := d.ID(e, at); ok {
			in.hashes[e] = bloom.Hash(id)
		}
	}
}

func (in *intake) Add(to window.Store, rows []uint32, events []window.Entry) {
	to.(*column).pool.AddBatch(rows, window.Pick(in.hashes[:], events))
}

type column struct{ pool *bloom.Pool }

func (c *column) Grow(n int) { c.pool.Grow(n) }

func (c *column) Merge(i uint32, from window.Column, j uint32) {
	c.pool.Merge(i, from.(*column).pool, j)
}

func (c *column) Load(i uint32, state []byte) error { return c.pool.MergeClickHouse(i, state) }

func (c *column) AppendState(dst []byte, i uint32) []byte {
	return c.pool.AppendClickHouse(dst, i)
}

// Number returns how many bits are set, as a rollup has it. A filter cannot tell how
// many ids it has, but the audit finds damage by a number of bits that differs.
func (c *column) Number(i uint32) uint64 {
	var bits bitmap.Pool
	bits.Grow(1)
	if err := bits.MergeClickHouse(0, c.AppendState(nil, i)); err != nil {
		panic("bloom: makes a state that bitmap cannot read: " + err.Error())
	}
	return bits.Count(0)
}

func (c *column) Reset() { c.pool.Reset() }

func (c *column) Bytes() int { return c.pool.Bytes() }
