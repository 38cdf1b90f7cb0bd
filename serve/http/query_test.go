package http

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/event"
	"weir/internal/await"
	"weir/internal/redistest"
	"weir/internal/tcptest"
	"weir/measures/bitmap"
	"weir/measures/bloom"
	"weir/measures/extreme"
	"weir/measures/geo"
	"weir/measures/hll"
	"weir/measures/ordered"
	"weir/measures/quantile"
	"weir/measures/set"
	"weir/measures/sum"
	"weir/measures/topk"
	"weir/serve/live"
	"weir/serve/redis"
	"weir/window"
)

// noon is when the questions of these tests are asked.
var noon = time.Date(2026, 11, 20, 12, 5, 30, 0, time.UTC)

// clicksSpec is a job by page, with a measure of each kind.
func clicksSpec() *window.Spec {
	return &window.Spec{
		Job: "clicks", Version: 1, TimeField: "ts", TimeUnit: event.Millis, Window: 60_000, Lateness: 86_400_000, Skew: 600_000, Chunk: 1024, MaxGroups: 5,
		By: []window.Dimension{{Name: "page", Path: "page"}},
		Measures: []window.Measure{
			{Name: "users", Kind: hll.Kind, Path: "user"},
			{Name: "active", Kind: bitmap.Kind, Path: "user"},
			{Name: "seen", Kind: bloom.Kind, Path: "user", Capacity: 1000, Error: 0.01},
			{Name: "places", Kind: geo.Kind, Path: "user", Lon: "lon", Lat: "lat"},
			{Name: "greatest", Kind: extreme.Max, Path: "user"},
			{Name: "least", Kind: extreme.Min, Path: "user"},
			{Name: "earliest", Kind: ordered.First, Path: "user"},
			{Name: "latest", Kind: ordered.Last, Path: "user"},
			{Name: "people", Kind: set.Kind, Path: "user"},
			{Name: "often", Kind: topk.Kind, Path: "user", K: 2},
			{Name: "spread", Kind: quantile.Kind, Path: "user", Error: 0.01},
			{Name: "total", Kind: sum.Sum, Path: "user", Scale: 2},
			{Name: "mean", Kind: sum.Avg, Path: "user", Scale: 2},
		},
	}
}

// A pageJob has counted some events and flushed none.
type pageJob struct {
	emptyJob
	mu   sync.Mutex // guards op and next
	op   *window.Operator
	next int64 // offset of the next event
	sink awaySink
}

func (j *pageJob) Live(_ context.Context, r *window.Range) ([]*window.Table, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	t := window.NewTable(j.spec)
	j.op.Snapshot(t, r)
	t.Seal()
	return []*window.Table{t}, nil
}

// An awaySink is a sink that may be away.
type awaySink struct {
	live.Sink
	away atomic.Pointer[error]
}

// gone is why the sink cannot be asked, or nil.
func (s *awaySink) gone() error {
	if err := s.away.Load(); err != nil {
		return *err
	}
	return nil
}

func (s *awaySink) Total(ctx context.Context, r *window.Range) (uint64, error) {
	if err := s.gone(); err != nil {
		return 0, err
	}
	return s.Sink.Total(ctx, r)
}

// count has the job count events: each is a time before noon and a user.
func (j *pageJob) count(t *testing.T, users map[time.Duration]int) {
	t.Helper()
	j.visit(t, users, 13.361389, 38.115556)
}

// visit has the job count events at a place.
func (j *pageJob) visit(t *testing.T, users map[time.Duration]int, lon, lat float64) {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.next == 0 {
		j.op.Start(window.Plan{})
	}
	b := event.Batch{First: j.next, Next: j.next}
	for ago, user := range users {
		at := noon.Add(-ago).UnixMilli()
		b.Records = append(b.Records, event.Record{Offset: b.Next, Time: event.Time(at),
			Value: fmt.Appendf(nil, `{"ts":%d,"page":"/p/1","user":%d,"lon":%v,"lat":%v}`, at, user, lon, lat)})
		b.Next++
	}
	j.next = b.Next
	if err := j.op.Observe(&b); err != nil {
		t.Fatal(err)
	}
}

// endpoints are both ways to ask: /api/v1/query and the Redis endpoint.
type endpoints struct {
	t    *testing.T
	http *Server
	conn *redistest.Conn
}

// newEndpoints open on the job of clicksSpec and a job locations by nothing.
func newEndpoints(t *testing.T) (*endpoints, *pageJob) {
	t.Helper()
	spec := clicksSpec()
	op, err := window.NewOperator(spec)
	if err != nil {
		t.Fatal(err)
	}
	job := &pageJob{emptyJob: emptyJob{spec}, op: op}
	job.sink.Sink = emptySink(t, spec)
	other := *spec
	other.Job, other.By = "locations", nil
	windows := live.New(live.Config{Now: func() time.Time { return noon }, Memory: 1 << 30})
	windows.Add(job, &job.sink)
	windows.Add(emptyJob{&other}, emptySink(t, &other))

	l := tcptest.Listen(t)
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- redis.New(redis.Config{Windows: windows}).Serve(ctx, l) }()
	conn, err := redistest.Dial(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return &endpoints{t, &Server{Windows: windows, Redis: l.Addr().String()}, conn}, job
}

// asks wants a reply of the Redis endpoint.
func (d *endpoints) asks(want any, command ...any) {
	d.t.Helper()
	if n, ok := want.(int); ok {
		want = int64(n)
	}
	got, err := d.conn.Do(command...)
	if err != nil {
		d.t.Fatal(err)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		d.t.Errorf("%v: %v, want %v", command, got, want)
	}
}

// gets asks /api/v1/query.
func (d *endpoints) gets(key, member string) (status int, a queryReply) {
	d.t.Helper()
	v := url.Values{"key": {key}}
	if member != "" {
		v.Set("member", member)
	}
	w := httptest.NewRecorder()
	d.http.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/api/v1/query?"+v.Encode(), nil))
	if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil {
		d.t.Fatalf("%s: %d %q: %v", key, w.Code, w.Body, err)
	}
	return w.Code, a
}

// refuses wants an error through both endpoints, and one status.
func (d *endpoints) refuses(status int, key, want string) {
	d.t.Helper()
	d.asks(redistest.Error("ERR "+want), "GET", key)
	if code, a := d.gets(key, ""); code != status || a.Error != want {
		d.t.Errorf("%s: %d %q, want %d %q", key, code, a.Error, status, want)
	}
}

// TestMisspelt: a job, a measure or a number of groups that does not exist is an
// error that says what was likely meant, through every command that reads.
func TestMisspelt(t *testing.T) {
	d, job := newEndpoints(t)
	job.count(t, map[time.Duration]int{0: 7})
	const wrong = "w:clikcs:users:now"
	want := redistest.Error("ERR no job clikcs; is it clicks?")
	for _, command := range [][]any{
		{"GET", wrong}, {"PFCOUNT", wrong}, {"PFCOUNT", "w:clicks:users:now", wrong}, {"BITCOUNT", wrong}, {"GETBIT", wrong, 7}, {"BITPOS", wrong, 1},
		{"BITFIELD_RO", wrong, "GET", "u1", 0}, {"BF.EXISTS", wrong, 7}, {"BF.MEXISTS", wrong, 7, 8}, {"BF.CARD", wrong}, {"BF.INFO", wrong},
		{"GEOSEARCH", wrong, "FROMLONLAT", 15, 37, "BYRADIUS", 100, "km"}, {"GEOPOS", wrong, 7}, {"GEODIST", wrong, 7, 8}, {"GEOHASH", wrong, 7},
		{"GEORADIUS", wrong, 15, 37, 100, "km"}, {"GEORADIUS_RO", wrong, 15, 37, 100, "km"}, {"ZCARD", wrong}, {"ZSCORE", wrong, 7}, {"ZRANGE", wrong, 0, -1},
		{"EXISTS", wrong}, {"EXISTS", "w:clicks:users:now", wrong}, {"TYPE", wrong}, {"STRLEN", wrong}, {"GETRANGE", wrong, 0, -1}, {"TTL", wrong}, {"PTTL", wrong},
		{"MEMORY", "USAGE", wrong},
		{"PFMERGE", "mine", wrong}, {"BITOP", "OR", "mine", wrong}, {"GEOSEARCHSTORE", "mine", wrong, "FROMLONLAT", 15, 37, "BYRADIUS", 100, "km"},
	} {
		d.asks(want, command...)
	}
	d.asks(0, "EXISTS", "mine")
	d.asks("OK", "MULTI")
	d.asks("QUEUED", "PFCOUNT", wrong)
	d.asks("EXECABORT Transaction discarded because of: ERR no job clikcs; is it clicks?", "EXEC")
}

// TestPartial: while ClickHouse cannot be asked, what is in memory is the answer, and
// both endpoints say so; an older window is an error with a remedy.
func TestPartial(t *testing.T) {
	d, job := newEndpoints(t)
	job.count(t, map[time.Duration]int{0: 7, time.Second: 8, time.Hour: 9})
	d.asks("<nil>", "GET", "w:clicks:partial:now")
	d.asks(0, "EXISTS", "w:clicks:partial:now")
	if code, a := d.gets("w:clicks:partial:now", ""); code != 200 || a.Found || a.Partial || a.Kind != "partial" {
		t.Errorf("nothing is partial: %d %+v", code, a)
	}
	refused := errors.New("clickhouse: read the ledger: connection refused")
	job.sink.away.Store(&refused)
	waitForLook(t, d)
	const why = "only what this process knows by itself: clickhouse: read the ledger: connection refused"
	d.asks("2", "GET", "w:clicks:hits:now")
	d.asks(2, "PFCOUNT", "w:clicks:users:now:/p/1")
	d.asks(2, "BITCOUNT", "w:clicks:active:now")
	d.asks(1, "GETBIT", "w:clicks:active:now", 7)
	d.asks(1, "BF.EXISTS", "w:clicks:seen:now", 7)
	d.asks("[7]", "GEOSEARCH", "w:clicks:places:now", "FROMLONLAT", 13.361389, 38.115556, "BYRADIUS", 1, "km", "COUNT", 1, "ASC")
	d.asks(why, "GET", "w:clicks:partial:now")
	d.asks(1, "EXISTS", "w:clicks:partial:now:/p/1")
	d.asks("OK", "MULTI")
	d.asks("QUEUED", "PFCOUNT", "w:clicks:users:now")
	d.asks("QUEUED", "GET", "w:clicks:partial:now")
	d.asks("[2 "+why+"]", "EXEC")
	for measure, value := range map[string]float64{"hits": 2, "users": 2, "active": 2, "seen": 0, "places": 2} {
		code, a := d.gets("w:clicks:"+measure+":now", "")
		if code != 200 || !a.Found || a.Value != value || !a.Partial || a.Reason != why || a.Error != "" {
			t.Errorf("%s: %d %+v", measure, code, a)
		}
	}
	if code, a := d.gets("w:clicks:partial:now", ""); code != 200 || !a.Found || !a.Partial || a.Reason != why {
		t.Errorf("why: %d %+v", code, a)
	}
	d.refuses(502, "w:clicks:hits:-60..now", "the window of 20261120T110500Z is not in memory and ClickHouse cannot be asked for it; ask for now, or again when it answers: clickhouse: read the ledger: connection refused")
	d.refuses(404, "w:clikcs:hits:now", "no job clikcs; is it clicks?")
	if res := ask(t, d.http.Handler(), "GET", "/api/v1/explain?of=top%3Fjob%3Dclicks", ""); res.StatusCode != 200 {
		t.Errorf("how to ask for groups, without ClickHouse: %s", res.Status)
	}
	if keys, err := d.conn.Do("KEYS", "w:clicks:hits:*"); err != nil || len(keys.([]any)) != 2 {
		t.Errorf("KEYS without ClickHouse: %v, %v", keys, err)
	}

	job.sink.away.Store(nil)
	for begun := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		_, a := d.gets("w:clicks:hits:-60..now", "")
		_, b := d.gets("w:clicks:partial:now", "")
		if a.Value == 3.0 && !a.Partial && !b.Found {
			break
		}
		if time.Since(begun) > await.Never {
			t.Fatalf("ClickHouse is back: %+v, %+v", a, b)
		}
	}
	d.asks("3", "GET", "w:clicks:hits:-60..now")
	d.asks("<nil>", "GET", "w:clicks:partial:now")
}

// waitForLook waits until what was known of ClickHouse before is not good any more.
func waitForLook(t *testing.T, d *endpoints) {
	for begun := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if _, a := d.gets("w:clicks:partial:now", ""); a.Found {
			return
		}
		if time.Since(begun) > await.Never {
			t.Fatal("ClickHouse is away, and nothing is partial")
		}
	}
}
