package dashboards_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"weir/config/presettest"
	"weir/demo/local/localtest"
	"weir/internal/grafana/grafanatest"
)

func TestMain(m *testing.M) { localtest.Main(m) }

// TestQueriesRun runs every query of every dashboard on the engine, with the
// tables that weir migrate makes for the two presets and a few rows in each of
// them.
func TestQueriesRun(t *testing.T) {
	url, database := localtest.Engine(t)
	now := time.Now().UTC()
	_, sinks := presettest.Migrate(t, url, database, nil)
	fill(t, url, database, now)
	for _, s := range sinks {
		if err := s.Rollup(t.Context(), true, 0); err != nil {
			t.Fatal(err)
		}
	}
	answers := answers(now)
	for _, choice := range choices {
		m := grafanatest.Moment{From: now.Add(-14 * 24 * time.Hour), To: now.Add(time.Hour), Interval: 15 * time.Second, Vars: choice}
		for where, sql := range queries(t) {
			if choice["by_page"][0] != all && !strings.Contains(sql, "$by_page") || choice["job"][0] != all && !strings.Contains(sql, "$job") {
				continue // nothing to choose
			}
			expanded, err := grafanatest.Expand(sql, m)
			if err != nil {
				t.Errorf("%s: %v", where, err)
				continue
			}
			got, err := localtest.Query(url, database, expanded)
			if err != nil {
				t.Errorf("%s: %v", where, err)
			}
			if len(choice["job"]) == 1 && choice["job"][0] == "clicks" && strings.Contains(got, "locations") {
				t.Errorf("%s of job clicks: %s", where, got)
			}
			if want, ok := answers[where]; ok && choice["job"][0] == all && choice["by_page"][0] == all && choice["window"][0] == "1d" && got != want {
				t.Errorf("%s:\ngot\n%s\nwant\n%s", where, got, want)
			}
		}
	}
	for where, sql := range queries(t) {
		if strings.HasPrefix(where, "weir-pipeline.json") && !strings.Contains(sql, "$job") {
			t.Errorf("%s is of no chosen job", where)
		}
	}
	for where := range answers {
		if _, ok := queries(t)[where]; !ok {
			t.Errorf("there is no query %s", where)
		}
	}
}

// TestWithinWindow asks for a range within one window: panels show the windows that overlap it.
func TestWithinWindow(t *testing.T) {
	url, database := localtest.Engine(t)
	now := time.Now().UTC()
	presettest.Migrate(t, url, database, nil)
	fill(t, url, database, now)
	// The topic of clicks was made anew, and its offsets began again.
	if _, err := localtest.Query(url, database, "INSERT INTO weir_ledger (job, version, epoch, partition, next, counted) VALUES ('clicks', 1, 1, 3, 5, 5)"); err != nil {
		t.Fatal(err)
	}
	minute := now.Truncate(time.Minute)
	vars := map[string][]string{"window": {"1m"}, "by_page": {all}, "by_cell": {all}, "job": {all}}
	m := grafanatest.Moment{From: minute.Add(20 * time.Second), To: minute.Add(40 * time.Second), Interval: time.Minute, Vars: vars}
	start := minute.Format(time.DateTime)
	for where, want := range map[string]string{
		"weir-job-clicks.json, 5 Hits":            start + "\t24",
		"weir-job-locations.json, 7 Hits by cell": "sqc8b\t7",
		"weir-job-locations.json, 9 places (geo)": "u1\t",
		"weir-pipeline.json, 5 Events counted":    start + "\tclicks\t24\n" + start + "\tlocations\t7",
		"weir-pipeline.json, 7 Partitions":        "clicks\t3\t5\t",
	} {
		expanded, err := grafanatest.Expand(queries(t)[where], m)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := localtest.Query(url, database, expanded); err != nil || !strings.HasPrefix(got, want) {
			t.Errorf("%s: %v\ngot\n%s\nwant\n%s", where, err, got, want)
		}
	}
}

// TestEmptyPartition: weir writes a ledger line of each partition, also of one without events,
// which is not behind since 1970.
func TestEmptyPartition(t *testing.T) {
	url, database := localtest.Engine(t)
	now := time.Now().UTC()
	presettest.Migrate(t, url, database, nil)
	m := grafanatest.Moment{From: now.Add(-time.Hour), To: now, Interval: time.Minute, Vars: map[string][]string{"job": {"clicks"}}}
	answer := func(where string) string {
		t.Helper()
		expanded, err := grafanatest.Expand(queries(t)[where], m)
		if err != nil {
			t.Fatal(err)
		}
		got, err := localtest.Query(url, database, expanded)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if _, err := localtest.Query(url, database, "INSERT INTO weir_ledger (job, version, partition) VALUES ('clicks', 1, 2)"); err != nil {
		t.Fatal(err)
	}
	if got, want := answer("weir-pipeline.json, 2 Slowest watermark"), `\N`; got != want {
		t.Errorf("nothing is counted, and the slowest watermark is %s s behind, want %s", got, want)
	}
	if got, want := answer("weir-pipeline.json, 7 Partitions"), "clicks\t2\t0\t\\N\t\\N\t"; !strings.HasPrefix(got, want) {
		t.Errorf("the partition is %q, want %q", got, want)
	}
	fill(t, url, database, now)
	if got := answer("weir-pipeline.json, 2 Slowest watermark"); len(got) > len("31536000") {
		t.Errorf("the slowest watermark is %s s behind: that is since 1970", got)
	}
}

// fill writes three days: 10 users a day on /p/1, five of whom were there the
// day before, the users 100 and 101 every day on /o'brien, with two hits each,
// and positions of three users in one cell. weir makes the rollups.
func fill(t *testing.T, url, database string, now time.Time) {
	t.Helper()
	exec := func(sql string, args ...any) {
		t.Helper()
		if _, err := localtest.Query(url, database, fmt.Sprintf(sql, args...)); err != nil {
			t.Fatal(err)
		}
	}
	const partition3 = 3 << 40 // the slot of its first chunk
	minute := now.Truncate(time.Minute)
	for day := range 3 {
		start := minute.AddDate(0, 0, day-2).Unix()
		for page, users := range map[string]string{"/p/1": fmt.Sprintf("numbers(%d, 10)", 5*day), `/o\'brien`: "numbers(100, 2)"} {
			exec(`INSERT INTO clicks_state (page, window_start, hits, users, active)
				SELECT '%s', toDateTime(%d), map(toUInt64(%d), 2 * count()), uniqCombined64State(14)(number), groupBitmapState(toUInt32(number)) FROM %s`,
				page, start, partition3, users)
		}
	}
	exec(`INSERT INTO locations_state (cell, window_start, hits, users)
		SELECT 'sqc8b', toDateTime(%d), map(toUInt64(%d), toUInt64(7)), uniqCombined64State(14)(number) FROM numbers(3)`, minute.Unix(), partition3)
	exec(`INSERT INTO locations_places_state (window_start, member, last)
		SELECT toDateTime(%d), 'u1', tuple(toDateTime64(%d, 3), 1, 1, 3479099956230698)`, minute.Unix(), now.Unix())
	exec(`INSERT INTO weir_ledger (job, version, epoch, partition, chunk, first, next, counted, malformed, watermark) VALUES
		('clicks', 1, 0, 3, 0, 0, 73, 72, 1, toDateTime64(%[1]d, 3)), ('locations', 1, 0, 3, 0, 0, 7, 7, 0, toDateTime64(%[1]d, 3))`, now.Unix())
	exec(`INSERT INTO weir_dead_letters (job, version, epoch, partition, offset, topic, outcome, reason, record_time, payload)
		VALUES ('clicks', 1, 0, 3, 7, 'clicks', 'malformed', 'empty value', toDateTime64(%d, 3), '')`, now.Unix())
}

// answers returns the expected results of the queries for that data, in windows of a day.
func answers(now time.Time) map[string]string {
	day := func(back int) string { return now.AddDate(0, 0, -back).Format(time.DateOnly) + " 00:00:00" }
	return map[string]string{
		"weir-job-clicks.json, variable by_page":                  "/p/1\n/o\\'brien",
		"weir-job-clicks.json, 1 Hits":                            "72",
		"weir-job-clicks.json, 2 users in all":                    "22",
		"weir-job-clicks.json, 3 active in all":                   "22",
		"weir-job-clicks.json, 5 Hits":                            fmt.Sprintf("%s\t24\n%s\t24\n%s\t24", day(2), day(1), day(0)),
		"weir-job-clicks.json, 7 Top groups":                      "/p/1\t60\t20\t20\n/o\\'brien\t12\t2\t2",
		"weir-job-clicks.json, 9 active (bitmap)":                 fmt.Sprintf("%s\t12\n%s\t12\n%s\t12", day(2), day(1), day(0)),
		"weir-job-clicks.json, 10 active (bitmap): who came back": fmt.Sprintf("%s\t7\t5\n%s\t7\t5", day(1), day(0)),
		"weir-job-clicks.json, 11 active (bitmap): retention":     strings.ReplaceAll(fmt.Sprintf("%s|12|58.3|16.7|\\N|\\N|\\N|\\N|\\N\n%s|12|58.3|\\N|\\N|\\N|\\N|\\N|\\N", day(2), day(1)), "|", "\t"),
		"weir-job-locations.json, 1 Hits":                         "7",
		"weir-job-locations.json, 2 users in all":                 "3",
		"weir-job-locations.json, 6 Top groups":                   "sqc8b\t7\t3",
		"weir-job-locations.json, 7 Hits by cell":                 "sqc8b\t7",
		"weir-pipeline.json, 1 Audit mismatches":                  "0",
		"weir-pipeline.json, 4 Dead letters":                      "1",
		"weir-pipeline.json, 8 Outcomes":                          "clicks\t72\t0\t0\t1\t0\t0\t0\t0\nlocations\t7\t0\t0\t0\t0\t0\t0\t0",
		"weir-pipeline.json, 9 What does not add up":              "",
	}
}
