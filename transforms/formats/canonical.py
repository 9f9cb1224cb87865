"""The canonical JSON: one conversation or one eval case a record."""

from collections.abc import Callable, Sequence

import msgspec
from pydantic_core import from_json

from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import (
    APP_DETAILS,
    Conversation,
    ExpectedOutcome,
    ExpectedTurn,
    ToolResponse,
    Turn,
)
from turnwise.schemas.jsonio import JsonObject
from turnwise.transforms.formats.canonical.expected import add_unread_expectations, read_fields, unread_work
from turnwise.transforms.formats.canonical.strict import strict_case
from turnwise.transforms.formats.endings import (
    TERMINATIONS,
    UNKNOWN,
    End,
    agreed_end,
    marked_end,
    reasons_end,
    record_end,
    stated_reason,
)
from turnwise.transforms.formats.own_results import add_own_results, own_result
from turnwise.transforms.formats.problems import canonical
from turnwise.transforms.formats.spellings import (
    agent_actions,
    as_text,
    call_fields,
    error_mark,
    failure_mark,
    length,
    usage_fields,
    users_actions,
    wrong_tokens,
)
from turnwise.transforms.formats.tool_declarations import context_tools, declared_tools, is_foreign
from turnwise.transforms.formats.unread import Unread, add_leap, check_calls, snake
from turnwise.transforms.matching.sample import contained_case, inline_case

_DECODER = msgspec.json.Decoder(Conversation)
_TIMES = ("latency_ms", "model_ms", "tool_ms")
_CALLS = ("tool_calls", "user_tool_calls")
_WHAT = "not a conversation"
_FIELDS = frozenset(field.name for field in msgspec.structs.fields(Conversation))
_TURN_FIELDS = frozenset(field.name for field in msgspec.structs.fields(Turn))
_TURN_KEYS = _TURN_FIELDS | {"agents"}


def looks_canonical(data: bytes) -> bool:
    """Returns by three keys whether a record is probably a canonical conversation; a hint, not a check."""
    return b'"conversation_id"' in data and b'"turns"' in data and b'"messages"' not in data


def read_conversation(data: bytes) -> Conversation:
    """Parses a record; turns are numbered by their position.

    Invalid records are repaired: null lists and null fields count as absent, ids may be
    numbers, arguments JSON texts (`turnwise.schemas.conversation`), usage in OpenAI's spelling and error marks
    of any shape, declared tools of any form, the end in tau2's words; expected actions that the user is to
    make are separated, and durations that are no finite number in range, and tokens with a negative number,
    are omitted with a finding.
    Unknown keys are dropped; one that may hold calls leaves the turn's calls unknown, one that may expect
    something is named in `unread`.

    Raises:
        ValueError: It is still no conversation, or a key of its expectations is misspelt; one line with the
            path of the first problem.
    """
    try:
        conversation = _DECODER.decode(data)
        if _dropped_something(conversation):
            conversation = _repaired(data)
    except (ValueError, RecursionError):
        conversation = _repaired(data)
    _number(conversation.turns)
    check_calls(conversation.turns)
    if APP_DETAILS in conversation.meta:
        named = {tool.name for tool in conversation.tools}
        others = context_tools(conversation.meta[APP_DETAILS])
        conversation.tools += [tool for tool in others if tool.name not in named]
    return conversation


def _number(turns: Sequence[Turn]) -> None:
    """Numbers turns by their position; where the record numbers them, a leap is a finding of its turn."""
    stated = [turn.turn_index for turn in turns]
    if not any(stated):
        for i, turn in enumerate(turns):
            turn.turn_index = i
        return
    for i, turn in enumerate(turns):
        turn.turn_index, before = i, stated[i - 1] if i else -1
        if stated[i] != before + 1:
            add_leap(turn, before, stated[i])


def read_recording(data: bytes) -> Conversation:
    """Parses a record as `read_conversation` does, and rejects one that holds only expectations.

    Raises:
        ValueError: It is no conversation, or holds expectations without recorded answers.
    """
    conversation = read_conversation(data)
    turns = conversation.turns
    if turns and turns[0].agent is None and all(map(_was_not_run, turns)) and inline_case(conversation):
        raise ValueError(
            "expectations without recorded answers; eval cases go to --eval_cases (in Python: cases)"
        )
    return conversation


def _was_not_run(turn: Turn) -> bool:
    return turn.agent is None and not turn.tool_calls and not turn.agent_messages


def read_case(data: bytes) -> EvalCase:
    """Parses a canonical eval case, or a conversation as the case that it contains.

    Raises:
        ValueError: Neither of them, or a conversation that expects nothing; one line.
    """
    value = from_json(data)
    if isinstance(value, dict) and "conversation_id" not in value and "eval_id" in value:
        return strict_case(_with_canonical_tools(value))
    conversation = read_conversation(data)
    case = contained_case(conversation)
    if case is None:
        raise ValueError(f"conversation {conversation.conversation_id} expects nothing: no eval case")
    return case


def _with_canonical_tools(value: JsonObject) -> JsonObject:
    """Returns a case whose tools are in the canonical form, as far as they were in another known one."""
    if not isinstance(value.get("tools"), list):
        return value
    tools = [declared_tools([tool]) if is_foreign(tool) else [tool] for tool in value["tools"]]
    made = [msgspec.to_builtins(tool) for found in tools for tool in found]
    return {**value, "tools": made}


def _dropped_something(conversation: Conversation) -> bool:
    """Returns whether a record that validates states its tools, usage or end in another spelling."""
    if any(tool.effect is None for tool in conversation.tools):
        return True
    if conversation.meta and not conversation.meta.keys().isdisjoint(TERMINATIONS):
        return True
    for turn in conversation.turns:
        usage = turn.usage
        if usage is not None and usage.input_tokens is None and usage.output_tokens is None:
            return True
        if usage is not None and any((getattr(usage, name) or 0) < 0 for name in usage.__struct_fields__):
            return True
    return False


def _repaired(data: bytes) -> Conversation:
    value = from_json(data)
    if not isinstance(value, dict):
        raise ValueError(f"{_WHAT}: a JSON object is needed, not {type(value).__name__}")
    conversation = canonical(Conversation, _conversation(value), _WHAT)
    for place, (turn, raw) in enumerate(zip(conversation.turns, value.get("turns") or (), strict=True)):
        if raw and _TURN_FIELDS.isdisjoint(raw):
            shown = ", ".join(list(raw)[:8])
            raise ValueError(f"{_WHAT}: turns.{place}: none of a turn's fields (keys {shown})")
        unread = Unread().keys(raw, _with_expectations(raw, _TURN_KEYS))
        unread_work(turn, raw, unread)
        own, users = ([own_result(call) for call in raw.get(key) or ()] for key in _CALLS)
        add_own_results(turn, own, users, unread)
        _unread_times(turn, raw, unread)
        wrong = wrong_tokens(raw.get("usage"))
        if wrong:
            unread.add("UnreadTokens", f"usage: {wrong[:60]} is no number of tokens, 0 or more")
        unread.add_to(turn)
    Unread().keys(value, _with_expectations(value, _FIELDS)).add_to_all(conversation.turns)
    add_unread_expectations(conversation, value)
    return conversation


def _unread_times(turn: Turn, raw: JsonObject, unread: Unread) -> None:
    """Adds the lengths of time that a turn states and that are none."""
    for key in _TIMES:
        if raw.get(key) is not None and getattr(turn, key) is None:
            said = f"{key}: {str(raw[key])[:60]!r} is no number of milliseconds, 0 or more"
            unread.add("UnreadTime", said)
            if key == "latency_ms":
                turn.unknown_latency = said


def _with_expectations(value: JsonObject, known: frozenset[str]) -> frozenset[str]:
    """Returns known keys with those of expectations, whose unread keys are reported separately."""
    return known if value.keys() <= known else known | {n for n in value if snake(n).startswith("expect")}


def _conversation(value: JsonObject) -> JsonObject:
    fields = {key: item for key, item in value.items() if item is not None and key in _FIELDS}
    for key in ("conversation_id", "eval_id", "eval_set_id", "app_version", "user_id"):
        if key in fields:
            fields[key] = as_text(fields[key])
    fields["ended"], fields["ended_detail"] = _end(value)
    _repair_each(fields, _turn, "turns")
    _repair(fields, _outcome, "expected")
    if "tools" in fields:
        fields["tools"] = declared_tools(fields["tools"])
    return fields


def _end(value: JsonObject) -> End:
    """Returns how a conversation ended: as its record or last turn states it, or by their finish reasons."""
    turns = value.get("turns")
    last = turns[-1] if isinstance(turns, list) and turns and isinstance(turns[-1], dict) else {}
    own = agreed_end(record_end(value), marked_end(last))
    if own != UNKNOWN:
        return own
    return reasons_end(map(stated_reason, (last, value)), is_call=False, has_answer=bool(last.get("agent")))


def _turn(value: JsonObject) -> JsonObject:
    fields = {key: item for key, item in value.items() if item is not None and key in _TURN_FIELDS}
    for key in _TIMES:
        if key in fields and length(fields[key]) is None:
            del fields[key]
    _repair_each(fields, call_fields, *_CALLS)
    _repair_each(fields, _response, "tool_responses", "user_tool_responses")
    _repair(fields, usage_fields, "usage")
    _repair(fields, _expected_turn, "expected")
    return fields


def _expected_turn(value: JsonObject) -> JsonObject:
    fields = read_fields(value, ExpectedTurn)
    _repair_each(fields, call_fields, "tool_calls")
    _repair_each(fields, _expectation, "expectations")
    return fields


def _expectation(value: JsonObject) -> JsonObject:
    _repair(value, call_fields, "tool_call")
    return value


def _outcome(value: JsonObject) -> JsonObject:
    fields = read_fields(value, ExpectedOutcome)
    _repair_each(fields, call_fields, "user_actions")
    if isinstance(fields.get("actions"), list):
        stated = fields["actions"]
        fields["actions"] = agent_actions(stated)
        fields["user_actions"] = fields.get("user_actions") or users_actions(stated)
    return fields


def _response(value: JsonObject) -> JsonObject:
    fields = read_fields(value, ToolResponse)
    fields["error"] = failure_mark(value) or error_mark(fields.get("error"))
    fields["id"] = as_text(fields.get("id"))
    return fields


def _repair(fields: JsonObject, repair: Callable[[JsonObject], JsonObject], key: str) -> None:
    if isinstance(fields.get(key), dict):
        fields[key] = repair(fields[key])


def _repair_each(fields: JsonObject, repair: Callable[[JsonObject], JsonObject], *keys: str) -> None:
    for key in keys:
        if isinstance(fields.get(key), list):
            fields[key] = [repair(item) if isinstance(item, dict) else item for item in fields[key]]
