// Rows of conversations: the ten to read first, and the filtered list of all, of which only some rows exist.

import { outcome, tag } from "./badges.js";
import { typeSizes, conversation, idName, nameOf, report, siblings, versionName } from "./data.js";
import { h } from "./dom.js";
import { NONE, counted, number, quantity, shown } from "./format.js";
import { link } from "./state.js";

const COLUMNS = ["outcome", "what is wrong", "conversation", "turns", "latency"];
const SPARE = 6;
const MOST_TAGS = 4;

export function readingTable(places) {
  return h("table", { class: "rows" }, h("caption", { class: "away" }, "Conversations to read"), head(),
    h("tbody", null, places.map((place) => row(place))));
}

function head() {
  return h("thead", null, h("tr", null, COLUMNS.map((name) => h("th", { scope: "col" }, name))));
}

function row(place, selected) {
  const own = conversation(place);
  const number = own.problem_type < 0 ? 0 : typeSizes().get(own.problem_type);
  return h("tr", { "data-place": place, "aria-selected": selected === undefined ? null : String(selected) },
    h("td", null, outcome(own.verdict, versionName(own.version)), siblings(place).slice(0, 3).map((other) =>
      outcome(report.conversations.verdict[other], versionName(report.conversations.version[other])))),
    h("td", { class: "why" }, h("a", { href: link({ view: "conversation", at: place }), dir: "auto" }, whyText(own)),
      number > 1 ? h("small", null, ` ${counted(number, "conversation")} of this problem type`) : null),
    h("td", null, h("span", { class: "id", dir: "auto", title: shown(own.id) }, shown(idName(own.id))), " ", tagsOf(own)),
    h("td", { class: "number" }, turnsText(own)),
    h("td", { class: "number" }, quantity(own.seconds, "seconds")));
}

function tagsOf(own) {
  const names = [own.language, ...own.tags].map(nameOf).filter((name) => name !== null);
  const rest = names.length - MOST_TAGS;
  return [names.slice(0, MOST_TAGS).map((name) => [tag(name), " "]), rest > 0 ? h("small", null, `+${rest}`) : null];
}

function turnsText(own) {
  return own.turns === null ? NONE : number(own.turns);
}

export function whyText(own) {
  const text = own.why ?? (own.verdict === null ? own.reason : null);
  if (text) return own.verdict === "PASS" ? `passed, but ${shown(text)}` : shown(text);
  return own.verdict === "PASS" ? "nothing failed" : "no reason is stated";
}

// A list of any length in a box that scrolls; `places` in display order. Rows have one height.
export function virtualList(places, selected) {
  const body = h("tbody");
  const box = h("div", { class: "scroller", tabindex: 0, role: "region", "aria-label": "Conversations" },
    h("table", { class: "rows virtual", "aria-rowcount": places.length + 1 },
      h("caption", { class: "away" }, "All conversations that the filters leave"), head(), body));
  let first = -1;
  const rowHeight = () => parseFloat(getComputedStyle(box).getPropertyValue("--row")) || 60;
  const draw = (isForced) => {
    const height = rowHeight();
    const from = Math.max(0, Math.floor(box.scrollTop / height) - SPARE);
    const to = Math.min(places.length, Math.ceil((box.scrollTop + box.clientHeight) / height) + SPARE);
    if (from === first && !isForced) return;
    first = from;
    body.replaceChildren(space(from * height),
      ...places.slice(from, to).map((place, i) => numbered(row(place, place === selected), from + i + 2)),
      space((places.length - to) * height));
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

function space(height) {
  const cell = h("td", { colspan: COLUMNS.length });
  cell.style.height = `${height}px`;
  return h("tr", { class: "space", "aria-hidden": "true" }, cell);
}
