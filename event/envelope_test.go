package event

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"
)

// headers returns headers in the bytes of a record: name, value, name, value…; a value of
// "null" is null.
func headers(texts ...string) Headers {
	b := binary.AppendVarint(nil, int64(len(texts)/2))
	for i, text := range texts {
		if i%2 == 1 && text == "null" {
			b = binary.AppendVarint(b, -1)
			continue
		}
		b = binary.AppendVarint(b, int64(len(text)))
		b = append(b, text...)
	}
	return b
}

func TestEnvelope(t *testing.T) {
	paths := []string{"key", "header:ce_type", "key:", "key:user.id", "header:a.b", "a.b"}
	r, err := NewReader(Form{Format: JSON}, paths)
	if err != nil {
		t.Fatal(err)
	}
	const doc = `{"key":"field","header:ce_type":"no","a":{"b":1}}`
	read := func(env *Envelope) (string, error) {
		vals := make([]Value, len(paths))
		for i := range vals {
			vals[i] = Value{String, []byte("left over")}
		}
		if err := r.Read(&Record{Value: []byte(doc), Envelope: env}, vals); err != nil {
			return "", err
		}
		var texts []string
		for _, v := range vals {
			texts = append(texts, v.Type.String()+" "+string(v.Bytes))
		}
		return strings.Join(texts, ", "), nil
	}
	const rest = ", missing , number 1"
	for _, c := range []struct {
		env  *Envelope
		want string
		err  error
	}{
		{nil, "string field, missing , missing , missing " + rest, nil},
		{&Envelope{}, "string field, missing , missing , missing " + rest, nil},
		{&Envelope{Key: []byte(`{"user":{"id":7}}`), Headers: headers("x", "y")}, `string field, missing , string {"user":{"id":7}}, number 7` + rest, nil},
		{&Envelope{Headers: headers("ce_type", "one", "CE_TYPE", "no", "ce_type", "two")}, "string field, string two, missing , missing " + rest, nil},
		{&Envelope{Headers: headers("ce_type", "null")}, "string field, null , missing , missing " + rest, nil},
		{&Envelope{Headers: headers("ce_type", "", "a.b", "c")}, "string field, string , missing , missing , string c, number 1", nil},
		{&Envelope{Key: []byte("\xff")}, "", ErrKeyValue},
		{&Envelope{Key: []byte("7")}, "", ErrKeyValue},
		{&Envelope{Key: []byte{}}, "", ErrKeyValue},
		{&Envelope{Headers: headers("ce_type", "\xff")}, "string field, string /w==, missing , missing " + rest, nil},
		{&Envelope{Headers: headers("other", "\xff")}, "string field, missing , missing , missing " + rest, nil},
	} {
		if got, err := read(c.env); got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%+v: %s, %v; want %s, %v", c.env, got, err, c.want, c.err)
		}
	}
	whole := headers("ce_type", "one", "b", "null")
	for n := 1; n < len(whole); n++ {
		if _, err := read(&Envelope{Headers: whole[:n]}); !errors.Is(err, ErrHeaders) {
			t.Errorf("%d of %d bytes of headers: %v", n, len(whole), err)
		}
	}
	if _, err := read(&Envelope{Headers: append(whole, 0)}); !errors.Is(err, ErrHeaders) {
		t.Errorf("bytes after the headers: %v", err)
	}
}

// TestBytesAreBase64: a key and a header that are no text are base64, as bytes of Avro are. So numbers that Java's
// serializers write are as many ids as numbers.
func TestBytesAreBase64(t *testing.T) {
	r, err := NewReader(Form{Format: None}, []string{"key:", "header:n"})
	if err != nil {
		t.Fatal(err)
	}
	vals := make([]Value, 2)
	for text, want := range map[string]string{
		"": "", "u1": "u1", `a "text"\`: `a "text"\`, "two\tlines\r\n": "two\tlines\r\n", "é": "é", "\x00": "AA==", "a\x1f": "YR8=", "\xc3": "ww==", "é\x00": "w6kA", "\x00\x00\x00\x07": "AAAABw==",
	} {
		r.Begin(false)
		if err := r.Read(&Record{Envelope: &Envelope{Key: []byte(text), Headers: headers("n", text)}}, vals); err != nil || vals[0].Type != String || string(vals[0].Bytes) != want || string(vals[1].Bytes) != want {
			t.Errorf("%q: %v %q, %v, want %q", text, vals[0].Type, vals, err, want)
		}
	}
	ids := map[string]bool{}
	for n := range uint64(1000) {
		r.Begin(false)
		if err := r.Read(&Record{Envelope: &Envelope{Key: binary.BigEndian.AppendUint64(nil, n)}}, vals); err != nil {
			t.Fatal(err)
		}
		ids[string(vals[0].Bytes)] = true
	}
	if len(ids) != 1000 {
		t.Errorf("%d ids of 1,000 keys", len(ids))
	}
}

// TestJSONSchema: the name of a schema in front of a document is skipped, and a document
// without one is read as it is. As JSON, such a record is refused for what it is.
func TestJSONSchema(t *testing.T) {
	for _, c := range []struct {
		value string
		err   error
	}{
		{"\x00\x00\x00\x00\x07{\"a\":1}", nil},
		{"\x01ABCDEFGHIJKLMNOP{\"a\":1}", nil},
		{"{\"a\":1}", nil},
		{" {\"a\":1}", nil},
		{"\x00\x00\x00\x00\x07", ErrEmpty},
		{"\x00\x00\x00\x07", ErrSyntax},
		{"\x02\x00\x00\x00\x07{\"a\":1}", ErrSyntax},
		{"\x00\x00\x00\x00\x07\x00\x00\x00\x00\x07{\"a\":1}", ErrSyntax},
	} {
		for _, format := range []Format{JSONSchema, JSON} {
			if format == JSON {
				switch c.value[0] {
				case 0, 1:
					c.err = ErrFramed
				}
			}
			r, err := NewReader(Form{Format: format}, []string{"a"})
			if err != nil {
				t.Fatal(err)
			}
			vals := make([]Value, 1)
			err = r.Read(&Record{Value: []byte(c.value)}, vals)
			if !errors.Is(err, c.err) || err == nil && string(vals[0].Bytes) != "1" {
				t.Errorf("%v: %q: %v, %v", format, c.value, vals, err)
			}
		}
	}
}
