package e2e

import (
	"fmt"
)

// address: an address with times that are none, or with a job or a measure that is not
// there, opens the page, which says so, also on a wall. A time of another zone stands in the field of UTC as that of UTC. A
// statement can be copied where the browser gives no clipboard, as to a page of http.
func (w *watched) address() {
	b, t := w.Browser, w.t
	for _, times := range []string{"from=x", "from=2026-11-20T12:00:00Z&until=x", "from=1764172800&until=1764176400", "from=275760-09-13T00:00:00Z&until=275760-09-14T00:00:00Z"} {
		b.Visit(w.base + "/?" + times)
		b.Until(`document.querySelector("#hits")?.dataset.state === "error" && document.querySelector("#hits .message").textContent.includes("want a time")`)
		b.Until(`document.querySelector(".chip")`)
	}
	b.Click(".chip")
	b.Until(`document.querySelector("#hits")?.dataset.state === "empty"`)

	b.Visit(w.base + "/?job=gone&people=missing&measure=none&column=row")
	b.Until(fmt.Sprintf(`[...document.querySelectorAll(".chip > :first-child")].map((e) => e.textContent).join("|") === %s`,
		quoted(t, "no job is called gone: this is clicks|no measure of clicks is called missing|no measure of clicks is called none|no column of clicks is called row")))
	for range 4 {
		b.Click(".chip")
	}
	b.Until(`location.search === "" && !document.querySelector(".chip")`)

	b.Visit(w.base + "/?kiosk&measure=none&by.page=/a")
	b.Until(`[...document.querySelectorAll("#controls .chip")].map((e) => e.textContent).join("|") === "no measure of clicks is called none|page = /a" && !document.querySelector("#controls button, #controls input")`)
	if text := b.Text(`[...document.querySelectorAll("#controls .chip")].every((e) => e.offsetParent)`); text != "true" {
		t.Error("a wall does not say what it shows")
	}

	b.Visit(w.base + "/?from=2026-11-20T12:00:05%2B02:00&until=2026-11-20T12:30:00%2B02:00")
	b.Until(`[...document.querySelectorAll("input[type=datetime-local]")].map((e) => e.value).join(" ") === "2026-11-20T10:00:05 2026-11-20T10:30"`)

	b.Text(`Object.defineProperty(navigator, "clipboard", { value: undefined })`)
	b.Until(`document.querySelector("#hits")?.dataset.state === "empty"`)
	b.Click("#hits .how")
	b.Until(`document.querySelector("#ask .copy button")`)
	b.Click("#ask .copy button")
	b.Until(`document.querySelector("#ask .copy button").textContent !== "Copy" || getSelection().toString() !== ""`)
	if text := b.Text(`getSelection().toString().trim() === document.querySelector("#ask pre").textContent.trim()`); text != "true" {
		t.Error("the statement is neither copied nor selected")
	}
}
