package schemas

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"weir/event"
	"weir/schemas/schematest"
)

// TestFiles: a schema in a file, with the files that it imports. Equal schemas have one digest,
// whatever stands in comments and between the lines.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	open := func(format event.Format, file, message string) *File {
		t.Helper()
		f, err := Open(format, file, message)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	plain := open(event.Avro, write("a.avsc", plainUser), "")
	if again := open(event.Avro, write("b.avsc", strings.ReplaceAll(plainUser, ",", ",\n  ")), ""); again.Digest != plain.Digest {
		t.Error("another layout of an Avro schema has another digest")
	}
	if other := open(event.Avro, write("c.avsc", strings.Replace(plainUser, "long", "int", 1)), ""); other.Digest == plain.Digest {
		t.Error("another Avro schema has the same digest")
	}
	if !plain.Leads("", "id") || plain.Leads("", "name") || plain.Leads("", "id.x") || !plain.Leads("", "header:x") {
		t.Error("the paths of an Avro schema")
	}

	write("geo/place.proto", `syntax = "proto3"; package geo; message Place { string country = 1; }`)
	const text = `syntax = "proto3"; package shop; import "geo/place.proto"; message Event { geo.Place place = 1; map<string, geo.Place> by = 2; repeated geo.Place list = 3; }`
	shop := open(event.Protobuf, write("shop.proto", text), "")
	if again := open(event.Protobuf, write("shop.proto", "// Of the shop.\n"+text), "shop.Event"); again.Digest != shop.Digest {
		t.Error("a comment changes the digest")
	}
	if below := open(event.Protobuf, write("shop/v1/shop.proto", text), ""); below.Digest != shop.Digest {
		t.Error("an import from a directory above is another one")
	}
	write("shop/geo/place.proto", `syntax = "proto3"; package geo; message Place { int32 country = 1; }`)
	if nearer := open(event.Protobuf, filepath.Join(dir, "shop/v1/shop.proto"), ""); nearer.Digest == shop.Digest {
		t.Error("an import is not from the nearest directory that has it")
	}
	for path, leads := range map[string]bool{"place": true, "place.country": true, "by.x.country": true, "list[0].country": true, "list.country": false, "by[0]": false, "place.x": false, "place[0]": false, "x": false} {
		if shop.Leads("", path) != leads {
			t.Errorf("%s leads: %v", path, !leads)
		}
	}
	write("geo/place.proto", `syntax = "proto3"; package geo; message Place { bytes country = 1; }`)
	if other := open(event.Protobuf, filepath.Join(dir, "shop.proto"), ""); other.Digest == shop.Digest {
		t.Error("another file that it imports does not change the digest")
	}
	for _, c := range []struct {
		format             event.Format
		file, message, err string
	}{
		{event.Avro, filepath.Join(dir, "none.avsc"), "", "no such file"},
		{event.Avro, write("bad.avsc", `{"type":"record"}`), "", "no schema of avro"},
		{event.Avro, write("empty.avsc", " \n"), "", "the file is empty; put the schema into it"},
		{event.Protobuf, write("bad.proto", "message {"), "", "no schema of protobuf"},
		{event.Protobuf, write("gone.proto", `syntax = "proto3"; import "gone/x.proto"; message A {}`), "", "gone/x.proto"},
		{event.Protobuf, write("empty.proto", `syntax = "proto3";`), "", "no message"},
		{event.Protobuf, write("two.proto", `syntax = "proto3"; message A {} message B {}`), "", "A, B"},
		{event.Protobuf, filepath.Join(dir, "two.proto"), "C", "no message C"},
		{event.Protobuf, filepath.Join(dir, "shop/v1/two.proto"), "A", "no such file"}, // only imports are looked for above
	} {
		if _, err := Open(c.format, c.file, c.message); err == nil || !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %v, want %s", c.file, err, c.err)
		}
	}
}

// TestRegistryOfProtobuf: a file of messages with what it imports.
func TestRegistryOfProtobuf(t *testing.T) {
	double := schematest.Start(t)
	double.Add("place", schematest.Schema{Type: "PROTOBUF", Text: `syntax = "proto3"; package geo; message Place { string country = 1; }`})
	number := double.Add("events-value", schematest.Schema{Type: "PROTOBUF", Text: `syntax = "proto3"; import "place.proto"; import "google/protobuf/timestamp.proto"; message Other {} message Event { geo.Place place = 1; google.protobuf.Timestamp at = 2; }`,
		References: []schematest.Reference{{Name: "place.proto", Subject: "place", Version: 1}}})
	of := registry(t, Config{URL: double.URL}).For(event.Protobuf)
	for index, leads := range map[string]bool{"\x00": false, "\x02\x02": true} {
		s, err := of.Schema(t.Context(), id(append(schematest.Prefix(number), index...)))
		if err != nil {
			t.Fatal(err)
		}
		if s.Leads("place.country") != leads || s.Leads("at") != leads {
			t.Errorf("index %q: %+v", index, s)
		}
	}
	if n := double.Requests(); n != 2 {
		t.Errorf("%d requests, want 2", n)
	}
	double.Be(schematest.Garbage)
	if _, err := registry(t, Config{URL: double.URL}).For(event.Protobuf).Schema(t.Context(), id(schematest.Prefix(number))); err == nil || !strings.Contains(err.Error(), "cannot be parsed as protobuf") {
		t.Error(err)
	}
}

// TestFilesEnd: a file of a schema that gives no data, or has no end, is an error, also where
// another one imports it.
func TestFilesEnd(t *testing.T) {
	dir := t.TempDir()
	pipe, large, proto := filepath.Join(dir, "pipe.proto"), filepath.Join(dir, "large"), filepath.Join(dir, "a.proto")
	text := `syntax = "proto3"; import "pipe.proto"; message A { string s = 1; }`
	if err := errors.Join(syscall.Mkfifo(pipe, 0o600), os.WriteFile(large, nil, 0o600), os.Truncate(large, maxFile+1), os.WriteFile(proto, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		format     event.Format
		file, want string
	}{
		{event.Avro, pipe, "nothing writes into this pipe"},
		{event.Avro, large, "it is larger than 16MiB"},
		{event.Avro, dir, "it is a directory"},
		{event.Protobuf, pipe, "nothing writes into this pipe"},
		{event.Protobuf, proto, "nothing writes into this pipe"},
	} {
		if _, err := Open(x.format, x.file, ""); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%v %s: %v, want %q", x.format, x.file, err, x.want)
		}
	}
}
