package config

import (
	"strings"
	"testing"
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
      - {field: code, is: "10", is_not: 16, not_in: [a, 2]}
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

// TestConditions: what a file says about fields and conditions reaches the core.
func TestConditions(t *testing.T) {
	cfg, _ := mustLoad(t, Options{File: "weir.yaml", Data: []byte(conditional)})
	spec := cfg.Jobs[0].Spec()
	var got strings.Builder
	got.WriteString(spec.Meaning() + "\n")
	for i := range spec.Measures {
		got.WriteString(spec.Measures[i].Meaning() + "\n")
	}
	golden(t, "testdata/conditions.txt", []byte(got.String()))
}
