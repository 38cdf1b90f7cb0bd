package schemas

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/event"
	"weir/schemas/schematest"
)

func registry(t testing.TB, c Config) *Registry {
	t.Helper()
	r, err := NewRegistry(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

func id(b []byte) event.SchemaID { return event.SchemaID(b) }

const plainUser = `{"type":"record","name":"User","fields":[{"name":"id","type":"long"}]}`

// TestLocal: a schema that is in a file is not asked for; others are, if there is a registry.
func TestLocal(t *testing.T) {
	double := schematest.Start(t)
	one, two := double.Add("a", schematest.Schema{Type: "AVRO", Text: plainUser}), double.Add("b", schematest.Schema{Type: "AVRO", Text: `"long"`})
	guid := id(schematest.Header(two)).Name().GUID
	local := map[string]string{"1": `"string"`, guid: `"int"`, "9": "no schema", "10": `syntax = "proto3"; message M { int64 a = 1; }`}
	ask := func(c Config, format event.Format, of []byte) (*event.Schema, error) {
		return registry(t, c).For(format).Schema(t.Context(), id(of))
	}
	for _, c := range []struct {
		of   []byte
		want event.AvroKind
	}{{schematest.Prefix(one), event.AvroString}, {schematest.Header(two), event.AvroInt}, {schematest.Prefix(two), event.AvroLong}} {
		if s, err := ask(Config{URL: double.URL, Local: local}, event.Avro, c.of); err != nil || s.Avro.Kind != c.want {
			t.Errorf("%x: %+v, %v", c.of, s, err)
		}
	}
	if n := double.Requests(); n != 1 {
		t.Errorf("%d requests, want one", n)
	}
	if s, err := ask(Config{Local: local}, event.Protobuf, append(schematest.Prefix(10), 0)); err != nil || s.Message == nil {
		t.Errorf("%+v, %v", s, err)
	}
	for number, words := range map[uint32]string{2: "registry.schemas does not list schema id 2, and there is no registry.url", 9: "the file of schema id 9 cannot be parsed as avro"} {
		if _, err := ask(Config{Local: local}, event.Avro, schematest.Prefix(number)); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%d: %v, want %s", number, err, words)
		}
	}
}

// TestRegistry: a schema is found by number and by GUID, with what it refers to, and asked for
// once, whatever many ask at the same time.
func TestRegistry(t *testing.T) {
	double := schematest.Start(t)
	double.User, double.Password = "ada", "hush"
	double.Add("country", schematest.Schema{Type: "AVRO", Text: `{"type":"enum","name":"geo.Country","symbols":["DE","US"]}`})
	place := schematest.Schema{Type: "AVRO", Text: `{"type":"record","name":"geo.Place","fields":[{"name":"country","type":"geo.Country"}]}`,
		References: []schematest.Reference{{Name: "geo.Country", Subject: "country", Version: 1}}}
	double.Add("place", place)
	event1 := double.Add("events-value", schematest.Schema{Type: "AVRO", Text: `{"type":"record","name":"Event","fields":[{"name":"from","type":"geo.Place"},{"name":"to","type":["null","geo.Place"]},{"name":"in","type":"geo.Country"}]}`,
		References: []schematest.Reference{{Name: "geo.Place", Subject: "place", Version: 1}, {Name: "geo.Country", Subject: "country", Version: 1}}})
	of := registry(t, Config{URL: double.URL + "/", User: "ada", Password: "hush"}).For(event.Avro)

	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if _, err := of.Schema(t.Context(), id(schematest.Prefix(event1))); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if n := double.Requests(); n != 3 {
		t.Errorf("%d requests, want 3: the schema and two that it refers to", n)
	}
	for _, of := range []event.SchemaID{id(schematest.Prefix(event1)), id(schematest.Header(event1))} {
		s, err := registry(t, Config{URL: double.URL, User: "ada", Password: "hush"}).For(event.Avro).Schema(t.Context(), of)
		if err != nil {
			t.Fatal(err)
		}
		r := reader(t, event.Avro, s, []string{"from.country", "to.country", "in"})
		vals := make([]event.Value, 3)
		if err := read(r, []byte{0, 2, 2, 0}, vals); err != nil || string(vals[0].Bytes) != "DE" || string(vals[1].Bytes) != "US" || string(vals[2].Bytes) != "DE" {
			t.Errorf("%s, %v", vals, err)
		}
	}
}

// TestRegistryTrouble: whatever a registry answers instead of a schema is an error that says
// what is wrong, and is forgotten when the registry is well again.
func TestRegistryTrouble(t *testing.T) {
	double := schematest.Start(t)
	number := double.Add("users-value", schematest.Schema{Type: "AVRO", Text: plainUser})
	of := registry(t, Config{URL: double.URL, User: "ada"}).For(event.Avro)
	double.User = "ada"
	words := [...]string{
		schematest.Away: "EOF", schematest.Slow: "deadline", schematest.Broken: "500, error 50001: Error in the backend", schematest.Forgets: "does not know the schema",
		schematest.Refuses: `refuses the user "ada"`, schematest.Lies: "no schema registry", schematest.Other: "is no schema", schematest.Cut: "ends early", schematest.Wrong: "the type JSON", schematest.Garbage: "cannot be parsed",
	}
	words[schematest.Lies] = "its answer is no schema"
	for mood := schematest.Well + 1; mood < schematest.Moods; mood++ {
		double.Be(mood)
		ctx, cancel := context.WithCancel(t.Context())
		if mood == schematest.Slow {
			ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
		}
		s, err := of.Schema(ctx, id(schematest.Prefix(number)))
		cancel()
		if err == nil || !strings.Contains(err.Error(), words[mood]) || !strings.HasPrefix(err.Error(), "schemas: schema id 1 of the registry at ") {
			t.Errorf("%v: %v, %v; want an error with %q", mood, s, err, words[mood])
		}
		if err != nil && strings.Contains(err.Error(), "/schemas/ids") {
			t.Errorf("%v: the error repeats itself: %v", mood, err)
		}
	}
	double.Be(schematest.Well)
	if s, err := of.Schema(t.Context(), id(schematest.Prefix(number))); err != nil || s.Avro == nil {
		t.Errorf("%v, %v", s, err)
	}
	double.Be(schematest.Away)
	if _, err := of.Schema(t.Context(), id(schematest.Prefix(number))); err != nil {
		t.Errorf("a schema that is known: %v", err)
	}
	double.Be(schematest.Well)
	if _, err := of.Schema(t.Context(), id(schematest.Prefix(99))); err == nil {
		t.Error("a schema that nobody registered is found")
	}
}

// TestNoRegistry: an address at which something else answers is not called a registry that lacks a schema, and
// one that wants a user does not refuse one that was not given.
func TestNoRegistry(t *testing.T) {
	double := schematest.Start(t)
	double.Add("users-value", schematest.Schema{Type: "AVRO", Text: plainUser})
	page := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(page.Close)
	for _, c := range []struct{ url, ping, schema string }{
		{double.URL, "", "it does not know the schema (404, error 40403: Schema not found)"},
		{double.URL + "/apis", "its answer is no schema: does registry.url name", "404"},
		{page.URL, "its answer is no schema: does registry.url name", "it has nothing at this address (404): does registry.url name a schema registry"},
	} {
		r := registry(t, Config{URL: c.url})
		if err := r.Ping(t.Context()); (err == nil) != (c.ping == "") || err != nil && !strings.Contains(err.Error(), c.ping) {
			t.Errorf("%s: %v, want %q", c.url, err, c.ping)
		}
		if _, err := r.For(event.Avro).Schema(t.Context(), id(schematest.Prefix(99))); err == nil || !strings.Contains(err.Error(), c.schema) {
			t.Errorf("%s: %v, want %q", c.url, err, c.schema)
		}
	}
	if _, err := registry(t, Config{URL: double.URL}).For(event.Avro).Schema(t.Context(), id(schematest.Prefix(0))); err == nil || !strings.Contains(err.Error(), "no schema has the id 0. The records have probably ids of 8 bytes") {
		t.Errorf("the id 0: %v", err)
	}
	double.User = "ada"
	if err := registry(t, Config{URL: double.URL}).Ping(t.Context()); err == nil || !strings.Contains(err.Error(), "it wants a user (401") {
		t.Error(err)
	}
}

// TestReferencesEnd: schemas that refer to each other do not keep the client busy for ever.
func TestReferencesEnd(t *testing.T) {
	double := schematest.Start(t)
	text := `{"type":"record","name":"A","fields":[]}`
	to := func(subject string) []schematest.Reference {
		return []schematest.Reference{{Name: "x", Subject: subject, Version: 1}}
	}
	double.Add("a", schematest.Schema{Type: "AVRO", Text: text, References: to("b")})
	double.Add("b", schematest.Schema{Type: "AVRO", Text: text, References: to("a")})
	number := double.Add("c", schematest.Schema{Type: "AVRO", Text: plainUser, References: to("a")})
	_, err := registry(t, Config{URL: double.URL}).For(event.Avro).Schema(t.Context(), id(schematest.Prefix(number)))
	if n := double.Requests(); n != 3 {
		t.Errorf("%d requests, %v", n, err)
	}
	missing := double.Add("d", schematest.Schema{Type: "AVRO", Text: plainUser, References: to("gone")})
	if _, err := registry(t, Config{URL: double.URL}).For(event.Avro).Schema(t.Context(), id(schematest.Prefix(missing))); err == nil || !strings.Contains(err.Error(), "version 1 of subject gone") {
		t.Error(err)
	}
}

// TestLongSchema: a schema is read up to a size, to which those count that it refers to.
func TestLongSchema(t *testing.T) {
	double := schematest.Start(t)
	text := func(name string, size int) string {
		return `{"type":"record","name":"` + name + `","fields":[],"doc":"` + strings.Repeat("x", size) + `"}`
	}
	double.Add("b", schematest.Schema{Type: "AVRO", Text: text("B", maxText/2)})
	double.Add("a", schematest.Schema{Type: "AVRO", Text: text("A", maxText/4), References: []schematest.Reference{{Name: "B", Subject: "b", Version: 1}}})
	to := []schematest.Reference{{Name: "A", Subject: "a", Version: 1}}
	of := registry(t, Config{URL: double.URL}).For(event.Avro)
	for subject, c := range map[string]struct {
		schema schematest.Schema
		long   bool
	}{
		"alone":    {schematest.Schema{Type: "AVRO", Text: text("C", maxText-1000)}, false},
		"together": {schematest.Schema{Type: "AVRO", Text: text("C", maxText/4-1000), References: to}, false},
		"too long": {schematest.Schema{Type: "AVRO", Text: text("C", maxText)}, true},
		"too much": {schematest.Schema{Type: "AVRO", Text: text("C", maxText/4), References: to}, true},
	} {
		_, err := of.Schema(t.Context(), id(schematest.Prefix(double.Add(subject, c.schema))))
		if c.long != (err != nil) || err != nil && !strings.Contains(err.Error(), "it has more than 4 MiB, with the schemas to which it refers") {
			t.Errorf("%s: %v", subject, err)
		}
	}
}
