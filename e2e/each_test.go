package e2e

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"weir/internal/await"
)

// arraysJob reads records that are batches as Segment's library sends them: its times and ids
// are those of the events, and the app stands beside the array.
const arraysJob = `
  - name: arrays
    topic: %s
    format: %s
    each: batch
    time: {field: timestamp, unit: rfc3339}
    window: 1m
    rollups: [1m, 1h]
    chunk: 1024
    where: [{field: type, is_not: identify}]
    by: [page, {name: app, field: "record:app", default: none}]
    dedupe: {field: messageId, exact: true}
    measures:
      - {name: users, kind: bitmap, field: user}
      - {name: revenue, kind: sum, field: price, optional: true, scale: 2}
      - {name: apps, kind: hll, field: "record:app", optional: true}
`

// arraysTruth is what must be in the tables. It is made with the records, not from them.
type arraysTruth struct {
	records, events map[string]int64 // by outcome
	hits, cents     map[string]int64 // by page and app
	users           map[string]map[int]bool
	letters         map[[2]int64]string // by partition and offset: outcome and reason
}

// An arraysForm writes batches in a format.
type arraysForm struct {
	name   string
	event  func(kind, id string, when time.Time, page string, user, cents int) []byte // a user below 0 is missing, and cents of 0 are
	odd    [2]fault                                                                   // events that are malformed
	record func(app string, events [][]byte) []byte                                   // an empty app is missing
	faulty [4]fault                                                                   // records that are malformed
}

// A fault is bytes that are malformed, and the reason.
type fault struct{ bytes, reason string }

var arraysJSON = arraysForm{
	name: "json",
	event: func(kind, id string, when time.Time, page string, user, cents int) []byte {
		rest := ""
		if user >= 0 {
			rest = fmt.Sprintf(`,"user":%d`, user)
		}
		if cents > 0 {
			rest += fmt.Sprintf(`,"price":%d.%02d`, cents/100, cents%100)
		}
		return fmt.Appendf(nil, `{"type":"%s","messageId":"%s","timestamp":"%s","page":%q%s}`, kind, id, arraysTime(when), page, rest)
	},
	odd: [2]fault{{`[{"type":"track"}]`, "event: document is not an object"}, {`{"type":track}`, "event: invalid JSON"}},
	record: func(app string, events [][]byte) []byte {
		beside := ""
		if app != "" {
			beside = `,"app":"` + app + `"`
		}
		return fmt.Appendf(nil, `{"sentAt":1,"batch":[%s]%s}`, bytes.Join(events, []byte(",")), beside)
	},
	faulty: [4]fault{{`{"batch":{}}`, "event: field batch is not an array"}, {`{"app":"x"}`, "event: field batch is missing"},
		{`[]`, "event: document is not an object"}, {`{"batch":[{"type":"track"}`, "event: document ends in the middle"}},
}

// arraysTime is how an event has its time.
func arraysTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// arrays makes the records of a topic with three partitions.
func arrays(form *arraysForm, rng *rand.Rand, topic string, n int, now time.Time) ([]*kgo.Record, *arraysTruth) {
	truth := &arraysTruth{map[string]int64{}, map[string]int64{}, map[string]int64{}, map[string]int64{}, map[string]map[int]bool{}, map[[2]int64]string{}}
	var records []*kgo.Record
	next, seen := [3]int64{}, [3][]string{}
	for i := range n {
		p := int32(i % 3)
		at := [2]int64{int64(p), next[p]}
		next[p]++
		app, beside, name := "none", "", fmt.Sprintf("app-%d", rng.IntN(3))
		if rng.IntN(3) > 0 {
			app, beside = name, name
		}
		count := func(outcome string) {
			truth.events[outcome]++
		}
		var events [][]byte
		first, letter, more := "", "", 0 // the outcomes of the first event and of the record
		counted := false
		size := rng.IntN(12)
		if i%997 == 500 {
			size = 5000
		}
		if i%50 == 49 { // a record of which nothing is read
			f := form.faulty[i/50%4]
			truth.letters[at] = "malformed: " + f.reason
			truth.records["malformed"]++
			count("malformed")
			records = append(records, &kgo.Record{Topic: topic, Partition: p, Timestamp: now, Value: []byte(f.bytes)})
			continue
		}
		for k := range size {
			page, user, cents := fmt.Sprintf("/p/%d, ]}\"", rng.IntN(4)), rng.IntN(5000), rng.IntN(10_000)
			id := fmt.Sprintf("m%d-%d", i, k)
			when, kind := now.Add(-time.Duration(rng.IntN(240_000))*time.Millisecond), "track"
			outcome, reason := "counted", ""
			if rng.IntN(2) == 0 {
				cents = 0
			}
			var event []byte
			switch rng.IntN(40) {
			case 0:
				outcome, reason, when = "late", "older than the record by more than lateness", now.Add(-49*time.Hour)
			case 1:
				outcome, reason, when = "future", "newer than the record by more than skew", now.Add(time.Hour)
			case 2:
				outcome, kind = "filtered", "identify"
			case 3:
				if len(seen[p]) > 0 { // of this chunk or the one before
					outcome, id = "duplicate", seen[p][rng.IntN(len(seen[p]))]
				}
			case 4:
				outcome, reason, event = "malformed", form.odd[0].reason, []byte(form.odd[0].bytes)
			case 5:
				outcome, reason, event = "malformed", form.odd[1].reason, []byte(form.odd[1].bytes)
			case 6:
				outcome, reason, user = "malformed", "field user is missing", -1
			}
			if event == nil {
				event = form.event(kind, id, when, page, user, cents)
			}
			events = append(events, event)
			count(outcome)
			if k == 0 {
				first = outcome
			}
			switch outcome {
			case "counted":
				counted = true
				if seen[p] = append(seen[p], id); len(seen[p]) > 100 {
					seen[p] = seen[p][1:]
				}
				key := page + " " + app
				truth.hits[key]++
				truth.cents[key] += int64(cents)
				if truth.users[key] == nil {
					truth.users[key] = map[int]bool{}
				}
				truth.users[key][user] = true
			case "late", "future", "malformed":
				if letter != "" {
					more++
					break
				}
				letter = fmt.Sprintf("%s: %s; event %d of %d in the record", outcome, reason, k+1, size)
			}
		}
		if more > 0 {
			letter += fmt.Sprintf(", which has %d more that are late, future or malformed", more)
		}
		switch {
		case counted:
			first = "counted"
		case size == 0:
			first = "filtered"
		}
		truth.records[first]++
		if letter != "" {
			truth.letters[at] = letter
		}
		records = append(records, &kgo.Record{Topic: topic, Partition: p, Timestamp: now, Value: form.record(beside, events)})
	}
	return records, truth
}

// TestEach: of records that are arrays of events, in a real process that is killed, hits,
// measures, outcomes of records and of events, and dead letters are those that the records were
// made with; verify finds nothing, and then each planted mistake, in either number of the ledger.
func TestEach(t *testing.T) {
	parallel(t)
	testEach(t, &arraysJSON, 9000, "")
}

func testEach(t *testing.T, form *arraysForm, n int, config string) {
	s := newStage(t)
	s.configure(fmt.Sprintf(arraysJob, s.topic("arrays"), form.name), config)
	s.migrate()
	s.create("arrays", 3)
	now := time.Now().Truncate(time.Millisecond)
	rng := rand.New(rand.NewPCG(20, 0))
	records, truth := arrays(form, rng, s.topic("arrays"), n, now)
	client, err := kgo.NewClient(append(s.client.Opts(), kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	produce := func(records []*kgo.Record) {
		if err := client.ProduceSync(await.Context(t), records...).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	half := len(records) / 2
	produce(records[:half])
	p := s.weir("run")
	s.passes("arrays", int64(half/2)) // somewhere in the middle of a chunk
	p.kill()
	produce(records[half:])
	s.untilEnd()

	for outcome, want := range truth.records {
		if got := s.number("SELECT toInt64(sum(%s)) FROM weir_ledger FINAL", outcome); got != want || want == 0 {
			t.Errorf("%d records are %s, want %d", got, outcome, want)
		}
	}
	all := int64(0)
	for outcome, want := range truth.events {
		all += want
		if got := s.number("SELECT toInt64(sum(events_%s)) FROM weir_ledger FINAL", outcome); got != want || want == 0 {
			t.Errorf("%d events are %s, want %d", got, outcome, want)
		}
	}
	if got := s.number("SELECT toInt64(sum(events)) FROM weir_ledger FINAL"); got != all {
		t.Errorf("%d events, want %d", got, all)
	}
	if got := s.number("SELECT toInt64(sum(hits)) FROM arrays_1h"); got != truth.events["counted"] {
		t.Errorf("%d hits, want the %d events counted", got, truth.events["counted"])
	}
	rows := s.sql("SELECT key, hits, cents, users FROM (SELECT page || ' ' || app AS key, sum(hits) AS hits, toInt64(sum(revenue) * 100) AS cents FROM arrays_1h GROUP BY key) AS v" +
		" INNER JOIN (SELECT page || ' ' || app AS key, groupBitmapMerge(users) AS users FROM arrays_state GROUP BY key) AS s USING key")
	if len(rows) != len(truth.hits) {
		t.Errorf("%d groups, want %d", len(rows), len(truth.hits))
	}
	for _, row := range rows {
		want := fmt.Sprintf("[%d %d %d]", truth.hits[row[0]], truth.cents[row[0]], len(truth.users[row[0]]))
		if got := fmt.Sprint(row[1:]); got != want {
			t.Errorf("%s: %s, want %s", row[0], got, want)
		}
	}
	letters := s.sql("SELECT toInt64(partition), offset, outcome || ': ' || reason FROM weir_dead_letters FINAL")
	if len(letters) != len(truth.letters) {
		t.Errorf("%d dead letters, want %d", len(letters), len(truth.letters))
	}
	for _, l := range letters {
		if at := [2]int64{integer(t, l[0]), integer(t, l[1])}; truth.letters[at] != l[2] {
			t.Errorf("partition %d, offset %d: %s, want %s", at[0], at[1], l[2], truth.letters[at])
		}
	}

	verify := func(code int) string {
		t.Helper()
		rested(t, func() int64 {
			return min(s.number("%s", newest("weir_ledger")), s.number("%s", newest("arrays_state")))
		})
		return s.weir("verify").exits(code).out.String()
	}
	if out := verify(0); !strings.Contains(out, "arrays: everything adds up") {
		t.Fatalf("verify says %s", out)
	}
	plant := func(partition int, column string) {
		s.sql("INSERT INTO weir_ledger (job, version, epoch, partition, chunk, first, %s) SELECT job, version, epoch, partition, chunk, first, max(%s) + 1 FROM weir_ledger WHERE partition = %d AND chunk = 1 GROUP BY ALL", column, column, partition)
	}
	plant(0, "events_counted")
	plant(1, "events_filtered")
	plant(2, "counted")
	out := verify(1)
	for _, words := range []string{
		"arrays: partition 0, chunk 1: the events of the ledger line", "events were counted, the rows hold", "arrays: partition 1, chunk 1: the events of the ledger line",
		"arrays: partition 2, chunk 1: the ledger line spans 1024 offsets, but its outcomes sum up to 1025",
	} {
		if !strings.Contains(out, words) {
			t.Errorf("verify does not say %q:\n%s", words, out)
		}
	}
}
