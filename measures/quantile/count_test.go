package quantile

import (
	"math"
	"slices"
	"strings"
	"testing"

	"weir/measures/measuretest"
	"weir/sketches/histogram"
	"weir/window"
)

// TestQuantileReads: which numbers count, and why others are dead letters.
func TestQuantileReads(t *testing.T) {
	for _, x := range []struct {
		given  string // values, one after another
		n      uint64
		median float64
		dead   string // the reason of the last one
	}{
		{"100", 1, 100, ""},
		{"1e3 -5 0 -0.0 7", 5, 0, ""},
		{"1e-320 -1e-320", 2, 0, ""},
		{"1.7976931348623157e308", 1, 1.7976931348623157e308, ""},
		{"2.2250738585072014e-308", 1, 2.2250738585072014e-308, ""},
		{"3 1e309", 1, 3, "field ms is a number beyond 1.8e308, the greatest Float64"},
		{"3 -2e400", 1, 3, "field ms is a number beyond 1.8e308, the greatest Float64"},
		{`3 "4,0"`, 1, 3, "field ms is not a number"},
		{"3 true", 1, 3, "field ms is not a number"},
		{"3 [1]", 1, 3, "field ms is not a number"},
		{"3 null", 1, 3, "field ms is missing"},
		{"3 NaN", 1, 3, "invalid JSON"},
		{"3 Infinity", 1, 3, "invalid JSON"},
	} {
		var events []string
		for _, v := range strings.Fields(x.given) {
			events = append(events, `,"ms":`+v)
		}
		row, ok, dead := measuretest.Take(t, window.Measure{Name: "latency", Kind: Kind, Path: "ms", Error: 0.01}, events...)
		if !ok {
			t.Errorf("%s: no row", x.given)
			continue
		}
		h := Of(row, 0)
		if got, ok := h.Quantile(0.5); !ok || h.Total() != x.n || math.Abs(got-x.median) > 0.01*math.Abs(x.median) {
			t.Errorf("%s: %d numbers, the median is %v; want %d and %v", x.given, h.Total(), got, x.n, x.median)
		}
		if x.dead == "" && len(dead) > 0 || x.dead != "" && (len(dead) != 1 || !strings.Contains(dead[0].Reason, x.dead)) {
			t.Errorf("%s: dead letters %+v, want one with %q", x.given, dead, x.dead)
		}
	}
}

// TestQuantileState: states of one window merge, states of several windows add up, in any
// order, and what is no state is an error.
func TestQuantileState(t *testing.T) {
	m := &window.Measure{Name: "latency", Kind: Kind, Path: "ms", Error: 0.01}
	layout := histogram.NewLayout(6)
	state := func(of map[window.Slot]map[float64]uint64) []byte {
		c := new(column)
		c.Grow(1)
		for slot, values := range of {
			var all sum
			for v, n := range values {
				all.add(n, histogram.Counts{{Bucket: layout.Of(v), N: n}})
			}
			c.put(0, slot, histogramOf(all.events, all.counts.AppendState(nil)))
		}
		return c.AppendState(nil, 0)
	}
	early := state(map[window.Slot]map[float64]uint64{7: {1: 2, 100: 1}})
	late := state(map[window.Slot]map[float64]uint64{7: {1: 5, 100: 1, -3: 4}, 9: {100: 1}})
	both := state(map[window.Slot]map[float64]uint64{7: {1: 5, 100: 1, -3: 4}, 9: {100: 1}})
	less, more := state(map[window.Slot]map[float64]uint64{window.Whole: {1: 4}}), state(map[window.Slot]map[float64]uint64{window.Whole: {1: 6, 100: 2, -3: 4}})
	number := func(s []byte, err error) string {
		if err != nil {
			return err.Error()
		}
		n, err := m.Number(s)
		if err != nil {
			return err.Error()
		}
		return m.Text(n)
	}
	total := state(map[window.Slot]map[float64]uint64{window.Whole: {1: 5, 100: 2, -3: 4}})
	for _, c := range []struct{ what, got, want string }{
		{"both", number(m.Merge(early, late)), number(both, nil)},
		{"both, twice", number(m.Merge(late, early, late, early)), number(both, nil)},
		{"the total of both", number(m.Add(both)), number(total, nil)},
		{"events", strings.Fields(number(both, nil))[0], "11"},
		{"of none", number(m.Add()), "0 events (check 000000)"},
		{"a rollup that has less", number(m.Merge(less, both)), number(both, nil)},
		{"a rollup that has more", number(m.Merge(more, both)), number(more, nil)},
		{"cut", number(m.Merge(late[:40])), errState.Error()},
		{"cut in a head", number(m.Merge(late[:20])), errState.Error()},
		{"slots out of order", number(m.Merge(append(slices.Clone(late[48:]), late[:48]...))), errState.Error()},
		{"a slot twice", number(m.Merge(append(slices.Clone(late[48:]), late[48:]...))), errState.Error()},
		{"words out of order", number(m.Merge(slices.Concat(late[:24], late[32:40], late[24:32], late[40:]))), errState.Error()},
		{"other events", number(m.Merge(slices.Concat(late[:8], []byte{11}, late[9:]))), errState.Error()},
		{"more than there are", number(m.Merge(slices.Concat(late[:16], []byte{25}, late[17:48]))), errState.Error()},
	} {
		if c.got != c.want {
			t.Errorf("%s: %s, want %s", c.what, c.got, c.want)
		}
	}
	if a, b := number(state(map[window.Slot]map[float64]uint64{7: {1: 3, 2: 1}}), nil), number(state(map[window.Slot]map[float64]uint64{7: {1: 2, 2: 2}}), nil); a == b {
		t.Errorf("two histograms of as many events have the number %s", a)
	}
}
