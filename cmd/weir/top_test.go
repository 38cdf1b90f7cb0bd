package main

import (
	"bytes"
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

	"github.com/charmbracelet/x/ansi"

	"weir/internal/await"
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
	// A rise, three seconds without an answer, and a new process.
	var mu sync.Mutex
	looks, records, next, now := 0, 0, 0, time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		path := filepath.Base(r.URL.Path)
		if path == "health" {
			next, records = next+20*looks, records+20*looks
			if looks == 60 {
				next, records, now = next-20*looks+100, 100, now.Add(3*time.Second)
			}
			looks++
			now = now.Add(time.Second)
		}
		text := strings.NewReplacer("NOW", fmt.Sprint(records), "NEXT", fmt.Sprint(next)).Replace(replies[path])
		fmt.Fprint(w, strings.Replace(text, "2026-11-23T12:00:00Z", now.Format(time.RFC3339), 1))
	}))
	t.Cleanup(server.Close)
	b := newBoard(server.URL, "", "")
	for range 90 {
		a := b.look(t.Context(), b.measures())
		if a.err != nil {
			t.Fatal(a.err)
		}
		b.take(a)
	}
	b.taken = drawn
	return b
}

// drawn is when the boards are drawn.
var drawn = time.Date(2026, 11, 23, 12, 1, 33, 0, time.UTC)

// TestScreens compares screens with those in testdata/screen: two sizes, colours, a process
// that does not answer, and lines for a log file. None has a line that is too long, and no
// text of an event reaches the terminal as it is.
func TestScreens(t *testing.T) {
	b := boardOf(t)
	b.url = "http://127.0.0.1:8686"
	small, wide := screen{width: 40, height: 10}, screen{width: 80, height: 24}
	keys := "tab next job   m measure   q ends"
	check := func(name, got string, s screen) {
		t.Helper()
		for line := range strings.SplitSeq(got, "\n") {
			if n := ansi.StringWidth(line); n > s.width {
				t.Errorf("%s: a line of %d cells, the screen has %d:\n%s", name, n, s.width, line)
			}
		}
		if n := strings.Count(got, "\n") + 1; s.height > 0 && n > s.height {
			t.Errorf("%s: %d lines, the screen has %d", name, n, s.height)
		}
		for _, r := range ansi.Strip(got) {
			if r < ' ' && r != '\n' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e {
				t.Errorf("%s: %U reaches the terminal", name, r)
			}
		}
		if !s.colour && strings.Contains(got, "\x1b") {
			t.Errorf("%s: colours on a screen without", name)
		}
		file := filepath.Join("testdata", "screen", name+".txt")
		if *update {
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(got+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil || got+"\n" != string(want) {
			t.Errorf("%s (%v): got\n%s\nwant\n%s", name, err, got, want)
		}
	}
	check("80x24", wide.job(b, drawn, keys), wide)
	check("40x10", small.job(b, drawn, keys), small)
	wide.colour = true
	check("colour", wide.job(b, drawn, keys), wide)
	wide.colour = false
	lines := screen{width: plainWidth}
	check("plain", lines.plain(b, drawn), lines)
	b.turn(1)
	check("failed", wide.job(b, drawn, keys), wide)
	b.turn(1)
	b.take(answer{err: fmt.Errorf("Get %q: timed out", "http://127.0.0.1:8686/"+hostile)})
	check("silent", wide.job(b, drawn, keys), wide)
	tiny := screen{width: 5, height: 2}
	check("tiny", tiny.job(b, drawn, keys), tiny)
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
	b := newBoard(server.URL, "", "")
	a := b.look(t.Context(), nil)
	if a.err != nil {
		t.Fatal(a.err)
	}
	b.take(a)
	got := screen{width: 200}.plain(b, drawn)
	for _, want := range []string{"1,234", "lag 77", "api/v1/people?job=clicks: no answer"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	if mu.Lock(); last != "239s" {
		t.Errorf("groups of the last %s", last)
	}
	mu.Unlock()
}

func FuzzScreen(f *testing.F) {
	f.Add(hostile, 40, 10)
	f.Fuzz(func(t *testing.T, text string, width, height int) {
		s := screen{width: 1 + width&0xff, height: 1 + height&0x3f}
		j := boardJob{Job: text, By: []string{text}, Measures: []boardMeasure{{Name: "hits", Shows: "events"}}}
		j.health.Trouble = []string{text}
		j.failed = errors.New(text)
		raw, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		j.people = []boardNumber{{Last: "60s", Value: raw}}
		j.top.Columns = []string{"page"}
		j.top.Groups = append(j.top.Groups, struct {
			Group []string `json:"group"`
			boardNumber
		}{[]string{text}, boardNumber{Value: raw}})
		b := newBoard("http://x", "", "")
		b.jobs = []boardJob{j}
		got := s.job(b, drawn)
		for line := range strings.SplitSeq(got, "\n") {
			if n := ansi.StringWidth(line); n > s.width {
				t.Errorf("%d cells of %d: %q", n, s.width, line)
			}
		}
		for _, r := range got {
			if r < ' ' && r != '\n' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e {
				t.Errorf("%U reaches the terminal: %q", r, got)
			}
		}
		if n := strings.Count(got, "\n") + 1; n > s.height {
			t.Errorf("%d lines of %d", n, s.height)
		}
	})
}

// TestCount: numbers take at most nine characters.
func TestCount(t *testing.T) {
	for f, want := range map[float64]string{
		0: "0", 999: "999", 1000: "1,000", -1234: "-1,234", 9_999_999: "9,999,999", 12_345_678: "12.3M",
		98_765_432_100: "98.8G", 3e14: "300.0T", 1e17: "1e+17", 0.125: "0.125", 0.00213: "0.00213", -0.5: "-0.5", 0.0000213: "2.13e-05", -1.234e300: "-1.2e+300", 1.234e-300: "1.23e-300", 12.345: "12.35", 1234.5: "1,235", -123: "-123",
	} {
		if got := count(f); got != want || len(got) > 9 {
			t.Errorf("%v: %s, want %s", f, got, want)
		}
	}
}

// TestOtherClock: how long ago something was, and whether it was today, goes by the clock of the
// process, and not by the one of the machine that shows it.
func TestOtherClock(t *testing.T) {
	there, here := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	flushed := there.Add(-time.Second)
	b, a := newBoard("http://weir", "", ""), answer{taken: here, jobs: []boardJob{{Job: "clicks", health: boardHealth{LastFlush: &flushed}}}}
	a.health.Now, a.health.Audit = there, &boardAudit{At: there.Add(-time.Hour)}
	b.take(a)
	text := screen{width: 200}.plain(b, here.Add(2*time.Second))
	if !strings.Contains(text, "last flush 3.0 s ago") || !strings.Contains(text, "audit 0 mismatches at 11:00") {
		t.Errorf("%s", text)
	}
	a.health.Audit.At = there.Add(-24 * time.Hour)
	if text := (screen{width: 200}).plain(b, here); !strings.Contains(text, "audit 0 mismatches at 2026-11-19 12:00") {
		t.Errorf("%s", text)
	}
}

// TestEventsOfArrays: where records are arrays of events, the board counts events.
func TestEventsOfArrays(t *testing.T) {
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	b := newBoard("http://weir", "", "")
	for i := range uint64(2) {
		a := answer{taken: at, jobs: []boardJob{{Job: "clicks", health: boardHealth{
			Records: map[string]uint64{"counted": 10 * i}, Events: map[string]uint64{"counted": 400 * i, "malformed": 20 * i},
			Partitions: []boardPartition{{Next: int64(10 * i)}},
		}}}}
		a.health.Now = at.Add(time.Duration(i) * time.Second)
		b.take(a)
	}
	if text := (screen{width: 200}).plain(b, at.Add(time.Second)); !strings.Contains(text, "events/s 420 ") || !strings.Contains(text, "dead letters +20 ") {
		t.Error(text)
	}
}

// TestReadAgain: records that are read again after a kill are not traffic, whether ClickHouse has them already or not, and
// neither are those that another process has counted meanwhile. Those of a topic that was created again are.
func TestReadAgain(t *testing.T) {
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	b := newBoard("http://weir", "", "")
	for i, c := range []struct {
		since         int // the process, by when it got the partition
		next, durable int64
		want          float64
	}{
		{1, 94_000, 93_900, -1},
		{1, 94_300, 94_200, 300},
		{1, 94_600, 94_200, 300}, // ClickHouse does not answer
		{2, 65_536, 94_200, 0},   // killed
		{2, 94_500, 94_200, 0},
		{2, 94_700, 94_500, 100},
		{2, 95_000, 94_900, 300},
		{3, 131_072, 150_000, 0}, // others had the partition for an hour
		{3, 150_200, 150_100, 200},
		{4, 0, 0, 0}, // created again
		{4, 300, 200, 300},
	} {
		a := answer{taken: at, jobs: []boardJob{{Job: "clicks", health: boardHealth{
			Records: map[string]uint64{"counted": uint64(1000 * i)}, Partitions: []boardPartition{{Next: c.next, Durable: c.durable, Since: at.Add(time.Duration(c.since) * time.Hour)}},
		}}}}
		a.health.Now = at.Add(time.Duration(i) * time.Second)
		b.take(a)
		if all := b.samples["clicks"]; all[len(all)-1].rate != c.want {
			t.Errorf("answer %d: %g events per second, want %g", i, all[len(all)-1].rate, c.want)
		}
	}
}

// TestPartly: numbers that were made without ClickHouse are not shown without a word.
func TestPartly(t *testing.T) {
	replies := map[string]string{
		"jobs":   `{"jobs":[{"job":"clicks","window_s":60,"by":["page"],"measures":[{"name":"users","kind":"hll","shows":"people"}]}]}`,
		"health": `{"now":"2026-11-23T12:00:00Z","jobs":[{"job":"clicks","state":"joining","trouble":[],"partitions":[]}]}`,
		"people": `{"now":[{"last":"60s","value":12}],"partial":"only what this process knows by itself: no answer"}`,
		"top":    `{"columns":["page"],"groups":[],"of":0}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, replies[filepath.Base(r.URL.Path)]) }))
	defer server.Close()
	b := newBoard(server.URL, "", "")
	b.take(b.look(t.Context(), nil))
	text := screen{width: 120}.plain(b, drawn)
	for _, want := range []string{"60s", " 12", "api/v1/people?job=clicks: only what this process knows by itself: no answer", "lag -"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

// TestShort: short numbers take at most six.
func TestShort(t *testing.T) {
	for f, want := range map[float64]string{0: "0", 10.1: "10", 999.4: "999", 999.6: "1k", 1234: "1.23k", 56789: "56.8k", 999_499: "999k", 999_999: "1M", 802_222: "802k", 98_765_432: "98.8M", 1e30: "many"} {
		if got := short(f); got != want || len(got) > 6 {
			t.Errorf("%v: %s, want %s", f, got, want)
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
		for _, want := range []string{"weir  " + url + "/", "clicks ", "appended ", "running", "people ", "today", "lag 0", "audit none yet"} {
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
	for _, c := range []struct {
		line, want string
		code       int
	}{
		{"--url " + url, "401 Unauthorized", exitFailed},
		{"--url " + url + " --token-file " + token + " --job visits", "error: --job visits: the process at " + url + " has no such job", exitUsage},
		{"--url " + url + " --token-file nowhere", "error: --token-file nowhere: no such file or directory", exitUsage},
		{"--url 127.0.0.1:8686", `error: --url "127.0.0.1:8686": want http://HOST:PORT`, exitUsage},
		{"--url http://127.0.0.1:1", "connection refused\nhint: is weir running there?", exitFailed},
	} {
		if got := top(c.code, strings.Fields(c.line)...); !strings.Contains(got, c.want) {
			t.Errorf("weir top %s: %s, want %s", c.line, got, c.want)
		}
	}
}
