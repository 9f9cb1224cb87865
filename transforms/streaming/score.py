"""Scores the conversations of a stream, one outcome per conversation."""

from time import time
from typing import Any

import apache_beam as beam
from apache_beam.pvalue import DoOutputsTuple, PCollection, TaggedOutput
from apache_beam.utils.timestamp import Timestamp

from turnwise.schemas.run import RunInfo
from turnwise.transforms.beam.judge_turns import JudgeFn
from turnwise.transforms.beam.parse import FAILURES
from turnwise.transforms.beam.score_turns import MeasuringDoFn, ScoringDoFn
from turnwise.transforms.evaluation.conversation import EvaluatedConversation
from turnwise.transforms.judging.setup import JudgeSettings
from turnwise.transforms.matching.sample import Sample
from turnwise.transforms.scoring.selection import Selection
from turnwise.transforms.streaming.outcome import scored_outcome

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

    def finish(self) -> list[Any]:
        return []


class _MeasureStreamFn(MeasuringDoFn):
    def process(self, sample: Sample, timestamp: Any = beam.DoFn.TimestampParam) -> list[Any]:
        return self.measured(sample, timestamp)


class ScoreArrivals(beam.PTransform[PCollection[Sample], DoOutputsTuple]):
    """Fans every conversation out into turns and criteria, measured and judged, in one step."""

    def __init__(self, selection: Selection, run: RunInfo, judge: JudgeSettings) -> None:
        super().__init__()
        self._selection, self._run, self._judge = selection, run, judge

    def expand(self, matched: "PCollection[Sample]") -> Any:
        """Returns outcomes, and failures of conversations that could not be scored."""
        outcomes = _Outcomes(self._run.run_id)
        step: ScoringDoFn = _MeasureStreamFn(self._selection.measured, self._run, outcomes)
        if self._selection.needs_judge:
            step = JudgeFn(self._selection, self._run, self._judge, outcomes)
        return matched | "Score" >> beam.ParDo(step).with_outputs(OUTCOMES, FAILURES)
