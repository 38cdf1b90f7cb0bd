//go:build prove

package main

import (
	"bytes"
	varint "encoding/binary"
	"os"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"weir/cmd/weir/registrytest"
	"weir/internal/await"
	"weir/schemas/schematest"
)

// TestRealRegistry: schemas of Avro, Protobuf and JSON Schema, with references to others that have
// references too, are registered with a real registry, and weir reads records with them. An id
// that it does not know, one of another type, a registry that was killed and one that has
// forgotten all hold up the record. In make test: TestRunLost, with a double.
func TestRealRegistry(t *testing.T) {
	registry := registrytest.Start(t)
	ref := func(name, subject string, version int) schematest.Reference {
		return schematest.Reference{Name: name, Subject: subject, Version: version}
	}
	registry.Add("country", schematest.Schema{Type: "AVRO", Text: `{"type":"enum","name":"Country","namespace":"geo","symbols":["DE","FR"]}`})
	registry.Add("place", schematest.Schema{Type: "AVRO", Text: `{"type":"record","name":"Place","namespace":"geo","fields":[{"name":"city","type":"string"}]}`})
	registry.Add("place", schematest.Schema{Type: "AVRO", Text: `{"type":"record","name":"Place","namespace":"geo","fields":[{"name":"city","type":"string"},{"name":"country","type":"geo.Country"}]}`,
		References: []schematest.Reference{ref("geo.Country", "country", 1)}})
	inAvro := registry.Add("visits-value", schematest.Schema{Type: "AVRO", Text: `{"type":"record","name":"Visit","namespace":"shop","fields":[{"name":"ts","type":"long"},{"name":"user","type":["null","string"]},{"name":"place","type":"geo.Place"}]}`,
		References: []schematest.Reference{ref("geo.Place", "place", 2)}})

	registry.Add("country-proto", schematest.Schema{Type: "PROTOBUF", Text: `syntax = "proto3"; package geo; enum Country { NONE = 0; DE = 1; FR = 2; }`})
	registry.Add("place-proto", schematest.Schema{Type: "PROTOBUF", Text: `syntax = "proto3"; package geo; import "geo/country.proto"; message Place { string city = 1; Country country = 2; }`,
		References: []schematest.Reference{ref("geo/country.proto", "country-proto", 1)}})
	inProto := registry.Add("visits-proto-value", schematest.Schema{Type: "PROTOBUF", Text: `syntax = "proto3"; package shop; import "geo/place.proto"; import "google/protobuf/timestamp.proto"; import "google/type/money.proto";
		message Other { int64 x = 1; } message Visits { google.type.Money price = 1; repeated Visit list = 2; message Visit { google.protobuf.Timestamp ts = 1; string user = 2; geo.Place place = 3; } }`,
		References: []schematest.Reference{ref("geo/place.proto", "place-proto", 1)}})
	inJSON := registry.Add("visits-json-value", schematest.Schema{Type: "JSON", Text: `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"ts":{"type":"integer"}}}`})

	s := newTapStage(t)
	if _, err := kadm.NewClient(s.client).CreateTopics(await.Context(t), 1, 1, nil, "avro", "proto", "json"); err != nil {
		t.Fatal(err)
	}
	config, err := os.ReadFile(s.file)
	if err != nil {
		t.Fatal(err)
	}
	brokers, _, _ := strings.Cut(strings.TrimSpace(string(config)), "\n")
	const job = `, window: 1m, by: [{name: country, field: place.country, default: none}, {name: city, field: place.city}], measures: [{name: users, kind: hll, field: user, optional: true}]}`
	if err := os.WriteFile(s.file, []byte(brokers+`
registry: {url: "`+registry.URL+`"}
jobs:
  - {name: avro, topic: avro, format: avro, time: {field: ts}`+job+`
  - {name: proto, topic: proto, format: protobuf, each: list, time: {field: ts, unit: rfc3339}`+job+`
  - {name: json, topic: json, format: json-schema, time: {field: ts}`+job+`
`), 0o600); err != nil {
		t.Fatal(err)
	}
	text := func(b []byte, s string) []byte { return append(varint.AppendVarint(b, int64(len(s))), s...) }
	avroVisit := append(text(append(varint.AppendVarint(nil, at(0).UnixMilli()), 2, 2, 'u'), "Köln"), 0)
	field := func(number byte, s string) []byte { return append([]byte{number<<3 | 2, byte(len(s))}, s...) }
	protoVisit := field(2, string(bytes.Join([][]byte{field(1, string(varint.AppendUvarint([]byte{1 << 3}, uint64(at(0).Unix())))), field(2, "u"), field(3, string(field(1, "Paris"))+"\x10\x02")}, nil)))
	produce := func(topic string, prefix []byte, value string) {
		t.Helper()
		if err := s.client.ProduceSync(await.Context(t), &kgo.Record{Topic: topic, Timestamp: at(0), Value: append(bytes.Clone(prefix), value...)}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	produce("avro", schematest.Prefix(inAvro), string(avroVisit))
	produce("avro", schematest.Prefix(4711), string(avroVisit))
	produce("avro", schematest.Prefix(inJSON), "{}")
	produce("proto", append(schematest.Prefix(inProto), 2, 2), string(protoVisit)+string(protoVisit))
	produce("json", schematest.Prefix(inJSON), `{"ts":1763600000000,"place":{"city":"Rom"}}`)

	tap := func(job string) string {
		t.Helper()
		out, errs := s.tap(0, "--job", job, "--from", "beginning", "--until", "end")
		return out + errs
	}
	for job, all := range map[string][]string{
		"avro": {`counted    "DE", "Köln"`, "waits      -  schemas: schema id 4711 of the registry at " + registry.URL + ": it does not know the schema (404, error 40403: ",
			"it has the type JSON, and the job's format is avro"},
		"proto": {`counted    "FR", "Paris" (event 1 of 2)`, `counted    "FR", "Paris" (event 2 of 2)`},
		"json":  {`counted    "none", "Rom"`},
	} {
		out := tap(job)
		for _, words := range all {
			if !strings.Contains(out, words) {
				t.Errorf("%s: tap does not say %q:\n%s", job, words, out)
			}
		}
	}
	check := func() string {
		var stdout, stderr bytes.Buffer
		execute(await.Context(t), []string{"check", "-c", s.file, "--clickhouse.urls", "http://127.0.0.1:1"}, &stdout, &stderr)
		return stdout.String() + stderr.String()
	}
	if out := check(); !strings.Contains(out, registry.URL+": it answers\n") {
		t.Errorf("check says\n%s", out)
	}
	var stdout, stderr bytes.Buffer
	if code := execute(await.Context(t), []string{"infer", "-c", s.file, "--topic", "proto"}, &stdout, &stderr); code != 0 || !strings.Contains(stdout.String(), "each: list\n") || !strings.Contains(stdout.String(), "place.country") || !strings.Contains(stdout.String(), "the job counts 2 events.") {
		t.Errorf("infer ends with %d and prints\n%s%s", code, &stdout, &stderr)
	}

	registry.Kill()
	if out := tap("avro"); !strings.Contains(out, "connection refused") || strings.Contains(out, "malformed") {
		t.Errorf("without the registry tap says\n%s", out)
	}
	if out := check(); !strings.Contains(out, "connection refused") {
		t.Errorf("without the registry check says\n%s", out)
	}
	registry.Run() // empty: it has forgotten all
	if out := tap("avro"); strings.Count(out, "it does not know the schema") != 3 {
		t.Errorf("with an empty registry tap says\n%s", out)
	}
}
