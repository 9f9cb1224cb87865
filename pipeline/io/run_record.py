"""Keeps the state of a run in its service."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from turnwise.pipeline.settings.outputs import SinkPlace
from turnwise.pipeline.store.states import Broken
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.registry import error_text


class RunRecord(NamedTuple):
    """How a service keeps the state of runs.

    Attributes:
        begin: Writes that a run begins, given what is known of its `run.json`.
        complete: Writes that it is complete, given its `run.json`, before that is written; once or again.
        break_off: Writes that it broke off, unless it was complete: the state and why.
    """

    begin: Callable[[SinkPlace, JsonObject], None]
    complete: Callable[[SinkPlace, JsonObject], None]
    break_off: Callable[[SinkPlace, Broken, str], None]


@contextmanager
def recorded(
    record: RunRecord, place: SinkPlace, document: JsonObject, goes_on: bool = False
) -> Iterator[None]:
    """Writes that a run begins, and if it breaks off that it did.

    Args:
        record: How its service keeps its state.
        place: The run and its service.
        document: What is known of its `run.json`.
        goes_on: Whether the run may go on elsewhere when this process ends.
    """
    record.begin(place, document)
    try:
        yield
    except KeyboardInterrupt:
        if not goes_on:
            record.break_off(place, "CANCELLED", "interrupted")
        raise
    except BaseException as error:
        record.break_off(place, "ERROR", error_text(error))
        raise
