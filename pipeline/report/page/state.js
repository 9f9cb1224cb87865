// What is shown, as one object, in the fragment of the address.

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
  sort: "",
  at: "",
  beside: "",
  slice: "",
  theme: "",
};
const KEPT = ["theme", "beside"];

export const state = { ...DEFAULTS };

export function readState() {
  Object.assign(state, DEFAULTS);
  for (const [name, value] of new URLSearchParams(location.hash.slice(1))) {
    if (Object.hasOwn(DEFAULTS, name)) state[name] = value;
  }
}

// The address of the present state with some changes.
export function link(changes) {
  const own = new URLSearchParams();
  for (const [name, value] of Object.entries({ ...state, ...changes })) {
    if (value !== "" && value !== DEFAULTS[name]) own.set(name, value);
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
