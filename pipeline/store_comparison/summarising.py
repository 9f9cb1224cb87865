"""Makes the summary of a run of its rows."""

from collections.abc import Sequence
from itertools import groupby
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from sqlalchemy import Connection

from turnwise.pipeline.store.figures import run_figures
from turnwise.pipeline.store_comparison.rows import ComparedRecord, stored_records
from turnwise.pipeline.store_comparison.run_summary import (
    StoredSummary,
    SummaryCriterion,
    SummaryTraits,
    text_of,
)
from turnwise.pipeline.store_comparison.sides import record_scores, record_summary
from turnwise.schemas.rows import ScoreRow
from turnwise.transforms.comparison.coded import CodedColumn, coded
from turnwise.transforms.comparison.collect import collect, ruler_of
from turnwise.transforms.comparison.criterion_column import CriterionColumn, columns_by_criterion
from turnwise.transforms.comparison.observed import Observed

_Listed = TypeVar("_Listed")


class _Places(dict[_Listed, int], Generic[_Listed]):
    """The place of every value in a list of different ones."""

    def __missing__(self, value: _Listed) -> int:
        self[value] = len(self)
        return self[value]


class _Row(NamedTuple):
    """What the scores of a conversation give."""

    revision: int
    traits: SummaryTraits
    criteria: dict[str, Observed]


def summary_text(connection: Connection, app: str, run: str) -> str:
    """Returns the summary of a run; "": it has rows that a summary cannot tell."""
    records = stored_records(connection, app, "run", run)
    scored = groupby(record_scores(connection, app, records), key=lambda pair: pair[0])
    made = {own.name: _row(own, [row for _, row in rows]) for own, rows in scored}
    found = [made[own.name] if own.name in made else _row(own, ()) for own in records]
    rows = [row for row in found if row is not None]
    criteria = columns_by_criterion([row.criteria for row in rows])
    if len(rows) < len(found) or not all(np.isfinite(own.values).all() for own in criteria.values()):
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
        revisions=coded(row.revision for row in rows),
        traits=coded(row.traits for row in rows),
        criteria=[_criterion(name, own) for name, own in sorted(criteria.items())],
        figures=figures,
    )
    return text_of(summary)


def _criterion(name: str, given: CriterionColumn) -> SummaryCriterion:
    values, places = np.unique(given.values, return_inverse=True)
    return SummaryCriterion(name, values, places, given.kinds)


def _row(own: ComparedRecord, scores: Sequence[ScoreRow]) -> _Row | None:
    """Returns what scores give a conversation; None: they are those of several."""
    found = collect(scores, [record_summary(own)])
    if len(found) != 1:
        return None
    (one,) = found
    rulers = {(row["criterion"], ruler) for row in scores if (ruler := ruler_of(row)) is not None}
    skipped, sampled_out = tuple(sorted(one.skipped)), tuple(sorted(one.sampled_out))
    return _Row(
        revision=max((row["revision"] for row in scores), default=-1),
        traits=SummaryTraits(skipped, sampled_out, tuple(sorted(rulers))),
        criteria=one.criteria,
    )
