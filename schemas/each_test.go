package schemas

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/avro"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"weir/event"
)

// batches is a record with an array of events that may be missing, have elements that are no
// records, and other fields on both sides.
const batches = `{"type":"record","name":"Batch","namespace":"shop","fields":[{"name":"sentAt","type":"long"},
	{"name":"body","type":["null","string",{"type":"record","name":"Body","fields":[{"name":"app","type":["null","string"]},
		{"name":"events","type":["null",{"type":"array","items":["null",` + everything + `,"string"]}]}]}]},
	{"name":"after","type":"string"}]}`

var (
	beside    = []string{"sentAt", "body.app", "after"}
	eachPaths = append(slices.Clone(everyPath), "record:sentAt", "record:body.app", "record:after")
)

// eachReader returns a reader of arrays of events that has learned a schema.
func eachReader(t testing.TB, format event.Format, s *event.Schema, each string, paths []string) *event.Reader {
	t.Helper()
	r, err := event.NewReader(event.Form{Format: format, Each: each}, paths)
	if err != nil {
		t.Fatal(err)
	}
	r.Learn("", s)
	return r
}

func open(r *event.Reader, data []byte) (int, error) {
	rec := event.Record{Value: data}
	if _, ok := r.Select(&rec); !ok {
		return 0, errors.New("the schema is not known")
	}
	return r.Open(&rec)
}

// sameAlone compares events with the same bytes as records of their own.
func sameAlone(t testing.TB, r, alone *event.Reader, events int, paths []string) {
	t.Helper()
	vals, want := make([]event.Value, len(paths)), make([]event.Value, len(paths))
	for i := range events {
		err, wrong := r.ReadEvent(i, vals), read(alone, r.Event(i), want)
		if errors.Is(err, event.ErrNotRecord) {
			continue
		}
		if !errors.Is(err, wrong) {
			t.Fatalf("%x: event %d: %v, and by itself %v", r.Event(i), i, err, wrong)
		}
		for k, path := range paths {
			if strings.HasPrefix(path, event.OfRecord) || err != nil {
				continue
			}
			if vals[k].Kind != want[k].Kind || !bytes.Equal(vals[k].Bytes, want[k].Bytes) {
				t.Fatalf("%x: event %d: %s is %v %q, and by itself %v %q", r.Event(i), i, path, vals[k].Kind, vals[k].Bytes, want[k].Kind, want[k].Bytes)
			}
		}
	}
}

// checkAvroEach compares what weir reads of a record with twmb/avro, if that reads the record to its end.
// It returns the elements.
func checkAvroEach(t testing.TB, r, plain, alone *event.Reader, oracle *avro.Schema, data []byte) []any {
	t.Helper()
	n, err := open(r, data)
	vals := make([]event.Value, 4)
	wrong := read(plain, data, vals)
	array := vals[3].Kind == event.Composite
	if !errors.Is(err, event.ErrEvents) && (wrong != nil && !errors.Is(err, wrong) || wrong == nil && (err == nil) != array) {
		t.Fatalf("%x: %v as a record of events, and as a record %v, an array: %v", data, err, wrong, array)
	}
	if err == nil {
		sameAlone(t, r, alone, n, eachPaths)
	}
	var of any
	rest, failed := oracle.Decode(data, &of)
	if failed != nil || len(rest) > 0 || err != nil {
		return nil
	}
	body, _ := of.(map[string]any)["body"].(map[string]any)
	list, _ := body["events"].([]any)
	if len(list) != n {
		t.Fatalf("%x: %d events, want %d", data, n, len(list))
	}
	vals = make([]event.Value, len(eachPaths))
	for i, element := range list {
		err := r.ReadEvent(i, vals)
		if _, record := element.(map[string]any); record == errors.Is(err, event.ErrNotRecord) {
			t.Fatalf("%x: event %d, of type %T: %v", data, i, element, err)
		}
		if err != nil {
			if !errors.Is(err, event.ErrNotRecord) && !errors.Is(err, event.ErrUTF8) && !errors.Is(err, event.ErrAvroDecimal) {
				t.Fatalf("%x: event %d: %v, and the reference reads it", data, i, err)
			}
			continue
		}
		compareValues(t, data, vals[:len(everyPath)], element, everyPath)
		compareValues(t, data, vals[len(everyPath):], of, beside)
	}
	return list
}

// avroReaders returns the readers that checkAvroEach compares.
func avroReaders(t testing.TB) (r, plain, alone *event.Reader, oracle *avro.Schema) {
	s := mustAvro(t, batches)
	return eachReader(t, event.Avro, s, "body.events", eachPaths), reader(t, event.Avro, s, append(slices.Clone(beside), "body.events")),
		reader(t, event.Avro, &event.Schema{Avro: s.Events("body.events").Avro.Branches[0]}, eachPaths), avro.MustParse(batches)
}

// randomBatch returns the bytes of a record of events.
func randomBatch(t testing.TB, random *rand.Rand, oracle *avro.Schema) []byte {
	data, err := oracle.Encode(randomAvro(random, oracle.Root(), map[string]*avro.SchemaNode{}, 0))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestAvroEachReadsAsTheReference: random records of events are read as twmb/avro reads them.
func TestAvroEachReadsAsTheReference(t *testing.T) {
	r, plain, alone, oracle := avroReaders(t)
	random := rand.New(rand.NewPCG(20, 2))
	records, others := 0, 0
	for range 1500 {
		data := randomBatch(t, random, oracle)
		for _, element := range checkAvroEach(t, r, plain, alone, oracle, data) {
			if _, ok := element.(map[string]any); ok {
				records++
			} else {
				others++
			}
		}
		for _, cut := range []int{0, len(data) / 2, len(data) - 1} {
			if _, err := open(r, data[:cut]); err == nil {
				t.Fatalf("%x: the first %d bytes are accepted", data, cut)
			}
		}
		at := random.IntN(len(data))
		data[at] ^= 1 << random.IntN(8)
		checkAvroEach(t, r, plain, alone, oracle, data)
	}
	if records < 100 || others < 100 {
		t.Errorf("%d records and %d others: the test tests little", records, others)
	}
}

// FuzzAvroEach compares weir with twmb/avro on any bytes.
func FuzzAvroEach(f *testing.F) {
	r, plain, alone, oracle := avroReaders(f)
	random := rand.New(rand.NewPCG(20, 3))
	for range 40 {
		f.Add(randomBatch(f, random, oracle))
	}
	f.Fuzz(func(t *testing.T, data []byte) { checkAvroEach(t, r, plain, alone, oracle, data) })
}

// eachText returns the events of a record in words.
func eachText(r *event.Reader, data []byte, paths int) string {
	n, err := open(r, data)
	if err != nil {
		return err.Error()
	}
	vals, all := make([]event.Value, paths), []string{fmt.Sprint(n)}
	for i := range n {
		if err := r.ReadEvent(i, vals); err != nil {
			all = append(all, err.Error())
			continue
		}
		words := []string{}
		for _, v := range vals {
			words = append(words, string(v.Bytes))
		}
		all = append(all, strings.Join(words, ","))
	}
	return strings.Join(all, "; ")
}

// TestAvroEach: where an array of events can be in a schema, and what its bytes may be.
func TestAvroEach(t *testing.T) {
	const item = `{"type":"record","name":"E","fields":[{"name":"a","type":"int"},{"name":"s","type":"string"}]}`
	for _, c := range []struct {
		name, schema, each, data, want string
	}{
		{"whole", `{"type":"array","items":` + item + `}`, "$", "\x04\x02\x02x\x04\x02y\x00", "2; 1,x; 2,y"},
		{"whole, of nothing", `{"type":"array","items":` + item + `}`, "$", "\x00", "0"},
		{"whole, null", `["null",{"type":"array","items":` + item + `}]`, "$", "\x00", event.ErrNotArray.Error()},
		{"whole, a record", item, "$", "\x02\x00", event.ErrNotArray.Error()},
		{"blocks, one with its length", `{"type":"array","items":` + item + `}`, "$", "\x02\x02\x00\x01\x06\x04\x02y\x00", "2; 1,; 2,y"},
		{"a block of another length", `{"type":"array","items":` + item + `}`, "$", "\x01\x08\x04\x02y\x00\x00", event.ErrAvroBlock.Error()},
		{"bytes behind", `{"type":"array","items":` + item + `}`, "$", "\x00\x00", event.ErrAvroTrail.Error()},
		{"no UTF-8 in one", `{"type":"array","items":` + item + `}`, "$", "\x04\x02\x02\xff\x04\x02y\x00", "2; " + event.ErrUTF8.Error() + "; 2,y"},
		{"an int beyond 32 bits in one", `{"type":"array","items":` + item + `}`, "$", "\x04\x80\x80\x80\x80\x20\x02x\x04\x02y\x00", "2; " + event.ErrAvroInt.Error() + "; 2,y"},
		{"cut in one", `{"type":"array","items":` + item + `}`, "$", "\x04\x02\x02x\x04\x08y\x00", event.ErrAvroEnd.Error()},
		{"of maps", `{"type":"array","items":{"type":"map","values":"int"}}`, "$", "\x02\x02\x02a\x0e\x00\x00", "1; 7,"},
		{"of numbers", `{"type":"array","items":"int"}`, "$", "\x04\x02\x04\x00", "2; " + event.ErrNotRecord.Error() + "; " + event.ErrNotRecord.Error()},
		{"of what takes no bytes", `{"type":"array","items":{"type":"record","name":"N","fields":[]}}`, "$", "\x06\x00", "3; ,; ,; ,"},
		{"too many that take no bytes", `{"type":"array","items":"null"}`, "$", "\x80\x80\x20\x00", event.ErrEvents.Error()},
		{"too many in two blocks", `{"type":"array","items":"null"}`, "$", "\x80\x80\x10\xfe\xff\x0f\x02\x00", event.ErrEvents.Error()},
		{"in a field", `{"type":"record","name":"R","fields":[{"name":"e","type":{"type":"array","items":` + item + `}}]}`, "e", "\x02\x02\x02x\x00", "1; 1,x"},
		{"in a field that the schema lacks", `{"type":"record","name":"R","fields":[{"name":"x","type":{"type":"array","items":` + item + `}}]}`, "e", "\x00", "event: field e is missing"},
		{"in a field that is a record", `{"type":"record","name":"R","fields":[{"name":"e","type":` + item + `}]}`, "e", "\x02\x00", "event: field e is not an array"},
		{"in a field that is a text", `{"type":"record","name":"R","fields":[{"name":"e","type":"string"}]}`, "e", "\x02[", "event: field e is not an array"},
		{"in an element", `{"type":"record","name":"R","fields":[{"name":"e","type":{"type":"array","items":{"type":"array","items":` + item + `}}}]}`, "e[1]", "\x04\x00\x02\x02\x02x\x00\x00", "1; 1,x"},
		{"in an element that is not there", `{"type":"record","name":"R","fields":[{"name":"e","type":{"type":"array","items":{"type":"array","items":` + item + `}}}]}`, "e[1]", "\x02\x00\x00", "event: field e[1] is missing"},
		{"in a map, twice", `{"type":"map","values":["null",{"type":"array","items":` + item + `}]}`, "e", "\x04\x02e\x02\x04\x02\x02x\x04\x02y\x00\x02e\x02\x02\x06\x02z\x00\x00", "1; 3,z"},
		{"in a map, null the second time", `{"type":"map","values":["null",{"type":"array","items":` + item + `}]}`, "e", "\x04\x02e\x02\x02\x02\x02x\x00\x02e\x00\x00", "event: field e is missing"},
		{"in two branches", `[{"type":"record","name":"A","fields":[{"name":"e","type":{"type":"array","items":` + item + `}}]},{"type":"record","name":"B","fields":[{"name":"e","type":{"type":"array","items":{"type":"record","name":"F","fields":[{"name":"s","type":"string"}]}}}]}]`,
			"e", "\x02\x02\x02x\x00", "1; ,x"},
		{"of what contains itself", `{"type":"record","name":"T","fields":[{"name":"a","type":"int"},{"name":"e","type":{"type":"array","items":"T"}}]}`, "e", "\x02\x02\x04\x02\x06\x00\x00\x00", "1; 2,"},
	} {
		r := eachReader(t, event.Avro, mustAvro(t, c.schema), c.each, []string{"a", "s"})
		for range 2 {
			if got := eachText(r, []byte(c.data), 2); got != c.want {
				t.Errorf("%s: %s, want %s", c.name, got, c.want)
			}
		}
	}
}

const eachProto = everyMessage + `
message Batch { int32 sent_at = 2; Body body = 1; string after = 14; oneof either { Body other = 4; string none = 5; } map<string, Body> by = 6; }
message Body { string app = 1; repeated Event events = 2; repeated string texts = 3; Event one = 4; }
`

// batchOf returns the descriptor of Batch, and its schema.
func batchOf(t testing.TB) (protoreflect.MessageDescriptor, *event.Schema) {
	f := mustProto(t, eachProto)
	of := f.Messages().ByName("Batch")
	s := f.schema(event.SchemaName{Message: []int{of.Index()}})
	if s.Wrong != "" {
		t.Fatal(s.Wrong)
	}
	return of, s
}

var messageBeside = []string{"sent_at", "body.app", "after"}

// A protoEach reads the events at one path.
type protoEach struct {
	path     string
	r, alone *event.Reader
}

func protoReaders(t testing.TB) (protoreflect.MessageDescriptor, []protoEach, *event.Reader) {
	of, s := batchOf(t)
	paths := slices.Clone(messagePaths)
	for _, path := range messageBeside {
		paths = append(paths, event.OfRecord+path)
	}
	var all []protoEach
	for _, each := range []string{"body.events", "other.events", "by.a.events"} {
		inside := s.Events(each)
		if inside == nil {
			t.Fatalf("nothing at %s", each)
		}
		all = append(all, protoEach{each, eachReader(t, event.Protobuf, s, each, paths), reader(t, event.Protobuf, inside, paths)})
	}
	return of, all, reader(t, event.Protobuf, s, append(slices.Clone(messageBeside), "absent"))
}

// list returns the events of a message.
func (e *protoEach) list(m protoreflect.Message) protoreflect.List {
	for _, name := range strings.Split(e.path, ".") {
		f := m.Descriptor().Fields().ByName(protoreflect.Name(name))
		switch {
		case name == "a":
		case f.IsMap():
			m = m.Get(f).Map().Get(protoreflect.ValueOfString("a").MapKey()).Message()
		case f.IsList():
			return m.Get(f).List()
		default:
			m = m.Get(f).Message()
		}
	}
	panic(e.path)
}

// checkProtoEach compares what weir reads of a message with dynamicpb, if that reads it. It returns
// the number of events.
func checkProtoEach(t testing.TB, of protoreflect.MessageDescriptor, e *protoEach, plain *event.Reader, data []byte) int {
	t.Helper()
	n, err := open(e.r, data)
	if wrong := read(plain, data, make([]event.Value, 4)); err == nil && wrong != nil {
		t.Fatalf("%x: %v, and as a record of events there is no fault", data, wrong)
	}
	if err != nil {
		if m := dynamicpb.NewMessage(of); oracleReads(data, m) && !stricter(err, data) {
			t.Fatalf("%x: %v, and the reference reads it", data, err)
		}
		return 0
	}
	sameAlone(t, e.r, e.alone, n, append(slices.Clone(messagePaths), "record:a", "record:b", "record:c"))
	m := dynamicpb.NewMessage(of)
	if !oracleReads(data, m) {
		return n
	}
	if e.path == "by.a.events" && !m.Get(of.Fields().ByName("by")).Map().Has(protoreflect.ValueOfString("a").MapKey()) {
		if n != 0 {
			t.Fatalf("%x: %d events, want none", data, n)
		}
		return n
	}
	list := e.list(m)
	if list.Len() != n {
		t.Fatalf("%x: %d events at %s, want %d", data, n, e.path, list.Len())
	}
	vals := make([]event.Value, len(messagePaths)+len(messageBeside))
	for i := range n {
		if err := e.r.ReadEvent(i, vals); err != nil {
			if !stricter(err, e.r.Event(i)) {
				t.Fatalf("%x: event %d: %v, and the reference reads it", data, i, err)
			}
			continue
		}
		compareMessage(t, data, vals[:len(messagePaths)], list.Get(i).Message(), messagePaths)
		compareMessage(t, data, vals[len(messagePaths):], m, messageBeside)
	}
	return n
}

// TestProtobufEachReadsAsTheReference: random messages of events, merged ones among them, are read as
// dynamicpb reads them.
func TestProtobufEachReadsAsTheReference(t *testing.T) {
	of, all, plain := protoReaders(t)
	random := rand.New(rand.NewPCG(20, 4))
	events := map[string]int{}
	for range 500 {
		data := randomEvent(t, random, of)
		if err := proto.Unmarshal(data, dynamicpb.NewMessage(of)); err != nil {
			t.Fatal(err)
		}
		for i := range all {
			events[all[i].path] += checkProtoEach(t, of, &all[i], plain, data)
		}
		data[random.IntN(len(data)+1)%max(1, len(data))] ^= 1 << random.IntN(8)
		for i := range all {
			checkProtoEach(t, of, &all[i], plain, data)
		}
	}
	for _, e := range all {
		if events[e.path] < 100 {
			t.Errorf("%d events at %s: the test tests little", events[e.path], e.path)
		}
	}
}

// FuzzProtobufEach compares weir with dynamicpb on any bytes.
func FuzzProtobufEach(f *testing.F) {
	of, all, plain := protoReaders(f)
	random := rand.New(rand.NewPCG(20, 5))
	for range 40 {
		f.Add(randomEvent(f, random, of))
	}
	f.Add([]byte("\xab\x1f\x0d\x07\x00\xfa\x27\xfa\x9d\xd9\xa4\x94\x00\x00\x4b\x4c\xac\x1f")) // a field number of 30 bits in a group
	f.Fuzz(func(t *testing.T, data []byte) {
		for i := range all {
			checkProtoEach(t, of, &all[i], plain, data)
		}
	})
}

// TestBinaryEachDoesNotAllocate: not for a record, and not for an event.
func TestBinaryEachDoesNotAllocate(t *testing.T) {
	_, inProto := batchOf(t)
	random := rand.New(rand.NewPCG(20, 6))
	oracle := avro.MustParse(batches)
	of, _ := batchOf(t)
	for _, c := range []struct {
		format event.Format
		schema *event.Schema
		paths  []string
		data   func() []byte
	}{
		{event.Avro, mustAvro(t, batches), eachPaths, func() []byte { return randomBatch(t, random, oracle) }},
		{event.Protobuf, inProto, append(slices.Clone(messagePaths), "record:sent_at", "record:body.app"), func() []byte { return randomEvent(t, random, of) }},
	} {
		r := eachReader(t, c.format, c.schema, "body.events", c.paths)
		vals := make([]event.Value, len(c.paths))
		var records [][]byte
		for len(records) < 100 {
			if data := c.data(); func() bool { n, _ := open(r, data); return n > 0 }() {
				records = append(records, data)
			}
		}
		rec := event.Record{}
		if n := testing.AllocsPerRun(20, func() {
			for _, data := range records {
				rec.Value = data
				if _, ok := r.Select(&rec); !ok {
					t.Fatal("not known")
				}
				events, err := r.Open(&rec)
				if err != nil {
					t.Fatal(err)
				}
				for i := range events {
					if err := r.ReadEvent(i, vals); err != nil && !errors.Is(err, event.ErrNotRecord) {
						t.Fatal(err)
					}
				}
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations for 100 records, want none", c.format, n)
		}
	}
}
