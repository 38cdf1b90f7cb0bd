package config

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

func compiledSchema(t testing.TB) *jsonschema.Schema {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(JSONSchema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("weir.schema.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("weir.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// validates checks a YAML document by the schema, as an editor does.
func validates(t testing.TB, schema *jsonschema.Schema, document []byte) error {
	t.Helper()
	var root any
	if err := yaml.Unmarshal(document, &root); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(root)
	if err != nil { // a NaN, which JSON does not have
		return nil
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return schema.Validate(value)
}

// TestSchemaRefuses: the schema refuses the mistakes that an editor should
// underline. FuzzLoad shows that it accepts what loads.
func TestSchemaRefuses(t *testing.T) {
	const job = "name: a, topic: a, time: {field: ts}, window: 1m"
	for _, data := range []string{
		"kafka: {brokerz: [a]}",
		"clickhouse: {password: hunter2}",
		"flush: {interval: 1}",
		"flush: {interval: 1 sec}",
		"memory: 1G",
		"workers: -1",
		"workers: '1'",
		"kafka: {on_data_loss: stop}",
		"jobs: {a: 1}",
		"jobs: [{name: a}]",
		"jobs: [{" + job + ", chunk: 1}]",
		"jobs: [{" + job + ", name2: 1}]",
		"jobs: [{" + job + ", by: [{precision: 5}]}]",
		"jobs: [{" + job + ", measures: [{name: m, field: id}]}]",
		"jobs: [{" + job + ", where: [{field: a, '>=': 1}]}]",
		"jobs: [{" + job + ", where: [{field: a, at_least: [1]}]}]",
		"jobs: [{" + job + ", where: [{field: a, exists: 1}]}]",
		"jobs: [{" + job + ", where: [{field: a, is: 1, apply: upper}]}]",
		"jobs: [{" + job + ", where: [{any: [{field: a, gt: 1}]}]}]",
		"jobs: [{" + job + ", where: [{any: [{all: [{not: {field: a, is: 1}}]}]}]}]",
		"jobs: [{" + job + ", measures: [{name: m, kind: hll, field: id, where: {field: a, is: 1}}]}]",
		"jobs: [{" + job + ", measures: [{name: Users, kind: hll, field: id}]}]",
	} {
		if err := validates(t, compiledSchema(t), []byte(data)); err == nil {
			t.Errorf("accepted: %s", data)
		}
		if _, _, err := Load(Options{File: "weir.yaml", Data: []byte(data), NoJobs: true}); err == nil {
			t.Errorf("loaded: %s", data)
		}
	}
}
