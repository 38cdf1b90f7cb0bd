package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
)

// weir verify finds changes of the tables by hand, with their place and a
// remedy; and the remedy works.
func TestVerifyFindsAndMends(t *testing.T) {
	parallel(t)
	s := newStage(t)
	s.configure(strings.Replace(fmt.Sprintf(clicksJob, s.topic("clicks")), "chunk: 65536", "chunk: 8192", 1))
	s.migrate()
	s.produced("clicks", 40_000, "--pages", "5") // more than a chunk in each partition
	s.untilEnd()
	verify := func(code int) string {
		t.Helper()
		rested(t, func() int64 {
			return min(s.number("%s", newest("weir_ledger")), s.number("%s", newest("clicks_state")))
		})
		p := s.weir("verify").exits(code)
		return p.out.String()
	}
	finds := func(what, out string, patterns ...string) {
		t.Helper()
		for _, p := range patterns {
			if !regexp.MustCompile("(?m)" + p).MatchString(out) {
				t.Errorf("%s: no line like %q in\n%s", what, p, out)
			}
		}
	}
	// A window has events of page 3 in the first chunk of partition 0, which is slot 0.
	first := "(SELECT min(window_start) FROM clicks_state WHERE page = '/p/3' AND mapContains(hits, 0))"
	at := s.sql("SELECT formatDateTime(%s, '%%Y-%%m-%%dT%%H:%%i:%%SZ', 'UTC')", first)[0][0]
	row := "page = '/p/3' AND window_start = " + first
	s.sql("ALTER TABLE clicks_state DELETE WHERE %s SETTINGS mutations_sync = 1", row)
	s.sql("ALTER TABLE weir_ledger DELETE WHERE partition IN (1, 2) AND chunk = 0 SETTINGS mutations_sync = 1")
	// Of partition 2 the empty line is left that opened it.
	s.sql("INSERT INTO weir_ledger (job, version, epoch, partition, chunk, first, next, topic_id) SELECT job, version, epoch, partition, 0, 0, 0, topic_id FROM weir_ledger WHERE partition = 2 AND chunk = 1 LIMIT 1")
	out := verify(1)
	finds("a row and a line deleted", out,
		`^clicks: window `+at+`, group "/p/3": the number of events is \d+ in its 1m rollup, and 0 by the rows$`,
		`^clicks: partition 0, chunk 0: 8192 events were counted, the rows hold \d{4} \(offsets 0 to 8192\)$`,
		`^clicks: partition 1, chunk 0: the rows hold \d{4} events, the ledger has no line of the chunk \(offsets 0 to 8192\)$`,
		`^clicks: partition 2, chunk 0: at most 0 events were counted, the rows hold \d{4} \(offsets 0 to 8192\)$`,
		`^  state rows are gone, `, `a ledger line is gone`,
		`^  to set its offset back, .*: kafka-consumer-groups.sh --bootstrap-server \S+ --group `+s.name+`.clicks --topic `+regexp.QuoteMeta(s.topic("clicks"))+`:1 --reset-offsets --to-offset 0 --execute$`)

	var verdicts []struct {
		Job        string
		Mismatches []struct{ Class, What, Do string }
	}
	if err := json.Unmarshal([]byte(s.weir("verify", "-o", "json").exits(1).out.String()), &verdicts); err != nil || len(verdicts) != 1 || len(verdicts[0].Mismatches) < 4 || verdicts[0].Mismatches[0].Do == "" {
		t.Errorf("-o json: %+v, %v", verdicts, err)
	}

	back := kadm.Offsets{}
	for _, m := range regexp.MustCompile(`--group (\S+) --topic (\S+):(\d+) --reset-offsets --to-offset (\d+)`).FindAllStringSubmatch(out, -1) {
		back.Add(kadm.Offset{Topic: m[2], Partition: int32(integer(t, m[3])), At: integer(t, m[4]), LeaderEpoch: -1})
	}
	asked(s, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, s.admin.CommitAllOffsets(ctx, s.name+".clicks", back)
	})
	s.untilEnd()
	if out := verify(0); !strings.Contains(out, "everything adds up") {
		t.Fatalf("not mended: %s", out)
	}
}
