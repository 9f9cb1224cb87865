"""What reports and comparisons read of a finished run, wherever it is kept."""

from collections.abc import Iterable, Iterator
from typing import Protocol

from turnwise.schemas.calibration import Calibration
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.rows import FailureRow, MetricsByAppVersionRow, ResultRow, ScoreRow
from turnwise.schemas.run import RunDocument


class FinishedRun(Protocol):
    """A finished run: its document and its rows."""

    @property
    def directory(self) -> str:
        """Where it is kept, as texts name it."""
        ...

    @property
    def document(self) -> RunDocument:
        """Content of `run.json`."""
        ...

    def has(self, table: str) -> bool:
        """Returns whether it has a table."""
        ...

    def rows(self, table: str) -> Iterable[JsonObject]:
        """Returns the rows of a table."""
        ...

    def scores(self) -> Iterator[ScoreRow]:
        """Yields the score rows."""
        ...

    def results(self) -> Iterator[ResultRow]:
        """Yields the results."""
        ...

    def failures(self) -> Iterator[FailureRow]:
        """Yields failures and findings."""
        ...

    def metrics_by_app_version(self) -> Iterator[MetricsByAppVersionRow]:
        """Yields the metrics of the app versions."""
        ...

    def calibration(self) -> Calibration | None:
        """Returns what `turnwise calibrate` wrote; None: it wrote nothing."""
        ...

    def check_results(self) -> None:
        """Raises ConfigError if results are missing."""
        ...
