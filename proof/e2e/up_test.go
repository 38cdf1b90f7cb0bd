package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"weir/demo/local/localtest"
	"weir/internal/await"
)

// An upProcess is `weir up` on ports of its own.
type upProcess struct {
	*process
	url string // of its engine
}

// startUp starts weir up and waits until its engine answers.
func startUp(t *testing.T, dir string, args ...string) *upProcess {
	t.Helper()
	p := &upProcess{process: launch(t, dir, append([]string{"up", "--data", "data", "--http.listen=127.0.0.1:0", "--flush.stop_timeout=2m"}, args...)...)}
	line := p.prints(`^engine `)
	p.url = regexp.MustCompile(`http://[^ ]+`).FindString(line)
	return p
}

func (p *upProcess) number(sql string) int64 {
	p.t.Helper()
	text, err := localtest.Query(p.url, "weir", sql)
	if err != nil {
		return -1 // the tables are not made yet
	}
	return integer(p.t, text)
}

// hits waits for more of them than there were, and returns how many.
func (p *upProcess) hits(than int64) (n int64) {
	p.t.Helper()
	await.Until(p.t, func() error { // in the ledger, which is written after the rows and is much cheaper to query than the view
		if n = p.number("SELECT sum(counted) FROM weir_ledger FINAL WHERE job = 'clicks'"); n <= than {
			return notYet("%d events counted, which is not more than %d", n, than)
		}
		return nil
	})
	if n = p.number("SELECT sum(hits) FROM clicks_1m"); n <= than {
		p.t.Fatalf("%d hits in the view, want more than %d, as the ledger has", n, than)
	}
	return n
}

// rested waits until an audit looks at everything.
func (p *upProcess) rested() {
	p.t.Helper()
	rested(p.t, func() int64 { return p.number(newest("weir_ledger")) })
}

// adds checks that rows and ledger agree, for both jobs.
func (p *upProcess) adds() {
	p.t.Helper()
	for _, job := range []string{"clicks", "locations"} {
		if n := p.number(fmt.Sprintf("SELECT toInt64((SELECT sum(hits) FROM %[1]s_1m)) - toInt64((SELECT sum(counted) FROM weir_ledger FINAL WHERE job = '%[1]s'))", job)); n != 0 {
			p.t.Errorf("%s: the view has %d hits more than the ledger counted", job, n)
		}
	}
	if n := p.number("SELECT count() FROM weir_audit"); n != 0 {
		p.t.Errorf("weir_audit has %d rows", n)
	}
}

// weir up: ctrl-C drains, and the next start continues there; two at the same
// time do not disturb each other.
func TestUp(t *testing.T) {
	parallel(t)
	dir := t.TempDir()
	p := startUp(t, dir, "--rate", "300")
	first := p.hits(0)
	p.prints(`^ready `)
	p.prints(`^counting +clicks: running, \d+ people .*, lag \d+, last flush `) // off a terminal: a line, no table

	beside := startUp(t, t.TempDir(), "--rate", "200")
	if beside.url == p.url {
		t.Fatal("two engines on one address")
	}
	beside.hits(0)
	again := p.hits(first)

	// The commands it prints work as they are printed.
	commands := regexp.MustCompile(`curl '([^']+)' -d '([^']+)'`).FindAllStringSubmatch(p.out.String(), -1)
	if len(commands) < 3 {
		t.Errorf("%d commands to try, want 3", len(commands))
	}
	for _, line := range commands {
		db := line[1][strings.LastIndex(line[1], "=")+1:]
		if _, err := localtest.Query(p.url, db, line[2]); err != nil {
			t.Errorf("%s: %v", line[0], err)
		}
	}

	for _, p := range []*upProcess{beside, p} {
		p.signal(syscall.SIGINT)
		p.exits(0)
		p.prints("^drained")
	}

	p = startUp(t, dir, "--no-gen")
	p.hits(again - 1)
	if first := p.number("SELECT toUnixTimestamp(min(began)) FROM weir_ledger FINAL"); first >= p.began.Unix() {
		t.Error("the tables are new: it counted the log again instead of going on")
	}
	p.drained()
	all := p.hits(0)
	p.rested() // nothing is written any more
	if n := p.number("SELECT sum(hits) FROM clicks_1m"); n != all {
		t.Errorf("%d hits after the start, %d later, without any traffic", all, n)
	}
	p.adds()
	p.signal(syscall.SIGINT)
	p.exits(0)

	// kill -9 of everything at once, with data from earlier starts.
	p = startUp(t, dir, "--rate", "300")
	now := p.hits(all)
	p.kill()
	p = startUp(t, dir, "--no-gen")
	p.hits(now - 1)
	p.drained()
	p.rested()
	p.adds()
	p.signal(syscall.SIGTERM)
	p.exits(0)
}

// child returns the process that runs the jobs.
func (p *upProcess) child() (pid int) {
	p.t.Helper()
	await.Until(p.t, func() error {
		all, err := filepath.Glob("/proc/[0-9]*/stat")
		if err != nil {
			return err
		}
		for _, file := range all {
			stat, err := os.ReadFile(file)
			if err != nil {
				continue // it has ended
			}
			_, after, _ := strings.Cut(string(stat), ") ")
			command, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
			if f := strings.Fields(after); len(f) > 1 && f[0] != "Z" && f[1] == strconv.Itoa(p.cmd.Process.Pid) && strings.Contains(string(command), "\x00up\x00") {
				pid, err = strconv.Atoi(filepath.Base(filepath.Dir(file)))
				return err
			}
		}
		return notYet("weir up has no child")
	})
	return pid
}

// drained waits until its jobs have made everything durable that was produced
// before the last one ended.
func (p *upProcess) drained() {
	p.t.Helper()
	url := regexp.MustCompile(`http://[^ ]+`).FindString(p.prints(`^http `))
	await.Until(p.t, func() error {
		for name, j := range statusAt(p.t, url) {
			var lag int64
			for _, at := range j.Partitions {
				lag += at.End - at.Durable
			}
			if lag > 0 || len(j.Partitions) != 4 {
				return notYet("%s is %d records behind on %d partitions", name, lag, len(j.Partitions))
			}
		}
		return nil
	})
}
