"""Scores conversations and gives what the sinks and the metrics are made of."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import apache_beam as beam
from apache_beam.pvalue import DoOutputsTuple, PCollection, TaggedOutput
from apache_beam.transforms.window import GlobalWindows
from apache_beam.utils.timestamp import Timestamp

from schemas.failure import record_failure
from schemas.rows import ResultRow, ScoreRow
from transforms.conversation_case import ConversationCase
from transforms.counting import CountingDoFn
from transforms.criteria.base import MeasuredCriterion
from transforms.guesses import GuessCounts
from transforms.metrics import MetricsState
from transforms.parse import FAILURES
from transforms.progress import PROGRESS
from transforms.results import RunInfo, evaluation_result
from transforms.rows import result_row, score_rows
from transforms.scoring import ScoredConversation, score_conversation
from transforms.slices import slices_of
from transforms.verdict import Verdict, conversation_verdict

STATISTICS = "statistics"
SCORES = "scores"
RESULTS = "results"


class EvaluatedConversation(NamedTuple):
    """Everything that a conversation gives to the sinks and the metrics.

    Attributes:
        scores: Its score rows.
        results: Its one result row, in a list.
    """

    scored: ScoredConversation
    verdict: Verdict
    scores: list[ScoreRow]
    results: list[ResultRow]

    def add_to(self, sums: dict[str, MetricsState]) -> None:
        """Adds the conversation to the sums of its app version ("" if unknown)."""
        version = self.scored.case.conversation.app_version or ""
        state = sums.get(version)
        if state is None:
            state = sums[version] = MetricsState()
        state.add(self.scored, self.verdict, self.results[0]["result"])


def evaluate(
    case: ConversationCase, criteria: Sequence[MeasuredCriterion], run: RunInfo
) -> EvaluatedConversation:
    """Scores a conversation by measured criteria and decides it."""
    return decide(score_conversation(case, criteria), run)


def decide(scored: ScoredConversation, run: RunInfo) -> EvaluatedConversation:
    """Decides a scored conversation, and tells which slices it belongs to."""
    scored.slices = slices_of(scored.case, run.slices)
    verdict = conversation_verdict(scored)
    result = evaluation_result(scored, verdict, run)
    rows = list(score_rows(scored, run.run_id))
    return EvaluatedConversation(scored, verdict, rows, [result_row(scored, result)])


class Emission(Protocol):
    """How evaluated conversations leave the step that scored them."""

    def start(self) -> None:
        """Forgets a bundle that did not end."""

    def give(self, evaluated: EvaluatedConversation, timestamp: Timestamp | None) -> Iterator[Any]:
        """Yields what leaves at once."""

    def finish(self) -> Iterator[Any]:
        """Yields what leaves with the bundle."""


class BundleSums:
    """Rows leave at once, to their tables; what a bundle adds to the metrics is summed up over it."""

    def __init__(self) -> None:
        """Starts with no sums."""
        self._sums: dict[str, MetricsState] = {}

    def start(self) -> None:
        """Starts with no sums."""
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
    """Decides scored conversations and lets them leave."""

    def __init__(self, run: RunInfo, emission: Emission) -> None:
        """Keeps the run that results belong to, and how they leave."""
        super().__init__()
        self._run, self._emission = run, emission
        self._guesses = GuessCounts()

    def start_bundle(self) -> None:
        """Starts with nothing scored."""
        super().start_bundle()
        self._emission.start()
        self._guesses = GuessCounts()

    def finish_bundle(self) -> Iterator[Any]:
        """Yields what leaves with the bundle."""
        super().finish_bundle()
        self._guesses.hand_over()
        yield from self._emission.finish()

    def outputs(self, scored: ScoredConversation, timestamp: Timestamp | None = None) -> Iterator[Any]:
        """Yields everything that a scored conversation gives, or the failure to decide it."""
        try:
            evaluated = decide(scored, self._run)
        except Exception as error:
            yield self.lost(scored.case, error)
            return
        self.count("results")
        PROGRESS.conversations += 1
        PROGRESS.turns += len(scored.case.conversation.turns)
        self._guesses.add(scored)
        yield from self._emission.give(evaluated, timestamp)

    def lost(self, case: ConversationCase, error: Exception) -> Any:
        """Returns the failure of a conversation that could not be scored, and counts it."""
        self.count("lost_conversations")
        failure = record_failure("score", error, case.record, case.conversation.conversation_id)
        return TaggedOutput(FAILURES, failure)


class _MeasureFn(ScoringDoFn):
    def __init__(self, criteria: Sequence[MeasuredCriterion], run: RunInfo) -> None:
        super().__init__(run, BundleSums())
        self._criteria = tuple(criteria)

    def process(self, case: ConversationCase) -> Iterator[Any]:
        try:
            scored = score_conversation(case, self._criteria)
        except Exception as error:
            yield self.lost(case, error)
            return
        yield from self.outputs(scored)


class ScoreTurns(beam.PTransform[PCollection[ConversationCase], DoOutputsTuple]):
    """Fans every conversation out into turns and measured criteria, in one fused step."""

    def __init__(self, criteria: Sequence[MeasuredCriterion], run: RunInfo) -> None:
        """Keeps the criteria."""
        super().__init__()
        self._criteria, self._run = criteria, run

    def expand(self, matched: "PCollection[ConversationCase]") -> Any:
        """Gives keyed sums, lists of score rows, lists of result rows, and failures."""
        return matched | "Score" >> beam.ParDo(_MeasureFn(self._criteria, self._run)).with_outputs(
            STATISTICS, SCORES, RESULTS, FAILURES
        )
