package window

import (
	"weir/sketches/bloom"
	"weir/sketches/hll"
	"weir/sketches/idset"
)

// Set is the set of ids, texts or numbers, each as 32 bits of its hash: ClickHouse's
// groupUniqArray. Two ids may have the same hash; the count is corrected for that.
var Set Kind = setKind{}

type setKind struct {
	grouped
	count
}

func (setKind) String() string { return "set" }

func (setKind) HoldsValues() bool { return true }

func (setKind) paths(*Measure) []string { return nil }

func (setKind) column(*Measure) column { return new(setColumn) }

func (setKind) intake(s *Spec, _ *Measure, _ []int) intake { return &setIntake{key: s.HashKey} }

// SetHash returns the number that stands for an id in measures of kind Set: the lower
// half of its XXH64, which SQL can compute too, or of its keyed hash if there is a key.
func SetHash(key *[16]byte, id []byte) uint32 {
	if key != nil {
		return uint32(hll.KeyedHash(*key, id))
	}
	return uint32(bloom.Hash(id))
}

type setIntake struct {
	key    *[16]byte
	hashes [blockSize]uint32
}

func (in *setIntake) read(d *decoder, at, n int) (bool, string) {
	id, ok := d.vals[at].ID()
	if !ok {
		return false, d.wrong(at, notID)
	}
	in.hashes[n] = SetHash(in.key, id)
	return true, ""
}

func (in *setIntake) add(to store, rows []uint32) {
	to.(*setColumn).pool.AddBatch(rows, in.hashes[:len(rows)])
}

// A setColumn has the hashes of the ids.
type setColumn struct{ pool idset.Pool }

func (c *setColumn) grow(n int) { c.pool.Grow(n) }

func (c *setColumn) merge(i uint32, from column, j uint32) {
	c.pool.Merge(i, &from.(*setColumn).pool, j)
}

func (c *setColumn) load(i uint32, state []byte) error { return c.pool.MergeState(i, state) }

func (c *setColumn) appendState(dst []byte, i uint32) []byte { return c.pool.AppendState(dst, i) }

func (c *setColumn) number(i uint32) uint64 { return idset.Count(c.pool.Len(i)) }

func (c *setColumn) reset() { c.pool.Reset() }

func (c *setColumn) bytes() int { return c.pool.Bytes() }

// Set returns the pool of measure m, which is of kind Set, and the row's index in it. The
// caller must not change the pool.
func (r Row) Set(m int) (*idset.Pool, uint32) { return &r.t.columns[m].(*setColumn).pool, r.i }
