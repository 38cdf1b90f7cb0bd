package config

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const conditional = `
jobs:
  - name: shop
    topic: shop
    time: {field: [ts, meta.ts]}
    window: 1m
    where:
      - {field: action, in: [view, 1, true]}
      - {field: amount, at_least: 10, below: 1e3}
      - {field: code, is: "10", is_not: 0x10, not_in: [a, 2]}
      - any:
          - {field: "items[0].sku", prefix: [A, B], suffix: Z}
          - {not: {field: url, apply: [trim, host], is: Example.org}}
          - {all: [{field: bot, exists: false}, {field: ok, is: true}]}
      - {not: {any: [{field: at, above: "2026", at_most: 2027-01-01}]}}
    by:
      - {name: site, field: [url, "items[0].url"], apply: host}
    dedupe: {field: [id, event_id], apply: lower}
    measures:
      - {name: people, kind: hll, field: [userId, anonymousId], apply: [trim, lower]}
      - {name: buyers, kind: hll, field: userId, where: [{field: action, is: buy}]}
      - {name: places, kind: geo, member: [userId, anonymousId], lon: [lon, "pos[0]"], lat: [lat, "pos[1]"]}
`

// TestConditions: what a file says about fields and conditions reaches the core, and the
// printed form says the same.
func TestConditions(t *testing.T) {
	cfg, origins, err := Load(Options{File: "weir.yaml", Data: []byte(conditional)})
	if err != nil {
		t.Fatal(err)
	}
	if err := validates(t, compiledSchema(t), []byte(conditional)); err != nil {
		t.Error(err)
	}
	spec, err := cfg.Jobs[0].Spec()
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	got.WriteString(spec.Meaning() + "\n")
	for i := range spec.Measures {
		got.WriteString(spec.Measures[i].Meaning() + "\n")
	}
	golden(t, "testdata/conditions.txt", []byte(got.String()))
	var out bytes.Buffer
	if err := Print(&out, cfg, origins); err != nil {
		t.Fatal(err)
	}
	again, _, err := Load(Options{File: "printed.yaml", Data: out.Bytes()})
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if diff := cmp.Diff(cfg, again, cmp.AllowUnexported(Secret{})); diff != "" {
		t.Errorf("printed form: -before +after\n%s\n%s", diff, out.String())
	}
}

// TestOddKey: a key that looks like an index is an object's, and one with a comma is one key. A
// warning says so.
func TestOddKey(t *testing.T) {
	_, origins, err := Load(Options{File: "weir.yaml", Data: []byte("jobs: [{name: a, topic: a, time: {field: ts}, window: 1m, by: [{name: sku, field: items.0.sku}, {name: v, field: v.10x}, {name: u, field: 'user_id, anonymous_id'}]}]")})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{`weir.yaml:1:64: jobs[0].by[0]: items.0.sku names the key 0 of an object; the element of an array is "items[0].sku"`,
		"weir.yaml:1:122: jobs[0].by[2]: user_id, anonymous_id names one field, with a comma in its name; several fields are a list: [user_id, anonymous_id]"}, lines(origins.Warnings)); diff != "" {
		t.Error(diff)
	}
}

// TestWholeKeyOfProtobuf: a key that is a message has no value, and a warning says so; a condition can ask whether there is one.
func TestWholeKeyOfProtobuf(t *testing.T) {
	for by, want := range map[string][]string{
		"by: [key]":                           {`weir.yaml:1:146: jobs[0].by[0]: a key of protobuf is a message, which is no text and no number, so that every record that has one is malformed; name a field of it, such as key.id`},
		"by: [key.id]":                        nil,
		"where: [{field: key, exists: true}]": nil,
	} {
		data := `{registry: {url: "http://registry:8081"}, jobs: [{name: a, topic: a, format: protobuf, key_format: protobuf, time: {field: ts}, window: 1m, ` + by + `}]}`
		_, origins, err := Load(Options{File: "weir.yaml", Data: []byte(data)})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, lines(origins.Warnings)); diff != "" {
			t.Errorf("%s: %s", by, diff)
		}
	}
}

// TestOfRecordAlone: without each, a path that begins with record: is a key of that spelling, and a warning says so.
func TestOfRecordAlone(t *testing.T) {
	for each, want := range map[string][]string{
		"":          {`weir.yaml:1:64: jobs[0].by[0]: record:app.name names a key of that spelling, because each is not given; the field of the event is app.name`},
		", each: b": nil,
		`, format: csv, columns: [c1, "record:app.name", c2]`: nil,
	} {
		data := "jobs: [{name: a, topic: a, time: {field: c1}, window: 1m, by: [{name: app, field: \"record:app.name\", default: none}, c2]"
		_, origins, err := Load(Options{File: "weir.yaml", Data: []byte(data + each + "}]")})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, lines(origins.Warnings)); diff != "" {
			t.Errorf("%s: %s", each, diff)
		}
	}
}
