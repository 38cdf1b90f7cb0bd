package e2e

import (
	"testing"

	"weir/internal/browsertest"
)

// TestPageNumbers: numbers below 0 and below 1, numbers that stand alone, numbers that are 0, groups
// of the same name in two columns and what an audit found are shown as what they are.
func TestPageNumbers(t *testing.T) {
	browsertest.Wanted(t)
	parallel(t)
	s := newStage(t)
	s.clicks()
	b := browsertest.Open(t, browsertest.Size{Width: 1280, Height: 900})
	b.Visit(s.weir("run").address())
	b.Until(`document.querySelector("#hits")`)
	with := func(file, script string) string {
		t.Helper()
		return b.Text(`import(document.querySelector("script[type=module]").src.replace("app.js", "` + file + `")).then(async (of) => {
			const at = (i) => new Date(60000 * i).toISOString();
			const answer = (values) => ({ kind: "min", shows: "number", from: at(0), until: at(values.length), as_of: at(99), step_s: 60, total: { value: values[0], error: 0 }, points: values.map((value, i) => ({ at: at(i), value, error: 0.5 })) });
			const page = { learn() {}, catalog: { k: 0 }, explain() {}, job: { job: "j", window_s: 60, rollup_s: 0, by: ["src", "dst"], measures: [{ name: "least", kind: "min", shows: "number" }] } };
			` + script + `
		})`)
	}
	is := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: the page has %q, want %q", what, got, want)
		}
	}
	is("numbers", with("dom.js", `return [0.00213, 0.25, -0.5, 2.345, 1234].map(of.number).join(" ")`), "0.00213 0.25 -0.5 2.35 1,234")
	is("errors", with("dom.js", `return [[0.25, 0.00125], [12.5, 0.6], [250, 1.25], [3, 0]].map(([value, error]) => of.margin({ value, error })).join(" ") + of.margin({ value: null, error: 0 })`), "± 0.0025 ± 1.2 ± 3 exact")
	is("a chart below 0", with("chart.js", `const c = new of.Chart("x", () => {});
		document.body.append(c.element);
		c.show(answer([-5, null, -3, -4, null, -2]));
		await new Promise((done) => setTimeout(done));
		return [c.u.scales.y.min < -6, c.u.data[1][0], c.u.series[3].points.filter(c.u, 3, false, null)].join(" ")`), "true -6 0,5")
	is("a chart below 1", with("chart.js", `const c = new of.Chart("x", () => {});
		document.body.append(c.element);
		const seconds = answer([0.002, 0.004]);
		seconds.points.forEach((p) => (p.error = 0));
		c.show(seconds);
		await new Promise((done) => setTimeout(done));
		return [c.u.scales.y.max.toFixed(5), ...c.u.axes[1].values(c.u, [0, 0.0015])].join(" ")`), "0.00432 0 0.0015")
	is("a chart of 0", with("tiles.js", `const t = new of.Series(page, "x", "x", () => page.job.measures[0]);
		return [[0, 0], [null, null]].map((values) => t.show(answer(values))).join("|")`), "|Nothing was counted in this range.")
	is("a map of a cell", with("map.js", `const m = new of.WorldMap(() => {});
		m.show({ within: "u", people: 9, cells: [{ geohash: "u33", people: 2 }, { geohash: "u34", people: 1 }] });
		return m.canvas.getAttribute("aria-label").split(".")[0]`), "Map of the cell u: 3 people in 2 cells")
	is("bars of numbers below 1", with("tiles.js", `const t = new of.Top(page);
		t.show({ measure: "least", from: at(0), columns: ["src"], of: 3, groups: [{ group: ["a"], value: 0.4, error: 0 }, { group: ["b"], value: 0.1, error: 0 }, { group: ["c"], value: null, error: 0 }] });
		return [...t.rows.values()].map((row) => [row.bar.style.getPropertyValue("--share"), row.value.textContent, row.margin.textContent].join(" ")).join("|")`), "1 0.4 exact|0.25 0.1 exact|0 – ")
	is("audits with mismatches", with("tiles.js", `const t = new of.Health(page);
		return [1, 2].map((mismatches) => {
			t.show({ now: at(9), audit: { at: at(5), mismatches, found: [] }, jobs: [] });
			return t.body.querySelector(".audit").textContent;
		}).join(" ")`), "Audit: 1 mismatch at 00:05:00. Audit: 2 mismatches at 00:05:00.")
	is("a group of two columns", with("tiles.js", `const t = new of.Top(page);
		for (const column of page.job.by) t.show({ measure: "hits", from: at(0), columns: [column], of: 1, groups: [{ group: ["a"], value: 1, error: 0 }] });
		t.list.querySelector("button").click();
		return location.search`), "?by.dst=a")
}
