"""Goldens and checks of turns in the YAML files of the CES command line, as eval cases."""

import re
from collections.abc import Sequence
from typing import Literal

from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import Expectation, ExpectedTurn, Record, ToolCall
from turnwise.schemas.jsonio import JsonObject, JsonValue, dump_json
from turnwise.transforms.formats.ces_cases import eval_case
from turnwise.transforms.formats.messages.values import as_object, listed, objects
from turnwise.transforms.formats.registry import Format, ReadSettings, register_format
from turnwise.transforms.formats.spellings import as_text

_EVENT = re.compile(r"<event>(.*)</event>")
_GREETING = "welcome"
_TRANSFER = "transfer_to_agent"
_COMPARED: dict[JsonValue, Literal["EQUALS", "CONTAINS"]] = {"contains": "CONTAINS", "equals": "EQUALS"}
_GOLDEN_KEYS = frozenset(("conversation", "tags", "turns", "expectations", "session_parameters"))
_TURN_KEYS = frozenset(("user", "event", "agent", "tool_calls"))
_CHECK_KEYS = frozenset(
    ("conversation", "tags", "user", "event", "expectations", "variables", "session_parameters")
)


def _is_goldens(record: JsonObject) -> bool:
    cases = record.get("conversations")
    given = [case for case in cases if isinstance(case, dict)] if isinstance(cases, list) else []
    return any("conversation" in case for case in given)


def _read(value: JsonValue, record: Record, settings: ReadSettings) -> Sequence[EvalCase | ValueError]:
    shared = as_object(value.get("common_session_parameters"))
    found: list[EvalCase | ValueError] = []
    for place, case in enumerate(objects(value["conversations"], "conversations")):
        try:
            name = as_text(case.get("conversation"))
            if not name:
                raise ValueError(f"conversations.{place}: it has no name under conversation")
            state = {
                **shared,
                **as_object(case.get("session_parameters")),
                **as_object(case.get("variables")),
            }
            one = _golden(name, case, state, settings) if "turns" in case else _checks(name, case, state)
            found.append(one)
        except ValueError as error:
            found.append(error)
    return found


def _refuse(given: JsonObject, known: frozenset[str], path: str) -> None:
    unknown = sorted(given.keys() - known)
    if unknown:
        raise ValueError(f"{path}: unknown field {', '.join(unknown)}")


def _golden(name: str, case: JsonObject, state: JsonObject, settings: ReadSettings) -> EvalCase:
    _refuse(case, _GOLDEN_KEYS, name)
    turns = [_turn(turn, f"{name}: turns.{i}") for i, turn in enumerate(objects(case["turns"], "turns"))]
    golden = {"turns": turns, "evaluationExpectations": listed(case.get("expectations"), "expectations")}
    wire = {"displayName": name, "tags": listed(case.get("tags"), "tags"), "golden": golden}
    found = eval_case(dump_json(wire), settings.ces)
    found.session_state = state
    return found


def _turn(turn: JsonObject, path: str) -> JsonObject:
    _refuse(turn, _TURN_KEYS, path)
    steps: list[JsonObject] = [{"userInput": _input(turn)}]
    for call in objects(turn.get("tool_calls"), "tool_calls"):
        name, args = as_text(call.get("action")), as_object(call.get("args"))
        if not name:
            raise ValueError(f"{path}: a tool call has no action")
        if name == _TRANSFER and (call.get("agent") or args.get("agent")):
            target = call.get("agent") or args.get("agent")
            steps.append({"expectation": {"agentTransfer": {"targetAgent": target}}})
            continue
        steps.append({"expectation": {"toolCall": {"tool": name, "args": args}}})
        if call.get("output") is not None:
            output = call["output"] if isinstance(call["output"], dict) else {"result": call["output"]}
            steps.append({"expectation": {"toolResponse": {"tool": name, "response": output}}})
    said = turn.get("agent")
    for text in said if isinstance(said, list) else [said] if said else []:
        message = {"role": "agent", "chunks": [{"text": text}]}
        steps.append({"expectation": {"agentResponse": message}})
    return {"steps": steps}


def _input(turn: JsonObject) -> JsonObject:
    """Returns what the user does; nothing at all opens the session."""
    said, event = turn.get("user"), turn.get("event")
    found = _EVENT.fullmatch(said.strip()) if isinstance(said, str) else None
    if said is None or found:
        return {"event": {"event": found[1] if found else event or _GREETING}}
    return {"text": said}


def _checks(name: str, case: JsonObject, state: JsonObject) -> EvalCase:
    """Returns a single turn with its checks, each a type and a value."""
    turn = ExpectedTurn(user=as_text(case.get("user")) or f"<event>{case.get('event') or _GREETING}</event>")
    unread = sorted(case.keys() - _CHECK_KEYS)
    for check in objects(case.get("expectations"), "expectations"):
        kind, value = check.get("type"), check.get("value")
        if isinstance(kind, str) and kind in _COMPARED:
            text = Expectation(kind="agent_response", text=as_text(value), comparison=_COMPARED[kind])
            turn.expectations = [*turn.expectations, text]
        elif kind == "agent_transfer":
            transfer = Expectation(kind="agent_transfer", target_agent=as_text(value))
            turn.expectations = [*turn.expectations, transfer]
        elif kind == "tool_called":
            turn.tool_calls = [*(turn.tool_calls or []), ToolCall(name=as_text(value), compare_args=[])]
        elif kind == "tool_input" and turn.tool_calls and isinstance(value, dict):
            turn.tool_calls[-1].args, turn.tool_calls[-1].compare_args = value, list(value)
        elif kind == "no_tools_called":
            turn.tool_calls = []
        else:
            unread.append(str(kind))
    turn.expectations = [*(_expected_call(call) for call in turn.tool_calls or []), *turn.expectations]
    if turn.tool_calls == []:
        turn.expectations = [Expectation(kind="no_tool_calls"), *turn.expectations]
    turn.unread = f"the checks {', '.join(unread)} are not read" if unread else None
    tags = listed(case.get("tags"), "tags")
    return EvalCase(name, dialect="ces", display_name=name, tags=tags, turns=[turn], session_state=state)


def _expected_call(call: ToolCall) -> Expectation:
    return Expectation(kind="tool_call", tool_call=call)


register_format(
    Format(
        name="ces_goldens",
        keys=("conversations", "common_session_parameters"),
        help="goldens and turn checks of the CES command line (YAML)",
        rank=102,
        recognises=_is_goldens,
        read_cases=_read,
    )
)
