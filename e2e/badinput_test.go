package e2e

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"weir/internal/await"
)

// A record, and its expected outcome.
type sent struct {
	name    string
	value   string // {NOW} is the record's time
	outcome string // counted, or the outcome of the dead letter
	reason  string // pattern
	group   string // the group that it counts in
}

var badClicks = []sent{
	{"cut off", `{"ts":{NOW},"user_id":1,"page":"/x`, "malformed", "ends in the middle", ""},
	{"no JSON", "hello", "malformed", "JSON", ""},
	{"an array", `[{"ts":{NOW},"user_id":1,"page":"/x"}]`, "malformed", "object", ""},
	{"invalid UTF-8", "{\"ts\":{NOW},\"user_id\":1,\"page\":\"/\xff\"}", "malformed", "JSON|UTF-8", ""},
	{"the same key twice", `{"ts":{NOW},"ts":1,"user_id":1,"page":"/x"}`, "malformed", "JSON|twice|duplicate", ""},
	{"nested beyond reason", `{"ts":{NOW},"user_id":1,"page":"/x","d":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`, "malformed", "JSON|nested|deep", ""},
	{"empty", "", "malformed", ".", ""},
	{"a megabyte of nothing", strings.Repeat("x", 1_000_000), "malformed", "JSON", ""},

	{"no time", `{"user_id":1,"page":"/x"}`, "malformed", "^field ts is missing$", ""},
	{"a time in words", `{"ts":"yesterday","user_id":1,"page":"/x"}`, "malformed", "^field ts is not a number, which unit ms needs$", ""},
	{"a huge time", `{"ts":1e400,"user_id":1,"page":"/x"}`, "malformed", "^field ts is not a time", ""},
	{"no page", `{"ts":{NOW},"user_id":1}`, "malformed", "^field page is missing$", ""},
	{"a page of a megabyte", `{"ts":{NOW},"user_id":1,"page":"` + strings.Repeat("x", 1_000_000) + `"}`, "malformed", "^field page is longer", ""},
	{"no user", `{"ts":{NOW},"page":"/x"}`, "malformed", "^field user_id is missing$", ""},
	{"a user below zero", `{"ts":{NOW},"user_id":-1,"page":"/x"}`, "malformed", "^field user_id is not an unsigned integer below", ""},

	{"from 1970", `{"ts":86400000,"user_id":1,"page":"/x"}`, "late", "older", ""},
	{"from 2099", `{"ts":4070908800000,"user_id":1,"page":"/x"}`, "future", "newer", ""},

	{"a number for a page", `{"ts":{NOW},"user_id":1,"page":17}`, "counted", "", "17"},
	{"an empty page", `{"ts":{NOW},"user_id":1,"page":""}`, "counted", "", ""},
	{"escapes", `{"ts":{NOW},"user_id":1,"p\u0061ge":"\u002f\ud83d\ude00"}`, "counted", "", "/😀"},
	{"the largest user", `{"ts":{NOW},"user_id":4294967295,"page":"/max"}`, "counted", "", "/max"},
	{"a megabyte beside it", `{"filler":"` + strings.Repeat("x", 1_000_000) + `","ts":{NOW},"user_id":1,"page":"/big"}`, "counted", "", "/big"},
}

const (
	good       = 1500     // good records around the others
	maxPayload = 16 << 10 // what a dead letter keeps of its record
)

// All kinds of records that producers send: each record has its outcome, each
// that is not counted has a dead letter with a reason, and the good records
// around them are counted normally. A null value counts as an empty one.
func TestBadInput(t *testing.T) {
	parallel(t)
	s := newStage(t)
	s.clicks()
	s.create("clicks", 1)
	p := s.weir("run")

	clicks := s.mixed("clicks", `{"ts":{NOW},"user_id":7,"page":"/good"}`, badClicks)
	s.caughtUp("clicks")
	s.judged("clicks", "page", clicks, badClicks)
	for sql, want := range map[string]int64{
		"SELECT sum(hits) FROM clicks_1m WHERE page = '/good'":                      good,
		"SELECT count() FROM clicks_1m WHERE page IN ('/x', '__other__')":           0,
		"SELECT count() FROM weir_dead_letters WHERE length(payload) > 16384":       0,
		"SELECT max(users) FROM clicks_1m WHERE page = '/good'":                     1,
		"SELECT toUInt64(max(active)) FROM clicks_1m WHERE page IN ('/good', '17')": 1,
	} {
		if n := s.number("%s", sql); n != want {
			t.Errorf("%s: %d, want %d", sql, n, want)
		}
	}

	// More than 1 % were malformed: told in the log, the status and a metric.
	p.says(`"level":"WARN","msg":"[0-9]+ % of the last [0-9,]+ records of job clicks are malformed, [0-9]+ % of these: .*, e.g. partition [0-9]+ offset [0-9]+","job":"clicks"`)
	if st := p.status()["clicks"]; !strings.Contains(st.Malformed, " records of job clicks are malformed") {
		t.Errorf("the status says %q of malformed records", st.Malformed)
	}
	_, metrics, err := p.get("/metrics")
	if err != nil {
		t.Fatal(err)
	}
	bad := 0
	for _, c := range badClicks {
		if c.outcome == "malformed" {
			bad++
		}
	}
	for _, line := range []string{
		`weir_malformed_alarm{job="clicks",topic="` + s.topic("clicks") + `"} 1`,
		fmt.Sprintf(`weir_dead_letters_total{job="clicks",reason="malformed",topic="%s"} %d`, s.topic("clicks"), bad+1),
		`weir_dead_letters_total{job="clicks",reason="late",topic="` + s.topic("clicks") + `"} 1`,
		`weir_dead_letters_total{job="clicks",reason="future",topic="` + s.topic("clicks") + `"} 1`,
	} {
		if !strings.Contains(metrics, line+"\n") {
			t.Errorf("no metric %s, but\n%s", line, strings.Join(regexp.MustCompile(`(?m)^weir_(malformed|dead).*$`).FindAllString(metrics, -1), "\n"))
		}
	}
	p.signal(syscall.SIGTERM)
	p.exits(0)
	s.adds("clicks")
}

// mixed produces good records, with the others at random places among them. It
// returns the records of the others, followed by one with a null value.
func (s *stage) mixed(kind, ok string, others []sent) []*kgo.Record {
	s.t.Helper()
	now := time.Now()
	record := func(value string) *kgo.Record {
		value = strings.ReplaceAll(value, "{NOW}", fmt.Sprint(now.UnixMilli()))
		return &kgo.Record{Topic: s.topic(kind), Partition: 0, Timestamp: now, Value: []byte(value)}
	}
	var records []*kgo.Record
	for range good {
		records = append(records, record(ok))
	}
	var odd []*kgo.Record
	for _, c := range others {
		odd = append(odd, record(c.value))
	}
	odd = append(odd, record("")) // a null value: a tombstone
	odd[len(odd)-1].Value = nil
	records = append(records, odd...)
	rand.New(rand.NewPCG(1, 0)).Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
	if err := s.client.ProduceSync(await.Context(s.t), records...).FirstErr(); err != nil {
		s.t.Fatal(err)
	}
	return odd
}

// judged compares dead letters and counts with the expected outcomes.
func (s *stage) judged(job, group string, odd []*kgo.Record, others []sent) {
	s.t.Helper()
	type letter struct{ outcome, reason, payload string }
	dead := make(map[int64]letter)
	for _, row := range s.sql(`SELECT offset, outcome, reason, hex(payload) FROM weir_dead_letters FINAL WHERE job = '%s'`, job) {
		dead[integer(s.t, row[0])] = letter{row[1], row[2], row[3]}
	}
	for i, c := range append(others, sent{"a null value", "", "malformed", ".", ""}) {
		d, buried := dead[odd[i].Offset]
		delete(dead, odd[i].Offset)
		switch {
		case c.outcome == "counted" && buried:
			s.t.Errorf("%s: %s: a dead letter: %s: %s", job, c.name, d.outcome, d.reason)
		case c.outcome == "counted":
			if n := s.number("SELECT sum(hits) FROM %s_1m WHERE %s = '%s'", job, group, c.group); n != 1 {
				s.t.Errorf("%s: %s: counted %d times under %q", job, c.name, n, c.group)
			}
		case !buried:
			s.t.Errorf("%s: %s: no dead letter, want %s", job, c.name, c.outcome)
		case d.outcome != c.outcome || !regexp.MustCompile(c.reason).MatchString(d.reason):
			s.t.Errorf("%s: %s: %s: %q, want %s: %q", job, c.name, d.outcome, d.reason, c.outcome, c.reason)
		case d.payload != fmt.Sprintf("%X", odd[i].Value[:min(len(odd[i].Value), maxPayload)]):
			s.t.Errorf("%s: %s: another payload, of %d bytes", job, c.name, len(d.payload)/2)
		}
	}
	for offset, d := range dead {
		s.t.Errorf("%s: offset %d: a dead letter of a good record: %v", job, offset, d)
	}
}
