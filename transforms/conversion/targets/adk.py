"""google-adk's eval sets as a target."""

import json

from turnwise.schemas.adk import AdkEvalCase
from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import APP_DETAILS, Conversation
from turnwise.schemas.jsonio import JsonObject
from turnwise.transforms.conversion.plain import with_texts
from turnwise.transforms.conversion.targets.adk_parts import (
    expected_invocation,
    recorded_invocation,
    rubrics,
)
from turnwise.transforms.formats.adk_cases import eval_cases, invocation_turn, turn_context
from turnwise.transforms.formats.endings import context_tools
from turnwise.transforms.formats.problems import one_line_problems
from turnwise.transforms.tools.conversion import Codec, Target, register_target

_NAME = "turnwise"
_PROMPT, _PERSONA = "starting_prompt", "user_persona"
_PERSONAS = ("EXPERT", "NOVICE", "EVALUATOR")
_MADE = frozenset(("turns.inference_calls", "turns.agent_messages", "eval_id", "user_facts", "dialect"))


def _write_conversation(conversation: Conversation) -> JsonObject:
    """Returns a conversation as google-adk adds a session to an eval set: what was said is expected."""
    details = conversation.meta.get(APP_DETAILS)
    by_turn = details if isinstance(details, list) else []
    agents = [*by_turn, *([None] * len(conversation.turns))]
    turns = [recorded_invocation(*pair) for pair in zip(conversation.turns, agents, strict=False)]
    return {"eval_id": conversation.conversation_id, "conversation": turns}


def _read_conversation(record: JsonObject) -> Conversation:
    with one_line_problems("not an ADK eval case"):
        case = AdkEvalCase.model_validate(record)
    invocations = case.conversation or []
    context = turn_context(invocations)
    return Conversation(
        conversation_id=case.eval_id,
        turns=with_texts(invocation_turn(invocation, i) for i, invocation in enumerate(invocations)),
        meta=context,
        tools=context_tools(context.get(APP_DETAILS)),
    )


def _write_case(case: EvalCase) -> JsonObject:
    record: JsonObject = {"eval_id": case.eval_id}
    if case.kind == "scenario":
        record["conversation_scenario"] = _scenario(case)
    elif case.turns:
        record["conversation"] = [expected_invocation(turn) for turn in case.turns]
    else:
        raise ValueError(f"the case {case.eval_id} has no turns, which an ADK eval set needs")
    if case.session_state:
        record["session_input"] = {"app_name": _NAME, "user_id": _NAME, "state": case.session_state}
    if case.rubrics:
        record["rubrics"] = rubrics(case.rubrics)
    if case.final_session_state:
        record["final_session_state"] = case.final_session_state
    return record


def _scenario(case: EvalCase) -> JsonObject:
    facts = {fact.name: fact.value for fact in case.user_facts}
    scenario = {_PROMPT: facts.get(_PROMPT, case.task or ""), "conversation_plan": case.task or ""}
    if facts.get(_PERSONA) in _PERSONAS:
        scenario[_PERSONA] = facts[_PERSONA]
    return scenario


def _document(name: str, first: JsonObject) -> tuple[str, str]:
    stem = name.split(".")[0]
    return f'{{"eval_set_id": {json.dumps(stem)}, "name": {json.dumps(stem)}, "eval_cases": [\n', "\n]}\n"


register_target(
    Target(
        name="adk_eval_set",
        help="ADK eval set",
        is_for_cases=True,
        conversation=Codec(write=_write_conversation, read=_read_conversation, made=_MADE),
        case=Codec(write=_write_case, read=lambda record: eval_cases(record)[0], made=_MADE),
        document=_document,
        key="eval_id",
    )
)
