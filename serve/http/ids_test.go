package http

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"weir/serve/key"
	"weir/sinks/clickhouse/questions"
)

// fakeIDs answers questions about ids with fixed rows, and keeps the last one.
type fakeIDs struct {
	asked  Statement
	rollup time.Duration
	err    error
}

func (f *fakeIDs) Rollup(string) time.Duration { return f.rollup }

func (f *fakeIDs) Retention(_ context.Context, st Statement) ([]questions.Pair, error) {
	f.asked = st
	monday := time.Date(2026, 11, 16, 0, 0, 0, 0, time.UTC)
	return []questions.Pair{{Start: monday, Later: monday, Cohort: 9, Returned: 9}, {Start: monday, Later: monday.AddDate(0, 0, 1), Cohort: 9, Returned: 2}, {Start: monday.AddDate(0, 0, 1), Later: monday.AddDate(0, 0, 1), Cohort: 3, Returned: 3}}, f.err
}

func (f *fakeIDs) Sessions(_ context.Context, st Statement) ([]questions.Bound, error) {
	f.asked = st
	return []questions.Bound{{At: noon.Truncate(time.Hour), Least: 5, Most: 70, Total: 9}, {At: noon.Truncate(time.Minute), Least: 1, Most: 20, Total: 9}}, f.err
}

func (f *fakeIDs) Funnel(_ context.Context, st Statement) ([]questions.Bound, error) {
	f.asked = st
	return []questions.Bound{{Step: 1, Least: 5, Most: 7}, {Step: 2, Least: 2, Most: 4}, {Step: 3}}[:len(st.Steps)], f.err
}

// TestIDs: questions about ids reach ClickHouse as they were asked, and its answers come back.
// With K, numbers of fewer people do not.
func TestIDs(t *testing.T) {
	e, job := newEndpoints(t)
	job.count(t, map[time.Duration]int{0: 7, time.Second: 42, time.Minute: 8})
	ids := &fakeIDs{}
	e.http.IDs = ids
	h := e.http.Handler()
	ask := func(path string) (int, string) {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/api/v1/"+path, nil))
		return w.Code, w.Body.String()
	}
	const steps = "funnel?job=clicks&steps=active:/p/1,active:*,people"
	for path, want := range map[string][2]string{
		"retention?job=clicks": {`"unit":"day","zone":"UTC","cohorts":[{"at":"2026-11-16T00:00:00Z","value":9,"back":[{"at":"2026-11-17T00:00:00Z","value":2}]},{"at":"2026-11-17T00:00:00Z","value":3,"back":[]}]`,
			"active day UTC 8 0s 0s []"},
		"retention?job=clicks&unit=week&zone=Europe/Berlin&n=60&measure=people": {`"unit":"week","zone":"Europe/Berlin"`, "people week Europe/Berlin 60 0s 0s []"},
		"sessions?job=clicks&last=5m&gap=10m&step=1m":                           {`"gap_s":600,"step_s":60,"total":{"least":6,"most":9},"points":[{"at":"2026-11-20T12:00:00Z","least":5,"most":70},`, "active   0 10m0s 1m0s []"},
		"sessions?job=clicks&last=5m&step=1h":                                   {`"from":"2026-11-20T12:00:00Z","until":"2026-11-20T13:00:00Z"`, "active   0 30m0s 1h0m0s []"},
		steps:                                                                   {`"steps":[{"step":"active:/p/1","least":5,"most":7},{"step":"active:*","least":2,"most":4},{"step":"people","least":0,"most":0}]`, "active   0 0s 0s [active:/p/1 active:* people]"},
	} {
		code, got := ask(path)
		a := ids.asked
		if what := fmt.Sprint(a.Measure, " ", a.Unit, " ", a.Zone, " ", a.Periods, " ", a.Gap, " ", a.Step, " ", a.Steps); code != 200 || !strings.Contains(got, want[0]) || what != want[1] {
			t.Errorf("%s: %d %s, asked %q\nwant %s, %q", path, code, got, what, want[0], want[1])
		}
	}
	for path, want := range map[string]string{
		"retention?job=clicks&unit=days":                      "unit=days; want one of day, week",
		"retention?job=clicks&n=61":                           "want a number from 1 to 60",
		"retention?job=clicks&measure=users":                  "measure users of kind hll does not know who came back; a bitmap or a set does",
		"sessions?job=clicks&gap=5":                           "gap=5; want a duration",
		"sessions?job=clicks&step=90s":                        "step=1m30s; want a multiple of 1m0s, the shortest rollup of job clicks",
		"sessions?job=clicks&from=2106-01-01T00:00:00Z":       "from=2106-01-01T00:00:00Z; want a time of 1970 to 2105 such as 2026-11-20T12:00:00Z",
		"funnel?job=clicks&steps=active,":                     "steps=active,; step 2 has no measure",
		"funnel?job=clicks":                                   "no steps; want some such as",
		"funnel?job=clicks&steps=users:/p/1,active":           "measure users of kind hll does not know who came back",
		"explain?of=" + strings.ReplaceAll(steps, "&", "%26"): `"redis":""`,
	} {
		if _, got := ask(path); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	ids.rollup = 10 * time.Minute
	if _, got := ask("jobs"); !strings.Contains(got, `"job":"clicks","window_s":60,"rollup_s":600,"keep_s":0,"rollups":[],"by":`) {
		t.Errorf("jobs: %s, want a rollup of 600 s", got)
	}
	if _, got := ask("sessions?job=clicks&last=5m"); !strings.Contains(got, `"step_s":600,`) {
		t.Errorf("sessions: %s, want steps of the shortest rollup", got)
	}
	if _, got := ask("funnel?job=clicks&from=2026-11-20T11:55:00Z&until=2026-11-20T12:01:00Z&steps=active"); !strings.Contains(got, `"from":"2026-11-20T11:50:00Z","until":"2026-11-20T12:10:00Z"`) {
		t.Errorf("funnel: %s, want a range of windows of the shortest rollup", got)
	}
	ids.err = fmt.Errorf("%w: make the range shorter", key.ErrQuestion)
	if code, got := ask("sessions?job=clicks"); code != 400 || !strings.Contains(got, "make the range shorter") {
		t.Errorf("a refused question: %d %s", code, got)
	}
	ids.err = errors.New("connection refused")
	if code, _ := ask("sessions?job=clicks"); code != 502 {
		t.Errorf("without ClickHouse: %d", code)
	}
	ids.err = nil
	for k, want := range map[int]map[string]string{
		3: {
			"retention?job=clicks":                        `"value":9,"back":[{"at":"2026-11-17T00:00:00Z","value":null}]`,
			"sessions?job=clicks&last=5m&by.page=/p/1":    `"total":{"least":6,"most":9}`,
			"funnel?job=clicks&steps=active:%252Fp%252F1": `"steps":[{"step":"active:%2Fp%2F1","least":5,"most":7}]`,
			"funnel?job=clicks&steps=active:/p/1,active":  `"steps":[{"step":"active:/p/1","least":5,"most":7},{"step":"active","least":null,"most":null,"withheld":true}]`,
		},
		4: {
			// There were no people in /p/1 on Monday, so the nine ids are no people; three were within the last hour.
			"retention?job=clicks&by.page=/p/1":            `{"at":"2026-11-16T00:00:00Z","value":null,"withheld":true,"back":[{"at":"2026-11-17T00:00:00Z","value":null}]},{"at":"2026-11-17T00:00:00Z","value":null,"withheld":true,"back":[]}`,
			"funnel?job=clicks&steps=active:/p/1,active":   `[{"step":"active:/p/1","least":null,"most":null,"withheld":true},{"step":"active","least":null,"most":null,"withheld":true}]`,
			"funnel?job=clicks&steps=active:/p/9,active:*": `[{"step":"active:/p/9","least":null,"most":null,"withheld":true},`,
			"sessions?job=clicks&last=5m&by.page=/p/1":     `"total":{"least":null,"most":null,"withheld":true},"points":[{"at":"2026-11-20T12:00:00Z","least":null,"most":null,"withheld":true},`,
			"sessions?job=clicks&last=5m":                  `"total":{"least":6,"most":9}`,
		},
	} {
		e.http.K = k
		h = e.http.Handler()
		for path, reply := range want {
			if _, got := ask(path); !strings.Contains(got, reply) {
				t.Errorf("k=%d: %s: %s, want %s", k, path, got, reply)
			}
		}
	}
}

// TestAfter: a period ends where the next one begins in its zone, also on days on which clocks
// change.
func TestAfter(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for unit, want := range map[string]string{
		"day": "2026-10-25T23:00:00Z", "week": "2026-10-31T23:00:00Z", "month": "2026-11-24T23:00:00Z",
		"quarter": "2027-01-24T23:00:00Z", "year": "2027-10-24T22:00:00Z",
	} {
		sunday := time.Date(2026, 10, 25, 0, 0, 0, 0, berlin) // of 25 hours
		if got := after(sunday, unit).UTC().Format(time.RFC3339); got != want {
			t.Errorf("%s: %s, want %s", unit, got, want)
		}
	}
}
