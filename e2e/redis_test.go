package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"weir/event"
	"weir/gen"
	"weir/internal/await"
)

// A cli sends commands to one process's Redis endpoint with redis-cli.
type cli struct {
	t    *testing.T
	of   *process
	port string
}

// redis is the endpoint of a process that runs with resp.listen.
func (p *process) redis() *cli {
	p.t.Helper()
	var line struct{ RESP string }
	said := p.says(`"msg":"weir runs"`)
	if err := json.Unmarshal([]byte(said), &line); err != nil || line.RESP == "" {
		p.t.Fatalf("no resp address in %q", said)
	}
	return &cli{p.t, p, line.RESP[strings.LastIndexByte(line.RESP, ':')+1:]}
}

// ask sends commands, one a line, and returns the lines of the answers.
func (c *cli) ask(commands ...string) []string {
	c.t.Helper()
	cmd := exec.CommandContext(c.t.Context(), "redis-cli", "-p", c.port)
	cmd.Stdin = strings.NewReader(strings.Join(commands, "\n") + "\n")
	out, err := cmd.CombinedOutput()
	if err != nil {
		c.t.Fatalf("redis-cli: %v\n%s", err, out)
	}
	// An empty line comes after an error.
	return slices.DeleteFunc(strings.Split(string(out), "\n"), func(line string) bool { return line == "" })
}

// expects are commands, each with its expected one-line answer.
type expects [][2]string

func (e *expects) add(command string, want any) {
	*e = append(*e, [2]string{command, fmt.Sprint(want)})
}

// differ returns an error that names the different answers.
func (c *cli) differ(e expects) error {
	c.t.Helper()
	var commands []string
	for _, x := range e {
		commands = append(commands, x[0])
	}
	got := c.ask(commands...)
	if len(got) != len(e) {
		return notYet("%d lines of answers to %d commands: %q", len(got), len(e), got)
	}
	for i, x := range e {
		if got[i] != x[1] {
			return notYet("%s: %s answers %q, want %q", c.of.name, x[0], got[i], x[1])
		}
	}
	return nil
}

func stamp(w event.Time) string { return time.UnixMilli(int64(w)).UTC().Format("20060102T1504Z") }

// span is the range of all windows of a truth, in the form of a key.
func span(t *gen.Truth) string {
	groups := t.Groups()
	first, last := groups[0].Window, groups[0].Window
	for _, g := range groups {
		first, last = min(first, g.Window), max(last, g.Window)
	}
	return stamp(first) + ".." + stamp(last)
}

// clicksQuestions are commands about a clicks job, with the true answers.
func clicksQuestions(truth *gen.Truth) (e expects) {
	all := map[uint32]int64{}
	byPage := map[string]map[uint32]int64{}
	var hits int64
	for g, c := range truth.Counts {
		maps.Copy(all, c.Users)
		if byPage[g.Name] == nil {
			byPage[g.Name] = map[uint32]int64{}
		}
		maps.Copy(byPage[g.Name], c.Users)
		hits += c.Hits
	}
	at := span(truth)
	e.add("GET w:clicks:hits:"+at, hits)
	e.add("PFCOUNT w:clicks:users:"+at+":*", reference(all).Count())
	e.add("BITCOUNT w:clicks:active:"+at, len(all))
	some := slices.Min(slices.Collect(maps.Keys(all)))
	e.add(fmt.Sprintf("GETBIT w:clicks:active:%s %d", at, some), 1)
	e.add(fmt.Sprintf("BF.EXISTS w:clicks:seen:%s %d", at, some), 1)
	e.add("TYPE w:clicks:seen:"+at, "MBbloom--")
	for _, page := range []string{"/p/1", "/p/7"} {
		e.add("PFCOUNT w:clicks:users:"+at+":"+page, reference(byPage[page]).Count())
	}
	groups := truth.Groups()
	for i := 0; i < len(groups); i += len(groups)/15 + 1 {
		g := groups[i]
		key := func(measure string) string { return fmt.Sprintf("w:clicks:%s:%s:%s", measure, stamp(g.Window), g.Name) }
		e.add("GET "+key("hits"), truth.Counts[g].Hits)
		e.add("PFCOUNT "+key("users"), reference(truth.Counts[g].Users).Count())
		e.add("BITCOUNT "+key("active"), len(truth.Counts[g].Users))
	}
	// Merges into scratch keys, and commands on these.
	e.add("PFMERGE copy w:clicks:users:"+at, "OK")
	e.add("PFCOUNT copy", reference(all).Count())
	both := 0
	for u := range byPage["/p/1"] {
		if _, ok := byPage["/p/2"][u]; ok {
			both++
		}
	}
	one, two := "w:clicks:active:"+at+":/p/1", "w:clicks:active:"+at+":/p/2"
	e.add("BITOP AND both "+one+" "+two, 1+max(slices.Max(slices.Collect(maps.Keys(byPage["/p/1"]))), slices.Max(slices.Collect(maps.Keys(byPage["/p/2"]))))/8)
	e.add("BITCOUNT both", both)
	e.add("EXISTS w:clicks:partial:now", 0)
	return e
}

// The live windows, by redis-cli: before anything is flushed, after that, and
// in two processes, each of which has everything that both have flushed and its
// own memory.
func TestRedisCLI(t *testing.T) {
	parallel(t)
	if _, err := exec.LookPath("redis-cli"); err != nil {
		t.Fatalf("redis-cli is not installed: run `make redis`: %v", err)
	}
	s := newStage(t)
	s.configure(fmt.Sprintf(clicksJob, s.topic("clicks")) + bloomOfUsers)
	s.migrate()
	traffic := func(start, seed string) *gen.Truth {
		return s.produced("clicks", 20_000, "--start", start, "--seed", seed, "--pages", "20", "--users", "3000", "--disorder", "90s")
	}
	clicks := traffic("8m", "1")

	// One process that has not flushed, and whose flushes do not arrive.
	proxy := newProxy(t, s.url)
	holds := func() (release func()) {
		over := make(chan struct{})
		proxy.handle(proxy.hold("_state", over))
		return func() { proxy.handle(nil); close(over) }
	}
	release := holds()
	a := s.weir("run", "--resp.listen=127.0.0.1:0", "--flush.interval=1m", "--kafka.session=2m", "--clickhouse.urls="+proxy.url)
	a.name += " a"
	ca := a.redis()
	within := func(c *cli, clicks *gen.Truth) {
		t.Helper()
		e := clicksQuestions(clicks)
		await.Until(t, func() error {
			if err := c.differ(e[:1]); err != nil { // first the total: if it is wrong, the others are too
				return err
			}
			return c.differ(e)
		})
	}
	within(ca, clicks)
	if n := s.number("SELECT count() FROM clicks_state"); n != 0 {
		t.Fatalf("%d rows are flushed already", n)
	}
	release()

	// A second one takes half of the partitions, for which the first flushes.
	b := s.weir("run", "--resp.listen=127.0.0.1:0")
	b.name += " b"
	cb := b.redis()
	within(cb, clicks)
	within(ca, clicks)
	await.Until(t, func() error {
		if n, m := len(a.status()["clicks"].Partitions), len(b.status()["clicks"].Partitions); n != 2 || m != 2 {
			return notYet("%d and %d partitions of clicks", n, m)
		}
		return nil
	})
	if n := s.number("SELECT toInt64(sum(hits)) FROM clicks_1m"); n != clicks.Outcomes.Valid {
		t.Fatalf("%d hits are flushed, want %d", n, clicks.Outcomes.Valid)
	}

	// More traffic, into windows that both have answered for and into new ones:
	// the first keeps its half in memory for a minute, the second flushes.
	release = holds()
	clicks = union(clicks, traffic("6m", "2"))
	within(ca, clicks) // its own memory, and the other's flushes
	e := clicksQuestions(clicks)
	if err := cb.differ(e); err == nil {
		t.Error("the second process knows what the first has not flushed")
	}
	release()
	a.signal(syscall.SIGTERM)
	a.exits(0)
	within(cb, clicks) // everything, when the first has flushed
	b.signal(syscall.SIGTERM)
	b.exits(0)
}
