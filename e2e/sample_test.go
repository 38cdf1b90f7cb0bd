package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"weir/internal/await"
)

// TestSample: weir check --sample shows the outcomes of the newest records of a
// topic, and writes nothing: no group, no offset, no row.
func TestSample(t *testing.T) {
	parallel(t)
	s := newStage(t)
	s.create("clicks", 3)
	s.create("empty", 2)
	s.create("aborted", 1)
	s.create("arrays", 1)
	s.clicks()
	at := time.Now().UTC().Truncate(time.Hour).Add(-2 * time.Hour)
	var records []*kgo.Record
	put := func(partition int32, n int, event string) {
		for range n {
			when := at.Add(time.Duration(len(records)) * time.Second)
			event := strings.ReplaceAll(event, "TS", fmt.Sprint(when.UnixMilli()))
			records = append(records, &kgo.Record{Topic: s.topic("clicks"), Partition: partition, Timestamp: when, Value: []byte(event)})
		}
	}
	const good = `{"ts":TS,"page":"/p","user_id":1}`
	put(0, 200, `{"page":`) // old: not in the sample
	put(0, 100, good)
	put(1, 40, good)
	put(2, 100, `{"page":`)
	put(2, 55, `{"ts":TS,"page":"/q","user_id":2}`)
	put(2, 5, `{"ts":TS,"page":"\"r\"","user_id":2}`)
	put(2, 30, `{"ts":TS,"url":"/p","user_id":2}`)
	put(2, 10, `{"ts":1000,"page":"/p","user_id":2}`)
	if err := s.client.ProduceSync(await.Context(t), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	check := func(code int, args ...string) (lines []string) {
		t.Helper()
		p := s.weir(append([]string{"check"}, args...)...).exits(code)
		for line := range strings.SplitSeq(p.out.tail(1000), "\n") {
			if strings.Contains(line, " sample ") {
				lines = append(lines, line)
			}
		}
		return lines
	}
	same := func(got []string, want ...string) {
		t.Helper()
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	clock := func(n int) string { return at.Add(time.Duration(n) * time.Second).Format("2006-01-02T15:04:05Z") }
	minute := func(n int) string {
		return at.Add(time.Duration(n) * time.Second).Truncate(time.Minute).Format("2006-01-02T15:04:05Z")
	}
	got := check(0, "--sample", "240")
	same(got,
		"✓ sample     job clicks: 240 records, the newest of 3 partitions: counted 200 (83.3 %), late 10 (4.2 %), malformed 30 (12.5 %)",
		"! sample     job clicks: malformed 30 (12.5 %): field page is missing, e.g. partition 2 offset 160",
		"! sample     job clicks: late 10 (4.2 %): older than the record by more than lateness, e.g. partition 2 offset 190",
		`✓ sample     job clicks: groups: ("/p") 140, ("/q") 55, ("\"r\"") 5`,
		fmt.Sprintf("✓ sample     job clicks: records were written from %s to %s; their events fall into windows from %s to %s",
			clock(200), clock(539), minute(200), minute(499+60)))

	// A throttle, or ids of dedupe: user 1 is in two partitions, user 2 in one.
	for key, want := range map[string]string{
		"throttle: {field: user_id, limit: 1000, per: 1h}": "! sample     job clicks: throttle: 1 of 2 keys (50.0 %) are in more than one partition, and each partition limits them by itself: produce with user_id as the record's key",
		"dedupe: {field: user_id, exact: true}":            "! sample     job clicks: dedupe: 1 of 2 ids (50.0 %) are in more than one partition, and each partition counts the events of an id once by itself: produce with user_id as the record's key",
		"dedupe: {field: user_id}":                         "! sample     job clicks: dedupe: 1 of 2 ids (50.0 %) are in more than one partition, and each partition counts the events of an id once by itself: produce with user_id as the record's key",
		"dedupe: {field: page}":                            "! sample     job clicks: dedupe: 1 of 3 ids (33.3 %) are in more than one partition, and each partition counts the events of an id once by itself: produce with page as the record's key",
	} {
		s.configure(fmt.Sprintf(clicksJob, s.topic("clicks")) + "    " + key + "\n")
		if got := check(1, "--sample", "240"); !slices.Contains(got, want) { // 1, because the tables are of a job without it
			t.Errorf("%s: no line %q in\n%s", key, want, strings.Join(got, "\n"))
		}
	}

	// A job that does not fit: the exit code says so, to programs too.
	s.configure(strings.Replace(fmt.Sprintf(clicksJob, s.topic("clicks")), "by: [page]", "by: [geo.page]", 1))
	p := s.weir("check", "--sample", "60", "-o", "json").exits(1)
	var findings []struct{ Tier, Subject, Result, Detail string }
	if err := json.Unmarshal([]byte(p.out.tail(1000)), &findings); err != nil {
		t.Fatal(err)
	}
	failed := false
	for _, f := range findings {
		if f.Tier == "sample" && f.Result == "failed" {
			failed = f.Detail == "60 records, the newest of 3 partitions: malformed 60 (100 %); more than half are malformed: the job does not fit what is in the topic"
		}
	}
	if !failed {
		t.Errorf("the findings are %+v", findings)
	}

	// A topic without records, and one without committed records.
	producer, err := kgo.NewClient(kgo.SeedBrokers(s.brokers...), kgo.UnknownTopicRetries(-1), kgo.TransactionalID(s.name), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer producer.Close()
	if err := producer.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	if err := producer.ProduceSync(await.Context(t), &kgo.Record{Topic: s.topic("aborted"), Value: []byte(`{"page":`)}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	if err := producer.EndTransaction(await.Context(t), kgo.TryAbort); err != nil {
		t.Fatal(err)
	}
	s.configure(fmt.Sprintf(clicksJob, s.topic("empty")), strings.Replace(fmt.Sprintf(clicksJob, s.topic("aborted")), "name: clicks", "name: views", 1))
	got = check(1, "--sample", "10") // 1, because the tables belong to another topic
	same(got,
		"! sample     job clicks: topic "+s.topic("empty")+" holds no records now: nothing to sample",
		"! sample     job views: the newest offsets of topic "+s.topic("aborted")+" hold no records (markers of transactions, or compacted away): sample more")

	s.weir("check", "--sample", "0").exits(2)
	s.weir("check", "--sample", "10", "--offline").exits(2)

	groups, err := s.admin.ListGroups(await.Context(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range groups.Groups() {
		if strings.HasPrefix(g, s.name) {
			t.Errorf("there is a group %s", g)
		}
	}
	if n := s.number("SELECT (SELECT count() FROM weir_ledger) + (SELECT count() FROM weir_dead_letters) + (SELECT count() FROM clicks_state)"); n != 0 {
		t.Errorf("%d rows were written", n)
	}
}
