"""When a record happened."""

from pydantic_core import from_json

from turnwise.transforms.formats.base import stated_time


def record_time(data: bytes) -> float | None:
    """Returns the event time of a record in any log format, in seconds since the epoch.

    Of an event it is its own time, of a whole conversation the last time that stands in it. None: it says
    none that can be read, or it is no JSON text. Never raises.
    """
    try:
        return stated_time(from_json(data))
    except Exception:
        return None
