package e2e

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
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
	deep  string // in front of paths in objects and arrays, if that is something else
	write func(c *formatClick, doc []byte) []byte
	spoil func(value []byte) []byte // makes it malformed
}

type formatClick struct {
	ID   string `json:"event_id"`
	TS   int64  `json:"ts"`
	User int64  `json:"user_id"`
	Page string `json:"page"`

	// What producers write in many ways: as JSON, and as a text.
	price, priceText string
	uid, when        string
	more             string // members of a JSON object
}

// odd writes the odd fields of a click, and returns it as JSON with them.
func (c *formatClick) odd(doc []byte) []byte {
	prices := []string{"12.5", `"12.50"`, "59.970000000000006", `"x"`, "null", `"0.125"`}
	c.price, c.uid = prices[c.User%6], fmt.Sprint("u", c.User)
	c.priceText = strings.TrimPrefix(strings.Trim(c.price, `"`), "null")
	c.when = time.UnixMilli(c.TS).UTC().Format([]string{"2006-01-02 15:04:05.000 +0000", "2006-01-02T15:04:05.000Z[UTC]", "20060102T150405.000Z"}[c.User%3])
	c.more = fmt.Sprintf(`"labels":{"tenant.id":%q},"params":[{"key":"lang","value":"p1"},{"key":"plan","value":"p%d"}]`, c.tenant(), c.User%7)
	if c.User%2 == 1 { // as a number in a text, and an anonymous visitor
		c.uid = ""
		doc = bytes.Replace(doc, fmt.Appendf(nil, `"ts":%d`, c.TS), fmt.Appendf(nil, `"ts":"%d"`, c.TS), 1)
	}
	return fmt.Appendf(doc[:len(doc)-1], `,"price":%s,"uid":%q,"when":%q,%s}`, c.price, c.uid, c.when, c.more)
}

// tenant is in quotes, as a serializer of JSON writes it, in half of the events.
func (c *formatClick) tenant() string {
	if c.User%4 < 2 {
		return fmt.Sprintf(`"t%d"`, c.User%5)
	}
	return fmt.Sprint("t", c.User%5)
}

// oddMeasures read the odd fields. The first place is for the way to a field, the second for that in objects and arrays.
const oddMeasures = `      - {name: revenue, kind: sum, field: '%[1]sprice', scale: 2, round: true, bad: skip, optional: true}
      - {name: someone, kind: hll, field: ['%[1]suid', '%[1]suser_id']}
      - {name: tenants, kind: hll, field: '%[2]slabels."tenant.id"', apply: unquote}
      - {name: plans, kind: hll, field: '%[2]sparams[key=plan].value'}
      - {name: moment, kind: max, field: '%[1]sts'}
`

const (
	clickAvroSchema = `{"type":"record","name":"Click","fields":[{"name":"event_id","type":"string"},{"name":"ts","type":{"type":"long","logicalType":"timestamp-millis"}},{"name":"page","type":["null","string"]},{"name":"user_id","type":"int"},
		{"name":"price","type":["null","double","string"]},{"name":"uid","type":"string"},{"name":"when","type":"string"},{"name":"labels","type":{"type":"map","values":"string"}},
		{"name":"params","type":{"type":"array","items":{"type":"record","name":"Param","fields":[{"name":"key","type":"string"},{"name":"value","type":"string"}]}}}]}`
	clickProtoSchema = `syntax = "proto3"; message Click { string event_id = 1; int64 ts = 2; string page = 3; uint32 user_id = 4; string price = 5; string uid = 6; string when = 7; map<string, string> labels = 8; repeated Param params = 9; }
		message Param { string key = 1; string value = 2; }`
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
		{"json", "", "", "", func(_ *formatClick, doc []byte) []byte { return doc }, cut},
		{"arrays", `each: "batches[].events"`, "", "", func(_ *formatClick, doc []byte) []byte {
			return fmt.Appendf(nil, `{"sentAt":1,"batches":[{"events":[]},{"events":[%s]},{}]}`, doc)
		}, cut},
		{"events", "format: cloudevents", "data.", "", func(c *formatClick, doc []byte) []byte {
			return fmt.Appendf(nil, `{"specversion":"1.0","id":%q,"source":"/e2e","type":"click","data":%s}`, c.ID, doc)
		}, cut},
		{"json_schema", "format: json-schema", "", "", func(_ *formatClick, doc []byte) []byte { return append([]byte{0, 0, 0, 0, 9}, doc...) }, cut},
		{"text", "", "body[json].", "", func(_ *formatClick, doc []byte) []byte {
			return append(strconv.AppendQuote([]byte(`{"v":1,"body":`), string(doc)), '}')
		}, func(value []byte) []byte { return bytes.Replace(value, []byte(`}"}`), []byte(`"}`), 1) }},
		{"avro", "format: avro", "", "", func(c *formatClick, _ []byte) []byte {
			b := binary.AppendVarint(avroText(bytes.Clone(inAvro), c.ID), c.TS)
			b = binary.AppendVarint(avroText(append(b, 2), c.Page), c.User)
			switch f, err := strconv.ParseFloat(c.price, 64); {
			case err == nil:
				b = binary.LittleEndian.AppendUint64(append(b, 2), math.Float64bits(f))
			case c.price == "null":
				b = append(b, 0)
			default:
				b = avroText(append(b, 4), c.priceText)
			}
			b = append(avroText(avroText(append(avroText(avroText(b, c.uid), c.when), 2), "tenant.id"), c.tenant()), 0)
			return append(avroText(avroText(avroText(avroText(append(b, 4), "lang"), "p1"), "plan"), fmt.Sprint("p", c.User%7)), 0)
		}, cut},
		{"protobuf", "format: protobuf", "", "", func(c *formatClick, _ []byte) []byte {
			b := binary.AppendUvarint(append(protoText(bytes.Clone(inProto), 1, c.ID), 2<<3), uint64(c.TS))
			b = binary.AppendUvarint(append(protoText(b, 3, c.Page), 4<<3), uint64(c.User))
			b = protoText(protoText(protoText(b, 5, c.priceText), 6, c.uid), 7, c.when)
			pair := func(key, value string) string { return string(protoText(protoText(nil, 1, key), 2, value)) }
			return protoText(protoText(protoText(b, 8, pair("tenant.id", c.tenant())), 9, pair("lang", "p1")), 9, pair("plan", fmt.Sprint("p", c.User%7)))
		}, func(value []byte) []byte { return append(value, 0x0e) }},
		{"tsv", "format: tsv, columns: [event_id, page, user_id, ts, price, uid, when, more]", "", "more[json].", func(c *formatClick, _ []byte) []byte {
			return fmt.Appendf(nil, "%s\t%s\t%d\t%d\t%s\t%s\t%s\t{%s}", c.ID, c.Page, c.User, c.TS, c.priceText, c.uid, c.when, c.more)
		}, func(value []byte) []byte { return append(value, "\nmore"...) }},
		{"csv", "format: csv, columns: [page, ts, event_id, user_id, price, uid, when, more]", "", "more[json].", func(c *formatClick, _ []byte) []byte {
			return fmt.Appendf(nil, "\"%s\",%d,%s,%d,%s,%s,%s,\"{%s}\"\r\n", c.Page, c.TS, c.ID, c.User, c.priceText, c.uid, c.when, strings.ReplaceAll(c.more, `"`, `""`))
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
			"chunk: 65536", "chunk: 8192", "time: {field: ts}", "time: {field: \""+f.paths+"when\", unit: iso8601}", "by: [page]", "by: [{name: page, field: \""+f.paths+"page\"}]", "field: user_id", "field: \""+f.paths+"user_id\"").Replace(text)
		jobs = append(jobs, text+fmt.Sprintf(oddMeasures, f.paths, cmp.Or(f.deep, f.paths)))
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
		odd := c.odd(slices.Clone(doc))
		for _, f := range forms {
			value := f.write(&c, slices.Clone(odd))
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
	var odd [][]string
	for i, f := range forms {
		s.sameLedger(f.name, truth)
		s.sameView(f.name+"_1m", "page", truth)
		s.sameSketches(f.name+"_state", "users", "page", truth)
		s.sameBitmaps(f.name+"_state", "active", "page", truth)
		rows := s.sql("SELECT window_start, page, revenue, someone, tenants, plans, moment FROM %s_1m ORDER BY ALL", f.name)
		if i == 0 {
			odd = rows
		}
		if !reflect.DeepEqual(rows, odd) {
			t.Errorf("%s: the rows of odd fields are not those of json:\n%.500s\n%.500s", f.name, fmt.Sprint(rows), fmt.Sprint(odd))
		}
	}
	all := s.sql("SELECT sum(revenue) > 100000, max(tenants), max(plans), sum(someone) > 5000, max(moment) > 1e12 FROM json_1m")
	if got := fmt.Sprint(all); got != "[[1 5 7 1 1]]" {
		t.Errorf("the odd fields of json: %s", got)
	}
	if o := truth.Outcomes; min(o.Valid/100, o.Malformed, o.Late, o.Future, o.Duplicate) < 30 {
		t.Errorf("%+v: the test tests little", o)
	}
	rested(t, func() int64 { return s.number("%s", newest("weir_ledger")) })
	s.weir("verify").exits(0)
}
