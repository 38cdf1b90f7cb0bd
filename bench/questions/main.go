// Command questions measures the questions about ids over several windows on the embedded
// ClickHouse engine, with one thread: who came back, ordered funnels and sessions, of a
// million users.
//
//	make bench-questions
//
// The states are those of a job with windows of ten seconds, made by the engine itself from
// raw events in a table, so the same run asks both. What the views answer is compared with
// the events. The times are the engine's CPU time, the least of several. Of a question about little
// nearly all is the analysis of its statement: that is compared with a view. So is weir_audit of many jobs with that of
// one. It fails over a floor.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"weir/bench/internal/testbed"
)

var (
	bench = testbed.Command("questions")
	users = flag.Int("users", 1_000_000, "users")
	tries = flag.Int("tries", 5, "how often each question is asked; the best counts")
	only  = flag.Bool("audit", false, "measure weir_audit only")
)

// The floors, of a million users.
var floors = map[string]time.Duration{
	"retention active": 500 * time.Millisecond,
	"retention people": 500 * time.Millisecond,
	"funnel active":    400 * time.Millisecond,
	"funnel people":    400 * time.Millisecond,
	"sessions active":  1200 * time.Millisecond,
	"sessions people":  1200 * time.Millisecond,
}

// analysed are questions without rows in their range, and the floors of what they cost: so many
// times a view without rows.
var analysed = []struct {
	name, sql string
	times     float64
}{
	{"clicks_hop", "clicks_hop(from = '2026-01-01 00:00:00', to = '2026-01-03 00:00:00', size = '2h', every = '1h')", 3},
	{"clicks_calendar", "clicks_calendar(from = '2026-01-01', to = '2026-01-08', unit = 'day', zone = 'Europe/Berlin')", 4},
	{"clicks_cumulate", "clicks_cumulate(from = '2026-01-01', to = '2026-01-08', unit = 'day', zone = 'Europe/Berlin', every = '1h')", 6},
	{"clicks_retention", "clicks_retention(measure = 'people', from = '2026-01-01', to = '2026-01-08', unit = 'day', zone = 'Europe/Berlin')", 4},
}

// auditJobs is how many jobs weir_audit has, and auditTimes how many times that of one job it may cost.
const (
	auditJobs  = 64
	auditTimes = 5.
)

// widest is the greatest width of the bounds of a funnel, as a share of the truth.
const widest = 0.01

func main() { bench.Main(run) }

const config = `kafka: {brokers: ["127.0.0.1:9"], group: bench}
clickhouse: {urls: %q, database: bench}
jobs:
  - name: clicks
    topic: clicks
    time: {field: ts, unit: s}
    window: 10s
    rollups: [10s, 1h, 1d]
    by: [page]
    measures:
      - {name: people, kind: set, field: user}
      - {name: active, kind: bitmap, field: id}
`

// A user has two visits of five events within a day, some minute apart each. Of the events one
// in ten is of a product, one in twenty of the cart, one in fifty of the order.
const events = `SELECT toDateTime('2026-11-16 00:00:00', 'UTC') + xxHash64(id, 'begin') %% 54000 + intDiv(k, 5) * (7200 + xxHash64(id, 'away') %% 18000) + (k %% 5) * 65 + xxHash64(id, k, 'gap') %% 61 AS ts,
    transform(toUInt8(xxHash64(id, k, 'page') %% 100 AS p), range(toUInt8(17)), arrayConcat(arrayResize(['/product'], 10, '/product'), arrayResize(['/cart'], 5, '/cart'), ['/paid', '/paid']), concat('/other/', toString(p %% 5))) AS page,
    concat('user-', toString(id)) AS user, id
FROM (SELECT toUInt32(intDiv(number, 10)) AS id, number %% 10 AS k FROM numbers(%d))`

// Each day one in five users comes.
const visitors = `SELECT toUInt32(number %% %d) AS id, intDiv(number, %[1]d) AS day FROM numbers(%[1]d * 30) WHERE xxHash64(id, day) %% 5 = 0`

const day = "from = '2026-11-16 00:00:00', to = '2026-11-17 00:00:00'"

// measured asks questions and reports what they cost.
type measured struct {
	*testbed.Engine
	report *testbed.Report
	missed []string
}

func run(context.Context) error {
	g, err := testbed.Alone()
	if err != nil {
		return err
	}
	defer g.Close()
	m := &measured{Engine: &g.Engine, report: new(testbed.Report)}
	if *only {
		m.report.SayWhere()
		if err := m.audit(g.Dir); err != nil {
			return err
		}
		return bench.Save(m.report, m.missed)
	}
	file := filepath.Join(g.Dir, "questions.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, config, g.Engine.URL), 0o644); err != nil {
		return err
	}
	if err := bench.Migrate(file); err != nil {
		return err
	}
	m.report.Say("# %d users; retention: 30 days, a fifth of the users each; funnel and sessions: a day in windows of 10 s, ten events a user; one thread, best of %d", *users, *tries)
	m.report.SayWhere()
	const hashes = "arraySort(groupUniqArray(toUInt32(bitAnd(xxHash64(user), 4294967295))))"
	const panes = " FROM bench.raw GROUP BY page, w"
	for _, sql := range []string{
		"CREATE TABLE bench.raw (ts DateTime('UTC'), page LowCardinality(String), user String, id UInt32) ENGINE = MergeTree ORDER BY (page, ts)",
		"INSERT INTO bench.raw " + fmt.Sprintf(events, *users*10),
		"INSERT INTO bench.clicks_10s_rollup (page, window_start, hits, people, active) SELECT page, toStartOfInterval(ts, INTERVAL 10 SECOND) AS w, count(), uniqExact(id), uniqExact(id)" + panes,
		"INSERT INTO bench.clicks_state (page, window_start, hits, people_ids, active) SELECT page, toStartOfInterval(ts, INTERVAL 10 SECOND) AS w, map(toUInt64(0), count()), " + hashes + ", groupBitmapState(id)" + panes,
		"INSERT INTO bench.clicks_1d_rollup (page, window_start, hits, people, active, people_ids, active_state) SELECT '/', toDateTime('2026-10-01 00:00:00', 'UTC') + 86400 * day AS w, count(), uniqExact(id), uniqExact(id), " +
			"arrayMap(ids -> (toUInt32(length(ids)), ids), [" + hashes + "])[1], groupBitmapState(id) FROM (SELECT *, concat('user-', toString(id)) AS user FROM (" + fmt.Sprintf(visitors, *users) + ")) GROUP BY w",
		"INSERT INTO bench.weir_rollups (job, version, rollup, opened, done) VALUES ('clicks', 1, 10, 1, 1), ('clicks', 1, 3600, 1, 1), ('clicks', 1, 86400, 1, 1)", // nothing is in the live tail
		"OPTIMIZE TABLE bench.clicks_10s_rollup FINAL", "OPTIMIZE TABLE bench.clicks_state FINAL", "OPTIMIZE TABLE bench.clicks_1d_rollup FINAL", "OPTIMIZE TABLE bench.raw FINAL",
	} {
		if _, err := m.Query(sql); err != nil {
			return err
		}
	}
	m.Settle()
	m.report.Say("%-34s %9s %9s", "question", "CPU ms", "floor ms")
	if err := m.retention(); err != nil {
		return err
	}
	if err := m.funnels(); err != nil {
		return err
	}
	if err := m.sessions(); err != nil {
		return err
	}
	if err := m.analysis(); err != nil {
		return err
	}
	if err := m.audit(g.Dir); err != nil {
		return err
	}
	return bench.Save(m.report, m.missed)
}

// ask returns an answer in numbers, row by row, and the least CPU time of several.
func (m *measured) ask(what, sql string) (numbers []int64, least time.Duration, err error) {
	for range *tries {
		before := m.CPU()
		text, err := m.Query(sql + " SETTINGS max_threads = 1")
		if err != nil {
			return nil, 0, err
		}
		if took := m.CPU() - before; least == 0 || took < least {
			least = took
		}
		numbers = numbers[:0]
		for _, field := range strings.Fields(text) {
			n, err := strconv.ParseInt(field, 10, 64)
			if err != nil {
				return nil, 0, fmt.Errorf("%s: %w", sql, err)
			}
			numbers = append(numbers, n)
		}
	}
	floor, has := floors[what]
	if !has {
		m.report.Say("%-34s %9d", what, least.Milliseconds())
		return numbers, least, nil
	}
	m.report.Say("%-34s %9d %9d", what, least.Milliseconds(), floor.Milliseconds())
	if least > floor {
		m.missed = append(m.missed, what)
	}
	return numbers, least, nil
}

// truth asks the events, without measuring.
func (m *measured) truth(sql string) (n int64, err error) {
	text, err := m.Query(sql)
	if err == nil {
		_, err = fmt.Sscan(text, &n)
	}
	return n, err
}

func (m *measured) retention() error {
	want, err := m.truth(fmt.Sprintf("SELECT sum(length(a) * (length(a) + 1) / 2) FROM (SELECT groupArray(day) AS a FROM (%s) GROUP BY id)", fmt.Sprintf(visitors, *users)))
	if err != nil {
		return err
	}
	for _, measure := range []string{"active", "people"} {
		got, _, err := m.ask("retention "+measure, "SELECT count(), sum(returned) FROM bench.clicks_retention_total(measure = '"+measure+"', from = '2026-10-01', to = '2026-10-31', unit = 'day', zone = 'UTC')")
		if err != nil {
			return err
		}
		off := float64(got[1]-want) / float64(want)
		m.report.Say("  %d pairs of days, %d came back in all, which is %+.4f %% off", got[0], got[1], 100*off)
		if got[0] != 465 || measure == "active" && off != 0 || off > 0.001 || off < -0.001 {
			return fmt.Errorf("retention of %s: %v, want %d", measure, got, want)
		}
	}
	return nil
}

func (m *measured) funnels() error {
	const raw = "SELECT arrayJoin([countIf(l >= 1), countIf(l >= 2), countIf(l >= 3)]) FROM (SELECT windowFunnel(86400)(ts, page = '/product', page = '/cart', page = '/paid') AS l FROM bench.raw WHERE page IN ('/product', '/cart', '/paid') GROUP BY %s)"
	truth, naive, err := m.ask("windowFunnel over events, by user", fmt.Sprintf(raw, "user"))
	if err != nil {
		return err
	}
	if _, _, err := m.ask("windowFunnel over all events", strings.Replace(fmt.Sprintf(raw, "user"), "WHERE page IN ('/product', '/cart', '/paid') ", "", 1)); err != nil {
		return err
	}
	if _, _, err := m.ask("windowFunnel over events, by id", fmt.Sprintf(raw, "id")); err != nil {
		return err
	}
	for _, measure := range []string{"active", "people"} {
		got, took, err := m.ask("funnel "+measure, "SELECT least, most FROM bench.clicks_funnel("+day+", steps = ['"+strings.Join([]string{measure + ":/product", measure + ":/cart", measure + ":/paid"}, "', '")+"'])")
		if err != nil {
			return err
		}
		for i, n := range truth {
			least, most := got[2*i], got[2*i+1]
			width := float64(most-least) / float64(n)
			m.report.Say("  step %d: %d users, in [%d, %d], %.2f %% wide (floor %g %%)", i+1, n, least, most, 100*width, 100*widest)
			if n < least || n > most {
				return fmt.Errorf("funnel of %s: %d is not in [%d, %d]", measure, n, least, most)
			}
			if width > widest {
				m.missed = append(m.missed, fmt.Sprintf("width of step %d of %s", i+1, measure))
			}
		}
		m.report.Say("  %.1f times as fast as windowFunnel over the events of the steps", float64(naive)/float64(took))
	}
	return nil
}

func (m *measured) sessions() error {
	naive, _, err := m.ask("sessions of events, by user", "SELECT sum(n) FROM (SELECT 1 + arrayCount(d -> d >= 1800, arrayDifference(arraySort(groupArray(toUnixTimestamp(ts))))) AS n FROM bench.raw GROUP BY user)")
	if err != nil {
		return err
	}
	truth := naive[0]
	for _, measure := range []string{"active", "people"} {
		got, _, err := m.ask("sessions "+measure, "SELECT sum(least), any(total_most) FROM bench.clicks_sessions_total(measure = '"+measure+"', "+day+", gap = '30m', every = '1h')")
		if err != nil {
			return err
		}
		m.report.Say("  %d sessions begin, in [%d, %d], %.2f %% wide", truth, got[0], got[1], 100*float64(got[1]-got[0])/float64(truth))
		if truth < got[0] || truth > got[1] {
			return fmt.Errorf("sessions of %s: %d is not in %v", measure, truth, got)
		}
	}
	return nil
}

// analysis compares questions without rows with a view. It asks each many times over, because the
// engine's CPU time is counted in steps of 10 ms.
func (m *measured) analysis() error {
	const turns = 20
	cost := func(sql string) (least time.Duration, err error) {
		for range *tries {
			before := m.CPU()
			for range turns {
				if _, err := m.Query(sql + " SETTINGS max_threads = 1"); err != nil {
					return 0, err
				}
			}
			if took := (m.CPU() - before) / turns; least == 0 || took < least {
				least = took
			}
		}
		return least, nil
	}
	view, err := cost("SELECT * FROM bench.clicks_1d WHERE window_start < '2026-01-08 00:00:00'")
	if err != nil {
		return err
	}
	m.report.Say("without rows: a view of days %.1f ms", float64(view.Microseconds())/1e3)
	for _, q := range analysed {
		took, err := cost("SELECT * FROM bench." + q.sql)
		if err != nil {
			return err
		}
		times := float64(took) / float64(view)
		m.report.Say("  %-18s %6.1f ms, %.1f times the view (floor %g)", q.name, float64(took.Microseconds())/1e3, times, q.times)
		if times > q.times {
			m.missed = append(m.missed, "analysis of "+q.name)
		}
	}
	return nil
}

// audit compares weir_audit of many jobs with that of one: each has three rollups, and a hundred state rows of
// four chunks that no line has. The two take turns.
func (m *measured) audit(dir string) error {
	counts := []int{1, auditJobs}
	for _, n := range counts {
		database := fmt.Sprintf("audit%d", n)
		text := strings.Replace(fmt.Sprintf(config, m.URL), "database: bench", "database: "+database, 1)
		head, job, _ := strings.Cut(text, "  - name: clicks\n")
		for i := range n {
			head += fmt.Sprintf("  - name: clicks%d\n%s", i, job)
		}
		file := filepath.Join(dir, database+".yaml")
		if err := os.WriteFile(file, []byte(head), 0o644); err != nil {
			return err
		}
		if err := bench.Migrate(file); err != nil {
			return err
		}
		for i := range n {
			sql := "INSERT INTO %s.clicks%d_state (page, window_start, hits, flushed_at) SELECT toString(number %% 10), toDateTime(1790000000 + intDiv(number, 10) * 10, 'UTC'), map(number %% 4, number), now() - 60 FROM numbers(100)"
			if _, err := m.Query(fmt.Sprintf(sql, database, i)); err != nil {
				return err
			}
		}
	}
	m.Settle()
	var took [2][]float64
	for range *tries {
		for i, n := range counts {
			before := m.CPU()
			text, err := m.Query(fmt.Sprintf("SELECT count() FROM audit%d.weir_audit", n))
			took[i] = append(took[i], (m.CPU() - before).Seconds())
			if want := strconv.Itoa(4 * n); err == nil && strings.TrimSpace(text) != want {
				err = fmt.Errorf("weir_audit of %d jobs has %s rows, want %s", n, text, want)
			}
			if err != nil {
				return err
			}
		}
	}
	one, many := testbed.Median(took[0]), testbed.Median(took[1])
	m.report.Say("weir_audit, median of %d: of one job %.0f ms, of %d jobs %.0f ms, %.1f times as much (floor %g)", *tries, 1e3*one, auditJobs, 1e3*many, many/one, auditTimes)
	if many > auditTimes*one {
		m.missed = append(m.missed, "weir_audit of many jobs")
	}
	return nil
}
