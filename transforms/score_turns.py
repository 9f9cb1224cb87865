"""Scores conversations and gives what the sinks and the metrics are made of."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import apache_beam as beam
from apache_beam.pvalue import DoOutputsTuple, PCollection

from schemas.failure import Failure, record_failure
from schemas.rows import ResultRow, ScoreRow
from transforms.conversation_case import ConversationCase
from transforms.counting import CountingDoFn
from transforms.criteria.base import Criterion
from transforms.metrics import ConversationStatistics, conversation_statistics
from transforms.parse import FAILURES
from transforms.progress import PROGRESS
from transforms.results import RunInfo, evaluation_result
from transforms.rows import result_row, score_rows
from transforms.scoring import score_conversation
from transforms.verdict import conversation_verdict

STATISTICS = "statistics"
SCORES = "scores"
RESULTS = "results"


class EvaluatedConversation(NamedTuple):
    """Everything that a conversation gives to the sinks and the metrics.

    Attributes:
        scores: Its score rows.
        result: Its one result row, in a list.
        statistics: App version ("" if unknown) and what the conversation adds to its metrics.
        failures: What could not be scored.
    """

    scores: list[ScoreRow]
    result: list[ResultRow]
    statistics: tuple[str, ConversationStatistics]
    failures: list[Failure]


def evaluate(case: ConversationCase, criteria: Sequence[Criterion], run: RunInfo) -> EvaluatedConversation:
    """Scores a conversation and decides it."""
    scored = score_conversation(case, criteria)
    verdict = conversation_verdict(scored)
    result = evaluation_result(scored, verdict, run)
    statistics = conversation_statistics(scored, verdict, result)
    return EvaluatedConversation(
        list(score_rows(scored, run.run_id)),
        [result_row(scored, result)],
        (case.conversation.app_version or "", statistics),
        scored.failures,
    )


class _ScoreFn(CountingDoFn):
    def __init__(self, criteria: Sequence[Criterion], run: RunInfo) -> None:
        super().__init__()
        self._criteria, self._run = criteria, run

    def process(self, case: ConversationCase) -> Iterator[Any]:
        try:
            evaluated = evaluate(case, self._criteria, self._run)
        except Exception as error:
            self.count("lost_conversations")
            failure = record_failure("score", error, case.record, case.conversation.conversation_id)
            yield beam.pvalue.TaggedOutput(FAILURES, failure)
            return
        for failure in evaluated.failures:
            yield beam.pvalue.TaggedOutput(FAILURES, failure)
        self.count("results")
        PROGRESS.conversations += 1
        PROGRESS.turns += len(case.conversation.turns)
        yield beam.pvalue.TaggedOutput(SCORES, evaluated.scores)
        yield beam.pvalue.TaggedOutput(RESULTS, evaluated.result)
        yield evaluated.statistics


class ScoreTurns(beam.PTransform[PCollection[ConversationCase], DoOutputsTuple]):
    """Fans every conversation out into turns and criteria, in one fused step."""

    def __init__(self, criteria: Sequence[Criterion], run: RunInfo) -> None:
        """Keeps the criteria."""
        super().__init__()
        self._criteria, self._run = tuple(criteria), run

    def expand(self, matched: "PCollection[ConversationCase]") -> Any:
        """Gives keyed statistics, lists of score rows, lists of result rows, and failures."""
        return matched | "Score" >> beam.ParDo(_ScoreFn(self._criteria, self._run)).with_outputs(
            SCORES, RESULTS, FAILURES, main=STATISTICS
        )
