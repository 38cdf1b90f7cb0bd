package event

import (
	"fmt"
	"slices"
	"testing"
)

// TestLeaves: the leaves of a schema are the values that a job can read, each once, and one
// reader takes all of them.
func TestLeaves(t *testing.T) {
	long, text, null := &AvroType{Kind: AvroLong}, &AvroType{Kind: AvroString}, &AvroType{Kind: AvroNull}
	record := func(fields ...AvroField) *AvroType { return &AvroType{Kind: AvroRecord, Fields: fields} }
	union := func(of ...*AvroType) *AvroType { return &AvroType{Kind: AvroUnion, Branches: of} }
	list := record(AvroField{"value", long})
	list.Fields = append(list.Fields, AvroField{"next", union(null, list)}, AvroField{"last", text})
	empty := record() // records of records, 100 to the power of 8
	for range 8 {
		var fields []AvroField
		for i := range 100 {
			fields = append(fields, AvroField{fmt.Sprint("f", i), empty})
		}
		empty = record(fields...)
	}
	message := &MessageType{}
	message.Fields = []MessageField{
		{Name: "id", Number: 1, Kind: ProtoInt64}, {Name: "at", Number: 2, Kind: ProtoMessage, Message: &MessageType{Known: ProtoTimestamp}},
		{Name: "name", Number: 3, Kind: ProtoMessage, Message: &MessageType{Known: ProtoWrapper}}, {Name: "g", Number: 4, Kind: ProtoGroup},
		{Name: "all", Number: 5, Kind: ProtoMessage, Repeated: true, Message: message}, {Name: "self", Number: 6, Kind: ProtoMessage, Message: message},
		{Name: "sub", Number: 7, Kind: ProtoMessage, Message: &MessageType{Fields: []MessageField{{Name: "x", Number: 1, Kind: ProtoString}}}},
	}
	for _, c := range []struct {
		name   string
		schema *Schema
		want   []Leaf
		more   bool
	}{
		{"types", &Schema{Avro: record(AvroField{"a", long}, AvroField{"ms", union(null, &AvroType{Kind: AvroLong, Logical: AvroMillis})}, AvroField{"us", &AvroType{Kind: AvroLong, Logical: AvroMicros}},
			AvroField{"ns", &AvroType{Kind: AvroLong, Logical: AvroNanos}}, AvroField{"n", null}, AvroField{"items", &AvroType{Kind: AvroArray, Items: text}}, AvroField{"labels", &AvroType{Kind: AvroMap, Items: text}})},
			[]Leaf{{"a", RecordTime}, {"ms", Millis}, {"us", Micros}, {"ns", Nanos}, {"items", RecordTime}, {"labels", RecordTime}}, false},
		{"unions of records", &Schema{Avro: record(AvroField{"u", union(text, record(AvroField{"a", long}, AvroField{"b", text}), record(AvroField{"b", long}))})},
			[]Leaf{{"u.a", RecordTime}, {"u.b", RecordTime}}, false},
		{"a type in itself", &Schema{Avro: list}, []Leaf{{"value", RecordTime}, {"last", RecordTime}}, false},
		{"many", &Schema{Avro: record(AvroField{"a", long}, AvroField{"b", long}, AvroField{"c", long}, AvroField{"d", long}, AvroField{"e", long}, AvroField{"f", long}, AvroField{"g", long})},
			[]Leaf{{"a", RecordTime}, {"b", RecordTime}, {"c", RecordTime}, {"d", RecordTime}, {"e", RecordTime}, {"f", RecordTime}}, true},
		{"names that no path has", &Schema{Avro: record(AvroField{"a.b", long}, AvroField{"", long}, AvroField{"x[0]", long})}, nil, false},
		{"no record", &Schema{Avro: long}, nil, false},
		{"nothing, and much of it", &Schema{Avro: empty}, nil, true},
		{"a message", &Schema{Message: message}, []Leaf{{"id", RecordTime}, {"at", RFC3339}, {"name", RecordTime}, {"all", RecordTime}, {"sub.x", RecordTime}}, false},
		{"wrong", &Schema{Wrong: "x"}, nil, false},
	} {
		got, more := c.schema.Leaves(6)
		if more != c.more || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, %v, want %v", c.name, got, more, c.want)
		}
		var paths []string
		for _, leaf := range got {
			if paths = append(paths, leaf.Path); !c.schema.Leads(leaf.Path) {
				t.Errorf("%s: the schema does not lead to %s", c.name, leaf.Path)
			}
		}
		if _, err := NewReader(Form{Format: Avro}, paths); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
