//go:build prove

package e2e

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"weir/config"
	"weir/internal/await"
)

// weir up --history counts traffic of the days before, all of it and once, keeps its log,
// and makes none where there are records. In make test: TestUp.
func TestUpHistory(t *testing.T) {
	parallel(t)
	dir := t.TempDir()
	// It begins at noon, two days ago or the day before if midnight passes meanwhile: that day has
	// people, whatever the time is, and the next one is over.
	hours := int64(36 + time.Now().Hour())
	history, clicks := config.Duration(time.Duration(hours)*time.Hour).String(), hours*3600*2
	p := startUp(t, dir, "--rate", "1", "--history", history)
	p.prints(fmt.Sprintf(`^history +%s: first come %d clicks and %d locations`, history, clicks, clicks/2))
	began, ended := p.began.Unix()/3600, time.Now().Unix()/3600 // the history ends between these hours
	await.Until(t, func() error {
		if n := p.number("SELECT sum(counted + malformed) FROM weir_ledger FINAL WHERE job = 'clicks'"); n <= clicks {
			return notYet("%d clicks are read, and the history alone has %d", n, clicks)
		}
		return nil
	})
	// An hour has 7,200 clicks; few of them cannot be read, and few more happened up to 2 s
	// before its end and came after it.
	if n, want := p.number(fmt.Sprintf("SELECT count() FROM (SELECT intDiv(toUnixTimestamp(window_start), 3600) AS hour, sum(hits) AS n FROM clicks_1m WHERE hour > %d AND hour < %d GROUP BY hour HAVING n BETWEEN 7000 AND 7200 + 8)", ended-hours, began)), began-(ended-hours)-1; n != want {
		t.Errorf("%d hours have 7,200 clicks, want %d", n, want)
	}
	p.signal(syscall.SIGINT)
	p.exits(0)

	p = startUp(t, dir, "--rate", "1", "--history", history)
	p.prints(`^history +none is made: data has a log already`)
	p.prints(`^ready `)
	p.signal(syscall.SIGINT)
	p.exits(0)

	p = startUp(t, dir, "--no-gen")
	p.hits(clicks / 2)
	p.drained()
	p.rested()
	p.adds()
	if n := p.number("SELECT sum(counted) FROM weir_ledger FINAL WHERE job = 'clicks'"); n > clicks+clicks/10 {
		t.Errorf("%d clicks are counted: the history came twice", n)
	}
	p.signal(syscall.SIGINT)
	p.exits(0)
}
