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

	"weir/internal/await"
	"weir/internal/config"
	"weir/internal/local/localtest"
)

// section is a section of docs/sources.md: its job, its question, and the answer.
var section = regexp.MustCompile("(?s)```yaml\njobs:\n(.*?)```\n\n```sql\n(.*?)```\n\n(.*?)\n\n?(?:## |$)")

// TestSources runs every job of docs/sources.md with the events of its source, in a real
// process with a real engine, and compares the answers of its questions with those of the
// document. The last event of each source is malformed. The events of Segment, RudderStack and
// CloudEvents are made by these sources' own libraries for Python (segment-analytics-python 2.4.0,
// rudder-sdk-python 2.1.9, cloudevents 2.2.0); those of Snowplow are read by its own
// (snowplow-analytics-sdk 0.2.3); those of PostHog and Debezium are written by hand.
func TestSources(t *testing.T) {
	const file = "../../docs/sources.md"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s := newStage(t)
	settings, err := os.ReadFile(filepath.Join(s.dir, "weir.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	head, _, _ := strings.Cut(string(settings), "jobs:")
	document, jobs := string(text), "jobs:\n"
	var found [][]string
	for rest := document; ; {
		at := section.FindStringSubmatchIndex(rest)
		if at == nil {
			break
		}
		found = append(found, []string{rest[at[2]:at[3]], rest[at[4]:at[5]], rest[at[6]:at[7]]})
		jobs += strings.Replace(rest[at[2]:at[3]], "    topic:", "    keep: 3660d\n    topic:", 1) // the events are of a day in the past
		rest = rest[at[7]:]
	}
	if len(found) != len(config.Sources()) {
		t.Fatalf("%d sections in %s, want one for each of %q", len(found), file, config.Sources())
	}
	if err := os.WriteFile(filepath.Join(s.dir, "weir.yaml"), []byte(head+jobs), 0o600); err != nil {
		t.Fatal(err)
	}
	malformed := map[string]int{} // by topic, the offset
	for _, source := range config.Sources() {
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
			reasons[cells[0]] += cells[1] + " " + cells[2] + ";"
		}
	}
	for _, f := range found {
		job, sql, want := f[0], strings.TrimSpace(f[1]), strings.TrimSpace(f[2])
		name, topic := regexp.MustCompile(`name: (\w+)`).FindStringSubmatch(job)[1], regexp.MustCompile(`topic: (\w+)`).FindStringSubmatch(job)[1]
		got, err := localtest.Query(s.engine, s.database, sql+" FORMAT Markdown")
		if err != nil {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		if got = strings.TrimSpace(got); *update {
			document = strings.Replace(document, sql+"\n```\n\n"+want, sql+"\n```\n\n"+got, 1)
		} else if got != want {
			t.Errorf("%s\n%s\nthe document says\n%s", sql, got, want)
		}
		if dead := fmt.Sprint(malformed[topic]); !strings.HasPrefix(reasons[name], dead+" ") || strings.Count(reasons[name], ";") != 1 {
			t.Errorf("%s has the dead letters %q, want one at offset %s", name, reasons[name], dead)
		}
	}
	if *update {
		if err := os.WriteFile(file, []byte(document), 0o600); err != nil {
			t.Fatal(err)
		}
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
		Value   string
	}
	if err := json.Unmarshal(data, &events); err != nil {
		t.Fatal(err)
	}
	var records []*kgo.Record
	for _, e := range events {
		r := &kgo.Record{Topic: source, Timestamp: time.Date(2026, 11, 20, 10, 5, 30, 0, time.UTC), Value: []byte(e.Value)}
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
