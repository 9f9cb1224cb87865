// Which conversations the filters of the state leave, in display order.

import { changed, lacking, perCase } from "./compared.js";
import { heldBy, nameOf, openChunk, report, size, versionName } from "./data.js";
import { jsonText } from "./exact.js";
import { state } from "./state.js";

const NO_VERDICT = "no_verdict";
let texts = null;
let last = { key: "", places: [] };
let deep = { query: "", places: new Set(), done: 0, failed: null };

export const FILTERS = ["version", "change", "criterion", "outcome", "label", "tool", "agent", "language", "tag", "severity", "problem_type"];

export function filtered() {
  const key = JSON.stringify([...FILTERS, "text", "deep", "sort", "order", "slice", "baseline", "candidate"].map((name) => state[name])) + deep.done;
  if (last.key !== key) {
    const places = sorted(allPlaces().filter(test()));
    last = { key, places: state.change ? perCase(places) : places };
  }
  return last.places;
}

function allPlaces() {
  return Array.from({ length: size() }, (_, place) => place);
}

// Returns a test of places. Names are looked up once, so that a test compares numbers.
function test() {
  const rows = report.conversations;
  const tests = [];
  const holds = (column, name) => {
    const wanted = report.names.indexOf(name);
    tests.push((place) => (Array.isArray(rows[column][place]) ? rows[column][place].includes(wanted) : rows[column][place] === wanted));
  };
  if (state.version !== "") tests.push((place) => versionName(rows.version[place]) === state.version);
  if (state.severity) tests.push((place) => rows.severity_reason[place] === state.severity);
  if (state.change) tests.push(changed(state.change));
  // The change is by this criterion, and its values of 0 and 1 may have no threshold.
  if (state.criterion && (state.outcome || !state.change)) addCriterion(tests, rows);
  else if (state.outcome) tests.push((place) => (rows.verdict[place] ?? NO_VERDICT) === state.outcome);
  for (const [column, name] of [["labels", state.label], ["tools", state.tool], ["agents", state.agent], ["language", state.language],
    ["tags", state.tag], ["problem_type", state.problem_type]]) {
    if (name) holds(column, name);
  }
  if (state.slice) tests.push(inBucket(rows, state.slice));
  if (state.text) addText(tests, state.text.toLowerCase());
  return (place) => tests.every((one) => one(place));
}

function addCriterion(tests, rows) {
  const wanted = report.names.indexOf(state.criterion);
  const has = (column) => (place) => rows[column][place].includes(wanted);
  const [failed, no_score] = [has("failed"), has("no_score")];
  if (state.outcome === "FAIL") tests.push(failed);
  else if (state.outcome === NO_VERDICT) {
    const isLacking = lacking(state.criterion);
    tests.push((place) => no_score(place) || isLacking(place));
  }
  else if (state.outcome === "PASS") tests.push(has("passed"));
  else tests.push((place) => failed(place) || no_score(place) || has("passed")(place));
}

// A number of turns, such as `2 to 3` or `over 10`.
function inBucket(rows, text) {
  const [low, high] = text.startsWith("over") ? [11, Infinity] : text.split(" to ").map(Number);
  return (place) => rows.turns[place] >= low && rows.turns[place] <= (high ?? low);
}

function addText(tests, query) {
  texts ??= allPlaces().map(searchText);
  const isDeep = state.deep && deep.query === query;
  tests.push((place) => texts[place].includes(query) || (isDeep && deep.places.has(place)));
}

function searchText(place) {
  const { id, eval_id: cases, why, reason, problem_label: kind, tags, language } = report.conversations;
  const names = [...tags[place], language[place]].map(nameOf);
  return [id[place], cases[place], why[place], reason[place], kind[place], ...names].join("\n").toLowerCase();
}

// Whether the low values of what the list is sorted by come first: those of a score that cannot be too high.
export function isAscending() {
  const row = report.criteria.find(({ name }) => state.sort === `score:${name}`);
  return Boolean(row && row.unit === "score") !== (state.order === "reverse");
}

// What has no value comes last in either order.
function sorted(places) {
  const rows = report.conversations;
  const by = heldBy({ time: rows.time, latency: rows.seconds, turns: rows.turns, errors: rows.tool_errors }, state.sort) ?? heldBy(rows.scores, state.sort.replace("score:", ""));
  if (!by) return places;
  const key = (place) => by[place];
  const sign = isAscending() ? -1 : 1;
  return places.sort((a, b) => (key(a) === null) - (key(b) === null) || sign * ((key(a) < key(b)) - (key(a) > key(b))) || a - b);
}

// Searches transcripts, chunk by chunk, until the query changes; calls `report` after each one.
export async function searchTranscripts(onProgress) {
  const query = state.text.toLowerCase();
  if (!query || deep.query === query) return;
  const own = { query, places: new Set(), done: 0, failed: null };
  deep = own;
  for (let chunk = 0; chunk < report.chunks && deep === own; chunk += 1) {
    try {
      const found = await openChunk(chunk);
      for (const [place, detail] of Object.entries(found)) {
        if (jsonText(detail.transcript).toLowerCase().includes(query)) own.places.add(Number(place));
      }
    } catch (error) {
      own.failed = error.message;
    }
    own.done = chunk + 1;
    if (deep === own) onProgress(own);
  }
}

export function searched() {
  return deep;
}
