"""Writes the changes of a stream on other runners to a service."""

import logging
from collections.abc import Iterable
from typing import Any
from zlib import crc32

import apache_beam as beam
from apache_beam.pvalue import PCollection

from turnwise.pipeline.io.sinks.base import ChangeWriter, StreamChange, open_changes
from turnwise.pipeline.settings.options import SinkPlace

_LOG = logging.getLogger(__name__)
_SHARDS = 4
_CHANGES_AT_ONCE = 500
_SECONDS_AT_MOST = 10


class WriteChanges(beam.PTransform[Any, Any]):
    """Writes changes in batches. A batch that fails is repeated by the runner."""

    def __init__(self, place: SinkPlace) -> None:
        super().__init__()
        self._place = place

    def expand(self, changes: "PCollection[StreamChange | None]") -> "PCollection[Any]":
        """Adds the steps that write."""
        keyed = changes | beam.FlatMap(_sharded).with_output_types(tuple[str, Any])
        batches = keyed | beam.GroupIntoBatches(_CHANGES_AT_ONCE, _SECONDS_AT_MOST)
        written: PCollection[Any] = batches | beam.ParDo(_WriteChangesFn(self._place))
        return written


def _sharded(change: StreamChange | None) -> list[tuple[str, StreamChange]]:
    return [] if change is None else [(str(crc32(change.thing.encode("utf-8", "replace")) % _SHARDS), change)]


class _WriteChangesFn(beam.DoFn):
    def __init__(self, place: SinkPlace) -> None:
        self._place = place
        self._writer: ChangeWriter | None = None

    def process(self, batch: tuple[str, Iterable[StreamChange]]) -> None:
        if self._writer is None:
            self._writer = open_changes(self._place)
        for row in self._writer.write(list(batch[1])):
            _LOG.warning("%s", row.why)
