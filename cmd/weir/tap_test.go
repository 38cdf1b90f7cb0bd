package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"weir/config"
	"weir/internal/await"
	"weir/window"
)

// A tapped topic is one with records of each outcome.
type tapStage struct {
	t      *testing.T
	file   string // configuration
	client *kgo.Client
}

func newTapStage(t *testing.T) *tapStage {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2, "plays"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	s := &tapStage{t: t, file: filepath.Join(t.TempDir(), "weir.yaml")}
	addr := cluster.ListenAddrs()[0]
	if s.client, err = kgo.NewClient(kgo.SeedBrokers(addr), kgo.UnknownTopicRetries(-1), kgo.DefaultProduceTopic("plays"), kgo.RecordPartitioner(kgo.ManualPartitioner())); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.client.Close)
	if err := os.WriteFile(s.file, []byte(`
kafka: {brokers: [`+addr+`]}
jobs:
  - name: plays
    topic: plays
    time: {field: ts}
    window: 1m
    lateness: 1h
    skew: 10m
    chunk: 1024
    by: [song, country]
    where: [{field: action, in: [play]}]
    dedupe: {field: id, exact: true}
    throttle: {field: user, limit: 2, per: 1h}
    measures: [{name: users, kind: hll, field: user}]
  - {name: plain, topic: plays, time: {field: ts}, window: 1m, measures: [{name: users, kind: hll, field: user}]}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

// at is the time of the record at an offset.
func at(offset int) time.Time { return time.UnixMilli(1_763_600_000_000 + int64(offset)) }

// produce writes events at the offsets that begin at first.
func (s *tapStage) produce(partition int32, first int, events ...string) {
	s.t.Helper()
	var records []*kgo.Record
	for i, e := range events {
		e = strings.ReplaceAll(e, "NOW", fmt.Sprint(at(first+i).UnixMilli()))
		records = append(records, &kgo.Record{Partition: partition, Timestamp: at(first + i), Value: []byte(e)})
	}
	if err := s.client.ProduceSync(await.Context(s.t), records...).FirstErr(); err != nil {
		s.t.Fatal(err)
	}
}

// tap returns what weir tap prints, and its notes.
func (s *tapStage) tap(code int, args ...string) (out, notes string) {
	s.t.Helper()
	var stdout, stderr bytes.Buffer
	if got := execute(await.Context(s.t), append([]string{"tap", "-c", s.file}, args...), &stdout, &stderr); got != code {
		s.t.Fatalf("weir tap %q: exit code %d, want %d\n%s%s", args, got, code, &stdout, &stderr)
	}
	return stdout.String(), stderr.String()
}

// TestTap: weir tap prints each record with the outcome that weir run gives it, in quotes
// that no group value can leave.
func TestTap(t *testing.T) {
	s := newTapStage(t)
	const good = `{"id":%q,"ts":NOW,"song":"a","country":"DE","user":%q,"action":"play"}`
	s.produce(0, 0,
		fmt.Sprintf(good, "1", "u1"),
		fmt.Sprintf(good, "1", "u2"),
		`{"id":"2","ts":1000,"song":"a","country":"DE","user":"u3","action":"play"}`,
		`{"id":"3","ts":1863600000000,"song":"a","country":"DE","user":"u3","action":"play"}`,
		`{"id":"4","ts":NOW,"user":"u3","action":"play"}`,
		`{"id":`,
		`{"id":"5","ts":NOW,"action":"buy"}`,
		fmt.Sprintf(good, "6", "u1"),
		fmt.Sprintf(good, "7", "u1"),
		`{"id":"8","ts":NOW,"song":"\u001b[2J\u001b]0;owned\u0007\r\n","country":"\u202eED\"","user":"u4","action":"play"}`,
	)
	line := func(offset int, when, outcome, rest string) string {
		return fmt.Sprintf("%9d %12d  %-24s  %-9s  %s\n", 0, offset, when, outcome, rest)
	}
	stamp := func(offset int) string { return at(offset).UTC().Format("2006-01-02T15:04:05.000Z") }
	const group = `"a", "DE"`
	head := "partition       offset  event time                outcome    group  reason\n"
	want := head +
		line(0, stamp(0), "counted", group) +
		line(1, stamp(1), "duplicate", group+"  its id was seen in this chunk or the one before") +
		line(2, "1970-01-01T00:00:01.000Z", "late", group+"  older than the record by more than lateness") +
		line(3, "2029-01-20T10:40:00.000Z", "future", group+"  newer than the record by more than skew") +
		line(4, "-", "malformed", "-  field song is missing") +
		line(5, "-", "malformed", "-  event: document ends in the middle; at byte 6") +
		line(6, "-", "filtered", "-  a condition of where does not hold") +
		line(7, stamp(7), "counted", group) +
		line(8, stamp(8), "throttled", group+"  beyond the limit of its key") +
		line(9, stamp(9), "counted", `"\x1b[2J\x1b]0;owned\a\r\n", "\u202eED\""`)
	all := []string{"--job", "plays", "--until", "end", "--from", "beginning"}
	if got, notes := s.tap(0, all...); got != want || notes != "" {
		t.Errorf("got\n%s%s\nwant\n%s", got, notes, want)
	}
	if got, _ := s.tap(0, append(all, "--outcome", "malformed,late")...); got != head+strings.Join(strings.SplitAfter(want, "\n")[3:4], "")+strings.Join(strings.SplitAfter(want, "\n")[5:7], "") {
		t.Errorf("malformed and late:\n%s", got)
	}
	if got, _ := s.tap(0, append(all, "--limit", "3")...); got != strings.Join(strings.SplitAfter(want, "\n")[:4], "") {
		t.Errorf("three lines:\n%s", got)
	}
	if got, notes := s.tap(0, "--job", "plays", "--partition", "0", "--from", "8", "--until", "end"); got != head+strings.Join(strings.SplitAfter(want, "\n")[9:], "") ||
		notes != "note: reading 8 offsets before the first one: duplicate and throttled depend on them\n" {
		t.Errorf("from an offset:\n%s%s", notes, got)
	}
	out, _ := s.tap(0, append(all, "--json", "--outcome", "counted,late,filtered")...)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 5 || lines[0] != `{"job":"plays","partition":0,"offset":0,"records":1,"record_time":"2025-11-20T00:53:20.000Z","outcome":"counted",`+
		`"event_time":"2025-11-20T00:53:20.000Z","window":"2025-11-20T00:53:00.000Z","group":{"country":"DE","song":"a"}}` {
		t.Errorf("as JSON:\n%s", out)
	}
	var last tapped
	if err := json.Unmarshal([]byte(lines[4]), &last); err != nil || last.Group["song"] != "\x1b[2J\x1b]0;owned\a\r\n" || strings.Contains(out, "\x1b") {
		t.Errorf("%v: %s", err, lines[4])
	}

	// A repeat in the chunk after that of the first, seen from there; and one that is too
	// far from it, whose chunk before is another.
	for first := 10; first < 1500; first += 298 {
		var fill []string
		for i := range 298 {
			fill = append(fill, fmt.Sprintf(good, fmt.Sprint("f", first+i), fmt.Sprint("g", first+i)))
		}
		s.produce(0, first, fill...)
	}
	s.produce(0, 1500, fmt.Sprintf(good, "6", "u5"), fmt.Sprintf(good, "6", "u5"))
	out, notes := s.tap(0, "--job", "plays", "--from", "-2", "--until", "end")
	if strings.Count(out, "duplicate") != 2 || !strings.HasPrefix(notes, "note: reading 1500 offsets before") {
		t.Errorf("the newest two:\n%s%s", notes, out)
	}
	if _, err := kadm.NewClient(s.client).DeleteRecords(t.Context(), kadm.Offsets{"plays": {0: {Topic: "plays", Partition: 0, At: 9}}}); err != nil {
		t.Fatal(err)
	}
	if out, notes = s.tap(0, "--job", "plays", "--from", "-2", "--until", "end"); strings.Count(out, "duplicate") != 1 || !strings.HasPrefix(notes, "note: partition 0 begins at offset 9: what was before it is deleted") {
		t.Errorf("the newest two without those before:\n%s%s", notes, out)
	}
	if out, notes = s.tap(0, "--job", "plain", "--from", "-2", "--until", "end"); strings.Count(out, "counted") != 2 || notes != "" {
		t.Errorf("a job without dedupe:\n%s%s", notes, out)
	}

	// It leaves nothing behind.
	if groups, err := kadm.NewClient(s.client).ListGroups(t.Context()); err != nil || len(groups) > 0 {
		t.Errorf("%v: there are groups: %v", err, groups)
	}
}

// TestTapOfNoTopic: with --until end, weir tap fails where there is no topic. It waited for one.
func TestTapOfNoTopic(t *testing.T) {
	s := newTapStage(t)
	text, err := os.ReadFile(s.file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.file, bytes.ReplaceAll(text, []byte("topic: plays"), []byte("topic: palys")), 0o600); err != nil {
		t.Fatal(err)
	}
	_, notes := s.tap(exitFailed, "--job", "plain", "--from", "beginning", "--until", "end")
	if want := "topic palys does not exist and has no end"; !strings.Contains(notes, want) {
		t.Errorf("got %s, want %s", notes, want)
	}
}

// TestTapFollows: without --until, weir tap prints what is written after its start, and
// ends with its context as fine.
func TestTapFollows(t *testing.T) {
	s := newTapStage(t)
	ctx, stop := context.WithCancel(t.Context())
	out := new(await.Output)
	ended := make(chan int, 1)
	go func() { ended <- execute(ctx, []string{"tap", "-c", s.file, "--job", "plain"}, out, out) }()
	offset := 0
	await.Until(t, func() error {
		s.produce(1, offset, `{"ts":NOW,"user":"u"}`)
		offset++
		if !strings.Contains(out.String(), "counted") {
			return fmt.Errorf("nothing yet:\n%s", out)
		}
		return nil
	})
	stop()
	if code := <-ended; code != 0 {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}

// TestTapFlags: an impossible value is a usage error that names the flag.
func TestTapFlags(t *testing.T) {
	s := newTapStage(t)
	for _, c := range []struct{ line, want string }{
		{"", "error: --job is missing; the jobs are plays, plain"},
		{"--job visits", "error: --job visits: there is no such job; the jobs are plays, plain"},
		{"--job plays --from yesterday", "error: --from yesterday: want end, beginning, an offset or -N"},
		{"--job plays --from 7", "error: --from 7: an offset is that of one partition; give --partition too"},
		{"--job plays --until noon", "error: --until noon: only `end` is known"},
		{"--job plays --limit -1", "error: --limit -1: want at least 0"},
		{"--job plays --outcome malformd", "error: --outcome malformd: is it malformed?"},
		{"--job plays --outcome gap", "error: --outcome gap: want counted, duplicate, filtered, future, late, malformed, throttled, waits"},
		{"--job plays --partition 9", "error: --partition 9: topic plays has the partitions 0 to 1"},
	} {
		if _, got := s.tap(exitUsage, strings.Fields(c.line)...); !strings.HasPrefix(got, c.want+"\n") {
			t.Errorf("weir tap %s: %s, want %s", c.line, got, c.want)
		}
	}
	if _, got := s.tap(exitFailed, "--job", "plays", "--partition", "0", "--from", "7"); !strings.HasPrefix(got, "error: --from 7: partition 0 holds the offsets 0 to 0\n") {
		t.Error(got)
	}
}

// TestPrintable: no text from data steers a terminal.
func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"":                            "",
		"/p/17 ä 東京 👍":                "/p/17 ä 東京 👍",
		"\x1b[31mred":                 `\x1b[31mred`,
		"a\r\nb\tc\x00\x7f":           `a\r\nb\tc\x00\x7f`,
		"\u009b2J":                    `\u009b2J`,
		"left\u202eright\u2066\u200b": `left\u202eright\u2066\u200b`,
		"bad \xff\xc3 bytes\x9b":      `bad \xff\xc3 bytes\x9b`,
		"\ufffd":                      "\ufffd",
	} {
		if got := printable(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestMessagesSteerNoTerminal: what a broker, a registry or ClickHouse has answered does not, in the lines of weir check
// and in an error.
func TestMessagesSteerNoTerminal(t *testing.T) {
	var out bytes.Buffer
	k := &checker{}
	k.add(diagnostic{"ledger", "job a", "warning", "two lines:\nof \x1b[2J\a", 0})
	if err := k.print(&out, false); err != nil {
		t.Fatal(err)
	}
	if want := "! ledger     job a: two lines:\nof \\x1b[2J\\a\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
	out.Reset()
	s := newSample()
	if err := s.add(&window.Verdict{Records: 1, Waits: true, Outcome: window.Malformed, Reason: "it has the type \x1b[2J\n✓"}); err != nil {
		t.Fatal(err)
	}
	k = &checker{}
	k.report(&config.Job{Name: "a"}, s, 1)
	if err := k.print(&out, false); err != nil || !strings.Contains(out.String(), `it has the type \x1b[2J\n✓`) {
		t.Errorf("%v: %q", err, out.String())
	}
	out.Reset()
	if code := execute(t.Context(), []string{"tap", "-c", "\x1b[2J"}, io.Discard, &out); code == 0 || strings.Contains(out.String(), "\x1b") {
		t.Errorf("exit code %d: %q", code, out.String())
	}
}

func FuzzPrintable(f *testing.F) {
	f.Add("\x1b[2J")
	f.Fuzz(func(t *testing.T, text string) {
		for _, r := range printable(text) {
			if r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
				t.Fatalf("%q: %q", text, printable(text))
			}
		}
	})
}
