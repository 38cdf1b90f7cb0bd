package e2e

import (
	"fmt"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"weir/internal/await"
)

// Rollups are damaged in four ways: a table is emptied, rows are deleted, rows are
// replaced by older ones, wholly or only their sketches. weir verify finds each
// damage and names weir repair; weir repair mends it; then verify finds nothing,
// and the views have the numbers of before.
func TestRepairAfterDamage(t *testing.T) {
	parallel(t)
	s := newStage(t)
	s.configure(strings.Replace(fmt.Sprintf(clicksJob, s.topic("clicks")), "[1m, 1h]", "[1m, 1h, 1d]", 1))
	s.migrate()
	traffic := s.traffic("clicks", "--pages", "5", "--rate", "2000")
	more := func() {
		from := s.end("clicks")
		await.Until(t, func() error {
			if n := s.end("clicks") - from; n < 3_000 {
				return notYet("%d events more", n)
			}
			return nil
		})
	}
	more()
	s.untilEnd()
	levels := []string{"1m", "1h", "1d"}
	for _, l := range levels {
		s.sql("CREATE TABLE before_%[1]s ENGINE = Memory AS SELECT * FROM clicks_%[1]s_rollup FINAL", l)
	}
	more()
	traffic.signal(syscall.SIGTERM)
	truth := traffic.answer()
	s.untilEnd()
	idle(func() { time.Sleep(11 * time.Second) }) // what was just written is not judged
	s.weir("verify").exits(0)
	show := func() (all []string) {
		for _, l := range levels {
			for _, row := range s.sql("SELECT page, toString(window_start), hits, users, active, complete, %s FROM clicks_%s ORDER BY ALL", columnsOfUsers(), l) {
				all = append(all, l+" "+strings.Join(row, " "))
			}
		}
		return all
	}
	want := show()
	s.sameClicks(truth)
	stale := func(level, table, hits string) {
		s.sql("CREATE TABLE stale ENGINE = Memory AS SELECT b.* REPLACE (%s AS hits) FROM before_%s AS b JOIN %s AS n USING (page, window_start)", hits, level, table)
		s.sql("TRUNCATE TABLE %s", table)
		s.sql("INSERT INTO %s SELECT * FROM stale", table)
		s.sql("DROP TABLE stale")
	}
	const (
		events  = `the number of events is \d+ by the rows, and \d+ in its %s rollup`
		measure = `measure \w+ is .+ by the rows, and .+ in its %s rollup`
	)
	for _, c := range []struct {
		level, what string
		damage      func(level, table string)
		says        string
	}{
		{"1m", "emptied", func(_, table string) { s.sql("TRUNCATE TABLE %s", table) }, events},
		{"1m", "sketches of before", func(l, table string) { stale(l, table, "n.hits") }, measure},
		{"1h", "rows of before", func(l, table string) { stale(l, table, "b.hits") }, events},
		{"1d", "some rows gone", func(_, table string) {
			s.sql("ALTER TABLE %s DELETE WHERE page IN ('/p/1', '/p/3') SETTINGS mutations_sync = 1", table)
		}, events},
	} {
		table := "clicks_" + c.level + "_rollup"
		c.damage(c.level, table)
		name := fmt.Sprintf("%s, %s", table, c.what)
		out := s.weir("verify").exits(1).out.String()
		says := `(?m)^clicks: window \S+, group "/p/\d": ` + fmt.Sprintf(c.says, c.level) + "$"
		if !regexp.MustCompile(says).MatchString(out) || !strings.Contains(out, "run `weir repair`") {
			t.Errorf("%s: %s", name, out)
		}
		s.weir("repair").exits(0).prints("^clicks: " + table + `: \d+ windows recomputed`)
		s.weir("verify").exits(0).prints("^clicks: everything adds up")
		if got := show(); strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s, repaired:\n got %q\nwant %q", name, got, want)
		}
	}
	s.sameClicks(truth)
}
