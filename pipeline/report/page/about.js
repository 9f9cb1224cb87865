// What criteria, words and columns mean, in one sentence each, shown in place.

import { heldBy, report } from "./data.js";
import { breakable, button, h } from "./dom.js";
import { shown } from "./format.js";

const VERDICT = "Whether the conversation passes: the rules of its eval case, or else the thresholds of the criteria.";

const WORDS = {
  verdict: VERDICT,
  outcome: "Pass or fail of each version on this case; a question mark: no verdict.",
  "what is wrong": "The most severe of what went wrong; the number counts the conversations of the same problem type.",
  conversation: "The last part of its id, with language and tags. “Copy id” on its page copies the whole id.",
  turns: "A turn is one message of the user and everything up to the next.",
  latency: "Seconds of all turns together, as logged.",
  "by turn": "The figure at turn 1, 2, …: the larger a point, the more scores.",
  "no score": "Scores that could not be measured, and errors. They count as neither pass nor fail.",
  difference: "Candidate minus baseline over the cases that both have, with its 95 % interval. The word allows for the number of criteria.",
  better: "The difference is beyond chance and in favour of the candidate.",
  worse: "The difference is beyond chance and against the candidate.",
  same: "Whatever the true difference is, it is too small to matter.",
  "not worse": "The candidate may be better; it is not worse by more than the margin.",
  inconclusive: "The cases are too few, or too much is missing, to tell.",
  differs: "The difference is beyond chance, and neither side is the better one.",
  regressed: "Passes in the baseline and fails in the candidate.",
  fixed: "Fails in the baseline and passes in the candidate.",
  "still failing": "Fails in the baseline and in the candidate.",
  failed: "The verdict is FAIL.",
  "no verdict": "Neither passed nor failed, because a score is missing.",
  rejected: "Records, conversations or eval cases that could not be read, matched or scored.",
  change: "How the outcome of the case by the criterion chosen, or else the verdict, changed from the baseline to the candidate.",
  "problem type": "Conversations with the same thing wrong.",
  severity: "How bad what went wrong is: critical, high, medium or low, and why.",
  slice: "The conversations with one language, tag, tool or number of turns.",
  share: "Share that passes, and of how many. Coloured: it differs from the version's other conversations (false discovery rate 10 %).",
  effect: "What a call of the tool changes: read, write, destructive, handoff, or unknown.",
  "not applicable": "Answers of the judge that there is nothing to judge. A large share may hide failures.",
  p50: "Half of the values are at most this one.",
  p90: "90 % of the values are at most this one.",
  p95: "95 % of the values are at most this one.",
  p99: "99 % of the values are at most this one.",
  errors: "Calls whose answer is an error, and their share.",
  "wrong arguments": "Those that were missing, extra or different from the expected ones, and how often.",
  "not logged": "Turns or conversations without a value.",
  reason: "Why there is no score or no verdict, or why it fails whatever its scores.",
  questions: "What the judges of the criterion were asked.",
  decided: "Questions on which most members agree.",
  agreement: "Share of pairs of members with the same verdict.",
  "Krippendorff's alpha": "Agreement beyond chance: 1 is full agreement, 0 is chance.",
  "without a verdict": "Questions to which the member gave no usable answer.",
  "passes more often than the others": "Its pass rate minus that of the other members on the same questions.",
  "went on": "Questions of which the first judge was unsure, so that the next was asked.",
  "votes differ": "The first judge’s votes were not all the same.",
  "low confidence": "The first judge was not confident enough.",
  answers: "Answers of the model; one call may give several.",
  cached: "Answers taken from the cache, which cost nothing.",
  unusable: "Answers that could not be read, by reason. They are no score.",
  "sample rate": "Share of the conversations about which the judge is asked.",
  "conversations sampled out": "Conversations about which the judge was not asked: no score, and no failure.",
  cost: "At the prices of the config.",
  "as expected": "The arguments are equal, and no score of the turn failed.",
  accepted: "The arguments differ, and the rules of the case accept it.",
  "same call": "The arguments are equal; a score of the turn failed for another reason.",
  "other arguments": "The call was expected with other arguments.",
  "not expected": "The case expects no such call.",
  missing: "The case expects this call, and it was not made.",
  flipped: "Verdicts whose votes are not all the same: how unsure the judge is.",
};

// What most of a severity comes from.
export const SEVERITY = {
  destructive: "an unexpected call that cannot be undone",
  safety: "unsafe",
  false_claims: "says what is not so",
  missing_writes: "an expected change is missing or wrong",
  unsupported: "says what nothing supports",
  expectations: "an expectation is not met",
  text: "other words than expected",
  other: "a criterion failed",
  no_verdict: "no verdict",
};

export function meaning(word) {
  return heldBy(WORDS, word) ?? report.criteria?.find((row) => row.name === word)?.about ?? "";
}

// Heads of columns; those that are texts with their explanations.
export function heads(names) {
  return names.map((name) => (typeof name === "string" ? explained(name) : name));
}

// A name with its explanation: as a title, and on a click of the mark behind it.
export function explained(name, word = name, content = breakable(shown(name))) {
  const text = meaning(word);
  return text ? [h("span", { title: shown(text) }, content), mark(shown(word), shown(text))] : content;
}

function mark(word, text) {
  const own = button("?", () => {
    const box = document.getElementById("about");
    const { left, bottom } = own.getBoundingClientRect();
    box.replaceChildren(h("strong", null, word), ` ${text}`);
    box.showPopover?.();
    box.style.left = `${Math.max(8, Math.min(left, innerWidth - box.offsetWidth - 8))}px`;
    box.style.top = `${Math.max(8, Math.min(bottom + 4, innerHeight - box.offsetHeight - 8))}px`;
  }, { class: "about", title: text, "aria-label": `What is ${word}?` });
  return own;
}
