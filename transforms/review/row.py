"""Decides a scored conversation, and makes its rows, without Beam."""

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar, cast

from turnwise.schemas.config import RedactConfig
from turnwise.schemas.conversation import Conversation, Turn, turn_name
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.rows import ConversationRow, ResultRow, ScoreRow
from turnwise.schemas.run import RunInfo
from turnwise.schemas.score import SEVERITIES
from turnwise.transforms.ces.result import evaluation_result, result_parts
from turnwise.transforms.ces.verdict import ces_verdict
from turnwise.transforms.criteria.tool_effects import ToolEffects
from turnwise.transforms.effects.call_effects import ToolCatalog
from turnwise.transforms.matching.sample import Sample, stated_task
from turnwise.transforms.metrics.repeats import slices_of
from turnwise.transforms.metrics.rows import result_row, score_rows
from turnwise.transforms.metrics.state import SumPart
from turnwise.transforms.review.calls import CallEffects, agent_calls, transcript_of
from turnwise.transforms.review.problems import (
    ReviewProblem,
    one_line,
    problems_of,
    severity_of,
    unclear_tools,
    why_of,
)
from turnwise.transforms.scoring.evaluate import (
    Rules,
    ScoredConversation,
    Verdict,
    conversation_verdict,
)
from turnwise.transforms.scoring.redaction import redact_failure, redact_rows, redactor_of
from turnwise.transforms.text.dates import rfc3339

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


# The row of a conversation: what there is to read, and why.

_MOST_REASON = 500
N = TypeVar("N", int, float)

_MOST_RUNS = 16
_REVIEWERS: dict[int, "Reviewer"] = {}


def reviewer_of(run: RunInfo) -> "Reviewer":
    """Returns the reviewer of a run, the same for the same object."""
    known = _REVIEWERS.get(id(run))
    if known is None or known.run is not run:
        if len(_REVIEWERS) >= _MOST_RUNS:
            _REVIEWERS.clear()
        known = _REVIEWERS[id(run)] = Reviewer(run)
    return known


class Reviewer:
    """Makes the rows of a run's conversations."""

    def __init__(self, run: RunInfo) -> None:
        self.run = run
        self._criterion = ToolEffects(tools=dict(run.tools))
        self._undeclared = CallEffects(ToolCatalog(self._criterion.settings))

    def row(self, scored: ScoredConversation, verdict: Verdict) -> ConversationRow:
        """Returns the row of a conversation."""
        sample, conversation, case = scored.sample, scored.sample.conversation, scored.sample.eval_case
        effects = self._effects(sample)
        seconds, tokens_in, tokens_out, event_time = _figures(conversation)
        made = agent_calls(conversation.turns, effects)
        problems: list[ReviewProblem] = []
        has_passed = verdict.status == "PASS" and conversation.ended is None and not made.destructive
        for entry in scored.scores:
            has_passed = has_passed and (entry.overall is None or entry.overall.outcome != "FAIL")
        if not has_passed:
            problems = problems_of(scored, verdict, self._criterion if made.destructive else None)
        worst = problems[0] if problems else None
        why, problem_type, problem_label = why_of(worst, sample) if worst else (None, None, None)
        worst_turn = worst.turn if worst else None
        unclear = unclear_tools(sample, made, effects, self._criterion) if any(made.changing) else []
        transcript = transcript_of(sample, made, effects, worst_turn) if self.run.transcripts else None
        is_open = bool(verdict.reasons) and verdict.status != "PASS"
        return {
            "run_id": self.run.run_id,
            "conversation_id": conversation.conversation_id,
            "user_id": conversation.user_id,
            "eval_id": case.eval_id if case else None,
            "eval_set_id": case.eval_set_id if case else None,
            "case_digest": case.digest if case else None,
            "task": stated_task(conversation) if conversation.meta else conversation.eval_id,
            "app_version": conversation.app_version,
            "language": conversation.language,
            "tags": sample.tags,
            "verdict": verdict.status,
            "reason": one_line("; ".join(verdict.reasons), _MOST_REASON) if is_open else None,
            "sampled_out": [*scored.sampled_out],
            "ended": conversation.ended,
            "worst_criterion": worst.criterion if worst else None,
            "worst_turn": worst_turn,
            "why": why,
            "severity": SEVERITIES[worst.term] if worst else None,
            "severity_score": severity_of(problems) if worst else 0.0,
            "severity_reason": worst.term if worst else None,
            "problem_type": problem_type,
            "problem_label": problem_label,
            "turns": len(conversation.turns),
            "tool_calls": made.number,
            "tool_errors": made.errors,
            "destructive_calls": made.destructive,
            "unclear_tools": unclear,
            "guessed_tools": made.guessed_tools,
            "unknown_calls": _unknown(conversation.turns) if sample.has_gaps else None,
            "latency_seconds": seconds,
            "tokens_in": tokens_in,
            "tokens_out": tokens_out,
            "event_time": event_time,
            "source": sample.record.source,
            "position": sample.record.position,
            "revision": conversation.revision,
            "transcript": cast("JsonObject | None", transcript),
        }

    def _effects(self, sample: Sample) -> CallEffects:
        if sample.conversation.tools or (sample.eval_case is not None and sample.eval_case.tools):
            return CallEffects(self._criterion.catalog(sample))
        return self._undeclared  # shared by conversations that declare no tools


def _unknown(turns: Sequence[Turn]) -> str | None:
    """Returns why calls may be missing in the log; None: it states all."""
    unknown = (
        f"{turn_name(index)}: {turn.unknown_calls}" for index, turn in enumerate(turns) if turn.unknown_calls
    )
    return one_line(next(unknown, ""), _MOST_REASON) or None


def _figures(
    conversation: Conversation,
) -> tuple[float | None, int | None, int | None, str | None]:
    """Returns seconds, tokens read and written, each None if a turn states none, and the first time stated.

    Most logs state nothing of these, and have one look at every turn.
    """
    turns, time = conversation.turns, conversation.start_time
    for turn in turns:
        if turn.latency_ms is not None or turn.usage is not None or turn.timestamp is not None:
            break
    else:
        return None, None, None, time
    usages = [turn.usage for turn in turns if turn.usage is not None]
    is_counted = len(usages) == len(turns)
    total = _sum([turn.latency_ms for turn in turns])
    if time is None:
        stated = next((turn.timestamp for turn in turns if turn.timestamp is not None), None)
        time = None if stated is None else rfc3339(stated)
    return (
        None if total is None else total / 1000,
        _sum([usage.input_tokens for usage in usages]) if is_counted else None,
        _sum([usage.output_tokens for usage in usages]) if is_counted else None,
        time,
    )


def _sum(numbers: Sequence[N | None]) -> N | None:
    stated = [number for number in numbers if number is not None]
    return sum(stated) if len(stated) == len(numbers) else None
