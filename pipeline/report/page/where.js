// Where it goes wrong: slices by criterion, and turns by their index.

import { word } from "./badges.js";
import { report, versionName } from "./data.js";
import { breakable, choice, h, table } from "./dom.js";
import { NONE, counted, decimal, number, pValue, percent, points, shortNames, shown, turnName } from "./format.js";
import { lines } from "./plots.js";
import { fresh, go, link, state } from "./state.js";

const FILTER = { language: "language", tag: "tag", tool: "tool", turns: "slice" };
const MOST = 60;

export function where() {
  return [
    h("h1", null, "Where it goes wrong"),
    h("section", { "aria-labelledby": "slices" }, h("h2", { id: "slices" }, "Slices"), slices()),
    report.comparisons.length ? h("section", { "aria-labelledby": "changes" }, h("h2", { id: "changes" }, "What changed where"), report.comparisons.map(changes)) : null,
    h("section", { "aria-labelledby": "turns" }, h("h2", { id: "turns" }, "Turns"), turns()),
  ];
}

function slices() {
  if (!report.slices.length) return h("p", null, "All conversations are in the same slice: there is nothing to compare.");
  const version = Number(state.version || 0);
  const names = report.criteria.map((row) => row.name).filter((name) => report.slices.some((one) => one.figures[name]?.[version]));
  return [
    report.versions.length > 1
      ? choice("version", report.versions.map((_, i) => [String(i), shown(versionName(i))]), String(version), (value) => go(link({ version: value })))
      : null,
    h("p", { class: "hint" }, "Pass share of each slice. Coloured: it differs from the other conversations of the version at a false discovery rate of 10 %. ",
      "Grey: so few conversations show only differences of the stated size."),
    table(`Pass shares by slice, ${shown(versionName(version))}`, ["slice", "conversations", ...names.map((name) => breakable(label(name)))],
      report.slices.map((slice) => [sliceLink(slice), conversationsOf(slice, version), ...names.map((name) => cell(slice, name, version))]),
      { class: "grid" }),
  ];
}

function conversationsOf({ figures: { verdict: verdicts } }, version) {
  const own = verdicts?.[version];
  return own ? number(own.passed + own.failed + own.no_score) : "0";
}

function label(name) {
  return name === "verdict" ? "verdict" : shown(name);
}

function sliceLink(slice) {
  return [h("small", null, `${slice.kind} `), h("a", { href: fresh({ view: "conversations", [FILTER[slice.kind]]: slice.value }), dir: "auto" }, breakable(shown(slice.value)))];
}

function cell(slice, name, version) {
  const own = slice.figures[name]?.[version];
  if (!own) return NONE;
  const decided = own.passed + own.failed;
  if (!decided) return h("span", { class: "cell open" }, `${number(own.no_score)} no score`);
  const kind = own.stands_out ? (own.difference < 0 ? "bad" : "good") : "";
  const filter = { view: "conversations", [FILTER[slice.kind]]: slice.value, version: String(version), outcome: "FAIL",
    ...(name === "verdict" ? {} : { criterion: name }) };
  return h("a", { class: `cell ${kind}`, href: fresh(filter) },
    h("span", { class: "figure" }, percent(own.passed / decided)), h("small", null, ` ${own.passed}/${decided}`),
    own.no_score ? h("small", null, ` +${own.no_score} no score`) : null,
    own.difference === null ? null : h("small", null, own.stands_out ? ` ${points(own.shrunk)}` :
      own.detectable === null ? " too few to see any" : ` sees ±${Math.round(own.detectable * 100)}`));
}

function changes(comparison) {
  const found = comparison.slices.filter((one) => one.stands_out);
  const rest = comparison.slices.filter((one) => !one.stands_out).slice(0, MOST);
  const title = shown(`${comparison.b.name} against ${comparison.a.name}`);
  return [
    found.length ? sliceTable(`${title}: slices that stand out`, found)
      : h("p", null, `${title}: no slice stands out at a false discovery rate of ${percent(comparison.q)}.`),
    rest.length ? h("details", null, h("summary", null, counted(rest.length, "other slice")), sliceTable(`${title}: other slices`, rest)) : null,
    flips(comparison, title),
  ];
}

function sliceTable(title, found) {
  return table(title, ["slice", "criterion", "difference", "drawn to the mean", "adjusted p", "word"],
    found.map((one) => [shown(one.slice), label(one.criterion), difference(one.difference), amount(one, one.shrunk),
      pValue(one.q), one.stands_out ? word(one.difference.word) : NONE]));
}

const KINDS = { regressed: "regressed", fixed: "fixed", newly_missing: "no verdict any more", newly_measured: "has a verdict now" };
const FLIP_CLASS = { regressed: "fail", fixed: "pass" };

// Cases whose outcome differs, regressed ones first.
function flips({ flips: all }, title) {
  if (!all.length) return null;
  const names = shortNames(all.map((one) => one.case));
  const rows = all.slice(0, MOST).map((one) => [h("span", { class: `badge ${FLIP_CLASS[one.kind] ?? "open"}` }, KINDS[one.kind] ?? shown(one.kind)),
    h("a", { href: fresh({ view: "conversations", text: names.get(one.case) }), dir: "auto" }, shown(names.get(one.case))), label(one.criterion),
    h("span", { dir: "auto" }, shown([one.turn_index === null ? null : `${turnName(one.turn_index)}: `, one.reason].filter(Boolean).join("")))]);
  const more = all.length > MOST ? h("p", { class: "hint" }, `The first ${MOST} of ${number(all.length)}.`) : null;
  return [table(`${title}, case by case`, ["outcome", "case", "criterion", "why it fails or has no verdict"], rows), more];
}

function amount({ difference: { value_a: a, value_b: b } }, value) {
  const isShare = [a, b].every((one) => one === null || (one >= 0 && one <= 1));
  return value === null ? NONE : isShare ? points(value) : decimal(value);
}

function difference(own) {
  if (own.difference === null) return NONE;
  const seen = own.detectable === null ? "" : `, sees ±${amount({ difference: own }, own.detectable).slice(1)}`;
  return [amount({ difference: own }, own.difference), h("small", null, ` ${counted(own.pairs || own.count_b, own.pairs ? "pair" : "conversation")}${seen}`)];
}

function turns() {
  const rows = report.criteria.filter((row) => row.figures.some((figure) => figure?.by_turn.length));
  if (!rows.length) return h("p", null, "No criterion scores single turns.");
  const row = rows.find((one) => one.name === state.criterion) ?? rows[0];
  const length = Math.max(...row.figures.map((figure) => figure?.by_turn.length ?? 0));
  const used = row.figures.map((figure, i) => [figure, i]).filter(([figure]) => figure?.by_turn.length);
  const isShare = row.figures.some((figure) => figure?.share !== null && figure !== null);
  const text = isShare || row.unit === "score" && row.high === 1 ? percent : decimal;
  const x = Array.from({ length }, (_, i) => i);
  return [
    choice("criterion", rows.map((one) => [one.name, label(one.name)]), row.name, (value) => go(link({ criterion: value }))),
    length > 1 ? lines({
      label: `${label(row.name)} by turn, ${isShare ? "share that passes" : "mean"}`, x, xLabel: "turn, counted from 0", yLabel: "",
      xFormat: (value) => (Number.isInteger(value) ? String(value) : ""), format: text,
      series: used.map(([figure, i]) => ({ name: shown(versionName(i)), values: x.map((turn) => figure.by_turn[turn]?.[0] ?? null) })),
    }) : null,
    table(`${label(row.name)} by turn`, ["turn", ...used.map(([, i]) => shown(versionName(i)))], x.map((turn) => [String(turn),
      ...used.map(([figure]) => turnCell(figure.by_turn[turn], text))])),
  ];
}

function turnCell(pair, text) {
  return pair && pair[1] ? [text(pair[0]), h("small", null, ` n ${number(pair[1])}`)] : NONE;
}
