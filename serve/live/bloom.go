package live

import (
	"weir/sketches/bloom"
	"weir/window"
)

// bloomKind answers with a *bloom.Filter, which counts nothing.
var bloomKind = Kind{
	Name:   window.Bloom.String(),
	Number: func(any) any { return 0 },
	Member: func(text string) (func(any) bool, error) {
		return func(value any) bool {
			f, ok := value.(*bloom.Filter)
			return ok && f.Has(bloom.Hash([]byte(text)))
		}, nil
	},
	begin: func(_ *window.Spec, m *window.Measure) merging {
		return &bloomValue{of: m, filter: bloom.New(m.Capacity, m.Error)}
	},
}

type bloomValue struct {
	of     *window.Measure
	filter *bloom.Filter
	rows   *bloom.Pool // of mergeRow, where bits are cheap to merge; nil: none
}

func (v *bloomValue) mergeState(state []byte) error { return v.filter.MergeClickHouse(state) }

func (v *bloomValue) mergeRow(row window.Row, m int) {
	if v.rows == nil {
		v.rows = bloom.NewPool(v.of.Capacity, v.of.Error)
		v.rows.Grow(1)
	}
	pool, i := row.Bloom(m)
	v.rows.Merge(0, pool, i)
}

func (v *bloomValue) settle() {
	if v.rows != nil {
		must(v.mergeState(v.rows.AppendClickHouse(nil, 0)))
		v.rows = nil
	}
}

func (v *bloomValue) mergeAll(others []merging) {
	for _, o := range others {
		v.filter.Merge(o.(*bloomValue).filter)
	}
}

func (v *bloomValue) measured() any { return v.filter }

func (v *bloomValue) bytes() int64 { return int64(v.filter.Bytes()) }
