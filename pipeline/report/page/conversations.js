// All conversations: filters, search, and the list.

import { SEVERITY } from "./about.js";
import { compared } from "./compared.js";
import { nameOf, report, size } from "./data.js";
import { button, choice, copy, h } from "./dom.js";
import { counted, number, shown } from "./format.js";
import { FILTERS, filtered, searchTranscripts, searched } from "./filter.js";
import { csv, scoreNames, virtualList } from "./list.js";
import { amend, fresh, go, link, readState, state } from "./state.js";

const SORTS = [["", "most severe"], ["time", "latest"], ["latency", "slowest"], ["turns", "longest"], ["errors", "most tool errors"]];
const OUTCOMES = [["", "any"], ["PASS", "pass"], ["FAIL", "fail"], ["no_verdict", "no verdict"]];
const CHANGES = [["", "any"], ["regressed", "regressed"], ["fixed", "fixed"], ["still_failing", "still failing"]];
const WAIT = 150;
const NARROW = 760;

let list = null;
let timer = 0;

export function conversations() {
  const places = filtered();
  const selected = state.at === "" ? undefined : Number(state.at);
  list = virtualList(places, selected);
  requestAnimationFrame(() => list.select(selected ?? places[0]));
  return [
    h("h1", null, "Conversations"),
    filters(),
    h("p", { class: "actions" }, h("span", { id: "found" }, foundText(places)),
      places.length ? button("Copy as CSV", () => copy(csv(places), `${counted(places.length, "conversation")} as CSV`)) : null),
    report.omitted ? h("p", { class: "problem" }, omittedText()) : null,
    places.length ? list.box : h("p", null, "No conversation fits. ", h("a", { href: fresh({ view: "conversations" }) }, "Remove all filters")),
  ];
}

function foundText(places) {
  const { done, failed } = searched();
  const search = state.deep && state.text ? `; ${done} of ${report.chunks} parts of the transcripts searched` : "";
  return `${number(places.length)} of ${counted(size(), "conversation")}${search}${failed ? `; ${failed}` : ""}`;
}

function omittedText() {
  return `${counted(report.omitted, "transcript")} left out of this single file: it holds a random sample, and as many others that did not pass as there was room for.`;
}

function filters() {
  const set = (name) => (value) => go(link({ [name]: value, at: "" }));
  const pick = (name, label, options) => choice(label, options, state[name], set(name));
  const { page } = compared();
  const isFiltered = [...FILTERS, "slice"].some((name) => state[name] !== "");
  return h("form", { role: "search", onsubmit: (event) => event.preventDefault() },
    h("div", { class: "filters" }, searchField(), isFiltered || state.text ? button("Remove filters", () => go(fresh({ view: "conversations" }))) : null),
    h("details", { open: isFiltered || innerWidth > NARROW }, h("summary", null, "Filters and order"), h("div", { class: "filters" },
    report.versions.length > 1
      ? pick("version", "version", [["", "any"], ...report.versions.map(({ name }) => [name, shown(name)])])
      : null,
    (page?.regressed ?? null) === null ? null : pick("change", "change", CHANGES),
    pick("criterion", "criterion", named(criteria(), "verdict")),
    pick("outcome", "outcome", OUTCOMES),
    ...[["label", "labels"], ["tool", "tools"], ["agent", "agents"], ["language", "language"], ["tag", "tags"], ["problem_type", "problem_type"]].map(
      ([name, column]) => optional(name, column, pick)),
    pick("severity", "severity", [["", "any"], ...Object.entries(SEVERITY).filter(([name]) => report.conversations.severity_reason.includes(name))]),
    state.slice ? h("p", null, `turns: ${shown(state.slice)}`) : null,
    choice("order", [...SORTS, ...scoreNames().map((name) => [`score:${name}`, shown(name)])], state.sort, (value) => go(link({ sort: value, order: "", at: "" }))))));
}

function searchField() {
  const changed = (changes) => {
    clearTimeout(timer);
    timer = setTimeout(() => { amend({ ...changes, at: "" }); search(); }, WAIT);
  };
  return [
    h("label", { class: "search" }, "search",
      h("input", { type: "search", id: "search", value: state.text, oninput: (event) => changed({ text: event.target.value }) })),
    h("label", { class: "check" }, h("input", { type: "checkbox", checked: Boolean(state.deep),
      onchange: (event) => changed({ deep: event.target.checked ? "1" : "" }) }), "in transcripts too"),
  ];
}

function search() {
  if (state.deep) searchTranscripts(() => amend({}));
}

function criteria() {
  return report.criteria.map((row) => row.name).filter((name) => name !== "verdict");
}

function named(names, first) {
  return [["", first], ...names.map((name) => [name, shown(name)])];
}

// A filter by a column, if there is something to choose.
function optional(name, column, pick) {
  report.options ??= {};
  report.options[column] ??= [...new Set(report.conversations[column].flat())].filter((place) => place >= 0).map(nameOf).sort();
  const names = report.options[column];
  return names.length > 1 || state[name] ? pick(name, name.replaceAll("_", " "), named(names, "any")) : null;
}

// Selects the next conversation of the list, or the next that failed.
export function move(step, isFailure) {
  const places = filtered();
  let index = places.indexOf(state.at === "" ? undefined : Number(state.at));
  if (index < 0 && step < 0) return;
  do index += step;
  while (isFailure && index < places.length && report.conversations.verdict[places[index]] !== "FAIL");
  if (index < 0 || index >= places.length) return;
  if (state.view === "conversation") {
    go(link({ at: String(places[index]) }));
  } else {
    history.replaceState(null, "", link({ at: String(places[index]) }));
    readState();
    list.select(places[index]);
  }
}
