"""Where a run writes to, and in which format."""

from typing import NamedTuple

DEFAULT_OUTPUT_FORMAT = "jsonl"


class SinkPlace(NamedTuple):
    """Where a run writes to, beside its files.

    Attributes:
        url: The address.
        app: `--store_app`; "": not given.
        run_id: Name of the run.
        create_time: When it was started, as RFC 3339 text.
        date: Its date, or else the day of its start, as ISO text.
        output: `--output`, which every worker reaches.
        is_streaming: Whether the run is a stream.
        is_new: Whether a stream begins, which no earlier process has begun.
    """

    url: str
    app: str
    run_id: str
    create_time: str
    date: str
    output: str
    is_streaming: bool = False
    is_new: bool = False
