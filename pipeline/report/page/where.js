// Where it goes wrong: slices by criterion, and turns by their index.

import { explained, heads, meaning } from "./about.js";
import { versionHead, word } from "./badges.js";
import { heldBy, report, versionName } from "./data.js";
import { breakable, choice, h, table } from "./dom.js";
import { NONE, counted, decimal, number, percent, points, shortNames, shown, turnName } from "./format.js";
import { lines } from "./plots.js";
import { fresh, go, link, state } from "./state.js";

const FILTER = { language: "language", tag: "tag", tool: "tool", turns: "slice" };
const MOST = 60;

export function where() {
  return [
    h("h1", null, "Where it goes wrong"),
    h("section", { "aria-labelledby": "slices" }, h("h2", { id: "slices" }, "Slices"), slices()),
    report.comparisons.some((one) => one.flips.length) ? h("section", { "aria-labelledby": "changes" }, h("h2", { id: "changes" }, "What changed, case by case"), report.comparisons.map(flips)) : null,
    h("section", { "aria-labelledby": "turns" }, h("h2", { id: "turns" }, "Turns"), turns()),
  ];
}

function slices() {
  if (!report.slices.length) return h("p", null, "All conversations are in the same slice: there is nothing to compare.");
  return report.versions.length > 1 ? besideEachOther() : allCriteria();
}

// One version: all criteria.
function allCriteria() {
  const names = report.criteria.map((row) => row.name).filter((name) => report.slices.some((one) => heldBy(one.figures, name)?.[0]));
  return table("Share that passes, by slice", [explained("slice"), "conversations", ...names.map((name) => explained(label(name), name))],
    report.slices.map((slice) => [sliceLink(slice), conversationsOf(slice, 0), ...names.map((name) => cell(slice, name, 0))]), { class: "grid stack" });
}

// Several versions beside each other, and how they differ, for one criterion.
function besideEachOther() {
  const differences = report.comparisons.map((one) => new Map(one.slices.map((own) => [`${own.slice}\n${own.criterion}`, own])));
  const isKnown = (name) => report.slices.some((slice) => heldBy(slice.figures, name)?.some(Boolean)) || report.comparisons.some((one) => one.slices.some((own) => own.criterion === name));
  const names = report.criteria.map((row) => row.name).filter(isKnown);
  const name = [state.criterion, report.first_page?.criterion, names[0]].find((one) => names.includes(one));
  const found = (slice, i) => differences[i].get(`${sliceName(slice)}\n${name}`);
  return [
    choice("criterion", names.map((one) => [one, label(one)]), name, (value) => go(link({ criterion: value }))),
    h("p", { class: "hint" }, "Shares are coloured where a slice differs from the other conversations of its version, differences where the versions differ within the slice; both at a false discovery rate of 10 %. Shares are of all conversations, differences of the pairs alone."),
    table(`${label(name)} by slice`, [explained("slice"), ...report.versions.map((_, i) => versionHead(i)), ...report.comparisons.map((one) => [versionHead(nameIndex(one.candidate.name)), " − ", versionHead(nameIndex(one.baseline.name)), explained("", "difference")])],
      report.slices.map((slice) => [sliceLink(slice),
        ...report.versions.map((_, i) => (heldBy(slice.figures, name) ? cell(slice, name, i) : meanCell(report.comparisons.map((_one, j) => found(slice, j)), i))),
        ...report.comparisons.map((one, i) => differenceCell(one, slice, name, found(slice, i)))]),
      { class: "grid stack" }),
  ];
}

function nameIndex(name) {
  return report.versions.findIndex((one) => one.name === name);
}

// How a comparison calls a slice; of tools and numbers of turns, it has none.
function sliceName({ kind, value }) {
  return { language: `language:${value}`, tag: value }[kind];
}

// A mean, which the comparison alone knows by slice.
function meanCell(differences, version) {
  const at = report.comparisons.findIndex(({ baseline, candidate }, i) => differences[i] && [baseline.name, candidate.name].includes(versionName(version)));
  if (at < 0) return NONE;
  const { difference: own } = differences[at];
  return h("span", { class: "cell" }, decimal(report.comparisons[at].baseline.name === versionName(version) ? own.baseline_value : own.candidate_value));
}

function differenceCell({ baseline, candidate }, slice, name, found) {
  if (found) {
    const kind = found.stands_out ? { better: "good", worse: "bad" }[found.difference.word] ?? "" : "";
    return h("span", { class: `cell ${kind}` }, difference(found.difference), found.stands_out ? [" ", word(found.difference.word)] : null);
  }
  const [before, after] = [baseline, candidate].map((side) => heldBy(slice.figures, name)?.[nameIndex(side.name)]).map((own) => own && own.passed / (own.passed + own.failed));
  return Number.isFinite(before) && Number.isFinite(after) ? h("span", { class: "cell" }, points(after - before), h("small", null, " not tested")) : NONE;
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
  const own = heldBy(slice.figures, name)?.[version];
  if (!own) return NONE;
  const decided = own.passed + own.failed;
  if (!decided) return h("span", { class: "cell open" }, `${number(own.no_score)} no score`);
  const kind = own.stands_out ? (own.difference < 0 ? "bad" : "good") : "";
  const filter = { view: "conversations", [FILTER[slice.kind]]: slice.value, version: versionName(version), outcome: "FAIL",
    ...(name === "verdict" ? {} : { criterion: name }) };
  return h("a", { class: `cell ${kind}`, href: fresh(filter) },
    h("span", { class: "figure", title: seen(own) }, percent(own.passed / decided)), h("small", null, ` ${own.passed}/${decided}`),
    own.no_score ? h("small", null, ` +${own.no_score} no score`) : null,
    own.stands_out ? h("small", null, ` ${points(own.shrunk)} from the others`) : null);
}

// How large a difference from the other conversations would have been seen.
function seen(own) {
  if (own.difference === null || own.stands_out) return null;
  return own.detectable === null ? "too few conversations to see any difference from the others" : `a difference of ${Math.round(own.detectable * 100)} points from the others would have been seen`;
}

const KINDS = { regressed: "regressed", fixed: "fixed", newly_missing: "no verdict any more", newly_measured: "has a verdict now" };
const FLIP_CLASS = { regressed: "fail", fixed: "pass" };

// Cases whose outcome differs, regressed ones first.
function flips({ flips: all, baseline, candidate }) {
  if (!all.length) return null;
  const title = shown(`${candidate.name} against ${baseline.name}`);
  const names = shortNames(all.map((one) => one.case));
  const rows = all.slice(0, MOST).map((one) => [
    h("a", { href: fresh({ view: "conversations", text: names.get(one.case) }), dir: "auto" }, shown(names.get(one.case))),
    h("span", { class: `badge ${FLIP_CLASS[one.kind] ?? "open"}`, title: meaning(one.kind) }, KINDS[one.kind] ?? shown(one.kind)), breakable(label(one.criterion)),
    h("span", { dir: "auto" }, shown([one.turn_index === null ? null : `${turnName(one.turn_index)}: `, one.reason].filter(Boolean).join("")))]);
  const more = all.length > MOST ? h("p", { class: "hint" }, `The first ${MOST} of ${number(all.length)}.`) : null;
  return [table(title, heads(["case", "change", "criterion", "why it fails or has no verdict"]), rows, { class: "stack" }), more];
}

function amount({ difference: { baseline_value: a, candidate_value: b } }, value) {
  const isShare = [a, b].every((one) => one === null || (one >= 0 && one <= 1));
  return value === null ? NONE : isShare ? points(value) : `${value < 0 ? "−" : "+"}${decimal(Math.abs(value))}`;
}

function difference(own) {
  if (own.difference === null) return NONE;
  const count = counted(own.pairs || own.candidate_count, own.pairs ? "pair" : "conversation");
  return [amount({ difference: own }, own.difference), h("small", { title: own.detectable === null ? null : `${amount({ difference: own }, own.detectable).slice(1)} would have been seen` }, ` ${count}`)];
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
      label: `${label(row.name)} by turn, ${isShare ? "share that passes" : "mean"}`, x, xLabel: "turn", yLabel: "",
      xFormat: (value) => (Number.isInteger(value) ? String(value + 1) : ""), format: text,
      series: used.map(([figure, i]) => ({ name: shown(versionName(i)), values: x.map((turn) => figure.by_turn[turn]?.[0] ?? null) })),
    }) : null,
    table(`${label(row.name)} by turn`, ["turn", ...used.map(([, i]) => versionHead(i))], x.map((turn) => [String(turn + 1),
      ...used.map(([figure]) => turnCell(figure.by_turn[turn], text))])),
  ];
}

function turnCell(pair, text) {
  return pair && pair[1] ? [text(pair[0]), h("small", null, ` n ${number(pair[1])}`)] : NONE;
}
