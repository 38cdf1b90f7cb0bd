package window

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"

	"weir/event"
)

// TestRank: ranks have the order of their numbers, and unrank inverts rank.
func TestRank(t *testing.T) {
	numbers := []float64{-math.MaxFloat64, -1e300, -2, -1.5, -1, -math.SmallestNonzeroFloat64, 0, math.SmallestNonzeroFloat64, 1e-300, 1, 1.5, 2, 1 << 53, math.MaxFloat64}
	var ranks []uint64
	for _, f := range numbers {
		r := rank(f)
		if r == 0 || unrank(r) != f {
			t.Errorf("%v has rank %d, which is %v", f, r, unrank(r))
		}
		ranks = append(ranks, r)
	}
	if !slices.IsSorted(ranks) {
		t.Errorf("the ranks %d of %v are in another order", ranks, numbers)
	}
	for _, k := range []Kind{Max, Min} {
		m := &Measure{Name: "m", Kind: k, Path: "m"}
		row := taken(t, m, "-2.5")
		if m.Text(row.Number(0)) != "-2.5" || m.Text(0) != "nothing" {
			t.Errorf("%s: %s and %s", k, m.Text(row.Number(0)), m.Text(0))
		}
	}
}

// salesSpec is a job without groups.
func salesSpec(measures ...Measure) *Spec {
	return &Spec{
		Job: "sales", Version: 1, TimeField: "ts", TimeUnit: event.Seconds, Window: 60_000, Chunk: 64, MaxGroups: 10, Lateness: 1000, Skew: 1000,
		Measures: measures,
	}
}

// take counts events, each given without its time, in a window of its own.
func take(t *testing.T, m Measure, events ...string) (Row, bool, []DeadLetter) {
	op := newOperator(t, salesSpec(m))
	op.Start(Plan{})
	b := event.Batch{Next: int64(len(events))}
	for i, e := range events {
		b.Records = append(b.Records, event.Record{Offset: int64(i), Time: 60_000, Value: []byte(`{"ts":60` + e + `}`)})
	}
	observe(t, op, b)
	c := op.Take()
	c.Table.Seal()
	row, ok := c.Table.Find(60_000, nil)
	return row, ok, c.Dead
}

// taken returns the row of events with these values of the measure's field, which must
// all count.
func taken(t *testing.T, m *Measure, values ...string) Row {
	t.Helper()
	var events []string
	for _, v := range values {
		events = append(events, `,"`+m.Path+`":`+v)
	}
	row, found, dead := take(t, *m, events...)
	if !found || len(dead) > 0 {
		t.Fatalf("%s of %s: found %t, dead letters %v", m.Kind, values, found, dead)
	}
	return row
}

// TestExtremes: which numbers count, as which, and why others are dead letters.
func TestExtremes(t *testing.T) {
	dearest, cheapest := Measure{Name: "dearest", Kind: Max, Path: "price"}, Measure{Name: "cheapest", Kind: Min, Path: "price"}
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
			m    *Measure
			want float64
		}{{&dearest, x.greatest}, {&cheapest, x.least}} {
			row := taken(t, of.m, strings.Fields(x.prices)...)
			f, ok := row.Extreme(0)
			if !ok || f != of.want || math.Signbit(f) != math.Signbit(of.want) {
				t.Errorf("%s: the %s is %v (%t), want %v", x.prices, of.m.Name, f, ok, of.want)
			}
			if got, want := row.AppendState(nil, 0), binary.LittleEndian.AppendUint64(nil, math.Float64bits(of.want)); string(got) != string(want) {
				t.Errorf("%s: the %s is stored as %x, want %x", x.prices, of.m.Name, got, want)
			}
		}
	}
	for price, want := range map[string]string{
		`,"price":"12.5"`: "field price is not a number",
		`,"price":"NaN"`:  "field price is not a number",
		`,"price":true`:   "field price is not a number",
		`,"price":[1]`:    "field price is not a number",
		`,"price":1e309`:  "field price is a number beyond 1.8e308, the greatest Float64",
		`,"price":-1e999`: "field price is a number beyond 1.8e308, the greatest Float64",
		`,"price":null`:   "field price is missing",
		``:                "field price is missing",
	} {
		if _, found, dead := take(t, dearest, price); found || len(dead) != 1 || dead[0].Outcome != Malformed || dead[0].Reason != want {
			t.Errorf("%q: counted %t, %v, want a dead letter: %s", price, found, dead, want)
		}
	}
	for _, price := range []string{`,"price":NaN`, `,"price":Infinity`, `,"price":01`} { // no JSON
		if _, found, dead := take(t, dearest, price); found || len(dead) != 1 {
			t.Errorf("%q: counted %t, %v", price, found, dead)
		}
	}
	dearest.Optional = true
	row, found, dead := take(t, dearest, "", `,"price":null`)
	if !found || len(dead) > 0 {
		t.Fatalf("without a number: found %t, %v", found, dead)
	}
	if f, ok := row.Extreme(0); ok || len(row.AppendState(nil, 0)) > 0 {
		t.Errorf("without a number: %v is the greatest, stored as %x", f, row.AppendState(nil, 0))
	}
}

// TestExtremeState: a state that no event can have made is refused.
func TestExtremeState(t *testing.T) {
	state := func(f float64) []byte { return binary.LittleEndian.AppendUint64(nil, math.Float64bits(f)) }
	for _, x := range []struct {
		kind  Kind
		other float64 // which 0 is preferred to
	}{{Max, -1}, {Min, 1}} {
		m := Measure{Name: "price", Kind: x.kind, Path: "price"}
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

// TestRecordTimes: the time of a record is any int64 that a producer writes. Beyond all times of events
// an event is late, before them all it is future, also where lateness and skew beside it exceed an int64.
func TestRecordTimes(t *testing.T) {
	for at, want := range map[event.Time]Outcome{
		60_000: Counted, 61_000: Counted, 61_001: Late, 59_000: Counted, 58_999: Future,
		math.MaxInt64: Late, math.MaxInt64 - 1000: Late, math.MinInt64: Future, math.MinInt64 + 1000: Future, -1: Future,
	} {
		op := newOperator(t, &Spec{
			Job: "sales", Version: 1, TimeField: "ts", TimeUnit: event.Seconds, Window: 60_000, Chunk: 64, MaxGroups: 10, Lateness: 1000, Skew: 1000,
		})
		op.Start(Plan{})
		observe(t, op, event.Batch{Next: 1, Records: []event.Record{{Time: at, Value: []byte(`{"ts":60}`)}}})
		if got := op.Take().Lines[0].Outcomes; got[want] != 1 {
			t.Errorf("a record of %d: outcomes %v, want it %s", at, got, want)
		}
	}
}
