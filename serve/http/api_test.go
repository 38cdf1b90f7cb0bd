package http

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"weir/internal/await"
	"weir/jobs"
	"weir/measures/face"
	"weir/serve/live"
)

// get asks a path and decodes the answer into to, which may be nil.
func get(t *testing.T, h http.Handler, path string, to any) (code int) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
	if to != nil {
		if err := json.Unmarshal(w.Body.Bytes(), to); err != nil {
			t.Fatalf("%s: %d %q: %v", path, w.Code, w.Body, err)
		}
	}
	return w.Code
}

// described is what the tests read of openapi.json.
type described struct {
	Paths map[string]map[string]struct {
		Parameters []struct {
			Name    string
			Example any
		}
		Responses map[string]struct {
			Content map[string]struct {
				Schema json.RawMessage
			}
		}
	}
}

func readOpenAPI(t *testing.T) (d described, schema func(t *testing.T, raw json.RawMessage) *jsonschema.Schema) {
	t.Helper()
	if err := json.Unmarshal(openapi, &d); err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(openapi))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("openapi.json", document); err != nil {
		t.Fatal(err)
	}
	return d, func(t *testing.T, raw json.RawMessage) *jsonschema.Schema {
		t.Helper()
		var ref struct {
			Ref string `json:"$ref"`
		}
		if err := json.Unmarshal(raw, &ref); err != nil || ref.Ref == "" {
			t.Fatalf("no reference: %s, %v", raw, err)
		}
		s, err := c.Compile("openapi.json" + ref.Ref)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
}

// seenFields adds the names of all fields of a JSON value.
func seenFields(v any, seen map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			seen[name] = true
			seenFields(inner, seen)
		}
	case []any:
		for _, inner := range v {
			seenFields(inner, seen)
		}
	}
}

// TestOpenAPI asks every path of openapi.json with its examples, and compares the answers
// with the schemas, which allow no other fields and want all of theirs. Each parameter is
// taken, each code of the file is answered, and each path of the handler is in it.
func TestOpenAPI(t *testing.T) {
	d, schema := readOpenAPI(t)
	e, job := newEndpoints(t)
	job.count(t, map[time.Duration]int{0: 7, time.Second: 42, time.Minute: 7, 2 * time.Minute: 9})
	e.http.Dead = func(context.Context, string, int) ([]DeadLetter, error) { return []DeadLetter{{Job: "clicks"}}, nil }
	e.http.Audit = func() Audit { return Audit{At: noon, Mismatches: 1, Found: []Mismatch{{"clicks", "what", "do"}}} }
	e.http.IDs = &fakeIDs{}
	e.http.Process = &Process{Recovery: func() *Recovery { return &Recovery{At: noon, Over: true, Text: "0 lost"} }}
	h := e.http.Handler()
	guarded := (&Server{Token: "secret", Windows: e.http.Windows, Process: &Process{}}).Handler()

	for pattern := range e.http.routes() {
		if _, path, _ := strings.Cut(pattern, " "); d.Paths[path] == nil && strings.HasPrefix(path, "/api/v1/") && path != "/api/v1/status" && path != "/api/v1/query" {
			t.Errorf("%s is served and not in openapi.json", path)
		}
	}
	for path, methods := range d.Paths {
		for method, m := range methods {
			if code := ask(t, guarded, strings.ToUpper(method), path, "").StatusCode; code != 401 {
				t.Errorf("%s without the token: %d", path, code)
			}
			if _, isJSON := m.Responses["200"].Content["application/json"]; !isJSON || path == "/api/v1/openapi.json" {
				continue
			}
			q := url.Values{}
			for _, p := range m.Parameters {
				if p.Example != nil {
					q.Set(p.Name, fmt.Sprint(p.Example))
				}
			}
			check := func(name string, h http.Handler, q url.Values, want int) {
				t.Helper()
				w := httptest.NewRecorder()
				h.ServeHTTP(w, httptest.NewRequest("GET", path+"?"+q.Encode(), nil))
				if w.Code != want {
					t.Errorf("%s?%s: %d %s, want %d", path, q.Encode(), w.Code, w.Body, want)
					return
				}
				r, ok := m.Responses[fmt.Sprint(want)]
				if !ok {
					t.Errorf("%s: %s answers %d, of which the file does not tell", path, name, want)
					return
				}
				content, ok := r.Content["application/json"]
				if !ok {
					return
				}
				value, err := jsonschema.UnmarshalJSON(w.Body)
				if err != nil {
					t.Fatal(err)
				}
				if err := schema(t, content.Schema).Validate(value); err != nil {
					t.Errorf("%s?%s: %v", path, q.Encode(), err)
				}
				seen := map[string]bool{}
				seenFields(value, seen)
				if want == 200 && len(seen) < 2 {
					t.Errorf("%s: an answer without fields tests nothing", path)
				}
			}
			check("the example", h, q, 200)
			with := func(name, value string) url.Values {
				other := maps.Clone(q)
				other.Set(name, value)
				return other
			}
			check("an unknown parameter", h, with("no", "1"), 400)
			twice := maps.Clone(q)
			if len(m.Parameters) > 0 {
				first := m.Parameters[0].Name
				twice[first] = append(slices.Clone(twice[first]), "x", "y")
				check("a parameter twice", h, twice, 400)
			}
			for _, p := range m.Parameters {
				switch p.Name {
				case "job":
					check("no such job", h, with("job", "clikcs"), 404)
				case "measure":
					check("no such measure", h, with("measure", "usres"), 404)
				case "by.COLUMN":
					check("a group", h, with("by.page", "/p/1"), 200)
					check("no such column", h, with("by.pgae", "/p/1"), 404)
				case "last":
					check("no such duration", h, with("last", "5"), 400)
					if path != "/api/v1/top" {
						check("today", h, with("last", "today"), 200)
					} else {
						check("too many windows", h, with("last", "today"), 400)
					}
				case "from":
					range_ := with("from", noon.Add(-time.Minute).Format(time.RFC3339))
					range_.Del("last")
					check("from", h, range_, 200)
					range_.Set("until", noon.Format(time.RFC3339))
					check("from and until", h, range_, 200)
					range_.Set("until", "soon")
					check("no such time", h, range_, 400)
				case "box":
					box := with("box", "13,38,14,39")
					box.Del("near")
					box.Del("radius")
					check("a box", h, box, 200)
					box.Set("box", "170,-10,-170,10")
					check("a box across the date line", h, box, 400)
				case "n", "precision":
					check("no number", h, with(p.Name, "0"), 400)
				}
			}
		}
	}
	sample := jobs.Status{
		Job: "clicks", State: "running", Records: map[string]uint64{"counted": 7}, Events: map[string]uint64{"counted": 70}, LastFlush: noon, LastError: "no", Complete: 1,
		Skipped: map[string]uint64{"sum": 4}, Timeless: 2,
		Partitions: []jobs.PartitionStatus{{Partition: 1, Next: 1030, Durable: 7, Lag: 3, Watermark: 1}},
	}
	text, err := json.Marshal(HealthReply{Now: noon, Jobs: []JobHealth{healthOf(sample, 1024)}})
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema(t, json.RawMessage(`{"$ref":"#/components/schemas/Health"}`)).Validate(value); err != nil {
		t.Errorf("health: %v", err)
	}
	if !strings.Contains(string(text), `"records":{"counted":7},"events":{"counted":70},"skipped":{"sum":4},"without_record_time":2,`) || !strings.Contains(string(text), `"chunk":{"number":1,"offsets":6,"size":1024}`) || !strings.Contains(string(text), `"trouble":["no"]`) {
		t.Errorf("health: %s", text)
	}
}

// TestPrivate: with K, what fewer people are in does not leave the process over any path;
// what enough people are in does.
func TestPrivate(t *testing.T) {
	e, job := newEndpoints(t)
	job.count(t, map[time.Duration]int{0: 7, time.Second: 42, time.Minute: 8})
	e.http.Dead = func(context.Context, string, int) ([]DeadLetter, error) {
		return []DeadLetter{{Job: "clicks", Payload: "secret"}}, nil
	}
	for k, told := range map[int]bool{0: true, 3: true, 4: false} {
		e.http.K = k
		h := e.http.Handler()
		for path, reveals := range map[string]string{
			"series?job=clicks&last=5m&by.page=/p/1":        `"total":{"value":3,`,
			"people?job=clicks&by.page=/p/1":                `"value":3`,
			"top?job=clicks&last=5m":                        "/p/1",
			"heat?job=clicks&last=5m&precision=3":           "sqc",
			"query?key=w:clicks:hits:-5..now:/p/1":          `"value":3`,
			"returning?job=clicks&n=2&step=3m&by.page=/p/1": `"value":3`,
		} {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest("GET", "/api/v1/"+path, nil))
			if strings.Contains(w.Body.String(), reveals) != told {
				t.Errorf("k=%d: %s: %d %s", k, path, w.Code, w.Body)
			}
		}
		for path, reveals := range map[string]string{
			"positions?job=clicks&last=5m&box=13,38,14,39": `"member":"7"`,
			"list?job=clicks&last=5m":                      `"key":"7"`,
			"query?key=w:clicks:active:now%26member=7":     `"has":true`,
			"query?key=w:clicks:often:-5..now":             `"key":"7"`,
			"query?key=w:clicks:latest:-5..now":            `"value":"7"`,
			"dead-letters":                                 "secret",
		} {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest("GET", "/api/v1/"+strings.ReplaceAll(path, "%26", "&"), nil))
			if strings.Contains(w.Body.String(), reveals) != (k == 0) {
				t.Errorf("k=%d: %s: %d %s", k, path, w.Code, w.Body)
			}
		}
	}
	// A point with too few people is withheld where the whole is told.
	e.http.K = 3
	var s seriesReply
	if get(t, e.http.Handler(), "/api/v1/series?job=clicks&last=60s&by.page=/p/1", &s); !s.Points[0].Withheld || s.Total.Withheld {
		t.Errorf("%+v", s)
	}
	// That a measure with conditions has nothing tells of the people of a group, if it has any.
	e.http.K = 4
	for page, secret := range map[string]bool{"/p/1": true, "/p/9": false} {
		q := call{"series", url.Values{"job": {"clicks"}, "measure": {"greatest"}, "last": {"5m"}, "by.page": {page}}}
		a, err := e.http.asked(q, face.Quantity)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := e.http.tell(t.Context(), &a, a.span, live.Answer{}); err != nil || n.Withheld != secret {
			t.Errorf("nothing of %s: %+v, %v; want withheld %v", page, n, err, secret)
		}
	}
}

// TestNoMeasure: a job that has nothing for a path says so, also if the question names a measure.
func TestNoMeasure(t *testing.T) {
	h := newBaskets(t, nil).Handler()
	for _, path := range []string{"/api/v1/heat", "/api/v1/heat?measure=places"} {
		var got failure
		if code := get(t, h, path, &got); code != 400 || got.Error != "not a question: job clicks has no measure that heat can show" {
			t.Errorf("%s: %d %s", path, code, got.Error)
		}
	}
}

// TestNest: a longer time back has at least the people of a shorter one within it.
func TestNest(t *testing.T) {
	day := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	of := func(from time.Duration, n uint64) recent {
		return recent{span: span{From: day.Add(from)}, number: number{Value: n}}
	}
	for name, c := range map[string]struct {
		all  []recent
		want []uint64
	}{
		"an older answer":      {[]recent{of(9*time.Hour, 5), of(8*time.Hour, 7), of(7*time.Hour, 6), of(0, 6)}, []uint64{5, 7, 7, 7}},
		"soon after midnight":  {[]recent{of(time.Minute, 5), of(-time.Minute, 9), of(-time.Hour, 9), of(0, 4)}, []uint64{5, 9, 9, 5}},
		"as it usually is":     {[]recent{of(9*time.Hour, 1), of(8*time.Hour, 2), of(7*time.Hour, 3), of(0, 4)}, []uint64{1, 2, 3, 4}},
		"one that is withheld": {[]recent{of(9*time.Hour, 8), {number: number{Withheld: true}}, of(7*time.Hour, 3)}, []uint64{8, 0, 8}},
	} {
		nest(c.all)
		for i, one := range c.all {
			if got, _ := one.Value.(uint64); got != c.want[i] {
				t.Errorf("%s, %d: %d, want %d", name, i, got, c.want[i])
			}
		}
	}
}

// TestSession: the cookie that the token buys stands for it, not for another token, and
// not on behalf of another site.
func TestSession(t *testing.T) {
	e, _ := newEndpoints(t)
	e.http.Token = "correct-horse"
	h := e.http.Handler()
	res := ask(t, h, "POST", "/api/v1/session", "Bearer correct-horse")
	if res.StatusCode != 204 || len(res.Cookies()) != 1 {
		t.Fatalf("%s, %v", res.Status, res.Cookies())
	}
	cookie := res.Cookies()[0]
	if !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || strings.Contains(cookie.Value, "correct") {
		t.Errorf("%+v", cookie)
	}
	other := &Server{Windows: e.http.Windows, Token: "wrong-horse"}
	for _, c := range []struct {
		h     http.Handler
		value string
		site  string
		want  int
	}{
		{h, cookie.Value, "", 200},
		{h, cookie.Value, "same-origin", 200},
		{h, cookie.Value, "cross-site", 403},
		{h, cookie.Value[1:], "", 401},
		{h, "correct-horse", "", 401},
		{other.Handler(), cookie.Value, "", 401},
	} {
		r := httptest.NewRequest("GET", "/api/v1/jobs", nil)
		r.AddCookie(&http.Cookie{Name: cookie.Name, Value: c.value})
		if c.site != "" {
			r.Header.Set("Sec-Fetch-Site", c.site)
		}
		w := httptest.NewRecorder()
		c.h.ServeHTTP(w, r)
		if w.Code != c.want {
			t.Errorf("%+v: %d", c, w.Code)
		}
	}
	r := httptest.NewRequest("GET", "/api/v1/jobs", nil)
	r.Header.Set("Cookie", cookie.Name+"=of-another-port; "+cookie.Name+"="+cookie.Value)
	w := httptest.NewRecorder()
	if h.ServeHTTP(w, r); w.Code != 200 {
		t.Errorf("behind another cookie of this name: %d", w.Code)
	}
	if res := ask(t, h, "GET", "/api/v1/jobs", "bearer correct-horse"); res.StatusCode != 200 {
		t.Errorf("a scheme in small letters: %s", res.Status)
	}
	if res := ask(t, h, "GET", "/api/v1/jobs?token=correct-horse", ""); res.StatusCode != 401 {
		t.Errorf("a token in the query: %s", res.Status)
	}
}

// A listener is a client of a stream.
type listener struct {
	t    *testing.T
	body *bufio.Scanner
	end  context.CancelFunc
}

func listen(t *testing.T, base, query string) *listener {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, "GET", base+"/api/v1/stream?"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { end(); res.Body.Close() })
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%s, %v", res.Status, res.Header)
	}
	return &listener{t, bufio.NewScanner(res.Body), end}
}

// next returns the next event.
func (l *listener) next() (name, data string) {
	l.t.Helper()
	for l.body.Scan() {
		switch field, value, _ := strings.Cut(l.body.Text(), ": "); field {
		case "event":
			name = value
		case "data":
			return name, value
		}
	}
	l.t.Fatalf("the stream has ended: %v", l.body.Err())
	return
}

// TestStream: viewers get what a GET answers, under the number of their question; equal
// questions are answered once for all; an error is an event; too many questions are refused;
// and a stop ends the streams.
func TestStream(t *testing.T) {
	e, job := newEndpoints(t)
	job.count(t, map[time.Duration]int{0: 7, time.Second: 42})
	h := e.http.Handler()
	asked := map[string]int{}
	for path, one := range e.http.hub.endpoints {
		if read := one.asked; read != nil {
			one.asked = func(q call) (asking, error) {
				e.http.hub.mu.Lock()
				asked[q.id()]++
				e.http.hub.mu.Unlock()
				return read(q)
			}
			e.http.hub.endpoints[path] = one
		}
	}
	server := httptest.NewServer(h)
	t.Cleanup(server.Close) // after the clients have gone
	const hits, wrong = "ask=series%3Fjob%3Dclicks%26last%3D1m", "ask=series%3Fjob%3Dclikcs"
	first := listen(t, server.URL, wrong+"&"+hits)
	got := map[string]string{}
	for len(got) < 2 {
		name, data := first.next()
		got[name] = data
	}
	if want := `{"status":404,"error":"no job clikcs; is it clicks?"}`; got["ask0"] != want {
		t.Errorf("%s, want %s", got["ask0"], want)
	}
	if !strings.Contains(got["ask1"], `"status":200,"answer":{"job":"clicks","measure":"hits"`) || !strings.Contains(got["ask1"], `"total":{"value":2,`) {
		t.Errorf("%s", got["ask1"])
	}
	second := listen(t, server.URL, hits)
	if name, data := second.next(); name != "ask0" || !strings.Contains(data, `"value":2`) {
		t.Errorf("%s %s", name, data)
	}
	job.count(t, map[time.Duration]int{2 * time.Second: 43})
	for _, l := range []*listener{first, second} {
		for data := ""; !strings.Contains(data, `"total":{"value":3,`); {
			_, data = l.next()
		}
	}
	e.http.hub.mu.Lock()
	if n := len(e.http.hub.standing); n != 2 || len(asked) != 2 {
		t.Errorf("%d questions, %v", n, asked)
	}
	e.http.hub.mu.Unlock()
	first.end()
	second.end()
	empty := func() error {
		e.http.hub.mu.Lock()
		defer e.http.hub.mu.Unlock()
		if len(e.http.hub.standing) > 0 || e.http.hub.viewers > 0 {
			return fmt.Errorf("%d questions and %d viewers are left", len(e.http.hub.standing), e.http.hub.viewers)
		}
		return nil
	}
	await.Until(t, empty)
	if code := get(t, h, "/api/v1/stream?"+strings.Repeat(hits+"&", asksMost)+hits, nil); code != 400 {
		t.Errorf("a question too many: %d", code)
	}
	last := listen(t, server.URL, hits)
	last.next()
	e.http.hub.close()
	for last.body.Scan() {
	}
	await.Until(t, empty)
}

// TestSlowViewer: a viewer that reads nothing holds up no other one.
func TestSlowViewer(t *testing.T) {
	e, job := newEndpoints(t)
	job.count(t, map[time.Duration]int{0: 7})
	server := httptest.NewServer(e.http.Handler())
	t.Cleanup(server.Close) // after the clients have gone
	const hits = "ask=series%3Fjob%3Dclicks%26last%3D1d"
	for range 50 {
		listen(t, server.URL, hits) // never read
	}
	l := listen(t, server.URL, hits)
	for i := range 3 {
		job.count(t, map[time.Duration]int{time.Duration(i+1) * time.Second: i})
		for data := ""; !strings.Contains(data, fmt.Sprintf(`"total":{"value":%d,`, i+2)); {
			_, data = l.next()
		}
	}
}
