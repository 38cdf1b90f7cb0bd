package main

import (
	"bytes"
	varint "encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/config"
	"weir/event"
	"weir/internal/infer"
	"weir/window"
)

// A payload is a record as another program's producer writes it. In a value NOW, SECONDS and ISO are its time, and I is its number.
type payload struct {
	value, key string
	headers    [][2]string
	times      int // 0: once
}

// records returns the records of payloads, of one time.
func records(payloads []payload) (all []event.Record) {
	at := time.UnixMilli(1_763_600_000_000).UTC()
	for _, p := range payloads {
		for i := range max(1, p.times) {
			value := strings.NewReplacer("NOW", fmt.Sprint(at.UnixMilli()), "SECONDS", fmt.Sprint(at.Unix()), "ISO", at.Format(time.RFC3339), "#I", fmt.Sprint(i)).Replace(p.value)
			env := &event.Envelope{Headers: varint.AppendVarint(nil, int64(len(p.headers)))}
			if p.key != "" {
				env.Key = []byte(p.key)
			}
			for _, h := range p.headers {
				for _, text := range h {
					env.Headers = append(varint.AppendVarint(env.Headers, int64(len(text))), text...)
				}
			}
			all = append(all, event.Record{Offset: int64(len(all)), Time: event.Time(at.UnixMilli()), Value: []byte(value), Envelope: env})
		}
	}
	return all
}

// countedBy counts records by a job in YAML, and returns its rows, their measures, and the reasons of dead letters.
func countedBy(t *testing.T, job string, all []event.Record) string {
	t.Helper()
	cfg, _, err := config.Load(config.Options{File: "weir.yaml", Data: []byte("kafka: {brokers: [b:9092]}\njobs:\n  - {name: j, topic: t, window: 1m, " + job + "}\n")})
	if err != nil {
		return err.Error()
	}
	spec := cfg.Jobs[0].Spec()
	op, err := window.NewOperator(spec)
	if err != nil {
		t.Fatal(err)
	}
	op.Start(window.Plan{})
	if err := op.Observe(&event.Batch{Next: int64(len(all)), Records: all}); err != nil {
		t.Fatal(err)
	}
	c := op.Take()
	c.Table.Seal()
	var lines []string
	for row := range c.Table.Rows {
		line := fmt.Sprintf("%s: %d", groupText(row.Group(nil)), row.Sum())
		for m := range spec.Measures {
			line += " " + spec.Measures[m].Name + " " + spec.Measures[m].Text(row.Number(m))
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	for _, d := range c.Dead {
		lines = append(lines, d.Outcome.String()+" "+d.Reason)
	}
	return strings.Join(lines, "\n")
}

// TestPayloads: what producers of many kinds write is counted as they mean it.
func TestPayloads(t *testing.T) {
	const gtfs = `{"vehicle":{"timestamp":%s,"trip":{"routeId":"G"}}}`
	decimals := []payload{{value: `{"ts":NOW,"p":59.97}`}, {value: `{"ts":NOW,"p":59.970000000000006}`}, {value: `{"ts":NOW,"p":0.30000000000000004}`}, {value: `{"ts":NOW,"p":12.50000000001}`},
		{value: `{"ts":NOW,"p":"BOI="}`}, {value: `{"ts":NOW,"p":{"scale":2,"value":"BOI="}}`}}
	const spans = `{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"a","t":NOW},{"name":"b","t":NOW}]},{"spans":[{"name":"c","t":NOW}]}]},{"scopeSpans":[{"spans":[{"name":"d","t":NOW}]}]}]}`
	ecs := []payload{{value: `{"@timestamp":"ISO","log.level":"INFO","service.name":"shop"}`, times: 2}}
	quoted := []payload{{value: `{"ts":NOW}`, key: `"u1"`, headers: [][2]string{{"tenant", `"acme"`}}}, {value: `{"ts":NOW}`, key: "u1", headers: [][2]string{{"tenant", "acme"}}}}
	params := []payload{{value: `{"t":NOW,"params":[{"key":"page","value":{"s":"/a"}},{"key":"sid","value":{"n":"1"}}]}`}, {value: `{"t":NOW,"params":[{"key":"sid","value":{"n":"2"}},{"key":"page","value":{"s":"/a"}}]}`}}
	for _, c := range []struct {
		name, job string
		records   []payload
		want      string
	}{
		{"times in texts", "time: {field: vehicle.timestamp, unit: s}, by: [{name: route, field: vehicle.trip.routeId}]",
			[]payload{{value: fmt.Sprintf(gtfs, `"SECONDS"`)}, {value: fmt.Sprintf(gtfs, `"SECONDS.123"`)}, {value: fmt.Sprintf(gtfs, "SECONDS")}}, `"G": 3`},
		{"amounts in texts", "time: {field: ts}, by: [s], measures: [{name: volume, kind: sum, field: p, scale: 2}, {name: ids, kind: bitmap, field: m}]",
			[]payload{{value: `{"ts":NOW,"s":"BTC","p":"6040.80000000","m":"42"}`}, {value: `{"ts":NOW,"s":"BTC","p":6507.5,"m":42}`}}, `"BTC": 2 volume 12548.30 ids 1`},
		{"conditions on texts", "time: {field: ts}, where: [{field: status, at_least: 500}]", []payload{{value: `{"ts":NOW,"status":"500"}`}, {value: `{"ts":NOW,"status":503}`}, {value: `{"ts":NOW,"status":"200"}`}}, ": 2"},
		{"anonymous visitors", "preset: segment", []payload{{value: `{"type":"track","event":"Viewed","messageId":"m#I","timestamp":"ISO","userId":"","anonymousId":"a#I"}`, times: 20},
			{value: `{"type":"track","event":"Viewed","messageId":"k","timestamp":"ISO","userId":"u1","anonymousId":"a99"}`}}, `"track", "Viewed": 21 users 21`},
		{"arrays in arrays", `each: "resourceSpans[].scopeSpans[].spans", time: {field: t}, by: [name]`, []payload{{value: spans}}, "\"a\": 1\n\"b\": 1\n\"c\": 1\n\"d\": 1"},
		{"the first of arrays in arrays", `each: "resourceSpans[0].scopeSpans[0].spans", time: {field: t}, by: [name]`, []payload{{value: spans}}, "\"a\": 1\n\"b\": 1"},
		{"keys with dots", `time: {field: "@timestamp", unit: rfc3339}, by: [{name: level, field: '"log.level"'}]`, ecs, `"INFO": 2`},
		{"keys with dots, without quotes", `time: {field: "@timestamp", unit: rfc3339}, by: [{name: level, field: log.level}]`, ecs[:1],
			strings.TrimSuffix(strings.Repeat("malformed field log.level is missing; the event has a key log.level with a dot in it: write \"log.level\"\n", 2), "\n")},
		{"keys and headers in quotes", `time: {field: ts}, by: [{name: tenant, field: "header:tenant", apply: unquote}], measures: [{name: who, kind: hll, field: key, apply: unquote}]`, quoted, `"acme": 2 who 1`},
		{"decimals with noise", "time: {field: ts}, measures: [{name: sum, kind: sum, field: p, scale: 2, round: true, bad: skip}, {name: all, kind: hll, field: ts}]", decimals, ": 6 sum 132.74 all 1"},
		{"decimals of many digits", "time: {field: ts}, measures: [{name: sum, kind: sum, field: p, scale: 8}]", []payload{{value: `{"ts":NOW,"p":"0.00000001"}`}, {value: `{"ts":NOW,"p":1e-8}`}}, ": 2 sum 0.00000002"},
		{"decimals in base64", "time: {field: ts}, measures: [{name: sum, kind: sum, field: p}]", decimals[4:5],
			"malformed field p is not a number; if it is a decimal of Kafka Connect in base64, set decimal.handling.mode to string or double in Debezium, or decimal.format to NUMERIC in the converter"},
		{"an empty path", "time: {field: ts}, by: [{name: g, field: [a, '']}]", nil, "jobs[0].by[0].field"},
		{"parameters by their key", `time: {field: t}, by: [{name: page, field: "params[key=page].value.s", default: none}]`, params, `"/a": 2`},
	} {
		if got := countedBy(t, c.job, records(c.records)); got != c.want && !(c.records == nil && strings.Contains(got, c.want)) {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

// TestInferPayloads: infer names keys with dots and with colons, and its job reads them.
func TestInferPayloads(t *testing.T) {
	for _, c := range []struct {
		value string
		want  []string
	}{
		{`{"@timestamp":"ISO","log.level":"INFO","service.name":"shop","message":"x#I"}`, []string{`# "log.level" `, `# "service.name" `, `field: "@timestamp"`}},
		{`{"sosa:resultTime":"ISO","dc:creator":"u#I","geo:lat":52.5,"geo:long":13.4}`, []string{"sosa:resultTime", "dc:creator", "geo:lat", "geo:long"}},
	} {
		all := records([]payload{{value: c.value, times: 60}})
		var out bytes.Buffer
		facts := infer.Read(t.Context(), all, infer.Schemas{}, config.IsPath)
		if err := facts.Write(&out, "j", "t", config.IsColumn); err != nil {
			t.Fatal(err)
		}
		if err := tryJob(t.Context(), &out, all, facts); err != nil || !strings.Contains(out.String(), "the job counts 60.\n") {
			t.Errorf("%s: %v\n%s", c.value, err, &out)
		}
		for _, words := range c.want {
			if !strings.Contains(out.String(), words) {
				t.Errorf("infer does not say %s:\n%s", words, &out)
			}
		}
	}
}
