// The page: asks what there is, lays out the tiles, and keeps one stream open whose
// questions are those of the tiles.

import { h, put, say, select, when, fromTo, span } from "./dom.js";
import { state, read, go, watch } from "./state.js";
import { People, Series, Heat, Members, Top, Returning, Sessions, Funnel, Process, Health, DeadLetters, measuresOf, lengths } from "./tiles.js";

const $ = (id) => document.getElementById(id);
const ranges = [["15m", "15 min"], ["1h", "1 h"], ["6h", "6 h"], ["24h", "24 h"]], longer = [["7d", "7 d"], ["28d", "28 d"]];

class Page {
  catalog = null;
  job = null;
  explain = (tile) => explain(tile);

  people() {
    const all = measuresOf(this.job, "people");
    return all.find((m) => m.name === state.people) ?? all[0];
  }

  // numbers returns the measure of the third chart: one of the events' own numbers.
  number() {
    const all = measuresOf(this.job, "number");
    return all.find((m) => m.name === state.measure) ?? all[0];
  }

  // learn keeps the values of a group column that were shown last, for the fields that suggest them.
  learn(column, values) {
    const known = $("known-" + column);
    if (values.join("\0") !== [...known.options].map((o) => o.value).join("\0")) put(known, values.map((v) => h("option", { value: v })));
  }
}

const page = new Page();
let tiles = [];
let stream = null;
let heard = null; // when the last event came, by two clocks: one may be set back, the other stands while the machine sleeps
let again = 0;
let away = false; // out of sight, and without a stream

const hear = () => (heard = { date: Date.now(), running: performance.now() });
const silence = () => Math.max(Date.now() - heard.date, performance.now() - heard.running) / 1000;

// start asks what there is, and begins; without it, it says why and tries again.
async function start() {
  clearTimeout(again);
  try {
    await session();
    const r = await fetch("api/v1/jobs", { cache: "no-store", signal: AbortSignal.timeout(10000) });
    if (r.status === 401) return token();
    const catalog = await answered(r), same = tiles.length && told(catalog) === told(page.catalog);
    page.catalog = catalog;
    if (same) return listen(); // what is being typed stays
  } catch (e) {
    live("error", "no answer from weir");
    if (!tiles.length) put($("main"), h("p", { class: "notice", role: "alert" }, "weir does not answer: " + e.message + ". This page tries again every 2 s."));
    again = setTimeout(start, 2000);
    return;
  }
  say($("version"), "weir " + page.catalog.build.version);
  layout();
}

// answered returns what weir answered, or throws the error that it answered with. What is not
// JSON comes from elsewhere, such as a proxy without a weir behind it.
async function answered(r) {
  const text = await r.text();
  let answer;
  try {
    answer = JSON.parse(text);
  } catch {
    throw new Error(`HTTP ${r.status} ${r.statusText}, which is not from weir`);
  }
  if (!r.ok) throw new Error(answer.error);
  return answer;
}

const told = (catalog) => JSON.stringify({ ...catalog, now: null });

let given = null; // the token of the fragment, until it is answered

// session trades the token of the fragment for a cookie, and takes it out of the address.
async function session() {
  given ??= new URLSearchParams(location.hash.slice(1)).get("token");
  if (!given) return;
  history.replaceState(null, "", location.pathname + location.search);
  await trade(given);
  given = null;
}

const trade = (token) => fetch("api/v1/session", { method: "POST", headers: { Authorization: "Bearer " + token } });

// token asks for the token.
function token() {
  live("error", "a token is needed");
  stream?.close();
  tiles = [];
  put($("controls"));
  const input = h("input", { type: "password", id: "token", autocomplete: "current-password", required: true });
  put($("main"), h("form", {
    class: "notice", onsubmit: async (e) => {
      e.preventDefault();
      try {
        if ((await trade(input.value)).ok) return start();
        say(wrong, "That is not the token.");
      } catch (e) {
        say(wrong, "weir does not answer: " + e.message + ". Try again.");
      }
    },
  }, h("h2", null, "This weir asks for its token"), h("p", null, "It is the one of http.token_file. The browser keeps a cookie in its place."),
    h("label", { for: "token" }, "Token"), input, h("button", { type: "submit" }, "Show the page")));
  const wrong = h("p", { role: "alert" });
  $("main").firstChild.append(wrong);
  input.focus();
}

function layout() {
  if (!page.catalog.jobs.length) {
    live("ok", "no jobs");
    put($("main"), h("p", { class: "notice" }, "This process runs no jobs."));
    return;
  }
  page.job = page.catalog.jobs.find((j) => j.job === state.job) ?? page.catalog.jobs[0];
  if (!tiles.length || tiles.job !== page.job.job) build();
  refresh();
}

function build() {
  const heat = new Heat(page);
  tiles = [
    new People(page), new Process(page),
    new Series(page, "hits", "Hits over time", () => page.job.measures[0]),
    new Series(page, "over", "People over time", () => page.people()),
    new Series(page, "number", "Over time", () => page.number(), () => measuresOf(page.job, "number")),
    heat, new Top(page), new Members(page, heat), new Returning(page), new Sessions(page), new Funnel(page), new Health(page), new DeadLetters(page),
  ];
  tiles.job = page.job.job;
  put($("known"), page.job.by.map((c) => h("datalist", { id: "known-" + c })));
}

// refresh shows the controls, and asks what the tiles ask now.
function refresh() {
  controls();
  const offered = tiles.filter((t) => t.offered());
  const elements = offered.map((t) => t.element);
  if (elements.length !== $("main").childElementCount || elements.some((e, i) => $("main").children[i] !== e)) put($("main"), elements);
  offered.forEach((t) => t.controls?.());
  listen();
}

// listen connects the tiles that ask something.
function listen() {
  connect(tiles.filter((t) => t.offered() && t.question() != null));
}

function controls() {
  const people = measuresOf(page.job, "people").map((m) => m.name);
  const filters = Object.keys(state).filter((k) => k.startsWith("by."));
  const chips = [
    state.from && chip(fromTo(state.from, state.until ?? Date.now()), { from: null, until: null }),
    gone(people),
    filters.map((k) => chip(`${k.slice(3)} = ${state[k]}`, { [k]: null })),
  ];
  if ("kiosk" in state) return put($("controls"), chips);
  put($("controls"),
    page.catalog.jobs.length > 1 && select("Job", page.catalog.jobs.map((j) => j.job), page.job.job, (v) => go({ job: v, people: null, measure: null, column: null, step: null, steps: null, ...Object.fromEntries(filters.map((k) => [k, null])) })),
    people.length > 1 && select("People", people, page.people().name, (v) => go({ people: v })),
    h("fieldset", { class: "ranges" }, h("legend", { class: "hidden" }, "Range"), [...ranges, ...(page.job.rollup_s ? longer : [])].map(([v, text]) =>
      h("button", { type: "button", "aria-pressed": String(!state.from && (state.last ?? "1h") === v), onclick: () => go({ last: v, from: null, until: null }) }, text))),
    other(),
    select("Steps", [["", "auto"], ...lengths(page.job).map((s) => [String(s), span(s)])], state.every, (v) => go({ every: v || null })),
    only(),
    chips);
}

// gone says what the address asks for and this weir does not have: the page shows something else instead.
function gone(people) {
  const has = { job: [page.job.job], people, measure: page.job.measures.map((m) => m.name), column: page.job.by };
  return Object.keys(has).filter((k) => k in state && !has[k].includes(state[k])).map((k) =>
    chip(`no ${k === "job" ? "job" : k === "column" ? `column of ${page.job.job}` : `measure of ${page.job.job}`} is called ${state[k]}` + (k === "job" ? `: this is ${page.job.job}` : ""), { [k]: null }));
}

// other asks for the two ends of a range.
function other() {
  const end = (text, at) => h("label", { class: "choice" }, h("span", null, text), h("input", { type: "datetime-local", value: isNaN(Date.parse(at)) ? "" : new Date(at).toISOString().slice(0, 19) }));
  const from = end("From (UTC)", state.from), until = end("Until (UTC)", state.until), wrong = h("p", { role: "alert", class: "error" });
  const at = (label) => label.querySelector("input").value.padEnd(19, ":00") + "Z";
  const show = () => {
    if (Date.parse(at(from)) < Date.parse(at(until))) go({ from: at(from), until: at(until), last: null });
    else say(wrong, "Give two times, the earlier one first.");
  };
  return aside("Other range", h("div", null, from, until, h("button", { type: "button", onclick: show }, "Show"), wrong));
}

// only asks for a value of a group column, to show it alone.
function only() {
  const columns = page.job.by.filter((c) => !("by." + c in state));
  if (!columns.length) return null;
  const fields = columns.map((c) => h("label", { class: "choice" }, h("span", null, c), h("input", { name: c, autocomplete: "off", spellcheck: "false", list: "known-" + c })));
  const chosen = () => Object.fromEntries(fields.map((f) => f.querySelector("input")).filter((f) => f.value).map((f) => ["by." + f.name, f.value]));
  const show = () => Object.keys(chosen()).length && go(chosen());
  return aside("Filter", h("div", { onkeydown: (e) => e.key === "Enter" && (e.preventDefault(), show()) }, fields, h("button", { type: "button", onclick: show }, "Show")));
}

// aside makes what opens over the tiles. It closes by Escape, and when the mouse or the focus goes elsewhere.
function aside(name, body) {
  const summary = h("summary", null, name);
  return h("details", { class: "other", ontoggle: fit, onkeydown: (e) => {
    if (e.key !== "Escape") return;
    e.currentTarget.open = false;
    summary.focus();
  } }, summary, body);
}

// fit moves what is open into the window.
function fit() {
  for (const body of document.querySelectorAll(".other[open] > div")) {
    body.style.marginLeft = "";
    body.style.marginLeft = Math.min(0, document.documentElement.clientWidth - 8 - body.getBoundingClientRect().right) + "px";
  }
}
addEventListener("resize", fit);

for (const what of ["pointerdown", "focusin"]) {
  addEventListener(what, (e) => document.querySelectorAll(".other[open]").forEach((of) => of.contains(e.target) || (of.open = false)));
}

// chip says what is shown, and takes it away on a click. A wall has nothing to click.
function chip(text, change) {
  if ("kiosk" in state) return h("span", { class: "chip" }, h("span", null, text));
  return h("button", { type: "button", class: "chip", "aria-label": text + ", remove", onclick: () => go(change) }, h("span", null, text), h("span", { "aria-hidden": "true" }, " ×"));
}

let asked = "";

// connect opens a stream for the questions of the tiles, unless one has the same. Tiles with
// the same question share its answers.
function connect(asking) {
  if (away) return;
  const questions = [...new Set(asking.map((t) => t.question()))];
  const url = "api/v1/stream?" + questions.map((q) => "ask=" + encodeURIComponent(q)).join("&");
  if (url === asked && stream && stream.readyState !== EventSource.CLOSED) return;
  stream?.close();
  asking.forEach((t) => {
    if (t.asking !== t.question()) t.reset();
    t.asking = t.question();
  });
  asked = url;
  const now = (stream = new EventSource(url));
  questions.forEach((q, i) => now.addEventListener("ask" + i, (e) => {
    hear();
    const answer = JSON.parse(e.data);
    asking.filter((t) => t.asking === q).forEach((t) => t.take(answer));
    if (q !== "health" && answer.status === 200 && !answer.answer.partial) {
      whole = Date.now();
      asOf = answer.answer.as_of ?? asOf;
    }
    judge();
  }));
  now.onopen = () => {
    if (now === stream && now.broke) start(); // perhaps another process, with other jobs
    now.broke = false;
  };
  now.onerror = () => {
    if (now !== stream) return;
    now.broke = true;
    live("stale", "connecting again");
    if (now.readyState === EventSource.CLOSED) { // refused: the browser does not try again
      asked = "";
      again = setTimeout(start, 2000);
      refusal(url).then((why) => {
        if (!why || now !== stream) return;
        live("error", "refused");
        // Old numbers stay.
        asking.forEach((t) => t.say(["loading", "error"].includes(t.element.dataset.state) ? "error" : t.element.dataset.state, why));
      });
    }
  };
}

// ClickHouse is away if tiles lack it and no question had a whole answer for so many milliseconds. Then one banner says
// so, in place of each tile.
const lacking = 2500;
let whole = Date.now(); // when the last whole answer came
let asOf = null; // the time that it was of

function judge() {
  const silent = Date.now() - whole, gone = silent > lacking && tiles.some((t) => t.offered() && t.lacks);
  live(gone ? "away" : "ok", gone ? "ClickHouse is away" : "live");
  say($("away-length"), ` for ${Math.round(silent / 1000)} s`);
  say($("away-old"), asOf ? ` The grey numbers are of ${when(asOf, true)}.` : "");
  tiles.forEach((t) => t.lack(whole));
}

// refusal asks why a stream is refused; empty: it is not, or nothing answers.
async function refusal(url) {
  const stop = new AbortController();
  try {
    const r = await fetch(url, { cache: "no-store", signal: stop.signal });
    return r.ok || r.status === 401 ? "" : (await r.text()).trim().slice(0, 300);
  } catch {
    return "";
  } finally {
    stop.abort();
  }
}

// live shows whether the numbers are live. The length of a silence is not read aloud every second.
function live(what, text, length = "") {
  $("live").dataset.state = what;
  document.documentElement.dataset.live = what;
  $("away").hidden = what !== "away";
  say($("live-text"), text);
  say($("live-length"), length);
}

// After so many seconds without an answer the connection is taken for broken, even if nothing says
// so, as after a change of network: the rarest questions are answered every 30 s.
const broken = 60;

setInterval(() => {
  if (!heard || away || $("live").dataset.state === "error") return;
  const silent = Math.round(silence());
  if (silent > 5) live("stale", "no answer", ` for ${silent} s`);
  if (silent > broken) anew();
}, 1000);

// anew opens another stream in place of the one that there is. What is shown is old until it answers.
function anew() {
  rest();
  if (heard) hear(); // the next one gets as long
  whole = Date.now();
  tiles.filter((t) => t.offered() && t.question() != null).forEach((t) => t.element.toggleAttribute("data-old", true));
  start();
}

function rest() {
  stream?.close();
  stream = null;
  asked = "";
}

// A browser has six connections for all pages of a weir, and a stream takes one: a seventh page would
// not load. So a page that is out of sight gives its stream back, and asks again when it is seen.
const unseen = 5000;
let leave = 0;

function look() {
  clearTimeout(leave);
  if (document.hidden) {
    leave = setTimeout(() => {
      away = true;
      rest();
    }, unseen);
  } else if (away) {
    away = false;
    if ($("token")) return; // what is being typed stays
    live(heard ? "stale" : "loading", heard ? "connecting again" : "connecting");
    tiles.forEach((t) => t.missed?.());
    anew();
  }
}
document.addEventListener("visibilitychange", look);

// explain shows how to ask the question of a tile elsewhere.
async function explain(tile) {
  const dialog = $("ask");
  const close = h("button", { type: "button", class: "close", "aria-label": "Close", onclick: () => dialog.close() }, "×");
  const body = h("div", null, h("p", { class: "message" }, "Asking …"));
  put(dialog, h("div", { class: "head" }, h("h2", { id: "ask-title" }, "Ask it yourself: " + tile.title.textContent), close), body);
  dialog.showModal();
  try {
    const r = await fetch("api/v1/explain?of=" + encodeURIComponent(tile.asking), { cache: "no-store" });
    const answer = await answered(r);
    const line = (name, text, note) => text && [h("h3", null, name), note && h("p", { class: "note" }, note), copyable(text)];
    put(body, line("SQL", answer.sql, (tile.asking.startsWith("people") ? "Gives the number of the last 30 minutes" : "Gives the same numbers") + ", as of the last flush. A range that ends now moves on: open this again for the latest."),
      line("redis-cli", answer.redis && "redis-cli " + answer.resp.replace(/^\[?(.*?)\]?:(\d+)$/, "-h $1 -p $2 ") + answer.redis.replace(/^(\S+ )(.*)$/, (_, c, k) => c + quoted(k)), tile.asking.startsWith("list") ? "" : "Gives one number, as of now: " + (tile.asking.startsWith("people") ? "that of the last 30 minutes." : "that of the whole range.")),
      line("HTTP", "curl " + (page.catalog.token ? "-H 'Authorization: Bearer TOKEN' " : "") + quoted(location.origin + answer.http)));
  } catch (e) {
    put(body, h("p", { class: "message" }, e instanceof TypeError ? `weir does not answer: ${e.message}. Open this again.` : e.message));
  }
}

// quoted writes a text for a shell.
const quoted = (text) => "'" + text.replaceAll("'", "'\\''") + "'";

function copyable(text) {
  const code = h("code", null, text);
  const button = h("button", { type: "button", onclick: async () => {
    say(button, (await copy(text, code)) ? "Copied" : "Selected");
    setTimeout(() => say(button, "Copy"), 1500);
  } }, "Copy");
  return h("div", { class: "copy" }, h("pre", { tabindex: 0 }, code), button);
}

// copy copies a text. Browsers give the clipboard only to a page of https or of this machine; on
// others the text is selected where it stands, and copied from there.
async function copy(text, element) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    getSelection().selectAllChildren(element);
    return document.execCommand("copy");
  }
}

read();
watch(() => page.catalog && !$("token") && layout());
put($("main"));
live("loading", "connecting");
look(); // it may be opened out of sight
start();
