package sum

import (
	"strings"
	"testing"

	"weir/measures/measuretest"
	"weir/window"
)

// TestSum: which numbers count, as which, and why others are dead letters.
func TestSum(t *testing.T) {
	for _, x := range []struct {
		prices string // one after another
		sum    string
		mean   float64
		dead   string // part of the reason of the last one
	}{
		{"1", "1.00", 1, ""},
		{"-3 -1.5 1e1", "5.50", 5.5 / 3, ""},
		{"0.10 0.2 0.300", "0.60", 0.19999999999999998, ""},
		{"1 -1", "0.00", 0, ""},
		{"-0.01", "-0.01", -0.01, ""},
		{"9999999999999999.99 9999999999999999.99 9999999999999999.99", "29999999999999999.97", 9999999999999999.99, ""},
		{"-9999999999999999.99 -9999999999999999.99", "-19999999999999999.98", -9999999999999999.99, ""},
		{"2 10000000000000000", "2.00", 2, "field price is beyond 9999999999999999.99, the greatest number that a sum of scale 2 takes"},
		{"2 0.125", "2.00", 2, "field price has more than 2 digits after the point, which is the scale of the measure; a greater scale takes them, and round: true rounds them"},
		{`2 "3.50"`, "5.50", 2.75, ""},
		{`2 "3,5"`, "2.00", 2, "field price is not a number; a comma is no part of one, and two numbers in a text are two fields to write"},
		{`2 true`, "2.00", 2, "field price is not a number"},
		{"2 null", "2.00", 2, "field price is missing"},
	} {
		spec := measuretest.Spec(window.Measure{Name: "revenue", Kind: Sum, Path: "price", Scale: 2}, window.Measure{Name: "usual", Kind: Avg, Path: "price", Scale: 2})
		var events []string
		for _, p := range strings.Fields(x.prices) {
			events = append(events, `,"price":`+p)
		}
		row, ok, dead := measuretest.Count(t, spec, events...)
		if !ok {
			t.Errorf("%s: no row", x.prices)
			continue
		}
		if got := Of(row, 0).Text(2); got != x.sum {
			t.Errorf("%s: the sum is %s, want %s", x.prices, got, x.sum)
		}
		if got := Of(row, 1).Mean(2); got != x.mean {
			t.Errorf("%s: the mean is %v, want %v", x.prices, got, x.mean)
		}
		if x.dead == "" && len(dead) > 0 || x.dead != "" && (len(dead) != 1 || dead[0].Reason != x.dead) {
			t.Errorf("%s: dead letters %+v, want one with %q", x.prices, dead, x.dead)
		}
	}
}

// TestSumState: states of one window merge, states of several windows add up, and what is
// no state is an error.
func TestSumState(t *testing.T) {
	m := &window.Measure{Name: "revenue", Kind: Sum, Path: "price", Scale: 2}
	state := func(totals map[window.Slot]Total) []byte {
		c := new(column)
		c.Grow(1)
		for slot, total := range totals {
			c.put(0, slot, total)
		}
		return c.AppendState(nil, 0)
	}
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
	early, late := state(map[window.Slot]Total{7: {2, int128(500)}}), state(map[window.Slot]Total{7: {3, int128(-100)}, 9: {1, int128(1)}})
	for _, c := range []struct{ what, got, want string }{
		{"early", number(early, nil), "5.00"},
		{"both", number(m.Merge(early, late)), "-0.99"},
		{"both, twice", number(m.Merge(late, early, late, early)), "-0.99"},
		{"of two windows", number(m.Add(early, late)), "4.01"},
		{"of none", number(m.Add()), "0.00"},
		{"a rollup that has less", number(m.Merge(state(map[window.Slot]Total{window.Whole: {3, int128(7)}}), late)), "-0.99"},
		{"a rollup that has more", number(m.Merge(state(map[window.Slot]Total{window.Whole: {5, int128(7)}}), late)), "0.07"},
		{"cut", number(m.Merge(late[:40])), errState.Error()},
		{"out of order", number(m.Merge(append(append([]byte{}, late[32:]...), late[:32]...))), errState.Error()},
	} {
		if c.got != c.want {
			t.Errorf("%s: %s, want %s", c.what, c.got, c.want)
		}
	}
}
