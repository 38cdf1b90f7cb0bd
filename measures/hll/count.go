// Package hll is the kind of measure that counts distinct ids with a HyperLogLog.
package hll

import (
	"weir/sketches/hll"
	"weir/window"
)

// Kind counts distinct ids: ClickHouse's uniqCombined64(14), Redis's PFCOUNT.
var Kind = &window.Kind{
	Name:   "hll",
	Intake: func(s *window.Spec, _ *window.Measure, _ []int) window.Intake { return &intake{key: s.HashKey} },
	Column: func(*window.Measure) window.Column { return new(column) },
}

type intake struct {
	key    *[16]byte
	hashes [window.BlockSize]uint64
}

func (in *intake) Read(d *window.Decoder, at int, events []window.Entry) {
	for _, e := range events {
		if id, ok := d.ID(e, at); !ok {
			continue
		} else if in.key != nil {
			in.hashes[e] = hll.KeyedHash(*in.key, id)
		} else {
			in.hashes[e] = hll.Hash(id)
		}
	}
}

func (in *intake) Add(to window.Store, rows []uint32, events []window.Entry) {
	to.(*column).pool.AddBatch(rows, window.Pick(in.hashes[:], events))
}

type column struct{ pool hll.Pool }

func (c *column) Grow(n int) { c.pool.Grow(n) }

func (c *column) Merge(i uint32, from window.Column, j uint32) {
	c.pool.Merge(i, &from.(*column).pool, j)
}

func (c *column) Load(i uint32, state []byte) error {
	_, err := c.pool.MergeClickHouse(i, state)
	return err
}

func (c *column) AppendState(dst []byte, i uint32) []byte { return c.pool.AppendClickHouse(dst, i) }

func (c *column) Number(i uint32) uint64 { return c.pool.Count(i) }

func (c *column) Reset() { c.pool.Reset() }

func (c *column) Bytes() int { return c.pool.Bytes() }

// Of returns the pool of measure m of a row, and the row's index in it. The caller must not
// change the pool.
func Of(r window.Row, m int) (*hll.Pool, uint32) {
	c, i := r.Column(m)
	return &c.(*column).pool, i
}
