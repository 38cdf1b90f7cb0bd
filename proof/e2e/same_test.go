//go:build prove

package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"weir/demo/gen"
	"weir/internal/await"
)

// configureLike writes the configuration of a stage on a single engine for a stage on other servers,
// which stand in the form of the key clickhouse. Its consumer group is the same name with group behind it.
func (s *stage) configureLike(one *stage, servers, group string) {
	s.t.Helper()
	config, err := os.ReadFile(filepath.Join(one.dir, "weir.yaml"))
	if err != nil {
		s.t.Fatal(err)
	}
	text := string(config)
	for was, is := range map[string]string{
		fmt.Sprintf("clickhouse: {urls: %q, database: %s}", one.url, one.db): "clickhouse: {" + servers + "}",
		"group: " + one.name + ",": "group: " + one.name + "-" + group + ",",
	} {
		if strings.Count(text, was) != 1 {
			s.t.Fatalf("not one %q in\n%s", was, text)
		}
		text = strings.Replace(text, was, is, 1)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "weir.yaml"), []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// pages returns the number of pages of a truth.
func pages(truth *gen.Truth) int {
	all := map[string]bool{}
	for g := range truth.Counts {
		all[g.Name] = true
	}
	return len(all)
}

// sameAnswers compares the live answers of two stages, which have counted the same and come from
// ClickHouse, because the processes that give them have counted nothing.
func sameAnswers(t *testing.T, a, b *stage, truth *gen.Truth) {
	t.Helper()
	first, last := truth.Groups()[0].Window, truth.Groups()[0].Window
	for _, g := range truth.Groups() {
		first, last = min(first, g.Window), max(last, g.Window)
	}
	span := fmt.Sprintf("from=%s&until=%s", time.UnixMilli(int64(first)).UTC().Format(time.RFC3339), time.UnixMilli(int64(last)+60_000).UTC().Format(time.RFC3339))
	x, y := a.weir("run"), b.weir("run")
	for _, path := range []string{
		"/api/v1/series?step=1h&" + span, "/api/v1/series?step=1h&measure=users&" + span, "/api/v1/series?step=1h&measure=active&" + span,
		"/api/v1/top?" + span, "/api/v1/top?measure=users&" + span, "/api/v1/series?step=1h&measure=users&by.page=/p/3&" + span,
	} {
		answer := func(p *process) (v map[string]any) {
			await.Until(t, func() error {
				code, body, err := p.get(path)
				if err != nil || code != http.StatusOK {
					return notYet("%s: %d %s %v", path, code, body, err)
				}
				v = nil
				if err := json.Unmarshal([]byte(body), &v); err != nil {
					return err
				}
				if v["partial"] != nil {
					return notYet("%s is partial", path)
				}
				delete(v, "as_of")
				return nil
			})
			return v
		}
		if got, want := fmt.Sprint(answer(x)), fmt.Sprint(answer(y)); got != want {
			t.Errorf("%s\n%s of shards\n%s of one engine", path, got, want)
		}
	}
	for _, p := range []*process{x, y} {
		p.signal(syscall.SIGTERM)
		p.exits(0)
	}
}

func firstDifference(before, after [][]string) string {
	for i := range min(len(before), len(after)) {
		if !slices.Equal(before[i], after[i]) {
			return fmt.Sprintf("row %d was %v and is %v", i, before[i], after[i])
		}
	}
	return fmt.Sprintf("%d rows before, %d after", len(before), len(after))
}
