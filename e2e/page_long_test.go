package e2e

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"weir/internal/await"
	"weir/internal/browsertest"
)

// TestPageLong: of a week of events the page shows what the views of the hours say and what was
// sent, to the unit, although a week has more windows than a chart may have: the charts, their
// tables, the greatest groups, one group alone, and the statements that the tiles show. It does
// so for an hour of five days ago too, whose rows are kept no longer; and in a window of 320
// pixels, with all ranges to choose from.
func TestPageLong(t *testing.T) {
	browsertest.Wanted(t)
	parallel(t)
	s := newStage(t)
	s.configure(strings.Replace(fmt.Sprintf(clicksJob, s.topic("clicks")), "    chunk:", "    keep: 50h\n    chunk:", 1))
	if _, err := s.admin.CreateTopic(await.Context(t), 2, 1, nil, s.topic("clicks")); err != nil {
		t.Fatal(err)
	}
	s.migrate()
	w := &watched{stage: s, base: s.weir("run").address(), people: people{hits: map[string]int{}, users: map[string]map[int]bool{}}}
	r := rand.New(rand.NewPCG(7, 7))
	now := time.Now().UTC()
	week := now.Truncate(24*time.Hour).AddDate(0, 0, -6)
	var records []*kgo.Record
	for range 4000 {
		page, user := fmt.Sprintf("/p/%d", r.IntN(5)*r.IntN(5)), r.IntN(900)
		at := week.Add(time.Duration(r.Int64N(int64(now.Sub(week)))))
		records = append(records, &kgo.Record{Topic: s.topic("clicks"), Partition: int32(len(records) % 2), Timestamp: at, Value: fmt.Appendf(nil, `{"ts":%d,"page":%q,"user_id":%d}`, at.UnixMilli(), page, user)})
		if w.hits[page]++; w.users[page] == nil {
			w.users[page] = map[int]bool{}
		}
		w.users[page][user] = true
	}
	slices.SortFunc(records, func(a, b *kgo.Record) int { return a.Timestamp.Compare(b.Timestamp) })
	if err := s.client.ProduceSync(await.Context(t), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	hits, users := w.all()
	s.caughtUp("clicks")
	w.Browser = browsertest.Open(t, browsertest.Size{Width: 1280, Height: 900})
	open := func(parameters ...string) {
		q := url.Values{"people": {"active"}}
		for i := 0; i < len(parameters); i += 2 {
			q.Set(parameters[i], parameters[i+1])
		}
		w.Visit(w.base + "/?" + q.Encode())
	}

	open("last", "7d")
	w.shows("#hits .total strong", hits)
	w.shows("#over .total strong", users)
	w.tables(`toStartOfInterval(window_start, INTERVAL 2 HOUR)`)
	w.tops("hits", nil)
	for _, id := range []string{"#hits", "#top"} {
		sum, sql := int64(0), w.sqlOf(id)
		if !strings.Contains(sql, "clicks_over") {
			t.Errorf("the statement of %s is no view of the rollups: %s", id, sql)
		}
		for _, row := range w.sql("%s", sql) {
			sum += integer(t, row[1])
		}
		await.Until(t, func() error {
			shown := int64(hits)
			if id == "#top" { // the first twelve groups
				shown = 0
				for _, row := range w.rows("#top .row", ".name", ".value") {
					shown += integer(t, row[1])
				}
			}
			if sum != shown {
				return notYet("the statement of %s has %d hits, the tile %d", id, sum, shown)
			}
			return nil
		})
	}
	w.picture("week")

	// A group alone, and the most people instead of hits.
	open("last", "7d", "by.page", "/p/4", "measure", "active")
	w.shows("#hits .total strong", w.hits["/p/4"])
	w.shows("#over .total strong", len(w.users["/p/4"]))
	open("last", "7d", "measure", "active")
	w.tops("active", func(page string) int { return len(w.users[page]) })

	// An hour whose rows may be gone: by minutes, which are kept.
	hour := now.Truncate(time.Hour).AddDate(0, 0, -5)
	open("from", hour.Format(time.RFC3339), "until", hour.Add(time.Hour).Format(time.RFC3339))
	w.shows("#hits .total strong", int(w.number("SELECT sum(hits) FROM clicks_1h WHERE window_start = toDateTime(%d)", hour.Unix())))
	w.Until(`document.querySelector("#hits .total").textContent.endsWith("by 1 min")`)
	if sql := w.sqlOf("#hits"); !strings.Contains(sql, "every = 60)") {
		t.Errorf("an old hour is asked of the rows: %s", sql)
	}

	w.Resize(browsertest.Size{Width: 320, Height: 700})
	open("last", "28d")
	w.shows("#hits .total strong", hits)
	if wide := w.Text("document.documentElement.scrollWidth"); wide != "320" {
		t.Errorf("a window of 320 pixels scrolls over %s", wide)
	}
	if high := w.Text(`document.querySelector(".ranges button").clientHeight < 40`); high != "true" {
		t.Error("a button of a range has several lines")
	}
	w.Accessible("28d-320")
	w.Clean(strings.TrimPrefix(w.base, "http://"))
}

// tables compares the tables of hits and people with the views of the minutes and hours, by steps.
func (w *watched) tables(step string) {
	w.t.Helper()
	for id, sql := range map[string]string{
		"#hits": "SELECT " + step + " AS at, sum(hits) FROM clicks_1h GROUP BY at",
		"#over": "SELECT " + step + " AS at, bitmapCardinality(groupBitmapMergeState(active)) FROM clicks_state GROUP BY at",
	} {
		w.Until(fmt.Sprintf(`(document.querySelector("%s details").open = true)`, id))
		want := w.sql("SELECT formatDateTime(at, '%%Y-%%m-%%d %%H:%%i:%%S'), n FROM (%s) AS x(at, n) ORDER BY at DESC", sql)
		await.Until(w.t, func() error {
			got := slices.DeleteFunc(w.rows(id+" tbody tr", "th", "td"), func(row []string) bool { return row[1] == "0" })
			if !slices.EqualFunc(got, want, slices.Equal) {
				return notYet("the table of %s shows\n%q\nand SQL\n%q", id, got, want)
			}
			return nil
		})
	}
}

// tops compares the list of the greatest groups with the truth, which truth has; hits if it is nil.
func (w *watched) tops(measure string, truth func(page string) int) {
	w.t.Helper()
	if truth == nil {
		truth = func(page string) int { return w.hits[page] }
	}
	var want [][]string
	for page := range w.hits {
		want = append(want, []string{page, fmt.Sprint(truth(page))})
	}
	slices.SortFunc(want, func(a, b []string) int {
		if n := integer(w.t, b[1]) - integer(w.t, a[1]); n != 0 {
			return int(n)
		}
		return strings.Compare(a[0], b[0])
	})
	want = want[:min(12, len(want))]
	await.Until(w.t, func() error {
		if got := w.rows("#top .row", ".name", ".value"); !slices.EqualFunc(got, want, slices.Equal) {
			return notYet("the top list of %s shows\n%q\nwant\n%q", measure, got, want)
		}
		return nil
	})
}

// sqlOf returns the statement that a tile shows.
func (w *watched) sqlOf(id string) string {
	w.t.Helper()
	w.Click(id + " .how")
	w.Until(`document.querySelectorAll("#ask pre").length > 1`)
	sql := w.Text(`document.querySelector("#ask pre").textContent`)
	w.Click("#ask .close")
	return sql
}
