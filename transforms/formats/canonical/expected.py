"""Finds misspelt and unread keys in the expectations of canonical records."""

from collections.abc import Iterator
from typing import Any

import msgspec

from turnwise.schemas.conversation import (
    Conversation,
    ExpectedOutcome,
    ExpectedTurn,
    ToolCall,
    ToolResponse,
    Turn,
)
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.fields import Extra, UnknownField, known_fields, unknown_fields
from turnwise.transforms.formats.own_results import VALUES
from turnwise.transforms.formats.unread import UNREAD, Unread, snake

NEAR = 0.8
"""Minimum similarity of names (difflib's ratio) of a misspelt field."""

_EXPECTED = "expected"
_NAMES = ("eval_id", "eval_set_id")
_CALL_KEYS = ("arguments", "kwargs", "type", "index", "requestor", "action_id", "info")
_SPELLINGS: Extra = {ToolCall: {**dict.fromkeys(_CALL_KEYS), "function": ToolCall}}
_KNOWN: Extra = {
    **_SPELLINGS,
    ToolResponse: dict.fromkeys(("type", "index")),
    ExpectedTurn: dict.fromkeys(("tool_responses",)),
    ExpectedOutcome: dict.fromkeys(("reward_basis",)),
}
_READ: Extra = {**_KNOWN, ToolCall: {**_KNOWN[ToolCall], **dict.fromkeys((*VALUES, "error"))}}
_HOLDERS = (
    ("tool_calls", ToolCall, "its arguments"),
    ("user_tool_calls", ToolCall, "its arguments"),
    ("tool_responses", ToolResponse, "what the tool answered"),
    ("user_tool_responses", ToolResponse, "what the tool answered"),
)


def read_fields(value: JsonObject, kind: type[msgspec.Struct]) -> JsonObject:
    """Returns the fields of a part of a record that are not null, and other spellings of calls."""
    found: JsonObject = known_fields(value, kind, _SPELLINGS)
    return found


def check_names(value: JsonObject, fields: frozenset[str], path: str = "") -> Iterator[str]:
    """Yields the keys of a record, or of a turn, that may expect something and are not read.

    Raises:
        ValueError: A key is like `expected`, or the name of a case in another spelling; one line.
    """
    for name, item in value.items():
        if name in fields or not item:
            continue
        unknown = UnknownField(f"{path}{name}", item, (_EXPECTED,))
        spelt = snake(name)
        if spelt in _NAMES and spelt in fields and not value.get(spelt):
            raise ValueError(unknown._replace(fields=_NAMES).problem(NEAR))
        if unknown.near(NEAR) and not value.get(_EXPECTED):
            raise ValueError(unknown.problem(NEAR))
        if spelt.startswith("expect"):
            yield _not_read(unknown)


def _unread(value: JsonValue, kind: Any, path: str) -> Iterator[str]:
    """Yields the keys inside an expectation that are not read; raises ValueError for one that is misspelt."""
    for unknown in unknown_fields(value, kind, path, _KNOWN):
        if unknown.near(NEAR):
            raise ValueError(unknown.problem(NEAR))
        if unknown.value:
            yield _not_read(unknown)


def _not_read(unknown: UnknownField) -> str:
    return f"the key {unknown.path!r} is not read; it may expect something"


def add_unread_expectations(conversation: Conversation, value: JsonObject) -> None:
    """Adds to what a conversation expects the keys of its record that may expect more and are not read.

    Raises:
        ValueError: A key is misspelt; one line with its path.
    """
    try:
        _add(conversation, value)
    except ValueError as error:
        raise ValueError(f"not a conversation: {error}") from None


def _add(conversation: Conversation, value: JsonObject) -> None:
    of_whole = [
        *check_names(value, frozenset(Conversation.__struct_fields__)),
        *_unread(value.get(_EXPECTED), ExpectedOutcome, f"{_EXPECTED}."),
    ]
    if of_whole:
        conversation.expected = conversation.expected or ExpectedOutcome()
        conversation.expected.unread = conversation.expected.unread or of_whole[0]
    fields = frozenset(Turn.__struct_fields__)
    for place, (turn, raw) in enumerate(zip(conversation.turns, value.get("turns") or (), strict=True)):
        path = f"turns.{place}."
        found = [
            *check_names(raw, fields, path),
            *_unread(raw.get(_EXPECTED), ExpectedTurn, f"{path}{_EXPECTED}."),
        ]
        if found:
            turn.expected = turn.expected or ExpectedTurn()
            turn.expected.unread = turn.expected.unread or found[0]


def unread_work(turn: Turn, raw: JsonObject, unread: Unread) -> None:
    """Adds the keys of calls without arguments, and of results without a value, that may hold them."""
    for key, kind, held in _HOLDERS:
        for made, given in zip(getattr(turn, key), raw.get(key) or (), strict=True):
            for unknown in () if _has_value(made) else unknown_fields(given, kind, "", _READ):
                if _may_hold(unknown, kind):
                    said = f"{key}: the key {unknown.name!r} is not read; it may hold {held}"
                    unread.add(UNREAD, said, calls=True)


def _has_value(made: ToolCall | ToolResponse) -> bool:
    if isinstance(made, ToolCall):
        return made.args is not None
    return made.response is not None or made.error is not None


def _may_hold(unknown: UnknownField, kind: Any) -> bool:
    if kind is ToolResponse:
        return unknown.value is not None
    is_object = isinstance(unknown.value, dict) or str(unknown.value).lstrip().startswith("{")
    return is_object or unknown.near(NEAR) in ("args", "arguments", "kwargs")
