package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"weir/config"
	"weir/demo/local/localtest"
	"weir/internal/await"
	"weir/schemas/schematest"
)

// sourcePage is a page of docs/sources: its job, its question, and the answer at its end.
var sourcePage = regexp.MustCompile("(?s)```yaml\n(?:registry: [^\n]*\n)?jobs:\n(.*?)```\n\n```sql\n(.*?)```\n\n(.*)$")

// TestSources runs the job of every page of docs/sources with the events of its source, in a real
// process with a real engine, and compares the answers of its questions with those of the
// page. The last event of each source is malformed. The events of Segment and its batches,
// RudderStack and, mostly, CloudEvents are made by these sources' own libraries for Python
// (segment-analytics-python 2.4.0, rudder-sdk-python 2.1.9, cloudevents 2.2.0); those of Snowplow
// are read by its own (snowplow-analytics-sdk 0.2.3). The other events without a registry are written by hand: those of
// Debezium, Maxwell and Canal as the documentation of their connectors has them. Avro, Protobuf and JSON Schema are made by confluent-kafka 2.16.0 for Python, those of AWS
// Glue by aws-glue-schema-registry 1.1.3, and the last event is one that is cut.
func TestSources(t *testing.T) {
	s, registry := newStage(t), schematest.Start(t)
	for _, of := range []struct{ kind, name string }{{"AVRO", "confluent-avro"}, {"PROTOBUF", "confluent-protobuf"}} { // whose ids are 1 and 2
		schema, err := os.ReadFile(filepath.Join("testdata", "sources", of.name+".schema"))
		if err != nil {
			t.Fatal(err)
		}
		registry.Add(of.name, schematest.Schema{Type: of.kind, Text: string(schema)})
	}
	settings, err := os.ReadFile(filepath.Join(s.dir, "weir.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	head, _, _ := strings.Cut(string(settings), "jobs:")
	jobs := "jobs:\n"
	pages := map[string][]string{} // by file: the text, and what sourcePage finds in it
	sources := append(config.Sources(), "confluent-avro", "confluent-protobuf", "confluent-json-schema", "glue-avro", "segment-batches", "segment-orders", "otlp", "ga4")
	var listed []string // of the pages, the schemas that they list
	for _, source := range sources {
		file := filepath.Join("../../docs/sources", source+".md")
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		page := sourcePage.FindStringSubmatch(string(text))
		if page == nil || strings.Count(string(text), "```yaml") != 1 || !strings.Contains(page[1], "topic: "+source+"\n") {
			t.Fatalf("%s has no job of the topic %s with a question and an answer, or has several jobs", file, source)
		}
		if schema, err := os.ReadFile(filepath.Join("testdata", "sources", source+".schema")); err == nil && !strings.Contains(string(text), "\n"+string(schema)+"```\n") {
			t.Errorf("%s does not have the schema of its events:\n%s", file, schema)
		}
		if list := listedSchemas.FindStringSubmatch(page[0]); list != nil {
			listed = append(listed, list[1])
			placeSchemas(t, s, string(text), list[1])
		}
		pages[file] = append([]string{string(text)}, page[1:]...)
		jobs += strings.Replace(page[1], "    topic:", "    keep: 3660d\n    topic:", 1) // the events are of a day in the past
	}
	if files, err := filepath.Glob("../../docs/sources/*.md"); err != nil || len(files) != len(pages) {
		t.Fatalf("the pages are %q, %v; want one for each of %q", files, err, sources)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "weir.yaml"), []byte(head+"registry: {url: \""+registry.URL+"\", schemas: ["+strings.Join(listed, ", ")+"]}\n"+jobs), 0o600); err != nil {
		t.Fatal(err)
	}
	malformed := map[string]int{} // by topic, the offset
	for _, source := range sources {
		malformed[source] = produceSource(t, s, source)
	}
	s.done(t, "migrate")
	s.done(t, "run", "--until", "end")
	reasons := map[string]string{}
	letters, err := localtest.Query(s.engine, s.database, "SELECT job, offset, reason FROM weir_dead_letters FINAL ORDER BY job, offset FORMAT TSVRaw")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(letters + "\n") {
		if cells := strings.Split(strings.TrimSpace(line), "\t"); len(cells) == 3 {
			reasons[cells[0]] += cells[1] + " " + cells[2] + "\n"
		}
	}
	for file, page := range pages {
		job, sql, want := page[1], strings.TrimSpace(page[2]), strings.TrimSpace(page[3])
		name, topic := regexp.MustCompile(`name: (\w+)`).FindStringSubmatch(job)[1], regexp.MustCompile(`topic: ([\w-]+)`).FindStringSubmatch(job)[1]
		got, err := localtest.Query(s.engine, s.database, sql+" FORMAT Markdown")
		if err != nil {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		if got = strings.TrimSpace(got); *update {
			text := strings.Replace(page[0], sql+"\n```\n\n"+want, sql+"\n```\n\n"+got, 1)
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		} else if got != want {
			t.Errorf("%s\n%s\nthe page says\n%s", sql, got, want)
		}
		if dead := fmt.Sprint(malformed[topic]); !strings.HasPrefix(reasons[name], dead+" ") || strings.Count(reasons[name], "\n") != 1 {
			t.Errorf("%s has the dead letters %q, want one at offset %s", name, reasons[name], dead)
		}
	}
}

// listedSchemas finds the schemas that the configuration of a page lists.
var listedSchemas = regexp.MustCompile(`(?m)^registry: \{schemas: \[(.*)\]\}$`)

// placeSchemas puts the files of schemas that a page lists beside the configuration. The page
// shows the last one.
func placeSchemas(t *testing.T, s *stage, page, list string) {
	t.Helper()
	var last []byte
	for _, file := range regexp.MustCompile(`file: ([\w.-]+)`).FindAllStringSubmatch(list, -1) {
		schema, err := os.ReadFile(filepath.Join("testdata", "sources", file[1]))
		if err == nil {
			err = os.WriteFile(filepath.Join(s.dir, file[1]), schema, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		last = schema
	}
	if !strings.Contains(page, "\n"+string(last)+"```\n") {
		t.Errorf("the page does not have the last schema that it lists:\n%s", last)
	}
}

// produceSource writes the events of a source into its topic, and returns the offset of the
// last one.
func produceSource(t *testing.T, s *stage, source string) int {
	t.Helper()
	if _, err := kadm.NewClient(s.client).CreateTopic(await.Context(t), 1, 1, nil, source); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join("testdata", "sources", source+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var events []struct {
		Key     *string
		Headers map[string]string
		Value   *string
		Bytes   []byte // instead of Value; without either, there is none
	}
	if err := json.Unmarshal(data, &events); err != nil {
		t.Fatal(err)
	}
	var records []*kgo.Record
	for _, e := range events {
		r := &kgo.Record{Topic: source, Timestamp: time.Date(2026, 11, 20, 10, 5, 30, 0, time.UTC), Value: e.Bytes}
		if e.Value != nil {
			r.Value = []byte(*e.Value)
		}
		if e.Key != nil {
			r.Key = []byte(*e.Key)
		}
		for _, name := range slices.Sorted(maps.Keys(e.Headers)) {
			r.Headers = append(r.Headers, kgo.RecordHeader{Key: name, Value: []byte(e.Headers[name])})
		}
		records = append(records, r)
	}
	if err := s.client.ProduceSync(await.Context(t), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	return len(events) - 1
}
