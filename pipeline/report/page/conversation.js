// One conversation as a chat: what was said and called, beside it another version or what was expected.

import { labelTag, outcome, tag, versionHead } from "./badges.js";
import { SEVERITY, explained } from "./about.js";
import { compared } from "./compared.js";
import { callCard, sameArguments } from "./calls.js";
import { conversation, details, heldBy, idName, nameOf, report, siblingNames, versionName } from "./data.js";
import { button, choice, copy, h } from "./dom.js";
import { counted, number, quantity, shown, turnName } from "./format.js";
import { evalCaseText, noCase } from "./eval_case.js";
import { filtered } from "./filter.js";
import { labelControls, toLabel, verdictScore } from "./labelling.js";
import { whyText } from "./list.js";
import { marked, scoreList, unsupported } from "./scores.js";
import { differencesOf, markedWords, pairCalls, textsOf } from "./sides.js";
import { fresh, go, link, state } from "./state.js";

const EXPECTED = "expected";
const NOTHING = "nothing";

export async function conversationView() {
  const place = Number(state.at || filtered()[0]);
  const own = conversation(place);
  if (own.id === undefined) return h("p", { class: "problem" }, "There is no such conversation in this report.");
  const side = { own, detail: await details(place) };
  const beside = besideOf(place, side.detail);
  const sibling = siblingNames(place).get(beside);
  const other = sibling === undefined ? null : { own: conversation(sibling), detail: await details(sibling) };
  return [heading(own), facts(own), actions(own, side.detail, beside), body(side, beside, other)];
}

function heading(own) {
  const places = filtered();
  const index = places.indexOf(own.place);
  const step = (by, text) => {
    const at = places[index + by];
    return index >= 0 && at !== undefined ? h("a", { href: link({ at: String(at) }) }, text) : null;
  };
  return [
    h("p", { class: "steps" }, h("a", { href: link({ view: "conversations" }) }, "All conversations"), step(-1, "← previous"),
      index >= 0 ? `${number(index + 1)} of ${number(places.length)}` : null, step(1, "next →")),
    h("h1", { dir: "auto", title: shown(own.id), "data-whole": own.id }, shown(idName(own.id))),
    h("p", { class: "lead" }, outcome(own.verdict, versionName(own.version)), " ", h("span", { dir: "auto" }, whyText(own)),
      labelControls(own, verdictScore(own))),
  ];
}

function facts(own) {
  const names = [own.language, ...own.tags].map(nameOf).filter((name) => name !== null);
  const first = [
    own.problem_type < 0 ? null : ["problem type", h("a", { href: fresh({ view: "conversations", problem_type: nameOf(own.problem_type) }), dir: "auto" },
      shown(own.problem_label ?? nameOf(own.problem_type)))],
    own.severity ? ["severity", h("span", { class: `severity ${own.severity}` }, `${own.severity}${own.severity_reason ? `: ${shown(heldBy(SEVERITY, own.severity_reason) ?? own.severity_reason)}` : ""}`)] : null,
    ["turns", number(own.turns)],
    ["tool calls", `${number(own.tool_calls)}, ${counted(own.tool_errors, "error")}, ${number(own.destructive_calls)} destructive`],
    ["latency", quantity(own.seconds, "seconds")],
    names.length ? ["tags", names.map((name) => [tag(name), " "])] : null,
  ];
  const more = [
    ["id", shown(own.id)],
    own.eval_id === null ? null : ["eval case", shown(own.eval_id)],
    own.verdict !== null && own.reason ? ["reason", shown(own.reason)] : null,
    own.ended ? ["ended", shown(own.ended)] : null,
    ["tokens", `${number(own.tokens_in)} in, ${number(own.tokens_out)} out`],
    own.time ? ["start", shown(own.time)] : null,
    own.source < 0 ? null : ["source", shown(`${nameOf(own.source)}${own.position ? `:${own.position}` : ""}`)],
  ];
  return [factList(first), h("details", null, h("summary", null, "id, case, source, tokens"), factList(more))];
}

function factList(pairs) {
  return h("dl", { class: "facts" }, pairs.filter(Boolean).map(([name, value]) =>
    h("div", null, h("dt", null, explained(name)), h("dd", { dir: "auto" }, value))));
}

function actions(own, detail, beside) {
  const others = [...siblingNames(own.place)].map(([name, place]) => [name, `${shown(name)}: ${shown(idName(conversation(place).id))}`]);
  return h("p", { class: "actions" },
    choice("beside it", [[EXPECTED, "what was expected"], ...others, [NOTHING, "nothing"]], beside, (value) => go(link({ beside: value }))),
    button("Copy id", () => copyId()),
    sampleLink(own.place),
    detail ? caseButton(own, detail) : null);
}

// Where there can be no case, the reason stands beside the button.
function caseButton(own, detail) {
  const reason = noCase(detail);
  const name = "Copy as eval case";
  if (reason === null) return button(name, () => copy(evalCaseText(own, detail), "what was expected, as an eval case"));
  return [button(name, null, { disabled: true, "aria-describedby": "no-case" }), h("small", { id: "no-case" }, ` no eval case: ${shown(reason)}`)];
}

// Where a random sample is being labelled: the next conversation of it.
function sampleLink(place) {
  const next = toLabel().find((other) => other !== place);
  return next === undefined ? null : h("a", { href: fresh({ view: "conversation", at: String(next) }) }, "next of the sample");
}

// The other version of a comparison; else what was expected of turns, if anything was.
function besideOf(place, detail) {
  const names = [...siblingNames(place).keys()];
  if ([EXPECTED, NOTHING, ...names].includes(state.beside)) return state.beside;
  const { baseline, candidate } = compared().page ?? {};
  const version = versionName(conversation(place).version);
  const other = version === candidate ? baseline : version === baseline ? candidate : null;
  if (names.includes(other)) return other;
  return detail?.transcript?.turns.some((turn) => turn.expected) ? EXPECTED : NOTHING;
}

// Shows the next thing beside the conversation: expected, each other version, nothing.
export async function nextBeside() {
  const place = Number(state.at);
  const known = [EXPECTED, ...siblingNames(place).keys(), NOTHING];
  go(link({ beside: known[(known.indexOf(besideOf(place, await details(place))) + 1) % known.length] }));
}

export function copyId() {
  copy(conversation(Number(state.at)).id, "the id");
}

const REPEATED = "Several recordings of this run have the id, app version and case of this one, so that its scores cannot be told from theirs. None is shown.";

function body(side, beside, other) {
  const { own, detail } = side;
  if (detail === null) return h("p", { class: "problem" }, "Transcript and scores of this conversation were left out of this single file.");
  if (detail.is_repeated) return [h("p", { class: "problem" }, REPEATED), body({ own, detail: { ...detail, is_repeated: false } }, beside, other)];
  const { transcript, scores } = detail;
  const whole = wholeScores(side);
  if (!transcript) {
    return [h("p", { class: "problem" }, "The run wrote no transcript of this conversation."), whole,
      scoreList(own, scores.filter((score) => score.turn_index !== undefined), "Scores of turns")];
  }
  const scored = h("section", { "aria-label": "Scores of the whole conversation" }, h("h2", null, "Whole conversation"),
    other ? columns(inOrder(side, other).map((one) => [sideHead(one), one.detail ? wholeScores(one) : null])) : whole ?? h("p", null, "no scores"));
  const isOfATurn = own.worst_turn !== null;
  return [
    transcript.cut ? h("p", { class: "problem" }, cutText(transcript)) : null,
    transcript.expected ? expectedByTheEnd(transcript.expected, state.beside !== NOTHING) : null,
    isOfATurn ? null : scored,
    h("ol", { class: "chat" }, turns(side, beside, other)),
    isOfATurn ? scored : null,
  ];
}

function expectedByTheEnd(expected, isOpen) {
  return h("details", { class: "whole", open: isOpen }, h("summary", null, h("h2", null, "Expected by the end")), expectedPart(expected));
}

function wholeScores({ own, detail }) {
  return scoreList(own, detail.scores.filter((score) => score.turn_index === undefined), `Scores of the whole conversation, ${versionName(own.version)}`);
}

// The older version stands on the left.
function inOrder(one, other) {
  return [one, other].sort((a, b) => a.own.version - b.own.version || a.own.place - b.own.place);
}

function sideHead({ own }) {
  return h("h3", null, outcome(own.verdict, versionName(own.version)));
}

function columns(contents) {
  return h("div", { class: "sides" }, contents.map((content, i) => h("div", { class: i ? "side beside" : "side" }, content)));
}

function cutText({ left_out: left }) {
  const parts = left ? [[left.turns, "turn"], [left.entries, "entry"], [left.characters, "character"]].filter(([value]) => value) : [];
  return `This transcript was cut when the run wrote it${parts.length ? `: ${parts.map(([value, noun]) => `${number(value)} ${noun === "entry" ? "entries" : `${noun}s`}`).join(", ")} left out` : ""}.`;
}

const byIndex = (detail) => new Map((detail?.transcript?.turns ?? []).map((turn) => [turn.index, turn]));

function turns(side, beside, other) {
  const { own, detail } = side;
  const [made, others] = [byIndex(detail), byIndex(other?.detail)];
  const scored = detail.scores.filter((score) => score.turn_index !== undefined).map((score) => score.turn_index);
  const all = [...new Set([...made.keys(), ...others.keys(), ...scored])].sort((a, b) => a - b);
  const faults = all.filter((index) => made.get(index)?.tool_calls?.some((call) => call.fault));
  const worst = own.verdict === "FAIL" ? own.worst_turn ?? faults[0] : null;
  return all.map((index) => {
    const turn = made.get(index);
    const ownScores = scoresOf(detail, index);
    const difference = other?.detail ? differencesOf(turn, others.get(index)) : null;
    const isFailed = faults.includes(index) || ownScores.some((score) => score.outcome === "FAIL");
    return h("li", { id: `turn-${index}`, class: `turn ${isFailed || worst === index ? "failed" : ""} ${worst === index ? "worst" : ""}` },
      h("h2", null, turnName(index), turn?.label ? [" ", labelTag(turn.label)] : null,
        turn && typeof turn.seconds === "number" ? h("small", null, ` ${quantity(turn.seconds, "seconds")}`) : null,
        isFailed ? h("span", { class: "badge fail" }, "✕ fails here") : null,
        difference && h("span", { class: "badge open" }, difference)),
      other ? bothVersions(side, other, index) : expectedBeside(turn, beside, ownScores),
      other ? null : scoreList(own, ownScores, `Scores of ${turnName(index)}`));
  });
}

function scoresOf(detail, index) {
  return (detail?.scores ?? []).filter((score) => score.turn_index === index);
}

// A turn of two versions, each with its scores.
function bothVersions(side, other, index) {
  const both = inOrder(side, other);
  return columns(both.map((one, i) => {
    const [turn, against] = [one, both[1 - i]].map(({ detail }) => byIndex(detail).get(index));
    const scores = scoresOf(one.detail, index);
    const version = versionName(one.own.version);
    return [h("h3", null, versionHead(one.own.version)),
      one.detail === null ? h("p", { class: "hint" }, "left out of this single file") : turn ? said(turn, true, scores, { turn: against, version: versionName(both[1 - i].own.version) })
        : h("p", { class: "hint" }, "no such turn"),
      scoreList(one.own, scores, `Scores of ${turnName(index)}, ${version}`)];
  }));
}

// A turn, and beside it what was expected of it, if anything was.
function expectedBeside(turn, beside, scores) {
  const content = turn ? said(turn, beside === EXPECTED, scores) : h("p", { class: "hint" }, "not in the transcript");
  if (beside !== EXPECTED || !turn?.expected) return h("div", { class: "sides one" }, h("div", { class: "side" }, content));
  return columns([content, [h("h3", null, "expected"), expectedPart(turn.expected)]]);
}

function bubble(who, content) {
  return h("div", { class: `bubble ${who}` }, h("p", { class: "who" }, who), h("p", { dir: "auto" }, content));
}

// What was said and called in a turn, in the order user, calls, agent; what another version did not do is marked.
function said(turn, isCompared, scores, against) {
  const parts = unsupported(scores);
  const texts = textsOf(turn);
  const other = against?.turn ? textsOf(against.turn) : [];
  const agent = (text, i) => bubble("agent", parts.length || other[i] === undefined ? marked(text, parts) : markedWords(text, other[i]));
  return [
    turn.user ? bubble("user", shown(turn.user)) : null,
    (turn.user_tool_calls ?? []).map((call) => callCard(call, { note: "made by the user" })),
    calls(turn, isCompared, scores.some((score) => score.outcome === "FAIL"), against),
    (turn.transfers ?? []).map((name) => h("p", { class: "hint" }, `handed over to ${shown(name)}`)),
    texts.length ? texts.map(agent) : h("p", { class: "hint" }, "the agent said nothing"),
    (turn.unknown ?? []).map((text) => h("p", { class: "problem" }, shown(text))),
  ];
}

function calls(turn, isCompared, isDenied, against) {
  const pairs = isCompared && turn.pairs ? turn.pairs : [];
  const made = turn.tool_calls ?? [];
  const others = against?.turn ? pairCalls(made, against.turn.tool_calls ?? []) : null;
  return made.map((call, i) => {
    const besides = others && { other: others.get(call), version: against.version };
    const pair = pairs.find((one) => one[1] === i);
    if (!pair) return callCard(call, { ...besides });
    if (pair[0] === null) {
      const isLoud = isDenied && call.effect === "destructive";
      return callCard(isLoud ? { ...call, fault: { ...call.fault, unexpected: true } } : call, { note: "not expected", ...besides });
    }
    const expected = turn.expected.tool_calls[pair[0]];
    return callCard(call, { expected, match: { wrong: pair[2], isDenied }, note: noteOf(expected, call, pair[2], isDenied), ...besides });
  }).concat(pairs.filter((one) => one[1] === null).map((one) => callCard(turn.expected.tool_calls[one[0]], { note: "missing" })));
}

// A call is only "as expected" where no score of its turn failed: a criterion can be stricter than the pairs are.
function noteOf(expected, call, wrong, isDenied) {
  if (wrong.length) return "other arguments";
  if (sameArguments(expected, call, isDenied)) return isDenied ? "same call" : "as expected";
  return isDenied ? "other arguments" : "accepted";
}

function expectedPart(part) {
  const named = [["texts", "must be said"], ["transfers", "must take over"], ["rubrics", "rubric"], ["other", "also expected"]];
  return [
    part.task ? h("p", { class: "hint", dir: "auto" }, shown(part.task)) : null,
    part.user ? bubble("user", shown(part.user)) : null,
    part.tool_calls?.length === 0 ? h("p", { class: "hint" }, "no call may happen") : null,
    (part.tool_calls ?? []).map((call) => callCard(call)),
    (part.user_tool_calls ?? []).map((call) => callCard(call, { note: "by the user" })),
    named.map(([name, label]) => (part[name] ?? []).map((text) => h("p", { dir: "auto" }, h("small", null, `${label}: `), shown(text)))),
    part.variables ? callCard({ name: "session variables", args: part.variables }) : null,
    part.response ? bubble("agent", shown(part.response)) : null,
  ];
}
