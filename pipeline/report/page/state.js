// What is shown, as one object, in the fragment of the address. There, a conversation is its id and version.

import { addressOf, placeAt, report } from "./data.js";

const DEFAULTS = {
  view: "overview",
  version: "",
  criterion: "",
  change: "",
  outcome: "",
  label: "",
  tool: "",
  language: "",
  tag: "",
  problem_type: "",
  text: "",
  deep: "",
  agent: "",
  severity: "",
  sort: "",
  order: "",
  id: "",
  of: "",
  nth: "",
  beside: "",
  slice: "",
  baseline: "",
  candidate: "",
  theme: "",
};
const KEPT = ["theme", "beside", "baseline", "candidate"];

// `at` is the place of the conversation; "": none, "-1": there is no such one.
export const state = { ...DEFAULTS, at: "" };

export function readState() {
  Object.assign(state, DEFAULTS);
  for (const [name, value] of new URLSearchParams(location.hash.slice(1))) {
    if (Object.hasOwn(DEFAULTS, name)) state[name] = value;
  }
  state.at = state.id === "" || !report.conversations ? "" : String(placeAt(state));
}

// The address of the present state with some changes.
export function link(changes) {
  const own = new URLSearchParams();
  const at = changes.at === undefined ? {} : addressOf(changes.at);
  for (const [name, value] of Object.entries({ ...state, ...changes, ...at })) {
    if (value !== "" && name !== "at" && value !== DEFAULTS[name]) own.set(name, value);
  }
  return `#${own}`;
}

// The address of a screen without the filters of the present one.
export function fresh(changes) {
  const kept = Object.fromEntries(KEPT.map((name) => [name, state[name]]));
  return link({ ...DEFAULTS, ...kept, ...changes });
}

export function go(address) {
  location.hash = address;
}

// Changes the state without a new entry in the history, as for each letter of a search.
export function amend(changes) {
  history.replaceState(null, "", link(changes));
  dispatchEvent(new HashChangeEvent("hashchange"));
}
