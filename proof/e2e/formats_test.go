package e2e

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"weir/demo/gen"
	"weir/event"
	"weir/internal/await"
	"weir/schemas/schematest"
)

// A clickForm writes clicks in a format.
type clickForm struct {
	name  string // of the job and its topic
	keys  string // of the job
	paths string // stands in front of each path
	write func(c *formatClick, doc []byte) []byte
	spoil func(value []byte) []byte // makes it malformed
}

type formatClick struct {
	ID   string `json:"event_id"`
	TS   int64  `json:"ts"`
	User int64  `json:"user_id"`
	Page string `json:"page"`
}

const (
	clickAvroSchema  = `{"type":"record","name":"Click","fields":[{"name":"event_id","type":"string"},{"name":"ts","type":{"type":"long","logicalType":"timestamp-millis"}},{"name":"page","type":["null","string"]},{"name":"user_id","type":"int"}]}`
	clickProtoSchema = `syntax = "proto3"; message Click { string event_id = 1; int64 ts = 2; string page = 3; uint32 user_id = 4; }`
)

func avroText(b []byte, text string) []byte {
	return append(binary.AppendVarint(b, int64(len(text))), text...)
}

func protoText(b []byte, number byte, text string) []byte {
	return append(binary.AppendUvarint(append(b, number<<3|2), uint64(len(text))), text...)
}

// clickForms are all formats, JSON in a text, and arrays of events.
func clickForms(registry *schematest.Registry) []clickForm {
	inAvro := schematest.Prefix(registry.Add("clicks-avro", schematest.Schema{Type: "AVRO", Text: clickAvroSchema}))
	inProto := append(schematest.Prefix(registry.Add("clicks-proto", schematest.Schema{Type: "PROTOBUF", Text: clickProtoSchema})), 0)
	cut := func(value []byte) []byte { return value[:len(value)-1] }
	return []clickForm{
		{"json", "", "", func(_ *formatClick, doc []byte) []byte { return doc }, cut},
		{"arrays", "each: batch", "", func(_ *formatClick, doc []byte) []byte { return fmt.Appendf(nil, `{"sentAt":1,"batch":[%s]}`, doc) }, cut},
		{"events", "format: cloudevents", "data.", func(c *formatClick, doc []byte) []byte {
			return fmt.Appendf(nil, `{"specversion":"1.0","id":%q,"source":"/e2e","type":"click","data":%s}`, c.ID, doc)
		}, cut},
		{"json_schema", "format: json-schema", "", func(_ *formatClick, doc []byte) []byte { return append([]byte{0, 0, 0, 0, 9}, doc...) }, cut},
		{"text", "", "body[json].", func(_ *formatClick, doc []byte) []byte {
			return append(strconv.AppendQuote([]byte(`{"v":1,"body":`), string(doc)), '}')
		}, func(value []byte) []byte { return bytes.Replace(value, []byte(`}"}`), []byte(`"}`), 1) }},
		{"avro", "format: avro", "", func(c *formatClick, _ []byte) []byte {
			b := binary.AppendVarint(avroText(bytes.Clone(inAvro), c.ID), c.TS)
			return binary.AppendVarint(avroText(append(b, 2), c.Page), c.User)
		}, cut},
		{"protobuf", "format: protobuf", "", func(c *formatClick, _ []byte) []byte {
			b := binary.AppendUvarint(append(protoText(bytes.Clone(inProto), 1, c.ID), 2<<3), uint64(c.TS))
			return binary.AppendUvarint(append(protoText(b, 3, c.Page), 4<<3), uint64(c.User))
		}, func(value []byte) []byte { return append(value, 0x0e) }},
		{"tsv", "format: tsv, columns: [event_id, page, user_id, ts]", "", func(c *formatClick, _ []byte) []byte {
			return fmt.Appendf(nil, "%s\t%s\t%d\t%d", c.ID, c.Page, c.User, c.TS)
		}, func(value []byte) []byte { return append(value, "\nmore"...) }},
		{"csv", "format: csv, columns: [page, ts, event_id, user_id]", "", func(c *formatClick, _ []byte) []byte {
			return fmt.Appendf(nil, "\"%s\",%d,%s,%d\r\n", c.Page, c.TS, c.ID, c.User)
		}, func(value []byte) []byte { return value[1:] }},
	}
}

// TestFormats is one test of the truth for all formats: the same clicks, with late, future, malformed
// and repeated ones, are counted in each by a process that is killed, and another one. Counts, sketches, all
// measures, dead letters and verify are those that the clicks were made with.
func TestFormats(t *testing.T) {
	parallel(t)
	s, registry := newStage(t), schematest.Start(t)
	forms := clickForms(registry)
	var jobs []string
	for i := range forms {
		f := &forms[i]
		text := strings.Replace(fmt.Sprintf(clicksJob, s.topic(f.name)), "name: clicks\n", "name: "+f.name+"\n", 1)
		for _, key := range []string{"format", "columns"} {
			f.keys = strings.Replace(f.keys, ", "+key+":", "\n    "+key+":", 1)
		}
		text = strings.NewReplacer("    window: 1m\n", "    window: 1m\n    "+f.keys+"\n    dedupe: {field: \""+f.paths+"event_id\", exact: true}\n",
			"chunk: 65536", "chunk: 8192", "time: {field: ts}", "time: {field: \""+f.paths+"ts\"}", "by: [page]", "by: [{name: page, field: \""+f.paths+"page\"}]", "field: user_id", "field: \""+f.paths+"user_id\"").Replace(text)
		jobs = append(jobs, text)
	}
	s.configure(append(jobs, "\nregistry: {url: \""+registry.URL+"\"}\n")...)
	s.migrate()
	for _, f := range forms {
		s.create(f.name, 3)
	}

	cfg := gen.Default()
	cfg.Seed, cfg.Events, cfg.Pages, cfg.Rate, cfg.Users = 20, 12_000, 40, 100, 5000
	cfg.LateShare, cfg.FutureShare, cfg.DuplicateShare, cfg.MalformedShare = 0.01, 0.005, 0.02, 0.01
	cfg.Start = event.Time(time.Now().Add(-3 * time.Minute).UnixMilli())
	made, err := gen.Clicks(cfg)
	if err != nil {
		t.Fatal(err)
	}
	truth := gen.NewTruth(gen.Rules{Window: 60_000, Lateness: 86_400_000, Skew: 600_000, Dedupe: true})
	var batch []*kgo.Record
	produce := func() {
		t.Helper()
		if err := s.client.ProduceSync(await.Context(t), batch...).FirstErr(); err != nil {
			t.Fatal(err)
		}
		batch = nil
	}
	p, last := (*process)(nil), []byte(nil)
	for n := 0; ; n++ {
		var r gen.Record
		if !made.Next(&r) {
			break
		}
		truth.Add(&r)
		doc := r.Value
		if r.Malformed {
			doc = last // of the click before, which is then broken in each format
		}
		var c formatClick
		if err := json.Unmarshal(doc, &c); err != nil {
			t.Fatal(err)
		}
		last = doc
		for _, f := range forms {
			value := f.write(&c, slices.Clone(doc))
			if r.Malformed {
				value = f.spoil(value)
			}
			// By page, so that repeats are in one partition.
			batch = append(batch, &kgo.Record{Topic: s.topic(f.name), Partition: int32(len(c.Page)+int(c.Page[len(c.Page)-1])) % 3, Timestamp: time.UnixMilli(int64(r.Time)), Value: value})
		}
		if n%3000 == 2999 {
			produce()
		}
		if n == 5999 {
			p = s.weir("run")
			for _, f := range forms {
				s.passes(f.name, 500)
			}
			p.kill()
		}
	}
	produce()
	s.untilEnd()
	for _, f := range forms {
		s.sameLedger(f.name, truth)
		s.sameView(f.name+"_1m", "page", truth)
		s.sameSketches(f.name+"_state", "users", "page", truth)
		s.sameBitmaps(f.name+"_state", "active", "page", truth)
	}
	if o := truth.Outcomes; min(o.Valid/100, o.Malformed, o.Late, o.Future, o.Duplicate) < 30 {
		t.Errorf("%+v: the test tests little", o)
	}
	rested(t, func() int64 { return s.number("%s", newest("weir_ledger")) })
	s.weir("verify").exits(0)
}
