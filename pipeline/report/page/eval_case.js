// A conversation's expectations as an eval case in canonical JSON. What the agent did is never part of it.

import { jsonText } from "./exact.js";

const EXTRA = "EXTRA_TURN";
const CARRIED = ["user", "response", "tool_calls", "texts", "variables", "rubrics"];
const CARRIED_OF_WHOLE = ["tool_calls", "user_tool_calls", "texts", "variables", "rubrics", "task"];
const NAMES = { other: "other expectations", transfers: "transfers", user_tool_calls: "calls of the user in a turn" };

// Why there can be no case; null: there can be one.
export function noCase({ transcript }) {
  if (!transcript) return "the run wrote no transcript";
  if (transcript.cut) return "the transcript was cut when the run wrote it";
  const turns = expectedTurns(transcript);
  if (!transcript.expected && !turns.some(({ expected }) => expected)) return "nothing is expected of this conversation";
  const rejected = turns.map(({ expected }) => notCarried(expected, CARRIED)).concat(notCarried(transcript.expected, CARRIED_OF_WHOLE)).flat();
  if (rejected.length) return `the run does not keep all that a case needs of: ${[...new Set(rejected)].join(", ")}`;
  return null;
}

function notCarried(part, carried) {
  return Object.keys(part ?? {}).filter((name) => !carried.includes(name)).map((name) => NAMES[name] ?? name);
}

function expectedTurns({ turns }) {
  return turns.filter((turn) => turn.label !== EXTRA);
}

export function evalCaseText(own, detail) {
  return jsonText(evalCase(own, detail), 1);
}

// Keys without a value are left out: nothing is expected there.
function evalCase(own, { transcript, eval_set_id: set }) {
  const turns = expectedTurns(transcript);
  return {
    eval_id: own.eval_id ?? own.id,
    eval_set_id: set ?? undefined,
    ...(turns.some(({ expected }) => expected) ? { turns: turns.map(caseTurn) } : {}),
    ...wholeOf(transcript.expected ?? {}),
  };
}

function caseTurn({ index, user, expected }) {
  const part = expected ?? {};
  return {
    user: part.user ?? user ?? undefined,
    response: part.response,
    tool_calls: part.tool_calls?.map(caseCall),
    intermediate_responses: part.texts,
    expectations: part.variables && [{ kind: "updated_variables", variables: part.variables }],
    rubrics: part.rubrics?.map((text, i) => rubric(text, `turn-${index}-${i}`)),
  };
}

function wholeOf(part) {
  return {
    actions: part.tool_calls?.map(caseCall),
    user_actions: part.user_tool_calls?.map(caseCall),
    outputs: part.texts,
    final_session_state: part.variables,
    rubrics: part.rubrics?.map((text, i) => rubric(text, `whole-${i}`)),
    task: part.task,
  };
}

function caseCall({ name, args }) {
  return { name: name ?? undefined, args: args ?? undefined };
}

function rubric(text, id) {
  return { rubric_id: id, text };
}
