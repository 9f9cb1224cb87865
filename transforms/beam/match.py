"""Matches conversations with their eval cases."""

from collections.abc import Iterator, Sequence
from typing import Any

import apache_beam as beam
from apache_beam.pvalue import DoOutputsTuple, PCollection
from apache_beam.transforms.window import GlobalWindows

from turnwise.schemas.case import CaseKey, EvalCase
from turnwise.schemas.failure import Failure
from turnwise.transforms.beam.counters import COUNTS, CountingDoFn
from turnwise.transforms.beam.parse import FAILURES
from turnwise.transforms.formats.parsing import LoggedConversation
from turnwise.transforms.matching.cases import CaseIndex, match_case

USED = "used"


class _MatchFn(CountingDoFn):
    def __init__(self) -> None:
        super().__init__()
        self._index = CaseIndex(None)
        self._cases: Sequence[EvalCase] | None = None

    def start_bundle(self) -> None:
        super().start_bundle()
        self._used: set[CaseKey] = set()

    def finish_bundle(self) -> Iterator[Any]:
        yield from super().finish_bundle()
        for key in self._used:
            yield beam.pvalue.TaggedOutput(USED, GlobalWindows.windowed_value(key.text))

    def process(self, logged: LoggedConversation, cases: Sequence[EvalCase] | None = None) -> list[Any]:
        if cases is not self._cases:
            self._cases, self._index = cases, CaseIndex(cases)
        found = match_case(self._index, *logged, self.counts)
        if isinstance(found, Failure):
            return [beam.pvalue.TaggedOutput(FAILURES, found)]
        if cases is not None and found.eval_case is not None:
            self._used.add(found.eval_case.key)
        return [found]


class MatchCases(beam.PTransform[PCollection[LoggedConversation], DoOutputsTuple]):
    """Matches every conversation with its eval case; an unknown case is a failure."""

    def __init__(self, cases: "PCollection[EvalCase] | None") -> None:
        super().__init__()
        self._cases = cases

    def expand(self, conversations: "PCollection[LoggedConversation]") -> Any:
        """Reads the cases of a step as a side input."""
        cases = None if self._cases is None else beam.pvalue.AsList(self._cases)
        return conversations | "Match" >> beam.ParDo(_MatchFn(), cases).with_outputs(
            USED, FAILURES, COUNTS, main="matched"
        )


def _unused(case: EvalCase) -> tuple[str, int]:
    return case.key.text, 0


def _once(key: str) -> tuple[str, int]:
    return key, 1


class _CountUnusedFn(CountingDoFn):
    def process(self, entry: tuple[str, int]) -> None:
        self.count("unused_cases", int(entry[1] == 0))


def count_unused_cases(
    cases: "PCollection[EvalCase]", used: "Sequence[PCollection[str]]"
) -> "PCollection[dict[str, int]]":
    """Counts the eval cases without a conversation; `used` are the keys from `MatchCases`."""
    given = cases | "GivenCases" >> beam.Map(_unused)
    tried = [ids | f"UsedCases{i}" >> beam.Map(_once) for i, ids in enumerate(used)]
    uses = [given, *tried] | "AllUses" >> beam.Flatten() | "UsesOfCase" >> beam.CombinePerKey(max)
    counted = uses | "CountUnusedCases" >> beam.ParDo(_CountUnusedFn()).with_outputs(COUNTS)
    counts: PCollection[dict[str, int]] = counted[COUNTS]
    return counts
