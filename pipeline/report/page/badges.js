// Small marks: outcomes, words, tags. What has no verdict has a mark of its own, never that of a pass.

import { breakable, h } from "./dom.js";
import { meaning } from "./about.js";
import { heldBy, versionName } from "./data.js";
import { short, shown } from "./format.js";

const LONGEST = 13;
const LONGEST_HEAD = 24;
const VERDICTS = { PASS: ["pass", "✓ pass"], FAIL: ["fail", "✕ fail"], SKIPPED: ["none", "skipped"] };

export function outcome(value, prefix) {
  const [kind, text] = VERDICTS[value] ?? ["open", "? no verdict"];
  return h("span", { class: `badge ${kind}`, title: prefix ? shown(prefix) : null }, prefix ? `${short(prefix, LONGEST)} ` : null, text);
}

// The name of a version at the head of a column: shortened to its ends, and whole as title and when it is copied.
export function versionHead(place) {
  const name = versionName(place);
  return h("span", { title: shown(name), "data-whole": name }, breakable(short(name, LONGEST_HEAD)));
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
