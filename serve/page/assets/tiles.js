// The tiles, from the top. A tile says which question it asks, shows the answer, and says
// when there is none.

import { h, put, say, number, shown, bounds, margin, clock, stamp, when, fromTo, ago, share, span, select } from "./dom.js";
import { state, go, groups, ask } from "./state.js";
import { Chart, Between } from "./chart.js";
import { WorldMap, box } from "./map.js";

// A tile is a section with a heading, what it shows, and a button that says how to ask the
// same elsewhere.
class Tile {
  constructor(id, title, page) {
    this.id = id;
    this.page = page;
    this.name = title;
    this.title = h("h2", { id: id + "-title" }, title);
    this.tools = h("div", { class: "tools" });
    this.note = h("p", { class: "note" });
    this.body = h("div", { class: "body" });
    this.message = h("p", { class: "message", role: "status" }, "Waiting for the first answer …");
    this.how = h("button", { type: "button", class: "how", "aria-label": "Ask it yourself: " + title, title: "The same in SQL, redis-cli and HTTP", onclick: () => page.explain(this) }, "</>");
    this.element = h("section", { id, class: "tile", "aria-labelledby": id + "-title", "data-state": "loading" },
      h("div", { class: "head" }, this.title, this.tools, this.how), this.note, this.message, this.body);
  }

  // question returns what the tile asks now; null: nothing.
  question() {
    return null;
  }

  // offered says whether the page has the tile.
  offered() {
    return this.question() != null;
  }

  // take shows an event of the stream. An answer without ClickHouse does not take the place of a whole one, which
  // stays and is marked as old. Without one before, it is shown: it has something, or it would be an error.
  take({ status, answer, error }) {
    const lacks = status === 502 || answer?.partial != null;
    this.element.toggleAttribute("data-old", lacks);
    this.lacks = lacks ? { answer, error, at: Date.now() } : null;
    if (lacks) {
      if (!this.full && answer) this.show(answer);
      this.lack(0);
    } else if (status !== 200) {
      this.say("error", status === 403 ? "Withheld: " + error : error);
    } else {
      const empty = this.show(answer);
      this.full = { state: empty ? "empty" : "ok", text: empty };
      this.say(this.full.state, empty);
    }
  }

  // lack says why there is no whole answer, if another question has had one since then. Otherwise ClickHouse is
  // away, and the banner of the page says so.
  lack(since) {
    if (!this.lacks) return;
    const { answer, error, at } = this.lacks, why = since > at ? error ?? answer.partial : "";
    if (this.full) this.say(this.full.state, why || this.full.text);
    else if (answer) this.say("ok", why || "Of this process alone.");
    else this.say("error", why || "Not known.");
  }

  say(what, text) {
    this.element.dataset.state = what;
    say(this.message, text);
  }

  reset() {
    this.full = this.lacks = null;
    this.say("loading", "Waiting for the first answer …");
  }
}

// level and label are those of a measure that has quantiles.
const level = (m) => (m.kind === "quantile" ? (state.level ?? "0.95") : null);
const levels = ["0.5", "0.9", "0.95", "0.99"].map((l) => [l, "p" + l * 100]);
const label = (m) => (level(m) ? `${m.name} p${+(level(m) * 100).toFixed(3)}` : m.name);
const numeric = (m) => ["events", "people", "number"].includes(m.shows);
const range = () => (state.from ? { from: state.from, until: state.until } : { last: state.last ?? "1h" });

// Without rollups that can be asked, a chart may have so many windows, and a list of the greatest
// groups so many (SeriesMost and GroupsMost of package live).
const chartMost = 2880, groupsMost = 240;

const units = { s: 1, m: 60, h: 3600, d: 86400 };

// latest returns the range of the page or, without rollups, the latest part of it that has at
// most so many windows.
function latest(job, most) {
  const over = range();
  if (job.rollup_s) return over;
  if (over.from) {
    const until = Date.parse(over.until) || Date.now(), from = until - (most - 1) * job.window_s * 1000;
    return Date.parse(over.from) < from ? { ...over, from: new Date(from).toISOString().replace(".000Z", "Z") } : over;
  }
  const [, n, unit] = /^(\d+)([smhd])$/.exec(over.last) ?? [];
  const longest = (most - 1) * job.window_s; // one window is not over yet
  return n * units[unit] > longest ? { last: longest + "s" } : over;
}

// lengths returns the lengths that the steps of charts may be chosen to have: there are two of them
// in the range, no more than a chart can show, and they are made of what is kept for so long.
export function lengths(job) {
  const over = range(), [, n, unit] = /^(\d+)([smhd])$/.exec(over.last) ?? [], now = Date.now() / 1000;
  const until = over.from && Date.parse(over.until) ? Date.parse(over.until) / 1000 : now, from = over.from ? Date.parse(over.from) / 1000 : now - n * units[unit];
  const seconds = until - from;
  return [1, 10, 60, 300, 900, 3600, 21600, 86400].filter((s) => s % shortest(job, from, until, now, s) === 0 && seconds >= 2 * s && seconds / s <= 750);
}

// shortest returns the length of the windows that steps of a range are made of, as package http of
// weir chooses them: those of the job, if they are not too many and their rows are kept, or else those
// of its shortest rollup that is kept for so long.
function shortest(job, from, until, now, step) {
  const many = Math.ceil(until / job.window_s) - Math.floor(from / job.window_s) > chartMost;
  if (!job.rollups.length || (!many && now - from < job.keep_s - job.window_s)) return job.window_s;
  const begins = Math.floor(from / step) * step;
  return (job.rollups.find((r) => !r.keep_s || now - begins < r.keep_s - 90) ?? job.rollups.at(-1)).window_s;
}

// every returns the length of steps that is chosen for the range; null: none is.
const every = (job) => (lengths(job).some((s) => String(s) === state.every) ? state.every + "s" : null);

// zoom returns what makes a part of a chart the range of the page.
const zoom = (page) => (from, until) => {
  const step = Math.max(1, page.job.window_s);
  const at = (s) => new Date(Math.round(s / step) * step * 1000).toISOString().replace(".000Z", "Z");
  go({ from: at(from), until: at(Math.max(until, from + step)), last: null });
};

export class People extends Tile {
  constructor(page) {
    super("people", "People now", page);
    this.numbers = ["60s", "5m", "30m", "today"].map((last) => {
      const value = h("dd", { class: "big", "data-last": last }, "–");
      const error = h("dd", { class: "error" });
      return { last, value, error, label: { "60s": "last 60 s", "5m": "last 5 min", "30m": "last 30 min", today: "today" }[last] };
    });
    put(this.body, h("dl", { class: "numbers" }, this.numbers.map((n) => h("div", null, h("dt", null, n.label), n.value, n.error))));
  }

  question() {
    const m = this.page.people();
    return m && ask("people", { job: this.page.job.job, measure: m.name, ...groups() });
  }

  show(answer) {
    for (const n of this.numbers) {
      const of = answer.now.find((one) => one.last === n.last);
      say(n.value, shown(of, this.page.catalog.k));
      say(n.error, margin(of) + " · since " + when(of.from));
      n.value.classList.toggle("none", !of.value);
    }
    if (answer.now.some((n) => n.value || n.withheld)) return "";
    return Object.keys(groups()).length ? "No people of this group today." : "No people yet today. Send events, and they appear here within a second.";
  }
}

export class Series extends Tile {
  // measure returns the measure that is shown, and choices those that may be chosen here.
  constructor(page, id, title, measure, choices = () => []) {
    super(id, title, page);
    this.measure = measure;
    this.choices = choices;
    this.total = h("p", { class: "total" });
    this.chart = new Chart(title, zoom(page));
    put(this.body, this.total, this.chart.element);
  }

  question() {
    const m = this.measure();
    if (!m) return null;
    return ask("series", { job: this.page.job.job, measure: m.name, ...latest(this.page.job, chartMost), step: every(this.page.job), ...groups(), level: level(m) });
  }

  controls() {
    const m = this.measure();
    put(this.tools, this.choices().length > 1 && select("Measure", this.choices().map((m) => m.name), m.name, (v) => go({ measure: v })),
      m && level(m) && select("Quantile", levels, level(m), (v) => go({ level: v })));
  }

  show(answer) {
    say(this.title, this.name + (answer.shows === "events" ? "" : " · " + label(this.measure())));
    this.chart.call(this.title.textContent);
    this.how.setAttribute("aria-label", "Ask it yourself: " + this.title.textContent);
    put(this.total, h("strong", null, shown(answer.total, this.page.catalog.k)), " " + margin(answer.total) + ", " + fromTo(answer.from, answer.until) + ", by " + span(answer.step_s));
    this.chart.show(answer);
    const empty = ["hits", "sum"].includes(answer.kind) || answer.shows === "people" ? 0 : null; // of nothing
    if (answer.points.some((p) => (p.value ?? empty) !== empty)) return "";
    if (answer.kind === "sum" && !answer.points.some((p) => p.withheld)) return "Each sum in this range is 0."; // that of no numbers, too
    return answer.points.some((p) => p.withheld) ? `Hidden: fewer than ${this.page.catalog.k} people in each step.` : "Nothing was counted in this range.";
  }
}

export class Heat extends Tile {
  constructor(page) {
    super("map", "Where people are", page);
    this.map = new WorldMap((cell) => go({ cell: cell || null }));
    put(this.body, this.map.element);
  }

  // places returns the measure of positions, of this job or of another one.
  places() {
    const of = (job) => job.measures.filter((m) => m.shows === "positions").map((m) => ({ job: job.job, measure: m.name }));
    return [...of(this.page.job), ...this.page.catalog.jobs.flatMap(of)][0];
  }

  question() {
    const p = this.places();
    return p && ask("heat", { job: p.job, measure: p.measure, ...range(), within: state.cell ?? null });
  }

  show(answer) {
    say(this.note, `${shown({ value: answer.people, withheld: !answer.people && answer.withheld }, this.page.catalog.k)} people of ${answer.job}, each where last seen since ${when(answer.from)}` + (Object.keys(groups()).length ? ", of all groups" : "") + (answer.withheld ? `; ${answer.withheld} cells with fewer than ${this.page.catalog.k} people are withheld` : ""));
    this.map.show(answer);
    return answer.cells.length ? "" : answer.withheld ? `Hidden: fewer than ${this.page.catalog.k} people in each cell.` : answer.within ? "No people in this cell." : "No positions yet.";
  }
}

// Members are the last places of those in the cell of the map, once it is a small one. With k there
// is no answer.
export class Members extends Tile {
  constructor(page, heat) {
    super("members", "Who is there", page);
    this.heat = heat;
    this.rows = h("tbody");
    put(this.body, h("div", { class: "scroll tall", tabindex: 0, role: "region", "aria-label": "Who is there, as a table" }, h("table", null,
      h("thead", null, h("tr", null, ["Member", "Latitude", "Longitude"].map((t, i) => h("th", { scope: "col", class: i ? "n" : null }, t)))), this.rows)));
  }

  question() {
    const p = this.heat.places();
    if (!p || this.page.catalog.k || (state.cell ?? "").length < 3) return null;
    const b = box(state.cell);
    return ask("positions", { job: p.job, measure: p.measure, ...range(), box: [b.west, b.south, b.east, b.north].join(","), n: membersMost });
  }

  show(answer) {
    const all = answer.positions;
    say(this.note, `members of ${answer.job}, each where last seen since ${when(answer.from)}` + (all.length === membersMost ? `; the first ${membersMost}, look into a smaller cell for the others` : ""));
    put(this.rows, all.map((p) => h("tr", null, h("th", { scope: "row" }, p.member), h("td", { class: "n" }, p.lat.toFixed(5) + "°"), h("td", { class: "n" }, p.lon.toFixed(5) + "°"))));
    return all.length ? "" : "No people in this cell.";
  }
}

const membersMost = 100;

export class Top extends Tile {
  constructor(page) {
    super("top", "Top groups", page);
    this.list = h("ol", { class: "bars" });
    put(this.body, this.list);
    this.rows = new Map();
  }

  measure() {
    const all = this.page.job.measures.filter((m) => numeric(m) || m.shows === "list");
    return all.find((m) => m.name === state.measure) ?? all[0];
  }

  column() {
    const by = this.page.job.by;
    return by.includes(state.column) ? state.column : by.find((c) => !("by." + c in state)) ?? by[0];
  }

  question() {
    const m = this.measure();
    if (m?.shows === "list") return ask("list", { job: this.page.job.job, measure: m.name, ...range(), ...groups() });
    if (!m || !this.page.job.by.length) return null;
    return ask("top", { job: this.page.job.job, measure: m.name, column: this.column(), n: 12, ...latest(this.page.job, groupsMost), ...groups(), level: level(m) });
  }

  controls() {
    const measures = this.page.job.measures.filter((m) => numeric(m) || m.shows === "list").map((m) => [m.name, label(m)]);
    put(this.tools, measures.length > 1 && select("Measure", measures, this.measure()?.name, (v) => go({ measure: v })),
      this.page.job.by.length > 1 && select("By", this.page.job.by, this.column(), (v) => go({ column: v })));
  }

  show(answer) {
    const list = answer.keys != null;
    if (!list) this.page.learn(answer.columns[0], answer.groups.map((g) => g.group[0]).filter((name) => name));
    const rows = list ? answer.keys.map((k) => ({ name: k.key, value: k.count, margin: k.error ? "to " + number(k.count + k.error) : "exact" }))
      : answer.groups.map((g) => ({ name: g.group[0], value: g.value, margin: margin(g), group: g.group[0] }));
    const most = Math.max(0, ...rows.map((r) => r.value)) || 1;
    say(this.note, list ? `the most frequent ${answer.measure} since ${when(answer.from)}`
      : `${answer.measure} by ${answer.columns[0]}, since ${when(answer.from)}; ${number(answer.of)} group${answer.of === 1 ? "" : "s"} in all` + (answer.withheld ? `, ${answer.withheld} with fewer than ${this.page.catalog.k} people withheld` : ""));
    const before = new Map([...this.rows].map(([name, row]) => [name, row.element.offsetTop]));
    const next = new Map(), column = list ? null : answer.columns[0];
    if (column !== this.of) this.rows = new Map(); // a row shows only a group of its column
    this.of = column;
    for (const r of rows) {
      const row = this.rows.get(r.name) ?? this.row(r, column);
      say(row.value, number(r.value));
      say(row.margin, r.margin);
      row.bar.style.setProperty("--share", r.value / most);
      next.set(r.name, row);
    }
    this.rows = next;
    put(this.list, [...next.values()].map((r) => r.element));
    if (!matchMedia("(prefers-reduced-motion: reduce)").matches) {
      for (const [name, row] of next) {
        const from = before.get(name), to = row.element.offsetTop;
        if (from != null && from !== to) row.element.animate([{ transform: `translateY(${from - to}px)` }, { transform: "none" }], { duration: 350, easing: "ease-out" });
      }
    }
    return rows.length ? "" : answer.withheld ? `Hidden: fewer than ${this.page.catalog.k} people in each group.` : "Nothing was counted in this range.";
  }

  row(r, column) {
    const bar = h("span", { class: "bar", "aria-hidden": "true" });
    const name = h("span", { class: "name" }, r.name === "" ? "(empty)" : r.name);
    const value = h("span", { class: "value" }), error = h("span", { class: "error" });
    const inner = [bar, name, value, error];
    return {
      bar, value, margin: error,
      element: h("li", null, r.group == null ? h("div", { class: "row" }, inner)
        : h("button", { type: "button", class: "row", title: "Show only " + r.group, onclick: () => go({ ["by." + column]: r.group }) }, inner)),
    };
  }
}

// knows returns the measure of a job that knows people again.
const knows = (job) => job.measures.find((m) => m.returning && m.name === state.people) ?? job.measures.find((m) => m.returning);

export class Returning extends Tile {
  constructor(page) {
    super("returning", "Who came back", page);
    this.table = h("table", { class: "triangle" });
    put(this.body, h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Who came back, as a table" }, this.table));
  }

  measure() {
    return knows(this.page.job);
  }

  // Steps are multiples of the windows, which memory answers for as long as it has them.
  // Periods are those of the calendar where the page is looked at, and ClickHouse answers.
  steps() {
    const w = this.page.job.window_s;
    return [w, 60, 3600].filter((s, i, all) => s >= w && s % w === 0 && all.indexOf(s) === i && Math.floor((chartMost * w) / s) >= 2);
  }

  // periods returns those that may be asked for: a group is asked for by all columns or none.
  periods() {
    const chosen = Object.keys(groups()).length;
    return chosen && chosen < this.page.job.by.length ? [] : Object.keys(periods);
  }

  step() {
    const all = [...this.steps().map(String), ...this.periods()];
    return all.includes(state.step) ? state.step : all[0];
  }

  question() {
    const m = this.measure(), step = this.step();
    if (!m || !step) return null;
    const asked = { job: this.page.job.job, measure: m.name };
    if (step in periods) return ask("retention", { ...asked, unit: step, zone, n: 8, ...groups() });
    return ask("returning", { ...asked, step: step + "s", n: Math.min(8, Math.floor((chartMost * this.page.job.window_s) / step)), ...groups() });
  }

  controls() {
    put(this.tools, select("By", [...this.steps().map((s) => [String(s), span(s)]), ...this.periods().map((p) => [p, p])], this.step(), (v) => go({ step: v })));
  }

  show(answer) {
    const unit = answer.unit;
    const rows = unit ? calendar(answer) : answer.cohorts.map((c) => ({ ...c, from: answer.step_s >= 86400 ? stamp(c.at).slice(5, 10) : clock(c.at, answer.step_s % 60 !== 0) }));
    const columns = Math.max(0, ...rows.map((c) => c.back.length));
    say(this.note, `of the people of each ${unit ? `${unit} in ${answer.zone}` : span(answer.step_s)}, how many were there again later, by ${answer.measure}; the last of each row is still filling`);
    const triangle = rows.map((c) =>
      h("tr", null, h("th", { scope: "row" }, c.from), h("td", { class: "n" }, shown(c, this.page.catalog.k)),
        c.back.map((b, i, all) => {
          const cell = h("td", { class: i === all.length - 1 ? "cell filling" : "cell", title: b == null ? `fewer than ${this.page.catalog.k} people` : `${number(b)} of ${number(c.value)}` }, b == null ? "hidden" : share(b, c.value));
          cell.style.setProperty("--share", b && c.value ? b / c.value : 0);
          return cell;
        })));
    put(this.table, h("caption", null, "Share of each row's people who were there again, by how much later"),
      h("thead", null, h("tr", null, h("th", { scope: "col" }, "From"), h("th", { scope: "col", class: "n" }, "People"),
        Array.from({ length: columns }, (_, i) => h("th", { scope: "col" }, "+" + (unit ? `${i + 1} ${unit}${i ? "s" : ""}` : span((i + 1) * answer.step_s)))))),
      h("tbody", null, triangle));
    return rows.some((c) => c.value || c.withheld) ? "" : "No people in these windows yet.";
  }
}

// How many days the periods of a calendar have, about; and the zone of this browser, which says
// Etc/Unknown where its system does not tell.
const periods = { day: 1, week: 7, month: 30.44 };
const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
const zone = own && own !== "Etc/Unknown" ? own : "UTC";

// calendar returns the rows of an answer about retention. The answer leaves out periods
// without people; a row has a number for each later period up to the newest.
function calendar(answer) {
  const apart = (a, b) => Math.round((new Date(b) - new Date(a)) / (86400000 * periods[answer.unit]));
  const newest = answer.cohorts.at(-1)?.at;
  const date = new Intl.DateTimeFormat("en-CA", { timeZone: answer.zone, year: "numeric", month: "2-digit", day: "2-digit" });
  return answer.cohorts.map((c) => {
    const later = new Map(c.back.map((b) => [apart(c.at, b.at), b.value]));
    const back = Array.from({ length: apart(c.at, newest) }, (_, i) => (later.has(i + 1) ? later.get(i + 1) : 0));
    return { ...c, back, from: date.format(new Date(c.at)).slice(answer.unit === "month" ? 0 : 5, answer.unit === "month" ? 7 : 10) };
  });
}

export class Sessions extends Tile {
  constructor(page) {
    super("sessions", "Sessions over time", page);
    this.total = h("p", { class: "total" });
    this.chart = new Between("Sessions", zoom(page));
    put(this.body, this.total, this.chart.element);
  }

  // gaps are multiples of the shortest rollup.
  gaps() {
    return [600, 1800, 3600].map((s) => this.whole(s)).filter((s, i, all) => all.indexOf(s) === i);
  }

  gap() {
    return this.gaps().find((s) => String(s) === state.gap) ?? this.whole(1800);
  }

  whole(s) {
    return Math.ceil(s / this.page.job.rollup_s) * this.page.job.rollup_s;
  }

  question() {
    const m = knows(this.page.job), chosen = Object.keys(groups()).length;
    if (!m || !this.page.job.rollup_s || (chosen && chosen < this.page.job.by.length)) return null; // a group is asked for by all columns or none
    return ask("sessions", { job: this.page.job.job, measure: m.name, gap: this.gap() + "s", ...range(), step: every({ ...this.page.job, window_s: this.page.job.rollup_s, rollups: [] }), ...groups() });
  }

  controls() {
    put(this.tools, select("End after", this.gaps().map((s) => [String(s), span(s)]), String(this.gap()), (v) => go({ gap: v })));
  }

  show(answer) {
    const k = this.page.catalog.k, known = new Map(answer.points.map((p) => [Date.parse(p.at), p])), all = [];
    for (let at = Date.parse(answer.from); at < Date.parse(answer.until); at += answer.step_s * 1000) all.push(known.get(at) ?? { at: new Date(at).toISOString(), least: 0, most: 0 });
    say(this.note, `by ${answer.measure}; a session ends after ${span(answer.gap_s)} without an event. Windows tell between which two numbers the count is.`);
    put(this.total, h("strong", null, bounds(answer.total, k)), ` begin, ${fromTo(answer.from, answer.until)}, by ${span(answer.step_s)}`);
    this.chart.show({ ...answer, points: all });
    if (all.some((p) => p.most)) return "";
    return all.some((p) => p.withheld) ? `Hidden: fewer than ${k} people in each step.` : "No session begins in this range.";
  }
}

const stepsMost = 5;

// A step stands in the address as the API has it: a measure and, after a colon each, texts of groups.
const written = ({ measure, texts }) => [measure, ...texts.map((text) => (text === "" ? "*" : text.replace(/[%:,*]/g, (c) => "%" + c.charCodeAt(0).toString(16).toUpperCase())))].join(":").replace(/(:\*)+$/, "");
const unescaped = (text) => (text === "*" ? "" : text.replace(/%(25|3A|2C|2A)/gi, (_, x) => String.fromCharCode(parseInt(x, 16))));

export class Funnel extends Tile {
  constructor(page) {
    super("funnel", "Funnel", page);
    this.list = h("ol", { class: "bars" });
    this.steps = h("ol", { class: "steps" });
    this.rows = [];
    this.add = h("button", { type: "button", onclick: () => this.more() }, "Add a step");
    this.form = h("form", { class: "builder", "aria-label": "Steps of the funnel", onsubmit: (e) => e.preventDefault() }, this.steps, this.add);
    this.element.insertBefore(this.form, this.message);
    put(this.body, this.list);
    say(this.note, "How many people take these steps in this order, in the range of the page. An empty field stands for every value.");
  }

  // measures returns the names of those that a step may have: they know people again.
  measures() {
    return this.page.job.measures.filter((m) => m.returning).map((m) => m.name);
  }

  // possible says whether the job has steps: groups of people that it knows again, or several measures of them.
  possible() {
    return this.page.job.rollup_s > 0 && this.measures().length > (this.page.job.by.length ? 0 : 1);
  }

  // offered says so too, but on a wall, where nothing can be built.
  offered() {
    return "kiosk" in state ? this.question() != null : this.possible();
  }

  // chosen returns the steps of the address.
  chosen() {
    return (state.steps?.split(",") ?? []).map((s) => s.split(":")).map(([measure, ...texts]) => ({ measure, texts: this.page.job.by.map((_, i) => unescaped(texts[i] ?? "*")) }));
  }

  question() {
    if (!this.possible() || this.chosen().length < 2) return null;
    return ask("funnel", { job: this.page.job.job, steps: state.steps, ...range() });
  }

  // row makes the fields of a step. They stay while the page changes, so that the focus and what is typed stay too.
  row() {
    const change = () => this.change(), measures = this.measures();
    const measure = measures.length > 1 && select("", [["", "choose …"], ...measures], "", change);
    const inputs = this.page.job.by.map((c) => h("input", { list: "known-" + c, autocomplete: "off", spellcheck: "false", onchange: change }));
    const labels = inputs.map((input) => h("label", { class: "choice" }, h("span"), input));
    const remove = h("button", { type: "button", class: "link", onclick: () => this.remove(row) }, "remove");
    const row = { element: h("li", null, measure, labels, remove), select: measure ? measure.querySelector("select") : null, inputs, remove };
    row.names = [...row.element.querySelectorAll("label > span")];
    return row;
  }

  // typed returns the steps of the fields, without those of which all fields are empty.
  typed() {
    return this.rows.filter(({ select, inputs }) => select?.value || inputs.some((of) => of.value !== "")).map(({ select, inputs }) => {
      const measure = select?.value || knows(this.page.job).name;
      if (select) select.value = measure;
      return { measure, texts: inputs.map((of) => of.value) };
    });
  }

  more() {
    this.rows.push(this.row());
    this.controls();
    const { inputs, select } = this.rows.at(-1);
    (inputs[0] ?? select).focus();
  }

  change() {
    this.last = this.typed().map(written).join(",") || null;
    go({ steps: this.last });
  }

  remove(row) {
    this.rows = this.rows.filter((other) => other !== row);
    this.change();
  }

  // controls fills the fields if the address has other steps than they had last.
  controls() {
    const steps = this.chosen(), others = (state.steps ?? null) !== (this.last ?? null);
    this.last = state.steps;
    while (this.rows.length < Math.max(2, steps.length)) this.rows.push(this.row());
    if (others) this.rows.forEach((row, i) => {
      if (row.select) row.select.value = steps[i]?.measure ?? "";
      row.inputs.forEach((input, j) => (input.value = steps[i]?.texts[j] ?? ""));
    });
    this.rows.forEach((row, i) => {
      row.names.forEach((of, j) => say(of, `${i + 1}. ${(row.select ? ["step", ...this.page.job.by] : this.page.job.by)[j]}`));
      row.remove.setAttribute("aria-label", `Remove step ${i + 1}`);
      row.remove.hidden = this.rows.length < 3 && !steps[i];
    });
    put(this.steps, this.rows.map((row) => row.element));
    this.add.hidden = this.rows.length >= stepsMost;
    this.how.hidden = this.question() == null;
    if (this.how.hidden) {
      put(this.list);
      this.say("empty", "Fill in two steps or more.");
    }
  }

  // called names a step by its measure, where there are several, and by its groups.
  called({ measure, texts } = { texts: [] }) {
    const several = this.measures().length > 1 && measure;
    return [several, ...texts.map((text) => text || (several ? "" : "any"))].filter(Boolean).join(" · ");
  }

  show(answer) {
    const k = this.page.catalog.k, steps = this.chosen(), first = answer.steps[0] ?? {};
    put(this.list, answer.steps.map((s, i) => {
      const bar = h("span", { class: "bar", "aria-hidden": "true" }), most = h("span", { class: "bar most", "aria-hidden": "true" });
      bar.style.setProperty("--share", first.most ? s.least / first.most : 0);
      most.style.setProperty("--share", first.most ? s.most / first.most : 0);
      return h("li", null, h("div", { class: "row" }, most, bar, h("span", { class: "name" }, this.called(steps[i])),
        h("span", { class: "value" }, bounds(s, k)), h("span", { class: "error" }, i && first.least && !s.withheld ? of(s, first) : "")));
    }));
    return first.most || first.withheld ? "" : "Nobody takes the first step in this range.";
  }
}

// of writes which share of the people of a funnel's first step take another one.
function of(step, first) {
  const [least, most] = [share(step.least, first.most), share(Math.min(step.most, first.least), first.least)];
  return least === most ? least : `${least} to ${most}`;
}

// Process is the button of weir up that kills the process of the jobs, and what came of it. The curve has the
// events per second that health tells of, and a mark where no process answers. The bar of the
// seconds after that, which the next process catches up in, is cut off at the scale of the others.
export class Process extends Tile {
  constructor(page) {
    super("process", "Is anything lost?", page);
    this.samples = [];
    this.reached = new Map();
    this.button = h("button", { type: "button", class: "kill", onclick: () => this.kill() }, "Kill the process (signal 9)");
    this.path = h("path", { "vector-effect": "non-scaling-stroke" });
    this.gaps = h("path", { class: "gap", "vector-effect": "non-scaling-stroke" });
    this.curve = h("svg", { viewBox: "0 0 120 40", preserveAspectRatio: "none", role: "img", class: "curve" }, this.path, this.gaps);
    this.rate = h("p", { class: "total" });
    this.told = h("p", { class: "told", role: "status" });
    say(this.note, "Kill the process that counts, in the middle of its work, as a crash would. Another one takes over, and an audit compares log, ledger and rows.");
    put(this.body, h("div", { class: "process" }, h("div", null, this.button, this.rate), this.curve), this.told);
  }

  question() {
    return this.page.catalog.kill ? "health" : null;
  }

  // missed forgets the rates: the page has not asked for some time, so it knows of no silence.
  missed() {
    this.samples = [];
  }

  async kill() {
    this.button.disabled = true;
    this.tell("killing it …", "loading");
    try {
      const r = await fetch("api/v1/kill", { method: "POST" });
      if (!r.ok) throw new Error((await r.text()).slice(0, 300));
    } catch (e) {
      this.tell("It was not killed: " + e.message, "error");
      this.button.disabled = false;
    }
  }

  tell(text, what) {
    this.told.dataset.state = what;
    say(this.told, text);
  }

  // fresh returns how many events of a job are new: of offsets that no answer had reached before. What a process reads
  // again after a kill is not new, and neither is what ClickHouse had already when it got the partition.
  fresh({ job, events, records, partitions }) {
    let offsets = 0;
    for (const p of partitions) {
      const before = this.reached.get(job + " " + p.partition);
      let at = before?.next ?? 0;
      if (p.durable < before?.durable) at = p.durable; // of another topic, which was created in place of the one before
      else if (p.since !== before?.since) at = Math.max(at, p.durable);
      offsets += Math.max(0, p.next - at);
      this.reached.set(job + " " + p.partition, { ...p, next: Math.max(p.next, at) });
    }
    const total = (outcomes) => Object.values(outcomes).reduce((a, b) => a + b, 0);
    return events ? (offsets * total(events)) / Math.max(1, total(records)) : offsets;
  }

  show(answer) {
    const { pid, recovery } = answer.process;
    const at = Date.parse(answer.now), fresh = answer.jobs.reduce((sum, j) => sum + this.fresh(j), 0);
    const before = this.samples.at(-1);
    if (before) {
      for (let gap = before.at + 1000; at - gap > 1500; gap += 1000) this.samples.push({ at: gap, rate: 0, gap: true });
      if (at > before.at) this.samples.push({ at, rate: (fresh * 1000) / (at - before.at) });
    } else this.samples.push({ at, rate: 0, first: true }); // its rate is not known
    this.samples = this.samples.slice(-120);
    const rates = this.samples.map((s) => s.rate).filter((r) => r > 0).sort((a, b) => a - b);
    const most = rates.at(-1) ?? 0, scale = Math.max(1, Math.min(most, 2 * (rates[rates.length >> 1] ?? 0))), left = 120 - this.samples.length;
    const lines = (of, height) => this.samples.map((s, i) => (of(s) ? `M${left + i + 0.5} 40V${39.5 - 37 * height(s)}` : "")).join("");
    this.path.setAttribute("d", lines((s) => !s.gap, (s) => Math.min(1, s.rate / scale)));
    this.gaps.setAttribute("d", lines((s) => s.gap, () => 1));
    // A single second has no events now and then, and the next one those of both.
    const last = this.samples.slice(1 + this.samples.findLastIndex((s) => s.gap || s.first)).slice(-5);
    const now = last.length ? number(Math.round(last.reduce((sum, s) => sum + s.rate, 0) / last.length)) : "–";
    put(this.rate, h("strong", null, now), ` events per second, by process ${pid}`);
    const silent = this.samples.filter((s) => s.gap).length;
    this.curve.setAttribute("aria-label", `Events per second in the last two minutes: ${now} now, ${number(Math.round(most))} at most` + (silent ? `, ${silent} s without an answer.` : "."));
    const audit = answer.audit;
    if (recovery) this.tell(recovery.text, !recovery.over ? "loading" : /: 0 lost, 0 doubled$/.test(recovery.text) ? "ok" : "error");
    else if (!this.button.disabled) this.tell(audited(audit), !audit ? "loading" : audit.mismatches ? "error" : "ok");
    if (pid !== this.pid) this.button.disabled = false;
    this.pid = pid;
    return "";
  }
}

// audited says what the last audit found.
function audited(audit) {
  if (!audit) return "No scheduled audit has ended yet: the first begins soon after the start, if there is an audit.interval.";
  if (audit.mismatches) return `Audit: ${number(audit.mismatches)} mismatch${audit.mismatches === 1 ? "" : "es"} at ${when(audit.at, true)}.`;
  return `Audit: 0 mismatches at ${when(audit.at, true)}. Nothing is lost and nothing is doubled.`;
}

export class Health extends Tile {
  constructor(page) {
    super("health", "Health", page);
    say(this.note, "Outcomes are those of this process since its start. What it reads again after a kill is among them.");
  }

  question() {
    return "health";
  }

  show(answer) {
    const audit = answer.audit;
    const fact = (name, value, bad) => h("div", { class: bad && "bad" }, h("dt", null, name), h("dd", null, value));
    const jobs = answer.jobs.map((j) => h("div", { class: "job" },
      h("h3", null, j.job, h("span", { class: "pill", "data-state": j.trouble.length ? "error" : j.state }, j.trouble.length ? "trouble" : j.state)),
      j.trouble.map((text) => h("p", { class: "trouble" }, text)),
      h("dl", { class: "facts" },
        fact("lag", j.partitions.length ? number(j.lag) + " records" : "–"), fact("last flush", j.last_flush ? ago(j.last_flush, answer.now) + " ago" : "none yet"), fact("it took", j.last_flush ? Math.round(j.last_flush_took_s * 1000) + " ms" : "–"),
        fact("complete until", when(j.complete_until, true)),
        Object.entries(j.events ?? j.records ?? {}).filter(([k, n]) => n || k === "counted").sort((a, b) => b[1] - a[1]).map(([k, n]) => fact(k, number(n))),
        Object.entries(j.skipped ?? {}).map(([m, n]) => fact("skipped by " + m, number(n), n > 0)),
        j.without_record_time > 0 && fact("without a record's time", number(j.without_record_time))),
      h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Partitions of " + j.job }, h("table", null,
        h("thead", null, h("tr", null, ["Partition", "Lag", "Watermark", "Open chunk", "Durable"].map((t, i) => h("th", { scope: "col", class: i ? "n" : null }, t)))),
        h("tbody", null, j.partitions.map((p) => h("tr", null, h("th", { scope: "row" }, p.partition), h("td", { class: "n" }, number(p.lag)),
          h("td", { class: "n" }, p.watermark ? ago(p.watermark, answer.now) + " ago" : "–"),
          h("td", { class: "n" }, h("meter", { min: 0, max: p.chunk.size, value: p.chunk.offsets, "aria-label": `chunk ${p.chunk.number}: ${number(p.chunk.offsets)} of ${number(p.chunk.size)} offsets` }), " #" + p.chunk.number),
          h("td", { class: "n" }, number(p.durable)))))))));
    put(this.body,
      h("p", { class: "audit", "data-state": !audit ? "loading" : audit.mismatches ? "error" : "ok" }, audited(audit)),
      (audit?.found ?? []).map((f) => h("p", { class: "trouble" }, `${f.job}: ${f.what}. ${f.do}`)), h("div", { class: "jobs" }, jobs));
    return answer.jobs.length ? "" : "This process runs no jobs.";
  }
}

export class DeadLetters extends Tile {
  constructor(page) {
    super("dead", "Dead letters", page);
    say(this.note, "the last records that were not counted, and why");
    this.rows = h("tbody");
    this.table = h("div", { class: "scroll tall", tabindex: 0, role: "region", "aria-label": "Dead letters" }, h("table", { class: "dead" },
      h("thead", null, h("tr", null, ["Time", "Job", "Place", "Reason", "Record"].map((t) => h("th", { scope: "col" }, t)))), this.rows));
    put(this.body, this.table);
  }

  question() {
    return ask("dead-letters", { n: 50 });
  }

  show(answer) {
    const text = JSON.stringify(answer.dead_letters);
    if (text !== this.last) {
      this.last = text;
      put(this.rows, answer.dead_letters.map((d) => h("tr", null, h("td", null, stamp(d.at)), h("td", null, d.job), h("td", { class: "n" }, `${d.partition} / ${number(d.offset)}`),
        h("td", null, h("strong", null, d.outcome), " ", d.reason), h("td", null, h("code", null, d.payload || (d.bytes ? `${number(d.bytes)} bytes` : "")), d.binary && " (base64)"))));
    }
    this.table.hidden = !answer.dead_letters.length;
    return answer.dead_letters.length ? "" : "None: no record is kept that could not be counted.";
  }
}

// Quantity tiles need a measure of numbers; this returns the first ones of a job.
export const measuresOf = (job, shows) => job.measures.filter((m) => m.shows === shows);
