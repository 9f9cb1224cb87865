// Small marks: outcomes, words, tags. What has no verdict has a mark of its own, never that of a pass.

import { breakable, h } from "./dom.js";
import { meaning } from "./about.js";
import { heldBy, shortVersion, versionName } from "./data.js";
import { shown } from "./format.js";

const VERDICTS = { PASS: ["pass", "✓ pass"], FAIL: ["fail", "✕ fail"], SKIPPED: ["none", "skipped"] };

export function outcome(value, prefix) {
  const [kind, text] = VERDICTS[value] ?? ["open", "? no verdict"];
  return h("span", { class: `badge ${kind}`, title: prefix ? shown(prefix) : null }, prefix ? `${shown(shortVersion(prefix))} ` : null, text);
}

// The name of a version at the head of a column: shortened, and whole as title and when it is copied.
export function versionHead(place) {
  const name = versionName(place);
  return h("span", { title: shown(name), "data-whole": name }, breakable(shown(shortVersion(name))));
}

export function scoreOutcome(score) {
  if (score.outcome) return outcome(score.outcome);
  if (score.value === undefined) return h("span", { class: "badge open" }, "? no score");
  return h("span", { class: "badge none" }, "no threshold");
}

const WORDS = { better: "pass", worse: "fail" };

export function word(text) {
  return h("span", { class: `badge ${WORDS[text] ?? "open"}`, title: meaning(text) }, text);
}

const LABELS = { MISSING_TURN: "missing turn", EXTRA_TURN: "extra turn" };

// The label of a turn or a score.
export function labelTag(text) {
  return tag(heldBy(LABELS, text) ?? text);
}

export function tag(text) {
  return h("span", { class: "tag", dir: "auto" }, shown(text));
}
