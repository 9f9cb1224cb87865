"""Scores conversations and gives what the sinks and the metrics are made of."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import apache_beam as beam
from apache_beam.metrics.metric import Metrics
from apache_beam.pvalue import DoOutputsTuple, PCollection

from schemas.failure import Failure, record_failure
from schemas.rows import ResultRow, ScoreRow
from transforms.conversation_case import ConversationCase
from transforms.criteria.base import Criterion
from transforms.metrics import ConversationStatistics, conversation_statistics
from transforms.parse import FAILURES, NAMESPACE
from transforms.progress import PROGRESS
from transforms.results import RunInfo, evaluation_result
from transforms.rows import result_row, score_rows
from transforms.scoring import score_conversation
from transforms.verdict import conversation_verdict


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


class _ScoreFn(beam.DoFn):
    def __init__(self, criteria: Sequence[Criterion], run: RunInfo) -> None:
        self._criteria, self._run = criteria, run
        self._results = Metrics.counter(NAMESPACE, "results")
        self._lost = Metrics.counter(NAMESPACE, "lost_conversations")

    def process(self, case: ConversationCase) -> Iterator[Any]:
        try:
            evaluated = evaluate(case, self._criteria, self._run)
        except Exception as error:
            self._lost.inc()
            failure = record_failure("score", error, case.record, case.conversation.conversation_id)
            yield beam.pvalue.TaggedOutput(FAILURES, failure)
            return
        for failure in evaluated.failures:
            yield beam.pvalue.TaggedOutput(FAILURES, failure)
        self._results.inc()
        PROGRESS.conversations += 1
        PROGRESS.turns += len(case.conversation.turns)
        yield evaluated


class ScoreTurns(beam.PTransform[PCollection[ConversationCase], DoOutputsTuple]):
    """Fans every conversation out into turns and criteria, in one fused step."""

    def __init__(self, criteria: Sequence[Criterion], run: RunInfo) -> None:
        """Keeps the criteria."""
        super().__init__()
        self._criteria, self._run = tuple(criteria), run

    def expand(self, matched: "PCollection[ConversationCase]") -> Any:
        """Scores, decides and gives EvaluatedConversations and failures."""
        return matched | "Score" >> beam.ParDo(_ScoreFn(self._criteria, self._run)).with_outputs(
            FAILURES, main="evaluated"
        )
