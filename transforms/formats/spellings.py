"""Other spellings of calls, actions, usage and error marks, as fields of the canonical models."""

import json
from collections.abc import Sequence

import msgspec
from pydantic.alias_generators import to_camel

from turnwise.schemas.conversation import Milliseconds, decoded_arguments
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.messages.values import stated
from turnwise.transforms.text.cleaning import states_failure

ARGUMENTS = ("args", "arguments", "kwargs")
_BROKEN_OFF = frozenset(
    ("incomplete", "interrupted", "cancelled", "canceled", "declined", "denied", "rejected")
)


def spelt(*names: str) -> frozenset[str]:
    """Returns names that are in snake_case, and the same in camelCase."""
    return frozenset((*names, *map(to_camel, names)))


def name_of(record: JsonObject) -> str:
    """Returns the resource name of a record, "" if it has none."""
    name = record.get("name")
    return name if isinstance(name, str) else ""


def call_fields(call: JsonValue) -> JsonValue:
    """Returns the fields of a call, flat or nested under `function` or `custom`, its arguments decoded.

    A non-object is returned unchanged and rejected by the model.
    """
    if not isinstance(call, dict):
        return call
    function, custom = call.get("function"), call.get("custom")
    inner = function if isinstance(function, dict) else custom if isinstance(custom, dict) else call
    stated = next((inner[key] for key in ARGUMENTS if inner.get(key) is not None), None)
    if inner is custom:
        stated = {"input": custom.get("input")}
    return {
        "name": function if isinstance(function, str) else inner.get("name"),
        "args": decoded_arguments(stated),
        "id": as_text(call.get("id")),
        "resource": call.get("resource"),
        "compare_args": _names(call.get("compare_args")),
    }


def _names(value: JsonValue) -> list[str] | None:
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else None


def agent_actions(actions: Sequence[JsonValue]) -> list[JsonValue]:
    """Returns expected actions as calls' fields; those of the user are omitted."""
    return [call_fields(action) for action in actions if not _is_users(action)]


def users_actions(actions: Sequence[JsonValue]) -> list[JsonValue]:
    """Returns the expected actions of the user as calls' fields."""
    return [call_fields(action) for action in actions if _is_users(action)]


def _is_users(action: JsonValue) -> bool:
    return isinstance(action, dict) and action.get("requestor") == "user"


def usage_fields(usage: JsonObject) -> JsonObject:
    """Returns token counts that are in OpenAI's or the canonical spelling; see `known_tokens`."""
    usage = stated(usage)
    details = (usage.get(f"{name}_tokens_details") for name in ("prompt", "completion"))
    prompt_details, completion_details = (each if isinstance(each, dict) else {} for each in details)
    found: JsonObject = {
        "input_tokens": usage.get("input_tokens", usage.get("prompt_tokens")),
        "output_tokens": usage.get("output_tokens", usage.get("completion_tokens")),
        "cached_tokens": usage.get("cached_tokens", prompt_details.get("cached_tokens")),
        "reasoning_tokens": usage.get("reasoning_tokens", completion_details.get("reasoning_tokens")),
    }
    return known_tokens(found)


def known_tokens(counts: JsonObject) -> JsonObject:
    """Returns token counts; where one is negative, none of them is known."""
    return dict.fromkeys(counts) if any(map(_is_negative, counts.values())) else counts


def _is_negative(value: JsonValue) -> bool:
    return isinstance(value, int | float) and value < 0


def wrong_tokens(usage: JsonValue) -> str | None:
    """Returns the first negative count of a report of tokens, with its name; None: there is none."""
    counts = usage.items() if isinstance(usage, dict) else ()
    return next((f"{name}: {count}" for name, count in counts if _is_negative(count)), None)


def error_mark(error: JsonValue) -> bool | str | None:
    """Returns a log's mark of a failed call: a flag or a text stays, an object becomes its JSON text."""
    if error is None or isinstance(error, bool | str):
        return error
    return json.dumps(error, ensure_ascii=False) if isinstance(error, dict | list) else bool(error)


def failure_mark(result: JsonObject) -> bool | str | None:
    """Returns the mark of failure that a log sets beside the value of a tool's result.

    It is a stated `error`, or else true for `is_error`, `isError`, `"success": false`, a status such as
    `failed`, `404` or `cancelled`, and similar marks; None: there is none.
    """
    stated = error_mark(result.get("error"))
    if stated:
        return stated
    status = result.get("status")
    is_broken_off = isinstance(status, str) and status.strip().lower() in _BROKEN_OFF
    return True if is_broken_off or states_failure(result) else None


def as_text(value: JsonValue) -> str | None:
    """Returns a name or id as text; None stays None."""
    return value if value is None or isinstance(value, str) else str(value)


def length(milliseconds: JsonValue) -> float | None:
    """Returns a length of time, or None if it is none that a Duration can hold."""
    try:
        return msgspec.convert(milliseconds, Milliseconds, strict=False)
    except msgspec.ValidationError:
        return None
