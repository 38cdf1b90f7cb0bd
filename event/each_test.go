package event

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// newEach makes a reader of arrays of events.
func newEach(t testing.TB, each string, paths ...string) *Reader {
	t.Helper()
	r, err := NewReader(Form{Each: each}, paths)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// readEach returns each event of a record as texts, or the error in the event's place; or the
// error of the record.
func readEach(r *Reader, rec *Record, paths int) (events []string, err error) {
	n, err := r.Open(rec)
	if err != nil {
		return nil, err
	}
	vals := make([]Value, paths)
	for i := range n {
		for k := range vals {
			vals[k] = str("left over")
		}
		if err := r.ReadEvent(i, vals); err != nil {
			events = append(events, err.Error())
		} else {
			events = append(events, texts(vals))
		}
	}
	return events, nil
}

func TestEach(t *testing.T) {
	paths := []string{"a", "record:sentAt", "b[json].c", "key:", "header:h", "record:ctx[json].v"}
	env := &Envelope{Key: []byte("k"), Headers: headers("h", "v")}
	r := newEach(t, "batch", paths...)
	for _, c := range []struct {
		doc  string
		want []string
		err  string
	}{
		{`{"batch":[]}`, nil, ""},
		{`{"batch": [ ] }`, nil, ""},
		{`{"batch":[{"a":1},{"a":2,"b":"{\"c\":3}"}],"sentAt":"now","ctx":"{\"v\":true}"}`, []string{
			"number 1, string now, missing , string k, string v, bool true",
			"number 2, string now, number 3, string k, string v, bool true"}, ""},
		{`{"sentAt":7, "batch": [ {"a":"x,]}\"\\"} , {} ] }`, []string{
			`string x,]}"\, number 7, missing , string k, string v, missing `,
			"missing , number 7, missing , string k, string v, missing "}, ""},
		{`{"batch":[{"a":1},null,[{"a":1}],"x",5,{"a":1,"a":2},{"a":tru},{"a":1}{},,{"b":"x"},{"a":2}]}`, []string{
			"number 1, missing , missing , string k, string v, missing ",
			ErrNotObject.Error(), ErrNotObject.Error(), ErrNotObject.Error(), ErrNotObject.Error(), ErrDuplicate.Error(), ErrSyntax.Error(), ErrTrailing.Error(), ErrEmpty.Error(),
			"event: the text at b is no JSON object",
			"number 2, missing , missing , string k, string v, missing "}, ""},
		{"{\"batch\":[{\"a\":\"\xff\"},{\"a\":2}]}", []string{ErrUTF8.Error(), "number 2, missing , missing , string k, string v, missing "}, ""},
		{`{"batch":[` + strings.Repeat(`{"a":`, MaxDepth) + `{}` + strings.Repeat(`}`, MaxDepth) + `,{}]}`, []string{ErrDepth.Error(), "missing , missing , missing , string k, string v, missing "}, ""},
		{`{}`, nil, "event: field batch is missing"},
		{`{"batch":null}`, nil, "event: field batch is missing"},
		{`{"batch":{}}`, nil, "event: field batch is not an array"},
		{`{"batch":"[]"}`, nil, "event: field batch is not an array"},
		{`{"batch":1}`, nil, "event: field batch is not an array"},
		{`[{"a":1}]`, nil, ErrNotObject.Error()},
		{`{"batch":[{"a":1}`, nil, ErrTruncated.Error()},
		{`{"batch":[{"a":"1}]}`, nil, ErrTruncated.Error()},
		{`{"batch":[{"a":1}]`, nil, ErrTruncated.Error()},
		{`{"batch":[{"a":1}}]}`, nil, ErrSyntax.Error()},
		{`{"batch":[{"a":1}],"batch":[{"a":1}]}`, nil, ErrDuplicate.Error()},
		{`{"batch":[{"a":1}],"x":tru}`, nil, ErrSyntax.Error()},
		{`{"batch":[{"a":1}]}]`, nil, ErrTrailing.Error()},
	} {
		for range 2 { // the second time with the layout of the first
			got, err := readEach(r, &Record{Value: []byte(c.doc), Envelope: env}, len(paths))
			if err == nil && c.err != "" || err != nil && err.Error() != c.err || !slices.Equal(got, c.want) {
				t.Errorf("%s:\n got %q, %v\nwant %q, %s", c.doc, got, err, c.want, c.err)
			}
		}
	}
	if _, err := r.Open(&Record{Value: []byte(`{"batch":[]}`), Envelope: &Envelope{Headers: Headers{9}}}); !errors.Is(err, ErrHeaders) {
		t.Errorf("broken headers: %v", err)
	}
}

func TestEachOfWhole(t *testing.T) {
	r := newEach(t, Whole, "a", "key:")
	for doc, want := range map[string]string{
		`[]`:                   "",
		` [ {"a":1} , 2 ] `:    "number 1, missing ; event: document is not an object",
		`[{"a":1},{"a":[{}]}]`: "number 1, missing ; composite [{}], missing ",
		`{"a":1}`:              ErrNotArray.Error(),
		`1`:                    ErrNotArray.Error(),
		` `:                    ErrEmpty.Error(),
		`[`:                    ErrTruncated.Error(),
		`[{"a":1}`:             ErrTruncated.Error(),
		`[{"a":1}]]`:           ErrTrailing.Error(),
		`[}`:                   ErrSyntax.Error(),
	} {
		got, err := readEach(r, &Record{Value: []byte(doc)}, 2)
		text := strings.Join(got, "; ")
		if err != nil {
			text = err.Error()
		}
		if text != want {
			t.Errorf("%s: %s, want %s", doc, text, want)
		}
	}
	deep := newEach(t, "data.events[1].list", "a", "record:data.id", "record:data.events[0]")
	if got, err := readEach(deep, &Record{Value: []byte(`{"data":{"events":["x",{"list":[{"a":1}]}],"id":5}}`)}, 3); err != nil || len(got) != 1 || got[0] != "number 1, number 5, string x" {
		t.Errorf("a deep array: %q, %v", got, err)
	}
	schema, err := NewReader(Form{Format: JSONSchema, Each: Whole}, []string{"a"})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := readEach(schema, &Record{Value: []byte("\x00\x00\x00\x00\x07[{\"a\":1}]")}, 1); err != nil || len(got) != 1 || got[0] != "number 1" {
		t.Errorf("behind the name of a schema: %q, %v", got, err)
	}
}

// TestEachOfMany reads as many events as a record may have, and one more.
func TestEachOfMany(t *testing.T) {
	r := newEach(t, "e", "a")
	for _, n := range []int{100_000, MaxEvents, MaxEvents + 1} {
		doc := []byte(`{"e":[` + strings.Repeat(`{"a":1},`, n-1) + `{"a":2}]}`)
		events, err := r.Open(&Record{Value: doc})
		if n > MaxEvents {
			if !errors.Is(err, ErrEvents) {
				t.Errorf("%d events: %v", n, err)
			}
			continue
		}
		vals := make([]Value, 1)
		if err != nil || events != n || r.ReadEvent(n-1, vals) != nil || texts(vals) != "number 2" || string(r.Event(0)) != `{"a":1}` {
			t.Errorf("%d of %d events, the last %s, %v", events, n, texts(vals), err)
		}
	}
	if _, err := r.Open(&Record{Value: []byte(`{"e":[]}`)}); err != nil || cap(r.each.pieces) > keepPieces {
		t.Errorf("a reader keeps %d pieces, %v", cap(r.each.pieces), err)
	}
}

// checkEach compares a reader of arrays with encoding/json, which takes the document apart, and
// with the reference, which reads each piece: the record and all of its events are read if and only if
// the document is valid and each element is an object that the reference accepts, and then
// the values are the same.
func checkEach(t *testing.T, r *Reader, doc []byte, paths []string) {
	t.Helper()
	n, err := r.Open(&Record{Value: doc})
	if err != nil {
		if _, ok := refScan(doc, nil); ok { // valid: is there an array?
			var outer struct{ Events json.RawMessage }
			fields := map[string]json.RawMessage{}
			if json.Unmarshal(doc, &fields) == nil {
				outer.Events = fields["events"]
			}
			if len(outer.Events) > 0 && outer.Events[0] == '[' {
				t.Fatalf("%q: %v", doc, err)
			}
		}
		return
	}
	vals, good := make([]Value, len(paths)), true
	for i := range n {
		piece := r.Event(i)
		want, ok := refScan(piece, paths[:len(paths)-1])
		err := r.ReadEvent(i, vals)
		if (err == nil) != ok {
			t.Fatalf("%q: event %d, %q: %v; the reference accepts: %v", doc, i, piece, err, ok)
		}
		good = good && ok
		for k := range want {
			if vals[k].Type != want[k].Type || !bytes.Equal(vals[k].Bytes, want[k].Bytes) {
				t.Fatalf("%q: event %d: %s is %v %q, want %v %q", doc, i, paths[k], vals[k].Type, vals[k].Bytes, want[k].Type, want[k].Bytes)
			}
		}
	}
	if !good {
		return
	}
	// All events are good objects: then the document is valid, and has these elements.
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(doc, &fields); err != nil {
		t.Fatalf("%q: %d good events, %v", doc, n, err)
	}
	var elements []json.RawMessage
	if err := json.Unmarshal(fields["events"], &elements); err != nil || len(elements) != n {
		t.Fatalf("%q: %d events, want %d, %v", doc, n, len(elements), err)
	}
	for i := range elements {
		if !bytes.Equal(elements[i], r.Event(i)) {
			t.Fatalf("%q: event %d is %q, want %q", doc, i, r.Event(i), elements[i])
		}
	}
	if n > 0 && deepest(doc) <= MaxDepth { // the bound holds for each event by itself
		if want, ok := refScan(doc, []string{"sentAt"}); !ok || vals[len(vals)-1].Type != want[0].Type || !bytes.Equal(vals[len(vals)-1].Bytes, want[0].Bytes) {
			t.Fatalf("%q: sentAt is %v %q, want %v, accepted: %v", doc, vals[len(vals)-1].Type, vals[len(vals)-1].Bytes, want, ok)
		}
	}
}

var eachPaths = append(slices.Clone(refPaths), "record:sentAt")

// eachSeeds are records for the comparison.
var eachSeeds = []string{
	`{"events":[]}`, `{"events":[{"ts":1}],"sentAt":2}`, `{"sentAt":"x","events":[ {"page":"a,b]"} ,{"geo":{"country":"DE"}}]}`,
	`{"events":[{"a":1},{"a":1,"a":2}]}`, `{"events":[{"a":"\"]"},[],{}]}`, `{"events":{},"a":[{}]}`, `{"events":[{"a":1]}`, `{"events":[{"a":1}}]}`, `[{"a":1}]`,
	`{"events":[{"a":1},]}`, `{"events":[,]}`, `{"events":[{"a":[1,{"b":2}]},{"items":[{"sku":1},{"sku":"\u00e9"}]}]}`, "{\"events\":[{\"a\":\"\xff\"}]}",
	`{"events":[{"list":[{"of":[1,{"a":2}]},{"of":[]},{"of":null},{}]},{"list": [ { "of" : [ [ ] , "]" ] } ] },{"list":[]}],"sentAt":1}`, `{"events":[{"list":[1]}]}`, `{"events":[{"list":{"of":[1]}}]}`,
	`{"events":[{"list":[{"of":7}]}]}`, `{"events":[[{"of":[1]}]]}`, `{"events":null}`, `{"events":[null]}`, `{"events":[{"log.level":"x","geo":{"a.b[0]":1}}]}`,
}

// TestEachAgainstReference compares on records that are made of good and faulty documents,
// whole and with a byte changed.
func TestEachAgainstReference(t *testing.T) {
	rng := rand.New(rand.NewPCG(20, 1))
	docs := slices.Clone(sound)
	for _, f := range faulty {
		docs = append(docs, f.doc)
	}
	r, inner := newEach(t, "events", eachPaths...), newEach(t, "events[].list[].of", "a")
	for _, doc := range eachSeeds {
		checkEach(t, r, []byte(doc), eachPaths)
		checkArraysInArrays(t, inner, []byte(doc))
	}
	for range 5000 {
		var b bytes.Buffer
		before := rng.IntN(2) == 0
		b.WriteString("{")
		if before {
			fmt.Fprintf(&b, `"sentAt":%d,`, rng.IntN(100))
		}
		b.WriteString(`"events":[`)
		for i := range rng.IntN(4) {
			if i > 0 {
				b.WriteString([]string{",", " , ", ",\n\t"}[rng.IntN(3)])
			}
			if rng.IntN(8) == 0 {
				b.WriteString(docs[rng.IntN(len(docs))])
			} else {
				b.WriteString(sound[rng.IntN(len(sound))])
			}
		}
		b.WriteString("]")
		if !before && rng.IntN(2) == 0 {
			b.WriteString(`,"sentAt":"later"`)
		}
		b.WriteString("}")
		doc := b.Bytes()
		if rng.IntN(3) == 0 {
			doc[rng.IntN(len(doc))] = `{}[],:"\ 1a`[rng.IntN(11)]
		}
		checkEach(t, r, doc, eachPaths)
	}
}

// checkArraysInArrays compares a reader of events[].list[].of with encoding/json, in a document that the reference accepts: the
// events are the elements of the innermost arrays, in order, where every element on the way is an object.
func checkArraysInArrays(t *testing.T, r *Reader, doc []byte) {
	t.Helper()
	if _, ok := refScan(doc, nil); !ok {
		return
	}
	want, good := []json.RawMessage{doc}, true
	for level, key := range []string{"events", "list", "of"} {
		var inner []json.RawMessage
		for _, object := range want {
			var fields map[string]json.RawMessage
			var elements []json.RawMessage
			err := json.Unmarshal(object, &fields)
			if array, there := fields[key]; there {
				err = errors.Join(err, json.Unmarshal(array, &elements))
			}
			missing := fields[key] == nil || string(fields[key]) == "null"
			good = good && err == nil && fields != nil && (level > 0 || !missing)
			inner = append(inner, elements...)
		}
		want = inner
	}
	n, err := r.Open(&Record{Value: doc})
	if (err == nil) != good || good && n != len(want) {
		t.Fatalf("%q: %d events, %v; want %d, good: %v", doc, n, err, len(want), good)
	}
	for i := range n {
		if !bytes.Equal(r.Event(i), want[i]) {
			t.Fatalf("%q: event %d is %q, want %q", doc, i, r.Event(i), want[i])
		}
	}
}

func FuzzEach(f *testing.F) {
	for _, doc := range eachSeeds {
		f.Add([]byte(doc), []byte(eachSeeds[2]))
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		r, inner := newEach(t, "events", eachPaths...), newEach(t, "events[].list[].of", "a")
		for _, doc := range [][]byte{first, second, first, second} {
			checkEach(t, r, doc, eachPaths)
			checkArraysInArrays(t, inner, doc)
		}
	})
}

func TestEachDoesNotAllocate(t *testing.T) {
	r := newEach(t, "batch", "ts", "user_id", "record:sentAt", "key:", "p[json].a")
	doc := []byte(`{"batch":[` + strings.Repeat(`{"ts":1,"user_id":"a \" b","p":"{\"a\":1}"},`, 99) + `{"ts":2}],"sentAt":"é\n"}`)
	rec, vals := Record{Value: doc, Envelope: &Envelope{Key: []byte("k")}}, make([]Value, 5)
	if n := testing.AllocsPerRun(20, func() {
		events, err := r.Open(&rec)
		if err != nil || events != 100 {
			t.Fatal(events, err)
		}
		for i := range events {
			if err := r.ReadEvent(i, vals); err != nil {
				t.Fatal(err)
			}
		}
	}); n != 0 {
		t.Errorf("%v allocations per record of 100 events, want none", n)
	}
}
