package event

import (
	"compress/gzip"
	"errors"
	"strings"
	"testing"
)

// TestExplain: the reason of a value that is no JSON says what is wrong, and at which byte.
func TestExplain(t *testing.T) {
	var zipped strings.Builder
	w := gzip.NewWriter(&zipped)
	w.Write([]byte(`{"a":1}`)) // a Builder takes everything
	w.Close()
	const bad = "event: invalid JSON"
	for doc, want := range map[string]string{
		`{"a":NaN}`: bad + ": NaN is no number of JSON; at byte 5", `{"a":nan}`: bad + ": nan is no number of JSON; at byte 6", `{"a":[1,Infinity]}`: bad + ": Infinity is no number of JSON; at byte 8",
		`{"a":-Infinity}`: "event: invalid number: Infinity is no number of JSON; at byte 6", `{"a":True}`: bad + ": True is true in JSON; at byte 5", `{"a":None }`: bad + ": None is null in JSON; at byte 5",
		`{'a':1}`: bad + ": a text in single quotes; at byte 1", `{"a":'x'}`: bad + ": a text in single quotes; at byte 5", `{a:1}`: bad + ": a word without quotes; at byte 1",
		`{"a":nil}`: bad + ": a word without quotes; at byte 6", `{"a":tru}`: bad + ": a word without quotes; at byte 8", `{"a":NULL}`: bad + ": a word without quotes; at byte 5",
		`{"a":1, }`: bad + ": a comma with nothing behind it; at byte 8", `{"a":[1,]}`: bad + ": a comma with nothing behind it; at byte 8", `{"a":[1}`: bad + "; at byte 7",
		`{"a":.5}`: bad + ": a number that begins with a point; at byte 5", `{"a":+5}`: bad + ": a number that begins with a plus; at byte 5", `{"a":1.2.3}`: bad + "; at byte 8", `{"a":0x1}`: bad + "; at byte 6",
		`{"a":01}`: "event: invalid number; at byte 6", `{"a":1/**/}`: bad + "; at byte 6", `{"a":/**/1}`: bad + ": a comment; at byte 5", `{"a":1}}`: "event: bytes after the document; at byte 7",
		`<a/>`: bad + ": markup, as in XML; at byte 0", "\xef\xbb\xbf{}": bad + ": a byte order mark; at byte 0", zipped.String(): bad + ": bytes of gzip: the producer compresses values itself; at byte 0",
		`{"a":1`: "event: document ends in the middle; at byte 6", "{\"a\":1}\n{\"a\":2}": "event: bytes after the document: another document; at byte 8", "{\"a\":\"\n\"}": "event: control character in a string; at byte 6",
		`{"a":1,"a":2}`: "event: key occurs twice in an object; at byte 7", `{"a":"\x"}`: "event: invalid escape in a string; at byte 6", "}": bad + "; at byte 0", "hello": bad + ": a word without quotes; at byte 0",
		"[]": ErrNotObject.Error(), " ": ErrEmpty.Error(), "\x00\x00\x00\x00\x01{": ErrFramed.Error(),
	} {
		for name, form := range map[string]Form{"json": {}, "each": {Each: "a.b"}, "json-schema": {Format: JSONSchema}} {
			value := doc
			if name == "json-schema" {
				if value = "\x00\x00\x00\x00\x07" + doc; want == ErrFramed.Error() {
					continue
				}
			}
			r, err := NewReader(form, []string{"a"})
			if err != nil {
				t.Fatal(err)
			}
			rec := Record{Value: []byte(value)}
			if r.Begin(false); form.Each != "" {
				_, err = r.Open(&rec)
			} else {
				err = r.Read(&rec, make([]Value, 1))
			}
			if err == nil {
				t.Errorf("%s: %q is read", name, doc)
			} else if got := r.Explain(rec.Value, err); got != want {
				t.Errorf("%s: %q: %s, want %s", name, doc, got, want)
			}
		}
	}
}

// TestApicurio: a record whose schema is named in a header of Apicurio's serializers says so, and what to set.
func TestApicurio(t *testing.T) {
	for name, want := range map[string]error{"apicurio.value.contentId": ErrApicurio, "apicurio.value.globalId": ErrApicurio, "traceparent": ErrNoFrame} {
		r, err := NewReader(Form{Format: Avro, Framed: true}, []string{"a"})
		if err != nil {
			t.Fatal(err)
		}
		rec := Record{Value: []byte("\x02a"), Envelope: &Envelope{Headers: headers(name, "\x00\x00\x00\x00\x00\x00\x00\x07")}}
		if _, ok := r.Select(&rec); !ok {
			t.Errorf("%s: a schema is wanted", name)
		} else if err := r.Read(&rec, make([]Value, 1)); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
}
