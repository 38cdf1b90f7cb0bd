package event

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestInside(t *testing.T) {
	paths := []string{"p[json].plan", "p", "p[json].deep[json].x", "p[json].list[1]", "header:meta[json].v", "key:user[json].id", "q[0][json].a", "ts"}
	r, err := NewReader(Form{}, paths)
	if err != nil {
		t.Fatal(err)
	}
	quote := func(s string) string { b, _ := json.Marshal(s); return string(b) }
	read := func(doc string, env *Envelope) (string, error) {
		vals := make([]Value, len(paths))
		for i := range vals {
			vals[i] = str("left over")
		}
		err := r.Read(&Record{Value: []byte(doc), Envelope: env}, vals)
		return texts(vals), err
	}
	deep := `{"plan":"pro","deep":` + quote(`{"x":[1]}`) + `,"list":[1,"zwei"]}`
	env := &Envelope{Key: []byte(`{"user":"{\"id\":7}"}`), Headers: headers("meta", `{"v":2}`)}
	for _, c := range []struct {
		doc  string
		env  *Envelope
		want string
		err  string
	}{
		{`{"ts":1,"p":` + quote(deep) + `,"q":["{\"a\":true}"]}`, env, "string pro, string " + deep + ", composite [1], string zwei, number 2, number 7, bool true, number 1", ""},
		{`{"ts":1}`, nil, "missing , missing , missing , missing , missing , missing , missing , number 1", ""},
		{`{"p":""}`, nil, "missing , string , missing , missing , missing , missing , missing , missing ", ""},
		{`{"p":null,"q":null}`, nil, "missing , null , missing , missing , missing , missing , missing , missing ", ""},
		{`{"p":{"plan":"pro"}}`, nil, "missing , composite {\"plan\":\"pro\"}, missing , missing , missing , missing , missing , missing ", ""},
		{`{"p":"{\"deep\":{\"x\":1}}"}`, nil, "missing , string {\"deep\":{\"x\":1}}, missing , missing , missing , missing , missing , missing ", ""},
		{`{"p":"pro"}`, nil, "", "the text at p is no JSON object"},
		{`{"p":"[]"}`, nil, "", "the text at p is no JSON object"},
		{`{"p":" "}`, nil, "", "the text at p is no JSON object"},
		{`{"p":"{\"plan\":1,\"plan\":1}"}`, nil, "", "the text at p is no JSON object"},
		{`{"p":"{\"deep\":\"no\"}"}`, nil, "", "the text at p is no JSON object"},
		{`{"q":["x"]}`, nil, "", "the text at q[0] is no JSON object"},
		{`{}`, &Envelope{Headers: headers("meta", "x")}, "", "the text at header:meta is no JSON object"},
		{`{}`, &Envelope{Key: []byte(`{"user":"x"}`)}, "", "the text at key.user is no JSON object"},
	} {
		got, err := read(c.doc, c.env)
		switch {
		case c.err == "" && (err != nil || got != c.want):
			t.Errorf("%s: %s, %v; want %s", c.doc, got, err, c.want)
		case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%s: %v, want %s", c.doc, err, c.err)
		}
	}
	for _, path := range []string{"a[json]", "a[json].", "a[json]b", "a[json][0]", "[json].a", "a[json].key:b", "a[json].header:b", "a[json].b..c", "a..b[json].c", "a[json].b[json]"} {
		if err := CheckPath(path); err == nil {
			t.Errorf("%q is a path", path)
		}
		if _, err := NewReader(Form{}, []string{path}); err == nil {
			t.Errorf("%q is read", path)
		}
	}
	for _, paths := range [][]string{{"a[json].b", "a.c"}, {"a[json].b", "a[json].b"}, {"a[json].b", "a[json].b.c"}} {
		if _, err := NewReader(Form{}, paths); err == nil {
			t.Errorf("%q are read", paths)
		}
	}
	for _, c := range [][2]string{{"key.user[json].id", "key:user[json].id"}, {"value.key[json].id", "key[json].id"}, {"a[json].key", "a[json].key"}} {
		if got := ParsePathText(c[0]); got != c[1] || PathText(c[1]) != c[0] {
			t.Errorf("%q is read as %q, written as %q", c[0], got, PathText(c[1]))
		}
	}
}

// FuzzInside compares values in a text with the reference's reading of the text alone, and of
// an event that encoding/json has put it into.
func FuzzInside(f *testing.F) {
	for _, doc := range sound {
		f.Add(doc, true)
	}
	for _, c := range faulty {
		f.Add(c.doc, false)
	}
	paths := []string{"p", "n"}
	for _, path := range refPaths {
		paths = append(paths, "p[json]."+path)
	}
	f.Fuzz(func(t *testing.T, text string, escape bool) {
		if !valid([]byte(text)) {
			return
		}
		var doc strings.Builder
		enc := json.NewEncoder(&doc)
		enc.SetEscapeHTML(escape)
		if err := enc.Encode(map[string]any{"p": text, "n": 1}); err != nil {
			t.Fatal(err)
		}
		want, ok := refScan([]byte(text), refPaths)
		if text == "" {
			want, ok = make([]Value, len(refPaths)), true
		}
		r, err := NewReader(Form{}, paths)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second time with layouts that are known
			vals := make([]Value, len(paths))
			err := r.Read(&Record{Value: []byte(doc.String())}, vals)
			if (err == nil) != ok {
				t.Fatalf("%q: %v, the reference accepts: %v", text, err, ok)
			}
			if ok && texts(vals) != texts(append([]Value{str(text), num("1")}, want...)) {
				t.Fatalf("%q: %s, want %s", text, texts(vals), texts(want))
			}
		}
	})
}
