"""CES evaluations as a target."""

from turnwise.schemas.case import CaseThresholds, EvalCase
from turnwise.schemas.ces.conversation import CesToolResponse
from turnwise.schemas.config import CesConfig
from turnwise.schemas.conversation import (
    Conversation,
    Expectation,
    ExpectedTurn,
    ToolResponse,
    Turn,
    TurnThresholds,
)
from turnwise.schemas.jsonio import JsonObject, dump_json
from turnwise.transforms.ces.messages import (
    agent_message,
    case_thresholds,
    golden_expectation,
    scenario_expectation,
    tool_call,
    tool_response,
)
from turnwise.transforms.formats.ces_cases import eval_case
from turnwise.transforms.formats.ces_conversations import tool_response as read_response
from turnwise.transforms.tools.conversion import Codec, Target, register_target

_EVENT, _EVENT_END = "<event>", "</event>"
_GOALS = {"REJECTED": "USER_GOAL_REJECTED", "IGNORED": "USER_GOAL_IGNORED"}
_MADE_TURNS = ("turns.agent_messages", "turns.expectations", "turns.expected.expectations")
_MADE = frozenset(("eval_id", "display_name", "dialect", *_MADE_TURNS))


def _read(record: JsonObject) -> EvalCase:
    return eval_case(dump_json(record), CesConfig())


def _named(eval_id: str, display_name: str | None) -> JsonObject:
    """Returns the names of an Evaluation: a resource name, or else a display name."""
    if "/" in eval_id:
        return {"name": eval_id, **({"displayName": display_name} if display_name else {})}
    return {"displayName": eval_id}


def _write_conversation(conversation: Conversation) -> JsonObject:
    """Returns a golden that expects what was said and called; results are those of the fake tools."""
    record = _named(conversation.conversation_id, None)
    if conversation.tags:
        record["tags"] = conversation.tags
    return {**record, "golden": {"turns": [{"steps": _recorded_steps(turn)} for turn in conversation.turns]}}


def _recorded_steps(turn: Turn) -> list[JsonObject]:
    expected: list[JsonObject] = [{"toolCall": tool_call(call)} for call in turn.tool_calls]
    if not turn.tool_calls and not turn.unknown_calls:
        expected.append({"noToolCalls": True})
    expected += [{"mockToolResponse": _answer(response)} for response in turn.tool_responses]
    expected += [{"agentTransfer": {"targetAgent": agent}} for agent in turn.transfers]
    texts = turn.agent_messages or ([turn.agent] if turn.agent else [])
    expected += [{"agentResponse": agent_message(text)} for text in texts]
    return [*_said(turn.user), *({"expectation": each} for each in expected)]


def _answer(response: ToolResponse) -> JsonObject:
    message = tool_response(response)
    return message if response.response is not None else {k: v for k, v in message.items() if k != "response"}


def _said(text: str | None) -> list[JsonObject]:
    if text is None:
        return []
    if text.startswith(_EVENT) and text.endswith(_EVENT_END):
        return [{"userInput": {"event": {"event": text[len(_EVENT) : -len(_EVENT_END)]}}}]
    return [{"userInput": {"text": text}}]


def _read_conversation(record: JsonObject) -> Conversation:
    case = _read(record)
    turns = [_played(i, turn) for i, turn in enumerate(case.turns)]
    return Conversation(conversation_id=case.eval_id, tags=case.tags, turns=turns)


def _played(index: int, expected: ExpectedTurn) -> Turn:
    """Returns the turn that meets all expectations."""
    texts = [e.text for e in expected.expectations if e.text is not None]
    mocked = [e.wire for e in expected.expectations if e.wire and "mockToolResponse" in e.wire]
    return Turn(
        turn_index=index,
        user=expected.user,
        agent="\n".join(texts) or None,
        agent_messages=texts,
        tool_calls=list(expected.tool_calls or ()),
        tool_responses=[_mocked(message["mockToolResponse"]) for message in mocked],
        transfers=[e.target_agent for e in expected.expectations if e.target_agent is not None],
    )


def _mocked(message: JsonObject) -> ToolResponse:
    return read_response(CesToolResponse.from_value(message))


def _write_case(case: EvalCase) -> JsonObject:
    record = _named(case.eval_id, case.display_name)
    if case.tags:
        record["tags"] = case.tags
    if case.thresholds != CaseThresholds():
        record["evaluationMetricsThresholdOverride"] = case_thresholds(case.thresholds)
    switches = _switches(case)
    if switches:
        record["evaluationMetricsConfigOverride"] = switches
    if case.kind == "scenario":
        return {**record, "scenario": _scenario(case)}
    if not case.turns:
        raise ValueError(f"the case {case.eval_id} has no turns, which a CES golden needs")
    golden: JsonObject = {"turns": [_golden_turn(turn) for turn in case.turns]}
    if case.evaluation_expectations:
        golden["evaluationExpectations"] = case.evaluation_expectations
    return {**record, "golden": golden}


def _golden_turn(turn: ExpectedTurn) -> JsonObject:
    steps: list[JsonObject] = _said(turn.user)
    steps += [{"agentTransfer": {"targetAgent": agent}} for agent in turn.scripted_transfers]
    stated = turn.expectations or _expectations(turn)
    message: JsonObject = {"steps": [*steps, *({"expectation": golden_expectation(e)} for e in stated)]}
    own = turn.thresholds
    if own is not None:
        message |= _turn_thresholds(own)
    return message


def _expectations(turn: ExpectedTurn) -> list[Expectation]:
    """Returns the calls and texts of a turn of another dialect as expectations."""
    made = [Expectation(kind="tool_call", tool_call=call) for call in turn.tool_calls or ()]
    if turn.tool_calls == []:
        made.append(Expectation(kind="no_tool_calls", wire={"noToolCalls": True}))
    texts = [*turn.intermediate_responses, *([turn.response] if turn.response else [])]
    return made + [Expectation(kind="agent_response", text=text) for text in texts]


def _turn_thresholds(own: TurnThresholds) -> JsonObject:
    limits = {
        "semanticSimilaritySuccessThreshold": own.semantic_similarity,
        "overallToolInvocationCorrectnessThreshold": own.tool_invocation,
    }
    stated = {name: value for name, value in limits.items() if value is not None}
    message: JsonObject = {"turnLevelMetricsThresholdsOverride": stated}
    if own.hallucination is not None:
        message["hallucinationMetricBehaviorOverride"] = own.hallucination
    return message


def _switches(case: EvalCase) -> JsonObject:
    """Returns the metrics that a case switches off; those of a golden are stated together."""
    if not case.user_goal_enabled:
        return {"scenarioMetricsConfig": {"userGoalMetMetricsConfig": {"enableUserGoalMetMetrics": False}}}
    tools, steps = case.tool_correctness_enabled, case.step_tool_correctness_enabled
    if case.similarity_enabled and tools and steps:
        return {}
    return {
        "goldenMetricsConfig": {
            "semanticSimilarityMetricsConfig": {"enableSemanticSimilarityMetrics": case.similarity_enabled},
            "toolCorrectnessMetricsConfig": {"enableToolCorrectnessMetrics": tools},
            "stepToolCorrectnessMetricsConfig": {"enableToolCorrectnessMetrics": steps},
        }
    }


def _scenario(case: EvalCase) -> JsonObject:
    message: JsonObject = {
        "task": case.task or "",
        "userFacts": [{"name": fact.name, "value": fact.value} for fact in case.user_facts],
        "rubrics": [rubric.text for rubric in case.rubrics],
        "scenarioExpectations": [scenario_expectation(e) for e in case.expectations],
        "evaluationExpectations": case.evaluation_expectations,
        "userGoalBehavior": _GOALS.get(case.user_goal, ""),
    }
    return {name: value for name, value in message.items() if value}


CES_EVALUATION = Target(
    name="ces_evaluation",
    help="CES Evaluation (proto3 JSON)",
    is_for_cases=True,
    conversation=Codec(write=_write_conversation, read=_read_conversation, made=_MADE),
    case=Codec(write=_write_case, read=_read, made=_MADE),
)
"""Evaluations of the CES API."""

register_target(CES_EVALUATION)
