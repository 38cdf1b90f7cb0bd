package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"weir/internal/await"
)

// sampled returns the lines of weir check --sample about the values of a job, which has these keys besides its name and topic.
func (s *tapStage) sampled(job string) string {
	s.t.Helper()
	config, err := os.ReadFile(s.file)
	if err != nil {
		s.t.Fatal(err)
	}
	head, _, _ := strings.Cut(string(config), "jobs:")
	if err := os.WriteFile(s.file, []byte(head+"jobs: [{name: plays, topic: plays, window: 1m, "+job+"}]\n"), 0o600); err != nil {
		s.t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	execute(await.Context(s.t), []string{"check", "-c", s.file, "--clickhouse.urls", "http://127.0.0.1:1", "--sample", "100"}, &stdout, &stderr)
	var lines []string
	for line := range strings.Lines(stdout.String() + stderr.String()) {
		mark, text, ok := strings.Cut(line, " sample     job plays: ")
		if ok && !strings.Contains(text, "the newest") && !strings.Contains(text, "records were written") && !strings.HasPrefix(text, "groups: ") && !strings.HasPrefix(text, "malformed ") {
			lines = append(lines, mark+" "+text)
		}
	}
	if lines == nil {
		s.t.Logf("%s%s", &stdout, &stderr)
	}
	return strings.Join(lines, "")
}

// TestSampleValues: check --sample says how many events give each measure a value, and what is odd about the values and the
// paths.
func TestSampleValues(t *testing.T) {
	s := newTapStage(t)
	for i, value := range []string{
		`{"ts":NOW,"who":"","p":59.97,"log.level":"x","properties":{"revenue":1,"products":[{"sku":"a"},{"sku":"b"}]},"userId":"u"}`,
		`{"ts":NOW,"who":"a","p":"59.970000000000006","properties":{"revenue":2,"products":[{"sku":"a"},{"sku":"b"},{"sku":"c"}]}}`,
		`{"ts":NOW,"who":"\"a\"","p":"BOI="}`,
		`{"ts":NOW,"who":null,"p":"0.125","properties":"{\"plan\":\"pro\"}"}`,
		`{"ts":NOW,"who":"a"`,
		`{"ts":"x","who":"\"b\""}`,
	} {
		s.produce(int32(i%2), i, value)
	}
	for _, c := range []struct{ job, want string }{
		{`time: {field: ts}, measures: [{name: users, kind: hll, field: who, optional: true}, {name: sum, kind: sum, field: p, scale: 2, round: true, bad: skip}, {name: plain, kind: max, field: p, bad: skip}]`,
			"! 4 counted events, of which have a value for users 3 (1 empty, 1 in quotes), sum 3 (1 skipped besides, 2 rounded), plain 3 (1 skipped besides)\n"},
		{`time: {field: ts}, measures: [{name: users, kind: hll, field: [who, userId], apply: unquote, optional: true}]`, "✓ 4 counted events, of which have a value for users 3\n"},
		// Misspelt in a measure's field, in its condition, in an optional field, in a list, and in the time, where all is malformed.
		{`time: {field: ts}, measures: [{name: r, kind: sum, field: properties.revnue, optional: true}]`,
			"✓ 4 counted events, of which have a value for r 0\n! no record has a value at properties.revnue; the nearest path with one is properties.revenue\n"},
		{`time: {field: ts}, measures: [{name: r, kind: hll, field: userid, optional: true}, {name: v, kind: hll, field: ts, where: [{any: [{field: proprties.revenue, above: 0}, {not: {field: log.level, exists: true}}]}]}]`,
			`✓ 4 counted events, of which have a value for r 0, v 4
! no record has a value at log.level; the nearest path with one is "log.level"
! no record has a value at proprties.revenue; the nearest path with one is properties.revenue
! no record has a value at userid; the nearest path with one is userId
`},
		{`time: {field: ts}, measures: [{name: r, kind: hll, field: [plan, who, other.xyz, "properties.products[key=z].sku"], optional: true}]`,
			"! 4 counted events, of which have a value for r 2 (1 in quotes)\n! no record has a value at plan; the nearest path with one is properties[json].plan\n"},
		{`time: {field: t}`, ""},
		{`time: {field: properties.ts}`, "! no record has a value at properties.ts; the nearest path with one is ts\n"},
		// Beside an element.
		{`time: {field: ts}, by: [{name: sku, field: "properties.products[0].sku", default: none}]`,
			"! left out: 3 elements of properties.products, because the job names others by their index; [key=value] finds an element by a key, and each reads all\n"},
		{`time: {field: ts}, by: [{name: sku, field: ["properties.products[2].skuu", "properties.products[0].sku", "properties.products[1].skuu"], default: none}]`,
			"! no record has a value at properties.products[1].skuu; the nearest path with one is properties.products[1].sku\n! no record has a value at properties.products[2].skuu; the nearest path with one is properties.products[2].sku\n"},
	} {
		if got := s.sampled(c.job); got != c.want {
			t.Errorf("%s:\n%swant\n%s", c.job, got, c.want)
		}
	}
}

// TestSampleEach: paths and elements in arrays of events, in their records, in keys and in headers.
func TestSampleEach(t *testing.T) {
	s := newTapStage(t)
	record := &kgo.Record{Timestamp: at(0), Key: []byte(`{"tenant":"x"}`), Headers: []kgo.RecordHeader{{Key: "source", Value: []byte("app")}},
		Value: fmt.Appendf(nil, `{"sent":1,"a":[{"b":[{"spans":[{"ts":%[1]d,"n":"x","tags":[1,2,3]},{"ts":%[1]d}]},{"spans":[{"ts":%[1]d}]}]},{"b":[{"spans":[{"ts":%[1]d}]}]}],"odd":[1,2]}`, at(0).UnixMilli())}
	if err := s.client.ProduceSync(await.Context(t), record).FirstErr(); err != nil {
		t.Fatal(err)
	}
	const names = ", because the job names others by their index; [key=value] finds an element by a key, and each reads all\n"
	for _, c := range []struct{ job, want string }{
		{`each: "a[0].b[0].spans", time: {field: ts}, by: [{name: n, field: name, default: none}, {name: s, field: sent, default: none}]`,
			"! left out: 1 element of record:a[0].b" + names + "! left out: 1 element of record:a" + names + "! no record has a value at sent; the nearest path with one is record:sent\n"},
		{`each: "a[].b[].spans", time: {field: ts}, by: [{name: n, field: nn, default: none}, {name: t, field: "tags[0]", default: none}, {name: k, field: key.tenent, default: none}, {name: h, field: "header:sourc", default: none}, {name: r, field: "record:odd[1]", default: none}]`,
			"! left out: 1 element of record:odd" + names + "! left out: 2 elements of tags" + names +
				"! no record has a value at header:sourc; the nearest path with one is header:source\n! no record has a value at key.tenent; the nearest path with one is key.tenant\n"},
	} {
		if got := s.sampled(c.job); got != c.want {
			t.Errorf("%s:\n%swant\n%s", c.job, got, c.want)
		}
	}
}

// TestSampleTimeless: records of 1970 are named, because of their events none is late or future.
func TestSampleTimeless(t *testing.T) {
	s := newTapStage(t)
	for _, ms := range []int64{at(0).UnixMilli() / 1000, at(0).UnixMilli(), 7} {
		record := &kgo.Record{Timestamp: time.UnixMilli(ms), Value: fmt.Appendf(nil, `{"ts":%d}`, at(0).UnixMilli())}
		if err := s.client.ProduceSync(await.Context(t), record).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	const want = "! 2 events are of records without a time of their own: it is missing, or of January 1970 because the producer gave seconds; none of them is late or future\n"
	if got := s.sampled("time: {field: ts}"); got != want {
		t.Errorf("check says\n%s", got)
	}
}
