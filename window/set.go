package window

import (
	"weir/sketches/bitmap"
	"weir/sketches/bloom"
	"weir/sketches/hll"
)

// Set is the set of ids, texts or numbers, each as 32 bits of its hash: ClickHouse's
// groupUniqArray. Two ids may have the same hash; the count is corrected for that.
var Set Kind = setKind{}

type setKind struct{ bitmapKind }

func (setKind) String() string { return "set" }

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
	bitmapIntake
	key *[16]byte
}

func (in *setIntake) read(d *decoder, at, n int) (bool, string) {
	id, ok := d.vals[at].ID()
	if !ok {
		return false, d.wrong(at, notID)
	}
	in.ids[n] = SetHash(in.key, id)
	return true, ""
}

// A setColumn has the hashes of the ids. Its states are arrays of hashes, and not bitmaps of
// chunks: see package bitmap, hashed.go.
type setColumn struct{ bitmapColumn }

func (c *setColumn) load(i uint32, state []byte) error { return c.pool.MergeValues(i, state) }

func (c *setColumn) appendState(dst []byte, i uint32) []byte { return c.pool.AppendValues(dst, i) }

func (c *setColumn) number(i uint32) uint64 { return bitmap.Distinct(c.pool.Count(i)) }
