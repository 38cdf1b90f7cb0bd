package e2e

// tiles: numbers below 0 and below 1, numbers that stand alone, numbers that are 0 or hidden, groups
// of the same name in two columns and what an audit found are shown as what they are.
func (w *watched) tiles() {
	b, t := w.Browser, w.t
	b.Visit(w.base)
	b.Until(`document.querySelector("#hits")`)
	with := func(file, script string) string {
		t.Helper()
		return b.Text(`import(document.querySelector("script[type=module]").src.replace("app.js", "` + file + `")).then(async (of) => {
			const at = (i) => new Date(60000 * i).toISOString();
			const answer = (values) => ({ kind: "min", shows: "number", from: at(0), until: at(values.length), as_of: at(99), step_s: 60, total: { value: values[0], error: 0 }, points: values.map((value, i) => ({ at: at(i), value, error: 0.5 })) });
			const page = { learn() {}, catalog: { k: 5 }, explain() {}, job: { job: "j", window_s: 60, rollup_s: 0, keep_s: 0, rollups: [], by: ["src", "dst"], measures: [{ name: "least", kind: "min", shows: "number" }] } };
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
	is("numbers that are shown in part", with("dom.js", `return [2889.889833082, 1234.5, 0.1234, 0.123, 17591060144509151746, -1414803972.22, 0].map((value) => of.margin({ value, error: 0 })).join(" ")`),
		"rounded exact rounded exact rounded exact exact")
	is("moments", with("dom.js", `const today = new Date().toISOString().slice(0, 11);
		return [of.when(today + "09:08:07Z"), of.when(today + "09:08:07Z", true), of.when("2001-02-03T04:05:06Z"), of.when("2001-02-03T04:05:06Z", true), of.fromTo("x", "9".repeat(20))].join("|")`),
		"09:08|09:08:07|2001-02-03 04:05|2001-02-03 04:05:06|x to 9999999999999999")
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
	for _, zone := range []string{"America/New_York", "Europe/Berlin", "Australia/Lord_Howe"} { // clocks change there in this month
		b.Zone(zone)
		is("the axis of time in "+zone, with("chart.js", `const c = new of.Chart("x", () => {});
			document.body.append(c.element);
			const wrong = [];
			for (const [from, until, step] of [["2025-10-01", "2025-11-03", 3600], ["2025-10-04T13:00", "2025-10-04T17:00", 60], ["2025-10-26T00:00", "2025-10-26T04:00", 60], ["2025-11-02T02:00", "2025-11-02T09:00", 300], ["2024-11-01", "2026-02-01", 86400]]) {
				const points = [];
				for (let t = Date.parse(from + (from[10] ? "Z" : "")); t < Date.parse(until + (until[10] ? "Z" : "")); t += 1000 * step) points.push({ at: new Date(t).toISOString(), value: 1, error: 0 });
				c.show({ ...answer([1]), from: points[0].at, until: points.at(-1).at, points });
				await new Promise((done) => setTimeout(done));
				const axis = c.u.axes[0];
				if (axis._splits.length < 3) wrong.push(from + " has " + axis._splits.length);
				axis._splits.forEach((s, i) => {
					const moment = new Date(1000 * s).toISOString(), [label, date] = axis._values[i].split("\n");
					if (!moment.slice(5, 19).includes(label) || !moment.startsWith(date ?? "") && !moment.slice(5).startsWith(date)) wrong.push(moment + " is " + axis._values[i]);
				});
			}
			return wrong.join(", ")`), "")
	}
	b.Zone("")
	is("a chart of 0", with("tiles.js", `const t = new of.Series(page, "x", "x", () => page.job.measures[0]);
		return [[0, 0], [null, null]].map((values) => t.show(answer(values))).join("|")`), "|Nothing was counted in this range.")
	is("a chart of sums of 0", with("tiles.js", `const t = new of.Series(page, "x", "x", () => page.job.measures[0]);
		return [[0, 0], [0, 1]].map((values) => t.show({ ...answer(values), kind: "sum" })).join("|")`), "Each sum in this range is 0.|")
	is("steps by what is kept", with("state.js", `const { lengths } = await import(document.querySelector("script[type=module]").src.replace("app.js", "tiles.js"));
		const job = { window_s: 10, rollup_s: 60, keep_s: 7 * 86400, rollups: [{ window_s: 60, keep_s: 30 * 86400 }, { window_s: 3600, keep_s: 0 }] };
		const steps = (days, hours, other) => {
			const from = Date.now() - days * 86400000;
			of.state.from = new Date(from).toISOString();
			of.state.until = new Date(from + hours * 3600000).toISOString();
			return lengths({ ...job, ...other }).join(" ");
		};
		const all = [steps(1, 2), steps(8, 2), steps(31, 2), steps(1, 9), steps(31, 2, { rollup_s: 0, keep_s: 0, rollups: [] })].join("|");
		delete of.state.from;
		delete of.state.until;
		return all`), "10 60 300 900 3600|60 300 900 3600|3600|60 300 900 3600|10 60 300 900 3600")
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
		}).join(" ")`), "Audit: 1 mismatch at 1970-01-01 00:05:00. Audit: 2 mismatches at 1970-01-01 00:05:00.")
	is("values that are skipped, and records without a time", with("tiles.js", `const t = new of.Health(page);
		const job = { job: "j", trouble: [], lag: 0, records: { counted: 3 }, partitions: [] };
		return [job, { ...job, skipped: { sum: 4, none: 0 }, without_record_time: 2 }].map((j) => {
			t.show({ now: at(9), audit: null, jobs: [j] });
			return [...t.body.querySelectorAll(".facts div")].slice(4).map((e) => e.className + " " + [...e.children].map((c) => c.textContent).join(" ")).join(",");
		}).join("|")`), " counted 3| counted 3,bad skipped by sum 4, skipped by none 0, without a record's time 2")
	is("a group of two columns", with("tiles.js", `const t = new of.Top(page);
		for (const column of page.job.by) t.show({ measure: "hits", from: at(0), columns: [column], of: 1, groups: [{ group: ["a"], value: 1, error: 0 }] });
		t.list.querySelector("button").click();
		return location.search`), "?by.dst=a")
	is("numbers that are hidden", with("tiles.js", `const t = new of.Series(page, "x", "x", () => page.job.measures[0]);
		const hidden = { value: null, error: 0, withheld: true };
		return t.show({ ...answer([null]), total: hidden, points: [{ at: at(0), ...hidden }] }) + t.total.firstChild.textContent`), "Hidden: fewer than 5 people in each step.< 5")
}
