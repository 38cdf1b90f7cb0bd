// What the page shows is in its address, so that an address can be shared: the job, the
// range and its steps, measures, a group, a cell of the map, the steps of a funnel. The token is never in it.

const known = ["job", "people", "measure", "column", "last", "from", "until", "every", "cell", "step", "level", "gap", "steps"];

export const state = {};
let listeners = [];

export function read() {
  const q = new URLSearchParams(location.search);
  for (const k of Object.keys(state)) delete state[k];
  for (const k of known) if (q.get(k)) state[k] = q.get(k);
  for (const [k, v] of q) if (k.startsWith("by.")) state[k] = v;
  if (q.has("kiosk")) state.kiosk = "";
  document.documentElement.toggleAttribute("data-kiosk", "kiosk" in state);
}

// go changes some of the state; null removes.
export function go(change) {
  for (const [k, v] of Object.entries(change)) {
    if (v == null) delete state[k];
    else state[k] = v;
  }
  const q = new URLSearchParams(state).toString().replace("kiosk=", "kiosk");
  history.pushState(null, "", q ? "?" + q : location.pathname);
  listeners.forEach((f) => f());
}

export function watch(f) {
  listeners.push(f);
}

addEventListener("popstate", () => {
  read();
  listeners.forEach((f) => f());
});

// groups returns the chosen groups as parameters.
export const groups = () => Object.fromEntries(Object.entries(state).filter(([k]) => k.startsWith("by.")));

// ask writes a question for the API.
export function ask(path, parameters) {
  const q = new URLSearchParams();
  for (const [k, v] of Object.entries(parameters)) if (v != null) q.set(k, v);
  const text = q.toString();
  return text ? path + "?" + text : path;
}
