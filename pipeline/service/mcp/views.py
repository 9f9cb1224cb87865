"""Selects the fields of a response: by a read mask, or all except large ones."""

from collections.abc import Collection, Sequence
from functools import cache
from typing import NamedTuple

from turnwise.pipeline.service.computed_fields import COMPUTED, LAST_TEN
from turnwise.pipeline.service.errors import field_errors
from turnwise.schemas.ces.results import Evaluation, EvaluationResult
from turnwise.schemas.ces.tools import CompareAppVersionsResponse, EvaluationRevision, RunFailure
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.proto.masks import FieldPath, all_but, parse_mask, select_fields
from turnwise.schemas.proto.message import Message

_DETAILS = ("goldenResult", "scenarioResult", "persona", "error", "config", "evaluationMetricsThresholds")
_LARGE = {
    EvaluationResult: _DETAILS,
    EvaluationRevision: ("evaluation",),
    RunFailure: ("record",),
    CompareAppVersionsResponse: ("base.metrics.metricsByTurn", "candidate.metrics.metricsByTurn"),
    Evaluation: (
        "aggregatedMetrics.metricsByAppVersion.metricsByTurn",
        *(f"{holder}.{name}" for holder in ("lastCompletedResult", LAST_TEN) for name in _DETAILS),
    ),
}


class View(NamedTuple):
    """The selected fields of a message.

    Attributes:
        paths: Paths of the fields; None: all fields.
        asks_for_last_ten: Whether a mask names an evaluation's last ten results.
    """

    paths: Sequence[FieldPath] | None
    asks_for_last_ten: bool = False

    def select(self, value: JsonObject) -> JsonObject:
        """Returns the selected fields of a message in canonical proto3 JSON."""
        return value if self.paths is None else select_fields(value, self.paths)

    def computed(self, with_last_ten: bool) -> Collection[str]:
        """Returns the computed fields of an evaluation that this view needs."""
        seen = {path[0] for path in self.paths or ()}
        wanted = set(COMPUTED if self.paths is None else COMPUTED & seen)
        return wanted | ({LAST_TEN} if with_last_ten or self.asks_for_last_ten else set())


SUMMARY = View(
    (
        *(
            (name,)
            for name in ("name", "displayName", "description", "tags", "updateTime", "etag", "invalid")
        ),
        *((LAST_TEN, name) for name in ("name", "evaluationStatus", "appVersion", "createTime")),
    )
)
"""The fields of an evaluation in a list."""


@cache
def without_details(message: type[Message]) -> View:
    """Returns the view of all but the large fields of a message."""
    return View(all_but(message, ",".join(_LARGE[message])))


def read_view(message: type[Message], read_mask: str, default: View) -> View:
    """Returns the view of a read mask; its paths may lead through lists.

    Args:
        message: Message type.
        read_mask: Comma-separated paths; "*": all fields; "": the default view.
        default: The default view.

    Raises:
        ServiceError: The mask names an unknown field.
    """
    if not read_mask:
        return default
    with field_errors("readMask"):
        paths = parse_mask(message, read_mask, through_lists=True)
    return View(paths, any(path[0] == LAST_TEN for path in paths or ()))
