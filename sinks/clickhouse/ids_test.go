package clickhouse

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/measures/set"
	"weir/sinks/clickhouse/questions"
	"weir/sinks/clickhouse/schema"
	"weir/sinks/clickhouse/wire"
)

// A bound is what an answer may be at least and at most.
type bound struct{ least, most uint64 }

// bounds returns the bounds of a view's answer by the key that an expression makes of a row.
func (a *asked) bounds(key, view, params string) map[string]bound {
	a.t.Helper()
	all := map[string]bound{}
	err := a.client.Query(a.t.Context(), "ask", "SELECT "+key+", least, most FROM "+a.client.Name(view)+"("+params+")", func(scan func(...any) error) error {
		var k string
		var b bound
		err := scan(&k, &b.least, &b.most)
		all[k] = b
		return err
	})
	if err != nil {
		a.t.Fatal(err)
	}
	return all
}

// times returns when each user was seen on a page, or on any, in order.
func (a *asked) times(page string) map[int][]int64 {
	all := map[int][]int64{}
	for _, e := range a.seen {
		if page == "" || e.page == page {
			all[e.user] = append(all[e.user], e.at)
		}
	}
	for _, at := range all {
		slices.Sort(at)
	}
	return all
}

// sessions compares clicks_sessions, and that of all pages, with the sessions of the events
// and with what panes of a length say of them.
func (a *asked) sessions(from, to, gap, every, pane int64) {
	a.t.Helper()
	params := fmt.Sprintf("from=toDateTime(%d), to=toDateTime(%d), gap='%ds', every='%ds'", from, to, gap, every)
	for _, measure := range []string{"people", "active"} {
		got := a.bounds("concat(page, ' ', toString(toUnixTimestamp(window_start)))", "clicks_sessions", "measure='"+measure+"', "+params)
		for k, b := range a.bounds("concat(' ', toString(toUnixTimestamp(window_start)))", "clicks_sessions_total", "measure='"+measure+"', "+params) {
			got[k] = b
		}
		var begun, wide uint64
		for _, page := range []string{"", "/0", "/1", "/2"} {
			times := a.times(page)
			for start := from / pane * pane; start < to; start += every {
				k := fmt.Sprint(page, " ", start)
				var truth uint64
				var want bound
				for _, at := range times {
					for i, t := range at {
						if t < start || t >= start+every {
							continue
						}
						if i == 0 || t-at[i-1] >= gap {
							truth++
						}
						apart := int64(1 << 40) // panes since the one before
						if i > 0 {
							apart = t/pane - at[i-1]/pane
						}
						if apart > (gap+pane-1)/pane {
							want.least++
						}
						if apart >= gap/pane {
							want.most++
						}
					}
				}
				if got[k] != want {
					a.t.Errorf("clicks_sessions(%s) of %s has %v at %q, want %v", params, measure, got[k], k, want)
				}
				if truth < got[k].least || truth > got[k].most {
					a.t.Errorf("clicks_sessions(%s) of %s: %d sessions begin at %q, which is not in %v", params, measure, truth, k, got[k])
				}
				begun, wide = begun+truth, wide+got[k].most-got[k].least
				delete(got, k)
			}
		}
		if len(got) > 0 || begun == 0 {
			a.t.Errorf("clicks_sessions(%s) of %s has windows that are not in the range: %v, of %d sessions", params, measure, got, begun)
		}
		a.t.Logf("%s of %s: %d sessions, bounds %d wide", params, measure, begun, wide)
	}
}

// TestSessions: the bounds of how many sessions begin hold what a naive pass over the events
// finds, and are those that the windows allow.
func TestSessions(t *testing.T) {
	long(t)
	a := newAsked(t, open(t), ofIDs, schema.Rollup{Window: time.Minute}, schema.Rollup{Window: time.Hour})
	r := rand.New(rand.NewPCG(1, 24))
	at := int64(noon / 1000)
	check := func() {
		t.Helper()
		a.sessions(at, at+5*3600, 600, 3600, 60)
		a.sessions(at+3601, at+4*3600, 599, 600, 60)
		a.sessions(at+7200, at+3*3600, 601, 300, 60)
		a.sessions(at, at+5*3600, 60, 1800, 60)
		a.sessions(at, at+5*3600, 89, 5*3600, 60)
	}
	a.count(random(r, 1500, at, at+5*3600)...)
	roll(t, a.Sink, true)
	check() // all in rollups
	a.count(random(r, 100, at, at+5*3600)...)
	check() // some windows have newer rows
}

// TestSessionsOfPair: the bounds hold if two of a thousand ids share a hash, and each begins six
// sessions, which the other one hides.
func TestSessionsOfPair(t *testing.T) {
	a := newAsked(t, open(t), ofIDs[:1], schema.Rollup{Window: time.Minute})
	seen := map[uint32]int{}
	var ids []int
	for i := 0; len(ids) == 0; i++ {
		hash := set.Hash(nil, fmt.Append(nil, i))
		if other, ok := seen[hash]; ok {
			ids = append(ids, other, i)
		}
		seen[hash] = i
	}
	for i := ids[1] + 1; len(ids) < 1000; i++ {
		ids = append(ids, i)
	}
	at := int64(noon / 1000)
	for _, late := range []int64{0, 1500} { // at the same times; or each in the pauses of the other
		var events []sighting
		for hour := range int64(6) {
			for i, id := range ids {
				events = append(events, sighting{at + hour*3600 + late*int64(i%2), fmt.Sprint("/", late), id, 0})
			}
		}
		slices.SortStableFunc(events, func(a, b sighting) int { return int(a.at - b.at) })
		a.count(events...)
		params := fmt.Sprintf("measure='people', from=toDateTime(%d), to=toDateTime(%d), gap='30m', every='6h'", at, at+21600)
		b := a.bounds("page", "clicks_sessions", params)[fmt.Sprint("/", late)]
		if b.least > 6000 || b.most < 6000 || b.most > 6060 {
			t.Errorf("6,000 sessions begin, which is not in %v, or that is too wide", b)
		}
		t.Log(b)

		// The bounds of all windows together do not depend on their length. The sum of the windows' bounds does:
		// each has room for pairs of its own.
		for _, every := range []int{3600, 7200, 21600} {
			params := fmt.Sprintf("measure='people', from=toDateTime(%d), to=toDateTime(%d), gap='30m', every='%ds'", at, at+21600, every)
			totals := read(t, a.client, fmt.Sprintf("SELECT sum(least), min(total_most), max(total_most) FROM %s(%s) WHERE page = '/%d'", a.client.Name("clicks_sessions"), params, late))
			if want := []string{fmt.Sprintf("(%d,%d,%[2]d)", b.least, b.most)}; !slices.Equal(totals, want) {
				t.Errorf("in windows of %d s %v begin in all, and %v in one window of all", every, totals, want)
			}
		}
	}
}

// went returns how many of some users took each step, of a list of pages, in their order.
func (a *asked) went(from, to int64, steps []string) []uint64 {
	all := make([]uint64, len(steps))
	events := slices.Clone(a.seen)
	slices.SortStableFunc(events, func(a, b sighting) int { return int(a.at - b.at) })
	for user := range 40 {
		taken, last := 0, int64(-1)
		for _, e := range events {
			if taken < len(steps) && e.user == user && e.at >= from && e.at < to && e.at > last && (steps[taken] == "" || e.page == steps[taken]) {
				all[taken]++
				taken, last = taken+1, e.at
			}
		}
	}
	return all
}

// funnel compares clicks_funnel with the events and with what panes of a length say of them.
func (a *asked) funnel(from, to, pane int64, pages ...string) {
	a.t.Helper()
	truth := a.went(from, to, pages)
	for _, measure := range []string{"people", "active"} {
		var steps []string
		for i, page := range pages {
			group := map[string]string{"": ":*", "/0": ":/0", "/1": ":%2F1", "/2": ":/2"}[page]
			if page == "" && i%2 == 0 {
				group = ""
			}
			steps = append(steps, wire.Text(measure+group))
		}
		params := fmt.Sprintf("from=toDateTime(%d), to=toDateTime(%d), steps=[%s]", from, to, strings.Join(steps, ", "))
		got := a.bounds("concat(toString(step), ' ', name)", "clicks_funnel", params)
		for i, n := range truth {
			k := fmt.Sprint(i+1, " ", strings.Trim(steps[i], "'"))
			b, ok := got[k]
			if !ok || n < b.least || n > b.most {
				a.t.Errorf("clicks_funnel(%s): %d users took step %q, which is not in %v", params, n, k, b)
			}
			if want := a.panes(from, to, pane, pages[:i+1]); b != want {
				a.t.Errorf("clicks_funnel(%s) has %v at %q, want %v", params, b, k, want)
			}
			a.t.Logf("step %d of %v: %d in %v", i+1, pages, n, b)
		}
		if len(got) != len(pages) {
			a.t.Errorf("clicks_funnel(%s): %v", params, got)
		}
	}
}

// panes returns the bounds of how many users took all of some steps, by trying all panes.
func (a *asked) panes(from, to, pane int64, pages []string) (b bound) {
	for user := range 40 {
		var try func(step int, last, apart int64) bool
		try = func(step int, last, apart int64) bool {
			return step == len(pages) || slices.ContainsFunc(a.seen, func(e sighting) bool {
				return e.user == user && e.at >= from && e.at < to && (pages[step] == "" || e.page == pages[step]) && e.at/pane >= last+apart && try(step+1, e.at/pane, apart)
			})
		}
		if try(0, 0, 1) {
			b.least++
		}
		if try(0, 0, 0) {
			b.most++
		}
	}
	return b
}

// TestFunnel: the bounds of how many users take steps in their order hold what a naive pass
// over the events finds, and are those that the windows allow.
func TestFunnel(t *testing.T) {
	long(t)
	a := newAsked(t, open(t), ofIDs, schema.Rollup{Window: time.Minute}, schema.Rollup{Window: time.Hour})
	r := rand.New(rand.NewPCG(1, 25))
	at := int64(noon / 1000)
	check := func() {
		t.Helper()
		a.funnel(at, at+1800, 60, "/0", "/1", "/2")
		a.funnel(at, at+600, 60, "/2", "/0")
		a.funnel(at, at+1800, 60, "/1", "/1", "/1", "/1")
		a.funnel(at+600, at+1200, 60, "", "/1", "")
		a.funnel(at-3600, at-1800, 60, "/0", "/1") // empty
	}
	a.count(random(r, 300, at, at+1800)...)
	roll(t, a.Sink, true)
	check() // all in rollups
	a.count(random(r, 60, at, at+1800)...)
	check() // some windows have newer rows
}

// TestIdsRefuse: a question that cannot be answered says why and what to do.
func TestIdsRefuse(t *testing.T) {
	c := open(t)
	newAsked(t, c, ofIDs, schema.Rollup{Window: time.Minute, Keep: 48 * time.Hour}, schema.Rollup{Window: time.Hour})
	const people = "measure='people', "
	for ask, want := range map[string]string{
		"clicks_retention(measure='users', from='2026-01-01', to='2026-01-02', unit='day', zone='UTC')":                    "write a measure that holds ids, a set or a bitmap: people or active of job clicks",
		"clicks_retention(" + people + "from='2026-01-01', to='2026-03-07', unit='day', zone='UTC')":                       "an answer has at most 64",
		"clicks_retention_total(" + people + "from='2026-01-01', to='2026-03-07', unit='hours', zone='UTC')":               "write unit = 'day' or 'week'",
		"clicks_retention_tumble(" + people + "from=now(), to=now(), size='90s')":                                          "write size as a multiple of '1m', the shortest windows of job clicks",
		"clicks_retention_tumble(" + people + "from=toStartOfMinute(now()) - 86400, to=toStartOfMinute(now()), size='1m')": "an answer has at most 64",
		"clicks_sessions(" + people + "from=now(), to=now(), gap='59s', every='1m')":                                       "write a gap of '1m' or more",
		"clicks_sessions(" + people + "from=now(), to=now(), gap='1m', every='90s')":                                       "write every as a multiple of '1m'",
		"clicks_sessions(" + people + "from=now(), to=now() + 4000000, gap='1m', every='1d')":                              "write a shorter range: it has more than 50000 windows of 1m",
		"clicks_sessions_total(" + people + "from=now() - 172800 + 600, to=now(), gap='3h', every='1h')":                   "ids of windows of 1m are not kept for so long: ask for later ones",
		"clicks_sessions(measure='top', from=now(), to=now(), gap='1m', every='1m')":                                       "write a measure that holds ids",
		"clicks_funnel(from=now() - 3600, to=now(), steps=[])":                                                             "write 1 to 32 steps",
		"clicks_funnel(from=now() - 3600, to=now(), steps=['people:/0', 'users:/1'])":                                      "begin each step with the name of a measure that holds ids, a set or a bitmap: people or active of job clicks",
		"clicks_funnel(from=now() - 3600, to=now(), steps=['people:/0', 'active:/1'])":                                     "write steps that are all of sets or all of bitmaps",
		"clicks_funnel(from=now() - 3600, to=now(), steps=['people:/0:DE'])":                                               "a text or * for the 1 group columns of job clicks",
		"clicks_funnel(from=now() - 259200, to=now(), steps=['people'])":                                                   "windows of 1m are not kept for so long",
		"clicks_funnel(from=now() - 3600, to=now(), steps=['people'" + strings.Repeat(", 'people'", 32) + "])":             "write 1 to 32 steps",
		"clicks_funnel(from='2026-01-01 00:00:00', steps=['people'])":                                                      "to",
	} {
		err := c.Query(t.Context(), "ask", "SELECT count() FROM "+wire.Quote(c.Config.Database)+"."+ask, func(func(...any) error) error { return nil })
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", ask, err, want)
		}
	}
}

// TestIdsUnasked: a question about ids for which there is no view is refused by what it lacks.
// ClickHouse is not asked: it would say that a migration makes the view.
func TestIdsUnasked(t *testing.T) {
	j := clicks()
	j.Spec.By = j.Spec.By[:2]
	j.Spec.By[0].Name, j.Spec.By[1].Name = "later", "least"
	s := (&Client{DB: new(wire.DB)}).sink(plan(t, j))
	day := questions.Question{Measure: "active", Until: time.Unix(1<<30, 0), Unit: "day", Zone: "UTC", Periods: 2, Group: [][]byte{nil, nil}}
	session := questions.Question{Measure: "active", Until: time.Unix(1<<30, 0), Gap: time.Minute, Step: time.Minute, Group: [][]byte{nil, nil}}
	if s.SQL(day) == "" || s.SQL(session) == "" {
		t.Error("no SELECT for all groups together")
	}
	const needs = "a question about the ids of clicks needs "
	for _, q := range []questions.Question{day, session} {
		taken := "later"
		if q.Gap > 0 {
			taken = "least"
		}
		other := q
		other.Measure = "users"
		some, all := q, q
		some.Group = [][]byte{nil, []byte("/p/1")}
		all.Group = [][]byte{[]byte("/p/1"), []byte("DE")}
		for _, c := range []struct {
			questions.Question
			want string
		}{
			{other, "a set or a bitmap"},
			{some, "a value for each group column, later and least, or for none"},
			{all, "all groups together, because a column of its answer is called " + taken + ", as a group column is"},
		} {
			var refused *questions.Refused
			if _, err := s.Sessions(t.Context(), c.Question); !errors.As(err, &refused) || refused.Reason != needs+c.want {
				t.Errorf("%+v: %v, want %s", c.Question, err, c.want)
			}
		}
	}
}

// TestIdsExpired: a question that needs ids that are not kept any more fails.
func TestIdsExpired(t *testing.T) {
	c := open(t)
	a := newAsked(t, c, ofIDs, schema.Rollup{Window: time.Minute, Keep: 48 * time.Hour}, schema.Rollup{Window: time.Hour, KeepStates: 24 * time.Hour})
	now := time.Now().Unix() / 3600 * 3600
	a.count(random(rand.New(rand.NewPCG(1, 26)), 50, now-7200, now-3600)...)
	roll(t, a.Sink, true)
	asks := []string{
		fmt.Sprintf("clicks_retention_tumble_total(measure='people', from=toDateTime(%d), to=toDateTime(%d), size='1h')", now-7200, now),
		fmt.Sprintf("clicks_sessions_total(measure='people', from=toDateTime(%d), to=toDateTime(%d), gap='10m', every='1h')", now-7200, now),
		fmt.Sprintf("clicks_funnel(from=toDateTime(%d), to=toDateTime(%d), steps=['people'])", now-7200, now),
	}
	ask := func(what string) error {
		return c.Query(t.Context(), "ask", "SELECT count() FROM "+wire.Quote(c.Config.Database)+"."+what, func(scan func(...any) error) error {
			var n uint64
			err := scan(&n)
			if err == nil && n == 0 {
				t.Errorf("%s answers nothing", what)
			}
			return err
		})
	}
	for _, what := range asks {
		if err := ask(what); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	(&backend{c: c}).exec(t, "INSERT INTO "+c.Name("clicks_1h_rollup")+" (page, window_start, hits, people, rolled_at) VALUES ('/9', toDateTime("+fmt.Sprint(now-7200)+"), 3, 2, now() - 2 * 86400)")
	for i, what := range asks {
		want := "ids of windows of 1h in the range are not kept any more (keep_states 1d): ask for later ones"
		if i > 0 {
			what = strings.Replace(what, fmt.Sprint(now-7200), fmt.Sprint(now-72*3600), 1)
			want = "ids of windows of 1m are not kept for so long: ask for later ones"
		}
		if err := ask(what); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestSetMargin: fewer pairs of ids share a hash than the margin of a set allows for, but for
// one in 10,000 times, also if a pair changes a number by more than one.
func TestSetMargin(t *testing.T) {
	var sql []string
	var most []uint64 // that a pair changes
	for _, mean := range []float64{0.0001, 0.00011, 0.01, 0.1, 1, 3, 10, 116, 5000} {
		for _, n := range []uint64{1, 2, 48} {
			most = append(most, n)
			sql = append(sql, fmt.Sprintf("(%g, toUInt64(%s))", mean, fmt.Sprintf(set.SQL(nil).Margin, fmt.Sprint(mean*float64(n)), fmt.Sprint(mean*float64(n*n)), fmt.Sprint(n))))
		}
	}
	var means []float64
	var margins []uint64
	c := open(t)
	if err := c.Query(t.Context(), "ask", "SELECT arrayMap(x -> toFloat64(x.1), a), arrayMap(x -> x.2, ["+strings.Join(sql, ", ")+"] AS a)", func(scan func(...any) error) error {
		return scan(&means, &margins)
	}); err != nil {
		t.Fatal(err)
	}
	for i, mean := range means {
		within := 0.0 // the probability of so few pairs
		for k := range margins[i]/most[i] + 1 {
			lg, _ := math.Lgamma(float64(k) + 1)
			within += math.Exp(float64(k)*math.Log(mean) - mean - lg)
		}
		if within < 0.9999-1e-9 {
			t.Errorf("a margin of %d holds %g times where %g pairs are expected, which change %d each", margins[i], within, mean, most[i])
		}
		t.Logf("%g pairs, which change %d each: margin %d, exceeded %.1g times", mean, most[i], margins[i], 1-within)
	}
}
