// All conversations: filters, search, and the list.

import { nameOf, report, size, versionName } from "./data.js";
import { button, choice, h } from "./dom.js";
import { counted, number, shown } from "./format.js";
import { FILTERS, filtered, searchTranscripts, searched } from "./filter.js";
import { virtualList } from "./list.js";
import { amend, fresh, go, link, state } from "./state.js";

const SORTS = [["", "most severe"], ["time", "latest"], ["latency", "slowest"], ["turns", "longest"], ["errors", "most tool errors"]];
const OUTCOMES = [["", "any"], ["PASS", "pass"], ["FAIL", "fail"], ["no_verdict", "no verdict"]];
const CHANGES = [["", "any"], ["regressed", "regressed"], ["fixed", "fixed"], ["still_failing", "still failing"]];
const WAIT = 150;

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
    h("p", { id: "found" }, foundText(places)),
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
  return h("form", { class: "filters", role: "search", onsubmit: (event) => event.preventDefault() },
    searchField(),
    report.versions.length > 1
      ? pick("version", "version", [["", "any"], ...report.versions.map((_, i) => [String(i), shown(versionName(i))])])
      : null,
    report.first_page?.regressed === null || !report.first_page ? null : pick("change", "change", CHANGES),
    pick("criterion", "criterion", named(criteria(), "verdict")),
    pick("outcome", "outcome", OUTCOMES),
    ...[["label", "labels"], ["tool", "tools"], ["language", "language"], ["tag", "tags"], ["problem_type", "problem_type"]].map(
      ([name, column]) => optional(name, column, pick)),
    state.slice ? h("p", null, `turns: ${shown(state.slice)}`) : null,
    pick("sort", "order", SORTS),
    [...FILTERS, "text", "slice"].some((name) => state[name] !== "")
      ? button("Remove filters", () => go(fresh({ view: "conversations" })))
      : null);
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
    state.at = String(places[index]);
    list.select(places[index]);
  }
}
