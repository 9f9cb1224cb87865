"""Reads times of log records: RFC 3339 texts, seconds or milliseconds since the epoch."""

from collections.abc import Iterator

from pydantic.alias_generators import to_camel

from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.schemas.proto.scalars import nanos_timestamp, timestamp_nanos

# As seconds, the year 5138; as milliseconds, March 1973.
_FIRST_MILLISECONDS = 1e11
_OWN = ("event_time", "eventTime", "timestamp")


def _spellings(*names: str) -> frozenset[str]:
    return frozenset(names) | frozenset(map(to_camel, names))


_WHOLE = _spellings(
    "turns", "messages", "traj", "events", "eval_case_results", "eval_metric_result_per_invocation"
)
_TIMES = _spellings(
    *("event_time", "timestamp", "start_time", "end_time", "last_update_time"),
    *("creation_timestamp", "created_at", "created", "create_time"),
)
_HOLDERS = _WHOLE | _spellings(
    *("turn", "event", "json_payload", "diagnostic_info"),
    *("root_span", "child_spans", "spans", "actual_invocation"),
)


def epoch_seconds(number: float) -> float | None:
    """Converts seconds or milliseconds since the epoch to seconds; None: out of range."""
    seconds = number / 1000 if abs(number) >= _FIRST_MILLISECONDS else number
    return seconds if abs(seconds) < _FIRST_MILLISECONDS else None


def rfc3339(timestamp: str | float) -> str | None:
    """Returns a text unchanged and (milli)seconds since the epoch as RFC 3339; None: out of range."""
    if isinstance(timestamp, str):
        return timestamp
    seconds = epoch_seconds(timestamp)
    try:
        return None if seconds is None else nanos_timestamp(round(seconds * 1e9))
    except ValueError:
        return None


def time_seconds(value: JsonValue) -> float | None:
    """Returns a time in any spelling as seconds since the epoch; None: it is no time after 1970.

    A text without an offset is read as UTC, a numeric text as a number.
    """
    try:
        if isinstance(value, str):
            seconds = _text_seconds(value)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            seconds = epoch_seconds(float(value))
        else:
            return None
    except (ValueError, OverflowError):
        return None
    return seconds if seconds is not None and seconds > 0 else None


def _text_seconds(text: str) -> float | None:
    spelling = text.strip().replace(" ", "T", 1)
    for candidate in (spelling, f"{spelling}Z"):
        try:
            return timestamp_nanos(candidate) / 1_000_000_000
        except ValueError:
            continue
    return epoch_seconds(float(spelling))


def value_time(value: JsonValue) -> float | None:
    """Returns the event time of a parsed record, in seconds since the epoch; None: it states none.

    For an event it is the event's own time, for a whole conversation its last time. Only fields of the log
    are read, not arguments, responses or other content of the conversation.
    """
    if isinstance(value, dict) and not value.keys() & _WHOLE:
        own = next((time for time in _own_times(value) if time is not None), None)
        if own is not None:
            return own
    return max(_inner_times(value), default=None)


def _own_times(value: JsonObject) -> Iterator[float | None]:
    for holder in (value.get("event"), value, value.get("turn")):
        if isinstance(holder, dict):
            yield from (time_seconds(holder[key]) for key in _OWN if key in holder)


def _inner_times(value: JsonValue) -> Iterator[float]:
    if isinstance(value, list):
        for item in value:
            yield from _inner_times(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key in _TIMES:
                time = time_seconds(item)
                if time is not None:
                    yield time
            elif key in _HOLDERS:
                yield from _inner_times(item)
