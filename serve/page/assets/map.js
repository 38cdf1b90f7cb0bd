// The map: land and geohash cells on plate carrée, where a cell is a rectangle. Clicking a
// cell goes one letter deeper; the table has the same cells as buttons.

import { h, put, color, number } from "./dom.js";

const letters = "0123456789bcdefghjkmnpqrstuvwxyz";

// box returns the rectangle of a geohash in degrees.
export function box(hash) {
  let [west, east, south, north] = [-180, 180, -90, 90];
  let lon = true;
  for (const c of hash) {
    const v = letters.indexOf(c);
    for (let bit = 4; bit >= 0; bit--) {
      const one = (v >> bit) & 1;
      if (lon) one ? (west = (west + east) / 2) : (east = (west + east) / 2);
      else one ? (south = (south + north) / 2) : (north = (south + north) / 2);
      lon = !lon;
    }
  }
  return { west, east, south, north };
}

// land decodes the rings of a TopoJSON file: arcs of differences, scaled.
async function land(url) {
  const topology = await (await fetch(url)).json();
  const { scale, translate } = topology.transform;
  const arcs = topology.arcs.map((arc) => {
    let x = 0, y = 0;
    return arc.map(([dx, dy]) => [(x += dx) * scale[0] + translate[0], (y += dy) * scale[1] + translate[1]]);
  });
  const ring = (indices) => around(indices.flatMap((i) => (i < 0 ? arcs[~i].toReversed() : arcs[i])));
  return topology.objects.land.geometries.flatMap((g) => (g.type === "Polygon" ? [g.arcs] : g.arcs)).map((polygon) => polygon.map(ring));
}

// around lets a ring that crosses the 180th meridian go on beyond it, so that no edge runs
// back across the whole map. The edge of Antarctica at the pole is none of these.
function around(ring) {
  let turn = 0;
  return ring.map(([lon, lat], i) => {
    if (i && lat > -80 && Math.abs(lon - ring[i - 1][0]) > 180) turn += lon < ring[i - 1][0] ? 360 : -360;
    return [lon + turn, lat];
  });
}

export class WorldMap {
  // open is called with the cell to look into; "" is the world.
  constructor(open) {
    this.open = open;
    this.canvas = h("canvas", { role: "img", onclick: (e) => this.click(e), onmousemove: (e) => this.hover(e), onmouseleave: () => this.hover(null) });
    this.tip = h("p", { class: "tip", "aria-hidden": "true", hidden: true });
    this.path = h("nav", { class: "crumbs", "aria-label": "Cells of the map" });
    this.body = h("tbody");
    this.element = h("div", { class: "map" }, this.path, h("div", { class: "canvas" }, this.canvas, this.tip),
      h("details", { class: "table" }, h("summary", null, "As a table"),
        h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Cells as a table" },
          h("table", null, h("thead", null, h("tr", null, h("th", { scope: "col" }, "Cell"), h("th", { scope: "col" }, "Centre"), h("th", { scope: "col", class: "n" }, "People"))), this.body))));
    this.element.querySelector("details").addEventListener("toggle", () => this.last && this.fill());
    new ResizeObserver(() => this.draw()).observe(this.canvas); // which changes no size
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    const coast = () => land(new URL("vendor/land-110m.json", import.meta.url)).then((rings) => {
      this.rings = rings;
      this.draw();
    }, () => setTimeout(coast, 5000)); // the cells are there without it
    coast();
  }

  show(answer) {
    this.last = answer;
    const within = answer.within;
    put(this.path, h("ol", null, ["", ...within].map((_, i) => {
      const cell = within.slice(0, i);
      const here = cell === within;
      return h("li", null, h("button", { type: "button", "aria-current": here && "true", disabled: here, onclick: () => this.open(cell) }, cell || "World"));
    })));
    this.canvas.setAttribute("aria-label", `Map of ${within ? "the cell " + within : "the world"}: ${number(within ? answer.cells.reduce((sum, c) => sum + c.people, 0) : answer.people)} people in ${answer.cells.length} cells. The table below has every cell.`);
    this.draw();
    if (this.element.querySelector("details").open) this.fill();
  }

  fill() {
    const deeper = this.last.within.length + 1;
    put(this.body, this.last.cells.toSorted((a, b) => b.people - a.people).map((c) => {
      const b = box(c.geohash);
      return h("tr", null,
        h("th", { scope: "row" }, deeper < 8 ? h("button", { type: "button", class: "link", onclick: () => this.open(c.geohash.slice(0, deeper)) }, c.geohash) : c.geohash),
        h("td", null, `${((b.south + b.north) / 2).toFixed(2)}°, ${((b.west + b.east) / 2).toFixed(2)}°`), h("td", { class: "n" }, number(c.people)));
    }));
  }

  // view returns what part of the world is shown: a cell, in the shape of the canvas.
  view() {
    const b = this.last?.within ? box(this.last.within) : { west: -180, east: 180, south: -60, north: 84 };
    const pad = this.last?.within ? 0.12 : 0;
    const shape = this.canvas.clientWidth / this.canvas.clientHeight;
    let w = (b.east - b.west) * (1 + pad), t = (b.north - b.south) * (1 + pad);
    if (w / t < shape && this.last?.within) w = t * shape;
    else t = w / shape;
    return { west: (b.west + b.east) / 2 - w / 2, north: (b.south + b.north) / 2 + t / 2, scale: this.canvas.clientWidth / w };
  }

  draw() {
    const { clientWidth: w, clientHeight: t } = this.canvas;
    if (!w) return;
    const sharp = devicePixelRatio || 1;
    if (this.canvas.width !== Math.round(w * sharp) || this.canvas.height !== Math.round(t * sharp)) {
      this.canvas.width = Math.round(w * sharp);
      this.canvas.height = Math.round(t * sharp);
    }
    const g = this.canvas.getContext("2d");
    const v = this.view();
    const x = (lon) => (lon - v.west) * v.scale, y = (lat) => (v.north - lat) * v.scale;
    g.setTransform(sharp, 0, 0, sharp, 0, 0);
    g.clearRect(0, 0, w, t);
    g.fillStyle = color("land");
    for (const polygon of this.rings ?? []) {
      const lons = polygon[0].map(([lon]) => lon);
      for (const turn of [0, Math.max(...lons) > 180 && -360, Math.min(...lons) < -180 && 360]) {
        if (turn === false) continue;
        g.beginPath();
        for (const ring of polygon) {
          ring.forEach(([lon, lat], i) => (i ? g.lineTo(x(lon + turn), y(lat)) : g.moveTo(x(lon + turn), y(lat))));
          g.closePath();
        }
        g.fill("evenodd");
      }
    }
    if (!this.last) return;
    if (this.last.within) {
      const b = box(this.last.within);
      g.strokeStyle = color("line");
      g.strokeRect(x(b.west), y(b.north), (b.east - b.west) * v.scale, (b.north - b.south) * v.scale);
    }
    const most = Math.max(1, ...this.last.cells.map((c) => c.people));
    g.fillStyle = color("accent");
    for (const c of this.last.cells) {
      const b = box(c.geohash);
      g.globalAlpha = 0.18 + 0.82 * Math.sqrt(c.people / most);
      const side = Math.max(2, (b.east - b.west) * v.scale - 1), top = Math.max(2, (b.north - b.south) * v.scale - 1);
      g.fillRect(x(b.west) + 0.5, y(b.north) + 0.5, side, top);
    }
    g.globalAlpha = 1;
  }

  at(e) {
    const v = this.view();
    const r = this.canvas.getBoundingClientRect();
    const lon = v.west + (e.clientX - r.left) / v.scale, lat = v.north - (e.clientY - r.top) / v.scale;
    return this.last?.cells.find((c) => {
      const b = box(c.geohash);
      return lon >= b.west && lon < b.east && lat >= b.south && lat < b.north;
    });
  }

  click(e) {
    const c = this.at(e);
    const deeper = this.last ? this.last.within.length + 1 : 0;
    if (c && deeper < 8) this.open(c.geohash.slice(0, deeper));
  }

  hover(e) {
    const c = e && this.at(e);
    this.tip.hidden = !c;
    this.canvas.style.cursor = c ? "zoom-in" : "";
    if (c) put(this.tip, h("strong", null, number(c.people)), " " + (c.people === 1 ? "person" : "people") + " in " + c.geohash);
  }
}
