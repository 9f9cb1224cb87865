// The pair of versions that the screens are about, of those that the report compares.

import { PAIRED_BY, heldBy, placesOf, report, shortVersion, versionAt } from "./data.js";
import { choice } from "./dom.js";
import { shown } from "./format.js";
import { go, link, state } from "./state.js";

const MOST_SHOWN = 4;

// The pair that the address names, or else the first: its page, its comparison, the cells of its table by criterion, and the places to
// read first, and why verdicts are missing.
export function compared() {
  const { first_pages: pages, comparisons, tables, read_first: read, reasons } = report;
  const at = Math.max(0, pages.findIndex(({ baseline, candidate }) => baseline === state.baseline && candidate === state.candidate));
  return { page: pages[at], comparison: comparisons[at], cells: new Map((tables[at] ?? []).map((row) => [row[0], row])), read: read[at], reasons: reasons[at] };
}

// A select of the pairs; null: there is nothing to choose.
export function pairChoice() {
  const { page } = compared();
  const text = ({ baseline, candidate }) => shown(`${shortVersion(candidate)} against ${shortVersion(baseline)}`);
  return report.first_pages.length < 2 ? null : choice("compared", report.first_pages.map((one, i) => [String(i), text(one)]), String(report.first_pages.indexOf(page)), (i) => {
    const { baseline, candidate } = report.first_pages[i];
    go(link({ baseline, candidate }));
  });
}

// Places of the versions in tables: all of them, or of many the two that are compared.
export function shownVersions() {
  const { page } = compared();
  const all = report.versions.map((_, i) => i);
  return all.length <= MOST_SHOWN || !page?.baseline ? all : [page.baseline, page.candidate].map(versionAt);
}

// By the criterion of the filter: the outcome of a conversation, and whether it has anything of it. Without a threshold, the comparison
// takes values of 0 and 1 for outcomes.
function seenBy(criterion) {
  const { verdict, passed, failed, no_score: missing, scores } = report.conversations;
  const by = report.names.indexOf(criterion);
  const value = (place) => heldBy(scores, criterion)?.[place] ?? null;
  const outcome = (place) => (criterion === "verdict" ? verdict[place] : passed[place].includes(by) || value(place) === 1 ? "PASS" : failed[place].includes(by) || value(place) === 0 ? "FAIL" : null);
  return { outcome, has: (place) => outcome(place) !== null || value(place) !== null || missing[place].includes(by) };
}

// Tests whether a conversation of the candidate is of a case that changed so, by the criterion of the filter, or fails in both. A count
// is of cases: of several runs of a case, those that show the change are left.
export function changed(kind) {
  const { page, comparison } = compared();
  if (!page?.baseline) return () => true;
  const criterion = state.criterion || "verdict";
  const [baseline, candidate] = [page.baseline, page.candidate].map(versionAt);
  const { id, version } = report.conversations;
  const { outcome } = seenBy(criterion);
  const { flips, pairing } = comparison;
  const idsOf = (test) => new Set(flips.filter((one) => one.criterion === criterion && test(one)).flatMap((one) => one.candidate_conversations));
  const ids = idsOf((one) => one.kind === kind);
  if (kind !== "still_failing") return (place) => version[place] === candidate && ids.has(id[place]) && (outcome(place) === "PASS") === (kind === "fixed");
  const fails = (place, of) => version[place] === of && outcome(place) === "FAIL";
  const names = report.conversations[PAIRED_BY[pairing.by]];
  if (!names) {
    const flipped = idsOf(() => true);
    return (place) => fails(place, candidate) && !flipped.has(id[place]);
  }
  // A case with several runs fails in both where none of them passes.
  const passing = new Set(names.filter((_, place) => [baseline, candidate].includes(version[place]) && outcome(place) === "PASS"));
  const left = new Set([...passing, ...pairing.changed_names]);
  const failing = new Set(names.filter((name, place) => fails(place, baseline) && !left.has(name)));
  return (place) => fails(place, candidate) && names[place] !== null && failing.has(names[place]);
}

// One conversation for each case, the first in the order of the list, as the counts of the first page are of cases.
export function perCase(places) {
  const { comparison } = compared();
  const names = comparison && report.conversations[PAIRED_BY[comparison.pairing.by]];
  const { id } = report.conversations;
  const flipOf = new Map((comparison?.flips ?? []).flatMap(({ case: name, candidate_conversations: ids }) => ids.map((one) => [one, name])));
  const taken = new Set();
  return places.filter((place) => {
    const name = names?.[place] ?? flipOf.get(id[place]) ?? place;
    return !taken.has(name) && taken.add(name);
  });
}

// Tests whether a conversation of the candidate has nothing of a criterion, while the baseline has something of it in the same case.
export function lacking(criterion) {
  const { page, comparison } = compared();
  const names = page?.baseline ? report.conversations[PAIRED_BY[comparison.pairing.by]] : null;
  if (!names) return () => false;
  const [baseline, candidate] = [page.baseline, page.candidate].map(versionAt);
  const { version } = report.conversations;
  const { has } = seenBy(criterion);
  const seen = (of) => new Set(names.filter((name, place) => name !== null && version[place] === of && has(place)));
  const [before, after] = [seen(baseline), seen(candidate)];
  return (place) => version[place] === candidate && before.has(names[place]) && !after.has(names[place]);
}
