package window

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"weir/event"
	"weir/sketches/histogram"
)

func quantileSpec() *Spec {
	return &Spec{
		Job: "shop", Version: 1, TimeField: "ts", TimeUnit: event.Seconds, Window: 60_000, Chunk: 64, MaxGroups: 10, Lateness: 1000, Skew: 1000,
		Measures: []Measure{{Name: "latency", Kind: Quantile, Path: "ms", Error: 0.01}},
	}
}

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
		{`3 "4"`, 1, 3, "field ms is not a number"},
		{"3 true", 1, 3, "field ms is not a number"},
		{"3 [1]", 1, 3, "field ms is not a number"},
		{"3 null", 1, 3, "field ms is missing"},
		{"3 NaN", 1, 3, "invalid JSON"},
		{"3 Infinity", 1, 3, "invalid JSON"},
	} {
		op := newOperator(t, quantileSpec())
		op.Start(Plan{})
		values := strings.Fields(x.given)
		b := event.Batch{Next: int64(len(values))}
		for i, v := range values {
			b.Records = append(b.Records, event.Record{Offset: int64(i), Time: 60_000, Value: fmt.Appendf(nil, `{"ts":60,"ms":%s}`, v)})
		}
		observe(t, op, b)
		c := op.Take()
		c.Table.Seal()
		row, ok := c.Table.Find(60_000, nil)
		if !ok {
			t.Errorf("%s: no row", x.given)
			continue
		}
		h := row.Histogram(0)
		if got, ok := h.Quantile(0.5); !ok || h.Total() != x.n || math.Abs(got-x.median) > 0.01*math.Abs(x.median) {
			t.Errorf("%s: %d numbers, the median is %v; want %d and %v", x.given, h.Total(), got, x.n, x.median)
		}
		if x.dead == "" && len(c.Dead) > 0 || x.dead != "" && (len(c.Dead) != 1 || !strings.Contains(c.Dead[0].Reason, x.dead)) {
			t.Errorf("%s: dead letters %+v, want one with %q", x.given, c.Dead, x.dead)
		}
	}
}

// TestQuantileState: states of one window merge, states of several windows add up, in any
// order, and what is no state is an error.
func TestQuantileState(t *testing.T) {
	m := &Measure{Name: "latency", Kind: Quantile, Path: "ms", Error: 0.01}
	layout := histogram.NewLayout(6)
	state := func(of map[Slot]map[float64]uint64) []byte {
		c := new(quantileColumn)
		c.grow(1)
		for slot, values := range of {
			var sum quantileSum
			for v, n := range values {
				sum.add(n, histogram.Counts{{Bucket: layout.Of(v), N: n}})
			}
			c.put(0, slot, histogramOf(sum.events, sum.counts.AppendState(nil)))
		}
		return c.appendState(nil, 0)
	}
	early := state(map[Slot]map[float64]uint64{7: {1: 2, 100: 1}})
	late := state(map[Slot]map[float64]uint64{7: {1: 5, 100: 1, -3: 4}, 9: {100: 1}})
	both := state(map[Slot]map[float64]uint64{7: {1: 5, 100: 1, -3: 4}, 9: {100: 1}})
	less, more := state(map[Slot]map[float64]uint64{Whole: {1: 4}}), state(map[Slot]map[float64]uint64{Whole: {1: 6, 100: 2, -3: 4}})
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
	total := state(map[Slot]map[float64]uint64{Whole: {1: 5, 100: 2, -3: 4}})
	for _, c := range []struct{ what, got, want string }{
		{"both", number(m.Merge(early, late)), number(both, nil)},
		{"both, twice", number(m.Merge(late, early, late, early)), number(both, nil)},
		{"the total of both", number(m.Add(both)), number(total, nil)},
		{"events", strings.Fields(number(both, nil))[0], "11"},
		{"of none", number(m.Add()), "0 events (check 000000)"},
		{"a rollup that has less", number(m.Merge(less, both)), number(both, nil)},
		{"a rollup that has more", number(m.Merge(more, both)), number(more, nil)},
		{"cut", number(m.Merge(late[:40])), errQuantileState.Error()},
		{"cut in a head", number(m.Merge(late[:20])), errQuantileState.Error()},
		{"slots out of order", number(m.Merge(append(slices.Clone(late[48:]), late[:48]...))), errQuantileState.Error()},
		{"a slot twice", number(m.Merge(append(slices.Clone(late[48:]), late[48:]...))), errQuantileState.Error()},
		{"words out of order", number(m.Merge(slices.Concat(late[:24], late[32:40], late[24:32], late[40:]))), errQuantileState.Error()},
		{"other events", number(m.Merge(slices.Concat(late[:8], []byte{11}, late[9:]))), errQuantileState.Error()},
		{"more than there are", number(m.Merge(slices.Concat(late[:16], []byte{25}, late[17:48]))), errQuantileState.Error()},
	} {
		if c.got != c.want {
			t.Errorf("%s: %s, want %s", c.what, c.got, c.want)
		}
	}
	if a, b := number(state(map[Slot]map[float64]uint64{7: {1: 3, 2: 1}}), nil), number(state(map[Slot]map[float64]uint64{7: {1: 2, 2: 2}}), nil); a == b {
		t.Errorf("two histograms of as many events have the number %s", a)
	}
}
