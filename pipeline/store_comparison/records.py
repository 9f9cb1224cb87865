"""The stored conversations of a side as columns, and which of them are compared."""

from collections.abc import Collection, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from turnwise.pipeline.store_comparison.rows import ComparedRecord
from turnwise.transforms.decisions.comparison.sentences import Bools, Integers
from turnwise.transforms.decisions.comparison.sides import CodedColumn, chosen, coded, distinct_pairs


class RecordColumns(Struct, frozen=True):
    """Stored conversations, and results without one; see `ComparedRecord`.

    Attributes:
        places: Place of each among what its reader has read.
    """

    conversations: CodedColumn[str]
    versions: CodedColumn[str]
    runs: CodedColumn[str]
    cases: CodedColumn[str]
    evaluations: CodedColumn[str]
    nanos: Integers
    is_result: Bools
    places: Integers

    def __len__(self) -> int:
        return len(self.nanos)

    @property
    def oldest(self) -> int:
        """Time of writing of the oldest one, nanoseconds since 1970; 0: there is none."""
        return int(self.nanos.min()) if len(self) else 0

    @property
    def run_ids(self) -> list[str]:
        """Ids of the runs."""
        return sorted(self.runs.used())

    def at(self, rows: Integers | Bools) -> "RecordColumns":
        """Returns some of them."""
        return RecordColumns(
            conversations=self.conversations.at(rows),
            versions=self.versions.at(rows),
            runs=self.runs.at(rows),
            cases=self.cases.at(rows),
            evaluations=self.evaluations.at(rows),
            nanos=self.nanos[rows],
            is_result=self.is_result[rows],
            places=self.places[rows],
        )

    def of_evaluations(self, names: Collection[str]) -> "RecordColumns":
        """Returns those of some evaluations."""
        is_own = np.asarray([name in names for name in self.evaluations.values], np.bool_)
        return self.at(is_own[self.evaluations.places])

    def last_runs(self) -> "RecordColumns":
        """Returns each conversation in its last run only."""
        if self.conversations.counts().max(initial=0) <= 1:
            return self
        seen = [conversation for conversation, _ in distinct_pairs(self.conversations, self.runs)]
        again = np.flatnonzero(np.bincount(seen)[self.conversations.places] > 1)
        if not len(again):
            return self
        measured = self.at(again)._measured()
        order = np.lexsort((self.nanos[again], measured))
        # Equal values follow each other: the last one of each is the last one written.
        last = np.empty(measured.max() + 1, np.int64)
        last[measured[order]] = self.runs.places[again[order]]
        is_kept = np.ones(len(self), np.bool_)
        is_kept[again] = last[measured] == self.runs.places[again]
        return self.at(is_kept)

    def _measured(self) -> Integers:
        """Returns a number for each evaluation or else case, conversation and version that was measured."""
        has_none = np.asarray([not name for name in self.evaluations.values], np.bool_)
        cases = chosen(self.evaluations, self.cases, has_none[self.evaluations.places])
        found = cases.places
        for column in (self.conversations, self.versions):
            found = np.unique(found * len(column.values) + column.places, return_inverse=True)[1]
        return found


def columns_of_records(records: Sequence[ComparedRecord], start: int = 0) -> RecordColumns:
    """Returns records from one place on as columns."""
    rows = records[start:]
    return RecordColumns(
        conversations=coded(own.conversation for own in rows),
        versions=coded(own.version for own in rows),
        runs=coded(own.run for own in rows),
        cases=coded(own.case for own in rows),
        evaluations=coded(own.evaluation for own in rows),
        nanos=np.asarray([own.nanos for own in rows], np.int64),
        is_result=np.asarray([own.is_result for own in rows], np.bool_),
        places=np.arange(start, len(records)),
    )


def with_cases(sides: Sequence[RecordColumns]) -> list[RecordColumns]:
    """Names the case of results without a conversation as the last conversation of their evaluation does."""
    if not any(own.is_result.any() for own in sides):
        return [*sides]
    known = [own.at(~own.is_result) for own in sides]
    named = (pair for own in known for pair in zip(own.evaluations, own.cases, strict=True))
    cases = {evaluation: case for evaluation, case in named if evaluation}
    found = []
    for own in sides:
        of_conversations = own.cases.recoded(cases.get(name, name) for name in own.cases.values)
        found.append(replace(own, cases=chosen(own.cases, of_conversations, own.is_result)))
    return found
