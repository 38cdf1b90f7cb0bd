//go:build prove

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"weir/demo/local/localtest"
)

// TestCookbook counts the events of docs/cookbook.md with its jobs: the window
// keys and the SQL must give the answers in the document. In make test: TestDocumentsSQL,
// which runs the SQL of all documents, and TestFormats.
func TestCookbook(t *testing.T) {
	parallel(t)
	if _, err := exec.LookPath("redis-cli"); err != nil {
		t.Fatalf("redis-cli is not installed: run `make redis`: %v", err)
	}
	page, err := os.ReadFile("../../docs/cookbook.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := func(kind string, least int) (found []string) {
		t.Helper()
		for _, m := range regexp.MustCompile("(?s)```"+kind+"\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
			found = append(found, m[1])
		}
		if len(found) < least {
			t.Fatalf("%d blocks of %s, want %d", len(found), kind, least)
		}
		return found
	}

	s := newStage(t)
	_, jobs, _ := strings.Cut(blocks("yaml", 1)[0], "jobs:")
	events := blocks("json", 2)
	for i, kind := range []string{"clicks", "locations"} {
		jobs = strings.ReplaceAll(jobs, "topic: "+kind, "topic: "+s.topic(kind))
		s.create(kind, 2)
		var records []*kgo.Record
		for n, line := range strings.Split(strings.TrimSpace(events[i]), "\n") {
			var e struct{ TS time.Time }
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Fatal(err)
			}
			records = append(records, &kgo.Record{Topic: s.topic(kind), Partition: int32(n % 2), Value: []byte(line), Timestamp: e.TS})
		}
		// On any date the events must not expire and must not be from the future.
		for key, value := range map[string]string{"retention.ms": "-1", "message.timestamp.after.max.ms": "9223372036854775807"} {
			res, err := s.admin.AlterTopicConfigs(t.Context(), []kadm.AlterConfig{{Op: kadm.SetConfig, Name: key, Value: &value}}, s.topic(kind))
			if err == nil {
				_, err = res.On(s.topic(kind), func(r *kadm.AlterConfigsResponse) error { return r.Err })
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := s.client.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	s.configure(strings.ReplaceAll(jobs, "    window: 1m\n", "    window: 1m\n    keep: 36500d\n"))
	s.migrate()
	s.untilEnd()

	answers := blocks("text", 8)
	for i, sql := range blocks("sql", 8) {
		got, err := localtest.Query(s.url, s.db, strings.TrimSpace(sql)+"\nFORMAT TSVWithNames")
		if want := strings.TrimSpace(answers[i]); err != nil || got != want {
			t.Errorf("%s\nanswers\n%s (%v), the document says\n%s", sql, got, err, want)
		}
	}

	p := s.weir("run", "--resp.listen=127.0.0.1:0")
	c := p.redis()
	for _, block := range blocks("console-live", 5) {
		var got strings.Builder
		for line := range strings.Lines(block) {
			command, ok := strings.CutPrefix(line, "$ redis-cli ")
			if !ok {
				continue
			}
			out, err := exec.CommandContext(t.Context(), "sh", "-c", fmt.Sprintf("exec redis-cli -p %s --no-raw %s", c.port, strings.TrimSpace(command))).CombinedOutput()
			if err != nil {
				t.Errorf("%s: %v", line, err)
			}
			got.WriteString(line)
			got.Write(out)
		}
		if got.String() != block {
			t.Errorf("the document says\n%s\nand redis-cli\n%s", block, got.String())
		}
	}
	for _, block := range blocks("console-http", 2) {
		command, want, _ := strings.Cut(block, "\n")
		path := strings.TrimSuffix(strings.TrimPrefix(command, "$ curl 'http://127.0.0.1:8686"), "'")
		code, got, err := p.get(path)
		asOf := regexp.MustCompile(`"as_of":"[^"]*"`)
		if got, want = asOf.ReplaceAllString(got, ""), asOf.ReplaceAllString(want, ""); err != nil || code != 200 || got != want {
			t.Errorf("%s: %d %v\n%s\nthe document says\n%s", path, code, err, got, want)
		}
	}
	// Who came back counts from now, so the document has no answer over HTTP.
	if _, got, err := p.get("/api/v1/retention?job=clicks&measure=active&unit=year&n=20"); err != nil || !strings.Contains(got, `{"at":"2026-01-01T00:00:00Z","value":8,"back":[]}`) {
		t.Errorf("who came back: %s, %v", got, err)
	}
	// What ClickHouse refuses says why.
	for path, want := range map[string]string{
		"sessions?job=clicks&measure=active&gap=30s": "gap has to be at least 60 seconds",
		"funnel?job=clicks&steps=active:/a:b":        "a text or * for the 1 group columns of job clicks",
		"retention?job=clicks&zone=Berlim":           "Berlim",
	} {
		if code, got, err := p.get("/api/v1/" + path); err != nil || code != 400 || !strings.Contains(got, want) || strings.Contains(got, "while executing") {
			t.Errorf("%s: %d %s, %v, want %s", path, code, got, err, want)
		}
	}
	p.signal(syscall.SIGTERM)
	p.exits(0)
}
