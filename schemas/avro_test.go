package schemas

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/avro"

	"weir/event"
)

// everything has every kind of type, and every place in which a wanted value can be.
const everything = `{"type":"record","name":"Event","namespace":"shop","fields":[
	{"name":"none","type":"null"},
	{"name":"yes","type":"boolean"},
	{"name":"skipped_long","type":"long"},
	{"name":"skipped_text","type":"string"},
	{"name":"ts","type":{"type":"long","logicalType":"timestamp-millis"}},
	{"name":"n","type":"int"},
	{"name":"f","type":"float"},
	{"name":"d","type":"double"},
	{"name":"raw","type":"bytes"},
	{"name":"text","type":"string"},
	{"name":"mark","type":{"type":"fixed","name":"Mark","size":3}},
	{"name":"id","type":{"type":"fixed","name":"Id","size":16,"logicalType":"uuid"}},
	{"name":"price","type":{"type":"bytes","logicalType":"decimal","precision":20,"scale":2}},
	{"name":"cost","type":{"type":"fixed","name":"Cost","size":8,"logicalType":"decimal","precision":10,"scale":3}},
	{"name":"action","type":{"type":"enum","name":"Action","symbols":["view","click","buy"]}},
	{"name":"user","type":["null",{"type":"record","name":"User","fields":[{"name":"id","type":["null","long","string"]},{"name":"tags","type":{"type":"array","items":"string"}}]}]},
	{"name":"labels","type":{"type":"map","values":["null","string","double"]}},
	{"name":"items","type":{"type":"array","items":{"type":"record","name":"Item","fields":[{"name":"sku","type":"string"},{"name":"count","type":"int"},{"name":"grid","type":{"type":"array","items":{"type":"array","items":"long"}}}]}}},
	{"name":"either","type":[{"type":"record","name":"A","fields":[{"name":"x","type":"int"}]},{"type":"record","name":"B","fields":[{"name":"pad","type":"double"},{"name":"x","type":"string"}]},"int"]},
	{"name":"tree","type":{"type":"record","name":"Tree","fields":[{"name":"value","type":"int"},{"name":"left","type":["null","Tree"]},{"name":"right","type":["null","Tree"]}]}},
	{"name":"nulls","type":{"type":"array","items":"null"}},
	{"name":"last","type":"string"}
]}`

var everyPath = []string{"none", "yes", "ts", "n", "f", "d", "raw", "text", "mark", "id", "price", "cost", "action", "user.id", "user.tags[1]", "labels.env", "labels.size",
	"items[1].sku", "items[0].grid[1][0]", "items[2].count", "items[sku=a].count", "items[sku=a].sku", "items[count=0].grid[0][0]", `labels."k8s.pod"`, "either.x", "tree.value", "tree.left.right.value", "tree.right", "nulls[1]", "absent", "skipped_text.absent", "last"}

// The wanted values of an event, by the reference: twmb/avro decodes it into Go values.

// pathValue returns the value at a path of a decoded event, in the form of a Value.
func pathValue(v any, path string) event.Value {
	for path != "" && v != nil {
		if path[0] == '[' {
			shut := strings.IndexByte(path, ']')
			index, _ := strconv.Atoi(path[1:shut])
			list, ok := v.([]any)
			if key, text, by := strings.Cut(path[1:shut], "="); by {
				index = len(list)
				for i := len(list) - 1; i >= 0; i-- {
					if string(pathValue(list[i], key).Bytes) == text {
						index = i
					}
				}
			}
			if !ok || index >= len(list) {
				return event.Value{}
			}
			v, path = list[index], path[shut+1:]
			continue
		}
		path = strings.TrimPrefix(path, ".")
		end := strings.IndexAny(path, ".[")
		if end < 0 {
			end = len(path)
		}
		m, ok := v.(map[string]any)
		if !ok {
			return event.Value{}
		}
		if path[0] == '"' {
			quoted, after, _ := strings.Cut(path[1:], `"`)
			v, path = m[quoted], after
			continue
		}
		v, path = m[path[:end]], path[end:]
	}
	number := func(text string) event.Value { return event.Value{Type: event.Number, Bytes: []byte(text)} }
	text := func(s string) event.Value { return event.Value{Type: event.String, Bytes: []byte(s)} }
	switch v := v.(type) {
	case nil:
		return event.Value{}
	case bool:
		return event.Value{Type: event.Bool, Bytes: strconv.AppendBool(nil, v)}
	case int32:
		return number(strconv.Itoa(int(v)))
	case int64:
		return number(strconv.FormatInt(v, 10))
	case float32:
		return floatValue(float64(v), v)
	case float64:
		return floatValue(v, v)
	case string:
		return text(v)
	case []byte:
		return text(base64.StdEncoding.EncodeToString(v))
	case [16]byte:
		return text(fmt.Sprintf("%x-%x-%x-%x-%x", v[:4], v[4:6], v[6:8], v[8:10], v[10:]))
	case time.Time:
		return number(strconv.FormatInt(v.UnixMilli(), 10))
	case *big.Rat:
		s := v.FloatString(80)
		return number(strings.TrimSuffix(strings.TrimRight(s, "0"), "."))
	case map[string]any, []any:
		return event.Value{Type: event.Composite}
	}
	panic(fmt.Sprintf("a value of type %T", v))
}

// floatValue is what encoding/json writes, except for zeros and what it cannot write.
func floatValue(f float64, v any) event.Value {
	switch {
	case math.IsNaN(f):
		return event.Value{Type: event.String, Bytes: []byte("NaN")}
	case math.IsInf(f, 0):
		return event.Value{Type: event.String, Bytes: []byte(strings.TrimPrefix(strings.Replace(fmt.Sprint(f), "Inf", "Infinity", 1), "+"))}
	case f == 0:
		return event.Value{Type: event.Number, Bytes: []byte("0")}
	}
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return event.Value{Type: event.Number, Bytes: b}
}

// reader returns a reader that has learned a schema.
func reader(t testing.TB, format event.Format, s *event.Schema, paths []string) *event.Reader {
	t.Helper()
	r, err := event.NewReader(event.Form{Format: format}, paths)
	if err != nil {
		t.Fatal(err)
	}
	r.Learn("", s)
	return r
}

func read(r *event.Reader, data []byte, vals []event.Value) error {
	rec := event.Record{Value: data}
	if _, ok := r.Select(&rec); !ok {
		return errors.New("the schema is not known")
	}
	return r.Read(&rec, vals)
}

// sameValues compares what weir reads of a value with the reference.
func sameValues(t testing.TB, r *event.Reader, data []byte, of any, paths []string) {
	t.Helper()
	vals := make([]event.Value, len(paths))
	for i := range vals {
		vals[i] = event.Value{Type: event.String, Bytes: []byte("left over")}
	}
	if err := read(r, data, vals); err != nil {
		t.Fatalf("%x: %v", data, err)
	}
	compareValues(t, data, vals, of, paths)
}

// compareValues compares values that have been read with the reference.
func compareValues(t testing.TB, data []byte, vals []event.Value, of any, paths []string) {
	t.Helper()
	for i, path := range paths {
		if want := pathValue(of, path); vals[i].Type != want.Type || !bytes.Equal(vals[i].Bytes, want.Bytes) {
			t.Fatalf("%x: %s is %v %q, want %v %q", data, path, vals[i].Type, vals[i].Bytes, want.Type, want.Bytes)
		}
	}
}

func mustAvro(t testing.TB, text string, references ...string) *event.Schema {
	t.Helper()
	s, err := parseAvro(text, references)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// randomAvro returns a value of a node, in the form that twmb/avro encodes.
func randomAvro(r *rand.Rand, n *avro.SchemaNode, named map[string]*avro.SchemaNode, depth int) any {
	if n.Name != "" {
		full := n.Name
		if n.Namespace != "" {
			full = n.Namespace + "." + n.Name
		}
		named[full] = n
	}
	letters := func() string {
		return strings.Repeat(string([]rune{'a', 'ü', '7', '"', '€'}[r.IntN(5)]), r.IntN(r.IntN(80)+1))
	}
	switch n.Type {
	case "null":
		return nil
	case "boolean":
		return r.IntN(2) == 0
	case "int":
		return int32(r.Uint32()) >> r.IntN(32)
	case "long":
		if n.LogicalType != "" {
			return time.UnixMilli(int64(r.Uint64()) >> (20 + r.IntN(44))).UTC()
		}
		return int64(r.Uint64()) >> r.IntN(64)
	case "float":
		return []float32{0, float32(math.Copysign(0, -1)), 1, 0.1, -2.5, 1e-7, 1e21, float32(r.NormFloat64()), float32(math.Inf(1)), float32(math.NaN()), math.MaxFloat32, math.SmallestNonzeroFloat32, 1e-6, 16777216, 1888946615222272}[r.IntN(15)]
	case "double":
		return []float64{0, math.Copysign(0, -1), 1, 0.1, -2.5, 1e-7, 1e21, r.NormFloat64(), math.Inf(-1), math.NaN(), math.MaxFloat64, 5e-324, 1e-6, 1 << 53, 1<<53 + 2, 123456789012345680000, 1e100, -1e-10}[r.IntN(18)]
	case "string":
		return letters()
	case "bytes":
		if n.LogicalType == "decimal" {
			unscaled := big.NewInt(int64(r.Uint64()) >> r.IntN(64))
			return new(big.Rat).SetFrac(unscaled, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n.Scale)), nil))
		}
		return []byte(letters())
	case "fixed":
		if n.LogicalType == "decimal" {
			return new(big.Rat).SetFrac(big.NewInt(int64(int32(r.Uint32()))>>r.IntN(31)), new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n.Scale)), nil))
		}
		b := make([]byte, n.Size)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		if n.LogicalType == "uuid" {
			return [16]byte(b)
		}
		return b
	case "enum":
		return n.Symbols[r.IntN(len(n.Symbols))]
	case "array":
		var list []any
		for range r.IntN(4) {
			list = append(list, randomAvro(r, n.Items, named, depth))
		}
		return list
	case "map":
		m := map[string]any{}
		for _, key := range []string{"env", "size", "k8s.pod"} {
			if r.IntN(2) == 0 {
				m[key] = randomAvro(r, n.Values, named, depth)
			}
		}
		return m
	case "union":
		if depth > 8 {
			return nil
		}
		b := &n.Branches[r.IntN(len(n.Branches))]
		v := randomAvro(r, b, named, depth+1)
		if m, ok := v.(map[string]any); ok {
			name := "shop." + b.Type
			if b.Name != "" {
				name = "shop." + b.Name
			}
			return map[string]any{name: m}
		}
		return v
	case "record":
		m := map[string]any{}
		for i := range n.Fields {
			m[n.Fields[i].Name] = randomAvro(r, &n.Fields[i].Type, named, depth)
		}
		return m
	}
	of := named[n.Type]
	if of == nil {
		of = named["shop."+n.Type]
	}
	return randomAvro(r, of, named, depth)
}

// TestAvroReadsAsTheReference: random values of all types are read as twmb/avro reads them.
func TestAvroReadsAsTheReference(t *testing.T) {
	oracle := avro.MustParse(everything)
	r := reader(t, event.Avro, mustAvro(t, everything), everyPath)
	random := rand.New(rand.NewPCG(1, 2))
	kinds := map[string]map[event.Type]int{}
	for range 1000 {
		data, err := oracle.Encode(randomAvro(random, oracle.Root(), map[string]*avro.SchemaNode{}, 0))
		if err != nil {
			t.Fatal(err)
		}
		var of any
		if _, err := oracle.Decode(data, &of); err != nil {
			t.Fatal(err)
		}
		sameValues(t, r, data, of, everyPath)
		for _, path := range everyPath {
			if kinds[path] == nil {
				kinds[path] = map[event.Type]int{}
			}
			kinds[path][pathValue(of, path).Type]++
		}
		for _, cut := range []int{0, 1, len(data) / 2, len(data) - 1} {
			if err := read(r, data[:cut], make([]event.Value, len(everyPath))); err == nil {
				t.Fatalf("%x: the first %d bytes are accepted", data, cut)
			}
		}
	}
	for path, of := range kinds {
		never := strings.Contains(path, "absent") || path == "none" || path == "nulls[1]"
		if never != (len(of) == 1 && of[event.Missing] > 0) {
			t.Errorf("%s: %v", path, of)
		}
	}
}

// FuzzAvro compares weir with twmb/avro on any bytes: what the reference reads to its end, weir
// reads to the same values, except where weir is stricter and says so.
func FuzzAvro(f *testing.F) {
	oracle := avro.MustParse(everything)
	random := rand.New(rand.NewPCG(3, 4))
	for range 30 {
		data, err := oracle.Encode(randomAvro(random, oracle.Root(), map[string]*avro.SchemaNode{}, 0))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	s := mustAvro(f, everything)
	f.Fuzz(func(t *testing.T, data []byte) {
		r := reader(t, event.Avro, s, everyPath)
		vals := make([]event.Value, len(everyPath))
		err := read(r, data, vals)
		if none := reader(t, event.Avro, s, []string{"absent"}); err == nil && read(none, data, make([]event.Value, 1)) != nil {
			t.Fatalf("%x: is refused if nothing of it is wanted, and read otherwise", data)
		}
		var of any
		rest, wrong := oracle.Decode(data, &of)
		switch {
		case errors.Is(err, event.ErrUTF8), errors.Is(err, event.ErrAvroBlock), errors.Is(err, event.ErrAvroTrail), errors.Is(err, event.ErrAvroDecimal):
		case wrong != nil || len(rest) > 0:
		case err != nil:
			t.Fatalf("%x: %v, and the reference reads it", data, err)
		default:
			sameValues(t, r, data, of, everyPath)
		}
	})
}

// TestAvroDefaults: defaults, which only readers' schemas need, are not looked at. Some
// libraries have let producers register schemas whose defaults are not of the field's type.
func TestAvroDefaults(t *testing.T) {
	color := `{"type":"enum","name":"Color","symbols":["RED"],"default":"BLUE"}`
	text := `{"type":"record","name":"default","default":1,"fields":[{"name":"id","type":"long","default":""},{"name":"page","type":["string","null"],"default":null},
		{"name":"default","type":"Color","default":0},{"name":"in","type":{"type":"array","items":{"type":"record","name":"In","fields":[{"name":"x","type":"int","default":1e40}]}},"default":"[]"},
		{"name":"code","type":{"type":"fixed","name":"Code","size":2},"default":"abc"}]}`
	s, err := parseAvro(text, []string{color})
	if err != nil {
		t.Fatal(err)
	}
	paths := []string{"id", "page", "default", "in[0].x", "code"}
	vals := make([]event.Value, len(paths))
	if err := read(reader(t, event.Avro, s, paths), []byte{14, 0, 2, 'a', 0, 2, 6, 0, 'h', 'i'}, vals); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, v := range vals {
		got = append(got, string(v.Bytes))
	}
	if want := "7 a RED 3 aGk="; strings.Join(got, " ") != want {
		t.Errorf("%q, want %q", got, want)
	}
	for _, wrong := range []string{`"long" "int"`, `"long" ]`, `{"type":"long"`, ``, `{"type":"fixed","name":"F"}`} {
		if _, err := parseAvro(wrong, nil); err == nil {
			t.Errorf("%s is parsed", wrong)
		}
	}
}

// TestAvroNames: a name means the type that Avro's rules say: one in the namespace around it, whether
// that stands beside a name or in it, also in front of its definition, and also one that is spelled like a kind.
func TestAvroNames(t *testing.T) {
	const short, long = `{"type":"fixed","name":"T","size":1}`, `{"type":"fixed","name":"m.T","size":2}`
	for _, c := range []struct{ schema, want string }{
		{`{"type":"record","name":"R","namespace":"n","fields":[{"name":"a","type":` + short + `},{"name":"b","type":"T"},{"name":"c","type":"n.T"}]}`, "YQ== Yg== Yw=="},
		{`{"type":"record","name":"n.R","fields":[{"name":"a","type":` + short + `},{"name":"b","type":"T"},{"name":"c","type":"n.T"}]}`, "YQ== Yg== Yw=="},
		{`{"type":"record","name":"n.R","namespace":"other","fields":[{"name":"a","type":` + short + `},{"name":"b","type":"T"},{"name":"c","type":"n.T"}]}`, "YQ== Yg== Yw=="},
		{`{"type":"record","name":"n.R","fields":[{"name":"a","type":` + long + `},{"name":"b","type":` + short + `},{"name":"c","type":"T"}]}`, "YWI= Yw== ZA=="},
		{`{"type":"record","name":"n.R","fields":[{"name":"a","type":"T"},{"name":"b","type":` + short + `},{"name":"c","type":"n.T"}]}`, "YQ== Yg== Yw=="},
		{`{"type":"record","name":"R","fields":[{"name":"a","type":` + short + `},{"name":"in","type":{"type":"record","name":"n.In","fields":[{"name":"b","type":"T"}]}},{"name":"b","type":` + long + `},{"name":"c","type":"T"}]}`, "YQ== Y2Q= ZQ=="},
		{`{"type":"record","name":"R","fields":[{"name":"a","type":{"type":"fixed","name":"map","size":1}},{"name":"b","type":"map"},{"name":"c","type":"map"}]}`, "YQ== Yg== Yw=="},
		{`{"type":"record","name":"R","fields":[{"name":"a","type":{"type":"fixed","name":"array","size":1}},{"name":"b","type":"array"},{"name":"c","type":"array"}]}`, "YQ== Yg== Yw=="},
		{`{"type":"record","name":"R","fields":[{"name":"a","type":{"type":"fixed","name":"enum","size":1}},{"name":"b","type":"enum"},{"name":"c","type":"enum"}]}`, "YQ== Yg== Yw=="},
		{`{"type":"record","name":"R","fields":[{"name":"a","type":{"type":"fixed","name":"union","size":1}},{"name":"b","type":"union"},{"name":"c","type":"union"}]}`, "YQ== Yg== Yw=="},
		{`{"type":"record","name":"R","fields":[{"name":"a","type":{"type":"fixed","name":"record","size":1}},{"name":"b","type":"record"},{"name":"c","type":"record"}]}`, "YQ== Yg== Yw=="},
		{`{"type":"record","name":"error","fields":[{"name":"a","type":` + short + `},{"name":"b","type":"T"},{"name":"c","type":"T"},{"name":"more","type":{"type":"array","items":"error"}}]}`, "YQ== Yg== Yw=="},
	} {
		s, err := parseAvro(c.schema, nil)
		if err != nil {
			t.Errorf("%s: %v", c.schema, err)
			continue
		}
		paths := []string{"a", "b", "c"}
		vals := make([]event.Value, len(paths))
		data := []byte("abcdefg")[:avroSize(s.Avro)]
		if strings.Contains(c.schema, `"more"`) {
			data = append(data, 0)
		}
		if err := read(reader(t, event.Avro, s, paths), data, vals); err != nil {
			t.Errorf("%s: %v", c.schema, err)
			continue
		}
		if got := string(vals[0].Bytes) + " " + string(vals[1].Bytes) + " " + string(vals[2].Bytes); got != c.want {
			t.Errorf("%s: %s, want %s", c.schema, got, c.want)
		}
		var of any
		if rest, err := avro.MustParse(c.schema, avro.WithLaxNames(nil)).Decode(data, &of); err != nil || len(rest) > 0 {
			t.Errorf("%s: the reference: %v, %d bytes are left", c.schema, err, len(rest))
		}
	}
}

// avroSize returns how many bytes the fixed types in a record take.
func avroSize(t *event.AvroType) (n int) {
	for _, f := range t.Fields {
		n += f.Type.Size + avroSize(f.Type)
	}
	return n
}

// TestAvroForReaders: mistakes in what only readers need do not keep a schema from being used, nor
// does a decimal that cannot be one: its values are bytes.
func TestAvroForReaders(t *testing.T) {
	const number, bytes = "number 6.2", "string Pg=="
	for _, c := range []struct{ kind, more, want string }{
		{`bytes`, `"precision":2,"scale":1`, number},
		{`bytes`, `"precision":2,"scale":1,"aliases":null,"order":"sideways","namespace":null`, number},
		{`bytes`, `"precision":2,"scale":null`, bytes},
		{`bytes`, `"scale":1`, bytes},
		{`bytes`, `"precision":0`, bytes},
		{`bytes`, `"precision":2,"scale":3`, bytes},
		{`bytes`, `"precision":2,"scale":-1`, bytes},
		{`bytes`, `"precision":"2","scale":"1"`, bytes},
		{`bytes`, `"precision":2.5,"scale":1`, bytes},
		{`fixed`, `"name":"F","size":1,"precision":2,"scale":1`, number},
		{`fixed`, `"name":"F","size":1,"precision":3,"scale":1`, bytes},
	} {
		text := `{"type":"record","name":"R","fields":[{"name":"a","aliases":["b","b"],"type":{"type":"` + c.kind + `","logicalType":"decimal",` + c.more + `}},{"name":"b","aliases":"a","type":"int"}]}`
		s, err := parseAvro(text, nil)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		data := []byte{2, 62, 0}
		if c.kind == "fixed" {
			data = data[1:]
		}
		vals := make([]event.Value, 1)
		if err := read(reader(t, event.Avro, s, []string{"a"}), data, vals); err != nil {
			t.Errorf("%s: %v", text, err)
		} else if got := vals[0].Type.String() + " " + string(vals[0].Bytes); got != c.want {
			t.Errorf("%s: %s, want %s", text, got, c.want)
		}
	}
}
