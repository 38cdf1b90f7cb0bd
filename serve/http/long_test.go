package http

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/serve/key"
	"weir/serve/live"
	"weir/sinks/clickhouse/questions"
)

// fakeRollups has minutes for a month, hours and days for ever, and rows for a week. It answers
// with fixed numbers, and keeps what it was asked.
type fakeRollups struct {
	kept  []Rollup // instead
	asked []Statement
	err   error
}

const aDay = 24 * time.Hour

func (f *fakeRollups) Kept(string) ([]Rollup, time.Duration) {
	if f.kept != nil {
		return f.kept, 7 * aDay
	}
	return []Rollup{{time.Minute, 30 * aDay}, {time.Hour, 0}, {aDay, 0}}, 7 * aDay
}

func (f *fakeRollups) Long(_ context.Context, st Statement) ([]questions.Told, error) {
	f.asked = append(f.asked, st)
	switch {
	case len(st.Columns) > 0:
		return []questions.Told{{Group: []string{"/p/2"}, Number: "1000"}, {Group: []string{"/p/1"}, Number: "1000"}, {Group: []string{"/p/3"}, Number: "9"}}, f.err
	case st.Step == 0:
		return []questions.Told{{Number: "2000"}}, f.err
	case st.Measure == "users": // the people of each step, too
		return []questions.Told{{At: st.From, Number: "7"}, {At: st.From.Add(2 * st.Step), Number: "2"}}, f.err
	}
	return []questions.Told{{At: st.From, Number: "12.50"}, {At: st.From.Add(st.Step), Number: ""}, {At: st.From.Add(2 * st.Step), Number: "nan"}}, f.err
}

func (f *fakeRollups) Groups(_ context.Context, st Statement) (all, enough uint64, err error) {
	f.asked = append(f.asked, st)
	return 9, 5, f.err
}

// TestLongRanges: a range that package live does not answer, because it has too many windows or
// too old ones, is asked of the rollups that are kept for so long, in whole steps of them, and
// what they say comes back, with its error. With K, numbers of fewer people do not.
func TestLongRanges(t *testing.T) {
	e, job := newEndpoints(t)
	job.count(t, map[time.Duration]int{0: 7})
	rollups := &fakeRollups{}
	e.http.Rollups = rollups
	e.http.SQL = func(st Statement) string { return fmt.Sprint(st.Long, " ", st.Step, " ", st.Columns) }
	e.http.Redis = "127.0.0.1:6379"
	h := e.http.Handler()
	ask := func(path string) (int, string) {
		rollups.asked = nil
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/api/v1/"+path, nil))
		return w.Code, w.Body.String()
	}
	if _, got := ask("jobs"); !strings.Contains(got, `"keep_s":604800,"rollups":[{"window_s":60,"keep_s":2592000},{"window_s":3600,"keep_s":0},{"window_s":86400,"keep_s":0}],`) {
		t.Errorf("jobs: %s, want what is kept, and for how long", got)
	}
	// Which questions these are, what they ask for, and what they answer.
	for _, c := range []struct{ path, asked, answer string }{
		{"series?job=clicks&last=47h", "", `"step_s":1800,`},
		{"top?job=clicks&last=3h", "", `"groups":[{"group":["/p/1"],"value":1,"error":0}],"of":1`},
		{"series?job=clicks&last=48h", "hits 11-18 12:00 to 11-20 12:30 by 30m0s []", `"from":"2026-11-18T12:00:00Z","until":"2026-11-20T12:30:00Z","step_s":1800,"total":{"value":2000,"error":0},"points":[{"at":"2026-11-18T12:00:00Z","value":12.50,"error":0},{"at":"2026-11-18T12:30:00Z","value":null,"error":0},{"at":"2026-11-18T13:00:00Z","value":null,"error":0},{"at":"2026-11-18T13:30:00Z","value":0,"error":0}`},
		{"series?job=clicks&last=7d&measure=users", "users 11-13 12:00 to 11-20 14:00 by 2h0m0s []", `"total":{"value":2000,"error":16.25},"points":[{"at":"2026-11-13T12:00:00Z","value":7,"error":0.057},{"at":"2026-11-13T14:00:00Z","value":0,"error":0}`},
		{"series?job=clicks&last=7d&measure=spread", "spread 11-13 12:00 to 11-20 14:00 by 2h0m0s []", `"points":[{"at":"2026-11-13T12:00:00Z","value":12.50,"error":0.062}`},
		{"series?job=clicks&last=30d&step=6h", "hits 10-21 12:00 to 11-20 18:00 by 6h0m0s []", `"step_s":21600,`},
		{"series?job=clicks&from=2026-11-10T10:00:00Z&until=2026-11-10T11:00:00Z", "hits 11-10 10:00 to 11-10 11:00 by 1m0s []", `"step_s":60,`},     // rows are gone
		{"series?job=clicks&from=2026-08-10T10:00:00Z&until=2026-08-10T11:30:00Z", "hits 08-10 10:00 to 08-10 12:00 by 1h0m0s []", `"step_s":3600,`}, // and minutes
		{"top?job=clicks&last=5h", "hits 11-20 07:05 to 11-20 12:10 by 0s [page]", `"columns":["page"],"groups":[{"group":["/p/1"],"value":1000,"error":0},{"group":["/p/2"],"value":1000,`},
		{"top?job=clicks&last=24h&n=3&measure=users", "users 11-19 12:00 to 11-20 12:15 by 0s [page]", `{"group":["/p/3"],"value":9,"error":0.073}],"of":9,"withheld":0`},
		{"top?job=clicks&last=30d", "hits 10-21 12:00 to 11-20 18:00 by 0s [page]", `"of":9`},
		// A step that begins before the minutes do that are kept: the hours have it.
		{"series?job=clicks&from=2026-10-21T12:07:00Z&until=2026-10-21T22:00:00Z", "hits 10-21 12:00 to 10-21 22:00 by 1h0m0s []", `"step_s":3600,`},
		{"top?job=clicks&from=2026-10-21T12:07:00Z&until=2026-10-21T22:00:00Z", "hits 10-21 12:00 to 10-21 22:00 by 0s [page]", `"of":9`},
		{"series?job=clicks&from=2026-09-19T01:30:00Z&until=2026-11-20T12:30:00Z&step=1h", "hits 09-19 01:00 to 11-20 13:00 by 1h0m0s []", `"step_s":3600,`}, // 1,500 steps
	} {
		code, got := ask(c.path)
		asked := ""
		for _, st := range rollups.asked[:min(1, len(rollups.asked))] {
			const form = "01-02 15:04"
			asked = fmt.Sprintf("%s %s to %s by %s %v", st.Measure, st.From.UTC().Format(form), st.Until.UTC().Format(form), st.Step, st.Columns)
			if !st.Long || st.Level != 0.95 || st.Job != "clicks" {
				t.Errorf("%s: asked %+v", c.path, st)
			}
		}
		if code != 200 || asked != c.asked || !strings.Contains(got, c.answer) {
			t.Errorf("%s: %d %s\nwant %s\nasked %q, want %q", c.path, code, got, c.answer, asked, c.asked)
		}
	}
	for path, want := range map[string]string{
		"series?job=clicks&from=2026-08-10T10:00:00Z&until=2026-08-10T11:30:00Z&step=1m": "step=1m0s; want a multiple of 1h0m0s",
		"series?job=clicks&last=29d&step=1m":                                             "more than 1500 steps of 1m0s",
		"series?job=clicks&from=2026-09-19T00:59:00Z&until=2026-11-20T12:01:00Z&step=1h": "more than 1500 steps of 1h0m0s", // 1,499 hours and two minutes are in 1,501 steps
	} {
		if code, got := ask(path); code != 400 || !strings.Contains(got, want) {
			t.Errorf("%s: %d %s, want %s", path, code, got, want)
		}
	}
	// Lists and positions are of rows: the range begins where these do, a week ago.
	for _, path := range []string{"list?job=clicks", "heat?job=clicks", "positions?job=clicks&box=13,38,14,39"} {
		if code, got := ask(path + "&last=28d"); code != 200 || !strings.Contains(got, `"from":"2026-11-13T12:05:00Z","until":"2026-11-20T12:06:00Z"`) {
			t.Errorf("%s: %d %s", path, code, got)
		}
		if code, got := ask(path + "&from=2026-11-10T00:00:00Z&until=2026-11-11T00:00:00Z"); code != 400 || !strings.Contains(got, "only for 168h0m0s") {
			t.Errorf("%s of rows that are gone: %d %s", path, code, got)
		}
	}
	// Its statement is that of the rollups, and no command of Redis has its number.
	for of, want := range map[string]string{
		"series?job=clicks&last=7d&measure=users": `"sql":"true 2h0m0s []","redis":""`,
		"top?job=clicks&last=7d":                  `"sql":"true 0s [page]","redis":""`,
		"series?job=clicks&last=1h&measure=users": `"sql":"false 1m0s []","redis":"PFCOUNT `,
	} {
		if _, got := ask("explain?of=" + url.QueryEscape(of)); !strings.Contains(got, want) {
			t.Errorf("explain %s: %s, want %s", of, got, want)
		}
	}
	for code, err := range map[int]error{400: fmt.Errorf("%w: no", key.ErrQuestion), 502: errors.New("connection refused")} {
		rollups.err = err
		for _, path := range []string{"series?job=clicks&last=7d", "top?job=clicks&last=7d"} {
			if got, text := ask(path); got != code {
				t.Errorf("%s with %v: %d %s", path, err, got, text)
			}
		}
	}
	rollups.err = nil

	e.http.K = 3
	h = e.http.Handler()
	for path, want := range map[string]string{
		"series?job=clicks&last=7d":                            `"total":{"value":2000,"error":0},"points":[{"at":"2026-11-13T12:00:00Z","value":12.50,"error":0}`,
		"series?job=clicks&last=7d&measure=users&by.page=/p/1": `"points":[{"at":"2026-11-13T12:00:00Z","value":7,"error":0.057},{"at":"2026-11-13T14:00:00Z","value":0,"error":0},{"at":"2026-11-13T16:00:00Z","value":null,"error":0,"withheld":true}`,
		"top?job=clicks&last=7d":                               `"of":9,"withheld":4`,
	} {
		if _, got := ask(path); !strings.Contains(got, want) {
			t.Errorf("k=3: %s: %s\nwant %s", path, got, want)
		}
	}
	if _, _ = ask("top?job=clicks&last=7d"); rollups.asked[0].People != "users" || rollups.asked[0].Least != 3 {
		t.Errorf("k=3: asked %+v", rollups.asked[0])
	}
	// The people of a step of a funnel, too, in at most 1,500 parts of the range.
	e.http.IDs = &fakeIDs{}
	if code, got := ask("funnel?job=clicks&last=20d&steps=active:/p/1"); code != 200 || !strings.Contains(got, `"least":5`) {
		t.Errorf("k=3: a long funnel: %d %s", code, got)
	}
	if q := rollups.asked[0]; q.Measure != "users" || q.From.Format("02 15:04") != "31 12:30" || q.Until.Format("02 15:04") != "20 12:00" || string(q.Group[0]) != "/p/1" {
		t.Errorf("k=3: asked %+v", q)
	}
	e.http.Rollups = nil
	h = e.http.Handler()
	if code, got := ask("series?job=clicks&last=7d"); code != 400 || !strings.Contains(got, "more than 2880 windows") {
		t.Errorf("without rollups: %d %s", code, got)
	}
}

// TestRangeBeforeWhatIsKept: a range that begins before the windows do that are kept begins with these,
// for the views leave out a window of which a part has expired, and that is all of a total or of a top list.
func TestRangeBeforeWhatIsKept(t *testing.T) {
	e, job := newEndpoints(t)
	job.count(t, map[time.Duration]int{0: 7})
	rollups := &fakeRollups{}
	e.http.Rollups = rollups
	h := e.http.Handler()
	for _, c := range []struct {
		kept       []Rollup
		path, want string // the range that is asked for, or the error
	}{
		{[]Rollup{{time.Minute, 10 * aDay}, {time.Hour, 30 * aDay}}, "series?last=29d", "10-22 12:00 to 11-20 18:00"},
		{[]Rollup{{time.Minute, 10 * aDay}, {time.Hour, 30 * aDay}}, "series?last=30d", "10-21 18:00 to 11-20 18:00"},
		{[]Rollup{{time.Minute, 10 * aDay}, {time.Hour, 30 * aDay}}, "series?last=60d", "10-22 00:00 to 11-21 00:00"},
		{[]Rollup{{time.Minute, 10 * aDay}, {time.Hour, 30 * aDay}}, "top?last=60d", "10-22 00:00 to 11-21 00:00"},
		{[]Rollup{{time.Minute, 0}, {time.Hour, 30 * aDay}}, "top?last=60d", "10-22 00:00 to 11-21 00:00"},            // the longest are of every step
		{[]Rollup{{time.Minute, 0}, {time.Hour, 30 * aDay}, {aDay, 0}}, "top?last=60d", "10-22 00:00 to 11-21 00:00"}, // half a day is made of hours
		{[]Rollup{{time.Minute, 0}, {time.Hour, 30 * aDay}, {aDay, 0}}, "series?last=60d&step=1d", "09-21 00:00 to 11-21 00:00"},
		{[]Rollup{{time.Minute, 30 * aDay}}, "series?from=2026-08-10T10:00:00Z&until=2026-08-10T11:30:00Z", "windows of 1m0s only for 720h0m0s"},
		{[]Rollup{{time.Minute, 30 * aDay}}, "top?from=2026-08-10T10:00:00Z&until=2026-08-10T11:30:00Z", "windows of 1m0s only for 720h0m0s"},
	} {
		rollups.kept, rollups.asked = c.kept, nil
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/api/v1/"+strings.Replace(c.path, "?", "?job=clicks&", 1), nil))
		got := w.Body.String()
		if w.Code == 200 {
			const form = "01-02 15:04"
			got = rollups.asked[0].From.UTC().Format(form) + " to " + rollups.asked[0].Until.UTC().Format(form)
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s of %v: %s, want %s", c.path, c.kept, got, c.want)
		}
	}
}

// TestGroupsWithoutNumber: groups of which a measure counted nothing come last, behind those with
// numbers below 0.
func TestGroupsWithoutNumber(t *testing.T) {
	none, below, above := group{[]string{"/p/1"}, number{}}, group{[]string{"/p/2"}, number{Value: json.Number("-3")}}, group{[]string{"/p/3"}, number{Value: 5}}
	all := []group{none, below, above}
	if slices.SortFunc(all, greater); all[0].Group[0] != "/p/3" || all[1].Group[0] != "/p/2" || all[2].Group[0] != "/p/1" {
		t.Errorf("%v", all)
	}
}

// TestGroupsInAllDigits: sums that are equal as floating-point numbers are ordered by all their digits.
func TestGroupsInAllDigits(t *testing.T) {
	all := []group{{[]string{"a"}, number{Value: json.Number("639511147086610284.01")}}, {[]string{"b"}, number{Value: json.Number("639511147086610284.02")}}, {[]string{"c"}, number{Value: json.Number("639511147086610302")}}}
	if slices.SortFunc(all, greater); all[0].Group[0] != "c" || all[1].Group[0] != "b" || all[2].Group[0] != "a" {
		t.Errorf("%v", all)
	}
}

// TestSlowAnswer: a question that takes too long gets an answer that says so, while the connection
// is still open: after WriteTimeout the client would get none.
func TestSlowAnswer(t *testing.T) {
	e, _ := newEndpoints(t)
	e.http.Rollups = slowRollups{&fakeRollups{}}
	e.http.answerIn = time.Millisecond
	w := httptest.NewRecorder()
	e.http.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/api/v1/series?job=clicks&last=7d", nil))
	if w.Code != 502 || !strings.Contains(w.Body.String(), "no answer within 1ms") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if answerTimeout >= writeTimeout {
		t.Errorf("a question may take %s, and its connection is closed after %s", answerTimeout, writeTimeout)
	}
}

// slowRollups never answer.
type slowRollups struct{ *fakeRollups }

func (slowRollups) Long(ctx context.Context, _ Statement) ([]questions.Told, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestTopOfManyGroups: where the groups of a short range take too much memory, the rollups have the
// answer; without them the question is refused.
func TestTopOfManyGroups(t *testing.T) {
	e, job := newEndpoints(t)
	job.count(t, map[time.Duration]int{0: 7})
	e.http.Windows = live.New(live.Config{Now: func() time.Time { return noon }, Memory: 8})
	e.http.Windows.Add(job, &job.sink)
	rollups := &fakeRollups{}
	ask := func() (int, string) {
		w := httptest.NewRecorder()
		e.http.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/api/v1/top?job=clicks&last=10m&n=3", nil))
		return w.Code, w.Body.String()
	}
	if code, got := ask(); code != 400 || !strings.Contains(got, "an eighth of the memory of this process") {
		t.Errorf("without rollups: %d %s", code, got)
	}
	e.http.Rollups = rollups
	if code, got := ask(); code != 200 || !strings.Contains(got, `"groups":[{"group":["/p/1"],"value":1000,"error":0},{"group":["/p/2"],"value":1000,"error":0},{"group":["/p/3"],"value":9,"error":0}],"of":9`) {
		t.Errorf("with rollups: %d %s", code, got)
	}
	if len(rollups.asked) != 2 || !rollups.asked[0].Long || rollups.asked[0].From != noon.Add(-10*time.Minute-30*time.Second) || rollups.asked[0].Until != noon.Add(30*time.Second) {
		t.Errorf("asked %+v", rollups.asked)
	}
}
