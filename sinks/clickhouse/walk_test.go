package clickhouse

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"weir/event"
	"weir/measures/bloom"
	"weir/measures/extreme"
	"weir/measures/hll"
	"weir/measures/ordered"
	"weir/measures/quantile"
	"weir/measures/sum"
	"weir/measures/topk"
	"weir/sinks/clickhouse/migrate"
	"weir/sinks/clickhouse/schema"
	"weir/sinks/clickhouse/wire"
	"weir/window"
)

// A walker is a job with a measure of every kind that has columns, and its events. It is
// written to, rolled up, given rollups and asked, in any order.
type walker struct {
	*asked
	r     *rand.Rand
	c     *Client
	job   schema.Job
	op    *window.Operator
	next  [3]int64
	naive []walked
	from  int64 // of all events, in seconds
	until int64
	zones []string
}

// A walked is an event as a naive pass knows it.
type walked struct {
	ms        int64
	partition int32
	offset    int64
	page      string
	user      int
	thing     string
	price     float64 // none: NaN
	units     int64   // of the sum, in the last digit
	value     string  // of first and last
}

func (e *walked) at() int64 { return e.ms / 1000 }

// walkPages are groups, the more frequent the further in front.
var walkPages = []string{"", "/0", "/1", "it's", `back\slash`, "tab\t", "new\nline", "nul\x00", "*", "a:b", "100%", "%2A", "Ünï", `"`, "{from:DateTime}", " "}

// walkRollups are the rollups that a job may have. Their shortest windows divide days everywhere.
var walkRollups = [][]time.Duration{
	{15 * time.Minute},
	{15 * time.Minute, 45 * time.Minute, 24 * 45 * time.Minute},
	{15 * time.Minute, time.Hour, 24 * time.Hour},
	{15 * time.Minute, 105 * time.Minute}, // which divide no day
	{15 * time.Minute, 30 * time.Minute, time.Hour, 7 * time.Hour, 7 * 24 * time.Hour},
}

func newWalker(t *testing.T, seed uint64) *walker {
	w := &walker{r: rand.New(rand.NewPCG(seed, 77)), c: open(t)}
	if seed%2 == 0 { // the server is in another time zone
		w.c = openIn(t, kathmandu)
	}
	functionsOn(t, w.c)
	w.job = clicks()
	w.job.Keep = ages
	w.job.Rollups = w.rollups()
	w.job.Spec = &window.Spec{
		Job: "clicks", Version: 1, TimeField: "ts", TimeUnit: event.Seconds,
		Window: []event.Time{1000, 60_000, 180_000, 900_000}[w.r.IntN(4)], Lateness: 60 * 86_400_000, Skew: 86_400_000, Chunk: []int64{16, 64, 1024}[w.r.IntN(3)], MaxGroups: 100,
		By: []window.Dimension{{Name: "page", Path: "page"}},
		Measures: append(slices.Clone(ofIDs),
			window.Measure{Name: "users", Kind: hll.Kind, Path: "user"},
			window.Measure{Name: "seen", Kind: bloom.Kind, Path: "user", Capacity: 100, Error: 0.01},
			window.Measure{Name: "least", Kind: extreme.Min, Path: "price", Optional: true},
			window.Measure{Name: "most", Kind: extreme.Max, Path: "price", Optional: true},
			window.Measure{Name: "revenue", Kind: sum.Sum, Path: "units", Scale: 9, Optional: true},
			window.Measure{Name: "usual", Kind: sum.Avg, Path: "units", Scale: 9, Optional: true},
			window.Measure{Name: "opening", Kind: ordered.First, Path: "value"},
			window.Measure{Name: "latest", Kind: ordered.Last, Path: "value"},
			window.Measure{Name: "top", Kind: topk.Kind, Path: "thing", K: []int{1, 3, 100}[w.r.IntN(3)]},
			window.Measure{Name: "spread", Kind: quantile.Kind, Path: "price", Error: 0.01, Optional: true},
		),
	}
	w.asked = &asked{Sink: asking(t, w.c, w.job), t: t}
	w.op = operator(t, w.layout.Spec, 0, 1, 2)
	// Days of 23 and 25 hours, one that a zone leaves out, and a leap day.
	w.from = []int64{1761220800, 1774569600, 1775174400, 1325116800, 1709164800}[w.r.IntN(5)] // 23 Oct 2025, 27 Mar, 3 Apr 2026, 29 Dec 2011, 29 Feb 2024
	w.until = w.from + 4*86400
	w.zones = []string{"UTC", "Europe/Berlin", "Asia/Kathmandu", "Australia/Lord_Howe", "Pacific/Apia", "America/Havana", "America/St_Johns", "Asia/Beirut"}
	return w
}

func (w *walker) rollups() (all []schema.Rollup) {
	for _, d := range walkRollups[w.r.IntN(len(walkRollups))] {
		all = append(all, schema.Rollup{Window: d})
	}
	return all
}

// moment returns a time of an event, in milliseconds: often at a border, or just before one.
func (w *walker) moment() int64 {
	at := w.from*1000 + w.r.Int64N((w.until-w.from)*1000)
	if w.r.IntN(3) == 0 { // an hour that the clocks change in is likely
		at = (w.from+2*86400)*1000 + w.r.Int64N(6*3600*1000)
	}
	switch length := []int64{1000, 60_000, 900_000, 3_600_000, 86_400_000}[w.r.IntN(5)]; w.r.IntN(6) {
	case 0:
		at = at / length * length
	case 1:
		at = at/length*length - 1
	}
	return max(w.from*1000, at)
}

// events has some counted, in all partitions, and has them written, now and then twice.
func (w *walker) events(n int) {
	w.t.Helper()
	for range n {
		p := w.r.Int32N(3)
		e := walked{ms: w.moment(), partition: p, offset: w.next[p], page: walkPages[w.r.IntN(1+w.r.IntN(len(walkPages)))], user: w.r.IntN(30), price: math.NaN()}
		e.thing = fmt.Sprint("t", int(math.Exp(w.r.Float64()*6)))
		e.value = []string{"", "a", "b\x00", "ü"}[w.r.IntN(4)]
		doc := map[string]any{"ts": json.Number(fmt.Sprintf("%d.%03d", e.ms/1000, e.ms%1000)), "page": e.page, "user": e.user, "thing": e.thing, "value": e.value}
		if w.r.IntN(4) > 0 {
			e.price = []float64{0, -1.5, 1e300, -1e300, 1e-300, w.r.NormFloat64() * 100, float64(w.r.IntN(100))}[w.r.IntN(7)]
			e.units = []int64{0, 1, -1, 999_999_999_999_999_999, -999_999_999_999_999_999, w.r.Int64N(1e12) - 5e11}[w.r.IntN(6)]
			sign := ""
			if e.units < 0 {
				sign = "-"
			}
			u := max(e.units, -e.units)
			doc["price"], doc["units"] = e.price, json.Number(fmt.Sprintf("%s%d.%09d", sign, u/1e9, u%1e9))
		}
		text, err := json.Marshal(doc)
		if err != nil {
			w.t.Fatal(err)
		}
		observe(w.t, w.op, p, e.offset, event.Time(e.ms), string(text))
		w.next[p]++
		w.naive = append(w.naive, e)
		w.seen = append(w.seen, sighting{at: e.at(), page: e.page, user: e.user})
	}
	changes := w.op.Take()
	write(w.t, w.Sink, changes)
	if w.r.IntN(3) == 0 {
		write(w.t, w.Sink, changes)
	}
}

// in returns the events of a page, or of all with all set, in a range of seconds.
func (w *walker) in(page string, all bool, from, until int64) (some []walked) {
	for _, e := range w.naive {
		if e.at() >= from && e.at() < until && (all || e.page == page) {
			some = append(some, e)
		}
	}
	return some
}

// A shown is a row of a view of windows.
type shown struct {
	page                        string
	start, end                  int64
	hits, people, active, users uint64
	bits                        uint64
	least, most, usual          float64
	revenue                     string
	opening, latest             string
	keys                        []string
	counts, errors              []uint64
	quantiles                   []float64
	none                        bool // no price
}

const shownColumns = "toInt64(toUnixTimestamp(window_start)), toInt64(toUnixTimestamp(window_end)), hits, ifNull(people, 0), ifNull(active, 0), toUInt64(users), ifNull(seen, 0), ifNull(least, 0), ifNull(most, 0), ifNull(usual, 0), " +
	"toString(revenue), ifNull(opening, 'NULL'), ifNull(latest, 'NULL'), arrayMap(x -> tupleElement(x, 1), top), arrayMap(x -> tupleElement(x, 2), top), arrayMap(x -> tupleElement(x, 3), top), " +
	"[ifNull(spread_p50, 0), ifNull(spread_p90, 0), ifNull(spread_p95, 0), ifNull(spread_p99, 0)], isNull(least) AND isNull(most) AND isNull(usual) AND isNull(spread_p50)"

// windows compares a view of windows, and that over all pages, with a naive pass over these.
func (w *walker) windows(view, params string, all [][2]int64) {
	w.t.Helper()
	for _, name := range []string{view, view + "_total"} {
		total := name != view
		page := "page"
		if total {
			page = "''"
		}
		want := map[string][]walked{}
		for _, win := range all {
			for _, p := range walkPages {
				if total && p != "" {
					continue
				}
				if some := w.in(p, total, win[0], win[1]); len(some) > 0 {
					want[fmt.Sprintf("%q %d %d", p, win[0], win[1])] = some
				}
			}
		}
		sql := "SELECT " + page + ", " + shownColumns + " FROM " + w.client.Name(name) + "(" + params + ")"
		if err := w.client.Query(w.t.Context(), "ask", sql, func(scan func(...any) error) error {
			var s shown
			if err := scan(&s.page, &s.start, &s.end, &s.hits, &s.people, &s.active, &s.users, &s.bits, &s.least, &s.most, &s.usual, &s.revenue, &s.opening, &s.latest, &s.keys, &s.counts, &s.errors, &s.quantiles, &s.none); err != nil {
				return err
			}
			key := fmt.Sprintf("%q %d %d", s.page, s.start, s.end)
			if why := w.wrong(&s, want[key]); why != "" {
				w.t.Errorf("%s(%s) at %s: %s", name, params, key, why)
			}
			delete(want, key)
			return nil
		}); err != nil {
			w.t.Errorf("%s(%s): %v", name, params, err)
			return
		}
		for key, some := range want {
			w.t.Errorf("%s(%s) has nothing at %s, want %d hits", name, params, key, len(some))
		}
	}
}

// wrong says what a row has that its events do not have.
func (w *walker) wrong(s *shown, some []walked) string {
	if len(some) == 0 {
		return fmt.Sprintf("there are no events, it has %d hits", s.hits)
	}
	users, things := map[int]bool{}, map[string]uint64{}
	var prices []float64
	high, low, n := int64(0), int64(0), int64(0) // sum of units, as high·10^9 + low
	for _, e := range some {
		users[e.user] = true
		things[e.thing]++
		if !math.IsNaN(e.price) {
			prices = append(prices, e.price)
			high, low = high+e.units/1e9, low+e.units%1e9
			n++
		}
	}
	before := func(a, b walked) bool {
		chunk := w.job.Spec.Chunk
		for _, c := range [][2]int64{{a.ms, b.ms}, {int64(a.partition), int64(b.partition)}, {a.offset / chunk, b.offset / chunk}} {
			if c[0] != c[1] {
				return c[0] < c[1]
			}
		}
		return a.offset < b.offset
	}
	sort.Slice(some, func(i, j int) bool { return before(some[i], some[j]) })
	people := uint64(len(users))
	revenue := decimal9(high, low)
	switch {
	case s.hits != uint64(len(some)):
		return fmt.Sprintf("%d hits, want %d", s.hits, len(some))
	case s.people != people || s.active != people || s.users != people:
		return fmt.Sprintf("people %d, active %d, users %d, want %d", s.people, s.active, s.users, people)
	case s.bits == 0 || s.bits > 8*people:
		return fmt.Sprintf("%d bits of %d people", s.bits, people)
	case s.revenue != revenue:
		return fmt.Sprintf("revenue %s, want %s", s.revenue, revenue)
	case s.opening != some[0].value || s.latest != some[len(some)-1].value:
		return fmt.Sprintf("from %q to %q, want %q to %q", s.opening, s.latest, some[0].value, some[len(some)-1].value)
	case s.none != (len(prices) == 0):
		return fmt.Sprintf("no price: %t, of %d", s.none, len(prices))
	}
	if len(prices) > 0 {
		slices.Sort(prices)
		if s.least != prices[0] || s.most != prices[len(prices)-1] {
			return fmt.Sprintf("prices from %g to %g, want %g to %g", s.least, s.most, prices[0], prices[len(prices)-1])
		}
		if mean := (float64(high) + float64(low)/1e9) / float64(n); math.Abs(s.usual-mean) > 1e-12*math.Max(1, math.Abs(mean)) {
			return fmt.Sprintf("mean %g, want %g", s.usual, mean)
		}
		for i, level := range []float64{0.5, 0.9, 0.95, 0.99} {
			want := prices[min(int(level*float64(len(prices))), len(prices)-1)]
			if math.Abs(s.quantiles[i]-want) > 0.01*math.Abs(want) {
				return fmt.Sprintf("quantile %g is %g, want %g", level, s.quantiles[i], want)
			}
		}
	}
	k := 0
	for _, m := range w.job.Spec.Measures {
		k = max(k, m.K)
	}
	if len(s.keys) > k || len(s.keys) < min(k, len(things)) {
		return fmt.Sprintf("%d keys, of %d and k %d", len(s.keys), len(things), k)
	}
	for i, key := range s.keys {
		if n := things[key]; n < s.counts[i] || n > s.counts[i]+s.errors[i] {
			return fmt.Sprintf("key %q has %d to %d more, want %d", key, s.counts[i], s.errors[i], n)
		}
		if i > 0 && (s.counts[i] > s.counts[i-1] || s.counts[i] == s.counts[i-1] && key <= s.keys[i-1]) {
			return fmt.Sprintf("keys in no order: %q %v", s.keys, s.counts)
		}
	}
	return ""
}

// decimal9 writes high·10^9 + low with nine digits behind the point, without zeros at the end.
func decimal9(high, low int64) string {
	high, low = high+low/1e9, low%1e9
	if high > 0 && low < 0 {
		high, low = high-1, low+1e9
	}
	if high < 0 && low > 0 {
		high, low = high+1, low-1e9
	}
	sign := ""
	if high < 0 || low < 0 {
		sign, high, low = "-", -high, -low
	}
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%s%d.%09d", sign, high, low), "0"), ".")
}

// ask asks a question of a form.
func (w *walker) ask(form int) {
	w.t.Helper()
	shortest := int64(w.job.Rollups[0].Window / time.Second)
	some := func(all ...int64) int64 { return all[w.r.IntN(len(all))] }
	from := w.from + w.r.Int64N(3*86400)
	if w.r.IntN(2) == 0 {
		from = from / 3600 * 3600
	}
	zone := w.zones[w.r.IntN(len(w.zones))]
	unit := []string{"day", "day", "week", "month", "quarter", "year"}[w.r.IntN(6)]
	date := func(at int64, days int) string {
		return time.Unix(at, 0).UTC().AddDate(0, 0, days).Format(time.DateOnly)
	}
	first, last := date(w.from, -w.r.IntN(3)), date(w.from, 1+w.r.IntN(6))
	switch unit {
	case "week":
		first = date(w.from, -8)
	case "month", "quarter", "year":
		first = date(w.from, -366)
	}
	first, last = fitted(first, last, unit)
	switch form %= 8; form {
	case 0, 1:
		size, every := shortest*some(1, 2, 4, 7, 13, 96), shortest*some(1, 3, 4, 7, 97)
		to := from + max(size, some(1, 3600, 86400, 3*86400))
		if form == 0 {
			w.windows("clicks_range", fmt.Sprintf("from=%d, to=%d", from, to), hopped(from, to, shortest, 0))
			w.windows("clicks_tumble", fmt.Sprintf("from=%d, to=%d, size='%ds'", from, to, size), hopped(from, to, shortest, size))
			return
		}
		w.windows("clicks_hop", fmt.Sprintf("from=%d, to=%d, size='%ds', every='%ds'", from, to, size, every), hopped(from, to, shortest, size, every))
	case 2, 3:
		params := fmt.Sprintf("from='%s', to='%s', unit='%s', zone='%s'", first, last, unit, zone)
		all := w.calendar(first, last, unit, zone)
		if form == 2 || unit != "day" && unit != "week" {
			w.windows("clicks_calendar", params, all)
			return
		}
		every := shortest * some(4, 7, 31, 100)
		var so [][2]int64
		for _, p := range all {
			for at := p[0]; at < p[1]; at += every {
				so = append(so, [2]int64{p[0], min(at+every, p[1])})
			}
		}
		w.windows("clicks_cumulate", fmt.Sprintf("%s, every='%ds'", params, every), so)
	case 4:
		w.triangles("clicks_retention", fmt.Sprintf("from='%s', to='%s', unit='%s', zone='%s'", first, last, unit, zone), w.calendar(first, last, unit, zone))
	case 5:
		size := shortest * some(4, 7, 96)
		to := max(from+size, min(from+63*size, w.until))
		w.triangles("clicks_retention_tumble", fmt.Sprintf("from=%d, to=%d, size='%ds'", from, to, size), hopped(from, to, shortest, size))
	case 6:
		w.begun(from, from+some(3600, 86400, 3*86400), some(shortest, shortest+1, 2*shortest-1, 3600, 4*shortest), shortest*some(1, 4, 7, 1000))
	case 7:
		w.took(from, from+some(shortest, 3600, 86400, 3*86400), shortest)
	}
}

// triangles compares a view of retention over all pages and by page, by both measures.
func (w *walker) triangles(view, params string, periods [][2]int64) {
	w.t.Helper()
	for _, total := range []string{"", "_total"} {
		measure, page := []string{"people", "active"}[w.r.IntN(2)], "page"
		if total != "" {
			page = "''"
		}
		want := map[string]string{}
		for _, p := range walkPages {
			if total != "" && p != "" {
				continue
			}
			in := make([]map[int]bool, len(periods))
			for i, period := range periods {
				in[i] = map[int]bool{}
				for _, e := range w.in(p, total != "", period[0], period[1]) {
					in[i][e.user] = true
				}
			}
			for i := range periods {
				for j := i; j < len(periods); j++ {
					back := 0
					for user := range in[i] {
						if in[j][user] {
							back++
						}
					}
					if len(in[i]) > 0 && len(in[j]) > 0 {
						want[fmt.Sprintf("%q %d %d %d", p, periods[i][0], periods[i][1], periods[j][0])] = fmt.Sprint(back, " of ", len(in[i]))
					}
				}
			}
		}
		sql := "SELECT " + page + ", toInt64(toUnixTimestamp(window_start)), toInt64(toUnixTimestamp(window_end)), toInt64(toUnixTimestamp(later)), returned, cohort FROM " + w.client.Name(view+total) + "(measure='" + measure + "', " + params + ")"
		if err := w.client.Query(w.t.Context(), "ask", sql, func(scan func(...any) error) error {
			var p string
			var start, end, later int64
			var back, of uint64
			err := scan(&p, &start, &end, &later, &back, &of)
			key := fmt.Sprintf("%q %d %d %d", p, start, end, later)
			if got := fmt.Sprint(back, " of ", of); got != want[key] {
				w.t.Errorf("%s%s(%s) of %s at %s: %s, want %s", view, total, params, measure, key, got, want[key])
			}
			delete(want, key)
			return err
		}); err != nil {
			w.t.Errorf("%s%s(%s): %v", view, total, params, err)
		}
		for key, n := range want {
			w.t.Errorf("%s%s(%s) of %s has nothing at %s, want %s", view, total, params, measure, key, n)
		}
	}
}

// begun compares the bounds of sessions.
func (w *walker) begun(from, to, gap, every int64) {
	w.t.Helper()
	pane := int64(w.job.Rollups[0].Window / time.Second)
	first := from / pane * pane
	end := first + (to-first+every-1)/every*every
	params := fmt.Sprintf("from=%d, to=%d, gap='%ds', every='%ds'", from, to, gap, every)
	measure := []string{"people", "active"}[w.r.IntN(2)]
	for _, total := range []string{"", "_total"} {
		key := "concat(page, ' ', toString(toUnixTimestamp(window_start)))"
		pages := walkPages
		if total != "" {
			key, pages = "concat(' ', toString(toUnixTimestamp(window_start)))", walkPages[:1]
		}
		got := w.bounds(key, "clicks_sessions"+total, "measure='"+measure+"', "+params)
		for _, page := range pages {
			begin := map[int64]uint64{}
			last := map[int]int64{}
			all := w.in(page, total != "", 0, math.MaxInt64)
			slices.SortFunc(all, func(a, b walked) int { return int(a.ms - b.ms) })
			for _, e := range all {
				at, ok := last[e.user]
				last[e.user] = e.ms
				start := first + (e.at()-first)/every*every
				if e.at() >= first && e.at() < end && (!ok || e.ms-at >= gap*1000) {
					begin[start]++
				}
			}
			for start := first; start < end; start += every {
				k := fmt.Sprint(page, " ", start)
				if b := got[k]; begin[start] < b.least || begin[start] > b.most {
					w.t.Errorf("clicks_sessions%s(%s) of %s: %d begin at %q, which is not in %v", total, params, measure, begin[start], k, b)
				}
				delete(got, k)
			}
		}
		if len(got) > 0 {
			w.t.Errorf("clicks_sessions%s(%s) of %s has others: %v", total, params, measure, got)
		}
	}
}

// took compares the bounds of a funnel.
func (w *walker) took(from, to, pane int64) {
	w.t.Helper()
	measure := []string{"people", "active"}[w.r.IntN(2)]
	var pages, steps []string
	for range 1 + w.r.IntN(4) {
		page := walkPages[w.r.IntN(len(walkPages))]
		pages = append(pages, page)
		steps = append(steps, wire.Text(measure+":"+stepText(page)))
	}
	first, end := from/pane*pane, (to+pane-1)/pane*pane
	truth := make([]uint64, len(pages))
	all := w.in("", true, first, end)
	slices.SortStableFunc(all, func(a, b walked) int { return int(a.ms - b.ms) })
	for user := range 30 {
		taken, last := 0, int64(-1)
		for _, e := range all {
			if taken < len(pages) && e.user == user && e.ms > last && e.page == pages[taken] {
				truth[taken]++
				taken, last = taken+1, e.ms
			}
		}
	}
	params := fmt.Sprintf("from=%d, to=%d, steps=[%s]", from, to, strings.Join(steps, ", "))
	got := w.bounds("toString(step)", "clicks_funnel", params)
	for i, n := range truth {
		if b, ok := got[fmt.Sprint(i+1)]; !ok || n < b.least || n > b.most {
			w.t.Errorf("clicks_funnel(%s): %d take step %d, which is not in %v", params, n, i+1, b)
		}
	}
}

// stepText writes a text of a step.
func stepText(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c >= 'a' && c <= 'z' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// TestWalk: whatever has come, been written twice, rolled up or not, and whichever rollups were
// added, the views with parameters say of it what a naive pass over the events finds.
func TestWalk(t *testing.T) {
	long(t)
	walk(t, 1, 6)
}

// walk takes so many steps, and asks a question of every second form then.
func walk(t *testing.T, seed uint64, steps int) {
	t.Run(fmt.Sprint(seed), func(t *testing.T) {
		w := newWalker(t, seed)
		w.events(400)
		for range steps {
			switch w.r.IntN(8) {
			case 0, 1:
				w.events(1 + w.r.IntN(60))
			case 2:
				roll(t, w.Sink, true)
			case 3:
				if err := w.Rollup(t.Context(), false, event.Time(w.moment())); err != nil {
					t.Fatal(err)
				}
			case 4:
				w.job.Rollups = w.rollups()
				if _, err := w.c.Migrate(t.Context(), []schema.Job{w.job}, migrate.Options{}); err != nil {
					t.Fatal(err)
				}
				s, err := w.c.Job(t.Context(), w.job)
				if err != nil {
					t.Fatal(err)
				}
				w.Sink = s
			default:
				w.ask(w.r.IntN(8))
			}
		}
		for form := int(seed) % 2; form < 8; form += 2 {
			w.ask(form)
		}
	})
}
