package http

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"weir/event"
	"weir/measures/bitmap"
	"weir/measures/hll"
	"weir/serve/live"
	"weir/sinks/clickhouse/questions"
	"weir/window"
)

// basketIDs says that three baskets of Thursday were there on Friday, too.
type basketIDs struct{ fakeIDs }

func (f *basketIDs) Retention(context.Context, Statement) ([]questions.Pair, error) {
	friday := noon.Truncate(24 * time.Hour)
	thursday := friday.AddDate(0, 0, -1)
	return []questions.Pair{{Start: thursday, Later: thursday, Cohort: 6, Returned: 6}, {Start: thursday, Later: friday, Cohort: 6, Returned: 3}, {Start: friday, Later: friday, Cohort: 3, Returned: 3}}, nil
}

// newBaskets counts events of a job whose first measure counts people, and the second one their baskets.
// Each event is a page, a country, a user and a basket, so long before noon.
func newBaskets(t *testing.T, events map[time.Duration][]string) *Server {
	t.Helper()
	return newBasketsAt(t, func() time.Time { return noon }, events)
}

// newBasketsAt is newBaskets with a clock.
func newBasketsAt(t *testing.T, now func() time.Time, events map[time.Duration][]string) *Server {
	t.Helper()
	spec := clicksSpec()
	spec.By = []window.Dimension{{Name: "page", Path: "page"}, {Name: "country", Path: "country"}}
	spec.Measures = []window.Measure{{Name: "users", Kind: hll.Kind, Path: "user"}, {Name: "baskets", Kind: bitmap.Kind, Path: "basket"}}
	op, err := window.NewOperator(spec)
	if err != nil {
		t.Fatal(err)
	}
	job := &pageJob{emptyJob: emptyJob{spec}, op: op}
	job.sink.Sink = emptySink(t, spec)
	windows := live.New(live.Config{Now: now, Memory: 1 << 30})
	windows.Add(job, &job.sink)
	op.Start(window.Plan{})
	b := event.Batch{}
	for ago, all := range events {
		at := noon.Add(-ago).UnixMilli()
		for _, one := range all {
			f := strings.Split(one, " ")
			b.Records = append(b.Records, event.Record{Offset: b.Next, Time: event.Time(at),
				Value: fmt.Appendf(nil, `{"ts":%d,"page":"%s","country":"%s","user":%s,"basket":%s}`, at, f[0], f[1], f[2], f[3])})
			b.Next++
		}
	}
	if err := op.Observe(&b); err != nil {
		t.Fatal(err)
	}
	return &Server{Windows: windows, IDs: &basketIDs{}, K: 3}
}

// TestPrivateBack: with K, how much came back at a time at which fewer people were in the group is
// withheld, although they have enough baskets.
func TestPrivateBack(t *testing.T) {
	before := []string{"/p DE 1 1", "/p DE 1 2", "/p DE 1 3", "/p DE 2 4", "/p DE 3 5"}
	alone := []string{"/p DE 1 1", "/p DE 1 2", "/p DE 1 3"}
	three := []string{"/p DE 1 1", "/p DE 2 2", "/p DE 3 3"}
	for _, c := range []struct {
		ago        time.Duration // when the ones before were there
		path, form string
	}{
		{2 * time.Minute, "returning?measure=baskets&n=3&by.page=/p", `"value":5,"error":0,"back":[0,%s]}`},
		{24 * time.Hour, "retention?measure=baskets&n=2&by.page=/p&by.country=DE", `"value":6,"back":[{"at":"2026-11-20T00:00:00Z","value":%s}]`},
	} {
		for number, now := range map[string][]string{"null": alone, "3": three} {
			s := newBaskets(t, map[time.Duration][]string{c.ago: before, 0: now})
			w := httptest.NewRecorder()
			s.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/api/v1/"+c.path, nil))
			if want := fmt.Sprintf(c.form, number); !strings.Contains(w.Body.String(), want) {
				t.Errorf("%s: %s, want %s", c.path, w.Body, want)
			}
		}
	}
}

// TestPrivateTexts: a group is told by its own people, whatever bytes its texts have.
func TestPrivateTexts(t *testing.T) {
	s := newBaskets(t, map[time.Duration][]string{0: {`a\u0000b c 1 1`, `a\u0000b c 2 2`, `a\u0000b c 3 3`, `a b\u0000c 4 4`}})
	var got TopReply
	if get(t, s.Handler(), "/api/v1/top?column=page,country", &got); len(got.Groups) != 1 || got.Groups[0].Group[0] != "a\x00b" || got.Withheld != 1 {
		t.Errorf("%+v, want the one group of three people", got)
	}
}

// TestPrivateNow: the people and the number of a window key are those of the same windows, also if a
// new one begins between the two.
func TestPrivateNow(t *testing.T) {
	events := map[time.Duration][]string{0: {"/p DE 1 1", "/p DE 2 2", "/p DE 3 3"}, -time.Minute: {"/p DE 4 4"}}
	for calls := range 12 {
		left := calls
		s := newBasketsAt(t, func() time.Time {
			if left--; left < 0 {
				return noon.Add(time.Minute)
			}
			return noon
		}, events)
		var got queryReply
		code := get(t, s.Handler(), "/api/v1/query?key=w:clicks:hits:now:/p", &got)
		if code != 403 && (code != 200 || fmt.Sprint(got.Value) != "3") {
			t.Errorf("a new window after %d looks at the clock: %d %+v, want that of three people, or none", calls, code, got)
		}
	}
}
