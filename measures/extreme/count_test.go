package extreme

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"

	"weir/measures/measuretest"
	"weir/window"
)

// TestRank: ranks have the order of their numbers, and unrank inverts rank.
func TestRank(t *testing.T) {
	numbers := []float64{-math.MaxFloat64, -1e300, -2, -1.5, -1, -math.SmallestNonzeroFloat64, 0, math.SmallestNonzeroFloat64, 1e-300, 1, 1.5, 2, 1 << 53, math.MaxFloat64}
	var ranks []uint64
	for _, f := range numbers {
		r := Rank(f)
		if r == 0 || unrank(r) != f {
			t.Errorf("%v has rank %d, which is %v", f, r, unrank(r))
		}
		ranks = append(ranks, r)
	}
	if !slices.IsSorted(ranks) {
		t.Errorf("the ranks %d of %v are in another order", ranks, numbers)
	}
	for _, k := range []*window.Kind{Max, Min} {
		m := &window.Measure{Name: "m", Kind: k, Path: "m"}
		row := measuretest.Taken(t, m, "-2.5")
		if m.Text(row.Number(0)) != "-2.5" || m.Text(0) != "nothing" {
			t.Errorf("%s: %s and %s", k, m.Text(row.Number(0)), m.Text(0))
		}
	}
}

// TestExtremes: which numbers count, as which, and why others are dead letters.
func TestExtremes(t *testing.T) {
	dearest, cheapest := window.Measure{Name: "dearest", Kind: Max, Path: "price"}, window.Measure{Name: "cheapest", Kind: Min, Path: "price"}
	for _, x := range []struct {
		prices          string // one after another
		greatest, least float64
	}{
		{"1", 1, 1},
		{"-3 -1.5 -2", -1.5, -3},
		{"2.5 1e2 99.9", 100, 2.5},
		{"9007199254740993", 9007199254740992, 9007199254740992}, // beyond 2^53 only every other whole number is a Float64
		{"0.1", 0.1, 0.1},
		{"1e-400", 0, 0},
		{"1.7976931348623157e308 -1.7976931348623157e308", math.MaxFloat64, -math.MaxFloat64},
		{"-0.0 -1", 0, -1},
		{"-0.0 1", 1, 0},
		{"0 -0.0", 0, 0},
	} {
		for _, of := range []struct {
			m    *window.Measure
			want float64
		}{{&dearest, x.greatest}, {&cheapest, x.least}} {
			row := measuretest.Taken(t, of.m, strings.Fields(x.prices)...)
			f, ok := Of(row, 0)
			if !ok || f != of.want || math.Signbit(f) != math.Signbit(of.want) {
				t.Errorf("%s: the %s is %v (%t), want %v", x.prices, of.m.Name, f, ok, of.want)
			}
			if got, want := row.AppendState(nil, 0), binary.LittleEndian.AppendUint64(nil, math.Float64bits(of.want)); string(got) != string(want) {
				t.Errorf("%s: the %s is stored as %x, want %x", x.prices, of.m.Name, got, want)
			}
		}
	}
	for price, want := range map[string]string{
		`,"price":"12,5"`: "field price is not a number; a comma is no part of one, and two numbers in a text are two fields to write",
		`,"price":"NaN"`:  "field price is not a number",
		`,"price":true`:   "field price is not a number",
		`,"price":[1]`:    "field price is not a number",
		`,"price":1e309`:  "field price is a number beyond 1.8e308, the greatest Float64",
		`,"price":-1e999`: "field price is a number beyond 1.8e308, the greatest Float64",
		`,"price":null`:   "field price is missing",
		``:                "field price is missing",
	} {
		if _, found, dead := measuretest.Take(t, dearest, price); found || len(dead) != 1 || dead[0].Outcome != window.Malformed || dead[0].Reason != want {
			t.Errorf("%q: counted %t, %v, want a dead letter: %s", price, found, dead, want)
		}
	}
	for _, price := range []string{`,"price":NaN`, `,"price":Infinity`, `,"price":01`} { // no JSON
		if _, found, dead := measuretest.Take(t, dearest, price); found || len(dead) != 1 {
			t.Errorf("%q: counted %t, %v", price, found, dead)
		}
	}
	dearest.Optional = true
	row, found, dead := measuretest.Take(t, dearest, "", `,"price":null`)
	if !found || len(dead) > 0 {
		t.Fatalf("without a number: found %t, %v", found, dead)
	}
	if f, ok := Of(row, 0); ok || len(row.AppendState(nil, 0)) > 0 {
		t.Errorf("without a number: %v is the greatest, stored as %x", f, row.AppendState(nil, 0))
	}
}

// TestExtremeState: a state that no event can have made is refused.
func TestExtremeState(t *testing.T) {
	state := func(f float64) []byte { return binary.LittleEndian.AppendUint64(nil, math.Float64bits(f)) }
	for _, x := range []struct {
		kind  *window.Kind
		other float64 // which 0 is preferred to
	}{{Max, -1}, {Min, 1}} {
		m := window.Measure{Name: "price", Kind: x.kind, Path: "price"}
		for _, s := range [][]byte{state(math.NaN()), state(math.Inf(1)), state(math.Inf(-1)), {1}, make([]byte, 9)} {
			if got, err := m.Merge(s); err == nil {
				t.Errorf("%s: %x is taken, as %x", x.kind, s, got)
			}
		}
		if got, err := m.Merge(nil, state(math.Copysign(0, -1)), state(x.other), []byte{}); err != nil || string(got) != string(state(0)) {
			t.Errorf("%s: merged to %x, %v, want %x", x.kind, got, err, state(0))
		}
	}
}
