package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/event"
)

// TestRecordTime: a job may take the time of the record, and then names no field for it.
func TestRecordTime(t *testing.T) {
	cfg, _, err := Load(Options{File: "weir.yaml", Data: []byte("jobs: [{name: a, topic: a, window: 1m, time: {unit: record}}]")})
	if err != nil {
		t.Fatal(err)
	}
	if s, err := cfg.Jobs[0].Spec(); err != nil || s.TimeField != "" || s.TimeUnit != event.RecordTime {
		t.Errorf("%q, %v, %v", s.TimeField, s.TimeUnit, err)
	}
	_, _, err = Load(Options{File: "weir.yaml", Data: []byte("jobs: [{name: a, topic: a, window: 1m, time: {unit: record, field: ts}}]")})
	if want := "jobs[0].time.field: belongs to unit s, ms, us, ns, rfc3339 or iso8601; record has none"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestFormats: a job whose records need a schema has a registry or a file, and mistakes are
// reported with what to write.
func TestFormats(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	avsc := write("e.avsc", `{"type":"record","name":"E","fields":[{"name":"ts","type":"long"},{"name":"user","type":{"type":"record","name":"U","fields":[{"name":"id","type":"long"}]}}]}`)
	protos := write("e.proto", `syntax = "proto3"; message E { int64 ts = 1; U user = 2; } message U { int64 id = 1; }`)
	batch := write("batch.avsc", `{"type":"record","name":"B","fields":[{"name":"sent","type":"long"},{"name":"list","type":["null",{"type":"array","items":{"type":"record","name":"E","fields":[
		{"name":"ts","type":"long"},{"name":"user","type":{"type":"record","name":"U","fields":[{"name":"id","type":"long"}]}}]}}]}]}`)
	load := func(head, job string) (*Config, error) {
		cfg, _, err := Load(Options{File: "weir.yaml", Data: fmt.Appendf(nil, "%s\njobs: [{name: e, topic: e, window: 1m, time: {field: ts}, measures: [{name: users, kind: hll, field: user.id}], %s}]", head, job)})
		return cfg, err
	}
	const registry = "registry: {url: http://r:8081}"
	for _, c := range []struct {
		head, job string
		format    event.Format
		framed    bool
	}{
		{"", "format: json", event.JSON, false},
		{"", "format: json-schema", event.JSONSchema, false},
		{"", "format: cloudevents, by: [{name: type, field: ['header:ce_type', type]}]", event.JSON, false},
		{"", "format: tsv, columns: [user.id, ts]", event.TSV, false},
		{"", "format: csv, columns: [ts, user, user.id, props], by: [{name: plan, field: 'props[json].plan'}, {name: site, field: 'header:meta[json].site'}]", event.CSV, false},
		{"", "by: [{name: plan, field: 'props[json].a.b'}, {name: text, field: props}]", event.JSON, false},
		{registry, "format: avro", event.Avro, true},
		{"", "format: json-schema, framing: glue", event.JSONSchema, false},
		{"registry: {schemas: [{id: 89791762-2336-4186-9674-299b90a802e2, file: " + avsc + "}]}", "format: avro, framing: glue", event.Avro, true},
		{"registry: {schemas: [{id: 17, file: " + avsc + "}, {id: 89791762-2336-4186-9674-299B90A802E2, file: " + protos + "}]}", "format: protobuf", event.Protobuf, true},
		{registry, "format: avro, lost_schemas: [017, 9, 17, 89791762-2336-4186-9674-299B90A802E2]", event.Avro, true},
		{registry, "format: protobuf", event.Protobuf, true},
		{"", "format: avro, schema_file: " + avsc, event.Avro, false},
		{registry, "format: avro, schema_file: " + avsc, event.Avro, false},
		{"", "format: protobuf, message: E, schema_file: " + protos, event.Protobuf, false},
		{registry, "format: protobuf, each: list", event.Protobuf, true},
		{registry, "format: avro, key_format: avro", event.Avro, true},
		{"", "format: avro, each: list, by: [{name: sent, field: 'record:sent'}], schema_file: " + batch, event.Avro, false},
	} {
		cfg, err := load(c.head, c.job)
		if err != nil {
			t.Errorf("%s, %s: %v", c.head, c.job, err)
			continue
		}
		s, err := cfg.Jobs[0].Spec()
		if err != nil {
			t.Fatal(err)
		}
		if s.Format != c.format || s.Framed() != c.framed || s.ReadsEnvelope() != (c.framed || strings.Contains(c.job, "header:")) || (s.Schema != "") != (c.format.HasSchema() && !c.framed) {
			t.Errorf("%s, %s: %v, framed %v, envelope %v, schema %q", c.head, c.job, s.Format, s.Framed(), s.ReadsEnvelope(), s.Schema)
		}
	}
	for _, c := range []struct{ head, job, word string }{
		{"", "format: xml", "json, json-schema, avro, protobuf, tsv, csv or cloudevents"},
		{"", "lost_schemas: [17]", "jobs[0].lost_schemas: the records of this job name no schemas"},
		{"registry: {schemas: [{id: 17, file: none}]}", "format: avro", "registry.schemas[0].file: none: no such file"},
		{"registry: {schemas: [{id: x, file: " + avsc + "}]}", "format: avro", "registry.schemas[0].id: \"x\" is no schema"},
		{"registry: {schemas: [{id: 17, file: " + avsc + "}, {id: 017, file: " + protos + "}]}", "format: avro", "registry.schemas[1].id: registry.schemas[0] has the schema 17 already"},
		{"registry: {schemas: [{id: 17, file: " + write("e.txt", "x") + "}]}", "format: avro", "no schema of avro ("},
		{"registry: {schemas: [{id: 17, file: " + write("e.avsc.empty", "") + "}]}", "format: avro", "the file is empty; put the schema into it"},
		{"registry: {schemas: [{id: 17}]}", "format: avro", "needs file"},
		{"registry: {user: ada, schemas: [{id: 17, file: " + avsc + "}]}", "format: avro", "registry: needs url"},
		{"", "framing: glue", "jobs[0].framing: belongs to format avro or json-schema; json has none"},
		{registry, "format: avro, framing: glue", "weir does not ask AWS Glue for schemas; list the files of its schema versions in registry.schemas"},
		{"", "format: avro, framing: glue, schema_file: " + avsc, "records with the schema in schema_file name none"},
		{registry, "format: avro, lost_schemas: [17, x]", "jobs[0].lost_schemas[1]: \"x\" is no schema"},
		{registry, "format: avro, lost_schemas: [-1]", "is no schema"},
		{registry, "format: avro, lost_schemas: 4294967296", "is no schema"},
		{"", "columns: [ts, user.id]", "jobs[0].columns: belongs to format tsv or csv; json has none"},
		{"", "format: tsv", "jobs[0].time.field: there is no column ts; write c1 for the first column"},
		{"", "format: csv, columns: [ts, user]", "jobs[0].measures[0].field: there is no column user.id; a value in a column that is a JSON object is user[json].id"},
		{"", "format: csv, columns: [tz, user.id]", "jobs[0].time.field: there is no column ts; columns does not list it; did you mean tz?"},
		{"", "format: csv, columns: [ts, user.id, ts]", "jobs[0].columns[2]: ts is the name of column 1 already; each needs one of its own, such as c3"},
		{"", "format: csv, columns: [ts, user.id, 'a[0]']", "cannot be named by a path"},
		{"", "format: csv, columns: [ts, user.id], schema_file: " + avsc, "need no schema"},
		{"", "by: [{name: p, field: 'user[json].plan'}]", "user.id leads through user, which this job reads as a value"},
		{"", "by: [{name: p, field: 'props[json]'}]", "names nothing in the JSON object that the text is; write props[json].name"},
		{"", "by: [{name: p, field: 'props[json].$.x'}]", "no path"},
		{"", "by: ['props[json].plan']", "give it one: {name: props_json_plan, field: \"props[json].plan\"}"},
		{"", "format: avr", "did you mean avro?"},
		{"", "format: avro", "jobs[0].format: records of the format avro need a schema; name the registry"},
		{"", "schema_file: " + avsc, "need no schema"},
		{"", "format: avro, schema_file: " + filepath.Join(dir, "none"), "no such file"},
		{"", "format: avro, schema_file: " + protos, "no schema of avro"},
		{"", "format: protobuf, schema_file: " + protos, "say in message which one: E, U"},
		{registry, "format: protobuf, message: E", "belongs to a schema_file"},
		{"", "message: E", "belongs to a schema_file"},
		{"", "format: avro, by: [page], schema_file: " + avsc, "has nothing at page"},
		{"", "format: avro, by: [user.name], schema_file: " + avsc, "has nothing at user.name"},
		{registry, "format: protobuf, key_format: avro", "jobs[0].key_format: keys of avro beside values of protobuf are not decoded; leave it out"},
		{registry, "key_format: avro", "jobs[0].key_format: belongs to format avro or protobuf; json has none"},
		{"", "format: avro, key_format: avro, schema_file: " + avsc, "keys are decoded with the schema that they name in a registry"},
		{registry, "format: protobuf, each: $", "a message of protobuf is no array; name the repeated field"},
		{"", "format: avro, each: user, schema_file: " + avsc, "jobs[0].each: the schema in " + avsc + " has no array of records at user"},
		{"", "format: avro, each: list, by: [sent], schema_file: " + batch, "has nothing at sent"},
		{"", "format: avro, each: list, by: [{name: at, field: 'record:ts'}], schema_file: " + batch, "has nothing at record:ts"},
		{"registry: {user: ada}", "format: json", "registry: needs url"},
		{"registry: {url: http://r:8081, user: ada}", "format: json", "registry.user: needs a password too"},
		{"registry: {url: http://r:8081, tls: {ca_file: x}}", "format: json", "nothing would be encrypted"},
		{"registry: {url: http://ada:hush@r:8081}", "format: json", "names a user"},
		{"registry: {url: r:8081}", "format: json", "is no URL"},
	} {
		if _, err := load(c.head, c.job); err == nil || !strings.Contains(err.Error(), c.word) {
			t.Errorf("%s, %s: %v; want %q", c.head, c.job, err, c.word)
		} else if strings.Contains(err.Error(), "hush") {
			t.Errorf("the message repeats a password: %v", err)
		}
	}
}
