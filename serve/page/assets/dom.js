// Small helpers: elements, numbers and times. Every value from data becomes a text node or
// an attribute; there is no innerHTML anywhere.

const svg = "http://www.w3.org/2000/svg";

// h makes an element: h("p", {class: "x", onclick: f}, "text", child, [more]).
export function h(tag, attributes, ...children) {
  const of = ["svg", "path"].includes(tag) ? document.createElementNS(svg, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name.startsWith("on")) of.addEventListener(name.slice(2), value);
    else if (value === true) of.setAttribute(name, "");
    else if (value !== false && value != null) of.setAttribute(name, value);
  }
  of.append(...children.flat(3).filter((c) => c != null && c !== false));
  return of;
}

// put replaces what is in an element. A child that is in its place already is not taken out
// and put in again: it would lose the focus, and a click that is under way. If the element
// with the focus goes, the one of the same name gets it.
export function put(of, ...children) {
  const next = children.flat(3).filter((c) => c != null && c !== false);
  const held = of.contains(document.activeElement) ? document.activeElement : null;
  next.forEach((c, i) => {
    const there = of.childNodes[i] ?? null;
    if (c !== there) of.insertBefore(c instanceof Node ? c : document.createTextNode(c), there);
  });
  while (of.childNodes.length > next.length) of.lastChild.remove();
  if (!held || held === document.activeElement) return;
  if (!held.isConnected) [...of.querySelectorAll(held.tagName)].find((e) => named(e) === named(held))?.focus({ preventScroll: true });
  else held.focus({ preventScroll: true });
}

const named = (of) => of.closest("label")?.textContent ?? of.getAttribute("aria-label") ?? of.textContent;

// say sets the text of an element, if it is another one.
export function say(of, text) {
  if (of.textContent !== text) of.textContent = text;
}

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const small = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });
const fine = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 }); // below 1
const far = new Intl.NumberFormat("en", { notation: "scientific", maximumSignificantDigits: 6 }); // a text of hundreds of digits fits nowhere
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const percent = new Intl.NumberFormat("en", { style: "percent", maximumFractionDigits: 0 });

// outlying says whether a number has so many digits, before or behind the point, that it is written with a power of ten.
const outlying = (v) => Math.abs(v) >= 1e15 || (v !== 0 && Math.abs(v) < 1e-6);

// number writes a value in full, but for digits that are too many.
export function number(v) {
  if (v == null) return "–";
  if (outlying(v)) return far.format(v);
  return Number.isInteger(v) ? whole.format(v) : (Math.abs(v) < 1 ? fine : small).format(v);
}
// shown writes the value of a number of the API; k is how few people are withheld.
export const shown = (n, k) => (n.withheld ? "< " + k : number(n.value));
// bounds writes a number of which the API has two bounds.
export const bounds = (n, k) => (n.withheld ? "< " + k : n.least === n.most ? number(n.least) : `${number(n.least)} to ${number(n.most)}`);
export const compact = (v) => (v == null ? "" : (outlying(v) ? far : Math.abs(v) < 1 ? fine : short).format(v));
export const share = (part, all) => (all ? percent.format(part / all) : "–");

// margin writes how far off a number may be: 95 % of such estimates are at most two
// standard errors off.
export function margin(n) {
  if (n.withheld) return "too few people to show";
  if (n.value == null) return "";
  if (!(n.error > 0)) return written(n.value) ? "exact" : "rounded";
  return "± " + (Number.isInteger(n.value) ? whole.format(Math.ceil(2 * n.error)) : number(2 * n.error));
}

// written says whether number writes all digits that a value has in the log. Beyond 2^53 JavaScript has lost some.
const written = (v) => Math.abs(v) <= Number.MAX_SAFE_INTEGER && Number(number(v).replaceAll(",", "")) === v;

export const clock = (t, seconds) => (t ? new Date(t).toISOString().slice(11, seconds ? 19 : 16) : "–");
// stamp writes a moment, and a text that is none as it stands: an address may have one.
export const stamp = (t) => (!t ? "–" : isNaN(new Date(t)) ? String(t) : new Date(t).toISOString().slice(0, 19).replace("T", " "));

// when writes a moment, with its date if that is not today's.
export const when = (t, seconds) => (stamp(t).slice(0, 10) === stamp(Date.now()).slice(0, 10) ? clock(t, seconds) : stamp(t).slice(0, seconds ? 19 : 16));

// fromTo writes two moments, and the date of the second one if it is another.
export const fromTo = (from, until) => `${stamp(from).slice(0, 16)} to ${stamp(until).slice(stamp(from).slice(0, 10) === stamp(until).slice(0, 10) ? 11 : 0, 16)}`;

// ago writes the time between two moments.
export function ago(t, now) {
  if (!t) return "never";
  const s = Math.max(0, (new Date(now) - new Date(t)) / 1000);
  if (s < 10) return s.toFixed(1) + " s";
  if (s < 120) return Math.round(s) + " s";
  if (s < 7200) return Math.round(s / 60) + " min";
  return Math.round(s / 3600) + " h";
}

// span writes a length of time given in seconds.
export function span(s) {
  if (s % 86400 === 0) return s / 86400 + " d";
  if (s % 3600 === 0) return s / 3600 + " h";
  if (s % 60 === 0) return s / 60 + " min";
  return s + " s";
}

// color returns a colour of the style sheet.
export const color = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();

// select makes a labelled choice; options are values, or pairs of value and text.
export function select(label, options, value, change) {
  const of = h("select", { onchange: (e) => change(e.target.value) },
    options.map((o) => {
      const [v, text] = Array.isArray(o) ? o : [o, o];
      return h("option", { value: v, selected: v === value }, text);
    }));
  return h("label", { class: "choice" }, h("span", null, label), of);
}
