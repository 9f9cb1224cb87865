// The first screen: verdicts in sentences, the balance of records, what to read, and the table of criteria.

import { explained, meaning } from "./about.js";
import { tag, versionHead, word } from "./badges.js";
import { compared, pairChoice, shownVersions } from "./compared.js";
import { report, shortVersion, size, versionAt, versionName } from "./data.js";
import { breakable, h, table } from "./dom.js";
import { NONE, counted, number, percent, quantity, shown } from "./format.js";
import { readingTable } from "./list.js";
import { intervalBar, sparkline } from "./plots.js";
import { isRejected } from "./missing.js";
import { fresh } from "./state.js";

const VERDICT = "verdict";

export function overview() {
  const { page, read, reasons } = compared();
  const [problems, coverage, ...notes] = sentences();
  return [
    ...firstPage(page, reasons),
    problems,
    coverage,
    h("section", { "aria-labelledby": "read" }, h("h2", { id: "read" }, "Read these first"),
      h("p", { class: "hint" }, page?.baseline ? "Regressions of the candidate first, then what else went wrong in it: at most three of a problem type." : "What destroyed something or failed first: the worst conversation of each problem type, then further ones, at most three of a type."),
      read.length ? readingTable(read) : h("p", null, nothingToRead())),
    size() ? h("section", { "aria-labelledby": "criteria" }, h("h2", { id: "criteria" }, "Criteria"), criteriaTable()) : null,
    ...notes,
  ];
}

// The answer, what could change it, five counts that are links, and how it was chosen.
function firstPage(page, reasons) {
  if (!page) return [h("h1", null, "Nothing was scored."), rejected(page)];
  const list = (changes) => fresh({ view: "conversations", ...changes });
  const by = page.counts_by === VERDICT ? "" : page.counts_by;
  const counts = [
    ["regressed", page.regressed, list({ criterion: by, change: "regressed" })],
    ["fixed", page.fixed, list({ criterion: by, change: "fixed" })],
    [page.baseline === null ? "failed" : "still failing", page.still_failing, page.baseline === null ? list({ outcome: "FAIL" }) : list({ criterion: by, change: "still_failing" })],
    ["no score", page.no_score, list({ version: page.candidate, criterion: by, outcome: "no_verdict" })],
    ["no verdict", page.no_verdict, list({ version: page.baseline === null ? "" : page.candidate, outcome: "no_verdict" })],
    ["rejected", page.rejected, fresh({ view: "missing" })],
  ];
  return [
    h("h1", { class: "headline" }, shown(page.headline)),
    page.detail ? h("p", null, shown(page.detail)) : null,
    page.criterion === VERDICT ? null : h("p", { class: "hint" }, `Cases by ${shown(page.counts_by)}, then what has no verdict or was rejected:`),
    h("ul", { class: "counts", "aria-label": "Counts" }, counts.filter(([, value]) => value !== null).map(([name, value, href]) =>
      h("li", null, h("a", { href, title: meaning(name) }, h("strong", null, number(value)), ` ${name}`)))),
    page.destructive || page.baseline_destructive ? h("p", { class: "problem" }, "Unexpected destructive calls: in ",
      h("a", { href: list({ version: page.candidate, severity: "destructive" }) }, counted(page.destructive, "conversation")), page.candidate ? ` of ${shown(shortVersion(page.candidate))}` : null,
      page.baseline_destructive === null ? null : [", in ", h("a", { href: list({ version: page.baseline, severity: "destructive" }) }, number(page.baseline_destructive)), ` of ${shown(shortVersion(page.baseline))}`], ".") : null,
    mostOften(reasons),
    rejected(page),
    page.baseline === null ? null : h("div", { class: "actions" }, pairChoice(), h("span", { class: "hint" }, `${shown(page.chosen)}.`)),
  ];
}

// Why conversations of the candidate most often have no verdict: the lines of the terminal.
function mostOften([head, ...reasons]) {
  return head ? [h("p", null, shown(head[0].toUpperCase() + head.slice(1))), h("ul", { class: "reasons", "aria-label": "Why verdicts are missing" }, reasons.map((text) => h("li", null, shown(text.trim()))))] : null;
}

const REASONS = 3;

// Why records were rejected, most often, with the next step and what the first of each kind says.
function rejected(page) {
  const groups = report.failures.filter(isRejected).slice(0, REASONS);
  return groups.length ? [h("p", null, `Rejected (${page?.rejected ? `${number(page.rejected)}, ` : ""}in no figure), most often: `, h("a", { href: fresh({ view: "missing" }) }, "all of them")),
    h("ul", { class: "reasons", "aria-label": "Why records were rejected" }, groups.map(({ sentence: text, rows: [first] }) => h("li", null,
      `${shown(text)}, such as ${[first.source, first.position || null].filter(Boolean).map(shown).join(":")}: ${shown(first.message ?? "")}`)))] : null;
}

// Says that nothing is wrong only where every conversation (of the candidate) is here and has a verdict.
function nothingToRead() {
  const missing = report.runs.map(missingOf).filter(Boolean);
  const { page, comparison } = compared();
  const { candidate, baseline } = page ?? {};
  const { verdict, version } = report.conversations;
  const verdicts = verdict.filter((_, place) => !baseline || report.versions[version[place]].name === candidate);
  const open = verdicts.filter((one) => one !== "PASS").length;
  const of = baseline ? ` of ${candidate}` : "";
  if (!size()) missing.unshift("Nothing was scored, so that there is no conversation to read.");
  else if (open) missing.push(`${counted(open, "conversation")} of ${number(verdicts.length)}${of} did not pass or ${open === 1 ? "has" : "have"} no verdict, and none can be put first.`);
  const gone = baseline && comparison.pairing.by !== "nothing" ? comparison.pairing.baseline_only : 0;
  if (gone) missing.push(`${counted(gone, "case")} of ${baseline} ${gone === 1 ? "has" : "have"} no conversation of ${candidate}.`);
  return shown(missing.length ? missing.join(" ") : `Every conversation${of} passed.`);
}

function missingOf({ name: run, counts }) {
  const rejected = [["rejected_records", "record"], ["rejected_conversations", "conversation"], ["rejected_cases", "eval case"]]
    .filter(([name]) => counts[name]).map(([name, noun]) => counted(counts[name], noun));
  return rejected.length ? `${run} rejected ${rejected.join(", ")}.` : null;
}

// Problems first, then what the headline does not say, folded, as is what is of runs that are not compared.
function sentences() {
  const { page, comparison } = compared();
  const pair = page?.baseline ? [page.baseline, page.candidate].map((name) => report.versions[versionAt(name)].run) : null;
  const isOfPair = ({ run }) => pair === null || run === null || pair.includes(run);
  const problems = report.sentences;
  const texts = (comparison?.criteria ?? []).map((one) => ({ text: `${one.sentence}.`, tone: one.overall.word, criterion: one.criterion }));
  const balance = (all) => h("ul", { class: "coverage", "aria-label": "Coverage" }, all.map((one) => h("li", null, shown(one.text))));
  const others = [...problems, ...report.coverage].filter((one) => !isOfPair(one));
  return [
    problems.some(isOfPair) ? h("ul", { class: "problems", "aria-label": "Problems" }, problems.filter(isOfPair).map(sentence)) : null,
    balance(report.coverage.filter(isOfPair)),
    folded(texts, ["criterion in a sentence", "criteria in sentences"]),
    folded((comparison?.notes ?? []).map((text) => ({ text: `${text}.`, tone: "note" })), ["note on the comparison", "notes on the comparison"]),
    folded(others, ["sentence on the other runs", "sentences on the other runs"]),
  ];
}

function folded(found, [one, several]) {
  return found.length ? h("details", null, h("summary", null, `${found.length} ${found.length === 1 ? one : several}`), h("ul", { class: "sentences" }, found.map(sentence))) : null;
}

// Where a sentence is of another criterion than the verdict and does not name it, the name comes first.
function sentence(one) {
  const isNamed = !one.criterion || one.criterion === VERDICT || one.text.includes(one.criterion);
  return h("li", { class: ["better", "worse"].includes(one.tone) ? one.tone : "neutral" },
    isNamed ? null : h("strong", null, `${shown(one.criterion)}: `), shown(one.text));
}

function criteriaTable() {
  const { page, comparison } = compared();
  const versions = shownVersions();
  const rest = report.versions.length - versions.length;
  const difference = comparison ? [[versionHead(versionAt(page.candidate)), " − ", versionHead(versionAt(page.baseline)), explained("", "difference")]] : [];
  const columns = ["criterion", ...versions.map(versionHead), ...difference, explained("by turn"), explained("no score")];
  return [
    rest ? h("p", { class: "hint" }, `${counted(rest, "other version")} of the report: ${report.runs.length > 1 ? "see Trend, or " : ""}choose another pair; \`turnwise report\` compares any with --baseline and --candidate.`) : null,
    table(comparison ? "Criteria with 95 % intervals: each version over all of its conversations, the difference over the compared cases alone" : "Criteria by version, with 95 % intervals", columns, report.criteria.map((row) => criterionRow(row, versions, page, comparison)), { class: "criteria stack" }),
  ];
}

// Values of 0 and 1 alone, such as a reward, are a share, compared or not.
function criterionRow(row, versions, page, comparison) {
  const scale = scaleOf(row);
  const own = comparison?.criteria.find(({ criterion }) => criterion === row.name);
  const isShare = own ? own.measure === "pass_rate" : row.is_share;
  const figures = versions.map((i) => row.figures[i]);
  return [
    [explained(row.name, row.name, h("a", { href: fresh({ view: "conversations", ...failing(row.name) }) }, breakable(shown(row.name)))),
      page?.baseline && page.criterion === row.name ? [" ", h("span", { title: shown(page.chosen) }, tag("leads"))] : null],
    ...figures.map((figure) => figureCell(row, figure, scale, isShare)),
    ...(comparison ? [differenceCell(comparison, row, own)] : []),
    turnsCell(row, scale, isShare),
    noScoreCell(figures),
  ];
}

function failing(name) {
  return name === VERDICT ? { outcome: "FAIL" } : { criterion: name, outcome: "FAIL" };
}

// From 0 to 1, the scale of the criterion, or from 0 to the largest bound.
function scaleOf(row) {
  if (row.low !== null && row.high !== null) return [row.low, row.high];
  return [0, Math.max(...row.figures.filter(Boolean).map((f) => f.high ?? f.mean ?? 0), 0.001)];
}

function figureCell(row, figure, scale, isShare) {
  if (figure === null) return NONE;
  const value = figure.share ?? figure.mean;
  const asShare = isShare || figure.share !== null;
  const bounds = figure.low === null ? "" : ` (${[figure.low, figure.high].map((bound) => (asShare ? percent(bound) : quantity(bound, row.unit))).join(" to ")})`;
  const count = figure.share !== null ? figure.passed + figure.failed : figure.scored;
  return [
    h("span", { class: "figure" }, asShare ? percent(value) : quantity(value, row.unit)),
    value === null ? null : intervalBar(value, figure.low === null ? null : [figure.low, figure.high], scale),
    h("small", null, `${bounds} n ${number(count)}${row.level === "turn" ? ` turn${count === 1 ? "" : "s"}` : ""}`),
  ];
}

function differenceCell(comparison, row, own) {
  if (!own) return h("small", null, shown(comparison.not_compared[row.name] ?? NONE));
  const { difference, interval, word: said } = own.overall;
  if (difference === null) return [word(said), h("small", { class: "reason" }, ` ${shown(own.sentence)}`)];
  const bounds = interval && [interval.low, interval.high];
  const reach = Math.max(...[difference, ...(bounds ?? [])].map(Math.abs), 0.001);
  // The columns of the versions are of all conversations, the difference and its two sides of the compared cases: the cells of the terminal.
  const [, before, after, cases, text, p] = compared().cells.get(row.name);
  const [figure, range] = text.split(" (");
  return [word(said), h("span", { class: "figure" }, figure), intervalBar(difference, bounds, [-reach, reach]),
    h("small", null, `${range ? `(${range} ` : ""}p (Holm) ${p}`),
    h("small", null, ` compared cases: ${after} against ${before}, n ${cases}`),
    own.why_open ? h("small", { class: "reason" }, ` ${shown(own.why_open)}`) : null,
    row.name === VERDICT && comparison.same_as_verdict ? h("small", { class: "reason" }, ` the same as ${shown(comparison.same_as_verdict)}, which alone has a threshold`) : null];
}

function turnsCell(row, scale, isShare) {
  const last = row.figures.findLastIndex((figure) => figure?.by_turn.length > 1);
  if (last < 0) return NONE;
  const values = row.figures[last].by_turn;
  const text = values.map(([value, count], i) =>
    `turn ${i + 1}: ${value === null ? NONE : isShare || row.figures[last].share !== null ? percent(value) : quantity(value, row.unit)} of ${count}`);
  const most = Math.max(...values.map(([value]) => value ?? 0));
  return sparkline(values, row.unit === "score" ? scale : [0, most || 1], `${versionName(last)}: ${text.join(", ")}`);
}

function noScoreCell(figures) {
  const missing = figures.reduce((sum, figure) => sum + (figure?.no_score ?? 0), 0);
  const errors = figures.reduce((sum, figure) => sum + (figure?.errors ?? 0), 0);
  const text = [missing ? `${number(missing)}${figures.length > 1 ? " in all" : ""}` : "0", errors ? counted(errors, "error") : null].filter(Boolean).join(", ");
  return missing || errors ? h("a", { class: "open-count", href: fresh({ view: "missing" }) }, text) : text;
}
