"""Sends alerts from a pipeline step."""

import logging
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import apache_beam as beam
from apache_beam.pvalue import PCollection
from msgspec.structs import asdict

from turnwise.pipeline.streaming.alerts import AlertError, AlertSink, open_alert_sink
from turnwise.schemas.config import Alert
from turnwise.schemas.jsonio import dump_json
from turnwise.schemas.score import Failure
from turnwise.transforms.beam.steps import InspectedDoFn

_LOG = logging.getLogger(__name__)


@cache
def _shared_sink(uri: str | None, default_path: Path | None) -> AlertSink:
    """Returns the sink of this process. Local engines create the DoFn again for every bundle."""
    return open_alert_sink(uri, default_path)


class _SendFn(InspectedDoFn):
    def __init__(self, uri: str | None, default_path: Path | None) -> None:
        self._uri, self._default_path = uri, default_path

    def process(self, alert: Alert) -> Iterator[Failure]:
        try:
            _shared_sink(self._uri, self._default_path).send([alert])
        except AlertError as error:
            _LOG.warning("an alert was not sent: %s", error)
            yield Failure(
                stage="alert",
                error_type="AlertError",
                message=str(error),
                record=dump_json(asdict(alert)).decode(),
                criterion=alert.criterion,
                app_version=alert.app_version,
            )


class SendAlerts(beam.PTransform[PCollection[Alert], PCollection[Failure]]):
    """Sends alerts. An alert that cannot be sent becomes a failure; the stream continues."""

    def __init__(self, uri: str | None, default_path: Path | None) -> None:
        super().__init__()
        self._uri, self._default_path = uri, default_path

    def expand(self, alerts: "PCollection[Alert]") -> "PCollection[Failure]":
        """Sends one at a time."""
        return alerts | "Send" >> beam.ParDo(_SendFn(self._uri, self._default_path))
