package schemas

import (
	"strings"
	"testing"

	"github.com/twmb/avro"

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
		for _, i := range []int{0, 1, 0, 1, 1, 0} {
			vals := make([]event.Value, len(c.paths))
			if _, ok := r.Select(&records[i]); !ok {
				t.Fatal("a schema is not known")
			}
			if err := r.Read(&records[i], vals); err != nil {
				t.Fatal(c.name, err)
			}
			var texts []string
			for _, v := range vals {
				texts = append(texts, v.Kind.String()+" "+string(v.Bytes))
			}
			if got := strings.Join(texts, ", "); got != c.wants[i] {
				t.Errorf("%s: version %d reads %s, want %s", c.name, i+1, got, c.wants[i])
			}
		}
	}
}
