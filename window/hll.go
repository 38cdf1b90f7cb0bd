package window

import (
	"weir/sketches/hll"
)

// HLL counts distinct ids: ClickHouse's uniqCombined64(14), Redis's PFCOUNT.
var HLL Kind = hllKind{}

type hllKind struct {
	grouped
	count
}

func (hllKind) String() string { return "hll" }

func (hllKind) HoldsValues() bool { return false }

func (hllKind) paths(*Measure) []string { return nil }

func (hllKind) column(*Measure) column { return new(hllColumn) }

func (hllKind) intake(s *Spec, _ *Measure, _ []int) intake { return &hllIntake{key: s.HashKey} }

type hllIntake struct {
	key    *[16]byte
	hashes [blockSize]uint64
}

func (in *hllIntake) read(d *decoder, at, n int) (bool, string) {
	id, ok := d.vals[at].ID()
	if !ok {
		return false, d.wrong(at, notID)
	}
	if in.key != nil {
		in.hashes[n] = hll.KeyedHash(*in.key, id)
	} else {
		in.hashes[n] = hll.Hash(id)
	}
	return true, ""
}

func (in *hllIntake) add(to store, rows []uint32) {
	to.(*hllColumn).pool.AddBatch(rows, in.hashes[:len(rows)])
}

type hllColumn struct{ pool hll.Pool }

func (c *hllColumn) grow(n int) { c.pool.Grow(n) }

func (c *hllColumn) merge(i uint32, from column, j uint32) {
	c.pool.Merge(i, &from.(*hllColumn).pool, j)
}

func (c *hllColumn) load(i uint32, state []byte) error {
	_, err := c.pool.MergeClickHouse(i, state)
	return err
}

func (c *hllColumn) appendState(dst []byte, i uint32) []byte { return c.pool.AppendClickHouse(dst, i) }

func (c *hllColumn) number(i uint32) uint64 { return c.pool.Count(i) }

func (c *hllColumn) reset() { c.pool.Reset() }

func (c *hllColumn) bytes() int { return c.pool.Bytes() }

// HLL returns the pool of measure m, which is of kind HLL, and the row's index in it.
// The caller must not change the pool.
func (r Row) HLL(m int) (*hll.Pool, uint32) { return &r.t.columns[m].(*hllColumn).pool, r.i }
