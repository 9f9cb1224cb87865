// What is not green: scores without a value by reason, and failures with their records.

import { explained, heads } from "./about.js";
import { versionHead } from "./badges.js";
import { conversation, idName, report, size } from "./data.js";
import { h, table } from "./dom.js";
import { NONE, counted, number, shown, turnName } from "./format.js";
import { fresh } from "./state.js";

export function missing() {
  const failures = report.failures.filter((group) => group.stage !== "check");
  const rejected = failures.filter(isRejected);
  const errors = failures.filter((one) => !isRejected(one));
  const findings = report.failures.filter((group) => group.stage === "check");
  return [
    h("h1", null, "No score, no verdict, rejected"),
    h("section", { "aria-labelledby": "no_score" }, h("h2", { id: "no_score" }, "No score or no verdict"), no_score()),
    h("section", { "aria-labelledby": "rejected" }, h("h2", { id: "rejected" }, `Rejected: ${number(total(rejected))}`),
      rejected.length ? rejected.map(group) : h("p", null, "Nothing was rejected.")),
    h("section", { "aria-labelledby": "failures" }, h("h2", { id: "failures" }, "Errors"),
      errors.length ? errors.map(group) : h("p", null, "No criterion failed with an error.")),
    h("section", { "aria-labelledby": "findings" }, h("h2", { id: "findings" }, "Findings"),
      h("p", { class: "hint" }, "Problems of records that were scored nevertheless."),
      findings.length ? findings.map(group) : h("p", null, "There are none.")),
  ];
}

// Whether a group of failures is of whole records, conversations or eval cases.
export function isRejected({ stage, rows }) {
  return !["check", "alert", "write"].includes(stage) && rows.every((row) => row.criterion === undefined);
}

function total(groups) {
  return groups.reduce((sum, { count }) => sum + count, 0);
}

function no_score() {
  if (!size()) return h("p", null, "Nothing was scored.");
  const gaps = report.runs.flatMap((run) => run.gaps);
  const all = report.no_score.length ? reasons() : gaps.length ? null : h("p", null, "Every score has a value, and every conversation a verdict.");
  return [gaps.length ? h("ul", null, gaps.map((text) => h("li", { dir: "auto" }, shown(text)))) : null, all];
}

function reasons() {
  return table("By reason", heads(["criterion", "version", "scores", "reason", "conversations"]), report.no_score.map((one) => [
    explained(one.criterion), one.version < 0 ? NONE : versionHead(one.version), number(one.count),
    h("span", { dir: "auto" }, shown(one.reason)),
    one.examples.map((place, i) => [i ? ", " : null, h("a", { href: fresh({ view: "conversation", at: String(place) }), dir: "auto" }, shown(idName(conversation(place).id)))])]), { class: "stack" });
}

function group({ stage, error_type: kind, count, rows }) {
  return h("details", { open: rows.length < 4 }, h("summary", null, `${shown(stage)}: ${shown(kind)} `, h("strong", null, number(count))),
    count > rows.length ? h("p", { class: "hint" }, `The first ${rows.length} of ${counted(count, "row")}; all of them are in failures-*.`) : null,
    rows.map(failure));
}

function failure(row) {
  const place = [row.source, row.position || null].filter((part) => part !== undefined && part !== null).join(":");
  const about = [row.conversation_id, row.criterion, row.turn_index === undefined ? null : turnName(row.turn_index)].filter(Boolean);
  return h("div", { class: "failure" },
    h("p", { dir: "auto" }, h("strong", null, shown(row.message ?? ""))),
    h("p", { class: "hint", dir: "auto" }, shown([place, ...about].filter(Boolean).join(" · "))),
    row.record ? h("details", null, h("summary", null, "record"), h("pre", { dir: "auto", tabindex: 0 }, shown(row.record)),
      row.record_cut ? h("p", { class: "hint" }, `${counted(row.record_cut, "more character")} in failures-*`) : null) : null);
}
