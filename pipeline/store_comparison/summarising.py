"""Makes the summary of a run of its rows."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Generic, TypeVar

import numpy as np
from sqlalchemy import Connection

from turnwise.pipeline.store.comparison import record_scores, record_summary
from turnwise.pipeline.store.figures import run_figures
from turnwise.pipeline.store_comparison.rows import ComparedRecord, stored_records
from turnwise.pipeline.store_comparison.run_summary import (
    StoredSummary,
    SummaryCriterion,
    SummaryTraits,
    text_of,
)
from turnwise.schemas.rows import ScoreRow
from turnwise.transforms.decisions.comparison.collect import ComparedConversation, Observed, collect, ruler_of
from turnwise.transforms.decisions.comparison.sides import CodedColumn, ScoreKind, coded, kind_of

_Listed = TypeVar("_Listed")
_NO_TRAITS = SummaryTraits((), (), ())


class _Places(dict[_Listed, int], Generic[_Listed]):
    """The place of every value in a list of different ones."""

    def __missing__(self, value: _Listed) -> int:
        self[value] = len(self)
        return self[value]


class _Given:
    """What a criterion gave the conversations of a run; nothing at first."""

    def __init__(self, size: int) -> None:
        self._values = np.zeros(size)
        self._kinds: _Places[ScoreKind | None] = _Places({None: 0})
        self._places = np.zeros(size, np.int64)

    def put(self, row: int, found: Observed) -> None:
        self._values[row] = found.value or 0.0
        self._places[row] = self._kinds[kind_of(found)]

    def summary(self, criterion: str) -> SummaryCriterion:
        values, places = np.unique(self._values, return_inverse=True)
        return SummaryCriterion(criterion, values, places, CodedColumn([*self._kinds], self._places))


def summary_text(connection: Connection, app: str, run: str) -> str:
    """Returns the summary of a run; "": it has rows that a summary cannot tell."""
    records = stored_records(connection, app, "run", run)
    revisions, traits = [-1] * len(records), [_NO_TRAITS] * len(records)
    given: dict[str, _Given] = {}
    for row, scores in _scored(connection, app, records):
        found = collect(scores, [record_summary(records[row])])
        if len(found) != 1:  # the scores are those of several conversations
            return ""
        revisions[row] = max((score["revision"] for score in scores), default=-1)
        traits[row] = _traits(found[0], scores)
        for name, observed in found[0].criteria.items():
            given.setdefault(name, _Given(len(records))).put(row, observed)
    criteria = [given[name].summary(name) for name in sorted(given)]
    if not all(_is_finite(own) for own in criteria):
        return ""
    ids: _Places[str] = _Places()
    numbers = [ids[own.conversation] for own in records]
    figures = run_figures(connection, run, ids)
    summary = StoredSummary(
        conversations=CodedColumn([*ids], np.asarray(numbers, np.int64)),
        versions=coded(own.version for own in records),
        cases=coded(own.case for own in records),
        evaluations=coded(own.evaluation for own in records),
        digests=coded(own.digest for own in records),
        nanos=coded(own.nanos for own in records),
        is_result=coded(own.is_result for own in records),
        revisions=coded(revisions),
        traits=coded(traits),
        criteria=criteria,
        figures=figures,
    )
    return text_of(summary)


def _scored(
    connection: Connection, app: str, records: Sequence[ComparedRecord]
) -> Iterator[tuple[int, list[ScoreRow]]]:
    """Yields the place of each record with its scores."""
    places = {own.name: place for place, own in enumerate(records)}
    for own, scores in groupby(record_scores(connection, app, records), key=itemgetter(0)):
        yield places.pop(own.name), [score for _, score in scores]
    yield from ((place, []) for place in places.values())


def _is_finite(given: SummaryCriterion) -> bool:
    """Returns whether values and thresholds are finite: JSON has no other numbers."""
    thresholds = [kind.threshold or 0.0 for kind in given.kinds.values if kind is not None]
    return bool(np.isfinite(given.values).all() and np.isfinite(thresholds).all())


def _traits(found: ComparedConversation, scores: Iterable[ScoreRow]) -> SummaryTraits:
    rulers = {(score["criterion"], ruler) for score in scores if (ruler := ruler_of(score)) is not None}
    return SummaryTraits(
        tuple(sorted(found.skipped)), tuple(sorted(found.sampled_out)), tuple(sorted(rulers))
    )
