package schemas

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/twmb/avro"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"

	"weir/event"
)

// What the tests below write: parameters that are found by their keys, and spans in arrays in arrays.
type (
	param struct {
		Key   string `json:"key" avro:"key"`
		N     int64  `json:"n" avro:"n"`
		Value struct {
			S string `json:"s" avro:"s"`
		} `json:"value" avro:"value"`
	}
	span struct {
		Name   string  `json:"name" avro:"name"`
		Params []param `json:"params" avro:"params"`
	}
	scope struct {
		Spans []span `json:"spans" avro:"spans"`
	}
	resource struct {
		Scopes []scope `json:"scopes" avro:"scopes"`
	}
	traces struct {
		Params    []param    `json:"params" avro:"params"`
		Resources []resource `json:"resources" avro:"resources"`
	}
)

const tracesAvro = `{"type":"record","name":"T","fields":[
	{"name":"params","type":{"type":"array","items":{"type":"record","name":"P","fields":[{"name":"key","type":"string"},{"name":"n","type":"long"},{"name":"value","type":{"type":"record","name":"V","fields":[{"name":"s","type":"string"}]}}]}}},
	{"name":"resources","type":{"type":"array","items":{"type":"record","name":"R","fields":[{"name":"scopes","type":{"type":"array","items":{"type":"record","name":"S","fields":[{"name":"spans","type":
		{"type":"array","items":{"type":"record","name":"Span","fields":[{"name":"name","type":"string"},{"name":"params","type":{"type":"array","items":"P"}}]}}}]}}}]}}}]}`

const tracesProto = `syntax = "proto3";
message T { repeated P params = 1; repeated R resources = 2; }
message P { string key = 1; int64 n = 2; V value = 3; }
message V { string s = 1; }
message R { repeated S scopes = 1; }
message S { repeated Span spans = 1; }
message Span { string name = 1; repeated P params = 2; }
`

// TestElements: an element by its key is the first that has it, and [] leads into all elements, in JSON, Avro and
// Protobuf alike, compared with a loop over the same values.
func TestElements(t *testing.T) {
	rng := rand.New(rand.NewPCG(55, 1))
	keys := []string{"page", "a.b", `x"]`, "sid"}
	params := func() []param {
		all := make([]param, rng.IntN(4))
		for i := range all {
			all[i].Key, all[i].N = keys[rng.IntN(len(keys))], 1+rng.Int64N(9)
			all[i].Value.S = fmt.Sprint("v", rng.IntN(9))
		}
		return all
	}
	first := func(of []param, key string) string {
		for _, p := range of {
			if p.Key == key {
				return fmt.Sprintf("string %s, number %d, string %s", p.Value.S, p.N, key)
			}
		}
		return "missing , missing , missing "
	}
	paths := []string{"name"}
	for _, before := range []string{"", event.OfRecord} {
		for _, key := range keys[:3] {
			at := before + "params[key=" + event.QuoteKey(key) + "]."
			paths = append(paths, at+"value.s", at+"n", at+"key")
		}
	}
	form := func(f event.Format) event.Form { return event.Form{Format: f, Each: "resources[].scopes[].spans"} }
	avroSchema, protoFile := avro.MustParse(tracesAvro), mustProto(t, tracesProto)
	of := protoFile.Messages().ByName("T")
	encode := map[event.Format]func(traces) []byte{
		event.JSON: func(v traces) []byte { b, _ := json.Marshal(v); return b },
		event.Avro: func(v traces) []byte {
			b, err := avroSchema.Encode(v)
			if err != nil {
				t.Fatal(err)
			}
			return b
		},
		event.Protobuf: func(v traces) []byte {
			b, _ := json.Marshal(v)
			m := dynamicpb.NewMessage(of)
			if err := protojson.Unmarshal(b, m); err != nil {
				t.Fatal(err)
			}
			b, _ = proto.Marshal(m)
			return b
		},
	}
	spans := 0
	for f, encode := range encode {
		r, err := event.NewReader(form(f), paths)
		if err != nil {
			t.Fatal(err)
		}
		switch f {
		case event.Avro:
			r.Learn("", mustAvro(t, tracesAvro))
		case event.Protobuf:
			s := protoFile.schema(event.SchemaName{Message: []int{of.Index()}})
			if s.Events("resources[].scopes[].spans") == nil {
				t.Error("the schema has no spans")
			}
			r.Learn("", s)
		}
		for range 400 {
			v := traces{Params: params(), Resources: make([]resource, rng.IntN(3))}
			var want []string
			for i := range v.Resources {
				v.Resources[i].Scopes = make([]scope, rng.IntN(3))
				for k := range v.Resources[i].Scopes {
					all := make([]span, rng.IntN(3))
					for n := range all {
						all[n] = span{fmt.Sprint("s", rng.IntN(99)), params()}
						line := "string " + all[n].Name
						for _, of := range [][]param{all[n].Params, v.Params} {
							for _, key := range keys[:3] {
								line += ", " + first(of, key)
							}
						}
						want = append(want, line)
					}
					v.Resources[i].Scopes[k].Spans = all
				}
			}
			data := encode(v)
			if f == event.JSON && rng.IntN(2) == 0 {
				data = []byte(strings.NewReplacer(`"scopes":[]`, `"scopes":null`, `{"spans":[]}`, `{ "spans" : [ ] }`).Replace(string(data)))
			}
			rec := event.Record{Value: data}
			if f != event.JSON {
				r.Select(&rec)
			}
			n, err := r.Open(&rec)
			if err != nil || n != len(want) {
				t.Fatalf("%v %s: %d events, want %d, %v", f, data, n, len(want), err)
			}
			spans += n
			vals := make([]event.Value, len(paths))
			for i := range n {
				if err := r.ReadEvent(i, vals); err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, v := range vals {
					got = append(got, v.Type.String()+" "+string(v.Bytes))
				}
				if line := strings.Join(got, ", "); line != want[i] {
					t.Fatalf("%v %s: event %d:\n%s, want\n%s", f, data, i, line, want[i])
				}
			}
		}
	}
	if spans < 500 {
		t.Errorf("only %d spans", spans)
	}
}
