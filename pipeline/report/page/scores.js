// Scores of a turn or of a whole conversation: value, reason, votes of the judge, evidence, and the reader's own label.

import { meaning } from "./about.js";
import { labelTag, scoreOutcome } from "./badges.js";
import { valueText } from "./calls.js";
import { report } from "./data.js";
import { h } from "./dom.js";
import { NONE, counted, decimal, shown } from "./format.js";
import { labelControls } from "./labelling.js";

export function scoreList(conversation, scores, caption) {
  if (!scores.length) return null;
  const open = scores.filter((score) => score.outcome === "FAIL" || score.value === undefined);
  const others = scores.filter((score) => !open.includes(score));
  return h("section", { class: "scores", "aria-label": caption },
    open.map((score) => scoreRow(conversation, score)),
    others.length
      ? h("details", null, h("summary", null, `${counted(others.length, open.length ? "other score" : "score")}: `, others.map((score) => [summary(score), " "])),
        others.map((score) => scoreRow(conversation, score)))
      : null);
}

function summary(score) {
  return h("span", { class: "brief" }, `${shown(score.criterion)} ${valueOf(score)}`);
}

function valueOf(score) {
  return score.value === undefined ? NONE : decimal(score.value);
}

function scoreRow(conversation, score) {
  return h("div", { class: "score" },
    h("p", { class: "score-head" }, h("strong", { title: meaning(score.criterion) }, shown(score.criterion)), " ", scoreOutcome(score), " ",
      h("span", { class: "figure" }, valueOf(score)),
      score.threshold === undefined ? null : h("small", null, ` threshold ${decimal(score.threshold)}`),
      score.label ? labelTag(score.label) : null,
      labelControls(conversation, score)),
    score.reason ? h("p", { dir: "auto" }, shown(score.reason)) : null,
    score.explanation ? h("p", { dir: "auto" }, shown(score.explanation)) : null,
    votes(score),
    evidence(score, conversation));
}

// How the samples of the judge voted, where the details say so.
function votes(score) {
  const details = score.details ?? {};
  const rows = Object.values(details).filter(Array.isArray).flat().filter((one) => Array.isArray(one?.votes));
  const texts = [
    ballot(details.votes),
    tally(details.verdicts),
    score.judge ? tally(details.scores) : null,
    ...(details.panel?.members ?? []).map((one) => `${shown(one.model)}: ${shown(one.verdict ?? one.reason ?? "no verdict")}`),
    details.cascade ? asked(details.cascade) : null,
    ...rows.map((one) => [shown(one.sentence ?? one.text ?? one.rubric ?? one.property ?? one.category ?? ""), one.reason, ballot(one.votes)]
      .filter(Boolean).map(String).map(shown).join(" · ")),
  ].filter(Boolean);
  return texts.length ? h("ul", { class: "votes" }, texts.map((text) => h("li", { dir: "auto" }, text))) : null;
}

function ballot(pair) {
  return Array.isArray(pair) && pair.length === 2 ? `votes: ${pair[0]} yes, ${pair[1]} no` : null;
}

function asked({ first, decided_by: by, why }) {
  return by === "first" ? `${shown(first.model)} decided alone` : `asked further, because ${shown(first.model)} is unsure: ${shown(why)}`;
}

function tally(values) {
  if (!Array.isArray(values) || !values.length) return null;
  const counts = new Map();
  for (const value of values) counts.set(String(value), (counts.get(String(value)) ?? 0) + 1);
  return `votes: ${[...counts].map(([value, count]) => `${shown(value)} × ${count}`).join(", ")}`;
}

function evidence(score, conversation) {
  const run = report.runs[report.versions[conversation.version].run];
  const config = run.criteria[score.criterion];
  const { judge } = score;
  const parts = [
    score.details ? ["details", score.details] : null,
    judge ? ["judge", judge] : null,
    config ? ["criterion", config] : null,
  ].filter(Boolean);
  if (!parts.length) return null;
  const how = judge?.prompt_version ? `scored by ${judge.model || "no model"}, prompt ${judge.prompt_version}` : "how it was scored";
  return h("details", null, h("summary", null, shown(how)), parts.map(([name, value]) => [
    h("p", { class: "hint" }, name), h("pre", { dir: "auto", tabindex: 0 }, valueText(value))]));
}

// Parts of a turn's answer that a judge found unsupported, each with its evidence.
export function unsupported(scores) {
  const found = [];
  for (const { details, value, criterion } of scores) {
    for (const one of Array.isArray(details?.sentences) ? details.sentences : []) {
      if (one.sentence && one.label && !["supported", "not_applicable"].includes(one.label)) {
        const quote = one.contradicting_quote || one.supporting_quote;
        found.push({ text: one.sentence, note: noteText(`${criterion}: ${one.label}`, one.reason, quote) });
      }
    }
    if (details?.claim_quote && value === 0) {
      found.push({ text: details.claim_quote, note: noteText(`${criterion}: not justified`, null, details.context_quote) });
    }
  }
  return found;
}

function noteText(label, reason, quote) {
  return shown([label, reason, quote ? `evidence: “${quote}”` : "no evidence was found"].filter(Boolean).join(". "));
}

// A text whose unsupported parts are marked.
export function marked(text, parts) {
  const own = parts.find((part) => text.includes(part.text));
  if (!own) return shown(text);
  const start = text.indexOf(own.text);
  const rest = parts.filter((part) => part !== own);
  return [marked(text.slice(0, start), rest),
    h("mark", { title: own.note, tabindex: 0, "aria-description": own.note }, shown(own.text)),
    marked(text.slice(start + own.text.length), rest)];
}
