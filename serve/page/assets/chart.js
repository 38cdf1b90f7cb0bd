// A chart of one measure over time, with the band of its error. The table below it has the
// same numbers.

import { h, put, color, compact, number, stamp, margin } from "./dom.js";

const utc = (ts) => uPlot.tzDate(new Date(ts * 1000), "Etc/UTC");
const day = "{YYYY}-{MM}-{DD}";
const labels = [
  [86400, day, null, null, null, null, null, null, 1],
  [3600, "{HH}:{mm}", "\n" + day, null, null, null, null, null, 1],
  [60, "{HH}:{mm}", "\n" + day, null, null, null, null, null, 1],
  [1, "{HH}:{mm}:{ss}", "\n" + day, null, null, null, null, null, 1],
];

export class Chart {
  // zoom is called with two moments in seconds, when a part was selected.
  constructor(name, zoom) {
    this.name = name;
    this.zoom = zoom;
    this.plot = h("div", { class: "plot", role: "img" });
    this.body = h("tbody");
    this.table = h("details", { class: "table" }, h("summary", null, "As a table"),
      h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": name + " as a table" },
        h("table", null,
          h("thead", null, h("tr", null, h("th", { scope: "col" }, "From"), h("th", { scope: "col", class: "n" }, name), h("th", { scope: "col", class: "n" }, "Error"))),
          this.body)));
    this.table.addEventListener("toggle", () => this.last && this.fill());
    this.element = h("div", { class: "chart" }, this.plot, this.table);
    this.resize = new ResizeObserver(() => this.u && this.u.setSize(this.size()));
    this.resize.observe(this.plot);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.restyle());
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
    const y = points.map((p, i) => (filling(i) ? null : p.value));
    const low = points.map((p, i) => (y[i] == null ? null : Math.max(0, p.value - 2 * p.error)));
    const high = points.map((p, i) => (y[i] == null ? null : p.value + 2 * p.error));
    if (!this.u) this.make(answer);
    this.u.setData([x, low, high, y]);
    const now = y.findLast((v) => v != null);
    this.plot.setAttribute("aria-label",
      `${this.name}: ${points.length} steps from ${stamp(answer.from)} to ${stamp(answer.until)}, ${number(answer.total.value)} in all, ${number(now)} in the last. The table below has every step.`);
    if (this.table.open) this.fill();
  }

  fill() {
    put(this.body, this.last.points.toReversed().map((p) =>
      h("tr", null, h("th", { scope: "row" }, stamp(p.at)), h("td", { class: "n" }, p.withheld ? "hidden" : number(p.value)), h("td", { class: "n" }, margin(p)))));
  }

  make(answer) {
    const line = color("accent"), band = color("band"), ink = color("faint"), grid = color("grid");
    const axis = { stroke: ink, font: "12px system-ui, sans-serif", grid: { stroke: grid, width: 1 }, ticks: { show: false } };
    const steps = answer.points.length < 90 && answer.shows === "events" && uPlot.paths.bars ? uPlot.paths.bars({ size: [0.72, 60], radius: 0.15 }) : null;
    this.u = new uPlot({
      ...this.size(), tzDate: utc, padding: [12, 8, 0, 0], legend: { show: false },
      cursor: { y: false, points: { size: 7, fill: line }, drag: { x: true, y: false, setScale: false }, sync: { key: "time" } },
      scales: { y: { range: (_, min, max) => [0, Math.max(1, max * 1.08)] } },
      axes: [{ ...axis, values: labels, space: 64, size: 40 }, { ...axis, size: 52, values: (_, all) => all.map(compact) }],
      series: [{}, { paths: steps ? () => null : undefined, stroke: "transparent", points: { show: false } }, { paths: steps ? () => null : undefined, stroke: "transparent", points: { show: false } },
        { stroke: line, width: steps ? 0 : 2, fill: steps ? line : undefined, paths: steps ?? undefined, points: { show: false }, spanGaps: false }],
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
    this.tip = h("p", { class: "tip", "aria-hidden": "true" });
    this.plot.append(this.tip);
  }

  point(i) {
    const p = i == null ? null : this.last.points[i];
    this.tip.hidden = !p;
    if (p) put(this.tip, h("strong", null, p.withheld ? "hidden" : number(p.value)), " " + margin(p) + " · " + stamp(p.at).slice(5, 19));
  }
}
