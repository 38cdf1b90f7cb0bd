// A chart of one measure over time, with the band of its error or of its bounds. The table
// below it has the same numbers.

import { h, put, say, color, compact, number, stamp, margin, bounds } from "./dom.js";

// The axis of time is in UTC, whatever the clocks do where the page is looked at: uPlot would make
// its labels of moments there, some of which come twice when clocks change, and some never.
const lengths = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, ...[1, 2, 5, 10, 30, 90, 365].map((days) => days * 86400)];

const splits = (u, axis, min, max, length) => {
  const first = Math.ceil(min / length);
  return Array.from({ length: Math.max(0, Math.floor(max / length) - first + 1) }, (_, i) => (first + i) * length);
};

// labels writes moments, and below the first one and where another day or year begins its date.
const labels = (u, moments, axis, space, length) => moments.map((s, i) => {
  const at = stamp(s * 1000), before = i ? stamp(moments[i - 1] * 1000) : "";
  const begins = (n) => at.slice(0, n) !== before.slice(0, n);
  if (length >= 86400) return at.slice(5, 10) + (begins(4) ? "\n" + at.slice(0, 4) : "");
  return at.slice(11, length < 60 ? 19 : 16) + (begins(10) ? "\n" + at.slice(begins(4) ? 0 : 5, 10) : "");
});

// alone returns the points that no line leads to.
const alone = (u, series) => {
  const y = u.data[series];
  return [...y.keys()].filter((i) => y[i] != null && y[i - 1] == null && y[i + 1] == null);
};

export class Chart {
  // zoom is called with two moments in seconds, when a part was selected.
  constructor(name, zoom) {
    this.name = name;
    this.zoom = zoom;
    this.plot = h("div", { class: "plot", role: "img" });
    this.body = h("tbody");
    this.table = h("details", { class: "table" }, h("summary", null, "As a table"),
      (this.region = h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": name + " as a table" },
        h("table", null,
          h("thead", null, h("tr", null, h("th", { scope: "col" }, "From"), this.heads.map((text) => h("th", { scope: "col", class: "n" }, text)))),
          this.body))));
    this.table.addEventListener("toggle", () => this.last && this.fill());
    this.element = h("div", { class: "chart" }, this.plot, this.table);
    this.resize = new ResizeObserver(() => this.u && this.u.setSize(this.size()));
    this.resize.observe(this.plot);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.restyle());
  }

  // call gives the chart the name of what it shows now.
  call(name) {
    this.name = name;
    this.region.setAttribute("aria-label", name + " as a table");
    say(this.region.querySelector("th:nth-child(2)"), name);
  }

  // heads are those of the table's columns, and cells their texts for a point. span is what a
  // point is at least, about and at most; null: not known.
  get heads() {
    return [this.name, "Error"];
  }

  cells(p) {
    return [p.withheld ? "hidden" : number(p.value), margin(p)];
  }

  span(p) {
    return p.value == null ? [null, null, null] : [p.value < 0 ? p.value - 2 * p.error : Math.max(0, p.value - 2 * p.error), p.value, p.value + 2 * p.error];
  }

  size() {
    return { width: Math.max(200, this.plot.clientWidth), height: 190 };
  }

  restyle() {
    this.u?.destroy();
    this.u = null;
    if (this.last) this.show(this.last);
  }

  show(answer) {
    this.last = answer;
    const points = answer.points;
    const x = points.map((p) => Date.parse(p.at) / 1000);
    // A line would fall at the end, because the last step is still filling.
    const filling = (i) => answer.shows !== "events" && points.length > 2 && i === points.length - 1 && Date.parse(answer.as_of) < Date.parse(answer.until);
    const spans = points.map((p, i) => (filling(i) ? [null, null, null] : this.span(p)));
    const bars = answer.shows === "events" && 4 * points.length < this.size().width && uPlot.paths.bars != null;
    if (this.u && bars !== this.bars) {
      this.u.destroy();
      this.u = null;
    }
    this.bars = bars;
    if (!this.u) this.make();
    this.u.setData([x, ...[0, 2, 1].map((of) => spans.map((s) => s[of]))]);
    const now = points[spans.findLastIndex((s) => s[0] != null)];
    this.plot.setAttribute("aria-label",
      `${this.name}: ${points.length} steps from ${stamp(answer.from)} to ${stamp(answer.until)}, ${this.cells(answer.total)[0]} in all, ${now ? this.cells(now)[0] : "–"} in the last. The table below has every step.`);
    if (this.table.open) this.fill();
  }

  fill() {
    put(this.body, this.last.points.toReversed().map((p) =>
      h("tr", null, h("th", { scope: "row" }, stamp(p.at)), this.cells(p).map((text) => h("td", { class: "n" }, text)))));
  }

  make() {
    const line = color("accent"), band = color("band"), ink = color("faint"), grid = color("grid");
    const axis = { stroke: ink, font: "12px system-ui, sans-serif", grid: { stroke: grid, width: 1 }, ticks: { show: false } };
    // A single step has the axis to itself: uPlot would let it end in some years.
    const edge = this.edge ? line : "transparent";
    const steps = this.bars ? uPlot.paths.bars({ size: [0.72, 60], radius: 0.15 }) : null;
    this.u = new uPlot({
      ...this.size(), padding: [12, 30, 0, 0], legend: { show: false },
      cursor: { y: false, points: { size: 7, fill: line }, drag: { x: true, y: false, setScale: false }, sync: { key: "time", filters: { pub: (event) => event === "mousemove" || event === "mouseleave" } } },
      scales: { x: { range: (u, min, max) => (u.data[0].length === 1 ? [min, min + this.last.step_s] : [min, max]) }, y: { range: (_, min, max) => [Math.min(0, min * 1.08), max > 0 ? max * 1.08 : min < 0 ? 0 : 1] } },
      axes: [{ ...axis, incrs: lengths, splits, values: labels, space: 64, size: 40 }, { ...axis, size: 52, values: (_, all) => all.map(compact) }],
      series: [{}, { paths: steps ? () => null : undefined, stroke: edge, points: { show: false } }, { paths: steps ? () => null : undefined, stroke: edge, points: { show: false } },
        { stroke: line, width: steps ? 0 : 2, fill: steps ? line : undefined, paths: steps ?? undefined, points: { show: false, filter: steps ? undefined : alone, size: 5, fill: line }, spanGaps: false }],
      bands: [{ series: [2, 1], fill: band }],
      hooks: {
        setSelect: [(u) => {
          if (u.select.width < 8) return;
          const [from, until] = [u.select.left, u.select.left + u.select.width].map((p) => u.posToVal(p, "x"));
          u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
          this.zoom(from, until);
        }],
        setCursor: [(u) => this.point(u.cursor.idx)],
      },
    }, [[], [], [], []], this.plot);
    this.tip?.remove();
    this.tip = h("p", { class: "tip", "aria-hidden": "true" });
    this.plot.append(this.tip);
  }

  point(i) {
    const p = i == null ? null : this.last.points[i];
    this.tip.hidden = !p;
    if (p) put(this.tip, h("strong", null, this.cells(p)[0]), ` ${this.cells(p)[1] ?? ""} · ${stamp(p.at).slice(5, 19)}`);
  }
}

// A chart of a number of which two bounds are known.
export class Between extends Chart {
  edge = true;

  get heads() {
    return [this.name];
  }

  cells(p) {
    return [p.withheld ? "hidden" : bounds(p)];
  }

  span(p) {
    return [p.least, null, p.most];
  }
}
