package window

import (
	"weir/sketches/bitmap"
	"weir/sketches/bloom"
)

// Bloom tells whether an id was seen. It is a split-block filter, whose bits are a
// groupBitmap in ClickHouse. Its hash has no key, so that SQL can compute it too.
var Bloom Kind = bloomKind{}

type bloomKind struct {
	grouped
	count
}

func (bloomKind) String() string { return "bloom" }

func (bloomKind) HoldsValues() bool { return true }

func (bloomKind) paths(*Measure) []string { return nil }

func (bloomKind) column(m *Measure) column {
	return &bloomColumn{bloom.NewPool(m.Capacity, m.Error)}
}

func (bloomKind) intake(*Spec, *Measure, []int) intake { return new(bloomIntake) }

type bloomIntake struct{ hashes [blockSize]uint64 }

func (in *bloomIntake) read(d *decoder, at, n int) (bool, string) {
	id, ok := d.vals[at].ID()
	if !ok {
		return false, d.wrong(at, notID)
	}
	in.hashes[n] = bloom.Hash(id)
	return true, ""
}

func (in *bloomIntake) add(to store, rows []uint32) {
	to.(*bloomColumn).pool.AddBatch(rows, in.hashes[:len(rows)])
}

type bloomColumn struct{ pool *bloom.Pool }

func (c *bloomColumn) grow(n int) { c.pool.Grow(n) }

func (c *bloomColumn) merge(i uint32, from column, j uint32) {
	c.pool.Merge(i, from.(*bloomColumn).pool, j)
}

func (c *bloomColumn) load(i uint32, state []byte) error { return c.pool.MergeClickHouse(i, state) }

func (c *bloomColumn) appendState(dst []byte, i uint32) []byte {
	return c.pool.AppendClickHouse(dst, i)
}

// number returns how many bits are set, as a rollup has it. A filter cannot tell how
// many ids it has, but the audit finds damage by a number of bits that differs.
func (c *bloomColumn) number(i uint32) uint64 {
	var bits bitmap.Pool
	bits.Grow(1)
	if err := bits.MergeClickHouse(0, c.appendState(nil, i)); err != nil {
		panic("window: bloom makes a state that bitmap cannot read: " + err.Error())
	}
	return bits.Count(0)
}

func (c *bloomColumn) reset() { c.pool.Reset() }

func (c *bloomColumn) bytes() int { return c.pool.Bytes() }

// Bloom returns the pool of measure m, which is of kind Bloom, and the row's index in
// it. The caller must not change the pool.
func (r Row) Bloom(m int) (*bloom.Pool, uint32) { return r.t.columns[m].(*bloomColumn).pool, r.i }
