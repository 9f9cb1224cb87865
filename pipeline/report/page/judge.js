// What the judge was asked, what it answered, and what it cost.

import { explained, heads } from "./about.js";
import { report } from "./data.js";
import { h, table } from "./dom.js";
import { allLabels } from "./labelling.js";
import { NONE, decimal, number, percent, points, quantity, shown } from "./format.js";

export function judge() {
  return [h("h1", null, "Judge"), report.runs.map(run)];
}

function run({ run_id: name, judge: own, sampled_out: out }, place) {
  if ((own.backend ?? "none") === "none") return h("section", { "aria-label": `Judge of ${shown(name)}` }, h("h2", null, shown(name)), h("p", null, "No judge was asked."), ownLabels(place));
  const usage = Object.entries(own.usage ?? {});
  const facts = [["backend", own.backend], own.model ? ["model", own.model] : null, ["sample rate", percent(own.sample_rate)],
    ["conversations sampled out", number(out)], ["cost", costText(own)]];
  return h("section", { "aria-label": `Judge of ${shown(name)}` }, h("h2", null, shown(name)),
    h("dl", { class: "facts" }, facts.filter(Boolean).map(([term, value]) => h("div", null, h("dt", null, explained(term)), h("dd", null, shown(value))))),
    usage.length ? usageTable(usage) : null,
    panels(Object.entries(own.panels ?? {})), cascades(Object.entries(own.cascades ?? {})), inapplicable(Object.entries(own.not_applicable ?? {})), flipsTable(own.flips ?? {}), ownLabels(place));
}

// Without a model, as with the local judge, there is nothing to pay for.
function costText({ cost, usage }) {
  if (usage === undefined) return "0 (no model is asked)";
  return cost === null || cost === undefined ? "unknown (no price of a model, or no figures of tokens)" : quantity(cost, "money");
}

function panels(found) {
  if (!found.length) return null;
  return [
    table("Agreement of the panel", heads(["criterion", "questions", "decided", "agreement", "Krippendorff's alpha"]),
      found.map(([name, one]) => [shown(name), number(one.questions), number(one.decided), percent(one.agreement), decimal(one.alpha)])),
    table("Members of the panel", heads(["criterion", "model", "verdicts", "without a verdict", "pass rate", "passes more often than the others"]),
      found.flatMap(([name, one]) => Object.entries(one.members).map(([model, own]) =>
        [shown(name), shown(model), number(own.verdicts), number(own.unmeasured), percent(own.pass_rate), points(own.bias)])))];
}

function cascades(found) {
  if (!found.length) return null;
  return table("Questions that went on", heads(["criterion", "asked first", "questions", "went on", "votes differ", "low confidence", "no verdict", "calls saved", "tokens saved", "cost saved"]),
    found.map(([name, { first, questions, went_on: on, unsure, saved }]) => [shown(name), shown(first), number(questions), number(on),
      number(unsure.votes), number(unsure.confidence), number(unsure.no_score), number(saved.calls), number(saved.tokens), quantity(saved.cost, "money")]));
}

function inapplicable(found) {
  return found.length ? table("Verdicts that say “not applicable” (n/a)", heads(["criterion", "verdicts", "not applicable"]),
    found.map(([name, own]) => [explained(name), number(own.verdicts), `${number(own.not_applicable)} (${percent(own.share)})`])) : null;
}

function flipsTable(flips) {
  const found = Object.entries(flips).filter(([, own]) => own.voted);
  return found.length ? table("Verdicts that flip between votes", heads(["criterion", "verdicts with several votes", "flipped"]),
    found.map(([name, own]) => [explained(name), number(own.voted), `${number(own.flipped)} (${percent(own.flip_rate)})`])) : null;
}

// How far the outcomes agree with the reader's labels, by criterion.
function ownLabels(run) {
  const counts = new Map();
  for (const { place, criterion, outcome, label } of allLabels()) {
    if (!label || report.versions[report.conversations.version[place]].run !== run) continue;
    const own = counts.get(criterion) ?? { agree: 0, differ: 0, open: 0 };
    own[outcome === null ? "open" : outcome === label ? "agree" : "differ"] += 1;
    counts.set(criterion, own);
  }
  return counts.size ? table("Agreement with your labels", heads(["criterion", "agree", "differ", "no outcome", "share that agrees"]),
    [...counts].map(([name, { agree, differ, open }]) => [explained(name), number(agree), number(differ), number(open), agree + differ ? percent(agree / (agree + differ)) : NONE])) : null;
}

function usageTable(usage) {
  return table("Usage by model", heads(["model", "calls", "answers", "cached", "tokens in", "tokens out", "seconds a call", "retries", "unusable"]),
    usage.map(([model, own]) => [shown(model), number(own.calls), number(own.samples), number(own.cached), tokens(own, own.tokens_in), tokens(own, own.tokens_out),
      own.mean_latency_ms === null || own.mean_latency_ms === undefined ? NONE : decimal(own.mean_latency_ms / 1000), number(own.retries), unusable(own.unusable)]));
}

function tokens(own, counted) {
  return own.uncounted ? `${number(counted)} (${number(own.uncounted)} calls not counted)` : number(counted);
}

function unusable(reasons) {
  const found = Object.entries(reasons ?? {});
  return found.length ? found.map(([reason, count]) => `${number(count)} ${shown(reason)}`).join(", ") : "0";
}
