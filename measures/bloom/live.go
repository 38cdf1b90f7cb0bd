package bloom

import (
	"weir/measures/face"
	"weir/sketches/bloom"
	"weir/window"
)

// Live answers with a *bloom.Filter, which counts nothing.
var Live = face.Live{
	Number: func(any) any { return 0 },
	Member: face.MemberOf(func(f *bloom.Filter, id []byte) bool { return f.Has(bloom.Hash(id)) }),
	Value: func(row window.Row, m int) any {
		of := &row.Spec().Measures[m]
		f := bloom.New(of.Capacity, of.Error)
		face.Must(f.MergeClickHouse(row.AppendState(nil, m)))
		return f
	},
}
