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

// refObject collects every value that a path can name.
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
		path := prefix + key
		named := key != "" && !strings.Contains(key, ".")
		if dec.PeekKind() == '{' && named {
			// The same object twice: as a value, and for what is in it.
			raw, err := dec.ReadValue()
			if err != nil {
				return err
			}
			found[path] = Value{Composite, bytes.Clone(raw)}
			if err := refObject(jsontext.NewDecoder(bytes.NewReader(bytes.Clone(raw))), path+".", found); err != nil {
				return err
			}
			continue
		}
		raw, err := dec.ReadValue()
		if err != nil {
			return err
		}
		if !named {
			continue
		}
		val := Value{Bytes: bytes.Clone(raw)}
		switch raw.Kind() {
		case 'n':
			val = Value{Kind: Null}
		case 't', 'f':
			val.Kind = Bool
		case '0':
			val.Kind = Number
		case '"':
			text, err := jsontext.AppendUnquote(nil, raw)
			if err != nil {
				return err
			}
			val = Value{String, text}
		default:
			val.Kind = Composite
		}
		found[path] = val
	}
	_, err := dec.ReadToken()
	return err
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

// refPaths are the paths in all comparisons: flat, nested, deep, odd.
var refPaths = []string{"ts", "user_id", "page", "geo.country", "geo.pos.lat", "a", "ключ", "event_id"}

// checkScan compares one Scan with the reference.
func checkScan(t *testing.T, s *Scanner, doc []byte, paths []string) {
	t.Helper()
	want, ok := refScan(doc, paths)
	got := make([]Value, len(paths))
	for i := range got {
		got[i] = Value{String, []byte("left over")}
	}
	err := s.Scan(doc, got)
	if (err == nil) != ok {
		t.Fatalf("Scan(%q) = %v, reference accepts: %v", doc, err, ok)
	}
	if err != nil {
		want = make([]Value, len(paths))
		if at := s.ErrOffset(); at < 0 || at > len(doc) {
			t.Fatalf("Scan(%q): ErrOffset %d of %d bytes", doc, at, len(doc))
		}
	}
	for i := range want {
		if got[i].Kind != want[i].Kind || !bytes.Equal(got[i].Bytes, want[i].Bytes) {
			t.Fatalf("Scan(%q): %s = %v %q, want %v %q", doc, paths[i],
				got[i].Kind, got[i].Bytes, want[i].Kind, want[i].Bytes)
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
		if got[i].Kind != want[i].Kind || !bytes.Equal(got[i].Bytes, want[i].Bytes) {
			t.Fatalf("Scan(%q): %s = %v %q after other documents, %v %q alone", doc, paths[i],
				got[i].Kind, got[i].Bytes, want[i].Kind, want[i].Bytes)
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
		checkScan(t, s, first, refPaths)
		checkScan(t, s, second, refPaths)
		checkScan(t, s, first, refPaths)
		checkScan(t, s, second, refPaths)
		checkTwin(t, s, second, refPaths)
	})
}
