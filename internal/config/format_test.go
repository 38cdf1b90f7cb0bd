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
		{registry, "format: avro", event.Avro, true},
		{registry, "format: protobuf", event.Protobuf, true},
		{"", "format: avro, schema_file: " + avsc, event.Avro, false},
		{registry, "format: avro, schema_file: " + avsc, event.Avro, false},
		{"", "format: protobuf, message: E, schema_file: " + protos, event.Protobuf, false},
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
		if s.Format != c.format || s.Framed() != c.framed || s.ReadsEnvelope() != c.framed || (s.Schema != "") != (c.format.HasSchema() && !c.framed) {
			t.Errorf("%s, %s: %v, framed %v, envelope %v, schema %q", c.head, c.job, s.Format, s.Framed(), s.ReadsEnvelope(), s.Schema)
		}
	}
	for _, c := range []struct{ head, job, word string }{
		{"", "format: xml", "json, json-schema, avro or protobuf"},
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
