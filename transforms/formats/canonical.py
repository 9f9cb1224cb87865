"""The canonical JSON, one conversation or eval case a record; and what may be wrong with any turns' calls."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from math import inf
from typing import Annotated, Any

import msgspec
import orjson
from msgspec import Meta
from pydantic_core import from_json

from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import (
    APP_DETAILS,
    TOKEN_COUNTS,
    Conversation,
    ExpectedOutcome,
    ExpectedTurn,
    ToolCall,
    ToolResponse,
    Turn,
)
from turnwise.schemas.jsonio import JsonObject, JsonValue, dump_json, json_structure, json_value, shown
from turnwise.transforms.formats import endings, registry
from turnwise.transforms.formats.fields import (
    LONGEST_NAME,
    MISSING,
    UNREAD,
    Extra,
    UnknownField,
    Unread,
    add_leap,
    canonical,
    check_keys,
    gaps,
    known_fields,
    unknown_fields,
)
from turnwise.transforms.formats.identity import Paths
from turnwise.transforms.formats.messages.kinds import snake
from turnwise.transforms.matching.calls import check_directives, without_call
from turnwise.transforms.matching.sample import contained_case, inline_case
from turnwise.transforms.text.dates import rfc3339, time_seconds, value_time
from turnwise.transforms.text.words import word_set

_DECODER, _CASE_DECODER = msgspec.json.Decoder(Conversation), msgspec.json.Decoder(EvalCase)
_TIMES = ("latency_ms", "model_ms", "tool_ms")
_CALLS, _RESPONSES = ("tool_calls", "user_tool_calls"), ("tool_responses", "user_tool_responses")
_CANONICAL_WHAT = "not a conversation"
_FIELDS = frozenset(field.name for field in msgspec.structs.fields(Conversation))
_TURN_FIELDS = frozenset(field.name for field in msgspec.structs.fields(Turn))


def read_conversation(data: bytes) -> Conversation:
    """Parses a record; turns are numbered by their position.

    Invalid records are repaired: null lists and null fields count as absent, ids may be
    numbers, arguments JSON texts (`turnwise.schemas.conversation`), usage in OpenAI's spelling and error
    marks of any shape, declared tools of any form, the end in tau2's words. Expected actions that the user
    is to make are separated. Durations that are no finite number in range, and tokens with a negative
    number, are omitted with a finding.
    Unknown keys are dropped; one that may hold calls leaves the turn's calls unknown, one that may expect
    something is named in `unread`. Raises ValueError, one line with the path of the first problem, if it is
    still no conversation, a key of its expectations is misspelt, or an object states one key twice.
    """
    return _read(data, *(_decoded(data) or (_repaired(data), False)))


def _decoded(data: bytes) -> tuple[Conversation, bool] | None:
    """Returns the conversation of a valid record, and whether that surely states no key twice.

    None: it states tools, usage or end in another spelling, or is none.
    """
    try:
        conversation = _DECODER.decode(data)
        states_once = _states_once(data, conversation)
    except (ValueError, RecursionError):
        return None
    if conversation.tools and any(tool.effect is None for tool in conversation.tools):
        return None
    if conversation.meta and not conversation.meta.keys().isdisjoint(endings.TERMINATIONS):
        return None
    for turn in conversation.turns:
        if (usage := turn.usage) is not None:
            if usage.input_tokens is None and usage.output_tokens is None:
                return None
            if any((getattr(usage, name) or 0) < 0 for name in TOKEN_COUNTS):
                return None
            lacks = usage.cached_tokens is None or usage.reasoning_tokens is None
            if lacks and not states_once and any(name in data for name in _TOKEN_SPELLINGS):
                return None
    return conversation, states_once


def _read(data: bytes, conversation: Conversation, states_once: bool) -> Conversation:
    """Checks the conversation of a record, and numbers its turns."""
    if not states_once:
        try:
            is_deep = data.count(b"{") + data.count(b"[") > _DEEPEST
            value = from_json(data) if is_deep else orjson.loads(data)
        except orjson.JSONDecodeError:
            value = from_json(data)
        check_keys(data, value)
    # Turns are numbered by their position; where the record numbers them, a leap is a finding of its turn.
    before, are_numbered = -1, None
    for i, turn in enumerate(conversation.turns):
        index = turn.turn_index
        if index != before + 1 and are_numbered is None:
            are_numbered = any(other.turn_index for other in conversation.turns)
        if index != i:
            turn.turn_index = i
        if index != before + 1 and are_numbered:
            add_leap(turn, before, index)
        before = index
        if turn.spans and len(turn.tool_calls) > 1:
            _add_inner_calls(turn)
    check_calls(conversation.turns)
    if APP_DETAILS in conversation.meta:
        named = {tool.name for tool in conversation.tools}
        others = endings.context_tools(conversation.meta[APP_DETAILS])
        conversation.tools += [tool for tool in others if tool.name not in named]
    return conversation


# What may be wrong with the calls of any reader's turns.

_SPELT = "a text spells what may be a call or a result, and is not read as one"
_SPELT_CALL = re.compile(
    r"<[|\uff5c]?/?(antml:)?(tool|function|invoke)s?[_ \u2581=>|]|<\|(python_tag|call)\|>"
    r"|\[/?(AVAILABLE_TOOLS|TOOL_)|```tool_",
    re.IGNORECASE,
)
_SPELT_KEY = re.compile(
    r'"type"\s*:\s*"\w*(tool|function|mcp)\w*"'
    r'|"name"\s*:\s*"[^"]*"\s*,\s*"parameters"\s*:'
    r'|"(tool_?(calls?|uses?|results?|responses?)|function_?(calls?|responses?)|arguments)"\s*:',
    re.IGNORECASE,
)

_REACT = "Action Input"
# What stands before a word ends with its line, so that a text of marks and blank lines is read only once.
_REACT_CALL = re.compile(rf"^[^\w\n]*Action[^\w\n]*:.*\n\W*{_REACT}[^\w\n]*:", re.MULTILINE)
"""How a call is spelt in the style of ReAct; a trace may hold it both so and as a call."""


def check_calls(turns: Sequence[Turn]) -> None:
    """Adds problems of calls to turns.

    They name no tool, or are written out in words; or there is a result whose call is nowhere before it. A
    result that answers the call of an earlier turn is moved to it.
    """
    earlier: dict[str | None, Turn] = {}
    noted = 0
    for number, turn in enumerate(turns):
        calls, responses = turn.tool_calls, turn.tool_responses
        for text in [turn.user, turn.agent, *turn.agent_messages]:
            # Most texts have no mark that a call is spelt with: a model's own, or JSON inside of JSON.
            if text and (
                "<" in text or "[" in text or "{" in text or "`" in text or (not calls and _REACT in text)
            ):
                spelt = _SPELT_CALL.search(text) or (not calls and _REACT_CALL.search(text))
                if spelt or (text.lstrip().startswith(("{", "[")) and _SPELT_KEY.search(text)):
                    gaps(UNREAD, [_SPELT], words=False).add_to(turn, adk_ignores=True)
                    break
        if len(responses) == len(calls):
            for i, call in enumerate(calls):
                response, name = responses[i], call.name
                if call.id != response.id or not name or (not call.id and name != response.name):
                    break
            else:  # each call has a name, and its result
                continue
        without = without_call(calls, responses) if responses else []
        if without:
            for before in turns[noted:number]:
                earlier.update((call.id or call.name, before) for call in before.tool_calls)
            noted = number
        if without and (late := [r for r in without if (r.id or r.name) in earlier]):
            moved = set(map(id, late))
            without = [response for response in without if id(response) not in moved]
            turn.tool_responses = [response for response in responses if id(response) not in moved]
            for response in late:
                called = earlier[response.id or response.name]
                others = [r for r in called.tool_responses if response.id is None or r.id != response.id]
                called.tool_responses = [*others, response]
        unnamed = [i for i, call in enumerate(calls, 1) if not call.name]
        if not (without or unnamed):
            continue
        unread = Unread()
        for i in unnamed:
            unread.add("CallWithoutName", f"call {i} names no tool", calls=True)
        for response in without:
            name = (response.id or response.name or "")[:LONGEST_NAME]
            unread.add("ResultWithoutCall", f"the log holds the result {name!r} without its call", calls=True)
        unread.add_to(turn, adk_ignores=True)


_TOGETHER = 0.05
"""Calls of one reply start together, within so many seconds."""


def _add_inner_calls(turn: Turn) -> None:
    """Notes which calls an agent made that was called as a tool, by their times, if the log names no agent.

    Who waits for a tool calls nothing: what started later and ended before it was called by that agent.
    """
    calls = turn.tool_calls
    named = ((call.name, snake(call.name or "").split("_")) for call in calls)
    agents = {name for name, words in named if "agent" in words and words[0] not in _OF_AGENTS}
    if not agents or any(call.agent or call.inside for call in calls):
        return
    spans: dict[str | None, list[tuple[float, float]]] = {}
    for span in turn.spans:
        start, end = time_seconds(span.start_time), time_seconds(span.end_time)
        if span.type == "TOOL" and start is not None and end is not None:
            spans.setdefault(span.name, []).append((start, end))
    counts = Counter(call.name for call in calls)
    known = {name for name, times in spans.items() if len(times) == counts[name]}
    timed = [(call, *spans[call.name].pop(0)) for call in calls if call.name in known]
    for outer, begun, over in timed:
        for call, start, end in timed if outer.name in agents else ():
            if begun + _TOGETHER < start and end < over:
                call.agent = call.inside = outer.name


_OF_AGENTS = word_set("assign check contact create delete fetch find get list lookup rate read")
"""Verbs of tools that look after agents, as `find_travel_agent`, and are none."""


# What is nested more deeply than this could be read and then not be written; the general parser refuses it.
_DEEPEST = 200
_ENCODER = msgspec.json.Encoder()
_NUMBERED_FROM_0 = re.compile(rb'\s*\{[^{]*"turns"\s*:\s*\[\s*\{[^{}]*?"turn_index"\s*:\s*0\s*[,}]')
"""How most numbered records begin: the first object in them is the first turn."""
_TOKEN_SPELLINGS = [f'"{name}"'.encode() for name in endings.TOKEN_PARTS if name not in TOKEN_COUNTS]


def _states_once(data: bytes, decoded: Conversation | EvalCase) -> bool:
    """Returns whether a record surely states no key twice, by what it was decoded into; False: it may.

    Written without defaults, what was decoded has as many colons: every key of the record is one of its own.
    The number of the first turn does not count, because 0 is a default that logs state.
    """
    # What is replaced is found faster than it is counted: `count` looks at every byte by itself.
    size = len(data)
    colons, lists = size - len(data.replace(b":", b"")), size - len(data.replace(b"[", b""))
    try:
        # An object states a key of each container in it, so that these and lists may show that none is deep.
        if colons + lists < _DEEPEST or size - len(data.replace(b"{", b"")) + lists <= _DEEPEST:
            again = _ENCODER.encode(decoded)
        else:  # the brackets of each turn may show it
            parts = [msgspec.structs.replace(decoded, turns=[]), *decoded.turns]
            texts = list(map(_ENCODER.encode, parts))
            brackets = [len(text) - len(text.replace(b"{", b"").replace(b"[", b"")) for text in texts]
            if max(brackets) > _DEEPEST - 2:
                return False
            again = b"".join(texts) + (b'"turns":' if decoded.turns else b"")
    except OverflowError:  # an integer of more than 64 bits
        return False
    colons -= len(again) - len(again.replace(b":", b""))
    if colons == 1 and isinstance(decoded, Conversation) and _NUMBERED_FROM_0.match(data):
        return decoded.turns[0].turn_index == 0
    return not colons


def _read_unparsed(data: bytes) -> Conversation | None:
    """Returns the conversation that a record is, or probably is by a few keys; None: it is to be parsed."""
    decoded = _decoded(data)
    if decoded is None or not decoded[0].turns:
        if b'"conversation_id"' not in data or b'"turns"' not in data:
            return None
        # Turns with roles are messages.
        if decoded is None and (b'"messages"' in data or b'"role"' in data[:1000]):
            return None
    return _recording(_read(data, *(decoded or (_repaired(data), False))))


def _recording(conversation: Conversation) -> Conversation:
    """Returns a conversation; raises CaseInLogsError if it holds only expectations."""
    for turn in conversation.turns:
        if turn.agent is not None or turn.tool_calls or turn.agent_messages:
            return conversation
    if conversation.turns and inline_case(conversation):
        raise registry.CaseInLogsError(f"expectations without recorded answers; {registry.CASES_GO_TO}")
    return conversation


def read_case(data: bytes) -> EvalCase:
    """Parses a canonical eval case, or a conversation as the case that it contains; raises ValueError."""
    value = from_json(data)
    if isinstance(value, dict) and "conversation_id" not in value and "eval_id" in value:
        if isinstance(value.get("tools"), list):
            known = (endings.declared_tools([t]) if endings.is_foreign(t) else [t] for t in value["tools"])
            value["tools"] = msgspec.to_builtins([tool for tools in known for tool in tools])
        unknown = next(unknown_fields(value, EvalCase), None)
        if unknown is not None:
            raise ValueError(f"{_WHAT}: {unknown.problem(0.5)}")
        return _valid_case(canonical(EvalCase, known_fields(value, EvalCase), _WHAT, strict=True))
    conversation = read_conversation(data)
    case = contained_case(conversation)
    if case is None:
        what = f"conversation {conversation.conversation_id}"
        raise registry.LogInCasesError(f"{what} expects nothing: no eval case")
    return case


def read_plain_case(data: bytes) -> EvalCase | None:
    """Returns the eval case with turns that a record surely is; None: it is to be looked at key by key."""
    try:
        case = _CASE_DECODER.decode(data)
    except (ValueError, RecursionError):
        return None
    return _valid_case(case) if case.turns and not case.tools and _states_once(data, case) else None


def _repaired(data: bytes) -> Conversation:
    value = json_value(data)
    if not isinstance(value, dict):
        raise ValueError(f"{_CANONICAL_WHAT}: a JSON object is needed, not {shown(value)}")
    for key in ("turns", "expected", "tools", "tags", "labels", "state"):  # tables keep them as texts
        if isinstance(text := value.get(key), str) and (held := json_structure(text)) is not None:
            check_keys(text.encode(), held)
            value[key] = held
    fields = {key: item for key, item in value.items() if item is not None and key in _FIELDS}
    for key in ("conversation_id", "eval_id", "eval_set_id", "app_version", "user_id"):
        if key in fields:
            fields[key] = endings.as_text(fields[key])
    turns = value.get("turns")
    last = turns[-1] if isinstance(turns, list) and turns and isinstance(turns[-1], dict) else {}
    end = endings.agreed_end(endings.record_end(value), endings.marked_end(last))
    if end == endings.UNKNOWN:
        reasons = map(endings.stated_reason, (last, value))
        end = endings.reasons_end(reasons, is_call=False, has_answer=bool(last.get("agent")))
    fields["ended"], fields["ended_detail"] = end
    _repair(fields, _turn, "turns")
    _repair(fields, partial(_expected, ExpectedOutcome), "expected")
    if "tools" in fields:
        fields["tools"] = endings.declared_tools(fields["tools"])
    conversation = canonical(Conversation, fields, _CANONICAL_WHAT)
    for index, (turn, raw) in enumerate(zip(conversation.turns, value.get("turns") or (), strict=True)):
        if raw and _TURN_FIELDS.isdisjoint(raw):
            keys = ", ".join(list(raw)[:8])
            raise ValueError(f"{_CANONICAL_WHAT}: turns.{index}: none of a turn's fields (keys {keys})")
        unread = Unread().keys(raw, _with_expectations(raw, _TURN_FIELDS | {"agents"}))
        _unread_work(turn, raw, unread)
        agents, users = ([endings.own_result(call) for call in raw.get(key) or ()] for key in _CALLS)
        endings.add_own_results(turn, agents, users, unread)
        for key in _TIMES:
            if raw.get(key) is not None and getattr(turn, key) is None:
                message = f"{key}: {str(raw[key])[:60]!r} is no number of milliseconds, 0 or more"
                unread.add("UnreadTime", message)
                turn.unknown_latency = message if key == "latency_ms" else turn.unknown_latency
        wrong = endings.wrong_tokens(raw.get("usage"))
        if wrong:
            unread.add("UnreadTokens", f"usage: {wrong[:60]} is no number of tokens, 0 or more")
        unread.add_to(turn)
    Unread().keys(value, _with_expectations(value, _FIELDS)).add_to_all(conversation.turns)
    try:
        _add_unread_expectations(conversation, value)
    except ValueError as error:
        raise ValueError(f"{_CANONICAL_WHAT}: {error}") from None
    return conversation


def _with_expectations(value: JsonObject, known: frozenset[str]) -> frozenset[str]:
    """Returns known keys with those of expectations, whose unread keys are reported separately."""
    return known if value.keys() <= known else known | {n for n in value if snake(n).startswith("expect")}


def _turn(value: JsonObject) -> JsonObject:
    fields = {key: item for key, item in value.items() if item is not None and key in _TURN_FIELDS}
    for key in _TIMES:
        if key in fields and endings.length(fields[key]) is None:
            del fields[key]
    _repair(fields, endings.call_fields, *_CALLS)
    _repair(fields, _response, *_RESPONSES)
    if isinstance(usage := fields.get("usage"), dict):
        counts = endings.known_tokens(endings.token_counts(usage))
        parts = {key: usage[key] for key in ("parts",) if usage.get(key)}
        fields["usage"] = {**counts, "model": endings.as_text(usage.get("model")), **parts}
    _repair(fields, partial(_expected, ExpectedTurn), "expected")
    return fields


def _expected(kind: type[ExpectedTurn] | type[ExpectedOutcome], value: JsonObject) -> JsonObject:
    fields: JsonObject = known_fields(value, kind, _SPELLINGS)
    _repair(fields, endings.call_fields, "tool_calls", "user_actions")
    for expectation in fields.get("expectations") or ():
        if isinstance(expectation, dict):
            _repair(expectation, endings.call_fields, "tool_call")
    if isinstance(fields.get("actions"), list):
        fields["actions"], by_user = endings.split_actions(fields["actions"])
        fields["user_actions"] = fields.get("user_actions") or by_user
    return fields


def _response(value: JsonObject) -> JsonObject:
    fields: JsonObject = known_fields(value, ToolResponse, _SPELLINGS)
    fields["error"] = endings.failure_mark(value) or endings.error_mark(fields.get("error"))
    fields["id"] = endings.as_text(fields.get("id"))
    return fields


def _repair(fields: JsonObject, repair: Callable[[JsonObject], JsonObject], *keys: str) -> None:
    for key in keys:
        held = fields.get(key)
        if isinstance(held, list):
            fields[key] = [repair(item) if isinstance(item, dict) else item for item in held]
        elif held and isinstance(held, dict):
            fields[key] = repair(held)


_Index = Annotated[int, Meta(ge=0, le=2**31 - 1)]
_UNKNOWN = -1
_ENDS = (endings.ENDED, *endings.TERMINATIONS)
_NAMES = ("app_version", "language", "eval_id", "eval_set_id", "source", "start_time", "user_id")
_SET = (*_NAMES, "tags", "expected", endings.DETAIL, *_ENDS)
_OWN = frozenset(("event_id", "event_time", "turn_index", "turn", "end", *Conversation.__struct_fields__))


def _locate(value: JsonObject) -> tuple[str, int]:
    """Returns conversation id and 0-based turn index (-1: unknown) of an event; raises ValueError."""
    conversation_id = endings.as_text(value.get("conversation_id"))
    if not conversation_id:
        raise ValueError("an event needs a conversation_id")
    return conversation_id, _turn_index(value)[1]


def _turn_index(value: JsonObject) -> tuple[JsonValue, int]:
    """Returns the turn index that an event states, as stated and as a number (-1: unknown)."""
    turn = value.get("turn")
    stated = value.get("turn_index", turn.get("turn_index") if isinstance(turn, dict) else None)
    try:
        return stated, msgspec.convert(stated, _Index, strict=False)
    except msgspec.ValidationError:
        return stated, _UNKNOWN


def _joined_conversation(conversation_id: str, events: Sequence[JsonObject]) -> Conversation:
    """Joins the events of one conversation.

    Of two events of one turn, and of two that set one field, the later one counts, by event time and then by
    the order given; `state`, `labels` and `meta` are merged key by key. Turns without an index come first.
    Unknown keys are treated as those of a conversation. A turn that is named and not there is a finding.
    Raises ValueError, one line, if they make no conversation.
    """
    numbered: dict[int, JsonObject] = {}
    unnumbered: list[JsonObject] = []
    fields: JsonObject = {}
    start_time = None
    later = sorted(events, key=lambda event: -inf if (time := value_time(event)) is None else time)
    for event in later:
        for name, item in event.items():
            if item is not None and (name in _SET or name not in _OWN):
                fields[name] = item
        for name in ("state", "labels", "meta"):
            if isinstance(event.get(name), dict):
                fields[name] = {**fields.get(name, {}), **event[name]}
        time: JsonValue = event.get("event_time")
        turn, (_, index) = event.get("turn"), _turn_index(event)
        is_timed = time_seconds(time) is not None
        if is_timed and start_time is None:
            start_time = rfc3339(time)
        if isinstance(turn, dict):
            if is_timed and turn.get("timestamp") is None:
                turn = {**turn, "timestamp": time}
            if index == _UNKNOWN:
                unnumbered.append({**turn, "turn_index": None})
            else:
                numbered[index] = {**turn, "turn_index": index}
    fields.setdefault("start_time", start_time)
    turns = [*unnumbered, *(numbered[index] for index in sorted(numbered))]
    faults: list[str] = []
    for event in later:
        turn, (stated, index) = event.get("turn"), _turn_index(event)
        if not isinstance(turn, dict | None):
            faults.append(f"turn: a JSON object is needed, not {shown(turn)}")
        elif stated is not None and index == _UNKNOWN:
            what = f"turn_index: {str(stated)[:60]!r} is no number of a turn"
            faults.append(f"{what}; what it says of one comes first")
        elif turn is None and index != _UNKNOWN and index not in numbered:
            faults.append(f"an event names turn {index}, and none holds it")
    if faults and not turns:
        raise ValueError(faults[0])
    record = dump_json({**fields, "conversation_id": conversation_id, "turns": turns})
    conversation = _recording(read_conversation(record))
    gaps(MISSING, faults).add_to_all(conversation.turns)
    return conversation


_OF_CASES = frozenset({"kind", "dialect", "turns", "task", "actions", "rubrics"})
_OF_TURN_EVENTS = frozenset({"turn", "turn_index", "event_id", "event_time", "end", "ended"})


def _is_turn_event(record: JsonObject) -> bool:
    holds_messages = any(isinstance(record.get(key), list) for key in ("messages", "contents", "traj"))
    stated = record.keys() & _OF_TURN_EVENTS
    # Rows of other tables are numbered as well, such as a CSV of messages; their cells are texts and numbers.
    is_row = not any(isinstance(value, dict | list) for value in record.values())
    is_other = stated == {"turn_index"} and is_row and not record.keys() <= _OWN
    return "conversation_id" in record and bool(stated) and not (holds_messages or is_other)


def _is_recording(record: JsonObject) -> bool:
    turns = record.get("turns")
    first = turns[0] if isinstance(turns, list) and turns else None
    holds_messages = isinstance(first, dict) and first.keys() >= {"role", "content"}
    return "conversation_id" in record and "turns" in record and not holds_messages


# For example {"conversation_id": "c", "turns": [{"user": "Hi", "agent": "Hello", "tool_calls": []}]}
registry.register_built_in(
    "turnwise", 10, "turnwise's own canonical JSON", _is_recording, ("conversation_id", "turns"),
    has_rubrics=True, places=(("", Paths(app_version=("app_version",))),), read_unparsed=_read_unparsed,
    recognises_last=lambda record: "eval_id" in record and bool(record.keys() & _OF_CASES),
    read_text=lambda data: _recording(read_conversation(data)), read_case_text=read_plain_case,
    read_cases=lambda value, record, settings: [read_case(record.data)],
)  # fmt: skip
# For example {"conversation_id": "c", "turn_index": 0, "turn": {"user": "Hi", "agent": "Hello"}}
registry.register_built_in(
    "turn_event", 20, "turnwise's own events, one turn a record", _is_turn_event,
    ("conversation_id", "turn_index", "turn"), has_rubrics=True,
    events=registry.EventReader(
        locate=_locate, join=_joined_conversation, is_checked=True,
        is_end=lambda value: value.get("end") is True or any(value.get(name) for name in _ENDS),
    ),
)  # fmt: skip


_WHAT = "not an eval case"
_HOLDERS = {"tool_call": "tool_call", "tool_response": "tool_response", "mock_tool_response": "tool_response",
            "agent_response": "text", "agent_transfer": "target_agent",
            "updated_variables": "variables"}  # fmt: skip


def _valid_case(case: EvalCase) -> EvalCase:
    """Returns an eval case whose expectations can be met; raises ValueError, one line."""
    expectations = [*case.expectations, *(e for turn in case.turns for e in turn.expectations)]
    for expectation in expectations:
        holder = _HOLDERS.get(expectation.kind)
        if holder and expectation.wire is None and getattr(expectation, holder) is None:
            raise ValueError(f"{_WHAT}: an expectation of the kind {expectation.kind} needs {holder}")
    stated = [call for turn in case.turns for call in turn.tool_calls or ()]
    made = [e.tool_call for e in expectations if e.tool_call is not None]
    for call in (*stated, *made, *(case.actions or ())):
        check_directives(call.args or {}, f"the call of {call.name}")
    texts = (*case.outputs, *case.evaluation_expectations, *(rubric.text for rubric in case.rubrics))
    if not all(map(str.strip, texts)):
        raise ValueError(f"{_WHAT}: {case.eval_id} expects an empty text")
    of_turns = (t.response or t.tool_calls is not None or t.expectations or t.rubrics for t in case.turns)
    of_whole = (
        *(case.task, case.outputs, case.expectations, case.evaluation_expectations, case.rubrics),
        *(case.user_actions, case.final_session_state, case.actions is not None),
    )
    if not any(of_turns) and not any(of_whole):
        raise ValueError(f"{_WHAT}: {case.eval_id} expects nothing")
    return case


NEAR = 0.8
"""Minimum similarity of names (difflib's ratio) of a misspelt field."""

_EXPECTED = "expected"
_EXPECTED_NAMES = ("eval_id", "eval_set_id")
_CALL_KEYS = ("arguments", "kwargs", "type", "index", "requestor", "action_id", "info")
_SPELLINGS: Extra = {ToolCall: {**dict.fromkeys(_CALL_KEYS), "function": ToolCall}}
_KNOWN: Extra = {
    **_SPELLINGS,
    ToolResponse: dict.fromkeys(("type", "index")),
    ExpectedTurn: dict.fromkeys(("tool_responses",)),
    ExpectedOutcome: dict.fromkeys(("reward_basis",)),
}
_READ: Extra = {**_KNOWN, ToolCall: {**_KNOWN[ToolCall], **dict.fromkeys((*endings.VALUES, "error"))}}


def _add_unread_expectations(conversation: Conversation, value: JsonObject) -> None:
    """Adds keys that may expect more, unread, to what is expected; raises ValueError for a misspelt one."""
    turns = enumerate(zip(conversation.turns, value.get("turns") or (), strict=True))
    holders: list[tuple[Any, JsonObject, Any, frozenset[str], str]] = [
        (conversation, value, ExpectedOutcome, _FIELDS, ""),
        *((turn, raw, ExpectedTurn, _TURN_FIELDS, f"turns.{i}.") for i, (turn, raw) in turns),
    ]
    for holder, raw, kind, fields, path in holders:
        unread: list[UnknownField] = []
        for name in (name for name, item in raw.items() if item and name not in fields):
            unknown, spelt = UnknownField(f"{path}{name}", raw[name], (_EXPECTED,)), snake(name)
            if spelt in _EXPECTED_NAMES and spelt in fields and not raw.get(spelt):
                raise ValueError(unknown._replace(fields=_EXPECTED_NAMES).problem(NEAR))
            if unknown.near(NEAR) and not raw.get(_EXPECTED):
                raise ValueError(unknown.problem(NEAR))
            unread += [unknown] if spelt.startswith("expect") else []
        for unknown in unknown_fields(raw.get(_EXPECTED), kind, f"{path}{_EXPECTED}.", _KNOWN):
            if unknown.near(NEAR):
                raise ValueError(unknown.problem(NEAR))
            unread += [unknown] if unknown.value else []
        if unread:
            holder.expected = holder.expected or kind()
            message = f"the key {unread[0].path!r} is not read; it may expect something"
            holder.expected.unread = holder.expected.unread or message


def _unread_work(turn: Turn, raw: JsonObject, unread: Unread) -> None:
    """Adds the keys of calls without arguments, and of results without a value, that may hold them."""
    for key in (*_CALLS, *_RESPONSES):
        held = "its arguments" if key in _CALLS else "what the tool answered"
        for made, given in zip(getattr(turn, key), raw.get(key) or (), strict=True):
            is_call = isinstance(made, ToolCall)
            is_read = made.args is not None if is_call else (made.response, made.error) != (None, None)
            for unknown in () if is_read else unknown_fields(given, type(made), "", _READ):
                item = unknown.value
                is_object = isinstance(item, dict) or str(item).lstrip().startswith("{")
                is_argument = is_object or unknown.near(NEAR) in endings.ARGUMENTS
                may_hold = is_argument if is_call else item is not None
                if may_hold:
                    message = f"{key}: the key {unknown.name!r} is not read; it may hold {held}"
                    unread.add(UNREAD, message, calls=True)
