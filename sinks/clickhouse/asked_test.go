package clickhouse

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/event"
	"weir/measures/bitmap"
	"weir/measures/bloom"
	"weir/measures/extreme"
	"weir/measures/hll"
	"weir/measures/ordered"
	"weir/measures/quantile"
	"weir/measures/set"
	"weir/measures/sum"
	"weir/measures/topk"
	"weir/sinks/clickhouse/schema"
	"weir/sinks/clickhouse/wire"
	"weir/window"
)

// asked is a job that questions are asked of, and its events.
type asked struct {
	*Sink
	t  *testing.T
	op *window.Operator
	n  int64

	seen []sighting
}

// A sighting is an event as a naive pass knows it.
type sighting struct {
	at    int64 // seconds since 1970
	page  string
	user  int
	price int64 // in hundredths
}

// The measures of a job that is asked: those that the naive pass knows ids by, those that it
// knows numbers by, and one of every kind that has columns. Nearly all that a question costs
// the engine is its analysis, which grows with the measures of the job.
var (
	ofIDs = []window.Measure{
		{Name: "people", Kind: set.Kind, Path: "user"},
		{Name: "active", Kind: bitmap.Kind, Path: "user"},
	}
	ofNumbers = append(slices.Clone(ofIDs),
		window.Measure{Name: "least", Kind: extreme.Min, Path: "price"},
		window.Measure{Name: "most", Kind: extreme.Max, Path: "price"},
		window.Measure{Name: "revenue", Kind: sum.Sum, Path: "price", Scale: 2},
	)
	ofEveryKind = append(slices.Clone(ofNumbers),
		window.Measure{Name: "users", Kind: hll.Kind, Path: "user"},
		window.Measure{Name: "seen", Kind: bloom.Kind, Path: "user", Capacity: 100, Error: 0.01},
		window.Measure{Name: "opening", Kind: ordered.First, Path: "user"},
		window.Measure{Name: "latest", Kind: ordered.Last, Path: "user"},
		window.Measure{Name: "usual", Kind: sum.Avg, Path: "price", Scale: 2},
		window.Measure{Name: "top", Kind: topk.Kind, Path: "page", K: 3},
		window.Measure{Name: "spread", Kind: quantile.Kind, Path: "price", Error: 0.01},
	)
)

func newAsked(t *testing.T, c *Client, measures []window.Measure, rollups ...schema.Rollup) *asked {
	t.Helper()
	functionsOn(t, c)
	j := clicks()
	j.Rollups = rollups
	j.Spec.By = j.Spec.By[:1]
	j.Spec.Chunk = 256
	j.Spec.Measures = measures
	s := asking(t, c, j)
	return &asked{Sink: s, t: t, op: operator(t, s.layout.Spec, 0)}
}

// count has events counted, in the order given.
func (a *asked) count(events ...sighting) {
	a.t.Helper()
	for _, e := range events {
		observe(a.t, a.op, 0, a.n, event.Time(e.at*1000), fmt.Sprintf(`{"ts":%d,"page":%q,"user":%d,"price":%d.%02d}`, e.at*1000, e.page, e.user, e.price/100, e.price%100))
		a.n++
	}
	a.seen = append(a.seen, events...)
	write(a.t, a.Sink, a.op.Take())
}

// random makes events between two moments.
func random(r *rand.Rand, n int, from, until int64) (all []sighting) {
	for range n {
		all = append(all, sighting{from + r.Int64N(until-from), fmt.Sprint("/", r.IntN(3)), r.IntN(40), r.Int64N(10_000)})
	}
	slices.SortFunc(all, func(a, b sighting) int { return int(a.at - b.at) })
	return all
}

// hopped returns the windows of a range, rounded outwards to the shortest ones: one window, or those of a size, one every
// so many seconds.
func hopped(from, to, pane int64, hops ...int64) (all [][2]int64) {
	first, until := from/pane*pane, (to+pane-1)/pane*pane
	size, every := until-first, until-first
	if hops[0] > 0 {
		size, every = hops[0], hops[len(hops)-1]
	}
	for start, end := first, first; start == first || end < until; start += every {
		end = start + size
		all = append(all, [2]int64{start, end})
	}
	return all
}

// fitted returns the least range of dates around a range that units of a calendar fill exactly.
func fitted(from, to, unit string) (first, last string) {
	begin := func(s string) time.Time {
		d, _ := time.Parse(time.DateOnly, s)
		switch unit {
		case "week":
			return d.AddDate(0, 0, -(int(d.Weekday())+6)%7)
		case "month":
			return d.AddDate(0, 0, 1-d.Day())
		case "quarter":
			return d.AddDate(0, -(int(d.Month())-1)%3, 1-d.Day())
		case "year":
			return d.AddDate(0, 0, 1-d.YearDay())
		}
		return d
	}
	next := map[string][3]int{"day": {0, 0, 1}, "week": {0, 0, 7}, "month": {0, 1, 0}, "quarter": {0, 3, 0}, "year": {1, 0, 0}}[unit]
	end := begin(to)
	if last = end.Format(time.DateOnly); last < to {
		last = end.AddDate(next[0], next[1], next[2]).Format(time.DateOnly)
	}
	return begin(from).Format(time.DateOnly), last
}

// refusedBy asks a view, which has to refuse its parameters in these words.
func refusedBy(t *testing.T, c *Client, ask, want string) {
	t.Helper()
	err := c.Query(t.Context(), "ask", "SELECT count() FROM "+wire.Quote(c.Config.Database)+"."+ask, func(func(...any) error) error { return nil })
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: %v, want %q", ask, err, want)
	}
}

// calendar returns the periods of a zone that begin between two dates, as package time has
// them.
func (a *asked) calendar(from, to, unit, zone string) (all [][2]int64) {
	a.t.Helper()
	where, err := time.LoadLocation(zone)
	if err != nil {
		a.t.Fatal(err)
	}
	date := func(s string) time.Time {
		d, err := time.Parse(time.DateOnly, s)
		if err != nil {
			a.t.Fatal(err)
		}
		return d
	}
	months, days := 0, 1
	switch unit {
	case "week":
		days = 7
	case "month":
		months, days = 1, 0
	case "quarter":
		months, days = 3, 0
	case "year":
		months, days = 12, 0
	}
	// The moment at which a date begins; where it has no midnight, that is later.
	begins := func(d time.Time) int64 {
		at := d.Add(-24 * time.Hour).In(where)
		for date := d.Format(time.DateOnly); at.Format(time.DateOnly) < date; {
			at = at.Add(15 * time.Minute)
		}
		return at.Unix()
	}
	for d := date(from); d.Before(date(to)); d = d.AddDate(0, 0, 1) {
		if unit == "week" && d.Weekday() != time.Monday || months > 0 && (d.Day() != 1 || int(d.Month()-1)%months != 0) {
			continue
		}
		if from, to := begins(d), begins(d.AddDate(0, months, days)); from < to { // else the zone skips the day
			all = append(all, [2]int64{from, to})
		}
	}
	return all
}

// TestAskedLevels: a question reads the longest windows that fit, and all of them once.
func TestAskedLevels(t *testing.T) {
	c := open(t)
	a := newAsked(t, c, ofNumbers, schema.Rollup{Window: time.Minute}, schema.Rollup{Window: time.Hour}, schema.Rollup{Window: 24 * time.Hour})
	day := int64(noon/1000) - 43200
	for i := range int64(96) {
		a.count(sighting{day - 86400 + i*1800, "/0", 1, 100})
	}
	roll(t, a.Sink, true)
	for _, v := range []string{"clicks_1m_rollup", "clicks_1h_rollup", "clicks_1d_rollup"} { // a mark in each row: so many hits more
		more := map[string]int{"clicks_1m_rollup": 100, "clicks_1h_rollup": 10_000, "clicks_1d_rollup": 1_000_000}[v]
		(&backend{c: c}).exec(t, fmt.Sprintf("INSERT INTO %s (page, window_start, hits) SELECT page, window_start, max(hits) + %d FROM %[1]s GROUP BY page, window_start", c.Name(v), more))
	}
	ask := func(view, params, want string) {
		t.Helper()
		if got := fmt.Sprint(read(t, c, "SELECT hits FROM "+c.Name(view)+"("+params+") ORDER BY window_start")); got != want {
			t.Errorf("%s(%s): %s, want %s", view, params, got, want)
		}
	}
	span := fmt.Sprintf("from=toDateTime(%d), to=toDateTime(%d), ", day-86400, day+86400)
	ask("clicks_range", strings.TrimSuffix(span, ", "), "[(2000096)]")
	ask("clicks_tumble", span+"size='1d'", "[(1000048) (1000048)]")
	ask("clicks_tumble", fmt.Sprintf("from=toDateTime(%d), to=toDateTime(%d), size='2h'", day, day+7200), "[(20004)]")
	ask("clicks_range", fmt.Sprintf("from=toDateTime(%d), to=toDateTime(%d)", day+59, day+1741), "[(101)]") // half an hour, rounded outwards
	ask("clicks_hop", fmt.Sprintf("from=toDateTime(%d), to=toDateTime(%d), size='90m', every='30m'", day, day+7200), "[(303) (303)]")
	// A day that begins at another hour has hours on both sides, not the days that it lies in.
	ask("clicks_tumble", fmt.Sprintf("from=toDateTime(%d), to=toDateTime(%d), size='1d'", day-43200, day+43200), "[(240048)]")
	ask("clicks_calendar", "from='2025-11-01', to='2025-12-01', unit='month', zone='Asia/Kolkata'", "[(2000096)]")
	ask("clicks_calendar", "from='2025-11-20', to='2025-11-21', unit='day', zone='Asia/Kolkata'", "[(230248)]")
	// A row in the live tail of the day: its other hours are those of the rollup.
	a.count(sighting{day + 7200, "/0", 1, 100})
	ask("clicks_tumble", span+"size='1d'", "[(1000048) (230248)]")
}

// TestAskedRefuses: a question that cannot be answered says why and what to do.
func TestAskedRefuses(t *testing.T) {
	c := open(t)
	newAsked(t, c, ofIDs, schema.Rollup{Window: time.Minute})
	for ask, want := range map[string]string{
		"clicks_tumble(from=now(), to=now(), size='90s')":                                                            "write size as a multiple of '1m', the shortest windows of job clicks",
		"clicks_tumble(from=now(), to=now(), size=600)":                                                              "write size as a text such as '90s', '10m', '1h' or '7d'",
		"clicks_tumble(from=now(), to=now(), size='0m')":                                                             "write size as a text such as '90s', '10m', '1h' or '7d'",
		"clicks_hop(from=now(), to=now(), size='1m', every='an hour')":                                               "write every as a text such as '90s', '10m', '1h' or '7d'",
		"clicks_last(span='1 month')":                                                                                "write span as a text such as '90s', '10m', '1h' or '7d'",
		"clicks_hop(from=now() - 864000, to=now(), size='10d', every='1m')":                                          "write a greater every: size is more than 1500 times every",
		"clicks_tumble_total(from=now() - 864000, to=now(), size='1m')":                                              "write a shorter range or longer windows: an answer has at most 10000",
		"clicks_calendar(from='1970-01-01', to='2026-01-01', unit='day', zone='UTC')":                                "write a shorter range: it has more than 10000 days",
		"clicks_calendar(from='2026-01-01', to='2026-01-02', unit='days', zone='UTC')":                               "write unit = 'day' or 'week' or 'month' or 'quarter' or 'year'",
		"clicks_calendar(from='2026-01-01', to='2026-01-02', unit='hour', zone='UTC')":                               "write unit = 'day'",
		"clicks_cumulate(from='2026-01-01', to='2026-01-02', unit='Day', zone='UTC', every='1m')":                    "write unit = 'day'",
		"clicks_retention(measure='people', from='2026-01-01', to='2026-01-02', unit='', zone='UTC')":                "write unit = 'day'",
		"clicks_calendar(from='2105-01-01', to='2105-01-02', unit='day', zone='UTC')":                                "write a to of 2105-01-01 or earlier",
		"clicks_retention(measure='people', from='2105-01-01', to='2105-01-02', unit='day', zone='UTC')":             "write a to of 2105-01-01 or earlier",
		"clicks_calendar(from='2026-01-01', to='2026-01-02', unit='day', zone='Europe/Berlim')":                      "Europe/Berlim",
		"clicks_cumulate(from='2026-01-01', to='2026-02-01', unit='month', zone='UTC', every='1m')":                  "write a greater every: a period has at most 1500 steps",
		"clicks_cumulate(from='2026-01-01', to='2026-01-02', unit='day', zone='UTC', every='61s')":                   "write every as a multiple of '1m'",
		"clicks_range(from='2026-01-01 00:00:00')":                                                                   "to",
		"clicks_range(from='2026-01-02 00:00:00', to='2026-01-01 00:00:00')":                                         "write a to that is later than from",
		"clicks_tumble_total(from='2026-10-01 00:00:00', to='2026-11-30 00:00:00', size='100d')":                     "write a size of 5184000s or less: the range is shorter than a window; clicks_range has one number for a range",
		"clicks_calendar(from='2026-10-31', to='2026-12-02', unit='month', zone='UTC')":                              "write from = '2026-10-01' and to = '2027-01-01': from is the first day of a unit",
		"clicks_cumulate_total(from='2026-10-31', to='2026-10-31', unit='day', zone='UTC', every='1h')":              "write a to that is later than from",
		"clicks_retention_tumble(measure='people', from='2026-10-01 00:00:00', to='2026-10-01 00:30:00', size='1h')": "write a size of 1800s or less",
	} {
		refusedBy(t, c, ask, want)
	}
}

// TestAskedAhead: events that are ahead of the server's clock are in no cumulative window that
// has not begun, and the question about those that have begun is answered.
func TestAskedAhead(t *testing.T) {
	c := open(t)
	a := newAsked(t, c, ofIDs, schema.Rollup{Window: time.Minute})
	day := time.Now().Unix()/86400*86400 - 86400
	a.count(sighting{day, "/0", 1, 100}, sighting{day + 3*86400 + 120, "/0", 2, 100})
	date := func(d int64) string { return time.Unix(d, 0).UTC().Format(time.DateOnly) }
	for _, every := range []int{120, 3600, 86400} {
		sql := fmt.Sprintf("SELECT toUnixTimestamp(window_start) - %d, uniqExact(window_end) > 0, max(hits) FROM %s(from='%s', to='%s', unit='day', zone='UTC', every='%ds') GROUP BY ALL", day, c.Name("clicks_cumulate_total"), date(day), date(day+5*86400), every)
		if got := fmt.Sprint(read(t, c, sql)); got != "[(0,1,1)]" {
			t.Errorf("every %d s: %s", every, got)
		}
	}
}

// TestAskedExpired: where states of ids have expired, their number is not known; and windows
// of which rows have expired are left out.
func TestAskedExpired(t *testing.T) {
	c := open(t)
	a := newAsked(t, c, ofEveryKind, schema.Rollup{Window: time.Minute, Keep: 48 * time.Hour}, schema.Rollup{Window: time.Hour, KeepStates: 24 * time.Hour})
	now := time.Now().Unix()
	recent, old := now/3600*3600-3*3600, now/3600*3600-72*3600
	a.count(random(rand.New(rand.NewPCG(1, 18)), 50, old, old+7200)...)
	a.count(random(rand.New(rand.NewPCG(1, 18)), 50, recent, recent+7200)...)
	ask := func(from int64, size int, want string) {
		t.Helper()
		sql := fmt.Sprintf("SELECT hits, people, active, seen > 0, round(revenue) > 0 FROM %s(from=toDateTime(%d), to=toDateTime(%[2]d + 7200), size='%ds') ORDER BY window_start", c.Name("clicks_tumble_total"), from, size)
		if got := fmt.Sprint(read(t, c, sql)); got != want {
			t.Errorf("windows of %d s: %s, want %s", size, got, want)
		}
	}
	refusedBy(t, c, fmt.Sprintf("clicks_tumble_total(from=toDateTime(%d), to=toDateTime(%[1]d + 7200), size='30m')", old), "ask for later windows: some of this range are not kept any more") // of minutes
	ask(recent, 3600, "[(31,23,23,1,1) (19,14,14,1,1)]")
	roll(t, a.Sink, true)
	ask(recent, 3600, "[(31,23,23,1,1) (19,14,14,1,1)]")
	(&backend{c: c}).exec(t, "INSERT INTO "+c.Name("clicks_1h_rollup")+" (page, window_start, hits, people, rolled_at) VALUES ('/9', toDateTime("+fmt.Sprint(recent)+"), 3, 2, now() - 2 * 86400)")
	ask(recent, 3600, "[(34,NULL,NULL,NULL,1) (19,14,14,1,1)]")
}

// TestAskedNothing: the range of a job without events in it has no row.
func TestAskedNothing(t *testing.T) {
	c := open(t)
	newAsked(t, c, ofNumbers, schema.Rollup{Window: time.Minute}, schema.Rollup{Window: time.Hour})
	for _, ask := range []string{"range(from='2026-01-01 00:00:00', to='2026-01-02 00:00:00')", "last(span='1h')", "tumble(from='2026-01-01 00:00:00', to='2026-01-02 00:00:00', size='1h')"} {
		ask = strings.Replace(ask, "(", "_total(", 1)
		if rows := read(t, c, "SELECT * FROM "+wire.Quote(c.Config.Database)+".clicks_"+ask); len(rows) > 0 {
			t.Errorf("%s: %v", ask, rows)
		}
	}
}
