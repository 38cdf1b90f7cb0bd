package config

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestOmissions: what a job does not see of fields whose zero producers do not write is named
// with the remedy, and what it does see is not.
func TestOmissions(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ev.proto")
	schema := `syntax = "proto3"; import "google/protobuf/wrappers.proto";
		message Ev { int64 ts = 1; int64 n = 2; bool bot = 3; string s = 4; K k = 5; enum K { NONE = 0; SOME = 1; } optional int64 o = 6; google.protobuf.Int64Value w = 7; Sub sub = 8;
		message Sub { double x = 1; } repeated int64 ns = 9; oneof y { int64 u = 10; } repeated Sub subs = 11; }`
	if err := os.WriteFile(file, []byte(schema), 0o600); err != nil {
		t.Fatal(err)
	}
	const declared, taken = ", because the schema does not declare it optional: ", "in place of optional: true"
	unmet := func(field, zero string) string {
		return "producers do not write " + field + " where it is " + zero + declared + "such events do not meet the condition, and with a written " + zero + " they would; say any: […, {field: " + field + ", exists: false}]"
	}
	met := func(field, zero string) string {
		return "producers do not write " + field + " where it is " + zero + declared + "such events meet the condition, and with a written " + zero + " they would not; add the condition {field: " + field + ", exists: true}"
	}
	never := func(how, field, zero string) string {
		return "producers do not write " + field + " where it is " + zero + declared + "such events " + how + "; no condition tells them from events without the field: declare it optional"
	}
	deep := func(field, zero string) string {
		return "producers do not write " + field + " where it is " + zero + declared + "such events do not meet the condition, and with a written " + zero + " they would; declare it optional"
	}
	const isUnmet, isMet = `do not meet the condition, and with a written "" they would`, `meet the condition, and with a written "" they would not`
	for _, c := range []struct {
		job  string
		want []string
	}{
		{`by: [k, {name: t, field: s, default: ""}, {name: either, field: [s, n]}, o]`, []string{
			`by[0]: producers do not write k where it is "NONE"` + declared + "such events are malformed; give the column a default",
		}},
		{`measures: [{name: a, kind: avg, field: n, optional: true}, {name: b, kind: min, field: sub.x}, {name: c, kind: last, field: s, optional: true}]`, []string{
			"measures[0]: producers do not write n where it is 0" + declared + "avg leaves such events out; say default: 0 " + taken,
			"measures[1]: producers do not write sub.x where it is 0" + declared + "such events are malformed; say default: 0",
			"measures[2]: producers do not write s where it is \"\"" + declared + "last leaves such events out; say default: \"\" " + taken,
		}},
		{`measures: [{name: a, kind: sum, field: n, optional: true}, {name: b, kind: avg, field: n, default: 0}, {name: c, kind: max, field: o}, {name: d, kind: max, field: w}, {name: e, kind: max, field: "ns[0]"},
			{name: f, kind: max, field: u}, {name: g, kind: hll, field: s}, {name: h, kind: max, field: [o, n]}, {name: i, kind: max, field: "s[json].n"}, {name: j, kind: last, field: "header:n", optional: true}]`, nil},
		{`where: [{field: bot, is: false}]`, []string{"where[0]: " + unmet("bot", "false")}},
		{`where: [{field: bot, is_not: true}, {field: n, above: 0}, {field: n, is_not: 5}, {field: s, is: x}]`, nil},
		{`where: [{any: [{field: n, at_most: 10}, {field: n, exists: false}]}, {all: [{field: n, is_not: 0}, {field: n, exists: true}]}]`, nil},
		{`where: [{field: n, not_in: [0]}, {not: {field: s, prefix: ["", x]}}]`, []string{"where[0]: " + met("n", "0"), "where[1]: " + met("s", `""`)}},
		{`where: [{all: [{field: o, above: 3}, {any: [{field: k, in: [NONE, ALL]}, {field: bot, is: true}]}]}]`, []string{"where[0]: " + deep("k", `"NONE"`)}},
		{`where: [{all: [{field: o, above: 3}, {field: k, in: [NONE, ALL]}]}]`, []string{"where[0]: " + unmet("k", `"NONE"`)}},
		{`where: [{field: s, apply: host, exists: true}, {field: s, apply: lower, exists: true}]`, []string{"where[1]: " + never(isUnmet, "s", `""`)}},
		{`where: [{field: s, exists: false}, {not: {field: s, exists: true}}]`, []string{"where[0]: " + never(isMet, "s", `""`), "where[1]: " + never(isMet, "s", `""`)}},
		{`where: [{not: {all: [{field: bot, is: true}, {field: o, is: 1}]}}, {not: {all: [{field: bot, is: false}, {field: o, is: 1}]}}]`, []string{"where[1]: " + met("bot", "false")}},
		{`where: [{not: {any: [{field: s, is_not: ""}, {field: o, is: 1}]}}]`, []string{"where[0]: " + deep("s", `""`)}},
		{`measures: [{name: a, kind: hll, field: n}, {name: b, kind: bitmap, field: n, optional: true}, {name: c, kind: hll, field: s}, {name: d, kind: topk, field: s, apply: host, optional: true}]`, []string{
			"measures[0]: producers do not write n where it is 0" + declared + "such events are malformed; say default: 0",
			"measures[1]: producers do not write n where it is 0" + declared + "bitmap leaves such events out; say default: 0 " + taken,
		}},
		{`where: [{field: "subs[0].x", below: 1}]`, []string{
			"where[0]: producers do not write subs[0].x where it is 0" + declared + `such events do not meet the condition, and with a written 0 they would; say any: […, {field: "subs[0].x", exists: false}]`,
		}},
		{`measures: [{name: a, kind: hll, field: u, where: [{field: n, below: 1}]}]`, []string{"measures[0].where[0]: " + unmet("n", "0")}},
		{`each: subs
    measures: [{name: a, kind: avg, field: x, optional: true}, {name: b, kind: avg, field: "record:n", optional: true}]`, []string{
			"measures[0]: producers do not write x where it is 0" + declared + "avg leaves such events out; say default: 0 " + taken,
			"measures[1]: producers do not write record:n where it is 0" + declared + "avg leaves such events out; say default: 0 " + taken,
		}},
	} {
		field := "ts"
		if c.job[:5] == "each:" {
			field = "record:ts"
		}
		data := "jobs:\n  - name: a\n    topic: a\n    format: protobuf\n    schema_file: " + file + "\n    message: Ev\n    time: {field: \"" + field + "\"}\n    window: 1m\n    " + c.job + "\n"
		_, origins, err := Load(Options{File: "weir.yaml", Data: []byte(data)})
		if err != nil {
			t.Errorf("%s: %v", c.job, err)
			continue
		}
		var want, got []string
		for _, w := range c.want {
			want = append(want, "jobs[0]."+w)
		}
		for _, w := range origins.Warnings {
			got = append(got, w.Detail())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", c.job, diff)
		}
	}
}
