// One conversation as a chat: what was said and called, beside it what was expected or what another version did.

import { outcome, tag } from "./badges.js";
import { callCard, sameArguments } from "./calls.js";
import { conversation, details, idName, nameOf, siblings, versionName } from "./data.js";
import { button, choice, copy, h } from "./dom.js";
import { counted, number, quantity, shown, turnName } from "./format.js";
import { evalCaseText, noCase } from "./eval_case.js";
import { filtered } from "./filter.js";
import { labelControls, toLabel, verdictScore } from "./labelling.js";
import { whyText } from "./list.js";
import { marked, scoreList, unsupported } from "./scores.js";
import { fresh, go, link, state } from "./state.js";

const EXPECTED = "expected";
const NOTHING = "nothing";

export async function conversationView() {
  const place = Number(state.at || filtered()[0]);
  const own = conversation(place);
  if (own.id === undefined) return h("p", { class: "problem" }, "There is no such conversation in this report.");
  const detail = await details(place);
  const beside = besideOf(place);
  const other = beside === EXPECTED || beside === NOTHING ? null : await details(Number(beside));
  return [heading(own), facts(own), actions(own, detail, beside), await body(own, detail, beside, other)];
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
    h("h1", { dir: "auto" }, shown(idName(own.id))),
    h("p", { class: "lead" }, outcome(own.verdict, versionName(own.version)), " ", h("span", { dir: "auto" }, whyText(own)),
      labelControls(own, verdictScore(own))),
  ];
}

function facts(own) {
  const names = [own.language, ...own.tags].map(nameOf).filter((name) => name !== null);
  const first = [
    own.problem_type < 0 ? null : ["kind", h("a", { href: fresh({ view: "conversations", problem_type: nameOf(own.problem_type) }), dir: "auto" },
      shown(own.problem_label ?? nameOf(own.problem_type)))],
    own.severity ? ["severity", `${own.severity}${own.severity_reason ? ` (${shown(own.severity_reason.replaceAll("_", " "))})` : ""}`] : null,
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
    h("div", null, h("dt", null, name), h("dd", { dir: "auto" }, value))));
}

function actions(own, detail, beside) {
  const others = siblings(own.place).map((place) => [String(place), `${versionName(conversation(place).version)}: ${shown(idName(conversation(place).id))}`]);
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

function besideOf(place) {
  const known = [EXPECTED, NOTHING, ...siblings(place).map(String)];
  return known.includes(state.beside) ? state.beside : EXPECTED;
}

// Shows the next thing beside the conversation: expected, each other version, nothing.
export function nextBeside() {
  const place = Number(state.at);
  const known = [EXPECTED, ...siblings(place).map(String), NOTHING];
  go(link({ beside: known[(known.indexOf(besideOf(place)) + 1) % known.length] }));
}

export function copyId() {
  copy(conversation(Number(state.at)).id, "the id");
}

const REPEATED = "Several recordings of this run have the id, app version and case of this one, so that its scores cannot be told from theirs. None is shown.";

function body(own, detail, beside, other) {
  if (detail === null) return h("p", { class: "problem" }, "Transcript and scores of this conversation were left out of this single file.");
  const { transcript, scores } = detail;
  if (detail.is_repeated) return [h("p", { class: "problem" }, REPEATED), body(own, { ...detail, is_repeated: false }, beside, other)];
  const whole = scoreList(own, scores.filter((score) => score.turn_index === undefined), "Scores of the whole conversation");
  if (!transcript) {
    return [h("p", { class: "problem" }, "The run wrote no transcript of this conversation."), whole,
      scoreList(own, scores.filter((score) => score.turn_index !== undefined), "Scores of turns")];
  }
  const scored = h("section", { "aria-label": "Scores of the whole conversation" }, h("h2", null, "Whole conversation"), whole ?? h("p", null, "no scores"));
  const isOfATurn = own.worst_turn !== null;
  return [
    transcript.cut ? h("p", { class: "problem" }, cutText(transcript)) : null,
    transcript.expected && beside === EXPECTED ? h("section", { class: "whole" }, h("h2", null, "Expected by the end"), expectedPart(transcript.expected)) : null,
    isOfATurn ? null : scored,
    h("p", { class: "hint" }, "Turns are counted from 0, as in the files of the run."),
    h("ol", { class: "chat" }, turns(own, detail, beside, other)),
    isOfATurn ? scored : null,
  ];
}

function cutText({ left_out: left }) {
  const parts = left ? [[left.turns, "turn"], [left.entries, "entry"], [left.characters, "character"]].filter(([value]) => value) : [];
  return `This transcript was cut when the run wrote it${parts.length ? `: ${parts.map(([value, noun]) => `${number(value)} ${noun === "entry" ? "entries" : `${noun}s`}`).join(", ")} left out` : ""}.`;
}

function turns(own, { transcript, scores }, beside, other) {
  const made = new Map(transcript.turns.map((turn) => [turn.index, turn]));
  const others = new Map((other?.transcript?.turns ?? []).map((turn) => [turn.index, turn]));
  const scored = scores.filter((score) => score.turn_index !== undefined).map((score) => score.turn_index);
  const all = [...new Set([...made.keys(), ...others.keys(), ...scored])].sort((a, b) => a - b);
  return all.map((index) => {
    const turn = made.get(index);
    const ownScores = scores.filter((score) => score.turn_index === index);
    return h("li", { id: `turn-${index}`, class: own.worst_turn === index && own.verdict === "FAIL" ? "turn worst" : "turn" },
      h("h2", null, turnName(index), turn?.label ? h("span", { class: "tag" }, shown(turn.label)) : null,
        turn && typeof turn.seconds === "number" ? h("small", null, ` ${quantity(turn.seconds, "seconds")}`) : null),
      h("div", { class: beside === NOTHING ? "sides one" : "sides" },
        h("div", { class: "side" }, turn ? said(turn, beside === EXPECTED, ownScores) : h("p", { class: "hint" }, "not in the transcript")),
        beside === NOTHING ? null : h("div", { class: "side beside" }, besideTurn(turn, others.get(index), beside))),
      scoreList(own, ownScores, `Scores of ${turnName(index)}`));
  });
}

function besideTurn(turn, other, beside) {
  if (beside === EXPECTED) {
    return turn?.expected ? [h("h3", null, "expected"), expectedPart(turn.expected)] : h("p", { class: "hint" }, "nothing is expected of this turn");
  }
  const name = versionName(conversation(Number(beside)).version);
  return [h("h3", null, shown(name)), other ? said(other, false, []) : h("p", { class: "hint" }, "no such turn")];
}

function bubble(who, text, parts) {
  return h("div", { class: `bubble ${who}` }, h("p", { class: "who" }, who), h("p", { dir: "auto" }, parts ? marked(text, parts) : shown(text)));
}

// What was said and called in a turn, in the order user, calls, agent.
function said(turn, isCompared, scores) {
  const parts = unsupported(scores);
  const texts = turn.messages?.length ? turn.messages : [turn.agent].filter(Boolean);
  return [
    turn.user ? bubble("user", turn.user) : null,
    (turn.user_tool_calls ?? []).map((call) => callCard(call, { note: "made by the user" })),
    calls(turn, isCompared, scores.some((score) => score.outcome === "FAIL")),
    (turn.transfers ?? []).map((name) => h("p", { class: "hint" }, `handed over to ${shown(name)}`)),
    texts.length ? texts.map((text) => bubble("agent", text, parts)) : h("p", { class: "hint" }, "the agent said nothing"),
    (turn.unknown ?? []).map((text) => h("p", { class: "problem" }, shown(text))),
  ];
}

function calls(turn, isCompared, isDenied) {
  const pairs = isCompared && turn.pairs ? turn.pairs : [];
  return (turn.tool_calls ?? []).map((call, i) => {
    const pair = pairs.find((one) => one[1] === i);
    if (!pair) return callCard(call);
    if (pair[0] === null) return callCard(call, { note: "not expected" });
    const expected = turn.expected.tool_calls[pair[0]];
    return callCard(call, { expected, match: { wrong: pair[2], isDenied }, note: noteOf(expected, call, pair[2], isDenied) });
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
    part.user ? bubble("user", part.user) : null,
    part.tool_calls?.length === 0 ? h("p", { class: "hint" }, "no call may happen") : null,
    (part.tool_calls ?? []).map((call) => callCard(call)),
    (part.user_tool_calls ?? []).map((call) => callCard(call, { note: "by the user" })),
    named.map(([name, label]) => (part[name] ?? []).map((text) => h("p", { dir: "auto" }, h("small", null, `${label}: `), shown(text)))),
    part.variables ? callCard({ name: "session variables", args: part.variables }) : null,
    part.response ? bubble("agent", part.response) : null,
  ];
}
