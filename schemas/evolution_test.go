package schemas

import (
	"strings"
	"testing"

	"github.com/twmb/avro"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"

	"weir/event"
)

// TestAvroEvolution: what a job reads before and after a schema changes in each of the ways in
// which schemas do. weir reads with the schema of the writer, so nothing depends on the order
// in which versions come, or on which is the newest.
func TestAvroEvolution(t *testing.T) {
	record := func(fields string) string { return `{"type":"record","name":"E","fields":[` + fields + `]}` }
	for _, c := range []struct {
		name          string
		before, after string
		old, young    map[string]any
		paths         []string
		wants         [2]string
	}{
		{"added, with a default", `{"name":"a","type":"long"}`, `{"name":"a","type":"long"},{"name":"b","type":"string","default":"none"}`,
			map[string]any{"a": int64(1)}, map[string]any{"a": int64(2), "b": "x"}, []string{"a", "b"}, [2]string{"number 1, missing ", "number 2, string x"}},
		{"removed", `{"name":"b","type":"string"},{"name":"a","type":"long"}`, `{"name":"a","type":"long"}`,
			map[string]any{"a": int64(1), "b": "x"}, map[string]any{"a": int64(2)}, []string{"a", "b"}, [2]string{"number 1, string x", "number 2, missing "}},
		{"promoted from int to long", `{"name":"a","type":"int"}`, `{"name":"a","type":"long"}`,
			map[string]any{"a": int32(7)}, map[string]any{"a": int64(7)}, []string{"a"}, [2]string{"number 7", "number 7"}},
		{"promoted from long to double", `{"name":"a","type":"long"}`, `{"name":"a","type":"double"}`,
			map[string]any{"a": int64(7)}, map[string]any{"a": 7.0}, []string{"a"}, [2]string{"number 7", "number 7"}},
		{"promoted from float to double", `{"name":"a","type":"float"}`, `{"name":"a","type":"double"}`,
			map[string]any{"a": float32(0.1)}, map[string]any{"a": 0.1}, []string{"a"}, [2]string{"number 0.1", "number 0.1"}},
		{"promoted from bytes to string", `{"name":"a","type":"bytes"}`, `{"name":"a","type":"string"}`,
			map[string]any{"a": []byte("hi")}, map[string]any{"a": "hi"}, []string{"a"}, [2]string{"string aGk=", "string hi"}},
		{"made optional", `{"name":"a","type":"string"}`, `{"name":"a","type":["null","string"],"default":null}`,
			map[string]any{"a": "x"}, map[string]any{"a": nil}, []string{"a"}, [2]string{"string x", "missing "}},
		{"union widened", `{"name":"a","type":["null","string"]}`, `{"name":"a","type":["long","null","string"]}`,
			map[string]any{"a": "x"}, map[string]any{"a": int64(5)}, []string{"a"}, [2]string{"string x", "number 5"}},
		{"renamed, with an alias", `{"name":"a","type":"long"}`, `{"name":"b","aliases":["a"],"type":"long"}`,
			map[string]any{"a": int64(1)}, map[string]any{"b": int64(1)}, []string{"b", "a"}, [2]string{"missing , number 1", "number 1, missing "}},
		{"reordered", `{"name":"a","type":"long"},{"name":"b","type":"string"},{"name":"c","type":"double"}`, `{"name":"c","type":"double"},{"name":"a","type":"long"},{"name":"b","type":"string"}`,
			map[string]any{"a": int64(1), "b": "x", "c": 0.5}, map[string]any{"a": int64(1), "b": "x", "c": 0.5}, []string{"a", "b", "c"}, [2]string{"number 1, string x, number 0.5", "number 1, string x, number 0.5"}},
		{"enum extended in front", `{"name":"a","type":{"type":"enum","name":"X","symbols":["b"]}}`, `{"name":"a","type":{"type":"enum","name":"X","symbols":["a","b"]}}`,
			map[string]any{"a": "b"}, map[string]any{"a": "b"}, []string{"a"}, [2]string{"string b", "string b"}},
		{"a value became a record", `{"name":"a","type":"long"}`, `{"name":"a","type":{"type":"record","name":"R","fields":[{"name":"x","type":"long"}]}}`,
			map[string]any{"a": int64(1)}, map[string]any{"a": map[string]any{"x": int64(1)}}, []string{"a.x"}, [2]string{"missing ", "number 1"}},
	} {
		r, err := event.NewReader(event.Form{Format: event.Avro, Framed: true}, c.paths)
		if err != nil {
			t.Fatal(err)
		}
		var records []event.Record
		for i, v := range []map[string]any{c.old, c.young} {
			text := record([]string{c.before, c.after}[i])
			data, err := avro.MustParse(text).Encode(v)
			if err != nil {
				t.Fatal(c.name, err)
			}
			id := []byte{0, 0, 0, 0, byte(i)}
			r.Learn(event.SchemaID(id), mustAvro(t, text))
			records = append(records, event.Record{Value: append(id, data...)})
		}
		readMixed(t, c.name, r, records, len(c.paths), c.wants)
	}
}

// readMixed reads records of two versions of a schema in a mixed order.
func readMixed(t *testing.T, name string, r *event.Reader, records []event.Record, paths int, wants [2]string) {
	t.Helper()
	for _, i := range []int{0, 1, 0, 1, 1, 0} {
		vals := make([]event.Value, paths)
		if _, ok := r.Select(&records[i]); !ok {
			t.Fatal("a schema is not known")
		}
		if err := r.Read(&records[i], vals); err != nil {
			t.Fatal(name, err)
		}
		var texts []string
		for _, v := range vals {
			texts = append(texts, v.Kind.String()+" "+string(v.Bytes))
		}
		if got := strings.Join(texts, ", "); got != wants[i] {
			t.Errorf("%s: version %d reads %s, want %s", name, i+1, got, wants[i])
		}
	}
}

// TestProtobufEvolution: the same for Protobuf. The name of a field is that in the writer's
// schema, so a job that reads a field across a new name has to say both names.
func TestProtobufEvolution(t *testing.T) {
	for _, c := range []struct {
		name          string
		before, after string
		old, young    string // in Protobuf's JSON
		paths         []string
		wants         [2]string
	}{
		{"added", `int64 a = 1;`, `int64 a = 1; string b = 2;`, `{"a": 1}`, `{"a": 2, "b": "x"}`, []string{"a", "b"}, [2]string{"number 1, missing ", "number 2, string x"}},
		{"removed", `int64 a = 1; string b = 2;`, `int64 a = 1; reserved 2;`, `{"a": 1, "b": "x"}`, `{"a": 2}`, []string{"a", "b"}, [2]string{"number 1, string x", "number 2, missing "}},
		{"renamed, with its number", `int64 a = 1;`, `int64 b = 1;`, `{"a": 1}`, `{"b": 2}`, []string{"b", "a"}, [2]string{"missing , number 1", "number 2, missing "}},
		{"another number", `int64 a = 1;`, `int64 a = 2;`, `{"a": 1}`, `{"a": 2}`, []string{"a"}, [2]string{"number 1", "number 2"}},
		{"reordered", `int64 a = 1; string b = 2;`, `string b = 2; int64 a = 1;`, `{"a": 1, "b": "x"}`, `{"a": 1, "b": "x"}`, []string{"a", "b"}, [2]string{"number 1, string x", "number 1, string x"}},
		{"int32 became int64", `int32 a = 1;`, `int64 a = 1;`, `{"a": -7}`, `{"a": -7}`, []string{"a"}, [2]string{"number -7", "number -7"}},
		{"string became bytes", `string a = 1;`, `bytes a = 1;`, `{"a": "hi"}`, `{"a": "aGk="}`, []string{"a"}, [2]string{"string hi", "string aGk="}},
		{"made optional", `int64 a = 1;`, `optional int64 a = 1;`, `{"a": 0}`, `{"a": 0}`, []string{"a"}, [2]string{"missing ", "number 0"}},
		{"made repeated", `int64 a = 1;`, `repeated int64 a = 1;`, `{"a": 1}`, `{"a": [1, 2]}`, []string{"a[1]"}, [2]string{"missing ", "number 2"}},
		{"moved into a oneof", `int64 a = 1; string b = 2;`, `oneof either { int64 a = 1; string b = 2; }`, `{"a": 1, "b": "x"}`, `{"b": "x"}`, []string{"a", "b"}, [2]string{"number 1, string x", "missing , string x"}},
		{"an enum's symbol renamed", `enum X { N = 0; A = 1; } X a = 1;`, `enum X { N = 0; B = 1; } X a = 1;`, `{"a": "A"}`, `{"a": "B"}`, []string{"a"}, [2]string{"string A", "string B"}},
	} {
		r, err := event.NewReader(event.Form{Format: event.Protobuf, Framed: true}, c.paths)
		if err != nil {
			t.Fatal(err)
		}
		var records []event.Record
		for i, text := range []string{c.old, c.young} {
			f := mustProto(t, `syntax = "proto3"; message E { `+[]string{c.before, c.after}[i]+` }`)
			m := dynamicpb.NewMessage(f.Messages().Get(0))
			if err := protojson.Unmarshal([]byte(text), m); err != nil {
				t.Fatal(c.name, err)
			}
			data, err := proto.Marshal(m)
			if err != nil {
				t.Fatal(c.name, err)
			}
			id := []byte{0, 0, 0, 0, byte(i), 0}
			r.Learn(event.SchemaID(id), f.schema(event.SchemaID(id).Name()))
			records = append(records, event.Record{Value: append(id, data...)})
		}
		readMixed(t, c.name, r, records, len(c.paths), c.wants)
	}
}
