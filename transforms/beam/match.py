"""Matches conversations with their eval cases."""

from collections.abc import Iterator, Sequence
from typing import Any

import apache_beam as beam
from apache_beam.pvalue import DoOutputsTuple, PCollection

from turnwise.schemas.case import CaseKey
from turnwise.schemas.score import Failure
from turnwise.transforms.beam.counters import COUNTS, CountingDoFn, told
from turnwise.transforms.beam.steps import FAILURES
from turnwise.transforms.formats.reading import LoggedConversation
from turnwise.transforms.matching.sample import USED_CASE, CaseIndex, PackedCase, match_case


class _MatchFn(CountingDoFn):
    def __init__(self) -> None:
        super().__init__()
        self._index = CaseIndex(None)
        self._cases: Sequence[PackedCase] | None = None
        self._given: set[CaseKey] = set()

    def start_bundle(self) -> None:
        super().start_bundle()
        self._used: set[CaseKey] = set()

    def finish_bundle(self) -> Iterator[Any]:
        yield from super().finish_bundle()
        if self._used:
            # Not among Beam's counters: there may be as many as conversations.
            yield told(COUNTS, {f"{USED_CASE}{key.text}": 1 for key in self._used})

    def process(self, logged: LoggedConversation, cases: Sequence[PackedCase] | None = None) -> list[Any]:
        if cases is not self._cases:
            self._cases, self._index = cases, CaseIndex(cases)
            self._given = {case.key for case in cases or ()}
        found = match_case(self._index, *logged, self.counts)
        if isinstance(found, Failure):
            return [beam.pvalue.TaggedOutput(FAILURES, found)]
        if self._given and found.eval_case is not None and found.eval_case.key in self._given:
            self._used.add(found.eval_case.key)
        return [found]


class MatchCases(beam.PTransform[PCollection[LoggedConversation], DoOutputsTuple]):
    """Matches every conversation with its eval case; an unknown case is a failure."""

    def __init__(self, cases: "PCollection[PackedCase] | None") -> None:
        super().__init__()
        self._cases = cases

    def expand(self, conversations: "PCollection[LoggedConversation]") -> Any:
        """Reads the cases of a step as a side input."""
        cases = None if self._cases is None else beam.pvalue.AsList(self._cases)
        return conversations | "Match" >> beam.ParDo(_MatchFn(), cases).with_outputs(
            FAILURES, COUNTS, main="matched"
        )
