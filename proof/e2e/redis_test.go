package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/demo/gen"
	"weir/event"
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

// has waits until the answers about the windows of a clicks job are the truth.
func (c *cli) has(truth *gen.Truth) {
	c.t.Helper()
	users, hits := map[uint32]int64{}, int64(0)
	for _, count := range truth.Counts {
		maps.Copy(users, count.Users)
		hits += count.Hits
	}
	at := span(truth)
	want := fmt.Sprint([]string{fmt.Sprint(hits), fmt.Sprint(reference(users).Count()), fmt.Sprint(len(users))})
	await.Until(c.t, func() error {
		if got := fmt.Sprint(c.ask("GET w:clicks:hits:"+at, "PFCOUNT w:clicks:users:"+at+":*", "BITCOUNT w:clicks:active:"+at)); got != want {
			return notYet("%s answers %s, want %s", c.of.name, got, want)
		}
		return nil
	})
}
