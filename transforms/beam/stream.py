"""Scores the conversations of a stream, one outcome per conversation."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from time import time
from typing import Any, NamedTuple, TypeAlias

import apache_beam as beam
from apache_beam.coders import BooleanCoder
from apache_beam.pvalue import DoOutputsTuple, PCollection, TaggedOutput
from apache_beam.transforms.userstate import ReadModifyWriteStateSpec
from apache_beam.transforms.window import GlobalWindows
from apache_beam.utils.timestamp import Timestamp
from apache_beam.utils.windowed_value import WindowedValue

from turnwise.schemas.conversation import Arrival, Record
from turnwise.schemas.run import RunInfo
from turnwise.schemas.score import Failure
from turnwise.transforms.beam.sessions import Ignored, RecordContent, RejectedConversation
from turnwise.transforms.beam.steps import (
    EVENTS,
    GROUPED,
    CountingDoFn,
    InspectedDoFn,
    JudgeFn,
    MeasuringDoFn,
    ParsingDoFn,
)
from turnwise.transforms.beam.windows import (
    RecordOutcome,
    failed_outcome,
    ignored_outcome,
    rejected_outcome,
    scored_outcome,
)
from turnwise.transforms.formats.reading import LoggedConversation, LogReader
from turnwise.transforms.judging.setup import JudgeSettings
from turnwise.transforms.matching.sample import CaseIndex, Sample, match_case
from turnwise.transforms.review.row import EvaluatedConversation
from turnwise.transforms.scoring.selection import Selection
from turnwise.transforms.text.dates import epoch_seconds

OUTCOMES = "outcomes"


class _Outcomes:
    """Emits one outcome per conversation."""

    def __init__(self, run: RunInfo) -> None:
        self._run = run

    def start(self) -> None:
        """Does nothing."""

    def give(self, evaluated: EvaluatedConversation, timestamp: Timestamp | None) -> list[Any]:
        seconds = time() if timestamp is None else timestamp.micros / 1e6
        return [TaggedOutput(OUTCOMES, scored_outcome(evaluated, seconds, self._run))]

    def rejected(self, failure: Failure) -> Any:
        return TaggedOutput(OUTCOMES, failed_outcome(failure, self._run))

    def other(self, content: Failure | RejectedConversation | Ignored) -> Any:
        """Returns the outcome of what is no conversation."""
        if isinstance(content, Failure):
            return self.rejected(content)
        if isinstance(content, RejectedConversation):
            return TaggedOutput(OUTCOMES, rejected_outcome(content.record, content.failures, self._run))
        return TaggedOutput(OUTCOMES, ignored_outcome(content.receipts))

    def finish(self) -> list[Any]:
        return []


class _MeasureStreamFn(MeasuringDoFn):
    _emission: _Outcomes

    def process(self, content: Any, timestamp: Any = beam.DoFn.TimestampParam) -> list[Any]:
        if isinstance(content, Sample):
            return self.measured(content, timestamp)
        return [self._emission.other(content)]


class _JudgeStreamFn(JudgeFn):
    _emission: _Outcomes

    def process(
        self, content: Any, timestamp: Any = beam.DoFn.TimestampParam, window: Any = beam.DoFn.WindowParam
    ) -> Iterator[Any]:
        if isinstance(content, Sample):
            yield from super().process(content, timestamp, window)
        else:
            yield self._emission.other(content)


@beam.ptransform_fn
def ScoreArrivals(
    matched: "PCollection[Any]", selection: Selection, run: RunInfo, judge: JudgeSettings
) -> "PCollection[RecordOutcome]":
    """Fans every conversation out into turns and criteria, measured and judged, in one step.

    Whatever else there is becomes an outcome as well.
    """
    step = _scoring_step(selection, run, judge)
    return (matched | "Score" >> beam.ParDo(step).with_outputs(OUTCOMES))[OUTCOMES]


def _scoring_step(selection: Selection, run: RunInfo, judge: JudgeSettings) -> Any:
    outcomes = _Outcomes(run)
    if selection.needs_judge:
        return _JudgeStreamFn(selection, run, judge, outcomes)
    return _MeasureStreamFn(selection.measured, run, outcomes)


class StreamScorer:
    """Scores the samples of a bundle without a pipeline, as `ScoreArrivals` does in one."""

    def __init__(self, selection: Selection, run: RunInfo, judge: JudgeSettings) -> None:
        self._step = _scoring_step(selection, run, judge)

    def start(self) -> None:
        """Begins a bundle."""
        self._step.start_bundle()

    def outcomes(self, content: Any, timestamp: Timestamp) -> list[RecordOutcome]:
        """Returns outcomes that are ready, of earlier conversations as well."""
        return _plain_outcomes(self._step.process(content, timestamp))

    def finish(self) -> list[RecordOutcome]:
        """Waits for answers, and returns the outcomes that are left."""
        return _plain_outcomes(self._step.finish_bundle())


def _plain_outcomes(outputs: Iterable[Any]) -> list[RecordOutcome]:
    values = [output.value for output in outputs if output.tag == OUTCOMES]
    return [value.value if isinstance(value, WindowedValue) else value for value in values]


class _ParseArrivalFn(ParsingDoFn):
    def process(self, arrival: Arrival) -> list[Any]:
        record = Record(arrival.source, arrival.position, arrival.data)
        return self.outputs(record, known_watermark(arrival))


def known_watermark(arrival: Arrival) -> float:
    """Returns the watermark of an arrival; 0: it is unknown."""
    return arrival.watermark if epoch_seconds(arrival.watermark) == arrival.watermark else 0.0


@beam.ptransform_fn
def ParseArrivals(arrivals: "PCollection[Arrival]", reader: LogReader) -> DoOutputsTuple:
    """Turns arrivals into `whole` (conversations and failures), `events` and `grouped` events.

    They have the timestamps of the arrivals.
    """
    return arrivals | "Parse" >> beam.ParDo(_ParseArrivalFn(reader)).with_outputs(
        EVENTS, GROUPED, main="whole"
    )


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

    def process(self, content: RecordContent) -> list[Any]:
        if isinstance(content, LoggedConversation):
            return [match_case(self._current.cases, *content, self.counts)]
        return [content]

    def finish_bundle(self) -> Iterator[Any]:
        super().finish_bundle()
        for failure in self._current.failures:
            yield TaggedOutput(CASE_FAILURES, GlobalWindows.windowed_value(failure))


@beam.ptransform_fn
def MatchArrivals(content: "PCollection[RecordContent]", lookup: CaseLookup) -> DoOutputsTuple:
    """Matches every conversation with its eval case, as the case is when the bundle begins.

    Returns samples and, unchanged, whatever else there is; and failures of cases.
    """
    match = beam.ParDo(_MatchArrivalFn(lookup))
    return content | "Match" >> match.with_outputs(CASE_FAILURES, main="matched")


class _FirstFn(InspectedDoFn):
    SEEN = ReadModifyWriteStateSpec("seen", BooleanCoder())

    def process(
        self, element: tuple[str, Failure], seen: Any = beam.DoFn.StateParam(SEEN)
    ) -> Iterator[Failure]:
        if not seen.read():
            seen.write(True)
            yield element[1]


@beam.ptransform_fn
def ReportOnce(failures: "PCollection[Failure]") -> "PCollection[Failure]":
    """Yields failures that several workers have once, by their receipts."""
    return failures | "KeyFailures" >> beam.Map(_keyed) | "First" >> beam.ParDo(_FirstFn())


def _keyed(failure: Failure) -> tuple[str, Failure]:
    return "\n".join(f"{receipt.source} {receipt.position}" for receipt in failure.receipts), failure
