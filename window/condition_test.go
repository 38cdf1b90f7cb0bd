package window

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"weir/event"
)

// one decodes one event and returns its outcome and reason, its group, and the measures that
// take something of it.
func one(t *testing.T, s *Spec, doc string) (outcome Outcome, reason, group string, takes []string) {
	t.Helper()
	op := newOperator(t, s)
	op.decoder.decode(&event.Record{Value: []byte(`{"x":"left over","n":7}`), Time: 1000})
	outcome, reason = op.decoder.decode(&event.Record{Value: []byte(doc), Time: 1000})
	if outcome == Counted {
		group = string(op.decoder.group)
		for i := range op.decoder.feeds {
			if op.decoder.feeds[i].takes {
				takes = append(takes, s.Measures[i].Name)
			}
		}
	}
	return outcome, reason, group, takes
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
		{Condition{Is: "10"}, `10 10.0 1e1`},
		{Condition{Is: `"10"`}, `"10"`},
		{Condition{Is: "true"}, `true`},
		{Condition{Is: `""`}, `""`},
		{Condition{IsNot: "10"}, ` null true false 9 -3 10.000000000000000000001 "10" "10.0" "true" "" "DE" "DEX" "XDE" "de" {} ["DE"]`},
		{Condition{Below: "10"}, `9 -3`},
		{Condition{AtMost: "10"}, `10 10.0 1e1 9 -3`},
		{Condition{Above: "10"}, `10.000000000000000000001`},
		{Condition{AtLeast: "10"}, `10 10.0 1e1 10.000000000000000000001`},
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
				t.Errorf("%s %s: met by %q, want %q", name, c.c.text(), got, c.want)
			}
		}
	}
}

// TestWhereOfMeasure: an event that does not meet the conditions of a measure counts in hits
// and in the other measures, and need not have the measure's field.
func TestWhereOfMeasure(t *testing.T) {
	s := plainSpec()
	s.Measures = []Measure{
		{Name: "all", Kind: HLL, Path: "user"},
		{Name: "buyers", Kind: HLL, Path: "buyer", Where: []Condition{{Path: "action", Is: `"buy"`}, {Path: "amount", AtLeast: "10"}}},
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

// TestFields: alternatives, elements of arrays and functions, wherever a field is named.
func TestFields(t *testing.T) {
	s := plainSpec()
	s.TimeField = "[ts][at]"
	s.By = []Column{{Name: "site", Path: "[page][urls[0].href] host", Default: "-", HasDefault: true}}
	s.Where = []Condition{{Path: "[action] trim lower", In: []string{"view"}}}
	s.Dedupe = &Dedupe{Path: "[id][ids[1]]", Error: 0.01}
	s.Measures = []Measure{
		{Name: "users", Kind: HLL, Path: "[userId][anonymousId]"},
		{Name: "places", Kind: Geo, Path: "[userId][anonymousId] lower", Lon: "[lon][pos[0]]", Lat: "[lat][pos[1]]", Optional: true},
	}
	for _, c := range []struct {
		doc, reason, group string
		outcome            Outcome
		takes              string
	}{
		{`{"ts":1000,"page":"https://Example.org/x","action":" View ","id":1,"userId":"u"}`, "", "example.org", Counted, "users"},
		{`{"ts":null,"at":1000,"urls":[{"href":"http://b.org"}],"action":"view","ids":[0,"x"],"anonymousId":"A","pos":[1.5,2]}`, "", "b.org", Counted, "users places"},
		{`{"at":1000,"page":"/x","urls":[{"href":"http://b.org"}],"action":"VIEW","id":"x","anonymousId":"A","lon":1,"pos":[3,2]}`, "", "-", Counted, "users places"},
		{`{"ts":1000,"action":"buy","id":1,"userId":"u"}`, "", "", Filtered, ""},
		{`{"action":"view","id":1,"userId":"u"}`, "field ts or at is missing", "", Malformed, ""},
		{`{"ts":1000,"action":"view","id":1}`, "field userId or anonymousId is missing", "", Malformed, ""},
		{`{"ts":1000,"action":"view","ids":[1],"userId":"u"}`, "field id or ids[1] is missing", "", Malformed, ""},
		{`{"ts":1000,"action":"view","id":1,"userId":{}}`, "field userId or anonymousId is neither text nor number", "", Malformed, ""},
	} {
		outcome, reason, group, takes := one(t, s, c.doc)
		if outcome != c.outcome || reason != c.reason || group != c.group || strings.Join(takes, " ") != c.takes {
			t.Errorf("%s: %s %q, group %q, takes %v", c.doc, outcome, reason, group, takes)
		}
	}
	s.By[0].HasDefault = false
	if _, reason, _, _ := one(t, s, `{"ts":1000,"page":"/x","action":"view","id":1,"userId":"u"}`); reason != "field host of page or urls[0].href is missing" {
		t.Errorf("%q", reason)
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
				x, ok := new(big.Rat).SetString(v[field])
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
		return made{Condition{Path: field, Is: Operand(text)}, func(v map[string]string) bool { return v[field] == `"`+text+`"` }}
	}
	counted := 0
	for range 400 {
		s := plainSpec()
		m := random(3)
		s.Where = []Condition{m.c}
		op := newOperator(t, s)
		texts := map[string]bool{}
		texts[m.c.text()] = true
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
			outcome, _ := op.decoder.decode(&event.Record{Value: []byte(doc + "}"), Time: 1000})
			if (outcome == Counted) != m.holds(v) {
				t.Fatalf("%s}: %s by %s", doc, outcome, m.c.text())
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

// TestConditionMeaning: a condition of the old form has the old text, every other change is
// one of the meaning, and Difference shows it as a configuration has it.
func TestConditionMeaning(t *testing.T) {
	is := func(c Condition) Condition { c.Path = "x"; return c }
	forms := []Condition{
		is(Condition{In: []string{"a"}}), is(Condition{In: []string{"a", "b"}}), is(Condition{NotIn: []string{"a"}}), is(Condition{Is: `"a"`}), is(Condition{IsNot: `"a"`}),
		is(Condition{Is: "1"}), is(Condition{Is: `"1"`}), is(Condition{Below: "1"}), is(Condition{AtMost: "1"}), is(Condition{Above: "1"}), is(Condition{AtLeast: "1"}), is(Condition{AtLeast: "1", Below: "2"}),
		is(Condition{Prefix: []string{"a"}}), is(Condition{Suffix: []string{"a"}}), is(Condition{Suffix: []string{"a, b"}}), is(Condition{Suffix: []string{"a", "b"}}), is(Condition{Exists: "true"}), is(Condition{Exists: "false"}),
		{Path: "[x] lower", In: []string{"a"}}, {Path: "[x][y]", In: []string{"a"}}, {Path: "[x][y] lower", Is: "1"}, {Path: "[x, y]", Is: "1"},
		{Any: []Condition{is(Condition{Is: "1"}), is(Condition{Is: "2"})}}, {All: []Condition{is(Condition{Is: "1"}), is(Condition{Is: "2"})}}, {Any: []Condition{is(Condition{Is: "1"})}},
		{Not: &Condition{Path: "x", Is: "1"}}, {Not: &Condition{Not: &Condition{Path: "x", Is: "1"}}},
	}
	specs, measures := map[string]int{}, map[string]int{}
	for i, c := range forms {
		s := plainSpec()
		s.Where = []Condition{c}
		m := Measure{Name: "m", Kind: HLL, Path: "u", Where: []Condition{c}}
		if err := s.Validate(); err != nil {
			t.Errorf("%s: %v", c.text(), err)
		}
		for _, x := range []struct {
			text string
			of   map[string]int
		}{{s.Meaning(), specs}, {m.Meaning(), measures}} {
			if other, ok := x.of[x.text]; ok {
				t.Errorf("%s and %s mean the same: %q", forms[other].text(), c.text(), x.text)
			}
			x.of[x.text] = i
		}
		none := Measure{Name: "m", Kind: HLL, Path: "u"}
		if got, ok := Difference(plainSpec().Meaning(), s.Meaning()); !ok || len(got) != 1 || got[0].Key != "where" || got[0].Was != "nothing" {
			t.Errorf("%s: %v, %t", c.text(), got, ok)
		}
		if got, ok := MeasureDifference(none.Meaning(), m.Meaning()); !ok || len(got) != 1 || sentence(got) != "where was nothing, is ["+c.text()+"]" {
			t.Errorf("%s: %v, %t", c.text(), got, ok)
		}
	}
	s, old := plainSpec(), plainSpec()
	old.Where = []Condition{{Path: "action", In: []string{"view", "click"}}}
	if got := old.Meaning(); !strings.HasSuffix(got, "where \"action\" \"view\" \"click\"\n") {
		t.Errorf("the old form has the text %q", got)
	}
	s.Where = []Condition{{Any: []Condition{{Path: "[a][b]", AtLeast: "10"}, {Not: &Condition{Path: "[url] host", Prefix: []string{"www."}}}}}}
	s.TimeField = "[ts][at]"
	s.By = []Column{{Name: "site", Path: "[url] host"}}
	got, _ := Difference(old.Meaning(), s.Meaning())
	want := `time.field was ts, is [ts, at]; by was nothing, is [{name: site, field: url, apply: [host]}]; ` +
		`where was [{field: action, in: [view, click]}], is [{any: [{field: [a, b], at_least: 10}, {not: {field: url, apply: [host], prefix: ["www."]}}]}]`
	if sentence(got) != want {
		t.Errorf("%s", sentence(got))
	}
	for _, c := range []Condition{{}, {Path: "x"}, {Is: "1"}, {Path: "x", Is: "1", Any: []Condition{}}, {Any: []Condition{{}}}, {Path: "x", Is: "one"}, {Path: "x", Below: "true"}, {Path: "x", Exists: "1"}, {Path: "x", Is: `"`}, {Not: &Condition{}}} {
		s := plainSpec()
		s.Where = []Condition{c}
		if s.Validate() == nil {
			t.Errorf("%s is accepted", c.text())
		}
	}
}

// TestConditionsAllocateNothing: nor do derived fields.
func TestConditionsAllocateNothing(t *testing.T) {
	s := plainSpec()
	s.By = []Column{{Name: "site", Path: "[referrer][url] host"}}
	s.Where = []Condition{{Any: []Condition{{Path: "amount", AtLeast: "10"}, {Path: "[device] lower", In: []string{"mobile"}}}}}
	s.Measures = []Measure{{Name: "m", Kind: HLL, Path: "items[0].sku", Where: []Condition{{Path: "user", Prefix: []string{"u"}}}}}
	op := newOperator(t, s)
	rec := event.Record{Time: 1000, Value: []byte(`{"ts":1000,"url":"https://Example.ORG/","device":"MOBILE","amount":9.75,"user":"u1","items":[{"sku":"a"},{"sku":"b"}]}`)}
	if n := testing.AllocsPerRun(200, func() {
		if outcome, reason := op.decoder.decode(&rec); outcome != Counted {
			t.Fatal(outcome, reason)
		}
	}); n != 0 {
		t.Errorf("%v allocations per event", n)
	}
}

// TestWrongTime: the reason of an event without a time says what the unit of the job needs.
func TestWrongTime(t *testing.T) {
	for _, c := range []struct {
		unit     event.Unit
		ts, want string
	}{
		{event.Millis, `"1763600000000"`, "field ts is not a number, which unit ms needs"},
		{event.Seconds, `"2026-11-20T10:05:00Z"`, "field ts is not a number, which unit s needs"},
		{event.Seconds, `1763600000000`, "field ts is not a time between 1970 and 2106 in unit s"},
		{event.Micros, `-1e3`, "field ts is not a time between 1970 and 2106 in unit us"},
		{event.RFC3339, `1763600000000`, "field ts is not a text, which unit rfc3339 needs"},
		{event.ISO8601, `["2026-11-20"]`, "field ts is not a text, which unit iso8601 needs"},
		{event.RFC3339, `"2026-11-20 10:05:00"`, "field ts is not a time between 1970 and 2106 in unit rfc3339"},
		{event.RFC3339, `null`, "field ts is missing"},
	} {
		s := plainSpec()
		s.TimeUnit = c.unit
		if outcome, reason, _, _ := one(t, s, `{"ts":`+c.ts+`}`); outcome != Malformed || reason != c.want {
			t.Errorf("%s in unit %s: %s, %q; want %q", c.ts, c.unit, outcome, reason, c.want)
		}
	}
}
