package schemas

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/twmb/avro"

	"weir/event"
)

// Ids of schemas, as they stand in front of a value or a key.
var (
	idOne = []byte{0, 0, 0, 0, 1}
	idTwo = []byte{0, 0, 0, 0, 2}
)

// headerOf returns the bytes of one header.
func headerOf(name string, value []byte) event.Headers {
	h := binary.AppendVarint(binary.AppendVarint(nil, 1), int64(len(name)))
	return append(binary.AppendVarint(append(h, name...), int64(len(value))), value...)
}

// readKeyed reads a record, and learns the schemas that it needs, in the order in which it does.
func readKeyed(r *event.Reader, rec *event.Record, vals []event.Value, have map[string]*event.Schema) (asked []string, err error) {
	for range 3 {
		need, ok := r.Select(rec)
		if ok {
			return asked, r.Read(rec, vals)
		}
		asked = append(asked, need.Name().String())
		if have[string(need)] == nil {
			return asked, errors.New("no such schema")
		}
		r.Learn(need, have[string(need)])
	}
	return asked, errors.New("it is asked for without an end")
}

func keyed(t testing.TB, format event.Format, each string, paths ...string) *event.Reader {
	t.Helper()
	r, err := event.NewReader(event.Form{Format: format, Framed: true, Keyed: true, Each: each}, paths)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestAvroKeysReadAsTheReference: keys of all types, behind a prefix or with a header, are read as
// twmb/avro reads them, beside values of another schema.
func TestAvroKeysReadAsTheReference(t *testing.T) {
	oracle := avro.MustParse(everything)
	value := mustAvro(t, `{"type":"record","name":"V","fields":[{"name":"n","type":"int"}]}`)
	have := map[string]*event.Schema{string(idOne): value, string(idTwo): mustAvro(t, everything)}
	paths := []string{"n"}
	for _, path := range everyPath {
		paths = append(paths, "key:"+path)
	}
	r := keyed(t, event.Avro, "", paths...)
	random := rand.New(rand.NewPCG(8, 1))
	vals := make([]event.Value, len(paths))
	for i := range 300 {
		data, err := oracle.Encode(randomAvro(random, oracle.Root(), map[string]*avro.SchemaNode{}, 0))
		if err != nil {
			t.Fatal(err)
		}
		var of any
		if _, err := oracle.Decode(data, &of); err != nil {
			t.Fatal(err)
		}
		rec := event.Record{Value: append(bytes.Clone(idOne), byte(2*(i%50))), Envelope: &event.Envelope{Key: append(bytes.Clone(idTwo), data...)}}
		if i%2 == 0 {
			rec.Envelope = &event.Envelope{Key: data, Headers: headerOf("__key_schema_id", idTwo)}
		}
		asked, err := readKeyed(r, &rec, vals, have)
		if err != nil || len(asked) > 0 != (i == 0) {
			t.Fatalf("record %d: asks for %q, %v", i, asked, err)
		}
		compareValues(t, data, vals[1:], of, everyPath)
		if string(vals[0].Bytes) != fmt.Sprint(i%50) {
			t.Fatalf("record %d: the value has %q", i, vals[0].Bytes)
		}
	}
}

// TestKeys: what a key may be, and what makes its record malformed or wait.
func TestKeys(t *testing.T) {
	one := mustAvro(t, `{"type":"record","name":"V","fields":[{"name":"n","type":"int"}]}`)
	keyOf := func(schema string) map[string]*event.Schema {
		return map[string]*event.Schema{string(idOne): one, string(idTwo): mustAvro(t, schema)}
	}
	const user = `{"type":"record","name":"K","fields":[{"name":"id","type":["null","long","string"]}]}`
	text := func(r *event.Reader, key []byte, h event.Headers, have map[string]*event.Schema, paths int) string {
		vals := make([]event.Value, paths)
		for i := range vals {
			vals[i] = event.Value{Type: event.String, Bytes: []byte("left over")}
		}
		asked, err := readKeyed(r, &event.Record{Value: append(bytes.Clone(idOne), 10), Envelope: &event.Envelope{Key: key, Headers: h}}, vals, have)
		if err != nil {
			return strings.TrimSpace(strings.Join(asked, ", ") + " " + err.Error())
		}
		words := asked
		for _, v := range vals {
			words = append(words, fmt.Sprint(v.Type, " ", string(v.Bytes)))
		}
		return strings.Join(words, ", ")
	}
	key := func(bytes ...byte) []byte { return append(append([]byte{}, idTwo...), bytes...) }
	for _, c := range []struct {
		name, schema, path string
		key                []byte
		headers            event.Headers
		want               string
	}{
		{"a field", user, "key:id", key(2, 14), nil, "number 7"},
		{"a null", user, "key:id", key(0), nil, "missing "},
		{"a field that the schema lacks", user, "key:name", key(2, 14), nil, "missing "},
		{"no key", user, "key:id", nil, nil, "missing "},
		{"an empty key", user, "key:id", []byte{}, nil, "event: the record's key: the record names no schema: it begins with neither 0 and an id nor 1 and a GUID"},
		{"a text", user, "key:id", []byte("user-7"), nil, "event: the record's key: the record names no schema: it begins with neither 0 and an id nor 1 and a GUID"},
		{"a key that is cut", user, "key:id", key(2), nil, "event: the record's key: Avro: the value ends in the middle"},
		{"a key that goes on", user, "key:id", key(0, 0), nil, "event: the record's key: Avro: bytes after the value: it was not written with this schema"},
		{"a header", user, "key:id", []byte{4, 2, 'x'}, headerOf("__key_schema_id", idTwo), "string x"},
		{"the header of the value's schema", user, "key:id", key(4, 2, 'x'), headerOf("__value_schema_id", idOne), "event: Avro: bytes after the value: it was not written with this schema"},
		{"a long by itself", `"long"`, "key:", key(14), nil, "number 7"},
		{"a text by itself", `"string"`, "key:", key(2, 'x'), nil, "string x"},
		{"a record by itself", user, "key:", key(2, 14), nil, "composite "},
		{"the same schema as the value's", user, "key:n", append(bytes.Clone(idOne), 16), nil, "number 8"},
	} {
		r := keyed(t, event.Avro, "", "n", c.path)
		got := text(r, c.key, c.headers, keyOf(c.schema), 2)
		for _, before := range []string{"schema id 1, ", "schema id 1 ", "schema id 2, ", "schema id 2 ", "number 5, "} {
			got = strings.TrimPrefix(got, before)
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	r := keyed(t, event.Avro, "", "n", "key:id")
	if got := text(r, []byte{0, 0, 0, 0, 9, 2, 14}, nil, keyOf(user), 2); got != "schema id 1, schema id 9 no such schema" {
		t.Errorf("a schema that is not known: %s", got)
	}
	r.Learn(event.SchemaID("\x00\x00\x00\x00\x09"), &event.Schema{Wrong: "schema id 9 is lost"})
	if got := text(r, []byte{0, 0, 0, 0, 9, 2, 14}, nil, keyOf(user), 2); got != "event: the record's key: schema id 9 is lost" {
		t.Errorf("a schema that is lost: %s", got)
	}
	if _, err := event.NewReader(event.Form{Format: event.Avro, Framed: true, Keyed: true}, []string{"key:", "key:id"}); err == nil {
		t.Error("a key is read by itself and by its fields")
	}
	message := mustProto(t, `syntax = "proto3"; message V { int32 n = 1; }`).schema(event.SchemaName{Message: []int{0}})
	p := keyed(t, event.Protobuf, "", "n", "key:")
	vals := make([]event.Value, 2)
	if _, err := readKeyed(p, &event.Record{Value: append(bytes.Clone(idOne), 0, 8, 5), Envelope: &event.Envelope{Key: append(bytes.Clone(idOne), 0, 8, 6)}}, vals, map[string]*event.Schema{string(idOne) + "\x00": message}); err != nil || vals[1].Type != event.Composite {
		t.Errorf("a message by itself: %v, %v", vals[1], err)
	}
}
