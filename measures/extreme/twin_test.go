package extreme

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"testing"

	"weir/measures/measuretest"
	"weir/window"
)

// TestTwin: an extreme is the greatest or the least of all numbers.
func TestTwin(t *testing.T) {
	for kind, of := range map[*window.Kind]func([]float64) float64{Min: slices.Min[[]float64], Max: slices.Max[[]float64]} {
		measuretest.Twin(t, window.Measure{Kind: kind}, 64, measuretest.Numbers, func(seen []measuretest.Seen) []byte {
			var all []float64
			for _, e := range seen {
				f, _ := strconv.ParseFloat(e.Value, 64)
				all = append(all, f)
			}
			if all == nil {
				return nil
			}
			return binary.LittleEndian.AppendUint64(nil, math.Float64bits(of(all)))
		})
	}
}
