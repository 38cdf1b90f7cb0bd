package clickhouse

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/http/httptest"
	"net/http/httputil"
	neturl "net/url"
	"strings"
	"testing"
	"time"

	"weir/audit"
	"weir/event"
	"weir/internal/local/localtest"
	"weir/sinks/sinktest"
	"weir/window"
)

// kathmandu is a time zone whose hours and days begin at other moments than those of UTC.
const kathmandu = "Asia/Kathmandu"

// openIn connects to a database of its own on a server in a time zone: each statement
// has it as session_timezone, as if the server's configuration or the user's profile said so.
func openIn(t *testing.T, zone string) *Client {
	t.Helper()
	url, database := localtest.Engine(t)
	where, err := neturl.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(where)
		q := r.Out.URL.Query()
		q.Set("session_timezone", zone)
		r.Out.URL.RawQuery = q.Encode()
	}})
	t.Cleanup(s.Close)
	c := dial(t, Config{URLs: []string{s.URL}, Database: database})
	hour := map[string]string{"UTC": "('00:00')", kathmandu: "('05:30')"}[zone] // in 1970
	if got := one(t, c, "SELECT formatDateTime(toDateTime(0), '%H:%i')"); got != hour {
		t.Fatalf("in the server's time zone 1970 begins at %s, want %s: the test tests nothing", got, hour)
	}
	return c
}

// TestZone: a server in another time zone than UTC stores and answers the same.
func TestZone(t *testing.T) {
	long(t)
	sinktest.RunLive(t, func(t *testing.T) sinktest.Backend { return &backend{c: openIn(t, kathmandu)} })
	for what, answers := range map[string]func(*testing.T, *Client) []string{"Views": zoneViews, "Ledger": zoneLedger} {
		t.Run(what, func(t *testing.T) {
			want := answers(t, openIn(t, "UTC"))
			got := answers(t, openIn(t, kathmandu))
			for i := range want {
				if got[i] != want[i] {
					t.Errorf("in another zone:\n%s\nwant\n%s", got[i], want[i])
				}
			}
		})
	}
}

// zoneViews returns what is answered about days with 25 hours in Europe, partly in rollups. It
// compares with a naive pass what can be.
func zoneViews(t *testing.T, c *Client) (all []string) {
	a := newAsked(t, c, ofNumbers, Rollup{Window: time.Minute}, Rollup{Window: time.Hour}, Rollup{Window: 24 * time.Hour})
	autumn := time.Date(2025, 10, 24, 12, 0, 0, 0, time.UTC).Unix()
	r := rand.New(rand.NewPCG(1, 30))
	a.count(random(r, 300, autumn, autumn+4*86400)...)
	roll(t, a.Sink, true)
	a.count(random(r, 60, autumn, autumn+4*86400)...)
	if err := a.Rollup(t.Context(), false, event.Time(autumn+2*86400)*1000); err != nil {
		t.Fatal(err)
	}
	a.hops(autumn, autumn+4*86400, 21600, 5400)
	for _, zone := range []string{kathmandu, "Europe/Berlin"} {
		a.days("2025-10-24", "2025-10-28", "day", zone, 0)
	}
	a.triangle("clicks_retention", "from='2025-10-24', to='2025-10-28', unit='day', zone='Europe/Berlin'", a.calendar("2025-10-24", "2025-10-28", "day", "Europe/Berlin"))
	const span = "from=toUnixTimestamp('2025-10-24 12:00:00', 'UTC'), to=1761652800"
	for _, from := range []string{
		"clicks_1m", "clicks_1h", "clicks_1d",
		"clicks_over(" + span + ", size=21600, every=5400)",
		"clicks_calendar(from='2025-10-24', to='2025-10-28', unit='day', zone='Europe/Berlin')",
		"clicks_cumulative_total(from=toDate('2025-10-24'), to=toDate('2025-10-28'), unit='day', zone='Europe/Berlin', every=3600)",
		"clicks_retention_over(measure='people', " + span + ", size=43200)",
		"clicks_sessions(measure='people', " + span + ", gap=600, every=3600)",
		"clicks_funnel(" + span + ", steps=['people:/0', 'people:/1'])",
	} {
		view, rest, _ := strings.Cut(from, "(")
		if rest != "" {
			rest = "(" + rest
		}
		rows := read(t, c, "SELECT * FROM "+c.name(view)+rest+" ORDER BY ALL")
		if len(rows) == 0 {
			t.Errorf("%s is empty", from)
		}
		all = append(all, from+"\n"+strings.Join(rows, "\n"))
	}
	if !strings.Contains(all[0], ",1)") || !strings.Contains(all[0], ",0)") {
		t.Errorf("of these windows some are complete, and some are not: %s", all[0])
	}
	q := Question{Measure: "people", From: time.Unix(autumn, 0), Until: time.Unix(autumn+86400, 0), Group: [][]byte{nil}, Gap: 10 * time.Minute, Step: time.Hour}
	sessions, err := a.Sessions(t.Context(), q)
	if err != nil || len(sessions) == 0 {
		t.Errorf("sessions: %v, %v", sessions, err)
	}
	q.Gap, q.Step, q.Unit, q.Zone, q.Periods = 0, 0, "day", "Europe/Berlin", 2
	retention, err := a.Retention(t.Context(), q)
	if err != nil || len(retention) == 0 {
		t.Errorf("retention: %v, %v", retention, err)
	}
	q.Steps = []string{"people:/0", "people:/1"}
	funnel, err := a.Funnel(t.Context(), q)
	if err != nil || len(funnel) == 0 {
		t.Errorf("funnel: %v, %v", funnel, err)
	}
	all = append(all, fmt.Sprint(sessions), fmt.Sprint(retention), fmt.Sprint(funnel))
	q = Question{Measure: "people", From: time.Unix(autumn+900, 0), Until: time.Unix(autumn+86400, 0), Group: [][]byte{nil}, Columns: []string{"page"}, Limit: 3, Step: time.Hour}
	return append(all, strings.Join(read(t, c, a.SQL(q)), "\n"))
}

// zoneLedger returns what is in the tables of a job besides its rows, what a live reader asks, and what
// the audit finds before and after rows were changed.
func zoneLedger(t *testing.T, c *Client) (all []string) {
	j := actives()
	j.Keep = ages
	j.Rollups = append(j.Rollups, Rollup{Window: 24 * time.Hour})
	s := install(t, c, j)
	s.quiet = -time.Hour
	b := &backend{c: c}
	f := &tap{op: operator(t, s.layout.Spec, 0)}
	say := func(what string, said any, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		all = append(all, fmt.Sprintf("%s: %+v", what, said))
	}
	began := time.Now()
	write(t, s, f.flow(t, 100))
	observe(t, f.op, 0, f.next, noon, `{"ts":"x"}`)
	f.next++
	write(t, s, f.op.Take())
	for range 2 {
		roll(t, s, true)
	}
	known, err := s.Known(t.Context())
	say("known", known, err)
	covered, err := s.Coverage(t.Context())
	if age := covered.Now - covered.Partitions[0].Flushed; age < -1000 || covered.Now < event.Time(began.Add(-time.Hour).UnixMilli()) || covered.Now > event.Time(time.Now().Add(time.Hour).UnixMilli()) {
		t.Errorf("now is %d, and lines were flushed %d ms before", covered.Now, age)
	}
	var w audit.Watermarks
	say("watermark", w.Look(&covered, map[int32]event.Span{0: {Next: f.next}}, 0), err)
	dead, err := s.DeadLetters(t.Context(), 5)
	say("dead letters", dead, err)
	for _, r := range []window.Range{{From: 0, Until: math.MaxInt64 / 2000, Group: [][]byte{nil, nil}}, {From: noon + 1_200_000, Until: noon + 3_600_000, Group: [][]byte{nil, nil}}} {
		total, err := s.Total(t.Context(), &r)
		say("total", total, err)
		state, err := s.State(t.Context(), &r, 0)
		say("state", state, err)
	}
	verify := func() {
		t.Helper()
		var found []string
		for _, f := range findings(t, s) {
			f.Of = nil
			found = append(found, fmt.Sprintf("%+v", f))
		}
		say("audit", strings.Join(found, "\n"), nil)
		say("weir_audit", read(t, c, "SELECT * FROM "+c.name("weir_audit")+" ORDER BY ALL"), nil)
	}
	verify()
	change := func(table, how string) {
		b.exec(t, fmt.Sprintf("ALTER TABLE %s %s SETTINGS mutations_sync = 1", c.name(table), how))
	}
	from := fmt.Sprintf("WHERE window_start >= toDateTime(%d, 'UTC')", noon/1000+3600)
	change("clicks_state", "UPDATE hits = mapFilter((k, v) -> k = 0, hits) "+from)
	change("clicks_1h_rollup", "DELETE "+from)
	for table, written := range map[string]string{"clicks_state": "flushed_at", "weir_ledger": "flushed_at", "clicks_1h_rollup": "rolled_at"} {
		change(table, fmt.Sprintf("UPDATE %[1]s = %[1]s - 60 WHERE 1", written)) // weir_audit judges what is older than seconds
	}
	verify()
	if n := len(all); strings.Count(all[n-2], "\n") < 3 || strings.Count(all[n-1], "'clicks'") != 10 {
		t.Errorf("the audit finds too little: %s\n%s", all[n-2], all[n-1])
	}
	return all
}

// TestTailZone: ClickHouse writes the windows of the live tail into its statements for other
// shards as texts, so their type has to say the zone.
func TestTailZone(t *testing.T) {
	c := openIn(t, kathmandu)
	j := clicks()
	j.Rollups = []Rollup{{Window: time.Minute}, {Window: time.Hour}}
	s := unaudited(t, c, j)
	d := s.layout.over(c, form{checks: func(*layout) []check { return nil }}, nil)
	got := one(t, c, "WITH "+render("at", d)+" SELECT toTypeName(_tail.1), toTypeName(_tail.2)")
	if want := `('Array(DateTime(\'UTC\'))','Array(DateTime(\'UTC\'))')`; got != want {
		t.Errorf("the windows of the live tail are %s, want %s", got, want)
	}
}
