// The reader's own labels of scores. They stay in this browser until they are exported as JSON Lines.

import { conversation, report } from "./data.js";
import { button, h, say } from "./dom.js";

const KINDS = [["PASS", "👍 pass"], ["FAIL", "👎 fail"]];
const labels = new Map();
let sample = null;

function storageName() {
  return `turnwise-labels-${report.report_id}`;
}

export function readLabels() {
  try {
    const kept = JSON.parse(localStorage.getItem(storageName()) ?? "{}");
    for (const [key, value] of Object.entries(kept.labels ?? {})) labels.set(key, value);
    sample = kept.sample ?? null;
  } catch {
    say("This browser keeps no labels of pages from files: export them before you leave.");
  }
  addEventListener("beforeunload", (event) => {
    if (labels.size && !isKept()) event.preventDefault();
  });
}

function isKept() {
  try {
    return localStorage.getItem(storageName()) !== null;
  } catch {
    return false;
  }
}

function keep() {
  try {
    localStorage.setItem(storageName(), JSON.stringify({ labels: Object.fromEntries(labels), sample }));
  } catch {
    // The browser asks before the page is left.
  }
}

export function allLabels() {
  return [...labels.values()];
}

// Thumbs and a comment on one score; its label says what the outcome should be.
export function labelControls(own, score) {
  if (!score.score_id) return h("small", null, "no label possible: the run wrote no score_id");
  const known = () => labels.get(score.score_id) ?? {};
  const name = `${score.criterion}, ${score.turn_index === undefined ? "whole conversation" : `turn ${score.turn_index}`}`;
  const comment = h("input", { type: "text", value: known().comment ?? "", placeholder: "comment", "aria-label": `Comment on ${name}`,
    onchange: (event) => set({ comment: event.target.value }) });
  const thumbs = KINDS.map(([kind, text]) => button(text, () => set({ label: known().label === kind ? null : kind }),
    { "aria-pressed": String(known().label === kind), "aria-label": `${text} should be the outcome of ${name}` }));
  const set = (changes) => {
    store(own, score, changes);
    thumbs.forEach((thumb, i) => thumb.setAttribute("aria-pressed", String(known().label === KINDS[i][0])));
  };
  return h("span", { class: "label" }, thumbs, comment);
}

function store(own, score, changes) {
  const label = { label: null, comment: "", ...labels.get(score.score_id), ...changes };
  if (label.label === null && !label.comment) labels.delete(score.score_id);
  else labels.set(score.score_id, { ...identity(own, score), label: label.label, comment: label.comment });
  keep();
}

function identity(own, score) {
  const version = report.versions[own.version];
  return {
    score_id: score.score_id,
    conversation_id: own.id,
    turn_index: score.turn_index ?? null,
    criterion: score.criterion,
    run_id: report.runs[version.run].run_id,
    app_version: version.app_version,
    value: score.value ?? null,
    outcome: score.outcome ?? null,
    place: own.place,
  };
}

// Draws conversations at random: those whose hash with the seed is lowest, among all that have a score.
export function draw(criterion, wanted, seed) {
  const name = report.names.indexOf(criterion);
  const { passed, failed, measured, is_random: isRandom } = report.conversations;
  const population = passed.map((_, place) => place).filter((place) => isRandom[place]
    && [passed, failed, measured].some((column) => column[place].includes(name)));
  const ranked = population.map((place) => [hash(`${seed}\u0000${place}`), place]).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  sample = { criterion, seed, of: population.length, places: ranked.slice(0, wanted).map(([, place]) => place).sort((a, b) => a - b) };
  keep();
  return sample;
}

export function drawn() {
  return sample;
}

export function forgetSample() {
  sample = null;
  keep();
}

// FNV-1a of the UTF-16 units, mixed by the finaliser of MurmurHash3.
function hash(text) {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return (value ^ (value >>> 16)) >>> 0;
}

// How a row was chosen: `calibrate` corrects figures by random rows only.
function selection(label) {
  const isDrawn = sample && label.criterion === sample.criterion && sample.places.includes(label.place);
  if (!isDrawn) return { kind: "hand_picked" };
  const done = new Set(allLabels().filter((one) => one.label && one.criterion === sample.criterion).map((one) => one.place));
  const labelled = sample.places.filter((place) => done.has(place)).length;
  return { kind: "random", unit: "conversation", seed: sample.seed, drawn: sample.places.length, of: sample.of, labelled };
}

export function exportLines() {
  const rows = allLabels().map(({ place, ...label }) => ({ ...label, selection: selection({ ...label, place }), report_id: report.report_id }));
  return rows.map((row) => `${JSON.stringify(row)}\n`).join("");
}

export function isLabelled(place, criterion) {
  return allLabels().some((one) => one.place === place && one.criterion === criterion && one.label);
}

export function describe(label) {
  return conversation(label.place);
}
