"""The formats of google-adk, as objects."""

from collections.abc import Callable
from pathlib import PurePosixPath
from typing import TypeVar

from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import Record
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.adk import event
from turnwise.transforms.formats.adk.legacy import legacy_cases
from turnwise.transforms.formats.adk.results import eval_result_conversations
from turnwise.transforms.formats.adk_cases import eval_cases
from turnwise.transforms.formats.adk_sessions import session_conversation
from turnwise.transforms.formats.registry import EventReader, Format, ReadSettings, register_format
from turnwise.transforms.formats.spellings import spelt

T = TypeVar("T")
_OF_ROWS = frozenset(("expected_tool_use", "reference"))
_OF_EVENTS = spelt("content", "actions", "invocation_id", "error_code")


def _has(*names: str) -> Callable[[JsonObject], bool]:
    """Returns a test for records with one of some keys, in either spelling."""
    keys = spelt(*names)
    return lambda record: not keys.isdisjoint(record)


_HAS_SESSION, _HAS_STATE = _has("session_id"), _has("state", "app_name")
_HAS_ID, _HAS_SCRIPT = _has("eval_id"), _has("conversation", "conversation_scenario")


def _each(value: JsonValue, key: str, read: Callable[[JsonValue], list[T]]) -> list[T | ValueError]:
    """Reads a document that lists several things; if it is refused, one thing at a time."""
    try:
        return list(read(value))
    except ValueError as error:
        items = value.get(key) if isinstance(value, dict) else None
        if not isinstance(items, list) or len(items) < 2:
            raise
        refused = str(error)
    found: list[T | ValueError] = []
    for position, item in enumerate(items, 1):
        try:
            found += read({**value, key: [item]})
        except ValueError as problem:
            found.append(ValueError(f"entry {position}: {problem}"))
    if all(isinstance(one, ValueError) for one in found):
        raise ValueError(refused)
    return found


def _is_event(record: JsonObject) -> bool:
    """Returns whether a record is an event, in an envelope or with a session id, or an end of a session."""
    if not _HAS_SESSION(record):
        return False
    inner = record.get("event")
    if not isinstance(inner, dict | None):
        return True
    inside = isinstance(inner, dict) and bool(inner.keys() & {"author", *_OF_EVENTS})
    return inside or record.get("end") is True or bool(record.get("ended")) or _is_bare(record)


def _is_bare(record: JsonObject) -> bool:
    return "author" in record and bool(record.keys() & _OF_EVENTS)


def _is_session(record: JsonObject) -> bool:
    """Returns whether a record is a session, by its events' authors, or by state or app name."""
    if not record.keys() >= {"id", "events"}:
        return False
    events = record["events"]
    if not events:
        return _HAS_STATE(record)
    return isinstance(events, list) and any(isinstance(each, dict) and _is_bare(each) for each in events)


def _cases(value: JsonValue, record: Record, settings: ReadSettings) -> list[EvalCase | ValueError]:
    return _each(value, "eval_cases", eval_cases)


def _legacy(value: JsonValue, record: Record, settings: ReadSettings) -> list[EvalCase]:
    stem = PurePosixPath(record.source).name.split(".")[0]
    return legacy_cases(value if isinstance(value, list) else [value], stem)


register_format(
    Format(
        name="adk_eval_set",
        help="ADK eval set",
        keys=("eval_set_id", "eval_cases"),
        rank=30,
        recognises=_has("eval_cases"),
        read_cases=_cases,
    )
)
register_format(
    Format(
        name="adk_eval_case",
        help="ADK eval case",
        keys=("eval_id", "conversation"),
        rank=40,
        recognises=lambda record: _HAS_ID(record) and _HAS_SCRIPT(record),
        read_cases=_cases,
    )
)
register_format(
    Format(
        name="adk_eval_result",
        help="ADK eval result (EvalSetResult)",
        keys=("eval_set_result_id", "eval_set_id", "eval_case_results"),
        rank=50,
        recognises=_has("eval_case_results"),
        read_log=lambda value, record, settings: _each(value, "eval_case_results", eval_result_conversations),
        is_in_text=True,
    )
)
register_format(
    Format(
        name="adk_case_result",
        help="one case of an ADK eval result",
        keys=("eval_id", "final_eval_status", "eval_metric_result_per_invocation"),
        rank=60,
        recognises=_has("eval_metric_result_per_invocation"),
        read_log=lambda value, record, settings: eval_result_conversations(value),
    )
)
register_format(
    Format(
        name="adk_session",
        help="ADK stored session",
        keys=("id", "app_name", "user_id", "state", "events"),
        rank=70,
        recognises=_is_session,
        read_log=lambda value, record, settings: [session_conversation(value)],
        has_rubrics=False,
    )
)
register_format(
    Format(
        name="adk_event",
        help="ADK events as they happen",
        keys=("session_id", "event"),
        rank=80,
        recognises=_is_event,
        events=EventReader(
            place=event.place, is_end=event.is_end, own_id=event.own_id, join=event.joined_conversation
        ),
        has_rubrics=False,
    )
)
register_format(
    Format(
        name="adk_legacy_case",
        help="ADK eval case before 1.0",
        keys=("name", "data", "initial_session"),
        rank=150,
        recognises=lambda record: "name" in record and isinstance(record.get("data"), list),
        read_cases=_legacy,
    )
)
register_format(
    Format(
        name="adk_legacy_rows",
        help="rows of an ADK eval case before 1.0",
        keys=("query", "expected_tool_use", "reference"),
        rank=160,
        recognises=lambda record: "query" in record and not _OF_ROWS.isdisjoint(record),
        read_cases=_legacy,
        is_list=lambda first: "query" in first,
    )
)
