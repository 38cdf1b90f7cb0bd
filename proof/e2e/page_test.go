package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"weir/internal/await"
	"weir/proof/browser"
)

// A watched is a browser on the page of a weir, whose events are known.
type watched struct {
	*browser.Browser
	*stage
	t     *testing.T // of the test that runs
	up    *upProcess
	base  string // address of the page
	start time.Time
	people
}

// people is the truth about what was sent.
type people struct {
	hits  map[string]int          // by page
	users map[string]map[int]bool // by page
	where map[int][2]float64
}

// hostile are names of pages that would do something, if the page wrote them as markup.
var hostile = []string{`<img src=x onerror="document.title='broken'">`, `</script><script>document.title="broken"</script>`, `'; DROP TABLE clicks_state; --`, `a&b=c#d?e f`, "\u202e ü 🦆", ``}

// send writes clicks and locations of two minutes that are over, and one record that
// cannot be read.
func (w *watched) send(seed uint64, events int) {
	w.t.Helper()
	r := rand.New(rand.NewPCG(seed, 0))
	var records []*kgo.Record
	add := func(kind, format string, args ...any) {
		records = append(records, &kgo.Record{Topic: w.topic(kind), Partition: int32(len(records) % 2), Value: fmt.Appendf(nil, format, args...)})
	}
	for i := range events {
		page := fmt.Sprintf("/p/%d", r.IntN(5)*r.IntN(5))
		if i < 200*len(hostile) { // so many that they are in the top list
			page = hostile[i%len(hostile)]
		}
		user := r.IntN(900)
		at := w.start.Add(time.Duration(r.IntN(120_000)) * time.Millisecond).UnixMilli()
		name, err := json.Marshal(page)
		if err != nil {
			w.t.Fatal(err)
		}
		add("clicks", `{"ts":%d,"page":%s,"user_id":%d}`, at, name, user)
		w.hits[page]++
		if w.users[page] == nil {
			w.users[page] = map[int]bool{}
		}
		w.users[page][user] = true
		if _, is := w.where[user]; !is { // one place for each
			w.where[user] = [2]float64{float64(r.IntN(300)-150) + 0.5, float64(r.IntN(100)-40) + 0.5}
			add("locations", `{"ts":%d,"user_id":%d,"lon":%g,"lat":%g}`, at, user, w.where[user][0], w.where[user][1])
		}
	}
	add("clicks", `{"ts":%d,"page":"<b>unread`, w.start.UnixMilli())
	if err := w.client.ProduceSync(await.Context(w.t), records...).FirstErr(); err != nil {
		w.t.Fatal(err)
	}
}

// all returns the number of hits and of different users.
func (p *people) all() (hits, users int) {
	them := map[int]bool{}
	for page, n := range p.hits {
		hits += n
		maps.Copy(them, p.users[page])
	}
	return hits, len(them)
}

// open opens the page, for exactly the two minutes of the events.
func (w *watched) open(parameters ...string) {
	w.t.Helper()
	q := url.Values{"job": {"clicks"}, "people": {"active"}, "from": {w.start.Format(time.RFC3339)}, "until": {w.start.Add(2 * time.Minute).Format(time.RFC3339)}}
	for i := 0; i < len(parameters); i += 2 {
		q.Set(parameters[i], parameters[i+1])
	}
	w.Visit(w.base + "/?" + q.Encode())
}

// shows waits until the page shows a number, in the element of a selector.
func (w *watched) shows(selector string, want int) {
	w.t.Helper()
	w.Until(fmt.Sprintf(`[...document.querySelectorAll(%q)].some((e) => e.textContent.replaceAll(",", "") === "%d")`, selector, want))
}

// rows returns the texts of what a selector finds within each element of another.
func (w *watched) rows(each string, parts ...string) (rows [][]string) {
	w.t.Helper()
	list, err := json.Marshal(parts)
	if err != nil {
		w.t.Fatal(err)
	}
	text := w.Text(fmt.Sprintf(`JSON.stringify([...document.querySelectorAll(%q)].map((e) => %s.map((p) => e.querySelector(p).textContent)))`, each, list))
	if err := json.Unmarshal([]byte(text), &rows); err != nil {
		w.t.Fatal(err)
	}
	for _, row := range rows {
		row[len(row)-1] = strings.ReplaceAll(row[len(row)-1], ",", "")
	}
	return rows
}

// picture writes a picture to bin/page, and checks what is on the screen.
func (w *watched) picture(name string) {
	w.t.Helper()
	w.Picture(filepath.Join("..", "..", "bin", "page", name+".png"))
	w.Accessible(name)
}

// openPages starts a weir up whose configuration has two jobs, and a browser.
// Events come from the tests alone.
func openPages(t *testing.T) *watched {
	t.Helper()
	browser.Wanted(t)
	parallel(t)
	s := &stage{t: t, dir: t.TempDir(), name: "page", brokers: []string{"127.0.0.1:0"}, url: "http://127.0.0.1:0", db: "weir"}
	s.configure(fmt.Sprintf(clicksJob, s.topic("clicks")), fmt.Sprintf(locationsJob, s.topic("locations")))
	up := startUp(t, s.dir, "-c", "weir.yaml", "--no-gen")
	broker := regexp.MustCompile(`127[^ ]+`).FindString(up.prints(`^broker `))
	on := stageOn(t, []string{broker}, up.url, s.db)
	on.name = s.name
	up.prints(`^ready `)
	return &watched{stage: on, up: up, base: regexp.MustCompile(`http://[^ ]+`).FindString(up.prints(`^http `)),
		Browser: browser.Open(t, browser.Size{Width: 1280, Height: 900}), people: newPeople(),
		start: time.Now().UTC().Truncate(time.Minute).Add(-4 * time.Minute)}
}

func newPeople() people {
	return people{hits: map[string]int{}, users: map[string]map[int]bool{}, where: map[int][2]float64{}}
}

// host is that of the page, which asks no other.
func (w *watched) host() string { return strings.TrimPrefix(w.base, "http://") }

// TestPage: one weir up and one browser for everything that the page shows. No request leaves the
// host, the policy is not violated, the console is empty, and axe-core finds nothing serious in any
// state. The pictures are in bin/page. The last test kills the process.
func TestPage(t *testing.T) {
	w := openPages(t)
	for _, test := range []struct {
		name string
		run  func()
	}{
		{"tiles", w.tiles}, {"address", w.address}, {"away", w.away}, {"full", w.full},
		{"events", w.events}, {"kill", w.kill},
	} {
		t.Run(test.name, func(t *testing.T) {
			w.t, w.stage.t, w.up.t = t, t, t
			w.In(t)
			test.run()
			w.Clean(w.host())
		})
	}
}

// events: what the page shows of known events is what SQL says and what was sent, to the unit:
// people, hits, top groups with hostile names, the map and a cell of it, a group alone, the
// statement that a tile shows, sessions and a funnel; dead letters and outcomes too.
func (w *watched) events() {
	w.open()
	w.Until(`document.querySelector("#people .message").textContent.includes("No people yet")`)
	w.picture("empty")
	w.filter() // before there is anything to suggest
	w.send(1, 4000)
	w.Until(`[...document.querySelectorAll("#known-page option")].some((o) => o.value === "/p/0")`)
	hits, users := w.all()
	w.same(hits, users)
	w.picture("light")

	// A group with a hostile name, chosen by its row.
	for _, page := range []string{"/p/0", hostile[0]} {
		w.Until(fmt.Sprintf(`(() => { const b = [...document.querySelectorAll("#top button.row")].find((b) => b.querySelector(".name").textContent === %s); b?.click(); return b; })()`, quoted(w.t, page)))
		w.shows("#hits .total strong", w.hits[page])
		w.shows(`#people [data-last="30m"]`, len(w.users[page]))
		w.Until(`document.querySelector(".chip:last-child")`)
		w.picture("group")
		w.Click(".chip:last-child")
		w.shows("#hits .total strong", hits)
	}
	if title := w.Text("document.title"); title != "weir" {
		w.t.Errorf("the title has become %q", title)
	}

	w.hands()
	hits, users = w.all()
	w.shows("#hits .total strong", hits)
	w.drill(users)
	w.zoom(hits)
	w.statement(hits)
	w.sessions(users)
	w.funnel()
	w.Until(`document.querySelector("#hits .total") && !document.querySelector('.tile[data-state="loading"]')`)

	// Dark, small.
	w.Prefer("prefers-color-scheme", "dark")
	w.picture("dark")
	w.Prefer("prefers-color-scheme", "light")
	w.Resize(browser.Size{Width: 320, Height: 700})
	w.Until(`document.documentElement.scrollWidth === 320`) // the charts follow the window
	w.picture("320")
	w.Resize(browser.Size{Width: 1280, Height: 900})
}

func quoted(t *testing.T, text string) string {
	t.Helper()
	b, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// same waits until the page shows so many hits and users, and then compares everything
// that does not move with SQL and with the truth.
func (w *watched) same(hits, users int) {
	w.t.Helper()
	w.shows("#hits .total strong", hits)
	w.shows("#over .total strong", users)
	w.shows(`#people [data-last="30m"]`, users)
	w.caughtUp("clicks")
	w.caughtUp("locations")
	where := fmt.Sprintf("window_start >= toDateTime(%d) AND window_start < toDateTime(%d)", w.start.Unix(), w.start.Add(2*time.Minute).Unix())
	if n := w.number("SELECT sum(hits) FROM clicks_1m WHERE %s", where); n != int64(hits) {
		w.t.Errorf("the view has %d hits, want %d", n, hits)
	}
	if n := w.number("SELECT bitmapCardinality(groupBitmapMergeState(active)) FROM clicks_state WHERE %s", where); n != int64(users) {
		w.t.Errorf("SQL has %d people, want %d", n, users)
	}

	// The top list: every group that it shows, in the order of SQL.
	var want [][]string
	for _, row := range w.sql("SELECT page, sum(hits) AS n FROM clicks_1m WHERE %s GROUP BY page ORDER BY n DESC, page LIMIT 12 FORMAT JSONCompactEachRow", where) {
		var group []any
		if err := json.Unmarshal([]byte(strings.Join(row, "\t")), &group); err != nil {
			w.t.Fatal(err)
		}
		name, n := fmt.Sprint(group[0]), fmt.Sprint(group[1])
		if strconv.Itoa(w.hits[name]) != n {
			w.t.Errorf("the view has %s hits of %q, want %d", n, name, w.hits[name])
		}
		if name == "" {
			name = "(empty)"
		}
		want = append(want, []string{name, n})
	}
	await.Until(w.t, func() error {
		if got := w.rows("#top .row", ".name", ".value"); !slices.EqualFunc(got, want, slices.Equal) {
			return notYet("the top list shows\n%q\nand SQL\n%q", got, want)
		}
		return nil
	})

	// The series, from its table.
	w.Until(`(document.querySelector("#over details").open = true)`)
	want = w.sql("SELECT formatDateTime(window_start, '%%Y-%%m-%%d %%H:%%i:%%S'), bitmapCardinality(groupBitmapMergeState(active)) FROM clicks_state WHERE %s GROUP BY window_start ORDER BY window_start DESC", where)
	await.Until(w.t, func() error {
		if got := w.rows("#over tbody tr", "th", "td"); !slices.EqualFunc(got, want, slices.Equal) {
			return notYet("the chart's table shows\n%q\nand SQL\n%q", got, want)
		}
		return nil
	})

	// A distinct count: the number of the sketch, which is that of weirPfCount.
	estimate := w.number("SELECT weirPfCount(uniqCombined64MergeState(14)(users)) FROM clicks_state WHERE %s", where)
	w.open("people", "users")
	w.shows("#over .total strong", int(estimate))
	w.shows(`#people [data-last="30m"]`, int(estimate))
	w.Until(`document.querySelector("#over .total").textContent.includes("±")`)
	w.open()
	w.shows("#hits .total strong", hits)

	counted, unread := w.hitsAndLetters()
	if counted != int64(hits) {
		w.t.Errorf("%d events counted, want %d", counted, hits)
	}
	w.Until(fmt.Sprintf(`[...document.querySelectorAll("#dead tbody tr")].filter((r) => r.textContent.includes("<b>unread")).length === %d`, unread))
	w.Until(`document.querySelector("#health").textContent.includes("running")`)
}

func (w *watched) hitsAndLetters() (counted, unread int64) {
	w.t.Helper()
	return w.number("SELECT sum(counted) FROM weir_ledger FINAL WHERE job = 'clicks'"), w.number("SELECT count() FROM weir_dead_letters FINAL WHERE job = 'clicks'")
}

// hands uses the page while its numbers change: a slow click counts, and the focus stays.
func (w *watched) hands() {
	w.t.Helper()
	seed := uint64(100)
	change := func() {
		w.t.Helper()
		seed++
		w.send(seed, 50)
		hits, _ := w.all()
		w.shows("#hits .total strong", hits)
		w.shows("#top .value", w.hits["/p/0"])
	}
	if !w.whole(func() bool {
		w.Hold("#top button.row", change)
		w.Until(`document.querySelector(".chip:last-child") || window.told`)
		return w.Text(`document.querySelector(".chip:last-child") !== null`) == "true"
	}) {
		w.t.Error("a slow click does not count")
	}
	w.Click(".chip:last-child")

	focus := func(selector string) {
		w.Until(fmt.Sprintf(`((e) => { e?.focus(); return e && e === document.activeElement; })(document.querySelector(%q))`, selector))
	}
	has := func(selector string) bool {
		return w.Text(fmt.Sprintf(`document.querySelector(%q) === document.activeElement`, selector)) == "true"
	}
	if !w.whole(func() bool {
		focus("#top button.row")
		change()
		return has("#top button.row")
	}) {
		w.t.Error("the first row of the top list has lost the focus")
	}
	focus(".ranges button")
	w.Press("\r")
	w.Until(`document.querySelector(".ranges button[aria-pressed=true]")?.textContent === "15 min"`)
	if !has(".ranges button") {
		w.t.Error("the first range has lost the focus")
	}
	w.open()
}

// whole reports whether something works. It tries again if the top list had a message meanwhile: without the
// rows of ClickHouse, or an error, which hides it, as on a slow machine.
func (w *watched) whole(do func() bool) bool {
	w.t.Helper()
	for {
		w.Until(`document.querySelector("#top .message").textContent === ""`)
		w.Text(`((m) => {
			const look = () => { window.told ||= m.textContent !== ""; };
			window.told = false;
			look();
			new MutationObserver(look).observe(m, { childList: true });
		})(document.querySelector("#top .message"))`)
		if done := do(); done || w.Text("window.told") != "true" {
			return done
		}
	}
}

// drill compares the map with SQL, for the world and for the cell that a click opens.
func (w *watched) drill(users int) {
	w.t.Helper()
	table := func(within string, precision int) {
		w.t.Helper()
		want := w.sql("SELECT weirGeohash(latest.score, %d) AS cell, count() AS n FROM (SELECT member, max(last) AS latest FROM locations_places_state GROUP BY member) WHERE startsWith(cell, '%s') GROUP BY cell ORDER BY n DESC, cell", precision, within)
		if len(want) < 3 {
			w.t.Fatalf("only the cells %v", want)
		}
		w.Until(`(document.querySelector("#map details").open = true)`)
		await.Until(w.t, func() error {
			if got := w.rows("#map tbody tr", "th", "td:last-child"); !slices.EqualFunc(got, want, slices.Equal) {
				return notYet("the map shows\n%q\nand SQL\n%q", got, want)
			}
			return nil
		})
	}
	w.Until(fmt.Sprintf(`document.querySelector("#map .note").textContent.startsWith("%d people of locations")`, users))
	table("", 2)

	// Click into the cell with the most people, where the canvas shows it.
	w.Until(`(document.querySelector("#map details").open = false, true)`)
	cell := w.sql("SELECT weirGeohash(latest.score, 2) AS cell, any(weirLon(latest.score)), any(weirLat(latest.score)), count() AS n FROM (SELECT member, max(last) AS latest FROM locations_places_state GROUP BY member) GROUP BY cell ORDER BY n DESC, cell LIMIT 1")[0]
	inside := cell[0][:1]
	await.Until(w.t, func() error {
		at := strings.Split(w.Text(fmt.Sprintf(`(() => { const canvas = document.querySelector("#map canvas");
			canvas.scrollIntoView({block: "center", behavior: "instant"});
			const r = canvas.getBoundingClientRect(), scale = r.width / 360;
			return [r.left + (%s + 180) * scale, r.top + r.height / 2 + (12 - %s) * scale]; })()`, cell[1], cell[2])), ",")
		x, err := strconv.ParseFloat(at[0], 64)
		if err != nil {
			w.t.Fatal(err)
		}
		y, err := strconv.ParseFloat(at[1], 64)
		if err != nil {
			w.t.Fatal(err)
		}
		w.ClickAt(x, y)
		in := w.Text(`new URLSearchParams(location.search).get("cell") ?? ""`)
		if in == inside {
			return nil
		}
		if in != "" { // the map has moved under the mouse
			w.Click("#map .crumbs button")
		}
		return notYet("the click leads to the cell %q, want %s", in, inside)
	})
	w.Until(fmt.Sprintf(`document.querySelector("#map [aria-current]")?.textContent === %q`, inside))
	table(inside, 3)
	w.picture("map")
	w.Click("#map .crumbs button") // the world again
	w.Until(`!new URLSearchParams(location.search).has("cell")`)
	table("", 2)

	w.members()
}

// members compares the tile of those who are in a small cell with SQL. A larger cell has no such tile.
func (w *watched) members() {
	w.t.Helper()
	if n := w.Text(`document.querySelectorAll("#members").length`); n != "0" {
		w.t.Error("there is a list of everybody in the world")
	}
	cell := w.sql("SELECT weirGeohash(latest.score, 3) AS cell, count() AS n FROM (SELECT member, max(last) AS latest FROM locations_places_state GROUP BY member) GROUP BY cell ORDER BY n DESC, cell LIMIT 1")[0][0]
	want := w.sql("SELECT member, concat(toString(round(weirLat(latest.score), 5)), '°') FROM (SELECT member, max(last) AS latest FROM locations_places_state GROUP BY member) WHERE weirGeohash(latest.score, 3) = '%s' ORDER BY member", cell)
	w.open("cell", cell)
	await.Until(w.t, func() error {
		got := w.rows("#members tbody tr", "th", "td")
		for _, row := range got {
			row[1] = strings.TrimRight(strings.TrimSuffix(row[1], "°"), "0") + "°" // as SQL writes it
		}
		slices.SortFunc(got, slices.Compare)
		if len(want) == 0 || !slices.EqualFunc(got, want, slices.Equal) {
			return notYet("in %s the page has\n%q\nand SQL\n%q", cell, got, want)
		}
		return nil
	})
	w.picture("members")
	w.open()
}

// filter opens the filter and gives the focus to its field.
func (w *watched) filter() {
	w.t.Helper()
	w.Until(`((d) => { d.open = true; return d.querySelector("summary").textContent === "Filter"; })(document.querySelectorAll(".other")[1])`)
	w.Until(`((e) => { e.focus(); return e === document.activeElement; })(document.querySelector('.other input[name="page"]'))`)
}

// zoom makes the first of the two minutes the range of the page by selecting a part of a
// chart, and goes back with the browser.
func (w *watched) zoom(hits int) {
	w.t.Helper()
	w.Until(`document.querySelector("#hits .u-over") && !document.querySelector('.tile[data-state="loading"]')`) // no tile grows under the mouse
	w.Drag("#hits .u-over", 0.1, 0.4)
	w.Until(fmt.Sprintf(`(() => { const q = new URLSearchParams(location.search); return q.get("from") === %q && q.get("until") === %q; })()`, w.start.Format(time.RFC3339), w.start.Add(time.Minute).Format(time.RFC3339)))
	w.shows("#hits .total strong", int(w.number("SELECT sum(hits) FROM clicks_1m WHERE window_start = toDateTime(%d)", w.start.Unix())))
	w.Until(`(history.back(), true)`)
	w.shows("#hits .total strong", hits)

}

// statement runs the SQL that a tile shows, and compares its answer with the tile's.
func (w *watched) statement(hits int) {
	w.t.Helper()
	w.Until(`document.querySelector("#top").dataset.state === "ok"`) // of this range, not of the one before
	w.Click("#top .how")
	w.Until(`document.querySelectorAll("#ask pre").length === 2`)
	w.picture("ask")
	sum := int64(0)
	for _, row := range w.sql("%s", w.Text(`document.querySelector("#ask pre").textContent`)) {
		sum += integer(w.t, row[len(row)-1])
	}
	if sum == 0 || sum > int64(hits) {
		w.t.Errorf("the statement has %d hits of %d", sum, hits)
	}
	await.Until(w.t, func() error {
		shown := int64(0)
		for _, row := range w.rows("#top .row", ".name", ".value") {
			shown += integer(w.t, row[1])
		}
		if shown != sum {
			return notYet("the statement has %d hits, the tile %d", sum, shown)
		}
		return nil
	})
	if http := w.Text(`document.querySelectorAll("#ask pre")[1].textContent`); !strings.HasPrefix(http, "curl 'http://") {
		w.t.Errorf("%s", http)
	}
	w.Click("#ask .close")
}
