package schemas

import (
	"os"
	"path/filepath"
	"testing"

	"weir/event"
)

// TestKinds: the kinds that the value at a path can have.
func TestKinds(t *testing.T) {
	avro := `{"type":"record","name":"Ev","fields":[{"name":"b","type":"boolean"},{"name":"n","type":["null","int"]},{"name":"d","type":"double"},{"name":"s","type":"string"},
		{"name":"e","type":{"type":"enum","name":"K","symbols":["A"]}},{"name":"raw","type":"bytes"},{"name":"price","type":{"type":"bytes","logicalType":"decimal","precision":9,"scale":2}},
		{"name":"u","type":["null","string","long","boolean"]},{"name":"nothing","type":"null"},{"name":"m","type":{"type":"map","values":"long"}},
		{"name":"items","type":{"type":"array","items":{"type":"record","name":"I","fields":[{"name":"sku","type":"string"}]}}}]}`
	proto := `syntax = "proto3"; import "google/protobuf/timestamp.proto"; import "google/protobuf/wrappers.proto";
		message Ev { bool b = 1; int64 n = 2; float d = 3; string s = 4; K e = 5; enum K { A = 0; } bytes raw = 6; google.protobuf.Timestamp at = 7; google.protobuf.Int64Value w = 8;
		map<string, int32> m = 9; repeated I items = 10; message I { string sku = 1; } I one = 11; repeated int32 ns = 12; oneof x { uint32 u = 13; } }`
	const none = event.Kinds(0)
	for _, c := range []struct {
		format event.Format
		text   string
		each   string
		want   map[string]event.Kinds
	}{
		{event.Avro, avro, "", map[string]event.Kinds{
			"b": event.Bools, "n": event.Numbers, "d": event.Numbers | event.Strings, "s": event.Strings, "e": event.Strings, "raw": event.Strings, "price": event.Numbers, "u": event.Strings | event.Numbers | event.Bools,
			"nothing": none, "m": event.Composites, "m.a": event.Numbers, "items": event.Composites, "items[0]": event.Composites, "items[0].sku": event.Strings, "s[json].a": event.AnyKind, "header:a": event.AnyKind, "zz": none,
		}},
		{event.Protobuf, proto, "", map[string]event.Kinds{
			"b": event.Bools, "n": event.Numbers, "d": event.Numbers | event.Strings, "s": event.Strings, "e": event.Strings | event.Numbers, "raw": event.Strings, "at": event.Strings | event.Composites, "at.seconds": event.Numbers, "w": event.Numbers,
			"m": event.Composites, "m.a": event.Numbers, "items": event.Composites, "items[0].sku": event.Strings, "one": event.Composites, "one.sku": event.Strings, "ns": event.Composites, "ns[1]": event.Numbers, "u": event.Numbers, "zz": none, "n.x": none,
		}},
		{event.Avro, avro, "items", map[string]event.Kinds{"sku": event.Strings, "n": none, event.OfRecord + "n": event.Numbers}},
		{event.Protobuf, proto, "items", map[string]event.Kinds{"sku": event.Strings, "n": none, event.OfRecord + "n": event.Numbers}},
	} {
		name := filepath.Join(t.TempDir(), map[event.Format]string{event.Avro: "a.avsc", event.Protobuf: "a.proto"}[c.format])
		if err := os.WriteFile(name, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := Open(c.format, name, map[event.Format]string{event.Protobuf: "Ev"}[c.format])
		if err != nil {
			t.Fatal(err)
		}
		for path, want := range c.want {
			if got := f.Kinds(c.each, path); got != want {
				t.Errorf("%s, each %q: %s has kinds %04b, want %04b", c.format, c.each, path, got, want)
			}
		}
	}
}

// checkKinds compares the kinds of the values that were read at paths with those that the schema says.
func checkKinds(t *testing.T, s *event.Schema, seen map[string]map[event.Kind]int) {
	t.Helper()
	for path, of := range seen {
		var got event.Kinds
		for i, kind := range []event.Kind{event.Bool, event.Number, event.String, event.Composite} {
			if of[kind] > 0 {
				got |= 1 << i
			}
		}
		if want := s.Kinds(path); got != want {
			t.Errorf("%s: values of the kinds %04b, the schema says %04b", path, got, want)
		}
	}
}
