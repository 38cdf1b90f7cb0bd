package ordered

import (
	"math/rand/v2"
	"strings"
	"testing"

	"weir/measures/measuretest"
	"weir/window"
)

// TestOrdered: which values count, as which text, and why others are dead letters.
func TestOrdered(t *testing.T) {
	entry, exit := window.Measure{Name: "entry", Kind: First, Path: "page"}, window.Measure{Name: "exit", Kind: Last, Path: "page"}
	long := strings.Repeat("x", 1<<10)
	for _, x := range []struct{ pages, first, last string }{
		{`"/a"`, "/a", "/a"},
		{`"/a" "/b" "/c"`, "/a", "/c"}, // of one time: by offset
		{`1.50 true`, "1.50", "true"},
		{`"" "ü"`, "", "ü"},
		{`"ü" ""`, "ü", ""},
		{`"` + long + `" "a" "bb"`, long, "bb"},
		{`"a" "` + long + `"`, "a", long},
	} {
		for m, want := range map[*window.Measure]string{&entry: x.first, &exit: x.last} {
			row := measuretest.Taken(t, m, strings.Fields(x.pages)...)
			mark, value := Of(row, 0)
			if mark == (Mark{}) || string(value) != want {
				t.Errorf("%.60s: %s is %.60q, want %.60q", x.pages, m.Name, value, want)
			}
			if got, again, err := ReadState(row.AppendState(nil, 0)); err != nil || got != mark || string(again) != want {
				t.Errorf("%.60s: the state of %s is read as %v %.60q, %v", x.pages, m.Name, got, again, err)
			}
		}
	}
	for page, want := range map[string]string{
		`["/a"]`:          "field page is not text, number or bool",
		`{}`:              "field page is not text, number or bool",
		`null`:            "field page is missing",
		`"x` + long + `"`: "field page is longer than 1 KiB",
	} {
		if _, found, dead := measuretest.Take(t, entry, `,"page":`+page); found || len(dead) != 1 || dead[0].Outcome != window.Malformed || dead[0].Reason != want {
			t.Errorf("%.60s: counted %t, %v, want a dead letter: %s", page, found, dead, want)
		}
	}
	exit.Optional = true
	row, found, dead := measuretest.Take(t, exit, "", `,"page":null`)
	if mark, value := Of(row, 0); !found || len(dead) > 0 || mark != (Mark{}) || len(value) > 0 || len(row.AppendState(nil, 0)) > 0 || row.Number(0) != 0 {
		t.Errorf("without a value: %v %q, found %t, %v", mark, value, found, dead)
	}
}

// TestOrderedStates: of any states, merged in any order and twice, the one with the
// greatest mark stays; and a state that no event can have made is refused.
func TestOrderedStates(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	m := window.Measure{Name: "exit", Kind: Last, Path: "page"}
	for range 300 {
		best, states := "", [][]byte{nil}
		for range 1 + r.IntN(8) {
			c := new(column)
			c.Grow(1)
			value := strings.Repeat("v", r.IntN(40))
			c.put(0, Mark{1 + r.Uint64N(2), r.Uint64N(2), r.Uint64N(2)}, []byte(value))
			states = append(states, c.AppendState(nil, 0))
		}
		for i := range states { // bytes of numbers below 256 compare like the numbers
			if s := string(states[i]); s > best {
				best = s
			}
		}
		states = append(states, states...)
		r.Shuffle(len(states), func(i, j int) { states[i], states[j] = states[j], states[i] })
		if got, err := m.Merge(states...); err != nil || string(got) != best {
			t.Fatalf("%q are merged to %q (%v), want %q", states, got, err, best)
		}
	}
	state := make([]byte, 24)
	for _, s := range []string{"x", string(state), string(state[:16]) + strings.Repeat("\xff", 8), "\x01" + string(state[:22]), "\x01" + string(state[:23]) + strings.Repeat("x", 1025), strings.Repeat("\xff", 24)} {
		if got, err := m.Merge([]byte(s)); err == nil {
			t.Errorf("%x is taken, as %x", s, got)
		}
	}
}

// TestOrderedNumber: the number of a value grows with its mark, tells values apart, and
// says when the event was.
func TestOrderedNumber(t *testing.T) {
	for _, k := range []*window.Kind{First, Last} {
		earlier, later := measuretest.Taken(t, &window.Measure{Name: "m", Kind: k, Path: "m"}, `"a"`), measuretest.Taken(t, &window.Measure{Name: "m", Kind: k, Path: "m"}, `"b"`)
		if a, b := earlier.Number(0), later.Number(0); a == b || a>>checkBits != b>>checkBits {
			t.Errorf("%s: %x and %x of two values of one time", k, a, b)
		}
		if got := k.Text(nil, earlier.Number(0)); !strings.HasPrefix(got, "the value of the event at 60000 ms (check ") || k.Text(nil, 0) != "nothing" {
			t.Errorf("%s: %s", k, got)
		}
	}
}
