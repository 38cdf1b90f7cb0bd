package e2e

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"
	"time"

	"weir/schemas/schematest"
)

const arraysAvroSchema = `{"type":"record","name":"Batch","fields":[{"name":"sentAt","type":"long"},
	{"name":"batch","type":["null",{"type":"array","items":["null",{"type":"record","name":"Event","fields":[{"name":"type","type":"string"},{"name":"messageId","type":"string"},
		{"name":"timestamp","type":"string"},{"name":"page","type":"string"},{"name":"user","type":["null","int"]},{"name":"price","type":["null","double"]}]}]}]},
	{"name":"app","type":["null","string"]}]}`

const arraysProtoSchema = `syntax = "proto3";
message Event { string type = 1; string messageId = 2; string timestamp = 3; string page = 4; optional int32 user = 5; optional double price = 6; }
message Batch { int64 sentAt = 1; repeated Event batch = 2; optional string app = 3; }`

func avroText(b []byte, text string) []byte {
	return append(binary.AppendVarint(b, int64(len(text))), text...)
}

// arraysAvro writes batches in Avro behind a prefix.
func arraysAvro(prefix []byte) *arraysForm {
	event := func(kind, id string, when time.Time, page string, user, cents int) []byte {
		b := avroText(avroText(avroText(avroText([]byte{2}, kind), id), arraysTime(when)), page)
		if user < 0 {
			b = append(b, 0)
		} else {
			b = binary.AppendVarint(append(b, 2), int64(user))
		}
		if cents == 0 {
			return append(b, 0)
		}
		return binary.LittleEndian.AppendUint64(append(b, 2), math.Float64bits(float64(cents)/100))
	}
	record := func(app string, events [][]byte) []byte {
		b := append([]byte(string(prefix)), 2, 2) // sentAt: 1; batch: there is one
		half := len(events) / 2
		for _, part := range [][][]byte{events[:half], events[half:]} {
			if len(part) == 0 {
				continue
			}
			b = binary.AppendVarint(b, int64(len(part)))
			for _, e := range part {
				b = append(b, e...)
			}
		}
		if b = append(b, 0); app == "" {
			return append(b, 0)
		}
		return avroText(append(b, 2), app)
	}
	wrong := event("track", "\xff", time.UnixMilli(0), "/", 1, 0)
	whole := string(record("x", [][]byte{event("track", "a", time.UnixMilli(0), "/", 1, 0)}))
	return &arraysForm{name: "avro", event: event, record: record,
		odd: [2]fault{{"\x00", "event: Avro: the event is no record"}, {string(wrong), "event: invalid UTF-8"}},
		faulty: [4]fault{{string(prefix) + "\x02\x00\x00", "event: field batch is missing"}, {whole[:len(whole)-1], "event: Avro: the value ends in the middle"},
			{whole + "x", "event: Avro: bytes after the value: it was not written with this schema"},
			{`{"batch":[]}`, "event: the record names no schema: it begins with neither 0 and an id nor 1 and a GUID"}},
	}
}

func protoText(b []byte, number byte, text string) []byte {
	return append(binary.AppendUvarint(append(b, number<<3|2), uint64(len(text))), text...)
}

// arraysProto writes batches in Protobuf behind a prefix.
func arraysProto(prefix []byte) *arraysForm {
	event := func(kind, id string, when time.Time, page string, user, cents int) []byte {
		b := protoText(protoText(protoText(protoText(nil, 4, page), 1, kind), 2, id), 3, arraysTime(when))
		if user >= 0 {
			b = binary.AppendUvarint(append(b, 5<<3), uint64(user))
		}
		if cents > 0 {
			b = binary.LittleEndian.AppendUint64(append(b, 6<<3|1), math.Float64bits(float64(cents)/100))
		}
		return b
	}
	record := func(app string, events [][]byte) []byte {
		b := append([]byte(string(prefix)), 1<<3, 1)
		for i, e := range events {
			if b = protoText(b, 2, string(e)); i == 0 && app != "" {
				b = protoText(b, 3, app)
			}
		}
		if len(events) == 0 && app != "" {
			b = protoText(b, 3, app)
		}
		return b
	}
	return &arraysForm{name: "protobuf", event: event, record: record,
		odd: [2]fault{{"\x0a\x09x", "event: Protobuf: the message ends in the middle"}, {string(event("track", "\xff", time.UnixMilli(0), "/", 1, 0)), "event: invalid UTF-8"}},
		faulty: [4]fault{{string(prefix) + "\x12\x05a", "event: Protobuf: the message ends in the middle"}, {string(prefix) + "\x0e", "event: Protobuf: a wire type that does not exist: it is no message, or not of this schema"},
			{string(prefix) + "\x1a\x01\xff", "event: invalid UTF-8"}, {string(prefix) + "\x00\x00", "event: Protobuf: a field number out of range: it is no message, or not of this schema"}},
	}
}

// TestEachInFormats is TestEach with batches in Avro and Protobuf, whose schemas a registry has.
func TestEachInFormats(t *testing.T) {
	parallel(t)
	registry := schematest.Start(t)
	config := "\nregistry: {url: \"" + registry.URL + "\"}\n"
	for name, form := range map[string]*arraysForm{
		"avro":     arraysAvro(schematest.Prefix(registry.Add("arrays-avro", schematest.Schema{Type: "AVRO", Text: arraysAvroSchema}))),
		"protobuf": arraysProto(append(schematest.Prefix(registry.Add("arrays-proto", schematest.Schema{Type: "PROTOBUF", Text: arraysProtoSchema})), strings.Repeat("\x02", 2)...)),
	} {
		t.Run(name, func(t *testing.T) { testEach(t, form, 6600, config) })
	}
}
