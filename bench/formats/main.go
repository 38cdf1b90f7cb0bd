// Command formats measures the clicks job on the same events in several formats: events per
// CPU-second of weir, on a real Kafka 4 broker and the real ClickHouse engine, in one run.
//
//	make bench-formats
//	make bench-formats EVENTS=10000000
//
// Avro and Protobuf are behind the prefix of a registry, which the command plays itself. The
// jobs take turns, and each must count all events. It fails if Avro or Protobuf
// is dearer than JSON.
package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"weir/bench/internal/testbed"
	"weir/demo/gen"
)

var (
	bench  = testbed.Command("formats")
	events = flag.Int64("events", 4_000_000, "events in each topic")
	rounds = flag.Int("rounds", 3, "measured rounds, behind one that is not; the best counts")
)

// A click is an event of the generator.
type click struct {
	EventID  string `json:"event_id"`
	TS       int64  `json:"ts"`
	UserID   int64  `json:"user_id"`
	Page     string `json:"page"`
	Action   string `json:"action"`
	Referrer string `json:"referrer"`
	Country  string `json:"country"`
	Device   string `json:"device"`
}

// texts returns what stands behind the two numbers, in the order of the schemas.
func (c *click) texts() []string {
	return []string{c.Page, c.Action, c.Referrer, c.Country, c.Device}
}

// The schemas have the fields of a click in its order. The registry has them under these ids.
const (
	avroID     = 1
	avroSchema = `{"type": "record", "name": "Click", "fields": [{"name": "event_id", "type": "string"}, {"name": "ts", "type": "long"}, {"name": "user_id", "type": "long"},
		{"name": "page", "type": "string"}, {"name": "action", "type": "string"}, {"name": "referrer", "type": "string"}, {"name": "country", "type": "string"}, {"name": "device", "type": "string"}]}`

	protobufID     = 2
	protobufSchema = `syntax = "proto3"; message Click { string event_id = 1; int64 ts = 2; int64 user_id = 3; string page = 4; string action = 5; string referrer = 6; string country = 7; string device = 8; }`
)

// appendAvro appends the event in Avro's binary encoding.
func (c *click) appendAvro(b []byte) []byte {
	text := func(s string) { b = append(binary.AppendVarint(b, int64(len(s))), s...) }
	text(c.EventID)
	b = binary.AppendVarint(b, c.TS)
	b = binary.AppendVarint(b, c.UserID)
	for _, s := range c.texts() {
		text(s)
	}
	return b
}

// appendProtobuf appends the event as a message, without the fields that are empty.
func (c *click) appendProtobuf(b []byte) []byte {
	text := func(field int, s string) {
		if s != "" {
			b = append(binary.AppendUvarint(append(b, byte(field<<3|2)), uint64(len(s))), s...)
		}
	}
	text(1, c.EventID)
	b = binary.AppendUvarint(append(b, 2<<3), uint64(c.TS))
	b = binary.AppendUvarint(append(b, 3<<3), uint64(c.UserID))
	for i, s := range c.texts() {
		text(4+i, s)
	}
	return b
}

// A form is one of the formats, and the least cost of its rounds.
type form struct {
	name   string // of the format and of its topic
	encode func(event []byte) ([]byte, error)
	bytes  int64 // of all values

	weir   testbed.Process
	engine time.Duration
}

func (f *form) rate() float64 { return float64(*events) / f.weir.CPU.Seconds() }

// encoding returns the function that encodes an event behind these bytes.
func encoding(prefix []byte, encode func(c *click, b []byte) []byte) func([]byte) ([]byte, error) {
	return func(event []byte) ([]byte, error) {
		var c click
		d := json.NewDecoder(bytes.NewReader(event))
		d.DisallowUnknownFields()
		if err := d.Decode(&c); err != nil {
			return nil, fmt.Errorf("an event of the generator: %w", err)
		}
		return encode(&c, slices.Clone(prefix)), nil
	}
}

// registry answers for the two schemas.
func registry() *httptest.Server {
	schemas := map[string]map[string]string{
		fmt.Sprint("/schemas/ids/", avroID):     {"schema": avroSchema},
		fmt.Sprint("/schemas/ids/", protobufID): {"schema": protobufSchema, "schemaType": "PROTOBUF"},
	}
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s, ok := schemas[r.URL.Path]; !ok || json.NewEncoder(w).Encode(s) != nil {
			http.NotFound(w, r)
		}
	}))
}

func main() { bench.Main(run) }

func run(ctx context.Context) error {
	g, err := testbed.New()
	if err != nil {
		return err
	}
	defer g.Close()
	names := registry()
	defer names.Close()
	forms := []*form{
		{name: "json", encode: func(event []byte) ([]byte, error) { return event, nil }},
		{name: "avro", encode: encoding([]byte{0, 0, 0, 0, avroID}, (*click).appendAvro)},
		{name: "protobuf", encode: encoding([]byte{0, 0, 0, 0, protobufID, 0}, (*click).appendProtobuf)}, // the file's first message
	}
	for _, f := range forms {
		count := func(event []byte) ([]byte, error) {
			value, err := f.encode(event)
			f.bytes += int64(len(value))
			return value, err
		}
		if err := g.Fill(ctx, f.name, kgo.NoCompression(), gen.Clicks, testbed.Traffic(2_000_000, *events), 10*time.Minute, count); err != nil {
			return err
		}
	}
	for round := range *rounds + 1 {
		for _, f := range forms {
			if err := f.read(g, names.URL, round); err != nil {
				return fmt.Errorf("%s: %w", f.name, err)
			}
		}
	}

	var report testbed.Report
	report.Say("# %d clicks, 1,000 Zipf pages, 2 million users, %d partitions, Kafka 4, not compressed; hits and HLL users by page; the least of %d rounds in turns", *events, testbed.Partitions, *rounds)
	report.SayWhere()
	report.Say("%-10s %14s %12s %10s %10s %9s", "format", "bytes a value", "events/CPU-s", "to json", "engine s", "peak MiB")
	var missed []string
	for _, f := range forms {
		ratio := f.rate() / forms[0].rate()
		report.Say("%-10s %14.0f %12.0f %9.2f× %10.2f %9.0f", f.name, float64(f.bytes)/float64(*events), f.rate(), ratio, f.engine.Seconds(), float64(f.weir.Peak)/(1<<20))
		if ratio < 1 {
			missed = append(missed, f.name)
		}
	}
	return bench.Save(&report, missed)
}

// read reads the topic to its end into a database of its own.
func (f *form) read(g *testbed.Bed, registry string, round int) error {
	database := fmt.Sprint(f.name, round)
	config := fmt.Sprintf(`kafka: {brokers: [%q], group: %[3]s}
clickhouse: {urls: [%[2]q], database: %[3]s}
registry: {url: %[4]q}
http: {listen: "127.0.0.1:0"}
jobs:
  - name: clicks
    topic: %[5]s
    format: %[5]s
    time: {field: ts, unit: ms}
    window: 1m
    rollups: [1m]
    by: [page]
    measures: [{name: users, kind: hll, field: user_id}]
`, g.Broker, g.Engine.URL, database, registry, f.name)
	weir, engine, err := bench.Read(g, config, database, *events)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "round %d, %s: weir %.2f CPU s, engine %.2f\n", round, f.name, weir.CPU.Seconds(), engine.Seconds())
	if round == 1 || round > 1 && weir.CPU < f.weir.CPU {
		f.weir = weir
	}
	if round == 1 || round > 1 && engine < f.engine {
		f.engine = engine
	}
	return nil
}
