package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"weir/internal/await"
	httpserver "weir/serve/http"
)

// hostile is a text of an event that would clear the screen, rename the window and write
// backwards.
const hostile = "\x1b[2J\x1b]0;owned\a\r\n\u202edrawkcab\u009b1m\xff"

// boardOf returns a board of a process that gives these answers.
func boardOf(t *testing.T) *board {
	t.Helper()
	group := func(name string, n int) string {
		text, err := json.Marshal(name)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf(`{"group":[%s,"DE"],"value":%d,"error":0}`, text, n)
	}
	var groups []string
	for i, name := range []string{"/p/1", "/p/2", "東京/駅/とても長いページの名前が続くので切られる", hostile, "", strings.Repeat("long/", 40)} {
		groups = append(groups, group(name, 100_000/(i+1)))
	}
	for i := range 30 {
		groups = append(groups, group(fmt.Sprint("/q/", i), 100-i))
	}
	replies := map[string]string{
		"jobs": `{"build":{"version":"v1"},"k":0,"jobs":[
			{"job":"clicks","window_s":60,"by":["page","country"],"measures":[{"name":"hits","kind":"hits","shows":"events"},{"name":"users","kind":"hll","shows":"people"},{"name":"places","kind":"geo","shows":"positions"}]},
			{"job":"locations","window_s":60,"by":[],"measures":[{"name":"hits","kind":"hits","shows":"events"}]}]}`,
		"health": `{"now":"2026-11-23T12:00:00Z","audit":{"at":"2026-11-23T11:59:00Z","mismatches":0},"jobs":[
			{"job":"clicks","state":"running","trouble":[],"lag":1234,"records":{"counted":NOW,"late":3,"future":1,"malformed":20,"filtered":7},"last_flush":"2026-11-23T11:59:59.6Z","partitions":[{"partition":0,"next":NEXT,"durable":7,"since":"2026-11-23T09:00:00Z"}]},
			{"job":"locations","state":"failed","trouble":["the log was cut off at ` + `\u001b[31m` + `7"],"lag":0,"records":{},"last_flush":null,"partitions":[]}]}`,
		"people": `{"now":[{"last":"60s","value":1234,"error":10.1},{"last":"5m","value":56789,"error":461.4},{"last":"30m","value":1234567,"error":10000},{"last":"today","value":98765432,"error":802222}]}`,
		"top":    `{"columns":["page","country"],"groups":[` + strings.Join(groups, ",") + `],"of":36}`,
	}
	seconds := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := filepath.Base(r.URL.Path)
		if path == "health" {
			seconds++
		}
		text := strings.NewReplacer("NOW", fmt.Sprint(20*seconds), "NEXT", fmt.Sprint(20*seconds)).Replace(replies[path])
		fmt.Fprint(w, strings.Replace(text, "12:00:00Z", fmt.Sprintf("12:00:%02dZ", seconds), 1))
	}))
	t.Cleanup(server.Close)
	b := &board{api: newAPI(server.URL, "")}
	for range 3 {
		if err := b.take(b.look(t.Context(), "", nil)); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// fits reports what of a drawing does not fit, or must not reach a terminal.
func fits(t *testing.T, got string, width int) {
	t.Helper()
	for line := range strings.SplitSeq(got, "\n") {
		if n := lipgloss.Width(line); n > width {
			t.Errorf("%d cells of %d: %q", n, width, line)
		}
	}
	for _, r := range lipgloss.Sprint(got) { // without colours
		if r < ' ' && r != '\n' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e {
			t.Errorf("%U reaches the terminal: %q", r, got)
		}
	}
}

// TestScreen compares what weir top prints with a file. No line is too long, and no text of
// an event reaches the terminal as it is.
func TestScreen(t *testing.T) {
	b := boardOf(t)
	b.url = "http://127.0.0.1:8686"
	b.err = fmt.Errorf("Get %q: timed out", "http://127.0.0.1:8686/"+hostile)
	var out bytes.Buffer
	b.out = &out
	if err := b.print(); err != nil {
		t.Fatal(err)
	}
	fits(t, out.String(), 100)
	const file = "testdata/screen.txt"
	if *update {
		if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(file); err != nil || out.String() != string(want) {
		t.Errorf("%v: got\n%s\nwant\n%s", err, &out, want)
	}
}

// TestBoard: keys choose the job, the measure and the end, and a screen of any size is
// not left.
func TestBoard(t *testing.T) {
	killed := 0
	w := boardOf(t)
	w.full, w.kill, w.ctx = true, func() { killed++ }, t.Context()
	press := func(key tea.Key) (ends bool) {
		_, cmd := w.Update(tea.KeyPressMsg(key))
		if cmd == nil {
			return false
		}
		_, ends = cmd().(tea.QuitMsg)
		return ends
	}
	shows := func(want string) {
		t.Helper()
		for _, size := range []tea.WindowSizeMsg{{Width: 1, Height: 1}, {Width: 40, Height: 10}, {Width: 80, Height: 24}} {
			w.Update(size)
			text := w.View().Content
			fits(t, text, size.Width)
			if n := strings.Count(text, "\n") + 1; n > size.Height {
				t.Errorf("%d lines of %d", n, size.Height)
			}
		}
		if text := w.View().Content; !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	shows("hits, 5m")
	press(tea.Key{Code: tea.KeyTab})
	shows("the log was cut off")
	press(tea.Key{Code: tea.KeyTab})
	press(tea.Key{Code: 'm', Text: "m"})
	w.Update(w.ask()())
	shows("users, 5m")
	if press(tea.Key{Code: 'k', Text: "k"}); killed != 1 {
		t.Errorf("the process was killed %d times", killed)
	}
	if !press(tea.Key{Code: 'q', Text: "q"}) || w.interrupted {
		t.Errorf("q: interrupted %t", w.interrupted)
	}
	w.full = false
	if press(tea.Key{Code: 'q', Text: "q"}) || !press(tea.Key{Code: 'c', Mod: tea.ModCtrl}) || !w.interrupted {
		t.Errorf("in place: q ends it, or ctrl-C does not: interrupted %t", w.interrupted)
	}
}

// TestAside: a log line stands above the screen, escaped, while there is one.
func TestAside(t *testing.T) {
	var log bytes.Buffer
	var out await.Output
	a := &screenLog{to: &log}
	w := boardOf(t)
	w.out, w.screenLog = &out, a
	ctx, end := context.WithCancel(t.Context())
	p := w.program(ctx, nil, tea.WithWindowSize(80, 24))
	ended := make(chan error, 1)
	go func() { ended <- w.run(p) }()
	await.Until(t, func() error {
		if !strings.Contains(out.String(), "clicks") {
			return errors.New("no screen yet")
		}
		return nil
	})
	const line = "level=WARN msg=trouble after=\x1b[2J\n"
	_, _ = a.Write([]byte(line))
	await.Until(t, func() error {
		if !strings.Contains(out.String(), `msg=trouble after=\x1b[2J`) {
			return fmt.Errorf("no line yet in %q", out.String())
		}
		return nil
	})
	end()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	_, _ = a.Write([]byte(line))
	if log.String() != line {
		t.Errorf("the log has %q after the screen, want %q", &log, line)
	}
}

// TestBoardWithoutGroups: where ClickHouse does not answer for the groups, the other numbers
// are shown, and why the groups are not. Of windows of a second, the groups go back as far as
// they may.
func TestBoardWithoutGroups(t *testing.T) {
	var mu sync.Mutex
	last := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch filepath.Base(r.URL.Path) {
		case "jobs":
			fmt.Fprint(w, `{"jobs":[{"job":"clicks","window_s":1,"by":["page"],"measures":[{"name":"hits","shows":"events"},{"name":"users","shows":"people"}]}]}`)
		case "health":
			fmt.Fprint(w, `{"now":"2026-11-23T12:00:00Z","jobs":[{"job":"clicks","state":"running","lag":77,"partitions":[{"partition":0}]}]}`)
		case "people":
			fmt.Fprint(w, `{"now":[{"last":"60s","value":1234}],"partial":"no answer"}`)
		case "top":
			mu.Lock()
			last = r.URL.Query().Get("last")
			mu.Unlock()
			w.WriteHeader(http.StatusBadGateway)
			fmt.Fprint(w, `{"error":"ClickHouse is away"}`)
		}
	}))
	defer server.Close()
	b := &board{api: newAPI(server.URL, "")}
	if err := b.take(b.look(t.Context(), "", nil)); err != nil {
		t.Fatal(err)
	}
	got := b.draw(b.jobs, 200, 5)
	for _, want := range []string{"1,234", " 77 ", "api/v1/people?job=clicks: no answer"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	if mu.Lock(); last != "239s" {
		t.Errorf("groups of the last %s", last)
	}
	mu.Unlock()
}

// TestCount: numbers are short.
func TestCount(t *testing.T) {
	for f, want := range map[float64]string{
		0: "0", 999: "999", 1000: "1,000", -1234: "-1,234", 12_345_678: "12,345,678", 1e17: "1e+17", 0.125: "0.125", -0.5: "-0.5", 12.345: "12.3", 1234.5: "1,234", -123: "-123",
	} {
		if got := count(f); got != want {
			t.Errorf("%v: %s, want %s", f, got, want)
		}
	}
}

// TestPace: records that are read again after a kill are not traffic. Where records are arrays of events, events are counted.
func TestPace(t *testing.T) {
	p := pace{reached: map[int32]int64{}}
	began := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for i, c := range []struct {
		next int64
		want string // events per second
	}{
		{94_000, "…"}, {94_100, "4,000"}, {65_536, "2,000"}, {94_000, "1,333"}, {94_400, "4,000"}, {94_500, "4,000"}, {94_500, "3,200"},
	} {
		h := httpserver.JobHealth{Records: map[string]uint64{"counted": 10}, Events: map[string]uint64{"counted": 390, "malformed": 10}, Partitions: []httpserver.PartitionHealth{{Next: c.next}}}
		p.add(began.Add(time.Duration(i)*time.Second), &h)
		if got := p.rate(); got != c.want {
			t.Errorf("answer %d: %s events per second, want %s", i, got, c.want)
		}
	}
}

// TestTop: weir top without a terminal prints the numbers of a running process, of all jobs
// or of one, with its token; and says what is wrong.
func TestTop(t *testing.T) {
	s := newStage(t)
	s.done(t, "migrate")
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("plum\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, log, _ := s.start(t, "run", "--http.token_file", token)
	var url string
	await.Until(t, func() error {
		_, after, ok := strings.Cut(log.String(), `"http":"`)
		if !ok {
			return fmt.Errorf("no address yet:\n%s", log)
		}
		addr, _, _ := strings.Cut(after, `"`)
		url = "http://" + addr
		return nil
	})
	s.produce(t)
	top := func(code int, args ...string) string {
		t.Helper()
		var out bytes.Buffer
		if got := execute(await.Context(t), append([]string{"top"}, args...), &out, &out); got != code {
			t.Fatalf("weir top %q: exit code %d, want %d\n%s", args, got, code, &out)
		}
		return out.String()
	}
	await.Until(t, func() error {
		got := top(0, "--url", url, "--token-file", token)
		for _, want := range []string{"weir  " + url + "/", "clicks ", "appended ", "running", "people ", "today", "events/s", "none yet"} {
			if !strings.Contains(got, want) {
				return fmt.Errorf("%q is not in\n%s", want, got)
			}
		}
		if strings.Count(got, " 1 ") < 4 { // the one person of the topic, now and today
			return fmt.Errorf("no people yet:\n%s", got)
		}
		return nil
	})
	if got := top(0, "--url", url+"/", "--token-file", token, "--job", "appended"); strings.Contains(got, "clicks") || !strings.Contains(got, "appended") {
		t.Errorf("one job:\n%s", got)
	}
	var all []struct {
		Job    string
		Health struct{ State string }
	}
	if got := top(0, "--url", url, "--token-file", token, "-o", "json"); json.Unmarshal([]byte(got), &all) != nil || len(all) != 2 || all[0].Health.State != "running" {
		t.Errorf("-o json:\n%s", got)
	}
	for _, c := range []struct {
		line, want string
		code       int
	}{
		{"--url " + url, "401 Unauthorized", exitFailed},
		{"--url " + url + " --token-file " + token + " --job visits", "error: --job visits: the process at " + url + " has no such job", exitUsage},
		{"--url " + url + " --token-file nowhere", "error: --token-file nowhere: no such file or directory", exitUsage},
		{"--url 127.0.0.1:8686", "hint: is weir running there? --url is http:// or https://", exitFailed},
		{"--url http://127.0.0.1:1", "connection refused\nhint: is weir running there?", exitFailed},
	} {
		if got := top(c.code, strings.Fields(c.line)...); !strings.Contains(got, c.want) {
			t.Errorf("weir top %s: %s, want %s", c.line, got, c.want)
		}
	}
}
