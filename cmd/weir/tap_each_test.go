package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"weir/internal/await"
)

// TestTapEach: where a record is an array of events, tap has a line for each event, and check --sample
// counts events.
func TestTapEach(t *testing.T) {
	s := newTapStage(t)
	config, err := os.ReadFile(s.file)
	if err != nil {
		t.Fatal(err)
	}
	brokers, _, _ := strings.Cut(strings.TrimSpace(string(config)), "\n")
	if err := os.WriteFile(s.file, []byte(brokers+`
jobs: [{name: plays, topic: plays, each: events, time: {field: ts}, window: 1m, by: [song, {name: app, field: "record:app", default: none}], dedupe: {field: id, exact: true}, measures: [{name: users, kind: hll, field: user}]}]
`), 0o600); err != nil {
		t.Fatal(err)
	}
	s.produce(0, 0,
		`{"events":[{"id":1,"ts":NOW,"song":"a","user":1},{"id":1,"ts":NOW,"song":"b","user":2},{"id":2,"ts":NOW,"song":"c"}],"app":"web"}`,
		`{"events":[]}`,
		`{"events":7}`,
		`{"events":[{"id":1,"ts":NOW,"song":"a","user":1},{"id":3,"ts":NOW,"song":"d","user":1}]}`,
	)
	line := func(offset int, when, outcome, rest string) string {
		return fmt.Sprintf("%9d %12d  %-24s  %-9s  %s\n", 0, offset, when, outcome, rest)
	}
	stamp := func(offset int) string { return at(offset).UTC().Format("2006-01-02T15:04:05.000Z") }
	const again = "  its id was seen in this chunk or the one before"
	want := line(0, stamp(0), "counted", `"a", "web" (event 1 of 3)`) +
		line(0, stamp(0), "duplicate", `"b", "web" (event 2 of 3)`+again) +
		line(0, "-", "malformed", "- (event 3 of 3)  field user is missing") +
		line(1, "-", "filtered", "-  it has no events") +
		line(2, "-", "malformed", "-  event: field events is not an array") +
		line(3, stamp(3), "duplicate", `"a", "none" (event 1 of 2)`+again) +
		line(3, stamp(3), "counted", `"d", "none" (event 2 of 2)`)
	out, _ := s.tap(0, "--partition", "0", "--from", "0", "--until", "end")
	if _, got, _ := strings.Cut(out, "\n"); got != want {
		t.Errorf("tap prints\n%swant\n%s", got, want)
	}
	out, _ = s.tap(0, "--partition", "0", "--from", "3", "--until", "end", "--json", "--outcome", "counted")
	if !strings.Contains(out, `"offset":3,"records":1,"event":2,"events":2,`) || strings.Count(out, "\n") != 1 {
		t.Errorf("tap --json prints\n%s", out)
	}
	var stdout, stderr bytes.Buffer
	execute(await.Context(t), []string{"check", "-c", s.file, "--clickhouse.urls", "http://127.0.0.1:1", "--sample", "10"}, &stdout, &stderr)
	if words := "7 events of arrays, in the newest records of 1 partitions: counted 2 (28.6 %), malformed 2 (28.6 %), duplicate 2 (28.6 %), filtered 1 (14.3 %)"; !strings.Contains(stdout.String(), words) {
		t.Errorf("check does not say %q:\n%s%s", words, &stdout, &stderr)
	}
}
