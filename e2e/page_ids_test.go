package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"weir/internal/await"
	"weir/internal/browsertest"
)

// The tiles about ids over several windows: sessions, and a funnel that is built by keyboard.

// sessions compares the tile of sessions with the view and with the truth: each person is
// there within two minutes only, and so begins one session.
func (w *watched) sessions(users int) {
	w.t.Helper()
	w.Until(`(document.querySelector("#sessions details").open = true)`)
	from, until := w.start.Unix(), w.start.Add(2*time.Minute).Unix()
	for _, gap := range []int{1800, 600} {
		if gap == 600 {
			w.Until(`((s) => { s.value = "600"; s.dispatchEvent(new Event("change")); return new URLSearchParams(location.search).get("gap") === "600"; })(document.querySelector("#sessions select"))`)
		}
		w.Until(fmt.Sprintf(`document.querySelector("#sessions .note").textContent.includes("after %d min")`, gap/60))
		want := [][]string{}
		least, most := int64(0), int64(0)
		for _, row := range w.sql("SELECT formatDateTime(window_start, '%%Y-%%m-%%d %%H:%%i:%%S'), least, most FROM clicks_sessions_total(measure = 'active', from = toDateTime(%d), to = toDateTime(%d), gap = %d, every = 60) ORDER BY window_start DESC", from, until, gap) {
			want = append(want, []string{row[0], between(row[1], row[2])})
			least, most = least+integer(w.t, row[1]), most+integer(w.t, row[2])
		}
		if least > int64(users) || most < int64(users) || len(want) != 2 {
			w.t.Errorf("from %d to %d of %d people begin a session, in %d minutes", least, most, users, len(want))
		}
		w.Until(fmt.Sprintf(`document.querySelector("#sessions .total strong").textContent.replaceAll(",", "") === %q`, between(fmt.Sprint(least), fmt.Sprint(most))))
		await.Until(w.t, func() error {
			if got := w.rows("#sessions tbody tr", "th", "td"); fmt.Sprint(got) != fmt.Sprint(want) {
				return notYet("the sessions are\n%q\nand in the view\n%q", got, want)
			}
			return nil
		})
	}
}

// between is how the page writes two bounds, without commas.
func between(least, most string) string {
	if least == most {
		return least
	}
	return least + " to " + most
}

// funnel builds a funnel of three groups by keyboard, and compares it with the view. The
// address shows the same funnel to others. Steps are removed, and there are at most five.
func (w *watched) funnel() {
	w.t.Helper()
	names := []string{"/p/0", hostile[0], "100%, a:b*"} // the last is of no event
	w.Until(`document.querySelector("#funnel .message").textContent === "Fill in two steps or more."`)
	if hidden := w.Text(`document.querySelector("#funnel .how").hidden`); hidden != "true" {
		w.t.Error("a funnel without steps says how to ask it elsewhere")
	}
	w.Until(`((e) => { e.focus(); return e === document.activeElement; })(document.querySelector("#funnel input"))`)
	w.Until(`[...document.querySelectorAll("#known-page option")].some((o) => o.value === "/p/0")`)
	// To the next field by Tab, and by the mouse: what is typed there is there.
	field := func(i int) string { return fmt.Sprintf(`document.querySelectorAll("#funnel input")[%d]`, i) }
	for try := range 6 {
		w.Until(fmt.Sprintf(`(%s.select(), document.activeElement === %[1]s)`, field(0)))
		w.Press(fmt.Sprint("/q/", try))
		if try%2 == 0 {
			for i := 0; i < 3 && w.Text("document.activeElement === "+field(1)) != "true"; i++ { // over a button and a measure
				w.Press("\t")
			}
		} else {
			w.Click("#funnel li:nth-child(2) input")
		}
		w.Press("x")
		if typed := w.Text(field(1) + ".value + (document.activeElement === " + field(1) + ")"); !strings.HasSuffix(typed, "xtrue") {
			w.t.Errorf("try %d: the second field and whether it has the focus: %q", try, typed)
		}
	}
	w.Until(`(` + field(0) + `.select(), true)`)
	w.Press(names[0])
	w.Until(`(` + field(1) + `.select(), true)`)
	w.Press(names[1])
	w.send(77, 10) // the page is painted again
	hits, _ := w.all()
	w.shows("#hits .total strong", hits)
	w.caughtUp("clicks")
	if typed := w.Text(field(1) + ".value + (document.activeElement === " + field(1) + ")"); typed != names[1]+"true" {
		w.t.Errorf("while numbers changed, what is typed is now %q", typed)
	}
	w.Press("\r")
	w.taken(names[:2])
	w.Click("#funnel .builder > button")
	w.Until(`document.activeElement === document.querySelectorAll("#funnel input")[2]`)
	w.Press(names[2] + "\r")
	w.taken(names)
	w.picture("funnel")

	w.Visit(w.Text("location.href"))
	w.taken(names)
	w.Until(`((b) => { b?.focus(); return b && b === document.activeElement; })(document.querySelector('#funnel [aria-label="Remove step 1"]'))`)
	w.Press("\r")
	w.taken(names[1:])
	w.Until(`(() => { const add = document.querySelector("#funnel .builder > button"); add.click(); return add.hidden; })()`)
	if n := w.Text(`document.querySelectorAll("#funnel input").length`); n != "5" {
		w.t.Errorf("a funnel of %s steps can be built, want 5", n)
	}

	// Steps are measures too, chosen by keyboard: a letter chooses the measure that begins with it.
	w.open()
	w.Until(`document.querySelector("#funnel .message").textContent === "Fill in two steps or more."`)
	for i := range 2 {
		w.Until(fmt.Sprintf(`((e) => { e?.focus(); return e && e === document.activeElement; })(document.querySelectorAll("#funnel select")[%d])`, i))
		w.Press("p")
	}
	w.Until(`new URLSearchParams(location.search).get("steps") === "people,people"`)
	var people [][]string
	for _, row := range w.sql("SELECT least, most FROM clicks_funnel(from = toDateTime(%d), to = toDateTime(%d), steps = ['people', 'people']) ORDER BY step", w.start.Unix(), w.start.Add(2*time.Minute).Unix()) {
		people = append(people, []string{"people", between(row[0], row[1])})
	}
	await.Until(w.t, func() error {
		if got := w.rows("#funnel .row", ".name", ".value"); len(people) != 2 || fmt.Sprint(got) != fmt.Sprint(people) {
			return notYet("the funnel of measures is %q, and in the view %q", got, people)
		}
		return nil
	})

	// On a wall there is a funnel if its steps are in the address, and nothing to build it.
	w.open("kiosk", "", "steps", "active:/p/0,active:/p/4")
	w.taken([]string{"/p/0", "/p/4"})
	if visible := w.Text(`document.querySelector("#funnel .builder").checkVisibility()`); visible != "false" {
		w.t.Error("a funnel can be built on a wall")
	}
	w.open("kiosk", "")
	w.Until(`document.querySelector("#health .job") && !document.querySelector("#funnel")`)
	w.open()
}

// stepOf is how a step of a funnel has the name of a group.
func stepOf(name string) string {
	return strings.NewReplacer("%", "%25", ":", "%3A", ",", "%2C", "*", "%2A").Replace(name)
}

// taken waits until the tile shows a funnel of these pages as the view has it.
func (w *watched) taken(names []string) {
	w.t.Helper()
	var steps []string
	for _, name := range names {
		steps = append(steps, "active:"+stepOf(name))
	}
	list := make([]string, len(steps))
	for i, s := range steps {
		list[i] = `'` + strings.ReplaceAll(s, `'`, `\'`) + `'`
	}
	var want [][]string
	for i, row := range w.sql("SELECT least, most FROM clicks_funnel(from = toDateTime(%d), to = toDateTime(%d), steps = [%s]) ORDER BY step", w.start.Unix(), w.start.Add(2*time.Minute).Unix(), strings.Join(list, ", ")) {
		want = append(want, []string{"active · " + names[i], between(row[0], row[1])})
	}
	if first := fmt.Sprint(len(w.users[names[0]])); len(want) != len(names) || want[0][1] != first {
		w.t.Errorf("the funnel %q is %q, and %s people take the first step", names, want, first)
	}
	await.Until(w.t, func() error {
		if got := w.rows("#funnel .row", ".name", ".value"); fmt.Sprint(got) != fmt.Sprint(want) {
			return notYet("the funnel is\n%q\nand in the view\n%q", got, want)
		}
		return nil
	})
}

// TestPageBounds: both tiles show both bounds where these differ, of a job whose shortest rollup
// is longer than its windows, and their statements have the same numbers. Where http.k withholds
// each step of a group, the tile does not say that no session begins. No gap is shorter than the
// shortest rollup. A narrow window shows the shares of a funnel too, and a job without a measure
// that knows people again has no such tile.
func TestPageBounds(t *testing.T) {
	browsertest.Wanted(t)
	parallel(t)
	s := newStage(t)
	rollups := strings.NewReplacer("rollups: [1m, 1h]", "rollups: [5m, 1h]", measuresOfUsers(), "")
	hourly := strings.NewReplacer("name: clicks", "name: hourly", "rollups: [1m, 1h]", "rollups: [1h]", measuresOfUsers(), "")
	s.configure(rollups.Replace(fmt.Sprintf(clicksJob, s.topic("clicks"))), hourly.Replace(fmt.Sprintf(clicksJob, s.topic("clicks"))), rollups.Replace(fmt.Sprintf(locationsJob, s.topic("locations"))))
	w := &watched{stage: s, start: time.Now().UTC().Truncate(5 * time.Minute).Add(-40 * time.Minute)}
	for _, kind := range []string{"clicks", "locations"} {
		if _, err := s.admin.CreateTopic(await.Context(t), 2, 1, nil, s.topic(kind)); err != nil {
			t.Fatal(err)
		}
	}
	s.migrate()
	w.base = s.weir("run", "--http.k=81").address()

	// 200 people, in windows of five minutes: all have the first group in window 0, three in
	// four the second in window 1 and the others in window 0, four in five the third in window 2
	// or 3. In which order groups come within a window is not known, and of windows 1 and 3 it is
	// not known whether ten minutes are between the two events.
	steps := hostile[:3]
	var records []*kgo.Record
	add := func(user, window int, page string) {
		name, err := json.Marshal(page)
		if err != nil {
			t.Fatal(err)
		}
		at := w.start.Add(time.Duration(5*window+1) * time.Minute).UnixMilli()
		records = append(records, &kgo.Record{Topic: s.topic("clicks"), Partition: int32(user % 2), Value: fmt.Appendf(nil, `{"ts":%d,"page":%s,"user_id":%d}`, at, name, user)})
	}
	for user := range 200 {
		add(user, 0, steps[0])
		add(user, min(user%4, 1), steps[1])
		if user%5 > 0 {
			add(user, 3-user%2, steps[2])
		}
	}
	if err := s.client.ProduceSync(await.Context(t), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	s.caughtUp("clicks")

	var written []string
	for _, name := range steps {
		written = append(written, "active:"+stepOf(name))
	}
	w.Browser = browsertest.Open(t, browsertest.Size{Width: 1280, Height: 900})
	until := w.start.Add(20 * time.Minute).Format(time.RFC3339)
	w.open("until", until, "gap", "600", "steps", strings.Join(written, ","))
	is := func(what string, want [][]string, each string, parts ...string) {
		t.Helper()
		await.Until(t, func() error {
			if got := w.rows(each, parts...); fmt.Sprint(got) != fmt.Sprint(want) {
				return notYet("%s: the page shows\n%q\nwant\n%q", what, got, want)
			}
			return nil
		})
	}
	w.Until(`document.querySelector("#sessions .total strong")?.textContent === "240 to 280"`)
	w.Until(`(document.querySelector("#sessions details").open = true)`)
	at := func(window int) string {
		return w.start.Add(time.Duration(5*window) * time.Minute).Format(time.DateTime)
	}
	is("sessions", [][]string{{at(3), "40 to 80"}, {at(2), "0"}, {at(1), "0"}, {at(0), "200"}}, "#sessions tbody tr", "th", "td")
	is("funnel", [][]string{{steps[0], "", "200"}, {steps[1], "75% to 100%", "150 to 200"}, {steps[2], "60% to 80%", "120 to 160"}}, "#funnel .row", ".name", ".error", ".value")
	w.picture("bounds")
	w.states("#sessions", 1, 240, 280)
	w.states("#funnel", 2, 200+150+120, 200+200+160)

	w.Resize(browsertest.Size{Width: 320, Height: 700})
	w.Until(`document.documentElement.scrollWidth <= 320`)
	w.Until(`[...document.querySelectorAll("#funnel .row .error")].every((e) => e.checkVisibility())`)
	w.Prefer("prefers-color-scheme", "dark")
	w.picture("bounds-320")
	w.Resize(browsertest.Size{Width: 1280, Height: 900})

	w.open("until", until, "gap", "600", "by.page", steps[2])
	w.Until(`document.querySelector("#sessions .total strong")?.textContent === "160" && document.querySelector("#sessions .message").textContent === "Hidden: fewer than 81 people in each step."`)
	w.open("job", "hourly", "until", until)
	w.Until(`document.querySelector("#sessions").dataset.state === "ok" && [...document.querySelectorAll("#sessions option")].map((o) => o.textContent).join() === "1 h"`)
	w.open("job", "locations", "steps", "active:/p/1,active:/p/2")
	w.Until(`document.querySelector("#hits .message")?.textContent === "Nothing was counted in this range." && !document.querySelector("#sessions, #funnel")`)
	w.Clean(strings.TrimPrefix(w.base, "http://"))
}

// states runs the statement that a tile shows, and compares the sums of two columns, from one on.
func (w *watched) states(tile string, column int, least, most int64) {
	w.t.Helper()
	w.Click(tile + " .how")
	w.Until(`document.querySelectorAll("#ask pre").length === 2`) // no command of Redis has such an answer
	for _, row := range w.sql("%s", w.Text(`document.querySelector("#ask pre").textContent`)) {
		least -= integer(w.t, row[column])
		most -= integer(w.t, row[column+1])
	}
	if least != 0 || most != 0 {
		w.t.Errorf("%s has bounds that are %d and %d greater than those of its statement", tile, least, most)
	}
	w.Click("#ask .close")
}
