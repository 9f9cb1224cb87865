// Calls of tools as cards, with the differences of their arguments by path.

import { h } from "./dom.js";
import { quantity, shown } from "./format.js";

const MISSING = Symbol("missing");
const LONGEST = 1200;

export function callCard(call, { pair, expected, note } = {}) {
  const badges = [
    call.effect ? h("span", { class: `effect ${effectClass(call.effect)}` }, shown(call.effect)) : null,
    call.error ? h("span", { class: "badge fail" }, "error") : null,
    note ? h("span", { class: `badge ${note === "as expected" ? "pass" : "fail"}` }, note) : null,
    typeof call.seconds === "number" ? h("small", null, quantity(call.seconds, "seconds")) : null,
  ];
  return h("div", { class: "call" },
    h("p", { class: "call-name" }, h("code", { dir: "auto" }, shown(call.name ?? "(no name)")), badges),
    pair && expected ? differences(expected.args, call.args, pair[2]) : values(call.args),
    result(call));
}

function effectClass(effect) {
  return ["read", "write", "destructive", "handoff"].includes(effect) ? effect : "unknown";
}

function result(call) {
  if (call.error && call.error !== true) return folded("error", call.error);
  return call.result === undefined || call.result === null ? null : folded("result", call.result);
}

export function folded(name, value) {
  return h("details", null, h("summary", null, name), h("pre", { dir: "auto", tabindex: 0 }, valueText(value)));
}

export function valueText(value) {
  return shown(typeof value === "string" ? value : JSON.stringify(value, null, 1));
}

function values(args) {
  const found = [...leaves(args)];
  if (!found.length) return h("p", { class: "hint" }, "no arguments");
  return h("dl", { class: "args" }, found.map(([path, value]) => [h("dt", null, shown(path)), h("dd", { dir: "auto" }, leafText(value))]));
}

// Yields path and value of everything inside a value that holds no more. A directive is one value.
function* leaves(value, path = "") {
  const isList = Array.isArray(value);
  if (value === null || value === undefined) {
    if (path) yield [path, null];
  } else if (typeof value === "object" && !("$matchType" in value) && Object.keys(value).length) {
    for (const [name, inner] of Object.entries(value)) {
      yield* leaves(inner, isList ? `${path}[${name}]` : path ? `${path}.${name}` : name);
    }
  } else if (path || typeof value !== "object") {
    yield [path || "(all)", value];
  }
}

function leafText(value) {
  if (value !== null && typeof value === "object" && "$matchType" in value) {
    return shown(`${value.$matchType} ${value.$matchValue === undefined ? "" : JSON.stringify(value.$matchValue)}`.trim());
  }
  const text = shown(typeof value === "string" ? value : JSON.stringify(value));
  return text.length <= LONGEST ? text : `${text.slice(0, LONGEST)}… (${text.length - LONGEST} more characters)`;
}

// Arguments side by side: same, missing, extra, changed, or different but accepted by the comparison.
function differences(expected, actual, wrong) {
  const wanted = new Map(leaves(expected));
  const made = new Map(leaves(actual));
  const paths = [...new Set([...wanted.keys(), ...made.keys()])];
  return h("dl", { class: "args" }, paths.map((path) => {
    const [want, own] = [wanted.has(path) ? wanted.get(path) : MISSING, made.has(path) ? made.get(path) : MISSING];
    const kind = difference(want, own, wrong.includes(path.split(/[.[]/)[0]));
    return [h("dt", { class: kind }, shown(path)), h("dd", { class: kind, dir: "auto" }, differenceText(kind, want, own))];
  }));
}

function difference(want, own, isWrong) {
  if (want === MISSING) return "extra";
  if (own === MISSING) return isWrong ? "missing" : "accepted";
  if (JSON.stringify(want) === JSON.stringify(own)) return "same";
  return isWrong ? "changed" : "accepted";
}

function differenceText(kind, want, own) {
  if (kind === "same") return leafText(own);
  if (kind === "extra") return [h("ins", null, leafText(own)), h("small", null, " not expected")];
  if (own === MISSING) return [h("del", null, leafText(want)), h("small", null, kind === "missing" ? " missing" : " left out, accepted")];
  if (kind === "accepted") return [leafText(own), h("small", null, " accepted as "), leafText(want)];
  return [h("ins", null, leafText(own)), h("small", null, " instead of "), h("del", null, leafText(want))];
}
