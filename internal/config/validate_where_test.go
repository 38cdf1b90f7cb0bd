package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestConstants: a warning for each constant that no value can be like, and for no other.
func TestConstants(t *testing.T) {
	for _, c := range []struct {
		job, where string
		want       []string
	}{
		{"", `{field: "header:n", at_least: 10}`, []string{`at_least: header:n is a text, and 10 is a number: the test never holds`}},
		{"", `{field: ["header:n", key], is: true}`, []string{`is: header:n or key is a text, and true is a bool: the test never holds; put quotes around true`}},
		{"", `{field: "header:bot", is_not: true}`, []string{`is_not: header:bot is a text, and true is a bool: the test always holds; put quotes around true`}},
		{"", `{field: url, apply: host, is: 10}`, []string{`is: host of url is a text, and 10 is a number: the test never holds; put quotes around 10`}},
		{"", `{field: url, apply: [host], in: [a.org, B.org]}`, []string{`in: host of url has no letters A to Z: no value is like "B.org"; write "b.org"`}},
		{"", `{field: u, apply: [trim, lower], is_not: AbÉ}`, []string{`is_not: lower of trim of u has no letters A to Z: no value is like "AbÉ"; write "abÉ"`}},
		{"", `{field: u, apply: lower, prefix: DE}`, []string{`prefix: lower of u has no letters A to Z: no value is like "DE"; write "de"`}},
		{"format: csv", `{field: c2, is_not: true}`, []string{`is_not: c2 is a number or a text, and true is a bool: the test always holds; put quotes around true`}},
		{"format: tsv", `{field: c2, is: "12"}`, []string{`is: c2 is a number where it looks like one, and "12" is a text: the test never holds; leave the quotes out`}},
		{"format: tsv", `{field: c2, apply: path, is: "12"}`, nil},
		{"format: csv", `{field: c2, is: "007", is_not: 12, in: ["007"], above: "0", exists: true}`, nil},
		{"format: csv", `{field: [c2, "c3[json].a", "header:a"], is: true}`, nil},
		{"format: csv", `{field: ["header:a", c2], is: 12}`, nil},
		{"", `{field: ["header:n", n], at_least: 10, is_not: true}`, nil},
		{"", `{field: ["header:n[json].a", key.a], is: 10}`, nil},
		{"", `{field: "header:n", is: "10", in: [10, true], exists: true, above: "1"}`, nil},
		{"", `{field: u, apply: lower, in: [de, 1E5, "É"], is: 10, above: X}`, nil},
		{"", `{field: u, apply: [path, trim], is: /A}`, nil},
		{"{format: avro, key_format: avro}", `{field: key, is: 7}`, nil},
	} {
		data := "registry: {url: http://r}\njobs:\n  - name: a\n    topic: a\n    time: {field: c1}\n    window: 1m\n    where: [{not: {any: [" + c.where + "]}}]\n"
		if c.job != "" {
			data += "    " + strings.NewReplacer("{", "", "}", "", ", ", "\n    ").Replace(c.job) + "\n"
		}
		_, origins, err := Load(Options{File: "weir.yaml", Data: []byte(data)})
		if err != nil {
			t.Errorf("%s: %v", c.where, err)
			continue
		}
		var got []string
		for _, w := range origins.Warnings {
			got = append(got, strings.TrimPrefix(w.Detail(), "jobs[0].where[0].not.any[0]."))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", c.where, diff)
		}
	}
}

// TestContradictions: a warning for tests that no value passes together, and for no others.
func TestContradictions(t *testing.T) {
	for where, want := range map[string][]string{
		`{field: n, at_least: 7, at_most: 3}`:                    {"at_least: 7 and at_most: 3"},
		`{field: n, above: 3, at_most: 3.0}`:                     {"above: 3 and at_most: 3.0"},
		`{field: n, above: 3, is: 3}`:                            {"above: 3 and is: 3"},
		`{field: n, is: 10, below: 9}`:                           {"is: 10 and below: 9"},
		`{field: u, at_least: "7", at_most: "10"}`:               {`at_least: "7" and at_most: "10"`},
		`{field: n, exists: false, is: 3, is_not: 4}`:            {"exists: false and is"},
		`{field: n, exists: false, is_not: 4, not_in: [5]}`:      nil,
		`{field: u, is: a, is_not: a}`:                           {`is: "a" and is_not: "a"`},
		`{field: n, is: 3, is_not: 3.0}`:                         {"is: 3 and is_not: 3.0"},
		`{field: u, in: [a, b], not_in: [b, a, c]}`:              {"in and not_in"},
		`{field: u, is: a, in: [b, c], not_in: [a]}`:             {`is: "a" and in`, `is: "a" and not_in`},
		`{field: u, is: a, in: [a, b], not_in: [b], is_not: b}`:  nil,
		`{field: n, is: 10, in: [10.0, 7], not_in: ["10.0"]}`:    nil,
		`{field: u, in: [a, b], not_in: [a]}`:                    nil,
		`{field: n, exists: true, is: 3}`:                        nil,
		`{field: n, at_least: 3, at_most: 3, is: 3}`:             nil,
		`{field: n, above: 9, below: 10, is_not: 9.5}`:           nil,
		`{field: n, above: 9, below: 10e0, at_least: 9.99}`:      nil,
		`{field: u, at_least: "10", at_most: "7", is: "5"}`:      nil,
		`{any: [{field: n, below: 3}, {field: n, at_least: 7}]}`: nil,
	} {
		_, origins, err := Load(Options{File: "weir.yaml", Data: []byte("jobs:\n  - name: a\n    topic: a\n    time: {field: ts}\n    window: 1m\n    where: [" + where + "]\n")})
		if err != nil {
			t.Errorf("%s: %v", where, err)
			continue
		}
		for i, w := range want {
			want[i] = "weir.yaml:6:13: jobs[0].where[0]: no value passes " + w + ": the condition never holds"
		}
		if diff := cmp.Diff(want, lines(origins.Warnings)); diff != "" {
			t.Errorf("%s: -want +got\n%s", where, diff)
		}
	}
}

// TestKindsOfSchema: what a schema in a file says about a field is compared with what reads it.
func TestKindsOfSchema(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ev.avsc")
	schema := `{"type":"record","name":"Ev","fields":[{"name":"ts","type":"long"},{"name":"bot","type":"boolean"},{"name":"url","type":"string"},{"name":"n","type":"int"},{"name":"d","type":["null","double"]},
		{"name":"sub","type":{"type":"record","name":"Sub","fields":[{"name":"x","type":"string"}]}},
		{"name":"list","type":{"type":"array","items":{"type":"array","items":"long"}}},{"name":"map","type":["null",{"type":"map","values":"long"}]}]}`
	if err := os.WriteFile(file, []byte(schema), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ time, job, problem, warning string }{
		{"field: ts", `measures: [{name: m, kind: sum, field: url}]`, "measures[0].field: url is a text, and sum needs a number", ""},
		{"field: ts", `measures: [{name: m, kind: hll, field: bot}]`, "measures[0].field: bot is true or false, and hll needs a text or a number", ""},
		{"field: ts", `measures: [{name: m, kind: last, field: sub}]`, "measures[0].field: sub is an object or an array, and last needs a text, number or bool; name a field of it, such as sub.value", ""},
		{"field: ts", `by: [{name: s, field: sub, default: none}]`, "by[0]: sub is an object or an array, and a column needs a text, number or bool; name a field of it, such as sub.value", ""},
		{"field: ts", `dedupe: {field: bot}`, "dedupe.field: bot is true or false, and an id is a text or a number", ""},
		{"field: ts", `throttle: {field: [bot, sub], limit: 1, per: 1s}`, "throttle.field: bot or sub is true or false or an object or an array, and a key is a text or a number", ""},
		{"field: ts, unit: rfc3339", `max_groups: 1`, "time.field: ts is a number, and unit rfc3339 needs a text; say what the number counts, s, ms, us or ns", ""},
		{"field: url", `max_groups: 1`, "time.field: url is a text, and unit ms needs a number; say unit: rfc3339 or unit: iso8601 if it is such a time, or unit: record for the timestamp of the record", ""},
		{"field: bot", `max_groups: 1`, "time.field: bot is true or false, and unit ms needs a number; say unit: record for the timestamp of the record, or name another field", ""},
		{"field: bot, unit: iso8601", `max_groups: 1`, "time.field: bot is true or false, and unit iso8601 needs a text; say unit: record for the timestamp of the record, or name another field", ""},
		{"field: list", `max_groups: 1`, `time.field: list is an object or an array, and unit ms needs a number; name an element of it, such as "list[0]"`, ""},
		{"field: 'list[0]', unit: rfc3339", `max_groups: 1`, `time.field: list[0] is an object or an array, and unit rfc3339 needs a text; name an element of it, such as "list[0][0]"`, ""},
		{"field: map, unit: rfc3339", `max_groups: 1`, "time.field: map is an object or an array, and unit rfc3339 needs a text; name a field of it, such as map.value", ""},
		{"field: [sub, map]", `max_groups: 1`, "time.field: sub or map is an object or an array, and unit ms needs a number; name a field of it, such as sub.value", ""},
		{"field: [bot, sub]", `max_groups: 1`, "time.field: bot or sub is true or false or an object or an array, and unit ms needs a number; say unit: record for the timestamp of the record, or name another field", ""},
		{"field: 'list[0][1]'", `measures: [{name: m, kind: sum, field: map.a}]`, "", ""},
		{"field: ts", `where: [{field: sub, is: "10"}]`, "", `where[0].is: sub is an object or an array, and "10" is a text: the test never holds`},
		{"field: ts", `where: [{field: bot, is: "10"}]`, "", `where[0].is: bot is true or false, and "10" is a text: the test never holds`},
		{"field: ts", `where: [{field: n, is_not: "true"}]`, "", `where[0].is_not: n is a number, and "true" is a text: the test always holds`},
		{"field: ts", `where: [{field: n, is: "10"}]`, "", `where[0].is: n is a number, and "10" is a text: the test never holds; leave the quotes out`},
		{"field: ts", `where: [{field: bot, is_not: "true"}]`, "", `where[0].is_not: bot is true or false, and "true" is a text: the test always holds; leave the quotes out`},
		{"field: ts", `where: [{field: n, is: few}]`, "", `where[0].is: n is a number, and "few" is a text: the test never holds`},
		{"field: ts", `where: [{field: url, below: 5}]`, "", `where[0].below: url is a text, and 5 is a number: the test never holds`},
		{"field: ts", `measures: [{name: m, kind: sum, field: [url, n]}, {name: k, kind: topk, field: bot}, {name: q, kind: quantile, field: d}]`, "", ""},
		{"field: ts", `where: [{field: d, is: 5, is_not: NaN}, {field: [url, bot], is: true}]`, "", ""},
	} {
		data := "jobs:\n  - name: a\n    topic: a\n    format: avro\n    schema_file: " + file + "\n    time: {" + c.time + "}\n    window: 1m\n    " + c.job + "\n"
		_, origins, err := Load(Options{File: "weir.yaml", Data: []byte(data)})
		problem := ""
		if err != nil {
			_, problem, _ = strings.Cut(err.Error(), "jobs[0].")
		}
		if problem != c.problem {
			t.Errorf("%s: %q, want %q", c.job, problem, c.problem)
		}
		var want []string
		if c.warning != "" {
			want = []string{"jobs[0]." + c.warning}
		}
		var got []string
		for _, w := range origins.Warnings {
			got = append(got, w.Detail())
		}
		if diff := cmp.Diff(want, got); err == nil && diff != "" {
			t.Errorf("%s: -want +got\n%s", c.job, diff)
		}
	}
}
