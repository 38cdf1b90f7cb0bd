package config

import (
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
		{"", `{field: "header:n", at_least: 10}`, []string{`at_least: header:n is a text, and 10 is none: the test never holds`}},
		{"", `{field: ["header:n", key], is: true}`, []string{`is: header:n or key is a text, and true is none: the test never holds; put quotes around true`}},
		{"", `{field: "header:bot", is_not: true}`, []string{`is_not: header:bot is a text, and true is none: the test always holds; put quotes around true`}},
		{"", `{field: url, apply: host, is: 10}`, []string{`is: host of url is a text, and 10 is none: the test never holds; put quotes around 10`}},
		{"", `{field: url, apply: [host], in: [a.org, B.org]}`, []string{`in: host of url has no letters A to Z: no value is like "B.org"; write "b.org"`}},
		{"", `{field: u, apply: [trim, lower], is_not: AbÉ}`, []string{`is_not: lower of trim of u has no letters A to Z: no value is like "AbÉ"; write "abÉ"`}},
		{"", `{field: u, apply: lower, prefix: DE}`, []string{`prefix: lower of u has no letters A to Z: no value is like "DE"; write "de"`}},
		{"format: csv", `{field: c2, is_not: true}`, []string{`is_not: c2 is a number or a text, and true is neither: the test always holds; put quotes around true`}},
		{"format: tsv", `{field: c2, is: "12"}`, []string{`is: c2 is a number where it looks like one, and "12" is a text: the test never holds; leave the quotes out`}},
		{"format: tsv", `{field: c2, apply: path, is: "12"}`, nil},
		{"format: csv", `{field: c2, is: "007", is_not: 12, in: ["12"], above: "12", exists: true}`, nil},
		{"format: csv", `{field: [c2, "c3[json].a", "header:a"], is: true}`, nil},
		{"format: csv", `{field: ["header:a", c2], is: 12}`, nil},
		{"", `{field: ["header:n", n], at_least: 10, is_not: true}`, nil},
		{"", `{field: ["header:n[json].a", key.a], is: 10}`, nil},
		{"", `{field: "header:n", is: "10", in: [10, true], exists: false, above: "5"}`, nil},
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
			got = append(got, strings.TrimPrefix(w, "jobs[0].where[0].not.any[0]."))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", c.where, diff)
		}
	}
}
