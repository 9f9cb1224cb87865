// Where it goes wrong: slices by criterion, and turns by their index.

import { explained, heads, meaning } from "./about.js";
import { versionHead, word } from "./badges.js";
import { compared, pairChoice, shownVersions } from "./compared.js";
import { heldBy, report, versionAt, versionName } from "./data.js";
import { breakable, choice, h, table } from "./dom.js";
import { NONE, counted, decimal, number, percent, points, quantity, shortNames, shown, turnName } from "./format.js";
import { lines } from "./plots.js";
import { fresh, go, link, state } from "./state.js";

const FILTER = { language: "language", tag: "tag", tool: "tool", turns: "slice" };
const MOST = 60;

export function where() {
  const { comparison } = compared();
  const sliced = report.criteria.map((row) => row.name).filter((name) => hasSlices(name, comparison));
  const changed = new Set(comparison?.flips.map(({ criterion }) => criterion));
  const names = report.criteria.map((row) => row.name).filter((name) => changed.has(name) || sliced.includes(name));
  const leading = [compared().page?.criterion, ...sliced].find((one) => sliced.includes(one));
  const name = names.includes(state.criterion) ? state.criterion : leading ?? names[0];
  const isOfOne = report.versions.length === 1;
  return [
    h("h1", null, "Where it goes wrong"),
    h("div", { class: "actions" }, pairChoice(),
      isOfOne || !name ? null : choice("criterion", names.map((one) => [one, shown(one)]), name, (value) => go(link({ criterion: value })))),
    h("section", { "aria-labelledby": "slices" }, h("h2", { id: "slices" }, "Slices"),
      !report.slices.length ? h("p", null, "All conversations are in the same slice: there is nothing to compare.")
        : isOfOne ? allCriteria() : sliced.includes(name) ? besideEachOther(name, comparison) : h("p", null, `${shown(name ?? "verdict")} has no figures by slice, because it has no threshold.`)),
    comparison ? h("section", { "aria-labelledby": "changes" }, h("h2", { id: "changes" }, "What changed, case by case"), flips(comparison, name)) : null,
    h("section", { "aria-labelledby": "turns" }, h("h2", { id: "turns" }, "Turns"), turns()),
  ];
}

function hasSlices(name, comparison) {
  return comparison?.slices.some(({ criterion }) => criterion === name) || report.slices.some((slice) => heldBy(slice.figures, name)?.some(Boolean));
}

// One version: all criteria.
function allCriteria() {
  const names = report.criteria.map((row) => row.name).filter((name) => report.slices.some((one) => heldBy(one.figures, name)?.[0]));
  return table("Share that passes, by slice", [explained("slice"), "conversations", ...names.map((name) => explained(shown(name), name))],
    report.slices.map((slice) => [sliceLink(slice), conversationsOf(slice, 0), ...names.map((name) => cell(slice, name, 0))]), { class: "grid stack" });
}

// Several versions beside each other, and how the compared ones differ, for one criterion.
function besideEachOther(name, comparison) {
  const versions = shownVersions();
  const differences = new Map(comparison?.slices.filter(({ criterion }) => criterion === name).map((own) => [own.slice, own]));
  const found = (slice) => differences.get(sliceName(slice));
  const head = comparison ? [[versionHead(versionAt(comparison.candidate.name)), " − ", versionHead(versionAt(comparison.baseline.name)), explained("", "difference")]] : [];
  return [
    h("p", { class: "hint" }, "Shares are coloured where a slice differs from the other conversations of its version, differences where the versions differ within the slice; both at a false discovery rate of 10 %. Shares are of all conversations, differences of the pairs alone."),
    table(`${shown(name)} by slice`, [explained("slice"), ...versions.map(versionHead), ...head],
      report.slices.map((slice) => [sliceLink(slice),
        ...versions.map((i) => (heldBy(slice.figures, name) ? cell(slice, name, i) : meanCell(comparison, found(slice), i))),
        ...(comparison ? [differenceCell(comparison, slice, name, found(slice))] : [])]),
      { class: "grid stack" }),
  ];
}

// How a comparison calls a slice; of tools and numbers of turns, it has none.
function sliceName({ kind, value }) {
  return { language: `language:${value}`, tag: value }[kind];
}

// A mean, which the comparison alone knows by slice.
function meanCell(comparison, found, version) {
  const value = { [comparison?.baseline.name]: found?.difference.baseline_value, [comparison?.candidate.name]: found?.difference.candidate_value }[versionName(version)];
  const unit = found && comparison.criteria.find(({ criterion }) => criterion === found.criterion)?.unit;
  return value === undefined ? NONE : h("span", { class: "cell" }, quantity(value, unit));
}

function differenceCell({ baseline, candidate, criteria }, slice, name, found) {
  if (found) {
    const kind = found.stands_out ? { better: "good", worse: "bad" }[found.difference.word] ?? "" : "";
    return h("span", { class: `cell ${kind}` }, difference(found.difference, criteria.find(({ criterion }) => criterion === name)), found.stands_out ? [" ", word(found.difference.word)] : null);
  }
  const [before, after] = [baseline, candidate].map((side) => heldBy(slice.figures, name)?.[versionAt(side.name)]).map((own) => own && own.passed / (own.passed + own.failed));
  return Number.isFinite(before) && Number.isFinite(after) ? h("span", { class: "cell" }, points(after - before), h("small", null, " not tested")) : NONE;
}

function conversationsOf({ figures: { verdict: verdicts } }, version) {
  const own = verdicts?.[version];
  return own ? number(own.passed + own.failed + own.no_score) : "0";
}

function sliceLink(slice) {
  return [h("small", null, `${slice.kind} `), h("a", { href: fresh({ view: "conversations", [FILTER[slice.kind]]: slice.value }), dir: "auto" }, breakable(shown(slice.value)))];
}

function cell(slice, name, version) {
  const own = heldBy(slice.figures, name)?.[version];
  if (!own) return NONE;
  const decided = own.passed + own.failed;
  const missing = name === "verdict" ? "no verdict" : "no score";
  if (!decided) return h("span", { class: "cell open" }, `${number(own.no_score)} ${missing}`);
  const kind = own.stands_out ? (own.difference < 0 ? "bad" : "good") : "";
  const filter = { view: "conversations", [FILTER[slice.kind]]: slice.value, version: versionName(version), outcome: "FAIL",
    ...(name === "verdict" ? {} : { criterion: name }) };
  return h("a", { class: `cell ${kind}`, href: fresh(filter) },
    h("span", { class: "figure", title: seen(own) }, percent(own.passed / decided)), h("small", null, ` ${own.passed}/${decided}`),
    own.no_score ? h("small", null, ` +${own.no_score} ${missing}`) : null,
    own.stands_out ? h("small", null, ` ${points(own.shrunk)} from the others`) : null);
}

// How large a difference from the other conversations would have been seen.
function seen(own) {
  if (own.difference === null || own.stands_out) return null;
  return own.detectable === null ? "too few conversations to see any difference from the others" : `a difference of ${Math.round(own.detectable * 100)} points from the others would have been seen`;
}

const FLIP_CLASS = { regressed: "fail", fixed: "pass" };

function changeText({ kind, criterion }) {
  const of = criterion === "verdict" ? "verdict" : "score";
  return { newly_missing: `no ${of} any more`, newly_measured: `has a ${of} now` }[kind] ?? shown(kind);
}

// Cases whose outcome by a criterion differs, regressed ones first.
function flips({ flips: all, baseline, candidate }, name) {
  const own = all.filter(({ criterion }) => criterion === name);
  const title = shown(`${candidate.name} against ${baseline.name}, by ${shown(name ?? "verdict")}`);
  if (!own.length) return h("p", null, `${title}: no outcome changed.`);
  const names = shortNames(own.map((one) => one.case));
  const rows = own.slice(0, MOST).map((one) => [
    h("a", { href: fresh({ view: "conversations", text: names.get(one.case) }), dir: "auto" }, shown(names.get(one.case))),
    h("span", { class: `badge ${FLIP_CLASS[one.kind] ?? "open"}`, title: meaning(one.kind) }, changeText(one)),
    h("span", { dir: "auto" }, shown([one.turn_index === null ? null : `${turnName(one.turn_index)}: `, one.reason ?? NONE].filter(Boolean).join("")))]);
  const more = own.length > MOST ? h("p", { class: "hint" }, `The first ${MOST} of ${number(own.length)}.`) : null;
  return [table(title, heads(["case", "change", "why it fails or failed, or has no score"]), rows, { class: "stack" }), more];
}

function amount({ measure, unit }, value) {
  return value === null ? NONE : measure === "pass_rate" ? points(value) : `${value < 0 ? "−" : "+"}${quantity(Math.abs(value), unit)}`;
}

function difference(own, criterion) {
  if (own.difference === null) return NONE;
  const count = counted(own.pairs || own.candidate_count, own.pairs ? "pair" : "conversation");
  return [amount(criterion, own.difference), h("small", { title: own.detectable === null ? null : `${amount(criterion, own.detectable).slice(1)} would have been seen` }, ` ${count}`)];
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
    choice("criterion", rows.map((one) => [one.name, shown(one.name)]), row.name, (value) => go(link({ criterion: value }))),
    length > 1 ? lines({
      label: `${shown(row.name)} by turn, ${isShare ? "share that passes" : row.unit === "score" ? "mean" : `mean, ${row.unit}`}`, x, xLabel: "turn", yLabel: "",
      xFormat: (value) => (Number.isInteger(value) ? String(value + 1) : ""), format: text,
      series: used.map(([figure, i]) => ({ name: shown(versionName(i)), values: x.map((turn) => figure.by_turn[turn]?.[0] ?? null) })),
    }) : null,
    table(`${shown(row.name)} by turn`, ["turn", ...used.map(([, i]) => versionHead(i))], x.map((turn) => [String(turn + 1),
      ...used.map(([figure]) => turnCell(figure.by_turn[turn], text))])),
  ];
}

function turnCell(pair, text) {
  return pair && pair[1] ? [text(pair[0]), h("small", null, ` n ${number(pair[1])}`)] : NONE;
}
