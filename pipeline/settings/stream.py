"""Checks the options of a stream and converts them to settings."""

from math import inf

from msgspec import Struct, field
from msgspec.structs import asdict

from turnwise.schemas.config import ConfigError
from turnwise.schemas.run import StreamRules


class StreamSettings(Struct, frozen=True):
    """The settings of a stream.

    Attributes:
        rules: Rules for sessions and windows.
        max_run_time: Seconds after which it ends; None: no limit.
        stop_after: Conversations after which it ends; None: no limit.
        alerts: URI of the sink for alerts; None: a file in the output directory.
        timestamp_attribute: Attribute of Pub/Sub messages that holds the event time.
        refresh_cases: Seconds between two looks for changed eval cases.
    """

    rules: StreamRules = field(default_factory=StreamRules)
    max_run_time: float | None = None
    stop_after: int | None = None
    alerts: str | None = None
    timestamp_attribute: str | None = None
    refresh_cases: float = 60.0


class RawStreamOptions(Struct, frozen=True):
    """The options of a stream as parsed from the command line; None: not given."""

    session_gap: float | None
    window: float | None
    allowed_lateness: float | None
    pane_every: int | None
    max_run_time: float | None
    stop_after: int | None
    alerts: str | None
    timestamp_attribute: str | None
    refresh_cases: float | None


_LENGTHS = ("session_gap", "window", "allowed_lateness", "pane_every")
_BOUNDED = (*_LENGTHS, "refresh_cases")
_SHORTEST, _LONGEST = 0.1, 1e9
_ZERO_ALLOWED = ("allowed_lateness",)


def check_stream(options: RawStreamOptions, is_streaming: bool, slots: int | None) -> StreamSettings:
    """Converts the options of a stream to settings.

    Args:
        options: The options.
        is_streaming: Whether this is a stream; if not, no option may be given.
        slots: As in StreamRules.

    Raises:
        ConfigError: The first error.
    """
    given = {name: value for name, value in asdict(options).items() if value is not None}
    if given and not is_streaming:
        raise ConfigError(f"--{next(iter(given))} is an option of a stream; add --streaming")
    for name, value in given.items():
        if isinstance(value, str):
            continue
        if not (0 < value < inf or (value == 0 and name in _ZERO_ALLOWED)):
            raise ConfigError(f"--{name} must be a number above 0, not {value}")
        if (name in _BOUNDED and not (name in _ZERO_ALLOWED or value >= _SHORTEST)) or value > _LONGEST:
            raise ConfigError(f"--{name} must lie between {_SHORTEST:g} and {_LONGEST:g}, not {value:g}")
    lengths = {name: given.pop(name) for name in _LENGTHS if name in given}
    return StreamSettings(StreamRules(**lengths, slots=slots), **given)
