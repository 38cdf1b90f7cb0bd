package window_test

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"weir/event"
	"weir/measures/hll"
	. "weir/window"
)

// one decodes one event and returns its outcome and reason, its group, and the measures that
// take something of it.
func one(t *testing.T, s *Spec, doc string) (outcome Outcome, reason, group string, takes []string) {
	t.Helper()
	return newOperator(t, s).DecodeOne(doc)
}

func plainSpec() *Spec {
	return &Spec{Job: "j", Version: 1, TimeField: "ts", TimeUnit: event.Millis, Window: 60_000, Lateness: 3_600_000, Skew: 600_000, Chunk: 64, MaxGroups: 5}
}

// TestConditions: each test of a condition, for values of each kind.
func TestConditions(t *testing.T) {
	values := []string{"", "null", "true", "false", "10", "10.0", "1e1", "9", "-3", "10.000000000000000000001", `"10"`, `"10.0"`, `"true"`, `""`, `"DE"`, `"DEX"`, `"XDE"`, `"de"`, "{}", `["DE"]`}
	for _, c := range []struct {
		c    Condition
		want string // the values that meet it
	}{
		{Condition{In: []string{"10", "DE", "true"}}, `true 10 "10" "true" "DE"`},
		{Condition{NotIn: []string{"10", "DE", "true"}}, ` null false 10.0 1e1 9 -3 10.000000000000000000001 "10.0" "" "DEX" "XDE" "de" {} ["DE"]`},
		{Condition{Is: "10"}, `10 10.0 1e1 "10" "10.0"`},
		{Condition{Is: `"10"`}, `"10"`},
		{Condition{Is: "true"}, `true`},
		{Condition{Is: `""`}, `""`},
		{Condition{IsNot: "10"}, ` null true false 9 -3 10.000000000000000000001 "true" "" "DE" "DEX" "XDE" "de" {} ["DE"]`},
		{Condition{Below: "10"}, `9 -3`},
		{Condition{AtMost: "10"}, `10 10.0 1e1 9 -3 "10" "10.0"`},
		{Condition{Above: "10"}, `10.000000000000000000001`},
		{Condition{AtLeast: "10"}, `10 10.0 1e1 10.000000000000000000001 "10" "10.0"`},
		{Condition{AtLeast: "-3", Below: "10"}, `9 -3`},
		{Condition{AtLeast: `"10"`, Below: `"DEX"`}, `"10" "10.0" "DE"`},
		{Condition{Above: `"DE"`}, `"true" "DEX" "XDE" "de"`},
		{Condition{Prefix: []string{"DE", "1"}}, `10 10.0 1e1 10.000000000000000000001 "10" "10.0" "DE" "DEX"`},
		{Condition{Suffix: []string{"DE", "ue"}}, `true "true" "DE" "XDE"`},
		{Condition{Prefix: []string{""}}, `true false 10 10.0 1e1 9 -3 10.000000000000000000001 "10" "10.0" "true" "" "DE" "DEX" "XDE" "de"`},
		{Condition{Exists: "true"}, `true false 10 10.0 1e1 9 -3 10.000000000000000000001 "10" "10.0" "true" "" "DE" "DEX" "XDE" "de" {} ["DE"]`},
		{Condition{Exists: "false"}, ` null`},
	} {
		c.c.Path = "x"
		for name, form := range map[string]func(Condition) ([]Condition, bool){
			"alone": func(c Condition) ([]Condition, bool) { return []Condition{c}, true },
			"not":   func(c Condition) ([]Condition, bool) { return []Condition{{Not: &c}}, false },
			"any": func(c Condition) ([]Condition, bool) {
				return []Condition{{Any: []Condition{{Path: "n", Is: `"x"`}, c}}}, true
			},
			"all": func(c Condition) ([]Condition, bool) {
				return []Condition{{All: []Condition{{Path: "n", Exists: "false"}, c}}}, true
			},
			"all of two": func(c Condition) ([]Condition, bool) {
				return []Condition{{Not: &Condition{All: []Condition{c, {Path: "ts", Above: "0"}}}}}, false
			},
		} {
			where, direct := form(c.c)
			var met []string
			for _, v := range values {
				doc := `{"ts":1000}`
				if v != "" {
					doc = `{"ts":1000,"x":` + v + `}`
				}
				s := plainSpec()
				s.Where = where
				outcome, reason, _, _ := one(t, s, doc)
				if outcome != Counted && outcome != Filtered {
					t.Fatalf("%s: %s %s", doc, outcome, reason)
				}
				if (outcome == Counted) == direct {
					met = append(met, v)
				}
			}
			if got := strings.Join(met, " "); got != c.want {
				t.Errorf("%s %+v: met by %q, want %q", name, c.c, got, c.want)
			}
		}
	}
}

// TestWhereOfMeasure: an event that does not meet the conditions of a measure counts in hits
// and in the other measures, and need not have the measure's field.
func TestWhereOfMeasure(t *testing.T) {
	s := plainSpec()
	s.Measures = []Measure{
		{Name: "all", Kind: hll.Kind, Path: "user"},
		{Name: "buyers", Kind: hll.Kind, Path: "buyer", Where: []Condition{{Path: "action", Is: `"buy"`}, {Path: "amount", AtLeast: "10"}}},
	}
	for _, c := range []struct {
		doc, reason string
		outcome     Outcome
		takes       []string
	}{
		{`{"ts":1000,"user":1,"action":"buy","amount":10.5,"buyer":1}`, "", Counted, []string{"all", "buyers"}},
		{`{"ts":1000,"user":1,"action":"buy","amount":9.5,"buyer":1}`, "", Counted, []string{"all"}},
		{`{"ts":1000,"user":1,"action":"view"}`, "", Counted, []string{"all"}},
		{`{"ts":1000,"user":1,"action":"view","buyer":[]}`, "", Counted, []string{"all"}},
		{`{"ts":1000,"user":1,"action":"buy","amount":10}`, "field buyer is missing", Malformed, nil},
		{`{"ts":1000,"action":"view"}`, "field user is missing", Malformed, nil},
	} {
		outcome, reason, _, takes := one(t, s, c.doc)
		if outcome != c.outcome || reason != c.reason || !slices.Equal(takes, c.takes) {
			t.Errorf("%s: %s %q %v", c.doc, outcome, reason, takes)
		}
	}
}

// TestConditionsNaiveTwin compares conditions of every form over random events with big.Rat
// and the functions of package strings.
func TestConditionsNaiveTwin(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	number := func() string {
		return pick("", "-") + fmt.Sprint(r.IntN(30)) + pick("", ".0", ".5", ".50", "e1", "e-1", ".00000000000000000001")
	}
	type made struct {
		c     Condition
		holds func(x map[string]string) bool
	}
	var random func(deep int) made
	random = func(deep int) made {
		field := pick("a", "b")
		switch n := r.IntN(10); {
		case n < 2 && deep > 0:
			x := random(deep - 1)
			return made{Condition{Not: &x.c}, func(v map[string]string) bool { return !x.holds(v) }}
		case n < 6 && deep > 0:
			var parts []made
			var cs []Condition
			for range 1 + r.IntN(3) {
				p := random(deep - 1)
				parts, cs = append(parts, p), append(cs, p.c)
			}
			if n < 4 {
				return made{Condition{Any: cs}, func(v map[string]string) bool {
					return slices.ContainsFunc(parts, func(p made) bool { return p.holds(v) })
				}}
			}
			return made{Condition{All: cs}, func(v map[string]string) bool {
				return !slices.ContainsFunc(parts, func(p made) bool { return !p.holds(v) })
			}}
		case n < 8:
			bound := number()
			rat, _ := new(big.Rat).SetString(bound)
			op := r.IntN(6)
			c := Condition{Path: field}
			*[]*string{&c.Is, &c.IsNot, &c.Below, &c.AtMost, &c.Above, &c.AtLeast}[op] = bound
			return made{c, func(v map[string]string) bool {
				x, ok := new(big.Rat).SetString(strings.Trim(v[field], `"`)) // a text may be a number
				if !ok {
					return op == 1
				}
				o := x.Cmp(rat)
				return []bool{o == 0, o != 0, o < 0, o <= 0, o > 0, o >= 0}[op]
			}}
		}
		text := pick("x", "xy", "Y", "1")
		unquoted := func(v map[string]string) (string, bool) { s, ok := v[field]; return strings.Trim(s, `"`), ok }
		switch r.IntN(3) {
		case 0:
			return made{Condition{Path: field, Prefix: []string{text}}, func(v map[string]string) bool { s, ok := unquoted(v); return ok && strings.HasPrefix(s, text) }}
		case 1:
			return made{Condition{Path: field, Suffix: []string{text, "5"}}, func(v map[string]string) bool {
				s, ok := unquoted(v)
				return ok && (strings.HasSuffix(s, text) || strings.HasSuffix(s, "5"))
			}}
		}
		return made{Condition{Path: field, Is: `"` + text + `"`}, func(v map[string]string) bool { return v[field] == `"`+text+`"` }}
	}
	counted := 0
	for range 400 {
		s := plainSpec()
		m := random(3)
		s.Where = []Condition{m.c}
		op := newOperator(t, s)
		for range 50 {
			v := map[string]string{}
			doc := `{"ts":1000`
			for _, f := range []string{"a", "b"} {
				switch r.IntN(4) {
				case 0:
				case 1:
					v[f] = `"` + pick("x", "xy", "xyY", "Y", "1", "15") + `"`
				default:
					v[f] = number()
				}
				if v[f] != "" {
					doc += `,"` + f + `":` + v[f]
				}
			}
			outcome, _ := op.Decode(event.Record{Value: []byte(doc + "}"), Time: 1000})
			if (outcome == Counted) != m.holds(v) {
				t.Fatalf("%s}: %s by %+v", doc, outcome, m.c)
			}
			if outcome == Counted {
				counted++
			}
		}
	}
	if counted < 2000 || counted > 18_000 {
		t.Errorf("%d of 20,000 events counted: the test tests little", counted)
	}
}

// TestOperands: an operator refuses operands that a test cannot have.
func TestOperands(t *testing.T) {
	for _, c := range []Condition{{Path: "x", Is: "one"}, {Path: "x", Below: "true"}, {Path: "x", Is: `"`}} {
		s := plainSpec()
		s.Where = []Condition{c}
		if _, err := NewOperator(s); err == nil {
			t.Errorf("%+v is accepted", c)
		}
	}
}

// TestConditionsAllocateNothing: nor do derived fields.
func TestConditionsAllocateNothing(t *testing.T) {
	s := plainSpec()
	s.By = []Dimension{{Name: "site", Path: "[referrer][url] host"}}
	s.Where = []Condition{{Any: []Condition{{Path: "amount", AtLeast: "10"}, {Path: "[device] lower", In: []string{"mobile"}}}}}
	s.Measures = []Measure{{Name: "m", Kind: hll.Kind, Path: "items[0].sku", Where: []Condition{{Path: "user", Prefix: []string{"u"}}}}}
	op := newOperator(t, s)
	records := []event.Record{{Time: 1000, Value: []byte(`{"ts":1000,"url":"https://Example.ORG/","device":"MOBILE","amount":9.75,"user":"u1","items":[{"sku":"a"},{"sku":"b"}]}`)}}
	if n := testing.AllocsPerRun(200, func() {
		if outcome, reason := op.Decode(records...); outcome != Counted {
			t.Fatal(outcome, reason)
		}
	}); n != 0 {
		t.Errorf("%v allocations per event", n)
	}
}
