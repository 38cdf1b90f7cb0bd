package schemas

import (
	"bytes"
	"errors"
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
			if vals[k].Type != want[k].Type || !bytes.Equal(vals[k].Bytes, want[k].Bytes) {
				t.Fatalf("%x: event %d: %s is %v %q, and by itself %v %q", r.Event(i), i, path, vals[k].Type, vals[k].Bytes, want[k].Type, want[k].Bytes)
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
	array := vals[3].Type == event.Composite
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
