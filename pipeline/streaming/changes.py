"""What services are told of a stream: the change of a conversation, and of a window."""

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

from turnwise.pipeline.io.run_writer import SINGLE_FILES
from turnwise.pipeline.io.sinks import StreamChange
from turnwise.pipeline.streaming.local.conversations import key_of
from turnwise.schemas.jsonio import dump_json
from turnwise.schemas.rows import plain_rows
from turnwise.transforms.beam.windows import (
    Contribution,
    RecordOutcome,
    WindowMetrics,
)
from turnwise.transforms.metrics.state import MetricsState, slice_rows, turn_rows, version_rows
from turnwise.transforms.text.dates import rfc3339


class WindowSum(NamedTuple):
    """Sums of an app version ("": unknown) in one window; `start` in seconds since the epoch."""

    start: float
    app_version: str
    state: MetricsState


_FLAT = ("scores", "conversations", "failures")


def conversation_change(
    contribution: Contribution, run_id: str, revision: int, rows: Mapping[str, Sequence[Any]]
) -> StreamChange:
    """Returns the change of a conversation with its rows of all tables, of which the flat ones are taken."""
    flat = {table: plain_rows(rows[table]) for table in _FLAT}
    return StreamChange(run_id, _thing(key_of(contribution.name)), revision, contribution.event_time, flat)


def gone_change(key: int, run_id: str, revision: int) -> StreamChange:
    """Returns the change of a conversation that another one replaces, by the key of its name."""
    return StreamChange(run_id, _thing(key), revision, None, {})


def outcome_change(outcome: RecordOutcome, run_id: str) -> StreamChange | None:
    """Returns the change of an outcome; None: it has no rows.

    Within one revision of a conversation, a result replaces a failure.
    """
    contribution = outcome.contribution
    if contribution is not None:
        rows = {table: getattr(outcome, table) for table in _FLAT}
        revision = 2 * contribution.revision + bool(outcome.results)
        return conversation_change(contribution, run_id, revision, rows)
    if not outcome.failures:
        return None
    digest = blake2b(dump_json(outcome.failures), digest_size=16).hexdigest()
    return StreamChange(run_id, f"record {digest}", 0, None, {"failures": outcome.failures})


def _thing(key: int) -> str:
    return f"conversation {key}"


def window_change(metrics: WindowMetrics, run_id: str) -> StreamChange:
    """Returns the change of a window and app version."""
    entry, window = (metrics.app_version, metrics.state), metrics.row_window
    rows_of: tuple[Any, ...] = (version_rows, turn_rows, slice_rows)
    rows = {table: of(entry, run_id, window) for table, of in zip(SINGLE_FILES, rows_of, strict=True)}
    thing = _window(rfc3339(metrics.window_start), metrics.app_version)
    return StreamChange(run_id, thing, metrics.revision, metrics.window_start, rows)


def gone_window(start: str, app_version: str | None, run_id: str, revision: int) -> StreamChange:
    """Returns the change of a window, by its start in RFC 3339, that holds nothing of the version."""
    return StreamChange(run_id, _window(start, app_version), revision, None, {})


def _window(start: str | None, app_version: str | None) -> str:
    return f"window {start} {key_of(app_version or '')}"
