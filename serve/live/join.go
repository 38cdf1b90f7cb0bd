package live

import (
	"weir/sketches/bitmap"
	"weir/sketches/bloom"
	"weir/sketches/hll"
	"weir/window"
)

// A joining is one sketch while things are joined into it. The field of its
// kind is used. (Positions: places.go.)
type joining struct {
	kind   window.Kind
	hll    *hll.Sketch
	bitmap *bitmap.Activity
	bloom  *bloom.Filter
	bits   *bitmap.Pool
	filter *bloom.Pool
	spec   *window.Measure
}

func newValue(m *window.Measure) joining {
	v := joining{kind: m.Kind, spec: m}
	switch m.Kind {
	case window.HLL:
		v.hll = new(hll.Sketch)
	case window.Bitmap:
		v.bitmap = new(bitmap.Activity)
	case window.Bloom:
		v.bloom = bloom.New(m.Capacity, m.Error)
	}
	return v
}

// joinState joins a state as the sink holds it.
func (v *joining) joinState(state []byte) error {
	switch v.kind {
	case window.HLL:
		_, err := v.hll.MergeClickHouse(state)
		return err
	case window.Bitmap:
		a, err := bitmap.FromClickHouse(state)
		if err == nil {
			v.bitmap.Merge(a)
		}
		return err
	default:
		return v.bloom.MergeClickHouse(state)
	}
}

// joinRow joins a row's sketch of measure m. Bits are gathered in a pool, where
// they are cheap to join; settle takes them over.
func (v *joining) joinRow(row window.Row, m int) {
	switch v.kind {
	case window.HLL:
		pool, i := row.HLL(m)
		pool.MergeInto(i, v.hll)
	case window.Bitmap:
		if v.bits == nil {
			v.bits = new(bitmap.Pool)
			v.bits.Grow(1)
		}
		pool, i := row.Bitmap(m)
		v.bits.Merge(0, pool, i)
	case window.Bloom:
		if v.filter == nil {
			v.filter = bloom.NewPool(v.spec.Capacity, v.spec.Error)
			v.filter.Grow(1)
		}
		pool, i := row.Bloom(m)
		v.filter.Merge(0, pool, i)
	}
}

// settle brings in what joinRow has gathered.
func (v *joining) settle() {
	var err error
	switch {
	case v.bits != nil:
		err = v.joinState(v.bits.AppendClickHouse(nil, 0))
		v.bits = nil
	case v.filter != nil:
		err = v.joinState(v.filter.AppendClickHouse(nil, 0))
		v.filter = nil
	}
	if err != nil {
		panic(err) // a state that we have just written ourselves
	}
}

// joinPieces joins what is known of the sink's windows, and reports whether
// there is anything. The caller holds the lock that guards the pieces.
func (v *joining) joinPieces(pieces []*piece) (found bool) {
	var sketches []*hll.Sketch
	for _, p := range pieces {
		if !p.found {
			continue
		}
		found = true
		switch v.kind {
		case window.HLL:
			sketches = append(sketches, p.value.hll)
		case window.Bitmap:
			v.bitmap.Merge(p.value.bitmap)
		case window.Bloom:
			v.bloom.Merge(p.value.bloom)
		}
	}
	if v.kind == window.HLL {
		v.hll.MergeAll(sketches...)
	}
	return found
}

// answer is the value, joined.
func (v *joining) answer(found bool) answer {
	v.settle()
	if !found {
		return answer{}
	}
	a := answer{Value{HLL: v.hll, Bitmap: v.bitmap, Bloom: v.bloom}, true}
	if v.hll != nil {
		v.hll.Count() // from here on it only reads
	}
	return a
}

// bytes is about what a value takes.
func (v *Value) bytes() int64 {
	switch {
	case v.HLL != nil:
		return int64(v.HLL.Bytes())
	case v.Bitmap != nil:
		return int64(v.Bitmap.Bytes())
	case v.Bloom != nil:
		return int64(v.Bloom.Bytes())
	case v.Geo != nil:
		return int64(v.Geo.Bytes())
	}
	return 8
}

func (v *joining) bytes() int64 {
	switch v.kind {
	case window.HLL:
		return int64(v.hll.Bytes())
	case window.Bitmap:
		return int64(v.bitmap.Bytes())
	default:
		return int64(v.bloom.Bytes())
	}
}
