// Calls of tools as cards, with the differences of their arguments by path.

import { meaning } from "./about.js";
import { heldBy } from "./data.js";
import { h } from "./dom.js";
import { jsonText } from "./exact.js";
import { quantity, shown } from "./format.js";

const MISSING = Symbol("missing");
const LONGEST = 1200;
const NOTES = { "as expected": "pass", accepted: "open", "same call": "open", "made by the user": "open", "by the user": "open" };

// `other`: the call that another version made instead; undefined: none, if there is a `version`.
export function callCard(call, { expected, match, note, other, version } = {}) {
  const { fault } = call;
  const isOther = version !== undefined && (!other || !sameArguments(other, call, false));
  const badges = [
    fault?.unexpected ? h("strong", { class: "fault" }, `unexpected ${call.effect === "destructive" ? "destructive call" : "change"}`) : null,
    call.effect && !(fault?.unexpected && call.effect === "destructive") ? h("span", { class: `effect ${effectClass(call.effect)}`, title: meaning("effect") }, shown(call.effect)) : null,
    call.error ? h("span", { class: "badge fail" }, "error") : null,
    note && !(fault?.unexpected && note === "not expected") ? h("span", { class: `badge ${NOTES[note] ?? "fail"}`, title: meaning(note) }, note) : null,
    fault && !fault.unexpected && !note ? h("span", { class: "badge fail" }, "other arguments") : null,
    isOther ? h("span", { class: "badge open" }, other ? `not as in ${shown(version)}` : `not in ${shown(version)}`) : null,
    typeof call.seconds === "number" ? h("small", null, quantity(call.seconds, "seconds")) : null,
  ];
  return h("div", { class: `call ${fault ? (fault.unexpected ? "unexpected" : "wrong") : ""}` },
    h("p", { class: "call-name" }, h("code", { dir: "auto" }, shown(call.name ?? "(no name)")), badges),
    expected && (Object.keys(expected.args ?? {}).length || match.isDenied) ? differences(expected.args, call.args, match) : values(call.args, other?.args),
    expected || !fault?.instead ? null : fault.instead.map(instead),
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
  return shown(typeof value === "string" ? value : jsonText(value, 1));
}

function instead({ parameter, expected, actual }) {
  return h("p", { class: "instead" }, h("code", null, shown(parameter)), " is ", h("ins", null, leafText(actual)), " instead of ", h("del", null, leafText(expected)));
}

// The arguments; those that another version's call does not have so are marked.
function values(args, others) {
  const found = [...leaves(args)];
  if (!found.length) return h("p", { class: "hint" }, "no arguments");
  const known = others && new Map([...leaves(others)].map(([path, value]) => [path, jsonText(value)]));
  return h("dl", { class: "args" }, found.map(([path, value]) => [h("dt", null, shown(path)),
    h("dd", { dir: "auto" }, known && known.get(path) !== jsonText(value) ? h("b", { class: "differs" }, leafText(value)) : leafText(value))]));
}

// Yields path, value and first name of everything inside a value that holds no more. A directive is one value.
function* leaves(value, path = "", first = null) {
  const isList = Array.isArray(value);
  if (value === null || value === undefined) {
    if (path) yield [path, null, first];
  } else if (typeof value === "object" && !isDirective(value) && Object.keys(value).length) {
    for (const [name, inner] of Object.entries(value)) {
      yield* leaves(inner, isList ? `${path}[${name}]` : joined(path, name), first ?? name);
    }
  } else if (path || typeof value !== "object") {
    yield [path || "(all)", value, first];
  }
}

function isDirective(value) {
  return value !== null && typeof value === "object" && "$matchType" in value;
}

// A name that could be read as a path is in quotation marks.
function joined(path, name) {
  if (!/^[^.[\]"\s()]+$/.test(name)) return `${path}[${JSON.stringify(name)}]`;
  return path ? `${path}.${name}` : name;
}

const MATCHERS = { ignore: "anything", exact: "exactly", contains: "contains", regexp: "matches the pattern", semantic: "means" };

function directiveText({ $matchType: kind, $matchValue: value, value: other }) {
  const wanted = value ?? other;
  const text = wanted === undefined || kind === "ignore" ? "" : ` ${typeof wanted === "string" ? wanted : jsonText(wanted)}`;
  return shown(`${heldBy(MATCHERS, kind) ?? kind}${text}`);
}

function leafText(value) {
  if (isDirective(value)) return directiveText(value);
  const text = shown(typeof value === "string" ? value : jsonText(value));
  return text.length <= LONGEST ? text : `${text.slice(0, LONGEST)}… (${text.length - LONGEST} more characters)`;
}

// Arguments side by side: same, missing, extra, changed, or different but accepted by the comparison.
function differences(expected, actual, { wrong, isDenied }) {
  return h("dl", { class: "args" }, compared(expected, actual).map(({ path, first, want, own }) => {
    const kind = difference(want, own, wrong.includes(first) || (isDenied && !isDirective(want)));
    return [h("dt", { class: kind }, shown(path)), h("dd", { class: kind, dir: "auto" }, differenceText(kind, want, own))];
  }));
}

function compared(expected, actual) {
  const found = new Map();
  for (const [path, want, first] of leaves(expected)) found.set(path, { path, first, want, own: MISSING });
  for (const [path, own, first] of leaves(actual)) found.set(path, { ...(found.get(path) ?? { path, first, want: MISSING }), own });
  return [...found.values()];
}

// Whether the arguments of two calls are equal, value by value, or apart from directives of the case.
export function sameArguments(expected, actual, allowsDirectives) {
  return compared(expected.args, actual.args).every(({ want, own }) => isSame(want, own) || (allowsDirectives && isDirective(want)));
}

function isSame(want, own) {
  return want !== MISSING && own !== MISSING && jsonText(want) === jsonText(own);
}

function difference(want, own, isWrong) {
  if (want === MISSING) return "extra";
  if (own === MISSING) return isWrong ? "missing" : "accepted";
  if (isSame(want, own)) return "same";
  return isWrong ? "changed" : "accepted";
}

function differenceText(kind, want, own) {
  if (kind === "same") return leafText(own);
  if (kind === "extra") return [h("ins", null, leafText(own)), h("small", null, " not expected")];
  if (own === MISSING) return [h("del", null, leafText(want)), h("small", null, kind === "missing" ? " missing" : " left out, accepted")];
  const [wanted, made] = leafText(want) === leafText(own) ? [want, own].map((value) => shown(jsonText(value))) : [want, own].map(leafText);
  if (kind === "accepted") return [made, h("small", null, " accepted as "), wanted];
  return [h("ins", null, made), h("small", null, " instead of "), h("del", null, wanted)];
}
