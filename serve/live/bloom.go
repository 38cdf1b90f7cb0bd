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
	value: func(row window.Row, m int) any {
		of := &row.Spec().Measures[m]
		f := bloom.New(of.Capacity, of.Error)
		must(f.MergeClickHouse(row.AppendState(nil, m)))
		return f
	},
}
