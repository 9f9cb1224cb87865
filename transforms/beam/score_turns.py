"""Scores conversations and emits rows for the sinks and sums for the metrics."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

import apache_beam as beam
from apache_beam.pvalue import DoOutputsTuple, PCollection, TaggedOutput
from apache_beam.transforms.window import GlobalWindows
from apache_beam.utils.timestamp import Timestamp

from turnwise.schemas.failure import RAISED, record_failure
from turnwise.schemas.run import RunInfo
from turnwise.transforms.beam.counters import CountingDoFn
from turnwise.transforms.beam.parse import FAILURES
from turnwise.transforms.beam.progress import PROGRESS
from turnwise.transforms.criteria.base import Criterion, MeasuredCriterion
from turnwise.transforms.criteria.calls.base import UsesToolEffects
from turnwise.transforms.evaluation.conversation import EvaluatedConversation, decide
from turnwise.transforms.matching.sample import Sample
from turnwise.transforms.metrics.state import MetricsState
from turnwise.transforms.scoring.conversation import ScoredConversation, score_conversation
from turnwise.transforms.scoring.inferred_effects import GuessCounts

STATISTICS = "statistics"
SCORES = "scores"
RESULTS = "results"


class Emitter(Protocol):
    """Output form of evaluated conversations."""

    def start(self) -> None:
        """Discards an aborted bundle."""

    def give(self, evaluated: EvaluatedConversation, timestamp: Timestamp | None) -> Iterator[Any]:
        """Yields the outputs of a conversation."""

    def finish(self) -> Iterator[Any]:
        """Yields the outputs of the bundle."""


class BundleSums:
    """Emits rows at once, and the sums of a bundle at its end."""

    def __init__(self) -> None:
        self._sums: dict[str, MetricsState] = {}

    def start(self) -> None:
        """Resets the sums."""
        self._sums = {}

    def give(self, evaluated: EvaluatedConversation, timestamp: Timestamp | None) -> Iterator[Any]:
        """Yields the rows and the failures of criteria."""
        for failure in evaluated.scored.failures:
            yield TaggedOutput(FAILURES, failure)
        yield TaggedOutput(SCORES, evaluated.scores)
        yield TaggedOutput(RESULTS, evaluated.results)
        evaluated.add_to(self._sums)

    def finish(self) -> Iterator[Any]:
        """Yields the bundle's sums by app version."""
        for entry in self._sums.items():
            yield TaggedOutput(STATISTICS, GlobalWindows.windowed_value(entry))


class ScoringDoFn(CountingDoFn):
    """Computes verdicts and emits rows and sums."""

    def __init__(self, criteria: Iterable[Criterion], run: RunInfo, emission: Emitter) -> None:
        super().__init__()
        self._run, self._emission = run, emission
        self._guesses, self._may_guess = GuessCounts(), any(isinstance(c, UsesToolEffects) for c in criteria)

    def start_bundle(self) -> None:
        """Resets the output."""
        super().start_bundle()
        self._emission.start()
        self._guesses = GuessCounts()

    def finish_bundle(self) -> Iterator[Any]:
        """Yields the outputs of the bundle."""
        for key, number in self._guesses.items():
            self.count(key, number)
        super().finish_bundle()
        yield from self._emission.finish()

    def outputs(self, scored: ScoredConversation, timestamp: Timestamp | None = None) -> Iterator[Any]:
        """Yields the outputs of a scored conversation, or its failure."""
        try:
            evaluated = decide(scored, self._run)
        except RAISED as error:
            yield self.lost(scored.sample, error)
            return
        self.counts["results"] += 1
        PROGRESS.conversations += 1
        PROGRESS.turns += len(scored.sample.conversation.turns)
        if self._may_guess:
            self._guesses.add(scored)
        yield from self._emission.give(evaluated, timestamp)

    def lost(self, sample: Sample, error: BaseException) -> Any:
        """Returns the failure of a conversation that could not be scored, and counts it."""
        self.count("lost_conversations")
        failure = record_failure("score", error, sample.record, sample.conversation.conversation_id)
        return TaggedOutput(FAILURES, failure)


class _MeasureFn(ScoringDoFn):
    def __init__(self, criteria: Sequence[MeasuredCriterion], run: RunInfo) -> None:
        super().__init__(criteria, run, BundleSums())
        self._criteria = tuple(criteria)

    def process(self, sample: Sample) -> Iterator[Any]:
        try:
            scored = score_conversation(sample, self._criteria)
        except RAISED as error:
            yield self.lost(sample, error)
            return
        yield from self.outputs(scored)


class ScoreTurns(beam.PTransform[PCollection[Sample], DoOutputsTuple]):
    """Fans every conversation out into turns and measured criteria, in one fused step."""

    def __init__(self, criteria: Sequence[MeasuredCriterion], run: RunInfo) -> None:
        super().__init__()
        self._criteria, self._run = criteria, run

    def expand(self, matched: "PCollection[Sample]") -> Any:
        """Returns keyed sums, lists of score rows, lists of result rows, and failures."""
        return matched | "Score" >> beam.ParDo(_MeasureFn(self._criteria, self._run)).with_outputs(
            STATISTICS, SCORES, RESULTS, FAILURES
        )
