package window_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"weir/event"
	. "weir/window"
)

// looseSchema stands for the schema of loose in a spec.
const looseSchema = "loose"

// looseFields are the fields of an event; geo has the field country.
var looseFields = []string{"id", "ts", "user", "page", "action", "lon", "lat", "geo"}

// loose returns a schema of records of events in which each field has any of JSON's types, so that
// the logs of JSON can be written with it.
func loose(f event.Format) *event.Schema {
	if f == event.Avro {
		null, text := &event.AvroType{Kind: event.AvroNull}, &event.AvroType{Kind: event.AvroString}
		one := &event.AvroType{Kind: event.AvroUnion, Branches: []*event.AvroType{null, {Kind: event.AvroLong}, {Kind: event.AvroDouble}, text}}
		country := &event.AvroType{Kind: event.AvroUnion, Branches: []*event.AvroType{null, {Kind: event.AvroRecord, Fields: []event.AvroField{{Name: "country", Type: one}}}}}
		item := &event.AvroType{Kind: event.AvroRecord}
		for _, name := range looseFields {
			of := one
			if name == "geo" {
				of = country
			}
			item.Fields = append(item.Fields, event.AvroField{Name: name, Type: of})
		}
		list := &event.AvroType{Kind: event.AvroArray, Items: &event.AvroType{Kind: event.AvroUnion, Branches: []*event.AvroType{text, item}}}
		return &event.Schema{Avro: &event.AvroType{Kind: event.AvroRecord, Fields: []event.AvroField{
			{Name: "sentAt", Type: one}, {Name: "batch", Type: &event.AvroType{Kind: event.AvroRecord, Fields: []event.AvroField{{Name: "events", Type: list}}}}}}}
	}
	fields := func(name string, number int32) []event.MessageField {
		return []event.MessageField{{Name: name, Number: number, Kind: event.ProtoInt64}, {Name: name, Number: number + 1, Kind: event.ProtoDouble}, {Name: name, Number: number + 2, Kind: event.ProtoString}}
	}
	item := &event.MessageType{}
	for i, name := range looseFields {
		if name == "geo" {
			item.Fields = append(item.Fields, event.MessageField{Name: name, Number: 100, Kind: event.ProtoMessage, Message: &event.MessageType{Fields: fields("country", 1)}})
			continue
		}
		item.Fields = append(item.Fields, fields(name, int32(1+3*i))...)
	}
	return &event.Schema{Message: &event.MessageType{Fields: append(fields("sentAt", 1), event.MessageField{Name: "batch", Number: 9, Kind: event.ProtoMessage, Message: &event.MessageType{
		Fields: []event.MessageField{{Name: "events", Number: 2, Kind: event.ProtoMessage, Repeated: true, Message: item}}}})}}
}

// looseAvro appends a field of an event.
func looseAvro(b []byte, v any) []byte {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return binary.AppendVarint(append(b, 2), n)
		}
		f, _ := v.Float64()
		return binary.LittleEndian.AppendUint64(append(b, 4), math.Float64bits(f))
	case string:
		return append(binary.AppendVarint(append(b, 6), int64(len(v))), v...)
	case map[string]any:
		return looseAvro(append(b, 2), v["country"])
	}
	return append(b, 0)
}

// looseProto appends a field of a number.
func looseProto(b []byte, number int, v any) []byte {
	tag := func(number int, wire uint64) { b = binary.AppendUvarint(b, uint64(number)<<3|wire) }
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			tag(number, 0)
			return binary.AppendUvarint(b, uint64(n))
		}
		f, _ := v.Float64()
		tag(number+1, 1)
		return binary.LittleEndian.AppendUint64(b, math.Float64bits(f))
	case string:
		tag(number+2, 2)
		return append(binary.AppendUvarint(b, uint64(len(v))), v...)
	case map[string]any:
		inside := looseProto(nil, 1, v["country"])
		tag(100, 2)
		return append(binary.AppendUvarint(b, uint64(len(inside))), inside...)
	}
	return b
}

// translate writes a log of arrays of events in JSON as one in another format. What is malformed there
// is malformed here: an event, or a record.
func translate(t *testing.T, f event.Format, log []event.Record) []event.Record {
	t.Helper()
	r, err := event.NewReader(event.Form{Each: "batch.events"}, []string{"a", "record:sentAt"})
	if err != nil {
		t.Fatal(err)
	}
	vals := make([]event.Value, 2)
	var out []event.Record
	for _, rec := range log {
		to := rec
		out = append(out, to)
		if len(rec.Value) == 0 || string(rec.Value) == unreadable {
			continue
		}
		n, err := r.Open(&rec)
		if err != nil {
			out[len(out)-1].Value = []byte{0x80}
			continue
		}
		var sent any
		var parts [][]byte
		for i := range n {
			var doc map[string]any
			bad := r.ReadEvent(i, vals) != nil
			if !bad {
				d := json.NewDecoder(bytes.NewReader(r.Event(i)))
				d.UseNumber()
				if err := d.Decode(&doc); err != nil {
					t.Fatal(err)
				}
				if vals[1].Type == event.Number {
					sent = json.Number(vals[1].Bytes)
				}
			}
			var b []byte
			switch {
			case f == event.Avro && bad: // an element that is no record
				b = []byte{0, 0}
			case f == event.Avro:
				b = []byte{2}
			case bad: // half a message
				b = []byte{0x80}
			}
			for k, name := range looseFields {
				if bad {
					continue
				}
				if f == event.Avro {
					b = looseAvro(b, doc[name])
				} else {
					b = looseProto(b, 1+3*k, doc[name])
				}
			}
			parts = append(parts, b)
		}
		var value []byte
		if f == event.Avro {
			if value = looseAvro(nil, sent); n > 0 { // two blocks, one of them with its length
				half := bytes.Join(parts[n/2:], nil)
				if n/2 > 0 {
					value = append(binary.AppendVarint(value, int64(n/2)), bytes.Join(parts[:n/2], nil)...)
				}
				value = append(binary.AppendVarint(binary.AppendVarint(value, -int64(n-n/2)), int64(len(half))), half...)
			}
			value = append(value, 0)
		} else {
			one := func(parts [][]byte) {
				var body []byte
				for _, p := range parts {
					body = append(binary.AppendUvarint(append(body, 2<<3|2), uint64(len(p))), p...)
				}
				value = append(binary.AppendUvarint(append(value, 9<<3|2), uint64(len(body))), body...)
			}
			one(parts[:n/2])
			value = looseProto(value, 1, sent) // between two messages that are merged
			one(parts[n/2:])
		}
		out[len(out)-1].Value = value
	}
	return out
}

// looseClicks returns eachClicks in a format, with a column from beside the array.
func looseClicks(seed uint64, f event.Format) *Spec {
	s := eachClicks(seed)
	if s.By = append(s.By, Dimension{Name: "sent", Path: "record:sentAt", Default: "none", HasDefault: true}); f != event.JSON {
		s.Format, s.Schema = f, looseSchema
	}
	return s
}

// zeros are those at the end of a fraction.
var zeros = regexp.MustCompile(`(\.[0-9]*?[1-9])0+\b`)

// sentLog is eachLog with different values beside the arrays, and with numbers that are written as
// the other formats become texts: so not -0.
func sentLog(r *rand.Rand, n int) []event.Record {
	log, _ := eachLog(r, n)
	for i := range log {
		log[i].Value = zeros.ReplaceAll(log[i].Value, []byte("$1"))
		log[i].Value = bytes.ReplaceAll(log[i].Value, []byte(`:-0,`), []byte(`:-1,`))
		log[i].Value = bytes.Replace(log[i].Value, []byte(`"sentAt":1`), []byte(`"sentAt":`+strconv.Itoa(i%3)), 1)
	}
	return log
}

// TestEachInFormats: arrays of events in Avro and Protobuf make the rows and the lines of the same
// events in JSON, and dead letters of the same records.
func TestEachInFormats(t *testing.T) {
	for _, f := range []event.Format{event.Avro, event.Protobuf} {
		var all [Gap]uint64
		for seed := range uint64(8) {
			r := rand.New(rand.NewPCG(seed, 30))
			log := sentLog(r, 300)
			end := log[len(log)-1].Offset + 1
			want := whole(t, looseClicks(seed, event.JSON), map[int32][]event.Record{0: log}, end)
			got := whole(t, looseClicks(seed, f), map[int32][]event.Record{0: translate(t, f, log)}, end)
			if g, w := rows(got), rows(want); g != w {
				t.Fatalf("%s, seed %d: the rows differ\n%s", f, seed, diff(w, g))
			}
			if g, w := fmt.Sprint(got.Lines), fmt.Sprint(want.Lines); g != w {
				t.Fatalf("%s, seed %d: the lines are\n%s\nwant\n%s", f, seed, g, w)
			}
			letters := func(c *Changes) (all []string) {
				for _, d := range c.Dead {
					_, event, _ := strings.Cut(d.Reason, OfEvent)
					all = append(all, fmt.Sprint(d.Partition, d.Offset, d.Outcome, d.Time, event))
				}
				return all
			}
			if g, w := letters(got), letters(want); !slices.Equal(g, w) {
				t.Fatalf("%s, seed %d: the dead letters are\n%s\nwant\n%s", f, seed, strings.Join(g, "\n"), strings.Join(w, "\n"))
			}
			for o, n := range got.Events.By {
				all[o] += n
			}
		}
		for _, o := range []Outcome{Counted, Late, Future, Malformed, Duplicate, Filtered, Throttled} {
			if all[o] < 50 {
				t.Errorf("%s: %d events are %s: the test tests little", f, all[o], o)
			}
		}
	}
}

// TestEachInFormatsPurity is TestPurity with arrays of events in Avro and Protobuf.
func TestEachInFormatsPurity(t *testing.T) {
	for seed := range uint64(6) {
		f := []event.Format{event.Avro, event.Protobuf}[seed%2]
		r := rand.New(rand.NewPCG(seed, 31))
		logs, end := map[int32][]event.Record{}, int64(0)
		for p := range int32(3) {
			logs[p] = translate(t, f, sentLog(r, 100+r.IntN(100)))
			end = max(end, logs[p][len(logs[p])-1].Offset+1)
		}
		pure(t, r, looseClicks(seed/2, f), logs, end, fmt.Sprintf("%s, seed %d", f, seed))
	}
}
