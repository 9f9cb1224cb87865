// The data of the report: decoded from the page, and chunks with transcripts, some from files beside it.

import { parseExact } from "./exact.js";
import { cutNames, shortNames } from "./format.js";

export const report = {};

const waiting = new Map();
const loaded = new Map();
const MOST_LOADED = 20;
const policy = globalThis.trustedTypes?.createPolicy("report", {
  createScriptURL: (address) => {
    if (!/^report_data\/\d+\.js$/.test(address)) throw new TypeError("not a file of the report");
    return address;
  },
});

export async function openReport() {
  Object.assign(report, await unpack(document.getElementById("report").textContent));
  globalThis.reportChunk = receive;
}

export async function unpack(text) {
  const packed = atob(text);
  const bytes = new Uint8Array(packed.length);
  for (let i = 0; i < packed.length; i += 1) bytes[i] = packed.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return parseExact(await new Response(stream).text());
}

function receive(reportId, chunk, text) {
  const { resolve, reject } = waiting.get(chunk) ?? {};
  if (reportId === report.report_id) resolve?.(text);
  else reject?.(new Error(`${fileOf(chunk)} belongs to another report`));
}

function fileOf(chunk) {
  return `report_data/${String(chunk).padStart(3, "0")}.js`;
}

function loadFile(chunk) {
  return new Promise((resolve, reject) => {
    waiting.set(chunk, { resolve, reject });
    const script = document.createElement("script");
    script.src = policy ? policy.createScriptURL(fileOf(chunk)) : fileOf(chunk);
    script.onload = () => script.remove();
    script.onerror = () => reject(new Error(`${fileOf(chunk)} cannot be read; it must lie beside the report`));
    document.head.append(script);
  });
}

// Place of a conversation -> transcript and scores, of all conversations of a chunk.
export async function openChunk(chunk) {
  if (!loaded.has(chunk)) {
    const isHere = chunk < report.inline_chunks;
    const text = isHere ? document.getElementById(`chunk-${chunk}`).textContent : await loadFile(chunk);
    if (loaded.size >= MOST_LOADED) loaded.delete(loaded.keys().next().value);
    loaded.set(chunk, await unpack(text));
  }
  return loaded.get(chunk);
}

// Transcript and scores of a conversation; null: left out of this report.
export async function details(place) {
  const chunk = report.conversations.chunk[place];
  return chunk < 0 ? null : (await openChunk(chunk))[place];
}

export function versionAt(name) {
  return report.versions.findIndex((one) => one.name === name);
}

// One conversation as an object.
export function conversation(place) {
  const row = { place };
  for (const [name, values] of Object.entries(report.conversations)) row[name] = values[place];
  return row;
}

// What an object holds under a name of the data; inherited names, such as `constructor`, are none.
export function heldBy(object, name) {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

export function nameOf(place) {
  return place === undefined || place < 0 ? null : report.names[place];
}

const LONGEST_ID = 24;
const LONGEST_VERSION = 32;

// The shortest end of an id that no other conversation's id has, and of a long one the part that differs.
export function idName(id) {
  report.idNames ??= shortNames(report.conversations.id, LONGEST_ID);
  return report.idNames.get(id);
}

export function size() {
  return report.conversations.id.length;
}

export function versionName(place) {
  return report.versions[place]?.name ?? "";
}

// The name of a version as sentences have it.
export function shortVersion(name) {
  report.shortVersions ??= cutNames(report.versions.map((one) => one.name), LONGEST_VERSION);
  return report.shortVersions.get(name) ?? name;
}

// Id and version of a conversation, and its number among those that have both; of no place, all are empty.
export function addressOf(place) {
  const { id, version } = report.conversations;
  if (place === "" || id[place] === undefined) return { id: "", of: "", nth: "" };
  const alike = placesOf("id", id[place]).filter((other) => version[other] === version[place]);
  const number = alike.indexOf(Number(place)) + 1;
  return { id: id[place], of: versionName(version[place]), nth: number > 1 ? String(number) : "" };
}

// The place of an address; a version may have its short or its full name. -1: there is no such one.
export function placeAt({ id, of, nth }) {
  const versions = report.versions.flatMap((one, i) => (of === "" || one.name === of || one.app_version === of ? [i] : []));
  return placesOf("id", id).filter((place) => versions.includes(report.conversations.version[place]))[(Number(nth) || 1) - 1] ?? -1;
}

// Places whose column has a value, in the order of reading. Halves of characters are alike, as in addresses.
export function placesOf(column, value) {
  report.places ??= {};
  report.places[column] ??= grouped(report.conversations[column]);
  return report.places[column].get(wellFormed(value)) ?? [];
}

function wellFormed(text) {
  return text.replace(/\p{Surrogate}/gu, "\ufffd");
}

function grouped(values) {
  const groups = new Map();
  values.forEach((value, place) => {
    if (value === null) return;
    const key = wellFormed(value);
    if (groups.has(key)) groups.get(key).push(place);
    else groups.set(key, [place]);
  });
  return groups;
}

// The column that pairs two versions; of a task, there is none.
export const PAIRED_BY = { eval_id: "eval_id", conversation_id: "id" };

// Places of the other conversations of the same eval case, or with the same id where ids pair the versions.
export function siblings(place) {
  const column = report.conversations.eval_id[place] === null ? PAIRED_BY[report.comparisons[0]?.pairing.by] : "eval_id";
  const name = report.conversations[column]?.[place];
  return name === undefined || name === null ? [] : placesOf(column, name).filter((other) => other !== place);
}

// What the siblings of a conversation are called: by their version, and a number where it has several.
export function siblingNames(place) {
  const seen = new Map();
  return new Map(siblings(place).map((other) => {
    const name = versionName(report.conversations.version[other]);
    seen.set(name, (seen.get(name) ?? 0) + 1);
    return [seen.get(name) > 1 ? `${name} #${seen.get(name)}` : name, other];
  }));
}

// How many conversations of a version have a problem type.
export function typeSize(version, problemType) {
  report.typeSizes ??= report.conversations.problem_type.reduce((sizes, type, place) => {
    const own = sizes[report.conversations.version[place]];
    own.set(type, (own.get(type) ?? 0) + 1);
    return sizes;
  }, report.versions.map(() => new Map()));
  return report.typeSizes[version].get(problemType) ?? 0;
}
