package schemas

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"weir/event"
)

// everyMessage has every kind of field, and every place in which a wanted value can be.
const everyMessage = `syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
message First { int32 x = 1; }
message Event {
  bool yes = 1; int32 i32 = 2; sint32 s32 = 3; uint32 u32 = 4; int64 i64 = 5; sint64 s64 = 6; uint64 u64 = 7;
  fixed32 f32 = 8; sfixed32 sf32 = 9; float f = 10; fixed64 f64 = 11; sfixed64 sf64 = 12; double d = 13;
  string text = 14; bytes raw = 15; Action action = 16; optional int64 maybe = 17;
  User user = 18; repeated Item items = 19; repeated int32 packed = 20; repeated sint64 unpacked = 21 [packed = false]; repeated string tags = 22;
  map<string, int64> sizes = 23; map<int32, User> people = 24; map<bool, string> flags = 25;
  oneof either { string name = 26; User by = 27; int32 code = 28; Item unwanted = 29; }
  google.protobuf.Timestamp at = 30; google.protobuf.Int64Value count = 31; google.protobuf.StringValue note = 32;
  repeated google.protobuf.Timestamp times = 33; Tree tree = 1000; repeated Action actions = 2000;
  enum Action { NONE = 0; VIEW = 1; BUY = 2; }
  message Item { string sku = 1; int32 count = 2; repeated int32 grid = 3; User owner = 4; }
}
message User { string id = 1; optional string mail = 2; repeated string tags = 3; oneof kind { int32 a = 4; string b = 5; } }
message Tree { int32 value = 1; Tree left = 2; Tree right = 3; }
`

var messagePaths = []string{"yes", "i32", "s32", "u32", "i64", "s64", "u64", "f32", "sf32", "f", "f64", "sf64", "d", "text", "raw", "action", "maybe", "user.id", "user.mail", "user.tags[1]", "user.b",
	"items[1].sku", "items[0].grid[1]", "items[2].count", "items[0].owner.tags[0]", "items[sku=a].count", "items[sku=a].owner.id", "items[count=-1].sku", `sizes."a.b"`, "packed[1]", "unpacked[2]", "tags[0]", "sizes.a", "people.7.id", "people.-1.tags[1]", "flags.true",
	"name", "by.id", "by.tags[0]", "code", "at", "count", "note", "times[1]", "tree.left.right.value", "tree.right", "actions[1]", "absent", "i32x.y"}

func mustProto(t testing.TB, text string) protoFile {
	t.Helper()
	f, err := parseProto(text, nil)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// protoValue returns the value at a path of a message, in the form of a Value. zero is true if
// the reference cannot tell it from a field that is not there.
func protoValue(m protoreflect.Message, path string) (v event.Value, zero bool) {
	name, rest, _ := strings.Cut(path, ".")
	index, by := -1, ""
	if at := strings.IndexByte(name, '['); at >= 0 {
		by = name[at+1 : len(name)-1]
		index, _ = strconv.Atoi(by)
		name = name[:at]
	}
	f := m.Descriptor().Fields().ByName(protoreflect.Name(name))
	if f == nil {
		return event.Value{}, false
	}
	if !m.Has(f) {
		return event.Value{}, !f.HasPresence() && index < 0 && !f.IsList() && !f.IsMap() && rest == ""
	}
	val := m.Get(f)
	switch {
	case f.IsMap() && rest == "", f.IsList() && index < 0 && rest == "":
		return event.Value{Type: event.Composite}, false
	case f.IsMap():
		var key string
		if key, rest, _ = strings.Cut(rest, "."); strings.HasPrefix(key, `"`) {
			key, rest = strings.Trim(key+"."+rest, `"`), ""
		}
		found := false
		val.Map().Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
			if k.String() == key {
				val, found = v, true
			}
			return !found
		})
		if f = f.MapValue(); !found {
			return event.Value{}, false
		}
	case f.IsList():
		if key, text, ok := strings.Cut(by, "="); ok {
			index = -1
			for i := val.List().Len() - 1; i >= 0; i-- {
				if v, _ := protoValue(val.List().Get(i).Message(), key); string(v.Bytes) == text {
					index = i
				}
			}
		}
		if index < 0 || index >= val.List().Len() {
			return event.Value{}, false
		}
		val = val.List().Get(index)
	}
	if f.Message() != nil && rest != "" {
		return protoValue(val.Message(), rest)
	}
	if rest != "" {
		return event.Value{}, false
	}
	return scalarValue(f, val), false
}

func scalarValue(f protoreflect.FieldDescriptor, val protoreflect.Value) event.Value {
	number := func(text string) event.Value { return event.Value{Type: event.Number, Bytes: []byte(text)} }
	text := func(s string) event.Value { return event.Value{Type: event.String, Bytes: []byte(s)} }
	switch f.Kind() {
	case protoreflect.MessageKind:
		m := val.Message()
		switch m.Descriptor().FullName() {
		case "google.protobuf.Timestamp":
			s, n := m.Get(m.Descriptor().Fields().ByName("seconds")).Int(), m.Get(m.Descriptor().Fields().ByName("nanos")).Int()
			at := time.Unix(s, n).UTC()
			if n < 0 || n > 999_999_999 || at.Year() < 1 || at.Year() > 9999 || s < -1<<40 || s > 1<<40 {
				return event.Value{Type: event.Composite}
			}
			form := "2006-01-02T15:04:05"
			switch {
			case n%1e6 != 0 && n%1e3 != 0:
				form += ".000000000"
			case n%1e6 != 0:
				form += ".000000"
			case n != 0:
				form += ".000"
			}
			return text(at.Format(form + "Z"))
		case "google.protobuf.Int64Value", "google.protobuf.StringValue":
			inner := m.Descriptor().Fields().ByName("value")
			return scalarValue(inner, m.Get(inner))
		}
		return event.Value{Type: event.Composite}
	case protoreflect.BoolKind:
		return event.Value{Type: event.Bool, Bytes: strconv.AppendBool(nil, val.Bool())}
	case protoreflect.FloatKind:
		return floatValue(val.Float(), float32(val.Float()))
	case protoreflect.DoubleKind:
		return floatValue(val.Float(), val.Float())
	case protoreflect.StringKind:
		return text(val.String())
	case protoreflect.BytesKind:
		return text(base64.StdEncoding.EncodeToString(val.Bytes()))
	case protoreflect.EnumKind:
		if v := f.Enum().Values().ByNumber(val.Enum()); v != nil {
			return text(string(v.Name()))
		}
		return number(strconv.Itoa(int(val.Enum())))
	case protoreflect.Uint32Kind, protoreflect.Uint64Kind, protoreflect.Fixed32Kind, protoreflect.Fixed64Kind:
		return number(strconv.FormatUint(val.Uint(), 10))
	}
	return number(strconv.FormatInt(val.Int(), 10))
}

// sameMessage compares what weir reads of a message with the reference.
func sameMessage(t testing.TB, r *event.Reader, data []byte, m protoreflect.Message, paths []string) {
	t.Helper()
	vals := make([]event.Value, len(paths))
	for i := range vals {
		vals[i] = event.Value{Type: event.String, Bytes: []byte("left over")}
	}
	if err := read(r, data, vals); err != nil {
		t.Fatalf("%x: %v, and the reference reads it", data, err)
	}
	compareMessage(t, data, vals, m, paths)
}

// compareMessage compares values that have been read with the reference.
func compareMessage(t testing.TB, data []byte, vals []event.Value, m protoreflect.Message, paths []string) {
	t.Helper()
	for i, path := range paths {
		want, zero := protoValue(m, path)
		if got := vals[i]; zero && (len(got.Bytes) == 0 || string(got.Bytes) == "0" || string(got.Bytes) == "false" || string(got.Bytes) == "NONE") {
			continue
		}
		if vals[i].Type != want.Type || !bytes.Equal(vals[i].Bytes, want.Bytes) {
			t.Fatalf("%x: %s is %v %q, want %v %q", data, path, vals[i].Type, vals[i].Bytes, want.Type, want.Bytes)
		}
	}
}

// randomMessage fills a message.
func randomMessage(r *rand.Rand, m protoreflect.Message, depth int) {
	fields := m.Descriptor().Fields()
	scalar := func(f protoreflect.FieldDescriptor) protoreflect.Value {
		n := int64(r.Uint64()) >> r.IntN(64)
		switch f.Kind() {
		case protoreflect.BoolKind:
			return protoreflect.ValueOfBool(n&1 == 0)
		case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
			return protoreflect.ValueOfInt32(int32(n))
		case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
			return protoreflect.ValueOfUint32(uint32(n))
		case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
			if f.FullName() == "google.protobuf.Timestamp.seconds" {
				n >>= 28
			}
			return protoreflect.ValueOfInt64(n)
		case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
			return protoreflect.ValueOfUint64(uint64(n))
		case protoreflect.FloatKind:
			return protoreflect.ValueOfFloat32([]float32{0.1, 1, -2.5, 1e-7, 1e21, float32(math.NaN()), float32(math.Inf(1)), float32(n)}[r.IntN(8)])
		case protoreflect.DoubleKind:
			return protoreflect.ValueOfFloat64([]float64{0.1, 1, -2.5, 1e-7, 1e21, math.NaN(), math.Inf(-1), float64(n)}[r.IntN(8)])
		case protoreflect.StringKind:
			return protoreflect.ValueOfString(strings.Repeat([]string{"a", "ü", "€"}[r.IntN(3)], r.IntN(20)))
		case protoreflect.BytesKind:
			return protoreflect.ValueOfBytes([]byte(strconv.FormatInt(n, 36)))
		}
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(r.IntN(4))) // 3 is no symbol
	}
	for i := range fields.Len() {
		f := fields.Get(i)
		if r.IntN(3) == 0 || depth > 4 {
			continue
		}
		switch {
		case f.IsMap():
			for range r.IntN(3) {
				var key protoreflect.MapKey
				switch f.MapKey().Kind() {
				case protoreflect.StringKind:
					key = protoreflect.ValueOfString([]string{"a", "a.b"}[r.IntN(2)]).MapKey()
				case protoreflect.BoolKind:
					key = protoreflect.ValueOfBool(r.IntN(2) == 0).MapKey()
				default:
					key = protoreflect.ValueOfInt32([]int32{7, -1, 0}[r.IntN(3)]).MapKey()
				}
				if f.MapValue().Message() == nil {
					m.Mutable(f).Map().Set(key, scalar(f.MapValue()))
				} else {
					randomMessage(r, m.Mutable(f).Map().Mutable(key).Message(), depth+1)
				}
			}
		case f.IsList():
			for range r.IntN(4) {
				if f.Message() == nil {
					m.Mutable(f).List().Append(scalar(f))
				} else {
					randomMessage(r, m.Mutable(f).List().AppendMutable().Message(), depth+1)
				}
			}
		case f.Message() != nil:
			randomMessage(r, m.Mutable(f).Message(), depth+1)
		default:
			m.Set(f, scalar(f))
		}
	}
}

// unknown returns fields that no schema here has, groups among them.
func unknown(r *rand.Rand) (b []byte) {
	b = protowire.AppendVarint(protowire.AppendTag(b, 500, protowire.VarintType), r.Uint64())
	b = protowire.AppendTag(b, 501, protowire.StartGroupType)
	b = protowire.AppendFixed32(protowire.AppendTag(b, 1, protowire.Fixed32Type), 7)
	b = protowire.AppendTag(protowire.AppendTag(b, 9, protowire.StartGroupType), 9, protowire.EndGroupType)
	b = protowire.AppendTag(b, 501, protowire.EndGroupType)
	// A wire type that is not the field's: it counts as unknown.
	b = protowire.AppendString(protowire.AppendTag(b, 2, protowire.BytesType), "no int32")
	return protowire.AppendFixed64(protowire.AppendTag(b, 14, protowire.Fixed64Type), 7)
}

// randomEvent returns the bytes of one to three messages behind each other, which are those of
// their merge, with unknown fields in between.
func randomEvent(t testing.TB, r *rand.Rand, of protoreflect.MessageDescriptor) (data []byte) {
	for range 1 + r.IntN(3) {
		m := dynamicpb.NewMessage(of)
		randomMessage(r, m, 0)
		b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		data = append(data, b...)
		if r.IntN(2) == 0 {
			data = append(data, unknown(r)...)
		}
	}
	return data
}

func eventOf(t testing.TB) (protoreflect.MessageDescriptor, *event.Schema) {
	f := mustProto(t, everyMessage)
	s := f.schema(event.SchemaName{Message: []int{1}})
	if s.Wrong != "" {
		t.Fatal(s.Wrong)
	}
	return f.Messages().ByName("Event"), s
}

// TestProtobufReadsAsTheReference: random messages, merged ones among them, are read as
// dynamicpb reads them.
func TestProtobufReadsAsTheReference(t *testing.T) {
	of, s := eventOf(t)
	r := reader(t, event.Protobuf, s, messagePaths)
	random := rand.New(rand.NewPCG(1, 2))
	kinds := map[string]map[event.Type]int{}
	for range 1000 {
		data := randomEvent(t, random, of)
		m := dynamicpb.NewMessage(of)
		if err := proto.Unmarshal(data, m); err != nil {
			t.Fatal(err)
		}
		sameMessage(t, r, data, m, messagePaths)
		for _, path := range messagePaths {
			if kinds[path] == nil {
				kinds[path] = map[event.Type]int{}
			}
			v, _ := protoValue(m, path)
			kinds[path][v.Type]++
		}
	}
	for path, of := range kinds {
		if (path == "absent" || path == "i32x.y") != (len(of) == 1) {
			t.Errorf("%s: %v", path, of)
		}
	}
}

// FuzzProtobuf compares weir with dynamicpb on any bytes: what the reference reads, weir reads
// to the same values, except where weir is stricter and says so.
func FuzzProtobuf(f *testing.F) {
	of, s := eventOf(f)
	random := rand.New(rand.NewPCG(3, 4))
	for range 30 {
		f.Add(randomEvent(f, random, of))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r := reader(t, event.Protobuf, s, messagePaths)
		err := read(r, data, make([]event.Value, len(messagePaths)))
		if none := reader(t, event.Protobuf, s, []string{"absent"}); err == nil && read(none, data, make([]event.Value, 1)) != nil {
			t.Fatalf("%x: is refused if nothing of it is wanted, and read otherwise", data)
		}
		m := dynamicpb.NewMessage(of)
		if !oracleReads(data, m) || stricter(err, data) {
			return
		}
		sameMessage(t, r, data, m, messagePaths)
	})
}

// stricter reports whether weir refuses a message with a reason that dynamicpb does not have: a text
// that is not UTF-8 in proto2, a depth, or a field number beyond 29 bits in a group that is skipped.
func stricter(err error, data []byte) bool {
	return errors.Is(err, event.ErrUTF8) || errors.Is(err, event.ErrProtoDepth) || errors.Is(err, event.ErrProtoField) && greatNumber(data)
}

// greatNumber reports whether there is a field number beyond 29 bits, in a message or in what may be one.
func greatNumber(b []byte) bool {
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return false
		}
		m := protowire.ConsumeFieldValue(number, kind, b[n:])
		if number > protowire.MaxValidNumber {
			return true
		}
		if m < 0 {
			return false
		}
		switch kind {
		case protowire.BytesType:
			inside, _ := protowire.ConsumeBytes(b[n:])
			if greatNumber(inside) {
				return true
			}
		case protowire.StartGroupType:
			inside, _ := protowire.ConsumeGroup(number, b[n:])
			if greatNumber(inside) {
				return true
			}
		}
		b = b[n+m:]
	}
	return false
}

// oracleReads reports whether dynamicpb reads a message. It panics where the key of a map's entry
// has another wire type than the schema's.
func oracleReads(data []byte, m proto.Message) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	return proto.UnmarshalOptions{AllowPartial: true}.Unmarshal(data, m) == nil
}

// TestProtobufFaults: what a message must not be, each with its reason.
func TestProtobufFaults(t *testing.T) {
	_, s := eventOf(t)
	r := reader(t, event.Protobuf, s, []string{"text", "user.id", "packed[0]", "f64", "tree.left.value", "people.7.id"})
	tree := func(depth int) (b []byte) {
		for range depth {
			b = protowire.AppendBytes(protowire.AppendTag(nil, 2, protowire.BytesType), b)
		}
		return protowire.AppendBytes(protowire.AppendTag(nil, 1000, protowire.BytesType), b)
	}
	for _, c := range []struct {
		name, data string
		err        error
	}{
		{"nothing", "", nil},
		{"half a tag", "\x80", event.ErrProtoEnd},
		{"field 0", "\x00\x00", event.ErrProtoField},
		{"a field number of 30 bits", "\x80\x80\x80\x80\x10\x00", event.ErrProtoField},
		{"a wire type that does not exist", "\x0e", event.ErrProtoWire},
		{"a number without an end", "\x08\xff", event.ErrProtoEnd},
		{"a number of 70 bits", "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", event.ErrProtoVarint},
		{"a text that is longer than the message", "\x72\x05ab", event.ErrProtoEnd},
		{"a text of the greatest length", "\x72\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01ab", event.ErrProtoEnd},
		{"a text of no UTF-8", "\x72\x01\xff", event.ErrUTF8},
		{"bytes of no UTF-8 that nothing wants", "\x7a\x01\xff", nil},
		{"a message that ends in its text", "\x92\x01\x02\x0a\x05", event.ErrProtoEnd},
		{"a packed number that is cut", "\xa2\x01\x01\x80", event.ErrProtoEnd},
		{"a short fixed64", "\x59\x01\x02", event.ErrProtoEnd},
		{"an entry that is cut", "\xc2\x01\x02\x08\x80", event.ErrProtoEnd},
		{"a group that ends nowhere", "\x0b\x08\x01", event.ErrProtoEnd},
		{"a group that ends as another", "\x0b\x14", event.ErrProtoGroup},
		{"the end of no group", "\x0c", event.ErrProtoGroup},
		{"a message in itself, a hundred times", string(tree(100)), nil},
		{"groups in groups", strings.Repeat("\x0b", 5000), event.ErrProtoDepth},
		{"JSON", `{"text":"a"}`, event.ErrProtoEnd},
	} {
		if err := read(r, []byte(c.data), make([]event.Value, 6)); !errors.Is(err, c.err) {
			t.Errorf("%s: %v, want %v", c.name, err, c.err)
		}
	}
}

// TestProtobufDoesNotAllocate: not even for texts that are made of numbers, keys and times.
func TestProtobufDoesNotAllocate(t *testing.T) {
	of, s := eventOf(t)
	r, err := event.NewReader(event.Form{Format: event.Protobuf, Framed: true}, messagePaths)
	if err != nil {
		t.Fatal(err)
	}
	frames := []string{"\x00\x00\x00\x00\x07\x02\x02", "\x00\x00\x00\x00\x08\x02\x02"} // which change from record to record
	for _, frame := range frames {
		r.Learn(event.SchemaID(frame), s)
	}
	random := rand.New(rand.NewPCG(1, 2))
	var all []event.Record
	for i := range 50 {
		all = append(all, event.Record{Value: append([]byte(frames[i%2]), randomEvent(t, random, of)...)})
	}
	vals := make([]event.Value, len(messagePaths))
	if n := testing.AllocsPerRun(20, func() {
		for i := range all {
			if _, ok := r.Select(&all[i]); !ok {
				t.Fatal("the schema is not known")
			}
			if err := r.Read(&all[i], vals); err != nil {
				t.Fatal(err)
			}
		}
	}); n != 0 {
		t.Errorf("%v allocations for %d messages, want none", n, len(all))
	}
}

// TestProtobufIndexes: the message is the one that the indexes of a record name, as
// confluent-kafka 2.12.0 for Python writes them, and imports come from references.
func TestProtobufIndexes(t *testing.T) {
	f, err := parseProto(`syntax = "proto3";
import "other.proto"; import "confluent/meta.proto"; import "google/protobuf/timestamp.proto";
message A { map<string, int32> m = 1; message B { int32 b = 1; message C { int32 c = 1; } } message D { int32 d = 1; } }
message E { Other e = 1 [(confluent.field_meta).doc = "x"]; }`, []source{{"other.proto", `syntax = "proto3"; message Other { int32 o = 1; }`}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		frame, path, wrong string
	}{
		{"\x00\x00\x00\x00\x07\x00", "m", ""},
		{"\x00\x00\x00\x00\x07\x02\x00", "m", ""},
		{"\x00\x00\x00\x00\x07\x04\x00\x00", "b", ""}, // the entries of m do not count
		{"\x00\x00\x00\x00\x07\x06\x00\x00\x00", "c", ""},
		{"\x00\x00\x00\x00\x07\x04\x00\x02", "d", ""},
		{"\x00\x00\x00\x00\x07\x02\x02", "e.o", ""},
		{"\x00\x00\x00\x00\x07\x02\x04", "", "schema id 7 has no message with the indexes [2]"},
		{"\x00\x00\x00\x00\x07\x04\x02\x00", "", "schema id 7 has no message with the indexes [1 0]"},
	} {
		rd, err := event.NewReader(event.Form{Format: event.Protobuf, Framed: true}, []string{"x"})
		if err != nil {
			t.Fatal(err)
		}
		rec := event.Record{Value: []byte(c.frame + "\x08\x05")}
		need, ok := rd.Select(&rec)
		if ok || string(need) != c.frame {
			t.Fatalf("%q: needs %q", c.frame, need)
		}
		s := f.schema(need.Name())
		if s.Wrong != c.wrong || c.wrong == "" && !s.Leads(c.path) {
			t.Errorf("%q: %q, leads to %s: %v", c.frame, s.Wrong, c.path, c.wrong == "" && s.Leads(c.path))
		}
		rd.Learn(need, s)
		if _, ok := rd.Select(&rec); !ok {
			t.Fatal("the schema is not known")
		}
		if err := rd.Read(&rec, make([]event.Value, 1)); (err != nil) != (c.wrong != "") {
			t.Errorf("%q: %v", c.frame, err)
		}
	}
	for _, frame := range []string{"\x00\x00\x00\x00\x07", "\x00\x00\x00\x00\x07\x04\x00", "\x00\x00\x00\x00\x07\x01\x00", "\x00\x00\x00\x00\x07\x02\x01", "\x00\x00\x00\x00\x07\xfe\x01"} {
		rd, err := event.NewReader(event.Form{Format: event.Protobuf, Framed: true}, []string{"x"})
		if err != nil {
			t.Fatal(err)
		}
		rec := event.Record{Value: []byte(frame)}
		if need, ok := rd.Select(&rec); !ok {
			t.Errorf("%q needs %q", frame, need)
		} else if err := rd.Read(&rec, make([]event.Value, 1)); !errors.Is(err, event.ErrFrame) {
			t.Errorf("%q: %v", frame, err)
		}
	}
	if _, err := compileProto("x", func(string) (io.ReadCloser, error) { return nil, fs.ErrNotExist }); err == nil {
		t.Error("a file that is not there is compiled")
	}
}

// TestDeepProto: a schema whose braces and brackets are nested too deep is refused before it is
// compiled, which would take memory without bound. Those in texts and comments do not count.
func TestDeepProto(t *testing.T) {
	option := func(open, shut string, n int) string {
		return `syntax = "proto3"; import "google/protobuf/descriptor.proto"; message A { A a = 1; } extend google.protobuf.MessageOptions { A x = 50000; }
			message M { option (x) = {` + strings.Repeat(open, n) + strings.Repeat(shut, n) + `}; int64 n = 1; }`
	}
	many := strings.Repeat("{ [ ( < ", 100)
	for name, c := range map[string]struct {
		text    string
		sources []source
		deep    bool
	}{
		"few":            {option("a {", "}", maxNesting-2), nil, false},
		"braces":         {option("a {", "}", maxNesting-1), nil, true},
		"angles":         {option("a <", ">", maxNesting), nil, true},
		"not closed":     {option("a {", "", maxNesting), nil, true},
		"behind a text":  {`syntax = "proto3"; option java_package = '\'"'; option go_package = "//'\\\""; ` + option("a {", "}", maxNesting)[len(`syntax = "proto3";`):], nil, true},
		"behind others":  {"// '\n/* \" **/" + option("a {", "}", maxNesting), nil, true},
		"in a source":    {`syntax = "proto3"; import "a.proto"; message N {}`, []source{{"a.proto", option("a {", "}", maxNesting)}}, true},
		"in a comment":   {"// " + many + "\n/* " + many + " */ " + option("a {", "}", 9) + " // " + many, nil, false},
		"in a text":      {option("a {", "}", 9) + ` option java_package = "` + many + `\"` + many + `"; option go_package = '` + many + `\'` + many + `';`, nil, false},
		"one by another": {option("a {", "}", 9) + " message B { message C { repeated int64 n = 1 [deprecated = true]; map<string, int64> m = 2; } }", nil, false},
	} {
		_, err := parseProto(c.text, c.sources)
		if c.deep != errors.Is(err, errNesting) || err != nil && !c.deep {
			t.Errorf("%s: %v", name, err)
		}
	}
}
