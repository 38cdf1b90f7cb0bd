package event

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// The strict reference: jsontext decides whether a document is valid, and its
// tokens, one by one, give the values.

// refScan answers what Scan must answer for doc; ok is the verdict.
func refScan(doc []byte, paths []string) (vals []Value, ok bool) {
	v := jsontext.Value(bytes.Clone(doc))
	if !v.IsValid() || v.Kind() != '{' {
		return nil, false
	}
	found := map[string]Value{}
	dec := jsontext.NewDecoder(bytes.NewReader(doc))
	if err := refObject(dec, "", found); err != nil {
		panic(fmt.Sprintf("tokens of a valid document: %v", err))
	}
	if deepest(doc) > MaxDepth {
		return nil, false
	}
	vals = make([]Value, len(paths))
	for i, p := range paths {
		vals[i] = found[p]
	}
	return vals, true
}

// refObject collects every value of an object that a path can name.
func refObject(dec *jsontext.Decoder, prefix string, found map[string]Value) error {
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for dec.PeekKind() != '}' {
		tok, err := dec.ReadToken()
		if err != nil {
			return err
		}
		key := tok.String()
		path := prefix + QuoteKey(key)
		if key == "" { // no path names it
			path = ""
		}
		if err := refValue(dec, path, found); err != nil {
			return err
		}
	}
	_, err := dec.ReadToken()
	return err
}

// refArray collects every value of an array that a path can name.
func refArray(dec *jsontext.Decoder, prefix string, found map[string]Value) error {
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for i := 0; dec.PeekKind() != ']'; i++ {
		if err := refValue(dec, fmt.Sprintf("%s[%d]", prefix, i), found); err != nil {
			return err
		}
	}
	_, err := dec.ReadToken()
	return err
}

// refValue collects a value, and what is in it.
func refValue(dec *jsontext.Decoder, path string, found map[string]Value) error {
	raw, err := dec.ReadValue()
	if err != nil || path == "" {
		return err
	}
	raw = bytes.Clone(raw)
	inside := jsontext.NewDecoder(bytes.NewReader(raw))
	switch val := (Value{Bytes: raw}); raw.Kind() {
	case 'n':
		found[path] = Value{Type: Null}
	case 't', 'f':
		val.Type = Bool
		found[path] = val
	case '0':
		val.Type = Number
		found[path] = val
	case '"':
		text, err := jsontext.AppendUnquote(nil, raw)
		if err != nil {
			return err
		}
		found[path] = Value{String, text}
	case '{':
		found[path] = Value{Composite, raw}
		return refObject(inside, path+".", found)
	default:
		found[path] = Value{Composite, raw}
		return refArray(inside, path, found)
	}
	return nil
}

// deepest counts the containers open at the deepest place of a valid document.
func deepest(doc []byte) (most int) {
	dec := jsontext.NewDecoder(bytes.NewReader(doc))
	for {
		if _, err := dec.ReadToken(); err != nil {
			return most
		}
		most = max(most, dec.StackDepth())
	}
}

// refPaths are the paths in all comparisons: flat, nested, deep, odd, in arrays, and
// in what may be an object or an array.
var refPaths = []string{"ts", "user_id", "page", "geo.country", "geo.pos.lat", "a", "ключ", "event_id",
	"items[1].sku", "items[0].sku", "tags[2]", "grid[1][0]", `"log.level"`, `geo."a.b[0]"`, "either.a", "either[0]"}

var explainer, _ = NewReader(Form{}, nil)

// checkScan compares Scan with the reference: of the document as it is, before bytes that
// would make it longer, before memory that cannot be read, and without stride.
func checkScan(t *testing.T, s *Scanner, doc []byte, paths []string) {
	t.Helper()
	want, ok := refScan(doc, paths)
	if !ok {
		want = make([]Value, len(paths))
	}
	check := func(how string, doc []byte) {
		t.Helper()
		got := make([]Value, len(paths))
		for i := range got {
			got[i] = Value{String, []byte("left over")}
		}
		err := s.Scan(doc, got)
		if (err == nil) != ok {
			t.Fatalf("Scan(%q) %s = %v, reference accepts: %v", doc, how, err, ok)
		}
		if err != nil && !strings.HasPrefix(explainer.Explain(doc, err), err.Error()) {
			t.Fatalf("%q: %v is explained as %s", doc, err, explainer.Explain(doc, err))
		}
		if at := s.ErrOffset(); err != nil && (at < 0 || at > len(doc)) {
			t.Fatalf("Scan(%q) %s: ErrOffset %d of %d bytes", doc, how, at, len(doc))
		}
		for i := range want {
			if got[i].Type != want[i].Type || !bytes.Equal(got[i].Bytes, want[i].Bytes) {
				t.Fatalf("Scan(%q) %s: %s = %v %q, want %v %q", doc, how, paths[i],
					got[i].Type, got[i].Bytes, want[i].Type, want[i].Bytes)
			}
		}
	}
	check("as it is", doc)
	for _, behind := range []string{`"`, "1", "}", ","} {
		check("before "+behind, append(bytes.Clone(doc), strings.Repeat(behind, 32)...)[:len(doc)])
	}
	check("at the end of memory", atEndOfMemory(t, doc))
	withoutStride(func() { check("without stride", doc) })
}

// elementPaths lead through elements that are found by a key: in plain and in quoted keys, beside others of the same array, in
// each other, and by a number.
var elementPaths = []string{"items[sku=a].n", "items[sku=a].sku", "items[sku=b].n", "items[n=1].sku", `geo."a.b"[k="x]"].v[1]`, "items[sku=a].list[k=true].v", "ts"}

// refElement returns the value at a path with elements by key in what the reference has found in an object.
func refElement(found map[string]Value, path string) Value {
	before, step, rest, ok := cutElement(path)
	if !ok {
		return found[path]
	}
	array := found[before]
	if array.Type != Composite || array.Bytes[0] != '[' {
		return Value{}
	}
	dec := jsontext.NewDecoder(bytes.NewReader(array.Bytes))
	_, err := dec.ReadToken()
	for err == nil && dec.PeekKind() != ']' {
		if dec.PeekKind() != '{' {
			err = dec.SkipValue()
			continue
		}
		of := map[string]Value{}
		if err = refObject(dec, "", of); err == nil && step.is(of[QuoteKey(step.name)]) {
			return refElement(of, rest)
		}
	}
	if err != nil {
		panic(fmt.Sprintf("elements of a valid array: %v", err))
	}
	return Value{}
}

// checkElements compares a Reader of elementPaths with the reference.
func checkElements(t *testing.T, r *Reader, doc []byte) {
	t.Helper()
	if _, ok := refScan(doc, nil); !ok {
		return
	}
	found := map[string]Value{}
	if err := refObject(jsontext.NewDecoder(bytes.NewReader(doc)), "", found); err != nil {
		t.Fatal(err)
	}
	vals := make([]Value, len(elementPaths))
	if err := r.Read(&Record{Value: doc}, vals); err != nil {
		t.Fatalf("%q: %v, and the reference accepts it", doc, err)
	}
	for i, path := range elementPaths {
		if want := refElement(found, path); vals[i].Type != want.Type || !bytes.Equal(vals[i].Bytes, want.Bytes) {
			t.Fatalf("%q: %s is %v %q, want %v %q", doc, path, vals[i].Type, vals[i].Bytes, want.Type, want.Bytes)
		}
	}
}

// checkTwin compares a scanner that has read other documents with a new one:
// same values, same error, same offset.
func checkTwin(t *testing.T, s *Scanner, doc []byte, paths []string) {
	t.Helper()
	fresh, err := NewScanner(paths)
	if err != nil {
		t.Fatal(err)
	}
	got, want := make([]Value, len(paths)), make([]Value, len(paths))
	gotErr, wantErr := s.Scan(doc, got), fresh.Scan(doc, want)
	if !errors.Is(gotErr, wantErr) || gotErr != nil && s.ErrOffset() != fresh.ErrOffset() {
		t.Fatalf("Scan(%q) = %v at %d after other documents, %v at %d alone",
			doc, gotErr, s.ErrOffset(), wantErr, fresh.ErrOffset())
	}
	for i := range want {
		if got[i].Type != want[i].Type || !bytes.Equal(got[i].Bytes, want[i].Bytes) {
			t.Fatalf("Scan(%q): %s = %v %q after other documents, %v %q alone", doc, paths[i],
				got[i].Type, got[i].Bytes, want[i].Type, want[i].Bytes)
		}
	}
}

// FuzzScan compares scanner and reference. The scanner learns the layout of the
// first document and reads the second with it.
func FuzzScan(f *testing.F) {
	for _, c := range faulty {
		f.Add([]byte(click), []byte(c.doc))
	}
	for _, doc := range sound {
		f.Add([]byte(doc), []byte(doc))
		f.Add([]byte(click), []byte(doc))
	}
	for _, p := range layoutPairs {
		f.Add([]byte(p[0]), []byte(p[1]))
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		s, err := NewScanner(refPaths)
		if err != nil {
			t.Fatal(err)
		}
		r, err := NewReader(Form{}, elementPaths)
		if err != nil {
			t.Fatal(err)
		}
		for _, doc := range [][]byte{first, second, first} {
			checkElements(t, r, doc)
		}
		checkScan(t, s, first, refPaths)
		checkScan(t, s, second, refPaths)
		checkScan(t, s, first, refPaths)
		checkScan(t, s, second, refPaths)
		checkTwin(t, s, second, refPaths)
	})
}
