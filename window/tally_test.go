package window

import "testing"

// TestNoAllocationPerRow: to read the values of Additive measures allocates nothing, as the sink does
// for each row.
func TestNoAllocationPerRow(t *testing.T) {
	s := pageSpec()
	s.Measures = []Measure{
		{Name: "id_sum", Kind: Sum, Path: "user_id"},
		{Name: "ids", Kind: Quantile, Path: "user_id", Error: 0.01},
		{Name: "countries", Kind: TopK, Path: "country", K: 10},
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
			for _, total := range row.Totals(0) {
				n += total.Events
			}
			for _, h := range row.Histograms(1) {
				n += h.Events
			}
			for _, top := range row.Tops(2) {
				n += top.Events
			}
		}
	})
	if allocs > 0 || n != 11*3*5000 {
		t.Errorf("%v allocations for %d rows, %d events", allocs, table.Len(), n)
	}
}
