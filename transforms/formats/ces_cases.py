"""CES evaluations as canonical eval cases."""

import re
from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from turnwise.schemas import case as canonical
from turnwise.schemas.case import EvalCase
from turnwise.schemas.ces import evaluation as ces
from turnwise.schemas.config import CesConfig
from turnwise.schemas.conversation import Expectation, ExpectedTurn, Record, Rubric, ToolCall, TurnThresholds
from turnwise.schemas.jsonio import JsonObject, JsonValue, dump_json, json_structure
from turnwise.transforms.formats.ces_conversations import (
    message_text,
    tool_call,
    tool_response,
    without_underscores,
)
from turnwise.transforms.formats.endings import as_text, name_of, spelt
from turnwise.transforms.formats.fields import read_each
from turnwise.transforms.formats.messages.kinds import as_object, key_set, listed, objects, objects_in
from turnwise.transforms.formats.registry import ReadSettings, register_built_in
from turnwise.transforms.matching.calls import check_directives

Behavior = Literal["ENABLED", "DISABLED"]
_BEHAVIORS: dict[int, Behavior] = {1: "DISABLED", 2: "ENABLED"}
_GOALS: dict[int, Literal["SATISFIED", "REJECTED", "IGNORED"]] = {2: "REJECTED", 3: "IGNORED"}
_COMPARISONS: dict[int, Literal["EQUALS", "CONTAINS"]] = {1: "EQUALS", 2: "CONTAINS"}


def eval_case(data: bytes, config: CesConfig) -> EvalCase:
    """Converts a CES Evaluation; raises ValueError (WireError: it is none) without a script or a name."""
    message = ces.CaseToScore.from_json(data)
    ces.check_evaluation(message)
    eval_id = message.name or message.display_name
    if not eval_id:
        raise ValueError("Evaluation: it has neither a name nor a displayName")
    case = EvalCase(eval_id, dialect="ces", tags=message.tags, thresholds=_thresholds(message, config))
    case.display_name, case.etag = message.display_name or None, message.etag or None
    if message.golden is not None:
        case.turns = [_golden_turn(turn) for turn in message.golden.turns]
        case.evaluation_expectations = message.golden.evaluation_expectations
    elif message.scenario is not None:
        script = message.scenario
        case.kind = "scenario"
        case.task = script.task or None
        case.user_facts = [canonical.UserFact(name=fact.name, value=fact.value) for fact in script.user_facts]
        case.rubrics = [Rubric(rubric_id=str(i), text=text) for i, text in enumerate(script.rubrics)]
        case.expectations = [_scenario_expectation(expected) for expected in script.scenario_expectations]
        case.evaluation_expectations = script.evaluation_expectations
        rejected = script.task_completion_behavior == 2 and not script.user_goal_behavior
        case.user_goal = "REJECTED" if rejected else _GOALS.get(script.user_goal_behavior, "SATISFIED")
    else:
        raise ValueError("Evaluation: neither golden nor scenario is set")
    config_override = message.evaluation_metrics_config_override
    scenario = config_override.scenario_metrics_config if config_override else None
    goal = scenario.user_goal_met_metrics_config if scenario else None
    case.user_goal_enabled = goal is None or goal.enable_user_goal_met_metrics
    golden = config_override.golden_metrics_config if config_override else None
    if golden is not None:
        similarity, tools = golden.semantic_similarity_metrics_config, golden.tool_correctness_metrics_config
        steps = golden.step_tool_correctness_metrics_config
        case.similarity_enabled = similarity is None or similarity.enable_semantic_similarity_metrics
        case.tool_correctness_enabled = tools is None or tools.enable_tool_correctness_metrics
        case.step_tool_correctness_enabled = steps is None or steps.enable_tool_correctness_metrics
    return case


def _thresholds(message: ces.CaseContent, config: CesConfig) -> canonical.CaseThresholds:
    """Merges the thresholds of the app (config) and of the case, field by field; the case's win."""
    thresholds = canonical.CaseThresholds(unexpected_response=config.unexpected_response)
    app = ces.EvaluationMetricsThresholds.from_value(config.evaluation_metrics_thresholds)
    for level in filter(None, (app, message.evaluation_metrics_threshold_override)):
        golden = level.golden_evaluation_metrics_thresholds
        turn = golden.turn_level_metrics_thresholds if golden else None
        call = golden.expectation_level_metrics_thresholds if golden else None
        matching = golden.tool_matching_settings if golden else None
        extra = matching.extra_tool_call_behavior if matching else None
        golden_behavior = level.golden_hallucination_metric_behavior or level.hallucination_metric_behavior
        stated: JsonObject = {
            "semantic_similarity": turn.semantic_similarity_success_threshold if turn else None,
            "tool_invocation": turn.overall_tool_invocation_correctness_threshold if turn else None,
            "parameter": call.tool_invocation_parameter_correctness_threshold if call else None,
            "golden_hallucination": _BEHAVIORS.get(golden_behavior),
            "scenario_hallucination": _BEHAVIORS.get(level.scenario_hallucination_metric_behavior),
        }
        if extra:
            stated["extra_tool_calls"] = "ALLOW" if extra == ces.ExtraToolCallBehavior.ALLOW else "FAIL"
        given = {name: value for name, value in stated.items() if value is not None}
        thresholds = msgspec.structs.replace(thresholds, **given)
    return thresholds


def _golden_turn(message: ces.GoldenTurn) -> ExpectedTurn:
    expectations = [_expectation(step.expectation) for step in message.steps if step.expectation is not None]
    given = [step.user_input for step in message.steps if step.user_input is not None]
    inputs = [f"<event>{i.event.event}</event>" if i.event else i.text or i.dtmf for i in given]
    checked = [expectation for expectation in expectations if not expectation.skip]
    texts = [e.text for e in checked if e.text and e.comparison != "CONTAINS"]
    behavior = message.hallucination_metric_behavior_override
    stated, thresholds = message.turn_level_metrics_thresholds_override, None
    if stated is not None or behavior != ces.HallucinationMetricBehavior(0):
        thresholds = TurnThresholds(
            semantic_similarity=stated.semantic_similarity_success_threshold if stated else None,
            tool_invocation=stated.overall_tool_invocation_correctness_threshold if stated else None,
            hallucination=_BEHAVIORS.get(behavior),
        )
    turn = ExpectedTurn("\n".join(filter(None, inputs)) or None, "\n".join(texts) or None)
    turn.tool_calls = [e.tool_call for e in checked if e.tool_call is not None]
    turn.scripted_transfers = [s.agent_transfer.target_agent for s in message.steps if s.agent_transfer]
    turn.expectations, turn.thresholds = expectations, thresholds
    return turn


def _expectation(message: ces.GoldenExpectation) -> Expectation:
    similarity = message.agent_response_semantic_similarity_metrics_config_override
    switched_off = similarity is not None and not similarity.enable_semantic_similarity_metrics
    gate = message.expectation_level_metrics_thresholds_override
    comparison = _COMPARISONS.get(message.comparison_type)
    # Its kind is the name of the field that is set.
    kind: Any = next((k for k in ces.GoldenExpectation.ONEOF if getattr(message, k) is not None), None)
    if kind is None:
        raise ValueError("Evaluation.golden: an expectation sets no condition")
    is_unasked = (switched_off and comparison is None) or message.no_tool_calls is False
    expectation = Expectation(kind, variables=message.updated_variables, wire=message.to_value())
    expectation.comparison = comparison or "SEMANTIC_SIMILARITY"
    expectation.skip = message.skip_evaluation or is_unasked
    expectation.parameter_threshold = gate.tool_invocation_parameter_correctness_threshold if gate else None
    if message.tool_call is not None:
        expectation.tool_call = tool_call(message.tool_call)
        check_directives(expectation.tool_call.args or {}, f"the call of {expectation.tool_call.name}")
    check_directives(message.updated_variables or {}, "updatedVariables")
    if message.tool_response is not None:
        expectation.tool_response = tool_response(message.tool_response)
        check_directives({"response": expectation.tool_response.response}, "a toolResponse")
    if message.agent_response is not None:
        expectation.text = message_text(message.agent_response)
    if message.agent_transfer is not None:
        expectation.target_agent = message.agent_transfer.target_agent
    return expectation


def _scenario_expectation(message: ces.ScenarioExpectation) -> Expectation:
    tool = message.tool_expectation
    if tool is not None and tool.expected_tool_call is not None:
        call = tool_call(tool.expected_tool_call)
        check_directives(call.args or {}, f"the call of {call.name}")
        return Expectation(kind="tool_call", tool_call=call, wire=message.to_value())
    if message.agent_response is not None:
        text = message_text(message.agent_response)
        return Expectation(kind="agent_response", text=text, comparison="CONTAINS", wire=message.to_value())
    raise ValueError("Evaluation.scenario: an expectation names neither a tool call nor an agent response")


_NEEDED = frozenset(("display_name", "turn_index", "action_type"))
_TEXT = ("text_content", "response_agent", "expectation_note")
_READ = frozenset((*_NEEDED, *_TEXT, "tool_name", "updated_variables_json"))
_ARGS = ("args_json", "call_json")


def _is_row(row: JsonObject) -> bool:
    return row.keys() >= _NEEDED


def _read(value: JsonValue, record: Record, settings: ReadSettings) -> Sequence[EvalCase | ValueError]:
    """Reads goldens, each of a row with a display name and those below it without."""
    groups: dict[str, list[JsonObject]] = {}
    begun_at: dict[str, list[int]] = {}
    name = ""
    for number, row in enumerate(list(objects(value if isinstance(value, list) else [value], "rows")), 1):
        if row.get("display_name") or not groups:
            name = str(row.get("display_name") or "")
            begun_at.setdefault(name, []).append(number)
        if len(begun_at[name]) == 1:
            groups.setdefault(name, []).append(row)
    return read_each(groups, lambda name: _golden_of_rows(groups[name], begun_at[name], settings.ces))


def _golden_of_rows(rows: Sequence[JsonObject], begun_at: Sequence[int], config: CesConfig) -> EvalCase:
    if len(begun_at) > 1:  # it is not clear which of the rows below are whose
        places = ", ".join(map(str, begun_at[:-1]))
        remedy = "state it in the first row of an evaluation only, and another one for each evaluation"
        raise ValueError(f"the rows {places} and {begun_at[-1]} have the same display_name: {remedy}")
    name = rows[0].get("display_name")
    if not name:
        raise ValueError("the first row has no display_name")
    turns: dict[int, list[JsonObject]] = {}
    unread: set[str] = set()
    for row in rows:
        if not row.get("action_type"):
            continue
        stated = row.get("turn_index")
        try:
            index = int(str(stated))
        except ValueError:
            raise ValueError(f"turn_index: a whole number is needed, not {stated!r}") from None
        if turns and index < max(turns):
            raise ValueError(f"turn_index: {index} stands below {max(turns)}")
        steps, kind = turns.setdefault(index, []), row["action_type"]
        if kind == "INPUT_TEXT":
            steps.append({"userInput": {"text": row.get("text_content") or ""}})
        elif kind == "INPUT_UPDATED_VARIABLES":
            steps.append({"userInput": {"variables": _object(row, "updated_variables_json")}})
        elif kind == "EXPECTATION_TEXT":
            chunk = {"text": row.get("text_content") or ""}
            message = {"role": row.get("response_agent") or "agent", "chunks": [chunk]}
            note = {"note": row["expectation_note"]} if row.get("expectation_note") else {}
            steps.append({"expectation": {"agentResponse": message, **note}})
        elif kind == "EXPECTATION_TOOL_CALL" and row.get("tool_name"):
            args = next((_object(row, key) for key in row if key.endswith(_ARGS)), {})
            steps.append({"expectation": {"toolCall": {"tool": row["tool_name"], "args": args}}})
        else:
            unread.add(f"rows of the type {kind}")
            continue
        left = [key for key in row if row[key] and key not in _READ and not key.endswith(_ARGS)]
        unread |= {f"the column {key}" for key in left}
    golden = {"turns": [{"steps": steps} for steps in turns.values()]}
    case = eval_case(dump_json({"displayName": name, "golden": golden}), config)
    case.unread = f"not read: {', '.join(sorted(unread))}" if unread else None
    return case


def _object(row: JsonObject, key: str) -> JsonObject:
    text = row.get(key)
    decoded = json_structure(text) if isinstance(text, str) else {}
    if not isinstance(decoded, dict):
        raise ValueError(f"{key}: a JSON object is needed")
    return decoded


# For example {"display_name": "", "turn_index": "1", "action_type": "INPUT_TEXT", "text_content": "Hi"}
register_built_in(
    "ces_golden_rows", 106, "goldens in the CSV form that CES imports", _is_row,
    ("display_name", "turn_index", "action_type"), read_cases=_read, is_list=_is_row,
)  # fmt: skip

_OF_RESULTS = spelt("golden_result", "scenario_result", "execution_state")


def _wire(value: JsonObject) -> bytes:
    """Returns an Evaluation as the API has it: an export holds statements in place of their names."""
    whole = without_underscores(value)
    for script in ("golden", "scenario"):
        inner = whole.get(script)
        for items in inner.values() if isinstance(inner, dict) else ():
            for i, item in enumerate(items if isinstance(items, list) else ()):
                statement = as_object(item)
                criteria = as_object(statement.get("llmCriteria") or statement.get("llm_criteria"))
                items[i] = criteria.get("prompt") or item
    return dump_json(whole)


# For example {"goldenResult": {"turnReplayResults": [...]}, "evaluationStatus": "COMPLETED"}
register_built_in(
    "ces_evaluation_result", 100, "CES EvaluationResult; not read",
    lambda record: bool(record.keys() & _OF_RESULTS) or "/results/" in name_of(record),
    ("goldenResult", "evaluationStatus", "evaluationRun"),
    other_keys=(("scenarioResult", "evaluationStatus", "evaluationRun"),),
)  # fmt: skip
# For example {"displayName": "Refund", "golden": {"turns": [{"steps": [{"userInput": {"text": "Hi"}}]}]}}
register_built_in(
    "ces_evaluation", 110, "CES Evaluation (proto3 JSON)",
    lambda record: (  # the scenario of DeepEval is a text
        "/evaluations/" in name_of(record)
        or any(not isinstance(record[key], str) for key in record.keys() & {"golden", "scenario"})
    ), ("displayName", "golden"),
    other_keys=(("displayName", "scenario"),),
    read_cases=lambda value, record, settings: [eval_case(_wire(value), settings.ces)],
)  # fmt: skip
_EVENT = re.compile(r"<event>(.*)</event>")
_GREETING = "welcome"
_COMPARED: dict[JsonValue, Literal["EQUALS", "CONTAINS"]] = {"contains": "CONTAINS", "equals": "EQUALS"}
_GOLDEN_KEYS = frozenset(("conversation", "tags", "turns", "expectations", "session_parameters"))
_TURN_KEYS = frozenset(("user", "event", "agent", "tool_calls"))
_CHECK_KEYS = key_set("conversation tags user event expectations variables session_parameters")


def _read_community(
    value: JsonValue, record: Record, settings: ReadSettings
) -> Sequence[EvalCase | ValueError]:
    shared = as_object(value.get("common_session_parameters"))

    def read(numbered: tuple[int, JsonObject]) -> EvalCase:
        index, case = numbered
        name = as_text(case.get("conversation"))
        if not name:
            raise ValueError(f"conversations.{index}: it has no name under conversation")
        state = shared | as_object(case.get("session_parameters")) | as_object(case.get("variables"))
        if "turns" not in case:
            return _checks(name, case, state)
        _refuse(case, _GOLDEN_KEYS, name)
        turns = [_turn(turn, f"{name}: turns.{i}") for i, turn in enumerate(objects(case["turns"], "turns"))]
        golden = {"turns": turns, "evaluationExpectations": listed(case.get("expectations"), "expectations")}
        wire = {"displayName": name, "tags": listed(case.get("tags"), "tags"), "golden": golden}
        golden_case = eval_case(dump_json(wire), settings.ces)
        golden_case.session_state = state
        return golden_case

    return read_each(enumerate(objects(value["conversations"], "conversations")), read)


def _refuse(given: JsonObject, known: frozenset[str], path: str) -> None:
    unknown = sorted(given.keys() - known)
    if unknown:
        raise ValueError(f"{path}: unknown field {', '.join(unknown)}")


def _turn(turn: JsonObject, path: str) -> JsonObject:
    _refuse(turn, _TURN_KEYS, path)
    user, event = turn.get("user"), turn.get("event")
    tagged = _EVENT.fullmatch(user.strip()) if isinstance(user, str) else None
    given = {"text": user}
    if user is None or tagged:  # nothing at all opens the session
        given = {"event": {"event": tagged[1] if tagged else event or _GREETING}}
    steps: list[JsonObject] = [{"userInput": given}]
    for call in objects(turn.get("tool_calls"), "tool_calls"):
        name, args = as_text(call.get("action")), as_object(call.get("args"))
        if not name:
            raise ValueError(f"{path}: a tool call has no action")
        if name == "transfer_to_agent" and (call.get("agent") or args.get("agent")):
            target = call.get("agent") or args.get("agent")
            steps.append({"expectation": {"agentTransfer": {"targetAgent": target}}})
            continue
        steps.append({"expectation": {"toolCall": {"tool": name, "args": args}}})
        if call.get("output") is not None:
            output = call["output"] if isinstance(call["output"], dict) else {"result": call["output"]}
            steps.append({"expectation": {"toolResponse": {"tool": name, "response": output}}})
    texts = turn.get("agent")
    for text in texts if isinstance(texts, list) else [texts] if texts else []:
        message = {"role": "agent", "chunks": [{"text": text}]}
        steps.append({"expectation": {"agentResponse": message}})
    return {"steps": steps}


def _checks(name: str, case: JsonObject, state: JsonObject) -> EvalCase:
    """Returns a single turn with its checks, each a type and a value."""
    turn = ExpectedTurn(user=as_text(case.get("user")) or f"<event>{case.get('event') or _GREETING}</event>")
    unread = sorted(case.keys() - _CHECK_KEYS)
    for check in objects(case.get("expectations"), "expectations"):
        kind, value = check.get("type"), check.get("value")
        if isinstance(kind, str) and kind in _COMPARED:
            text = Expectation(kind="agent_response", text=as_text(value), comparison=_COMPARED[kind])
            turn.expectations += [text]
        elif kind == "agent_transfer":
            turn.expectations += [Expectation(kind="agent_transfer", target_agent=as_text(value))]
        elif kind == "tool_called":
            turn.tool_calls = [*(turn.tool_calls or []), ToolCall(name=as_text(value), compare_args=[])]
        elif kind == "tool_input" and turn.tool_calls and isinstance(value, dict):
            turn.tool_calls[-1].args, turn.tool_calls[-1].compare_args = value, list(value)
        elif kind == "no_tools_called":
            turn.tool_calls = []
        else:
            unread.append(str(kind))
    calls = (Expectation(kind="tool_call", tool_call=call) for call in turn.tool_calls or [])
    none = [Expectation(kind="no_tool_calls")] if turn.tool_calls == [] else []
    turn.expectations = [*none, *calls, *turn.expectations]
    turn.unread = f"the checks {', '.join(unread)} are not read" if unread else None
    tags = listed(case.get("tags"), "tags")
    return EvalCase(name, dialect="ces", display_name=name, tags=tags, turns=[turn], session_state=state)


# For example {"conversations": [{"conversation": "Refund", "turns": [{"user": "Hi", "agent": "Hello"}]}]}
register_built_in(
    "ces_goldens", 102, "goldens and turn checks of the CES command line (YAML)",
    lambda record: any("conversation" in item for item in objects_in(record.get("conversations"))),
    ("conversations", "common_session_parameters"), read_cases=_read_community,
)  # fmt: skip


def _simulation(numbered: tuple[int, JsonObject]) -> EvalCase:
    index, case = numbered
    name = as_text(case.get("name"))
    if not name:
        raise ValueError(f"evals.{index}: it has no name")
    steps = list(objects(case.get("steps"), "steps"))
    made = EvalCase(name, kind="scenario", dialect="ces", display_name=name)
    made.tags = listed(case.get("tags"), "tags")
    made.task = "\n".join(str(step["goal"]) for step in steps if step.get("goal"))
    wanted = [step["success_criteria"] for step in steps if step.get("success_criteria")]
    made.evaluation_expectations = list(map(str, wanted + listed(case.get("expectations"), "expectations")))
    made.user_behaviors = [str(step["response_guide"]).strip() for step in steps if "response_guide" in step]
    made.session_state = as_object(case.get("session_parameters"))
    return made


# For example {"evals": [{"name": "Refund", "steps": [{"goal": "get it", "response_guide": "agree"}]}]}
register_built_in(
    "ces_simulations", 104, "simulations of the CES command line (YAML)",
    lambda record: any("steps" in item for item in objects_in(record.get("evals"))), ("evals",),
    read_cases=lambda value, *_: read_each(enumerate(objects(value["evals"], "evals")), _simulation),
)  # fmt: skip
