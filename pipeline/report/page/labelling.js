// The reader's own labels of scores. They stay in this browser until they are exported as JSON Lines.

import { details, report } from "./data.js";
import { button, h, say } from "./dom.js";
import { turnName } from "./format.js";

export const VERDICT = "verdict";
export const WHOLE = "whole conversations";
export const TURNS = "turns";
const KINDS = [["PASS", "✓ pass"], ["FAIL", "✕ fail"]];

// Key of a score -> label and comment; and the random sample, if one was drawn.
const labels = new Map();
let sample = null;
let rater = "";

function storageName() {
  return `turnwise-labels-${report.report_id}`;
}

export function readLabels() {
  try {
    const kept = JSON.parse(localStorage.getItem(storageName()) ?? "{}");
    for (const [key, value] of Object.entries(kept.labels ?? {})) labels.set(key, value);
    sample = kept.sample ?? null;
    rater = kept.rater ?? "";
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
    localStorage.setItem(storageName(), JSON.stringify({ labels: Object.fromEntries(labels), sample, rater }));
  } catch {
    // The browser asks before the page is left.
  }
}

function keyOf(place, score) {
  return score.score_id ?? JSON.stringify([place, score.turn_index ?? null, score.criterion, score.label ?? null]);
}

export function allLabels() {
  return [...labels.values()];
}

// The verdict of a conversation, in the form of a score.
export function verdictScore(own) {
  return { criterion: VERDICT, outcome: own.verdict ?? undefined };
}

// Thumbs and a comment on one score; the label says what the outcome should be.
export function labelControls(own, score) {
  const key = keyOf(own.place, score);
  const known = () => labels.get(key) ?? {};
  const name = `${score.criterion}, ${turnName(score.turn_index)}`;
  const comment = h("input", { type: "text", value: known().comment ?? "", placeholder: "comment", "aria-label": `Comment on ${name}`,
    onchange: (event) => set({ comment: event.target.value }) });
  const thumbs = KINDS.map(([kind, text]) => button(text, () => set({ label: known().label === kind ? null : kind }),
    { "aria-pressed": String(known().label === kind), "aria-label": `${text} should be the outcome of ${name}` }));
  const set = (changes) => {
    const label = { ...labelOf(own.place, score), ...known(), ...changes };
    if (label.label === null && !label.comment) labels.delete(key);
    else labels.set(key, label);
    keep();
    thumbs.forEach((thumb, i) => thumb.setAttribute("aria-pressed", String(known().label === KINDS[i][0])));
  };
  return h("span", { class: "label" }, h("small", null, "your label"), thumbs, comment);
}

function labelOf(place, score) {
  return {
    key: keyOf(place, score),
    place,
    turn_index: score.turn_index ?? null,
    criterion: score.criterion,
    score_id: score.score_id ?? null,
    outcome: score.outcome ?? null,
    label: null,
    comment: "",
  };
}

// Places of the conversations of a run that have scores of a criterion at a level, with a value or without.
export function population(criterion, level, run) {
  const { version, whole, by_turn: byTurn } = report.conversations;
  const name = report.names.indexOf(criterion);
  const column = level === WHOLE ? whole : byTurn;
  return version.map((_, place) => place).filter((place) => report.versions[version[place]].run === run
    && (criterion === VERDICT ? level === WHOLE : column[place].includes(name)));
}

// Draws conversations: those whose hash with the seed is lowest, in that order. A report that left out
// transcripts holds a random sample of them, so that what is drawn of it is random, too.
export async function draw({ criterion, level, run, size, seed }) {
  const places = population(criterion, level, run);
  const ranked = places.filter((place) => report.conversations.is_random[place])
    .map((place) => [hash(`${seed}\u0000${place}`), place]).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const chosen = ranked.slice(0, size).map(([, place]) => place);
  const items = [];
  for (const place of chosen) items.push({ place, scores: await scoresOf(place, criterion, level) });
  sample = items.length ? { criterion, level, seed, of: places.length, items } : null;
  keep();
  return sample;
}

async function scoresOf(place, criterion, level) {
  if (criterion === VERDICT) return [labelOf(place, { criterion, outcome: report.conversations.verdict[place] ?? undefined })];
  const { scores } = await details(place);
  return scores.filter((score) => score.criterion === criterion && (score.turn_index === undefined) === (level === WHOLE))
    .map((score) => labelOf(place, score));
}

export function raterName() {
  return rater;
}

export function setRater(name) {
  rater = name.trim();
  keep();
}

const OUTCOMES = { PASS: "PASS", up: "PASS", FAIL: "FAIL", down: "FAIL" };

// Reads lines as they are exported, or as `turnwise labels queue` writes them; labels that are here stay. Lines of
// a sample, and those without a label, are the next ones to label. Returns how many lines fit this report, of how many.
export async function importLines(text) {
  const { id, version } = report.conversations;
  const rows = text.split("\n").filter((line) => line.trim()).map((line) => JSON.parse(line));
  const items = new Map();
  let used = 0;
  for (const row of rows) {
    const place = id.findIndex((own, i) => own === row.conversation_id && (!row.app_version || report.versions[version[i]].app_version === row.app_version));
    const turn = row.turn_index ?? null;
    const score = (place < 0 ? [] : await scoresOf(place, row.criterion, turn === null ? WHOLE : TURNS))
      .find((one) => one.turn_index === turn && (!row.score_id || one.score_id === row.score_id));
    const label = OUTCOMES[row.label] ?? null;
    if (!score || (row.label !== null && row.label !== undefined && !label)) continue;
    used += 1;
    if ((label || row.comment) && !labels.has(score.key)) labels.set(score.key, { ...score, label, comment: row.comment ?? "" });
    if (!row.draw && label) continue;
    if (!items.has(place)) items.set(place, { place, scores: [], isPicked: !row.draw });
    items.get(place).scores.push(score);
  }
  const first = rows.find((row) => row.draw) ?? rows[0];
  if (items.size) {
    const list = [...items.values()];
    const level = (first.turn_index ?? null) === null ? WHOLE : TURNS;
    sample = { criterion: first.criterion, level, seed: String(first.draw?.seed ?? ""), of: first.draw?.of ?? list.length, items: list };
  }
  keep();
  return { used, of: rows.length };
}

export function drawn() {
  return sample;
}

export function forgetSample() {
  sample = null;
  keep();
}

// The conversations of the sample that have a score without a label, in the order of drawing.
export function toLabel() {
  return (sample?.items ?? []).filter(({ scores }) => scores.some(({ key }) => !labels.get(key)?.label)).map(({ place }) => place);
}

// FNV-1a of the UTF-16 units, mixed by the finaliser of MurmurHash3.
function hash(text) {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return (value ^ (value >>> 16)) >>> 0;
}

// One line a score: everything that was drawn, with a label or without, and then what was picked by hand.
export function exportLines() {
  const random = (sample?.items ?? []).flatMap(({ scores }, i) => scores.map((score) =>
    row(labels.get(score.key) ?? score, sample.items[i].isPicked ? { chosen: "hand-picked" } : { chosen: "random", draw: drawOf(sample), number: i + 1 })));
  const keys = new Set((sample?.items ?? []).flatMap(({ scores }) => scores.map(({ key }) => key)));
  const picked = allLabels().filter(({ key }) => !keys.has(key)).map((label) => row(label, { chosen: "hand-picked" }));
  return [...random, ...picked].map((one) => `${JSON.stringify(one)}\n`).join("");
}

function drawOf({ seed, items, of }) {
  return { seed, size: items.filter(({ isPicked }) => !isPicked).length, of, unit: "conversation" };
}

function row({ place, turn_index, criterion, score_id, label, comment }, chosen) {
  const version = report.versions[report.conversations.version[place]].app_version;
  const known = { ...(score_id === null ? {} : { score_id }), ...(version ? { app_version: version } : {}) };
  return { conversation_id: report.conversations.id[place], turn_index, criterion, ...known, label, comment: comment || null, ...(rater ? { rater } : {}), ...chosen };
}
