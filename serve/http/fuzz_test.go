package http

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"weir/jobs"
	"weir/serve/live"
	"weir/sinks/memory"
	"weir/window"
)

// emptyJob is a job that has counted nothing.
type emptyJob struct{ spec *window.Spec }

func (j emptyJob) Spec() *window.Spec  { return j.spec }
func (j emptyJob) Status() jobs.Status { return jobs.Status{State: "running"} }
func (j emptyJob) Live(context.Context, *window.Range) ([]*window.Table, error) {
	return nil, nil
}
func (j emptyJob) OnFlush(func(*window.Changes)) {}

// emptySink returns a sink to which nothing was written.
func emptySink(t testing.TB, spec *window.Spec) live.Sink {
	t.Helper()
	s, err := memory.New().Job(spec, "clicks")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// FuzzQuery: every query to /api/v1/query gets an answer in JSON. A bad query
// is the client's error (400, 404), never one of ClickHouse (502).
func FuzzQuery(f *testing.F) {
	windows := live.New(live.Config{Now: func() time.Time { return time.UnixMilli(1_763_600_000_000) }, Memory: 1 << 30})
	j := emptyJob{clicksSpec()}
	windows.Add(j, emptySink(f, j.spec))
	h := (&Server{Windows: windows}).Handler()
	for _, key := range []string{
		"w:clicks:users:now:*", "w:clicks:hits:-60..now:/p%2F1", "w:clicks:active:20251120T0105Z:*", "w:clicks:seen:20251120T0105Z..now", "w:clicks:places:-1:",
		"w:clicks:users:now:a:b:c", "w:none:users:now", "w:clicks:users:-9223372036854775808", "w:clicks:users:00010101T0000Z..99991231T2359Z:*", "", "w:clicks:users:now:%zz",
	} {
		f.Add("key="+url.QueryEscape(key), "7")
	}
	f.Add("key=%zz;;&key", "\x00")
	f.Fuzz(func(t *testing.T, query, member string) {
		r := httptest.NewRequest("GET", "/api/v1/query", nil)
		r.URL.RawQuery = query + "&member=" + url.QueryEscape(member)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		var a queryReply
		if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil {
			t.Fatalf("%q: %d %q: %v", query, w.Code, w.Body, err)
		}
		if mistake := w.Code == http.StatusBadRequest || w.Code == http.StatusNotFound; mistake != (a.Error != "") || !mistake && w.Code != http.StatusOK {
			t.Fatalf("%q: %d %+v", query, w.Code, a)
		}
	})
}
