package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"weir/config"
	"weir/event"
	"weir/internal/await"
	"weir/internal/infer"
)

// inferred returns 400 records of each kind, made with a fixed seed, and what must be in the
// output for them.
func inferred() map[string]struct {
	records []event.Record
	want    []string
} {
	r := rand.New(rand.NewPCG(21, 22))
	const n = 400
	make := func(value func(i int, ts int64) string) (all []event.Record) {
		for i := range n {
			ts := int64(1_763_600_000_000 + i*1000)
			all = append(all, event.Record{Offset: int64(i), Time: event.Time(ts + 500), Value: []byte(value(i, ts))})
		}
		return all
	}
	type c = struct {
		records []event.Record
		want    []string
	}
	stamp := func(ts int64) string { return strings.Replace(milliseconds(event.Time(ts)), "T", " ", 1) }
	cases := map[string]c{
		"clicks": {make(func(i int, ts int64) string {
			country := fmt.Sprintf(`{"country":%q}`, []string{"DE", "FR", "US"}[r.IntN(3)])
			if i%10 == 0 {
				country = `{}`
			}
			return fmt.Sprintf(`{"event_id":"e%d","ts":%d,"user_id":%d,"page":"/p/%d","geo":%s,"price":%d.%02d,"tags":["a"],"note":"free text %d, with a comma"}`, i, ts, r.IntN(90), r.IntN(9), country, r.IntN(99), r.IntN(100), i)
		}), []string{"    time: {field: ts, unit: ms}", "- {name: page, field: page}", "- {name: country, field: geo.country, default: none}", "dedupe: {field: event_id}", "- {name: users, kind: hll, field: user_id}", "- {name: price, kind: sum, field: price, scale: 2}", "the job counts 400.\n", "100 % of them are json"}},
		"places": {make(func(i int, ts int64) string {
			return fmt.Sprintf(`{"at":%q,"device":{"device_id":"d%d","pos":{"lon":%d.5,"lat":%d.25}}}`, stamp(ts), i%30, i%180, i%80)
		}), []string{"time: {field: at, unit: iso8601}", `users, kind: hll, field: device.device_id}`, "kind: geo, member: device.device_id, lon: device.pos.lon, lat: device.pos.lat", "the job counts 400.\n"}},
		"nested": {make(func(i int, ts int64) string {
			return fmt.Sprintf(`{"time":%d,"data":%q,"userId":%s,"anonymousId":"a%d"}`, ts/1000, fmt.Sprintf(`{"plan":"p%d"}`, i%4), []string{fmt.Sprintf(`"u%d"`, i%7), "null"}[i%2], i%50)
		}), []string{"time: {field: time, unit: s}", `- {name: plan, field: "data[json].plan"}`, "users, kind: hll, field: [userId, anonymousId]}", "the job counts 400.\n"}},
		"tsv": {make(func(i int, ts int64) string {
			return fmt.Sprintf("web\t%s\tpage_%d\t%d", stamp(ts), i%5, r.IntN(1000))
		}), []string{"format: tsv", "time: {field: c2, unit: iso8601}", "field: c3}", "the job counts 400.\n"}},
		"csv": {make(func(i int, ts int64) string { return fmt.Sprintf("%d,\"a, \"\"%d\"\"\",x\r\n", ts, i%3) }), []string{"format: csv", "time: {field: c1, unit: ms}", "field: c2}", "the job counts 400.\n"}},
		"batches": {make(func(i int, ts int64) string {
			call := func(k int) string {
				return fmt.Sprintf(`{"type":%q,"messageId":"m%d-%d","timestamp":%q,"userId":"u%d","items":[{"sku":"a"}]}`, []string{"track", "page"}[k%2], i, k, stamp(ts-int64(k)), i%40)
			}
			return fmt.Sprintf(`{"sentAt":%q,"context":{"app":"app%d"},"batch":[%s,%s,%s]}`, stamp(ts), i%3, call(0), call(1), call(2))
		}), []string{"They are arrays of 1200 events", "    each: batch  ", "# without each every record is one event, and paths begin in it\n", "time: {field: timestamp, unit: iso8601}", "others: record:sentAt", "{name: type, field: type}", `field: "record:context.app"}`,
			"dedupe: {field: messageId, exact: true}", "another value in every event", "# items ", "users, kind: hll, field: userId", "the job counts 1200 events.\n"}},
		"arrays": {make(func(i int, ts int64) string {
			if i%100 == 7 {
				return fmt.Sprintf(`{"ts":%d,"kind":"single"}`, ts)
			}
			return fmt.Sprintf(`[{"ts":%d,"sensor":"s%d"},{"ts":%d,"sensor":"s%d"}]`, ts, i%9, ts+1, i%7)
		}), []string{"99 % of them are json", "They are arrays of 792 events", "    each: $\n", "time: {field: ts, unit: ms}", "field: sensor}", "the job counts 792 events, 4 are malformed.\n"}},
		"lines of an order": {make(func(i int, ts int64) string {
			return fmt.Sprintf(`{"ts":%d,"user":"u%d","lines":[{"sku":"a%d","made":%d},{"sku":"b","made":%d}]}`, ts, i%30, i%4, ts-400*24*3600*1000, ts-500*24*3600*1000)
		}), []string{"# lines ", "time: {field: ts, unit: ms}", "    window: 1m\n", "the job counts 400.\n"}},
		"names in quotes": {make(func(i int, ts int64) string {
			return fmt.Sprintf(`{"ts":%d,"*":[{"ts":%[1]d,"type":"a"}],"/page":"/p/%[2]d","a\\b":"x","$":{"page":"y"},"key[0]":1,"page":"p%[2]d"}`, ts, i%4)
		}), []string{"time: {field: ts, unit: ms}", `field: '"/page"'`, "- {name: page_2, field: page}", "    window: 1m\n", "the job counts 400.\n"}},
		"ids within objects": {make(func(i int, ts int64) string {
			return fmt.Sprintf(`{"ts":%d,"visitor":{"id":"v%d"},"event":{"id":"e%d"},"product":{"id":"p%d"}}`, ts, i, i, i%9)
		}), []string{"users, kind: hll, field: visitor.id}", "dedupe: {field: event.id}", "- {name: id, field: product.id}", "the job counts 400.\n"}},
		"positions without a user": {make(func(i int, ts int64) string {
			return fmt.Sprintf(`{"ts":%d,"van":"v%d","pos":{"lon":%d.5,"lat":%d.25}}`, ts, i%30, i%180, i%80)
		}), []string{"    # measures:", "# - {name: places, kind: geo, member: ID, lon: pos.lon, lat: pos.lat, optional: true} # positions: for ID, write the field that says whose they are", "the job counts 400.\n"}},
		"amounts at positions without a user": {make(func(i int, ts int64) string {
			return fmt.Sprintf(`{"ts":%d,"lon":%d.5,"lat":%d.25,"price":%d}`, ts, i%180, i%80, i)
		}), []string{"    measures:\n      # - {name: places, kind: geo, member: ID, lon: lon, lat: lat, ", "- {name: price, kind: sum, field: price, scale: 0}", "the job counts 400.\n"}},
		"no time": {make(func(i int, ts int64) string { return `{"type":"beat","value":1}` }), []string{"time: {unit: record}", "the job counts 400.\n"}},
		"framed": {make(func(i int, ts int64) string {
			if i%4 == 0 {
				return "\x00\x00\x00\x00\x07\x02rest"
			}
			return "\x00\x00\x00\x00\x09" + fmt.Sprintf(`{"ts":%d}`, ts)
		}), []string{"format: json-schema", "75 % of them", "schema id 7", "the job counts 300, 100 are malformed"}},
	}
	return cases
}

// TestInfer: for each kind of records, the job is one that loads, reads the fields that it
// should, and counts what it says it counts.
func TestInfer(t *testing.T) {
	for name, c := range inferred() {
		s := newTapStage(t)
		if _, err := kadm.NewClient(s.client).CreateTopic(await.Context(t), 2, 1, nil, "Some-Topic.1"); err != nil {
			t.Fatal(err)
		}
		var records []*kgo.Record
		for i, rec := range c.records {
			records = append(records, &kgo.Record{Topic: "Some-Topic.1", Partition: int32(i % 2), Timestamp: at(int(rec.Time - event.Time(at(0).UnixMilli()))), Value: rec.Value, Headers: []kgo.RecordHeader{{Key: "region", Value: []byte("eu")}}})
		}
		if err := s.client.ProduceSync(await.Context(t), records...).FirstErr(); err != nil {
			t.Fatal(err)
		}
		var stdout, stderr bytes.Buffer
		if code := execute(await.Context(t), []string{"infer", "-c", s.file, "--topic", "Some-Topic.1"}, &stdout, &stderr); code != 0 {
			t.Fatalf("%s: exit code %d:\n%s%s", name, code, &stdout, &stderr)
		}
		out := stdout.String()
		for _, words := range append(c.want, "- name: some_topic_1", "topic: Some-Topic.1", "header:region") {
			if !strings.Contains(out, words) {
				t.Errorf("%s: the output has no %q:\n%s", name, words, out)
			}
		}
		file := filepath.Join(t.TempDir(), "weir.yaml")
		if err := os.WriteFile(file, stdout.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		stdout.Reset()
		if code := execute(await.Context(t), []string{"check", "--offline", "-c", file}, &stdout, &stderr); code != 0 {
			t.Errorf("%s: check ends with %d:\n%s%s", name, code, &stdout, &stderr)
		}
	}
	s := newTapStage(t)
	for _, c := range []struct {
		code int
		args []string
		word string
	}{
		{1, []string{"--topic", "none"}, "error: topic none does not exist"}, {1, []string{"--topic", "plays"}, "topic plays holds no records"}, {64, nil, "--topic is missing"}, {64, []string{"--topic", "x", "--records", "0"}, "want 1 to"},
	} {
		var stdout, stderr bytes.Buffer
		code := execute(await.Context(t), append([]string{"infer", "-c", s.file}, c.args...), &stdout, &stderr)
		if code == 0 || !strings.Contains(stderr.String(), c.word) || stdout.Len() > 0 {
			t.Errorf("%q: exit code %d: %s%s", c.args, code, &stdout, &stderr)
		}
	}
}

// TestInferDocument: docs/commands.md shows what weir infer prints.
func TestInferDocument(t *testing.T) {
	const file = "../../docs/commands.md"
	var records []event.Record
	for i := range 1000 {
		ts, geo := int64(1_795_169_100_000+i*1000), "{}"
		if i%10 > 0 {
			geo = fmt.Sprintf(`{"country":%q}`, []string{"DE", "FR", "US"}[i%3])
		}
		records = append(records, event.Record{Time: event.Time(ts), Value: fmt.Appendf(nil, `{"id":"p%d","ts":%d,"song":"%c","user_id":%d,"geo":%s}`, i, ts, 'a'+i%9, i%90, geo)})
	}
	facts := infer.Read(t.Context(), records, infer.Schemas{}, config.IsPath)
	var out bytes.Buffer
	if err := facts.Write(&out, "plays", "plays", config.IsColumn); err != nil {
		t.Fatal(err)
	}
	if err := tryJob(t.Context(), &out, records, facts); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	begin := bytes.Index(text, []byte("```\n# 1000 records")) + 4
	end := begin + bytes.Index(text[begin:], []byte("```\n"))
	if *update {
		if err := os.WriteFile(file, slices.Concat(text[:begin], out.Bytes(), text[end:]), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if got := string(text[begin:end]); got != out.String() {
		t.Errorf("the document has\n%swant\n%s", got, &out)
	}
}

// TestInferSources: from the events of each source that has a preset, weir infer makes a job
// that counts them, too.
func TestInferSources(t *testing.T) {
	for _, source := range config.Sources() {
		data, err := os.ReadFile(filepath.Join("testdata", "sources", source+".json"))
		if err != nil {
			t.Fatal(err)
		}
		var events []struct{ Value string }
		if err := json.Unmarshal(data, &events); err != nil {
			t.Fatal(err)
		}
		var records []event.Record
		for _, e := range events[:len(events)-1] {
			records = append(records, event.Record{Time: 1_795_169_130_000, Value: []byte(e.Value)})
		}
		var out bytes.Buffer
		facts := infer.Read(t.Context(), records, infer.Schemas{}, config.IsPath)
		if err := facts.Write(&out, "e", "e", config.IsColumn); err != nil {
			t.Fatal(err)
		}
		err = tryJob(t.Context(), &out, records, facts)
		// Of a topic with two forms of records, the job reads the more frequent one.
		least := len(records)
		if source == "cloudevents" || source == "debezium" {
			least = 3
		}
		var counted, repeats int
		if _, last, found := strings.Cut(out.String(), "the job counts "); found {
			fmt.Sscanf(last, "%d", &counted)
			_, _ = fmt.Sscanf(last[strings.IndexAny(last, ",."):], ", %d are duplicate", &repeats)
		}
		if err != nil || counted+repeats < least {
			t.Errorf("%s: %d of %d records, %v\n%s", source, counted+repeats, len(records), err, &out)
		}
	}
}

// TestInferNames: a field or a topic that has a name of weir's own, of ClickHouse's or of YAML's makes a
// job that loads.
func TestInferNames(t *testing.T) {
	for name, want := range map[string]string{
		"complete": "complete_value", "window_start": "window_start_value", "windowEnd": "window_end_value", "Hits": "hits_value", "flushed_at": "flushed_at_value", "rolled-in": "rolled_in_value",
		"top": "top_value", "rollup": "rollup_value", "cube": "cube_value", "not": "not_value", "inf": "inf_value", "nan": "nan_value", "true": "true_value", "FALSE": "false_value",
		"last_state": "last_state_value", "partial": "partial_value", "null": `"null"`, "Null": `"null"`, "no": `"no"`, "on": `"on"`, "y": `"y"`, "7days": "days", "COUNTRY": "country", "pageURL": "page_url", "song": "song",
	} {
		var records []event.Record
		for i := range 40 {
			records = append(records, event.Record{Time: 1_795_169_130_000, Value: fmt.Appendf(nil, `{"id":%d,%q:"%c","x":{%[2]q:"%[3]c"}}`, i, name, 'a'+i%4)})
		}
		var out bytes.Buffer
		facts := infer.Read(t.Context(), records, infer.Schemas{}, config.IsPath)
		if err := facts.Write(&out, infer.JobName(name), name, config.IsColumn); err != nil {
			t.Fatal(err)
		}
		if err := tryJob(t.Context(), &out, records, facts); err != nil || !strings.Contains(out.String(), "the job counts 40.\n") || !strings.Contains(out.String(), "{name: "+want+", field: ") {
			t.Errorf("%s: %v; want a column %s\n%s", name, err, want, &out)
		}
	}
}

// TestInferDirty: from a topic in which one record in two hundred has some damage, or comes twice, the job counts all good
// events, and its comments name what does not fit.
func TestInferDirty(t *testing.T) {
	const n = 2000
	for name, c := range map[string]struct {
		value  func(r *rand.Rand, i int) string
		damage []func(string) string // leaves a good event
		spoils []func(string) string // leaves none
		want   []string
	}{
		"shop": {shopCall, []func(string) string{
			replacing(`"revenue":[0-9.]+`, `"revenue":"N/A"`), replacing(`"revenue":[0-9.]+`, `"revenue":1e300`), replacing(`"country":"[A-Z]+"`, `"country":7`), replacing(`"location":{[^}]*}`, `"location":"Berlin"`),
			replacing(`"timestamp":"[^"]*",`, ``), replacing(`"userId":"[^"]*"`, `"userId":{"id":1}`), replacing(`"price":[0-9.]+`, `"price":[]`),
		}, []func(string) string{replacing(`}$`, ``)}, []string{
			"    # preset: rudderstack or segment ", "    time: {field: [timestamp, originalTimestamp], unit: rfc3339} ", "# 99.9 % have timestamp; others: originalTimestamp (rfc3339), receivedAt (rfc3339), sentAt (rfc3339)",
			"- {name: event, field: event}", "- {name: country, field: context.location.country, default: none}", "    dedupe: {field: messageId} ", "an event that comes again counts once",
			"- {name: users, kind: hll, field: [userId, anonymousId], bad: skip} # 1 of userId do not fit", "- {name: revenue, kind: sum, field: properties.revenue, scale: 2, optional: true, bad: skip} # 4 of properties.revenue do not fit: 1e300, N/A\n",
		}},
		"fleet": {fleetPosition, []func(string) string{
			replacing(`"lat":[0-9.]+`, `"lat":152.5`), replacing(`"lon":[0-9.]+`, `"lon":null`), replacing(`"pos":{[^}]*}`, `"pos":null`), replacing(`"speed_kmh":[0-9.]+`, `"speed_kmh":"fast"`),
		}, []func(string) string{replacing(`"at":[0-9]+`, `"at":12`), replacing(`^{`, `[`)}, []string{
			"    time: {field: at, unit: ms}", "- {name: users, kind: hll, field: driver.id}", "- {name: places, kind: geo, member: driver.id, lon: pos.lon, lat: pos.lat, optional: true, bad: skip} # 2 of pos.lat do not fit: 152.5\n",
			"- {name: speed_kmh, kind: quantile, field: speed_kmh, bad: skip} # 2 of speed_kmh do not fit: fast\n", "- {name: state, field: state}",
		}},
	} {
		r := rand.New(rand.NewPCG(5, 6))
		var records []event.Record
		kinds, due, done, good := slices.Concat(c.damage, c.spoils), 0, 0, 0
		for i := range n {
			value := c.value(r, i)
			if good++; i%200 == 0 {
				due++
			}
			if i%97 == 96 { // this one comes twice
				good, value = good-1, string(records[i-1].Value)
			} else if damaged := kinds[done%len(kinds)](value); done < due && damaged != value {
				if value = damaged; done%len(kinds) >= len(c.damage) {
					good--
				}
				done++
			}
			records = append(records, event.Record{Offset: int64(i), Time: event.Time(shopTime + i*1000 + 400), Value: []byte(value)})
		}
		var out bytes.Buffer
		facts := infer.Read(t.Context(), records, infer.Schemas{}, config.IsPath)
		facts.Presets = presetsFor(facts)
		if err := facts.Write(&out, "e", "e", config.IsColumn); err != nil {
			t.Fatal(err)
		}
		if err := tryJob(t.Context(), &out, records, facts); err != nil {
			t.Fatal(err)
		}
		for _, words := range c.want {
			if !strings.Contains(out.String(), words) {
				t.Errorf("%s: the output has no %q", name, words)
			}
		}
		_, last, _ := strings.Cut(out.String(), "the job counts ")
		var counted int
		if _, err := fmt.Sscanf(last, "%d", &counted); err != nil || counted < good || good == n || done < n/200 {
			t.Errorf("%s: %d are counted, want at least %d\n%s", name, counted, good, &out)
		}
	}
}

const shopTime = 1_795_169_100_000

// shopCall returns a call of a shop in the form of Segment's.
func shopCall(r *rand.Rand, i int) string {
	at := func(later int) string { return milliseconds(event.Time(shopTime + i*1000 + later)) }
	kind, properties := "Page Viewed", `{"path":"/"}`
	switch p := r.IntN(100); {
	case p < 9:
		price := fmt.Sprintf("%d.%02d", 1+r.IntN(300), r.IntN(100))
		kind, properties = "Order Completed", fmt.Sprintf(`{"order_id":"o%d","revenue":%s,"products":[{"product_id":"p%d","price":%[2]s,"quantity":1}]}`, i, price, r.IntN(40))
	case p < 50:
		kind, properties = "Product Viewed", fmt.Sprintf(`{"product_id":"p%d","price":%d.5}`, r.IntN(40), r.IntN(90))
	}
	user := []string{`"userId":"",`, `"userId":null,`, fmt.Sprintf(`"userId":"u%d",`, r.IntN(200)), ""}[r.IntN(4)]
	return fmt.Sprintf(`{"messageId":"%08x-%d","type":"track",%s"anonymousId":"a%d","event":"%s","timestamp":"%s","originalTimestamp":"%s","sentAt":"%s","receivedAt":"%s","context":{"location":{"country":"%s"},"ip":"10.0.0.%d"},"properties":%s}`,
		r.Uint32(), i, user, r.IntN(500), kind, at(0), at(-20), at(200), at(300), []string{"DE", "FR", "US"}[r.IntN(3)], r.IntN(250), properties)
}

// fleetPosition returns a position of a vehicle.
func fleetPosition(r *rand.Rand, i int) string {
	return fmt.Sprintf(`{"at":%d,"driver":{"id":"d%d"},"vehicle":"v%d","state":"%s","speed_kmh":%d.%d,"pos":{"lon":13.%05d,"lat":52.%05d}}`,
		shopTime+i*1000, r.IntN(80), r.IntN(70), []string{"free", "busy"}[r.IntN(2)], r.IntN(90), r.IntN(10), r.IntN(100_000), r.IntN(100_000))
}

// replacing returns a function that replaces what a pattern matches.
func replacing(pattern, with string) func(string) string {
	re := regexp.MustCompile(pattern)
	return func(text string) string { return re.ReplaceAllString(text, with) }
}

// TestInferReceptions: a message that two gateways have received is one event, and the comments name the other choice.
func TestInferReceptions(t *testing.T) {
	for _, nested := range []bool{true, false} {
		var records []event.Record
		for i := range 60 {
			at := event.Time(shopTime + i*1000)
			heard := fmt.Sprintf(`"rx_metadata":[{"gateway":{"gateway_id":"g1"},"time":"%[1]s","rssi":-43},{"gateway":{"gateway_id":"g2"},"time":"%[1]s","rssi":-44}]`, milliseconds(at-240))
			if nested {
				heard = `"uplink_message":{"f_port":2,` + heard + `}`
			}
			records = append(records, event.Record{Time: at, Value: fmt.Appendf(nil, `{"end_device_ids":{"device_id":"d%d"},"received_at":"%s",%s}`, i, milliseconds(at), heard)})
		}
		var out bytes.Buffer
		facts := infer.Read(t.Context(), records, infer.Schemas{}, config.IsPath)
		if err := facts.Write(&out, "e", "e", config.IsColumn); err != nil {
			t.Fatal(err)
		}
		if err := tryJob(t.Context(), &out, records, facts); err != nil {
			t.Fatal(err)
		}
		for _, words := range []string{"    time: {field: received_at, unit: rfc3339}", "    # each: ", "would count the elements of an array as the events", "the job counts 60.\n"} {
			if !strings.Contains(out.String(), words) {
				t.Errorf("nested %t: the output has no %q\n%s", nested, words, &out)
			}
		}
	}
}

// TestInferQuotes: a key with a dot or a colon is in quotes once, and the columns of the table are in line.
func TestInferQuotes(t *testing.T) {
	var records []event.Record
	for i := range 60 {
		records = append(records, event.Record{Time: shopTime, Value: fmt.Appendf(nil, `{"ts":%d,"log.level":"%s","k8s:pod":{"user.id":"u%d"},"amount":"%d.50"}`, shopTime, []string{"info", "error"}[i%2], i%20, i)})
	}
	var out bytes.Buffer
	facts := infer.Read(t.Context(), records, infer.Schemas{}, config.IsPath)
	if err := facts.Write(&out, "e", "e", config.IsColumn); err != nil {
		t.Fatal(err)
	}
	if err := tryJob(t.Context(), &out, records, facts); err != nil {
		t.Fatal(err)
	}
	for _, words := range []string{
		"\n# k8s:pod.\"user.id\"    100 %        20  text", "\n# \"log.level\"          100 %         2  text", "\n# amount               100 %        60  text", `field: '"log.level"'}`, `kind: hll, field: 'k8s:pod."user.id"'}`,
		"- {name: amount, kind: sum, field: amount, scale: 2}\n", "the job counts 60.\n",
	} {
		if !strings.Contains(out.String(), words) {
			t.Errorf("the output has no %q\n%s", words, &out)
		}
	}
}

// FuzzInfer: whatever is in a topic, the job is one that loads, and the output is YAML with
// nothing but that job in it.
func FuzzInfer(f *testing.F) {
	for _, c := range inferred() {
		f.Add(c.records[0].Value, c.records[1].Value, "header")
	}
	f.Add([]byte(`{"a":1,"a.b":2,"a[0]":3,"key":4,"header:x":5,"value":{"key":"\n# x"},"é":"é"}`), []byte(`{"a":{"b":1}}`), "a\nb: c")
	f.Add([]byte(`[{"ts":1763600000000,"key":1}]`), []byte(`[{"ts":1763600000000,"record:x":{"a":1}},{}]`), "x")
	f.Add([]byte(`{"e":[{"ts":1763600000000}],"record":{"e":[]},"at":1763600000000}`), []byte(`{"e":[{"ts":1763600000000,"e":[{"ts":1}]}],"f":[{"ts":1763600000000},{"ts":1763600000000}]}`), "x")
	f.Add([]byte(`{"user_id":"{\"user_id\":1}","type":"x"}`), []byte(`{"user_id":"x","type":"{\"type\":1}"}`), "[json]")
	f.Add([]byte(`{"price":1}`), []byte("{\"price\":{\"total\":2},\"x\":\"\xff\"}"), "x") // no key is chosen instead, because it is no text
	f.Add([]byte(`{"complete":"a","null":"b"}`), []byte(`{"complete":"b","null":"a"}`), "null")
	f.Fuzz(func(t *testing.T, one, two []byte, header string) {
		var records []event.Record
		for i := range 20 {
			env := &event.Envelope{Key: two, Headers: fuzzHeader(header)}
			records = append(records, event.Record{Offset: int64(i), Time: 1_763_600_000_000, Value: [][]byte{one, two}[i%2], Envelope: env})
		}
		facts := infer.Read(t.Context(), records, infer.Schemas{}, config.IsPath)
		var out bytes.Buffer
		if err := facts.Write(&out, infer.JobName(header), "topic", config.IsColumn); err != nil {
			t.Fatal(err)
		}
		if facts.Read == 0 {
			return
		}
		if err := tryJob(t.Context(), &out, records, facts); err != nil {
			t.Fatalf("%v\n%s", err, &out)
		}
	})
}

// fuzzHeader returns a header of that name, and of no name if it is too long.
func fuzzHeader(name string) event.Headers {
	if len(name) > 60 {
		name = ""
	}
	return append(append([]byte{2, byte(2 * len(name))}, name...), 2, 'v')
}
