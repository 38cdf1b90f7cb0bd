package schemas

import (
	"bytes"
	"encoding/binary"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/avro"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"

	"weir/event"
	"weir/window"
)

var floors = flag.Bool("floors", false, "BenchmarkFormats fails below its floors")

const (
	clickAvro = `{"type":"record","name":"Click","fields":[{"name":"event_id","type":"string"},{"name":"ts","type":"long"},{"name":"user_id","type":"long"},{"name":"page","type":"string"},
		{"name":"action","type":{"type":"enum","name":"Action","symbols":["view","click","cart","buy"]}},{"name":"referrer","type":["null","string"]},{"name":"country","type":"string"},{"name":"device","type":"string"}]}`
	clickProto = `syntax = "proto3"; message Click { string event_id = 1; int64 ts = 2; int64 user_id = 3; string page = 4; Action action = 5; string referrer = 6; string country = 7; string device = 8;
		enum Action { view = 0; click = 1; cart = 2; buy = 3; } }`
)

var clickPaths = []string{"ts", "user_id", "page", "event_id", "country"}

var clickColumns = []string{"event_id", "ts", "user_id", "page", "action", "referrer", "country", "device"}

// clicks returns 1,024 different events in each form, behind the prefixes of a registry where
// there is a schema. nested is JSON in a text of JSON.
func clicks(b *testing.B) (json, nested, tsv, csv, inAvro, inProto [][]byte) {
	of := avro.MustParse(clickAvro)
	message := mustProto(b, clickProto).Messages().Get(0)
	actions := []string{"view", "click", "cart", "buy"}
	for i := range 1024 {
		x := uint64(i+1) * 0x9e3779b97f4a7c15
		id, ts, user, page := fmt.Sprintf("%016x%016x", x, x*x), 1763600000000+int64(i)*7, int64(1+x>>44), fmt.Sprint("/p/", x>>32%1000)
		action, referrer, country, device := x>>20%4, fmt.Sprint("https://example.org/", x>>50%100), []string{"DE", "US", "FR", "BR"}[x>>30%4], []string{"mobile", "desktop", "tablet"}[x>>40%3]
		json = append(json, fmt.Appendf(nil, `{"event_id":"%s","ts":%d,"user_id":%d,"page":"%s","action":"%s","referrer":"%s","country":"%s","device":"%s"}`,
			id, ts, user, page, actions[action], referrer, country, device))
		text := strconv.AppendQuote([]byte(`{"source":"web","data":`), string(json[i]))
		nested = append(nested, append(text, '}'))
		cells := []any{id, ts, user, page, actions[action], referrer, country, device}
		tsv = append(tsv, fmt.Appendf(nil, "%v\t%v\t%v\t%v\t%v\t%v\t%v\t%v", cells...))
		csv = append(csv, fmt.Appendf(nil, "%v,%v,%v,\"%v\",%v,%v,%v,%v", cells...))
		a, err := of.AppendEncode(binary.BigEndian.AppendUint32([]byte{0}, 1), map[string]any{"event_id": id, "ts": ts, "user_id": user, "page": page, "action": actions[action], "referrer": referrer, "country": country, "device": device})
		if err != nil {
			b.Fatal(err)
		}
		inAvro = append(inAvro, a)
		p := binary.BigEndian.AppendUint32([]byte{0}, 1)
		p = append(p, 0)
		field := func(number byte, s string) { p = append(append(p, number<<3|2, byte(len(s))), s...) }
		number := func(field byte, n uint64) {
			if n != 0 {
				p = binary.AppendUvarint(append(p, field<<3), n)
			}
		}
		field(1, id)
		number(2, uint64(ts))
		number(3, uint64(user))
		field(4, page)
		number(5, action)
		field(6, referrer)
		field(7, country)
		field(8, device)
		if err := proto.Unmarshal(p[6:], dynamicpb.NewMessage(message)); err != nil {
			b.Fatal(err)
		}
		inProto = append(inProto, p)
	}
	return json, nested, tsv, csv, inAvro, inProto
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// addEach adds the sides of records that are arrays of 100 of the events, with the time at which they were sent.
func addEach(b *testing.B, json, inAvro, inProto [][]byte, add func(name string, run func(n int))) {
	const each, sent = 100, 1763600000000
	batch := mustProto(b, clickProto+` message Batch { int64 sentAt = 1; repeated Click batch = 2; }`)
	for _, f := range []struct {
		name   string
		format event.Format
		id     event.SchemaID
		schema *event.Schema
		events [][]byte
		record func(events [][]byte) []byte
	}{
		{"json", event.JSON, "", nil, json, func(events [][]byte) []byte {
			return fmt.Appendf(nil, `{"batch":[%s],"sentAt":%d}`, bytes.Join(events, []byte(",")), int64(sent))
		}},
		{"avro", event.Avro, "\x00\x00\x00\x00\x01", mustAvro(b, `{"type":"record","name":"Batch","fields":[{"name":"sentAt","type":"long"},{"name":"batch","type":{"type":"array","items":`+clickAvro+`}}]}`), inAvro,
			func(events [][]byte) []byte {
				to := binary.AppendVarint(binary.AppendVarint([]byte{0, 0, 0, 0, 1}, sent), each)
				for _, e := range events {
					to = append(to, e[5:]...)
				}
				return append(to, 0)
			}},
		{"protobuf", event.Protobuf, "\x00\x00\x00\x00\x01\x02\x02", batch.schema(event.SchemaName{Message: []int{1}}), inProto, func(events [][]byte) []byte {
			to := binary.AppendUvarint([]byte{0, 0, 0, 0, 1, 2, 2, 1 << 3}, sent)
			for _, e := range events {
				to = append(binary.AppendUvarint(append(to, 2<<3|2), uint64(len(e)-6)), e[6:]...)
			}
			return to
		}},
	} {
		var records []event.Record
		for from := 0; from+each <= len(f.events); from += each {
			records = append(records, event.Record{Time: sent, Value: f.record(f.events[from : from+each])})
		}
		r, err := event.NewReader(event.Form{Format: f.format, Framed: f.schema != nil, Each: "batch"}, clickPaths)
		if err != nil {
			b.Fatal(err)
		}
		op, err := window.NewOperator(&window.Spec{
			Job: "clicks", Version: 1, Format: f.format, Each: "batch", TimeField: "ts", TimeUnit: event.Millis, Window: 60_000, Lateness: 86_400_000, Skew: 600_000, Chunk: window.MaxEachChunk, MaxGroups: 10_000,
			By: []window.Column{{Name: "page", Path: "page"}}, Measures: []window.Measure{{Name: "users", Kind: window.HLL, Path: "user_id"}},
		})
		if err != nil {
			b.Fatal(err)
		}
		if f.schema != nil {
			r.Learn(f.id, f.schema)
			op.Learn(f.id, f.schema)
		}
		vals := make([]event.Value, len(clickPaths))
		add(f.name+", 100 a record read", func(n int) {
			for i := range n / each {
				rec := &records[i%len(records)]
				if r.Selects() {
					if _, ok := r.Select(rec); !ok {
						b.Fatal("a schema is not known")
					}
				}
				events, err := r.Open(rec)
				if err != nil || events != each {
					b.Fatal(events, err)
				}
				for k := range events {
					if err := r.ReadEvent(k, vals); err != nil {
						b.Fatal(err)
					}
					if at, ok := vals[0].Time(event.Millis); !ok || at < sent {
						b.Fatal(at)
					}
				}
			}
		})
		op.Start(window.Plan{})
		next := int64(0)
		batch := event.Batch{Records: records}
		add(f.name+", 100 a record core", func(n int) {
			for range n / each / len(records) {
				batch.First, batch.Next = next, next+int64(len(records))
				for i := range records {
					records[i].Offset = next + int64(i)
				}
				if err := op.Observe(&batch); err != nil {
					b.Fatal(err)
				}
				next = batch.Next
			}
			c := op.Take()
			if c.Events.By[window.Counted] != c.Events.All {
				b.Fatal(c.Events)
			}
			op.Reuse(c.Table)
		})
	}
}

// BenchmarkFormats reads the same events in all formats: five of eight fields, alone,
// by the libraries that are the tests' oracles, and through the core (decode, decide, count,
// HLL). The sides run in turns, and the shortest run of each counts, in CPU time. A ratio above 1
// is how many times as many events a CPU second reads.
//
//	make bench-formats
func BenchmarkFormats(b *testing.B) {
	json, nested, tsv, csv, inAvro, inProto := clicks(b)
	type side struct {
		name string
		run  func(n int)
		best float64 // ns per event
	}
	var sides []*side
	add := func(name string, run func(n int)) { sides = append(sides, &side{name: name, run: run}) }
	avroSchema, proto1 := mustAvro(b, clickAvro), mustProto(b, clickProto).schema(event.SchemaName{Message: []int{0}})
	forms := []struct {
		name   string
		form   event.Form
		prefix string // of each path
		data   [][]byte
		schema *event.Schema
		id     event.SchemaID
	}{
		{"json", event.Form{}, "", json, nil, ""},
		{"avro", event.Form{Format: event.Avro, Framed: true}, "", inAvro, avroSchema, "\x00\x00\x00\x00\x01"},
		{"protobuf", event.Form{Format: event.Protobuf, Framed: true}, "", inProto, proto1, "\x00\x00\x00\x00\x01\x00"},
		{"tsv", event.Form{Format: event.TSV, Columns: clickColumns}, "", tsv, nil, ""},
		{"csv", event.Form{Format: event.CSV, Columns: clickColumns}, "", csv, nil, ""},
		{"json in a text", event.Form{}, "data[json].", nested, nil, ""},
	}
	for _, f := range forms {
		var paths []string
		for _, path := range clickPaths {
			paths = append(paths, f.prefix+path)
		}
		r, err := event.NewReader(f.form, paths)
		if err != nil {
			b.Fatal(err)
		}
		if f.schema != nil {
			r.Learn(f.id, f.schema)
		}
		vals := make([]event.Value, len(clickPaths))
		add(f.name+" read", func(n int) {
			for i := range n {
				rec := event.Record{Value: f.data[i%len(f.data)]}
				if r.Selects() {
					if _, ok := r.Select(&rec); !ok {
						b.Fatal("a schema is not known")
					}
				}
				if err := r.Read(&rec, vals); err != nil {
					b.Fatal(err)
				}
				if at, ok := vals[0].Time(event.Millis); !ok || at < 1763600000000 {
					b.Fatal(at)
				}
			}
		})
		op, err := window.NewOperator(&window.Spec{
			Job: "clicks", Version: 1, Format: f.form.Format, Columns: f.form.Columns, TimeField: f.prefix + "ts", TimeUnit: event.Millis, Window: 60_000, Lateness: 86_400_000, Skew: 600_000, Chunk: 1 << 18, MaxGroups: 10_000,
			By: []window.Column{{Name: "page", Path: f.prefix + "page"}}, Measures: []window.Measure{{Name: "users", Kind: window.HLL, Path: f.prefix + "user_id"}},
		})
		if err != nil {
			b.Fatal(err)
		}
		if f.schema != nil {
			op.Learn(f.id, f.schema)
		}
		op.Start(window.Plan{})
		next := int64(0)
		batch := event.Batch{Records: make([]event.Record, len(f.data))}
		add(f.name+" core", func(n int) {
			for range n / len(f.data) {
				batch.First, batch.Next = next, next+int64(len(f.data))
				for i := range batch.Records {
					batch.Records[i] = event.Record{Offset: next + int64(i), Time: 1763600000000, Value: f.data[i]}
				}
				if err := op.Observe(&batch); err != nil {
					b.Fatal(err)
				}
				next = batch.Next
			}
			op.Reuse(op.Take().Table)
		})
	}
	addEach(b, json, inAvro, inProto, add)
	of := avro.MustParse(clickAvro)
	add("twmb/avro into a map", func(n int) {
		for i := range n {
			var v any
			if _, err := of.Decode(inAvro[i%len(inAvro)][5:], &v); err != nil {
				b.Fatal(err)
			}
		}
	})
	message := mustProto(b, clickProto).Messages().Get(0)
	m := dynamicpb.NewMessage(message)
	add("dynamicpb", func(n int) {
		for i := range n {
			proto.Reset(m)
			if err := proto.Unmarshal(inProto[i%len(inProto)][6:], m); err != nil {
				b.Fatal(err)
			}
		}
	})
	const events, rounds = 1 << 15, 40
	measure := func() {
		for range rounds {
			for _, s := range sides {
				from := cpuTime()
				s.run(events)
				if ns := float64((cpuTime() - from).Nanoseconds()) / events; s.best == 0 || ns < s.best {
					s.best = ns
				}
			}
		}
	}
	for b.Loop() {
		measure()
	}
	best := func(name string) float64 {
		return sides[slices.IndexFunc(sides, func(s *side) bool { return s.name == name })].best
	}
	report := fmt.Sprintln()
	for _, f := range forms {
		report += fmt.Sprintf("%-28s %7.1f bytes per event\n", f.name, float64(len(slices.Concat(f.data...)))/float64(len(f.data)))
	}
	for _, s := range sides {
		report += fmt.Sprintf("%-28s %7.1f ns of CPU per event\n", s.name, s.best)
	}
	defer func() { fmt.Print(report) }() // the log of a benchmark has ten lines
	for _, c := range []struct {
		what  string
		ratio float64
		floor float64
	}{
		{"avro, read, against json", best("json read") / best("avro read"), 0},
		{"protobuf, read, against json", best("json read") / best("protobuf read"), 0},
		{"tsv, read, against json", best("json read") / best("tsv read"), 0},
		{"csv, read, against json", best("json read") / best("csv read"), 0},
		{"json in a text, read, against json", best("json read") / best("json in a text read"), 0},
		{"json, 100 a record, read, against json", best("json read") / best("json, 100 a record read"), 0},
		{"json, 100 a record, core, against json", best("json core") / best("json, 100 a record core"), 0},
		{"avro, 100 a record, core, against json", best("json, 100 a record core") / best("avro, 100 a record core"), 1},
		{"protobuf, 100 a record, core, against json", best("json, 100 a record core") / best("protobuf, 100 a record core"), 1},
		{"avro, core, against json", best("json core") / best("avro core"), 0},
		{"protobuf, core, against json", best("json core") / best("protobuf core"), 0},
		{"avro, read, against twmb/avro into a map", best("twmb/avro into a map") / best("avro read"), 5},
		{"protobuf, read, against dynamicpb", best("dynamicpb") / best("protobuf read"), 3},
	} {
		report += fmt.Sprintf("%-43s %5.2f ×", c.what, c.ratio)
		if c.floor > 0 {
			report += fmt.Sprintf(", floor %.0f", c.floor)
		}
		report += "\n"
		if *floors && c.ratio < c.floor {
			b.Errorf("%s is below its floor", c.what)
		}
	}
}
