package live

import (
	"errors"

	"weir/window"
)

// An addedValue is a measure whose values are added up. It keeps the values by row and
// slot, because what memory and the sink have of a slot overlaps: it must be merged before
// it is added up.
type addedValue struct {
	m     int
	rows  *window.Table
	total func(row window.Row, m int) any
}

func (v *addedValue) mergeState([]byte) error {
	return errors.New("live: a measure that adds up has no state of several rows")
}

func (v *addedValue) mergeRow(row window.Row, m int) { row.CopyMeasure(v.rows, m) }

func (v *addedValue) settle() {}

func (v *addedValue) mergeAll(others []merging) {
	for _, o := range others {
		o := o.(*addedValue).rows
		o.Seal()
		for row := range o.Rows {
			row.CopyMeasure(v.rows, v.m)
		}
	}
}

func (v *addedValue) measured() any { return v.total(v.rows.Added(v.m), v.m) }

func (v *addedValue) bytes() int64 { return int64(v.rows.Bytes()) }
