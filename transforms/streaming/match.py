"""Matches the conversations of a stream with eval cases that may change while it runs."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import apache_beam as beam
from apache_beam.coders import BooleanCoder
from apache_beam.pvalue import DoOutputsTuple, PCollection, TaggedOutput
from apache_beam.transforms.userstate import ReadModifyWriteStateSpec
from apache_beam.transforms.window import GlobalWindows

from turnwise.schemas.score import Failure
from turnwise.transforms.beam.counters import CountingDoFn
from turnwise.transforms.beam.inspected import InspectedDoFn
from turnwise.transforms.beam.sessions import RecordContent
from turnwise.transforms.formats.reading import LoggedConversation
from turnwise.transforms.matching.sample import CaseIndex, match_case

CASE_FAILURES = "case_failures"


class CurrentCases(NamedTuple):
    """Eval cases, and failures of reading them that were not returned before."""

    cases: CaseIndex
    failures: Sequence[Failure] = ()


CaseLookup: TypeAlias = Callable[[], CurrentCases]
"""Returns the eval cases as they are now, on any worker; must be picklable, so cases are not in the graph.

A side input would have the cases of other times: it is chosen by the time of the event, and an engine may run
the first bundle before it is there.
"""


def no_cases() -> CurrentCases:
    """Returns that no cases are given."""
    return CurrentCases(CaseIndex(None))


class _MatchArrivalFn(CountingDoFn):
    def __init__(self, lookup: CaseLookup) -> None:
        super().__init__()
        self._lookup = lookup

    def start_bundle(self) -> None:
        super().start_bundle()
        self._current = self._lookup()

    def process(self, found: RecordContent) -> list[Any]:
        if isinstance(found, LoggedConversation):
            return [match_case(self._current.cases, *found, self.counts)]
        return [found]

    def finish_bundle(self) -> Iterator[Any]:
        super().finish_bundle()
        for failure in self._current.failures:
            yield TaggedOutput(CASE_FAILURES, GlobalWindows.windowed_value(failure))


class MatchArrivals(beam.PTransform["PCollection[RecordContent]", DoOutputsTuple]):
    """Matches every conversation with its eval case, as the case is when the bundle begins.

    Whatever else was found goes on unchanged.
    """

    def __init__(self, lookup: CaseLookup) -> None:
        super().__init__()
        self._lookup = lookup

    def expand(self, found: "PCollection[RecordContent]") -> Any:
        """Returns samples and what else was found, and failures of cases."""
        return found | "Match" >> beam.ParDo(_MatchArrivalFn(self._lookup)).with_outputs(
            CASE_FAILURES, main="matched"
        )


class _FirstFn(InspectedDoFn):
    SEEN = ReadModifyWriteStateSpec("seen", BooleanCoder())

    def process(
        self, element: tuple[str, Failure], seen: Any = beam.DoFn.StateParam(SEEN)
    ) -> Iterator[Failure]:
        if not seen.read():
            seen.write(True)
            yield element[1]


class ReportOnce(beam.PTransform[PCollection[Failure], PCollection[Failure]]):
    """Yields failures that several workers have once."""

    def expand(self, failures: "PCollection[Failure]") -> "PCollection[Failure]":
        """Keys failures by their receipts."""
        return failures | "KeyFailures" >> beam.Map(_keyed) | "First" >> beam.ParDo(_FirstFn())


def _keyed(failure: Failure) -> tuple[str, Failure]:
    return "\n".join(f"{one.source} {one.position}" for one in failure.receipts), failure
