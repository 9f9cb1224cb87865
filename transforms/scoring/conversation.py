"""Gives the rows and the result of one scored conversation, without Beam."""

from typing import Any, NamedTuple

from turnwise.schemas.config import RedactConfig
from turnwise.schemas.rows import ConversationRow, ResultRow, ScoreRow
from turnwise.schemas.run import RunInfo
from turnwise.transforms.ces.result import evaluation_result, result_parts
from turnwise.transforms.ces.verdict import ces_verdict
from turnwise.transforms.metrics.repeats import slices_of
from turnwise.transforms.metrics.rows import result_row, score_rows
from turnwise.transforms.metrics.state import SumPart
from turnwise.transforms.review.row import reviewer_of
from turnwise.transforms.scoring.evaluate import (
    Rules,
    ScoredConversation,
    Verdict,
    conversation_verdict,
)
from turnwise.transforms.scoring.redaction import redact_failure, redact_rows, redactor_of

RULES: Rules = {"ces": ces_verdict}
"""The dialects of eval cases that have a verdict of their own."""


class EvaluatedConversation(NamedTuple):
    """Everything that a conversation gives to the sinks and the metrics.

    Attributes:
        scores: Its score rows.
        results: Its one result row, in a list.
        conversations: Its one row with what to read, in a list.
        parts: What it adds to the sums of its dialect.
    """

    scored: ScoredConversation
    verdict: Verdict
    scores: list[ScoreRow]
    results: list[ResultRow]
    conversations: list[ConversationRow]
    parts: list[SumPart]


def decide(scored: ScoredConversation, run: RunInfo) -> EvaluatedConversation:
    """Decides a scored conversation, and determines its slices."""
    sample = scored.sample
    if run.slices and (sample.tags or sample.has_answers or sample.conversation.language):
        scored.slices = slices_of(sample, run.slices)
    verdict = conversation_verdict(scored, RULES)
    message = evaluation_result(scored, verdict, run)
    parts = result_parts(message)
    conversation = reviewer_of(run).row(scored, verdict)
    row = result_row(sample, verdict, message, conversation["case_digest"])
    evaluated = EvaluatedConversation(scored, verdict, score_rows(scored, run), [row], [conversation], parts)
    return evaluated if run.redact is None else _redacted(evaluated, run.redact)


def _redacted(evaluated: EvaluatedConversation, config: RedactConfig) -> EvaluatedConversation:
    """Returns what leaves the process: rows, failures and names of slices with markers."""
    scored = evaluated.scored
    redactor = scored.redactor
    if redactor is None:
        redactor = scored.redactor = redactor_of(config, scored.sample, _foreign_texts(scored))
    else:
        redactor.learn([(row["reason"], row["explanation"], row["details"]) for row in evaluated.scores])
    if redactor is None or not redactor.has_values(scored.sample.record.source):
        return evaluated
    scored.slices = {redactor.identity(name): turns for name, turns in scored.slices.items()}
    for failure in scored.failures:
        redact_failure(failure, config, redactor)
    scores, results, conversations = redact_rows(redactor, *evaluated[2:5])
    return evaluated._replace(scores=scores, results=results, conversations=conversations)


def _foreign_texts(scored: ScoredConversation) -> list[Any]:
    """Returns what criteria of plugins say; those of turnwise have their words from the conversation."""
    entries = [e for e in scored.scores if not type(e.criterion).__module__.startswith("turnwise.")]
    scores = [score for entry in entries for score in (*(turn for _, turn in entry.turns), entry.overall)]
    return [(score.reason, score.explanation, score.label, score.details) for score in scores if score]
