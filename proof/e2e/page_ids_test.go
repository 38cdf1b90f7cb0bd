package e2e

import (
	"fmt"
	"strings"
	"time"

	"weir/internal/await"
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
		for _, row := range w.sql("SELECT formatDateTime(window_start, '%%Y-%%m-%%d %%H:%%i:%%S'), least, most FROM clicks_sessions_total(measure = 'active', from = toDateTime(%d), to = toDateTime(%d), gap = '%ds', every = '1m') ORDER BY window_start DESC", from, until, gap) {
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
	field := func(i int) string { return fmt.Sprintf(`document.querySelectorAll("#funnel input")[%d]`, i) }
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
