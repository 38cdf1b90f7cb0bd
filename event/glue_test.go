package event

import (
	"bytes"
	"compress/zlib"
	"encoding/hex"
	"errors"
	"io"
	"testing"
)

// Values as aws-glue-schema-registry 1.1.3 for Python writes them: a plain and a compressed one of
// Avro, and a compressed one of JSON.
const (
	gluePlain = "030089791762233641869674299b90a802e202087061676508"
	glueAvro  = "030589791762233641869674299b90a802e2789c63e228484c4fe50000060001b0"
	glueJSON  = "030589791762233641869674299b90a802e2789cab562a2956b232d4512a484c4f55b28250b5004b6506b7"
)

func unhex(t testing.TB, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestGlue(t *testing.T) {
	read := func(form Form, value []byte) (string, error) {
		r, err := NewReader(form, []string{"ts", "page"})
		if err != nil {
			t.Fatal(err)
		}
		rec, vals := Record{Value: value}, make([]Value, 2)
		for range 2 { // the second time with the id of the record before
			if r.Selects() {
				if need, ok := r.Select(&rec); !ok {
					if name := need.Name(); name.Key() != "89791762-2336-4186-9674-299b90a802e2" || name.String() != "schema version 89791762-2336-4186-9674-299b90a802e2 of AWS Glue" {
						t.Errorf("it needs %v", name)
					}
					r.Learn(need, &Schema{Avro: &AvroType{Kind: AvroRecord, Fields: []AvroField{{"ts", &AvroType{Kind: AvroLong}}, {"page", &AvroType{Kind: AvroString}}, {"x", &AvroType{Kind: AvroLong}}}}})
					r.Select(&rec)
				}
			}
			if err := r.Read(&rec, vals); err != nil {
				return "", err
			}
		}
		return texts(vals), nil
	}
	inAvro, inJSON := Form{Format: Avro, Framed: true, Glue: true}, Form{Format: JSONSchema, Glue: true}
	compressed := unhex(t, glueAvro)
	broken := func(at int) []byte {
		b := bytes.Clone(compressed)
		b[(at+len(b))%len(b)] ^= 1
		return b
	}
	for _, c := range []struct {
		form  Form
		value []byte
		want  string
		err   error
	}{
		{inAvro, unhex(t, gluePlain), "number 1, string page", nil},
		{inAvro, compressed, "number 1, string page", nil},
		{inJSON, unhex(t, glueJSON), "number 1, string page", nil},
		{inJSON, []byte(`{"ts":1,"page":"page"}`), "number 1, string page", nil},
		{inAvro, unhex(t, gluePlain)[:17], "", ErrNoGlue},
		{inAvro, append([]byte{0}, unhex(t, gluePlain)...), "", ErrNoGlue},
		{inAvro, broken(1), "", ErrNoGlue},    // another compression
		{inAvro, broken(18), "", ErrGlueZlib}, // the header of zlib
		{inAvro, broken(-1), "", ErrGlueZlib}, // the checksum
		{inAvro, compressed[:len(compressed)-1], "", ErrGlueZlib},
		{inAvro, append(bytes.Clone(compressed), 0), "", ErrGlueZlib},
		{inAvro, compressed[:20], "", ErrGlueZlib},
		{inAvro, zipped(t, make([]byte, maxInflated+1)), "", ErrGlueInflate},
		{Form{Format: Avro, Framed: true}, unhex(t, gluePlain), "", ErrNoFrame},
	} {
		if got, err := read(c.form, c.value); got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%.40x: %s, %v; want %s, %v", c.value, got, err, c.want, c.err)
		}
	}
}

// zipped returns a value with a frame, compressed by the standard library.
func zipped(t testing.TB, value []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	b.Write(append([]byte{glueMagic, glueZlib}, make([]byte, 16)...))
	z := zlib.NewWriter(&b)
	if _, err := z.Write(value); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// FuzzInflate compares with the standard library's zlib, which reads no bytes behind the end.
func FuzzInflate(f *testing.F) {
	f.Add(unhex(f, glueAvro)[glueSize:])
	f.Add(zipped(f, bytes.Repeat([]byte("weir "), 5000))[glueSize:])
	f.Add([]byte{0x78, 0x9c, 3, 0, 0, 0, 0, 1})
	r := &Reader{scratch: new(scratch)}
	f.Fuzz(func(t *testing.T, b []byte) {
		r.Begin(false)
		got, err := r.inflated([]byte{glueMagic, glueZlib}, b)
		from := bytes.NewReader(b)
		want, wantErr := []byte(nil), error(nil)
		z, wantErr := zlib.NewReader(from)
		if wantErr == nil {
			want, wantErr = io.ReadAll(z)
		}
		ok := wantErr == nil && from.Len() == 0
		if (err == nil) != ok || ok && !bytes.Equal(got, want) {
			t.Fatalf("%x: %x, %v; want %x, %v, %d bytes behind", b, got, err, want, wantErr, from.Len())
		}
	})
}
