// Package set is the kind of measure that keeps ids by hashes of 32 bits.
package set

import (
	"weir/sketches/bloom"
	"weir/sketches/hll"
	"weir/sketches/idset"
	"weir/window"
)

// Kind is the set of ids, texts or numbers, each as 32 bits of its hash: ClickHouse's
// groupUniqArray. Two ids may have the same hash; the count is corrected for that.
var Kind = &window.Kind{
	Name:        "set",
	HoldsValues: true,
	Intake:      func(s *window.Spec, _ *window.Measure, _ []int) window.Intake { return &intake{key: s.HashKey} },
	Column:      func(*window.Measure) window.Column { return new(column) },
}

// Hash returns the number that stands for an id in measures of kind Set: the lower
// half of its XXH64, which SQL can compute too, or of its keyed hash if there is a key.
func Hash(key *[16]byte, id []byte) uint32 {
	if key != nil {
		return uint32(hll.KeyedHash(*key, id))
	}
	return uint32(bloom.Hash(id))
}

type intake struct {
	key    *[16]byte
	hashes [window.BlockSize]uint32
}

func (in *intake) Read(d *window.Decoder, at int, events []window.Entry) {
	for _, e := range events {
		if id, ok := d.ID(e, at); ok {
			in.hashes[e] = Hash(in.key, id)
		}
	}
}

func (in *intake) Add(to window.Store, rows []uint32, events []window.Entry) {
	to.(*column).pool.AddBatch(rows, window.Pick(in.hashes[:], events))
}

// A column has the hashes of the ids.
type column struct{ pool idset.Pool }

func (c *column) Grow(n int) { c.pool.Grow(n) }

func (c *column) Merge(i uint32, from window.Column, j uint32) {
	c.pool.Merge(i, &from.(*column).pool, j)
}

func (c *column) Load(i uint32, state []byte) error { return c.pool.MergeState(i, state) }

func (c *column) AppendState(dst []byte, i uint32) []byte { return c.pool.AppendState(dst, i) }

func (c *column) Number(i uint32) uint64 { return idset.Count(c.pool.Len(i)) }

func (c *column) Reset() { c.pool.Reset() }

func (c *column) Bytes() int { return c.pool.Bytes() }

// Of returns the pool of measure m of a row, and the row's index in it. The caller must not
// change the pool.
func Of(r window.Row, m int) (*idset.Pool, uint32) {
	c, i := r.Column(m)
	return &c.(*column).pool, i
}
