"""Scores the conversations of a stream, one outcome per conversation."""

from collections.abc import Iterator
from time import time
from typing import Any

import apache_beam as beam
from apache_beam.pvalue import PCollection, TaggedOutput
from apache_beam.utils.timestamp import Timestamp

from turnwise.schemas.run import RunInfo
from turnwise.schemas.score import Failure
from turnwise.transforms.beam.judge_turns import JudgeFn
from turnwise.transforms.beam.scoring import MeasuringDoFn, ScoringDoFn
from turnwise.transforms.beam.sessions import Ignored, LostConversation
from turnwise.transforms.judging.setup import JudgeSettings
from turnwise.transforms.matching.sample import Sample
from turnwise.transforms.scoring.conversation import EvaluatedConversation
from turnwise.transforms.scoring.selection import Selection
from turnwise.transforms.streaming.outcome import (
    RecordOutcome,
    failed_outcome,
    ignored_outcome,
    lost_outcome,
    scored_outcome,
)

OUTCOMES = "outcomes"


class _Outcomes:
    """Emits one outcome per conversation."""

    def __init__(self, run_id: str) -> None:
        self._run_id = run_id

    def start(self) -> None:
        """Does nothing."""

    def give(self, evaluated: EvaluatedConversation, timestamp: Timestamp | None) -> list[Any]:
        seconds = time() if timestamp is None else timestamp.micros / 1e6
        return [TaggedOutput(OUTCOMES, scored_outcome(evaluated, seconds, self._run_id))]

    def lost(self, failure: Failure) -> Any:
        return TaggedOutput(OUTCOMES, failed_outcome(failure, self._run_id))

    def other(self, found: Failure | LostConversation | Ignored) -> Any:
        """Returns the outcome of what is no conversation."""
        if isinstance(found, Failure):
            return self.lost(found)
        if isinstance(found, LostConversation):
            return TaggedOutput(OUTCOMES, lost_outcome(found.record, found.failures, self._run_id))
        return TaggedOutput(OUTCOMES, ignored_outcome(found.receipts))

    def finish(self) -> list[Any]:
        return []


class _MeasureStreamFn(MeasuringDoFn):
    _emission: _Outcomes

    def process(self, found: Any, timestamp: Any = beam.DoFn.TimestampParam) -> list[Any]:
        if isinstance(found, Sample):
            return self.measured(found, timestamp)
        return [self._emission.other(found)]


class _JudgeStreamFn(JudgeFn):
    _emission: _Outcomes

    def process(
        self,
        found: Any,
        timestamp: Any = beam.DoFn.TimestampParam,
        window: Any = beam.DoFn.WindowParam,
    ) -> Iterator[Any]:
        if isinstance(found, Sample):
            yield from super().process(found, timestamp, window)
        else:
            yield self._emission.other(found)


class ScoreArrivals(beam.PTransform[PCollection[Any], PCollection[RecordOutcome]]):
    """Fans every conversation out into turns and criteria, measured and judged, in one step.

    Whatever else was found becomes an outcome as well.
    """

    def __init__(self, selection: Selection, run: RunInfo, judge: JudgeSettings) -> None:
        super().__init__()
        self._selection, self._run, self._judge = selection, run, judge

    def expand(self, matched: "PCollection[Any]") -> Any:
        """Returns the outcomes."""
        outcomes = _Outcomes(self._run.run_id)
        step: ScoringDoFn = _MeasureStreamFn(self._selection.measured, self._run, outcomes)
        if self._selection.needs_judge:
            step = _JudgeStreamFn(self._selection, self._run, self._judge, outcomes)
        return (matched | "Score" >> beam.ParDo(step).with_outputs(OUTCOMES))[OUTCOMES]
