package window_test

import (
	"testing"

	"weir/measures/quantile"
	"weir/measures/sum"
	"weir/measures/topk"
	. "weir/window"
)

// TestNoAllocationPerRow: to read the values of Additive measures allocates nothing, as the sink does
// for each row.
func TestNoAllocationPerRow(t *testing.T) {
	s := pageSpec()
	s.Measures = []Measure{
		{Name: "id_sum", Kind: sum.Sum, Path: "user_id"},
		{Name: "ids", Kind: quantile.Kind, Path: "user_id", Error: 0.01},
		{Name: "countries", Kind: topk.Kind, Path: "country", K: 10},
	}
	op := newOperator(t, s)
	op.Start(Plan{})
	for _, b := range traffic(5000) {
		observe(t, op, b)
	}
	table := op.Take().Table
	table.Seal()
	var n uint64
	allocs := testing.AllocsPerRun(10, func() {
		for row := range table.Rows {
			for _, total := range sum.Slots(row, 0) {
				n += total.Events
			}
			for _, h := range quantile.Slots(row, 1) {
				n += h.Events
			}
			for _, top := range topk.Slots(row, 2) {
				n += top.Events
			}
		}
	})
	if allocs > 0 || n != 11*3*5000 {
		t.Errorf("%v allocations for %d rows, %d events", allocs, table.Len(), n)
	}
}
