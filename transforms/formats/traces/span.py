"""One span of a trace, independent of the container it was read from."""

import ast
import re
from base64 import b64decode
from functools import lru_cache
from math import isfinite

import msgspec
from pydantic_core import from_json, to_json

from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.text.dates import text_nanos

PENDING = "logfire.span_type"
"""The attribute by which Logfire marks the copy of a span that has not ended."""
RUNNING = "langsmith.pending"
"""Key of whether a run had not ended when it was exported; its end may come in another record."""
NULL = "null"
"""What writers of JSON put in the place of an answer or a result that is none; it is nobody's word."""
ADK_EVENTS = "adk_events."
AGENT_COLUMN = f"{ADK_EVENTS}agent"
"""Attribute with the agent of a row of google-adk's table."""
INVOCATION = f"{ADK_EVENTS}invocation"
"""Attribute with the invocation of such a row, in which the ids of spans are sought."""


class SpanEvent(msgspec.Struct, omit_defaults=True, array_like=True, gc=False):
    """An event of a span, or a log record with a `body`; `time`: nanoseconds since the epoch, 0: none."""

    name: str = ""
    time: int = 0
    attributes: JsonObject = {}
    body: JsonValue = None


class TraceSpan(msgspec.Struct, omit_defaults=True, array_like=True, gc=False):
    """A span.

    Attributes:
        trace: Id of the trace, in small letters if it is hexadecimal; "": that of the part that holds it.
        parent: Id of the parent; "": it is a root.
        start: Nanoseconds since the epoch; 0: not stated.
        end: Nanoseconds since the epoch; 0: not stated, or cut off.
        error: Whether its status is an error, of which `message` is the text.
        resource: Attributes of the resource; in a part of a trace only names of services, versions, cases.
        dropped: Number of attributes and events that limits dropped or cut.
        is_local: Whether its parent is known to be of the same process, so that a missing one is lost.
        listed: Ids of other spans, and pages, that the export says belong to the trace.
        page: Name of the page of a listing that it stands on; "": none.
        is_log: Whether only log records name it, so that the span itself may stand elsewhere.
    """

    trace: str = ""
    id: str = ""
    parent: str = ""
    name: str = ""
    start: int = 0
    end: int = 0
    attributes: JsonObject = {}
    events: list[SpanEvent] = []
    error: bool = False
    message: str = ""
    scope: str = ""
    resource: JsonObject = {}
    is_log: bool = False
    dropped: int = 0
    is_local: bool = False
    listed: list[str] = []
    page: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """Trace id and span id."""
        return self.trace, self.id


def numbered(attributes: JsonObject, prefix: str) -> list[JsonValue]:
    """Returns the list that keys such as `prefix.0.role`, `prefix.1.content` spell."""
    tree: JsonObject = {}
    for key, value in attributes.items():
        if not key.startswith(prefix):
            continue
        holder, (*path, last) = tree, key[len(prefix) :].split(".")
        for step in path[:12]:
            inner = holder.get(step)
            if not isinstance(inner, dict):
                inner = holder[step] = {} if inner is None else {"": inner}
            holder = inner
        if isinstance(holder.get(last), dict):
            holder[last][""] = value
        else:
            holder[last] = value
    items = _lists({key: item for key, item in tree.items() if key.isdigit()})
    others = {key: item for key, item in tree.items() if not key.isdigit()}
    return [*(items if isinstance(items, list) else ()), *([others] if others else ())]


def _lists(value: JsonValue) -> JsonValue:
    if not isinstance(value, dict):
        return value
    if value and all(key.isdigit() and len(key) < 10 for key in value):
        return [_lists(value[key]) for key in sorted(value, key=int)]
    return {key: _lists(item) for key, item in value.items()}


NO_END = "the invocation was started, and no record says that it ended"
"""Error of a run whose log has its start alone; of one that answered, the log of its end may be missing."""
CUT = "JSON that is cut off"
"""Type of a part of a message that is cut off."""
_STRUCTURED = re.compile(r"""\s*[\[{][\s\[{]*["']""")
_MARKS = re.compile(r"\s*(\.{3}|…)\s*([\[(<].{0,40}[\])>])?\s*\Z")
_LONGEST_LITERAL = 100_000


def is_cut(text: str) -> bool:
    """Returns whether a text is a list or an object, in JSON or as Python writes it, that is not closed."""
    if not _STRUCTURED.match(text[:80]):
        return False
    text = _MARKS.sub("", text).strip()
    try:
        from_json(text)
    except ValueError as error:
        if str(error).startswith("EOF"):
            return True
        if len(text) <= _LONGEST_LITERAL and "'" in text[:80]:
            try:
                ast.parse(text, mode="eval")
            except SyntaxError as unclosed:
                return any(word in unclosed.msg for word in ("was never closed", "unterminated"))
            except (ValueError, MemoryError, RecursionError):
                pass
    return False


_HEX = re.compile(r"[0-9a-fA-F]+")
_BASE64_LENGTHS = {24: 16, 12: 8, 22: 16, 11: 8}
_PER_SECOND = ((1e17, 1), (1e14, 1_000), (1e11, 1_000_000))
_DIGITS = 19
_LAST = 1e20  # as nanoseconds since the epoch, the year 5138
_SCALARS = ("stringValue", "boolValue", "bytesValue")
_KINDS = frozenset((*_SCALARS, "intValue", "doubleValue", "arrayValue", "kvlistValue"))
_DROPPED = (
    *("droppedAttributesCount", "droppedEventsCount", "dropped_attributes_count", "dropped_events_count"),
    *("dropped_attributes", "dropped_events", "otel.dropped_attributes_count", "otel.dropped_events_count"),
)
_PAIRS = (("key", "value"), ("Key", "Value"), ("name", "value"), ("k", "v"))


def as_id(value: JsonValue) -> str:
    """Returns an id: hexadecimal in small letters, also of base64, others as they are; "": zeros, no id."""
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:x}" if value else ""
    return _text_id(value) if isinstance(value, str) else ""


@lru_cache(maxsize=8192)
def _text_id(value: str) -> str:
    value = value.removeprefix("0x")
    size = len(value)
    if size in (16, 32) and _HEX.fullmatch(value):
        return value.lower() if value.strip("0") else ""
    if size in _BASE64_LENGTHS:
        try:
            raw = b64decode(value + "=" * (-size % 4), validate=True)
        except ValueError:
            return value
        if len(raw) == _BASE64_LENGTHS[size]:
            return raw.hex() if any(raw) else ""
    return value if value.strip("0") else ""


def as_nanos(value: JsonValue) -> int:
    """Returns a time as nanoseconds since the epoch; 0: it states none.

    It is a number or its text in nanoseconds, microseconds, milliseconds or seconds, told apart by their
    size; `[seconds, nanoseconds]`; or an RFC 3339 text.
    """
    if value.__class__ is str and len(value) == _DIGITS and value.isdigit():
        return int(value)
    if isinstance(value, list) and len(value) == 2:
        seconds, nanos = (as_number(item) for item in value)
        total = 0 if seconds is None or nanos is None else int(seconds) * 1_000_000_000 + int(nanos)
        return total if 0 < total <= _LAST else 0
    number = as_number(value)
    if number is None:
        return max(text_nanos(value) or 0, 0) if isinstance(value, str) else 0
    if number <= 0 or number > _LAST:
        return 0
    factor = next((factor for least, factor in _PER_SECOND if number >= least), 0)
    return int(number) * factor or int(number * 1e9)


def as_number(value: JsonValue) -> int | float | None:
    """Returns a finite number, also of a text; None: it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str):
        try:
            value = int(value) if value.lstrip("-").isdigit() and len(value) < 30 else float(value)
        except ValueError:
            return None
    return value if isinstance(value, int) or isfinite(value) else None


def as_count(value: JsonValue) -> int | None:
    """Returns a number of tokens; None: it is none."""
    number = as_number(value)
    return int(number) if number is not None and 0 <= number < 2**53 else None


def dropped_count(held: JsonObject) -> int:
    """Returns how many attributes and events are lost: by OTLP's counts, or in no form that is read."""
    given = held.get("attributes")
    attributes = given if isinstance(given, list) else ()
    others = (item for item in attributes if not (item.__class__ is dict and "key" in item))
    unread = [item for item in others if _pair(item) is None]
    return len(unread) + sum(as_count(held[key]) or 0 for key in _DROPPED if key in held)


def any_value(value: JsonValue) -> JsonValue:
    """Returns what an OTLP AnyValue holds; any other value as it is."""
    # A table has a column for each kind, of which all but one are null.
    if not isinstance(value, dict):
        return value
    if len(value) > 1 and value.keys() <= _KINDS:
        value = {kind: held for kind, held in value.items() if held is not None}
    if len(value) != 1:
        return value if value else None
    kind, held = next(iter(value.items()))
    if kind in _SCALARS:
        return held
    if kind in ("intValue", "doubleValue"):
        if held.__class__ is str and len(held) < _DIGITS and held.isdecimal():
            return int(held)
        number = as_number(held)
        return held if number is None else number
    values = held.get("values") if isinstance(held, dict) else None
    listed = values if isinstance(values, list) else []
    if kind == "arrayValue":
        return [any_value(item) for item in listed]
    return key_values(listed) if kind == "kvlistValue" else value


def key_values(pairs: JsonValue) -> JsonObject:
    """Returns OTLP's list of keys and values as an object; an object as it is."""
    if isinstance(pairs, dict):
        return pairs
    try:
        return {
            str(pair["key"]): text
            if (text := pair["value"].get("stringValue")) is not None
            else any_value(pair["value"])
            for pair in pairs
        }
    except (KeyError, TypeError, AttributeError):
        given = map(_pair, pairs) if isinstance(pairs, list) else ()
        return {key: any_value(held) for key, held in filter(None, given)}


def _pair(value: JsonValue) -> tuple[str, JsonValue] | None:
    if isinstance(value, dict):
        keys = next((pair for pair in _PAIRS if pair[0] in value), None)
        only = next(iter(value.items())) if len(value) == 1 else None
        value = [value[keys[0]], value.get(keys[1])] if keys else only
    is_pair = isinstance(value, list | tuple) and len(value) == 2 and isinstance(value[0], str)
    return (value[0], value[1]) if is_pair and value else None


def loaded(value: JsonValue) -> JsonValue:
    """Returns what a text spells in JSON (or JSON in JSON), or as a Python literal; else the value."""
    for _ in range(3):
        if not isinstance(value, str) or (value[:1].isspace() and not value.strip()):
            return value
        text = value.strip()
        if text[:1] not in ("{", "[", '"'):
            return value
        try:
            value = from_json(text, allow_inf_nan=False)
        except ValueError:
            if text[:1] == '"' or len(text) > _LONGEST_LITERAL:
                return value
            try:
                literal = ast.literal_eval(text)
                is_json = isinstance(literal, dict | list) and from_json(to_json(literal)) == literal
                return literal if is_json else value
            except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
                return value
    return value
