package clickhouse

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/demo/local/localtest"
	"weir/event"
	"weir/measures/bitmap"
	"weir/measures/bloom"
	"weir/measures/geo"
	"weir/measures/hll"
	"weir/measures/quantile"
	"weir/measures/set"
	"weir/sinks/clickhouse/migrate"
	"weir/sinks/clickhouse/schema"
	"weir/sinks/clickhouse/wire"
	geosketch "weir/sketches/geo"
	"weir/window"
)

// TestDocs runs every SQL block of docs/sql.md. All but the audit have to
// answer with rows.
func TestDocs(t *testing.T) {
	engine, database := localtest.Engine(t)
	c := dial(t, wire.Config{URLs: []string{engine}, Database: database})
	presets(t, c)
	page, err := os.ReadFile("../../docs/sql.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := sqlBlocks(string(page))
	if len(blocks) < 15 {
		t.Fatalf("%d blocks", len(blocks))
	}
	for _, sql := range blocks {
		if strings.Contains(sql, "today()") {
			t.Errorf("%s\ndepends on the server's time zone, in which today may be another date", sql)
		}
		// All is of epoch 0 here.
		rows := answerTo(t, engine, database, strings.ReplaceAll(sql, "bitShiftRight(slot, 56) != 1", "bitShiftRight(slot, 56) != 0"))
		switch empty := strings.Contains(sql, "weir_audit"); {
		case empty != (len(rows) == 0):
			t.Errorf("%s\nanswers %q", sql, rows)
		default:
			t.Logf("%.60q: %d rows", sql, strings.Count(rows, "\n"))
		}
	}
	// All 97 users are near Palermo, each in several minutes.
	if page, err = os.ReadFile("../../docs/sketches/geo.md"); err != nil {
		t.Fatal(err)
	}
	_, near, _ := strings.Cut(sqlBlocks(string(page))[0], ";")
	if rows := answerTo(t, engine, database, near); strings.Count(rows, "\n") != 97 {
		t.Errorf("%s\nanswers\n%s", near, rows)
	}
}

// TestReadme runs the SQL of README.md while the present minute, of which some users are new,
// is flushed and not rolled up. Its now() is the first second of that minute and then the last one,
// whatever the time is.
func TestReadme(t *testing.T) {
	engine, database := localtest.Engine(t)
	c := dial(t, wire.Config{URLs: []string{engine}, Database: database})
	jobs := presets(t, c)
	clicks, locations := jobs[0], jobs[1]
	page, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.Job(t.Context(), clicks)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().UnixMilli()
	docs := []string{`{`, fmt.Sprintf(`{"ts":%d,"page":"/p/1","user":1000,"id":"before"}`, now-60_000)}
	for i := range 5 {
		docs = append(docs, fmt.Sprintf(`{"ts":%d,"page":"/p/1","user":%d,"id":"new%d"}`, now, 1000+i, i))
	}
	// The first minute of the last hour, and the minutes beside that hour. A shifted hour has another number.
	for minute, users := range map[int64]int{-61: 7, -60: 1, 1: 3} {
		for i := range users {
			docs = append(docs, fmt.Sprintf(`{"ts":%d,"page":"/p/1","user":%d,"id":"%d/%d"}`, now+minute*60_000, 3000+minute*10+int64(i), minute, i))
		}
	}
	op := operator(t, clicks.Spec, 1)
	observe(t, op, 1, 0, event.Time(now), docs...)
	write(t, s, op.Take())
	// The last place of one user in each of three minutes.
	if s, err = c.Job(t.Context(), locations); err != nil {
		t.Fatal(err)
	}
	op = operator(t, locations.Spec, 1)
	docs = []string{`{`}
	for minute := range int64(3) {
		docs = append(docs, fmt.Sprintf(`{"ts":%d,"user":900,"lon":%d,"lat":38.1}`, now+minute*60_000, 13+minute))
	}
	observe(t, op, 1, 0, event.Time(now), docs...)
	write(t, s, op.Take())

	begin := now / 60_000 * 60
	minute := fmt.Sprintf("(SELECT groupBitmapMergeState(active) FROM clicks_state WHERE window_start = toDateTime(%d)", begin)
	wants := map[string]string{
		"AS people":    "103\n", // one user came an hour ago, 97 in the ten minutes before this one, and 5 in this one
		"AS came_back": answerTo(t, engine, database, "SELECT bitmapAndCardinality("+minute+"), "+minute+" - INTERVAL 1 MINUTE))"),
	}
	if wants["AS came_back"] == "0\n" {
		t.Error("user 1000 came back, and the rows do not say so")
	}
	blocks, compared := sqlBlocks(string(page)), 0
	for _, sql := range blocks {
		for _, at := range []int64{begin + 1, begin + 59} {
			rows := answerTo(t, engine, database, strings.ReplaceAll(sql, "now()", fmt.Sprintf("toDateTime(%d)", at)))
			if strings.Contains(sql, "where people are") && strings.Count(rows, "900\t") != 1 {
				t.Errorf("%s\nanswers\n%swith user 900 more than once, or not", sql, rows)
			}
			for words, want := range wants {
				if strings.Contains(sql, words) {
					compared++
					if rows != want {
						t.Errorf("%s\nanswers %q in second %d of the minute, want %q", sql, rows, at-begin, want)
					}
				}
			}
		}
	}
	if len(blocks) != 5 || compared != 2*len(wants) {
		t.Errorf("%d blocks, %d answers compared", len(blocks), compared)
	}
}

// TestDocsAnswers compares answers of docs/sql.md with the events. Some minutes have none, and
// there are some beside each range; users come back irregularly, and are in several minutes of a cell.
func TestDocsAnswers(t *testing.T) {
	engine, database := localtest.Engine(t)
	c := dial(t, wire.Config{URLs: []string{engine}, Database: database})
	page, err := os.ReadFile("../../docs/sql.md")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().Unix()
	present := now / 60
	type set = map[int64]bool
	cells := make([]set, 3)
	var reports [3]int
	docs := []string{`{`}
	for m := present - 75; m <= present; m++ {
		if ago := present - m; ago%7 == 2 || ago%11 == 5 {
			continue
		}
		for i := range (present-m)%4 + 1 {
			user := ((present-m)*5/3 + 4*i) % 19
			cell := [6]int64{0, 0, 0, 1, 1, 2}[(user+i)%6] // of different numbers of reports
			docs = append(docs, fmt.Sprintf(`{"ts":%d,"page":"/p/%d","user":%d,"id":"e","lon":%d,"lat":38.1}`, m*60_000, i, user, 13+cell))
			if m >= present-60 {
				if cells[cell] == nil {
					cells[cell] = set{}
				}
				cells[cell][user] = true
				reports[cell]++
			}
		}
	}
	for _, j := range migratePresets(t, c) {
		s, err := c.Job(t.Context(), j)
		if err != nil {
			t.Fatal(err)
		}
		op := operator(t, j.Spec, 0)
		observe(t, op, 0, 0, event.Time(now*1000), docs...)
		write(t, s, op.Take())
		if err := s.Rollup(t.Context(), true, 0); err != nil {
			t.Fatal(err)
		}
	}

	wants := map[string]string{}
	order := []int{0, 1, 2}
	slices.SortFunc(order, func(a, b int) int { return reports[b] - reports[a] })
	for _, cell := range order {
		wants["AS people"] += fmt.Sprintf("%s\t%d\t%d\n", geosketch.AppendHash(nil, float64(13+cell), 38.1, 5), reports[cell], len(cells[cell]))
	}
	at, compared := fmt.Sprintf("toDateTime(%d)", now), 0
	// A job in two versions, whose topic was made anew.
	answerTo(t, engine, database, fmt.Sprintf(`INSERT INTO weir_ledger (job, version, epoch, partition, chunk, first, next, counted, watermark) VALUES
		('again', 1, 0, 0, 0, 0, 100, 100, toDateTime64(%[1]d, 3)), ('again', 1, 1, 0, 0, 0, 30, 30, toDateTime64(%[1]d, 3)), ('again', 2, 1, 0, 0, 0, 20, 20, toDateTime64(%[1]d, 3))`, now))
	wants["AS offsets"] = "again\t1\t130\t130\t0\t0\t0\t0\nagain\t2\t20\t20\t0\t0\t0\t0\n"
	newest := time.Unix(now, 0).UTC().Format(time.DateTime + ".000")
	wants["AS next_offset"] = fmt.Sprintf("again\t1\t0\t30\t%[1]s\t0\nagain\t2\t0\t20\t%[1]s\t0\n", newest)
	for _, sql := range sqlBlocks(string(page)) {
		for words, want := range wants {
			if strings.Contains(sql, words) {
				compared++
				if rows := answerTo(t, engine, database, strings.ReplaceAll(sql, "now()", at)); rows != want && !strings.HasPrefix(rows, want+"clicks\t") {
					t.Errorf("%s\nanswers\n%swant\n%s", sql, rows, want)
				}
			}
		}
	}
	if compared != len(wants) {
		t.Errorf("%d blocks compared, want %d", compared, len(wants))
	}
}

func sqlBlocks(page string) []string {
	var blocks []string
	for _, b := range strings.Split(page, "```sql\n")[1:] {
		sql, _, _ := strings.Cut(b, "```")
		blocks = append(blocks, sql)
	}
	return blocks
}

// answerTo returns the rows that answer the statement. Another answer fails the test.
func answerTo(t *testing.T, engine, database, sql string) string {
	t.Helper()
	answer, err := http.Post(engine+"/?"+url.Values{"database": {database}, "default_format": {"TSV"}}.Encode(), "text/plain", strings.NewReader(sql))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	rows, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Errorf("%s\n%d, %v: %s", sql, answer.StatusCode, err, rows)
	}
	return string(rows)
}

// migratePresets makes the tables of both presets and returns the jobs.
func migratePresets(t *testing.T, c *Client) []schema.Job {
	t.Helper()
	job := func(name string, by []window.Dimension, measures ...window.Measure) schema.Job {
		return schema.Job{Topic: name, Keep: 7 * 24 * time.Hour, Rollups: []schema.Rollup{{Window: time.Minute}, {Window: time.Hour}, {Window: 24 * time.Hour}}, Spec: &window.Spec{
			Job: name, Version: 1, TimeField: "ts", TimeUnit: event.Millis, Window: 60_000, Lateness: 86_400_000, Skew: 600_000, Chunk: 1 << 18, MaxGroups: 10_000,
			By: by, Measures: measures,
		}}
	}
	jobs := []schema.Job{
		job("clicks", []window.Dimension{{Name: "page", Path: "page"}},
			window.Measure{Name: "users", Kind: hll.Kind, Path: "user"},
			window.Measure{Name: "active", Kind: bitmap.Kind, Path: "user"},
			window.Measure{Name: "people", Kind: set.Kind, Path: "user"},
			window.Measure{Name: "latency", Kind: quantile.Kind, Path: "ms", Optional: true, Error: 0.01},
			window.Measure{Name: "seen", Kind: bloom.Kind, Path: "id", Capacity: 1000, Error: 0.01}),
		job("locations", []window.Dimension{{Name: "cell", Lon: "lon", Lat: "lat", Precision: 5}},
			window.Measure{Name: "users", Kind: hll.Kind, Path: "user"},
			window.Measure{Name: "places", Kind: geo.Kind, Path: "user", Lon: "lon", Lat: "lat"}),
	}
	if _, err := c.Migrate(t.Context(), jobs, migrate.Options{}); err != nil {
		t.Fatal(err)
	}
	return jobs
}

// presets writes some minutes of both presets, up to now, and returns the jobs.
func presets(t *testing.T, c *Client) []schema.Job {
	t.Helper()
	jobs := migratePresets(t, c)
	now := time.Now().UnixMilli()
	for _, j := range jobs {
		s, err := c.Job(t.Context(), j)
		if err != nil {
			t.Fatal(err)
		}
		op := operator(t, j.Spec, 0)
		docs := []string{`{`}
		for i := range 600 {
			ts := now - int64(600-i)*1000
			docs = append(docs, fmt.Sprintf(`{"ts":%d,"page":"/p/%d","user":%d,"id":"e%d","lon":%f,"lat":38.115}`, ts, i%5, i%97, i, 13.36+float64(i%97)/1e4))
		}
		observe(t, op, 0, 0, event.Time(now), docs...)
		write(t, s, op.Take())
		if err := s.Rollup(t.Context(), true, 0); err != nil {
			t.Fatal(err)
		}
	}
	return jobs
}
