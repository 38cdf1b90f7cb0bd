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
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"weir/internal/await"
	"weir/internal/browsertest"
	"weir/internal/config"
	"weir/internal/local/localtest"
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

// boundedLog checks that the log of generated traffic does not grow without end.
func (p *upProcess) boundedLog(topic string) {
	p.t.Helper()
	broker := regexp.MustCompile(`(?m)^broker +(\S+)`).FindStringSubmatch(p.out.String())[1]
	cl, err := kgo.NewClient(kgo.SeedBrokers(broker))
	if err != nil {
		p.t.Fatal(err)
	}
	defer cl.Close()
	configs, err := kadm.NewClient(cl).DescribeTopicConfigs(p.t.Context(), topic)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, c := range configs[0].Configs {
		if c.Key == "retention.bytes" {
			if n, err := strconv.Atoi(c.MaybeValue()); err != nil || n <= 0 {
				p.t.Errorf("retention.bytes of %s is %q", topic, c.MaybeValue())
			}
			return
		}
	}
	p.t.Errorf("%s has no retention.bytes: %v", topic, configs[0].Configs)
}

// weir up: ctrl-C drains, and the next start continues there; two at the same
// time do not disturb each other.
func TestUp(t *testing.T) {
	parallel(t)
	dir := t.TempDir()
	p := startUp(t, dir, "--rate", "300")
	first := p.hits(0)
	p.prints(`^ready `)
	p.prints(`^clicks +running`) // the live table
	p.prints(`^/p/1 +[1-9][\d,]* `)
	p.boundedLog("clicks")

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

// weir up --history counts traffic of the days before, all of it and once, keeps its log,
// and makes none where there are records.
func TestUpHistory(t *testing.T) {
	browsertest.Wanted(t)
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
	p.cameBack()
	p.boundedLog("clicks")
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

// cameBack compares the days of the page's tile with clicks_retention_total: the first day,
// and who of its people came back on the second, which is over too.
func (p *upProcess) cameBack() {
	p.t.Helper()
	base := regexp.MustCompile(`http://[^ ]+`).FindString(p.prints(`^http `))
	b := browsertest.Open(p.t, browsertest.Size{Width: 1280, Height: 900})
	b.Visit(base + "/?step=day")
	zone := b.Text("Intl.DateTimeFormat().resolvedOptions().timeZone")
	sql := fmt.Sprintf("SELECT formatDateTime(toTimeZone(window_start, '%s'), '%%m-%%d'), cohort, returned FROM clicks_retention_total(measure='active', from=toString(today() - 7), to=toString(today() + 2), unit='day', zone='%[1]s') WHERE later > window_start ORDER BY window_start, later LIMIT 1 FORMAT TSV", zone)
	await.Until(p.t, func() error {
		text, err := localtest.Query(p.url, "weir", sql)
		if err != nil {
			return err
		}
		day := strings.Split(strings.TrimSpace(text), "\t")
		if len(day) != 3 || len(day[2]) < 4 {
			return notYet("%q came back, want some thousands", text)
		}
		want := fmt.Sprintf("%s|%s|%s of %s", day[0], day[1], day[2], day[1])
		const first = `(() => { const r = document.querySelector("#returning tbody tr"); return r ? [...r.querySelectorAll("th, td.n")].map((e) => e.textContent).join("|") + "|" + r.querySelector("td.cell")?.title : "no row"; })()`
		if got := strings.ReplaceAll(b.Text(first), ",", ""); got != want {
			return notYet("the first row of the page is %q, want %q", got, want)
		}
		return nil
	})
	for column, want := range map[int]string{3: "+1 day", 4: "+2 days"} {
		if got := b.Text(fmt.Sprintf(`document.querySelector("#returning thead th:nth-child(%d)").textContent`, column)); got != want {
			p.t.Errorf("column %d is %q, want %q", column, got, want)
		}
	}
	for _, step := range []string{"week", "month"} {
		b.Visit(base + "/?step=" + step)
		b.Until(fmt.Sprintf(`document.querySelector("#returning .note")?.textContent.includes("each %s in") && document.querySelector("#returning tbody td.n")`, step))
	}
	b.Visit(base + "/?step=day")
	b.Until(`document.querySelector("#returning td.cell")`)
	b.Picture(filepath.Join("..", "bin", "page", "history.png"))
	b.Resize(browsertest.Size{Width: 320, Height: 700})
	if wide := b.Text("document.documentElement.scrollWidth"); wide != "320" {
		p.t.Errorf("a window of 320 pixels scrolls over %s", wide)
	}
	b.Picture(filepath.Join("..", "bin", "page", "history-320.png"))
	b.Accessible("history")
	b.Clean(strings.TrimPrefix(base, "http://"))
}

// worker returns the process that runs the jobs.
func (p *upProcess) worker() (pid int) {
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
		return notYet("weir up has no worker")
	})
	return pid
}

// TestUpWorkerDies: kill -9 of the process that runs the jobs of weir up, while traffic
// flows. Another one catches up, and weir up says what it cost: nothing, by the audit.
func TestUpWorkerDies(t *testing.T) {
	parallel(t)
	p := startUp(t, t.TempDir(), "--rate", "300")
	before := p.hits(0)
	p.prints(`^ready `)
	for range 2 {
		pid := p.worker()
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		for _, state := range []string{"starts", "answers after .* and catches up", "has caught up after .*; the audit compares log, ledger and rows"} {
			p.prints(fmt.Sprintf(`^worker +process %d died of signal 9; another one %s …`, pid, state))
		}
		line := p.prints(fmt.Sprintf(`^worker +process %d died of signal 9 at `, pid))
		if !regexp.MustCompile(`: no answer for \d+\.\d s, caught up after \d+\.\d s; the audit of log, ledger and rows says: 0 lost, 0 doubled$`).MatchString(strings.TrimSpace(line)) {
			t.Error(line)
		}
		before = p.hits(before)
	}
	p.signal(syscall.SIGINT)
	p.exits(0)
	p.prints("^drained")
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

// The user's own configuration runs on the embedded parts too, at its addresses;
// a taken port is an error and not replaced.
func TestUpConfigured(t *testing.T) {
	parallel(t)
	s := newStage(t)
	s.configure(fmt.Sprintf(clicksJob, "visits"))
	data := filepath.Join(t.TempDir(), "deep", "data")
	launch(t, s.dir, "up", "-c", "weir.yaml", "--no-gen", "--data", data).exits(1).
		says(`^error: kafka.brokers ` + s.brokers[0] + `: the port is taken by another process`)
	launch(t, s.dir, "up", "-c", "weir.yaml", "--kafka.brokers=127.0.0.1:0", "--no-gen", "--data", data).exits(1).
		says(`^error: clickhouse.urls ` + strings.TrimPrefix(s.url, "http://") + `: the port is taken by another process`)
	at := closedPort(t)
	p := launch(t, s.dir, "up", "-c", "weir.yaml", "--kafka.brokers="+at, "--clickhouse.urls=http://127.0.0.1:0", "--no-gen", "--data", data)
	if line := p.prints(`^broker `); !strings.Contains(line, at) {
		t.Errorf("kafka.brokers is %s, and %s", at, line)
	}
	url := regexp.MustCompile(`http://[^ ]+`).FindString(p.prints(`^engine `))
	broker := regexp.MustCompile(`127[^ ]+`).FindString(p.prints(`^broker `))
	p.prints(`^ready `)
	launch(t, s.dir, "gen", "--kafka.brokers", broker, "--topic", "visits", "--kind", "clicks", "--rate", "0", "--events", "3000").exits(0)
	await.Until(t, func() error {
		text, err := localtest.Query(url, s.db, "SELECT sum(hits) FROM clicks_1m")
		if err != nil || text != strconv.Itoa(3000) {
			return notYet("%s %v", text, err)
		}
		return nil
	})
	p.signal(syscall.SIGTERM)
	p.exits(0)
}
