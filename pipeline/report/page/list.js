// Rows of conversations: those to read first, and the filtered list of all, of which only some rows exist.

import { explained, meaning } from "./about.js";
import { outcome, tag } from "./badges.js";
import { compared, shownVersions } from "./compared.js";
import { conversation, heldBy, idName, nameOf, report, shortVersion, siblings, typeSize, versionName } from "./data.js";
import { button, h } from "./dom.js";
import { isAscending } from "./filter.js";
import { counted, number, quantity, shown } from "./format.js";
import { go, link, state } from "./state.js";

const SPARE = 6;
const MOST_TAGS = 4;
const WIDTH = { base: 648, number: 84 };

export function readingTable(places) {
  const columns = columnsOf([]);
  return h("table", { class: "rows" }, h("caption", { class: "away" }, "Conversations to read"), head(columns, false),
    h("tbody", null, places.map((place) => row(columns, place))));
}

// Criteria with values, in the order of the table of criteria.
export function scoreNames() {
  return report.criteria.map(({ name }) => name).filter((name) => heldBy(report.conversations.scores, name));
}

// Name, content, key of sorting, class; numbers only where there are some.
function columnsOf(names) {
  const has = (column) => report.conversations[column].some((value) => value !== null);
  return [
    ["outcome", outcomes],
    ["what is wrong", why, null, "why"],
    ["conversation", (own) => [h("span", { class: "id", dir: "auto", title: shown(own.id), "data-whole": own.id }, shown(idName(own.id))), " ", tagsOf(own)]],
    ...names.map((name) => [name, (own) => scoreText(name, own.place), `score:${name}`, `number score-cell${state.sort === `score:${name}` ? "" : " minor"}`]),
    ["turns", (own) => number(own.turns), "turns", "number"],
    has("seconds") ? ["latency", (own) => quantity(own.seconds, "seconds"), "latency", "number"] : null,
  ].filter(Boolean);
}

function scoreText(name, place) {
  return quantity(report.conversations.scores[name][place], report.criteria.find((row) => row.name === name)?.unit);
}

function head(columns, isSortable) {
  return h("thead", null, h("tr", null, columns.map(([name, , key, kind]) => {
    const isSorted = isSortable && key && state.sort === key;
    return h("th", { scope: "col", class: kind, "aria-sort": isSorted ? (isAscending() ? "ascending" : "descending") : null },
      isSortable && key ? sortButton(name, key, isSorted) : explained(name));
  })));
}

// Sorts by a column, and then the other way round.
function sortButton(name, key, isSorted) {
  const order = isSorted && state.order === "" ? "reverse" : "";
  const arrow = isSorted ? (isAscending() ? " ↑" : " ↓") : "";
  return button([...explained(name).slice(0, 1), arrow], () => go(link({ sort: key, order, at: "" })), { class: "sort", title: shown(meaning(name)) || "Sort by it" });
}

function row(columns, place, selected) {
  const own = conversation(place);
  return h("tr", { "data-place": place, "aria-selected": selected === undefined ? null : String(selected) },
    columns.map(([name, content, , kind]) => h("td", { class: kind, "data-label": kind?.includes("number") ? shown(name) : null }, content(own))));
}

function outcomes(own) {
  const { verdict, version } = report.conversations;
  const baseline = compared().page?.baseline;
  const isBaseline = (place) => versionName(version[place]) === baseline;
  const versions = shownVersions();
  const others = siblings(own.place).filter((other) => versions.includes(version[other])).toSorted((a, b) => isBaseline(b) - isBaseline(a));
  // Recordings of a version that ended alike are one mark with their number.
  const alike = Map.groupBy([own.place, ...others], (place) => `${version[place]} ${verdict[place]}`);
  return [...alike.values()].slice(0, 4).map((places) => [outcome(verdict[places[0]], versionName(version[places[0]])), places.length > 1 ? h("small", null, ` × ${number(places.length)} `) : null]);
}

function why(own) {
  const alike = own.problem_type < 0 ? 0 : typeSize(own.version, own.problem_type);
  const of = report.versions.length > 1 ? ` in ${shown(shortVersion(versionName(own.version)))}` : "";
  return [h("a", { href: link({ view: "conversation", at: own.place }), dir: "auto" }, regression(own) ?? whyText(own)),
    alike > 1 ? h("small", null, ` ${number(alike)} of this problem type${of}`) : null];
}

// In a list of regressions, why the criterion of the filter fails, where the conversation has no failure of its verdict.
function regression(own) {
  if (state.change !== "regressed" || own.verdict === "FAIL") return null;
  const flip = compared().comparison?.flips.find((one) => one.kind === "regressed" && one.criterion === (state.criterion || "verdict") && one.candidate_conversations.includes(own.id));
  return flip?.reason ? `${shown(flip.criterion)}: ${shown(flip.reason)}` : null;
}

function tagsOf(own) {
  const names = [own.language, ...own.tags].map(nameOf).filter((name) => name !== null);
  const rest = names.length - MOST_TAGS;
  return [names.slice(0, MOST_TAGS).map((name) => [tag(name), " "]), rest > 0 ? h("small", null, `+${rest}`) : null];
}

export function whyText(own) {
  const text = own.why ?? (own.verdict === null ? own.reason : null);
  if (text) return own.verdict === "PASS" ? `passed, but ${shown(text)}` : shown(text);
  return own.verdict === "PASS" ? "nothing failed" : "no reason is stated";
}

// A list of any length in a box that scrolls; `places` in display order. Rows have one height.
export function virtualList(places, selected) {
  const body = h("tbody");
  const columns = columnsOf(scoreNames());
  const rows = h("table", { class: "rows virtual", "aria-rowcount": places.length + 1 },
    h("caption", { class: "away" }, "All conversations that the filters leave"), head(columns, true), body);
  rows.style.setProperty("--least", `${WIDTH.base + WIDTH.number * (columns.length - 3)}px`);
  const box = h("div", { class: "scroller", tabindex: 0, role: "region", "aria-label": "Conversations" }, rows);
  let first = -1;
  const rowHeight = () => parseFloat(getComputedStyle(box).getPropertyValue("--row")) || 60;
  const draw = (isForced) => {
    const height = rowHeight();
    const from = Math.max(0, Math.floor(box.scrollTop / height) - SPARE);
    const to = Math.min(places.length, Math.ceil((box.scrollTop + box.clientHeight) / height) + SPARE);
    if (from === first && !isForced) return;
    first = from;
    body.replaceChildren(space(from * height, columns.length),
      ...places.slice(from, to).map((place, i) => numbered(row(columns, place, place === selected), from + i + 2)),
      space((places.length - to) * height, columns.length));
  };
  box.addEventListener("scroll", () => draw(false), { passive: true });
  new ResizeObserver(() => draw(true)).observe(box);
  const select = (place) => {
    selected = place;
    const height = rowHeight();
    const top = places.indexOf(place) * height;
    if (top < box.scrollTop) box.scrollTop = top;
    else if (top + 2 * height > box.scrollTop + box.clientHeight) box.scrollTop = top + 2 * height - box.clientHeight;
    draw(true);
  };
  return { box, select };
}

function numbered(element, index) {
  element.setAttribute("aria-rowindex", index);
  return element;
}

function space(height, count) {
  const cell = h("td", { colspan: count });
  cell.style.height = `${height}px`;
  return h("tr", { class: "space", "aria-hidden": "true" }, cell);
}

// The listed conversations for a spreadsheet. Texts that it would read as a formula begin with an apostrophe.
export function csv(places) {
  const names = scoreNames();
  const head = ["conversation_id", "app_version", "eval_id", "verdict", "severity", "why", "language", "tags", "turns", "latency_seconds", ...names];
  const rows = places.map((place) => {
    const own = conversation(place);
    const { app_version: version } = report.versions[own.version];
    return [own.id, version, own.eval_id, own.verdict, own.severity, own.why ?? own.reason, nameOf(own.language), own.tags.map(nameOf).join(" "),
      own.turns, own.seconds, ...names.map((name) => report.conversations.scores[name][place])];
  });
  return [head, ...rows].map((cells) => `${cells.map(csvCell).join(",")}\r\n`).join("");
}

function csvCell(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return String(value);
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
