"""Makes the row of a scored conversation."""

from collections.abc import Sequence
from typing import NamedTuple, TypedDict, cast

from turnwise.schemas.conversation import Turn
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.rows import ConversationRow
from turnwise.schemas.run import RunInfo
from turnwise.transforms.criteria.tool_effects import ToolEffects
from turnwise.transforms.effects.mentions import ToolCatalog
from turnwise.transforms.matching.sample import Sample, stated_task
from turnwise.transforms.review.calls import CallEffects, MadeCalls, agent_calls, tool_names, transcript_of
from turnwise.transforms.review.problems import harm_of, one_line, problems_of, unclear_tools, why_of
from turnwise.transforms.scoring.evaluate import ScoredConversation, Verdict
from turnwise.transforms.text.dates import rfc3339

_MOST_REASON = 500


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


class _CallColumns(TypedDict):
    """What a row says of the calls."""

    tool_calls: int
    tool_errors: int
    destructive_calls: int
    unclear_tools: list[str]
    guessed_tools: list[str]
    unknown_calls: str | None


class _Found(NamedTuple):
    """What is wrong with a conversation, by its most severe problem."""

    harm: float = 0.0
    term: str | None = None
    criterion: str | None = None
    turn: int | None = None
    why: str | None = None
    cluster: str | None = None
    cluster_label: str | None = None


_NOTHING = _Found()


def _found(scored: ScoredConversation, verdict: Verdict, effects: ToolEffects | None) -> _Found:
    problems = problems_of(scored, verdict, effects)
    if not problems:
        return _NOTHING
    worst, why = problems[0], why_of(problems[0], scored.sample)
    return _Found(harm_of(problems), worst.term, worst.criterion, worst.turn, *why)


class Reviewer:
    """Makes the rows of a run's conversations.

    Attributes:
        run: The run.
    """

    def __init__(self, run: RunInfo) -> None:
        self.run = run
        self._criterion = ToolEffects(tools=dict(run.tools))
        self._undeclared = CallEffects(ToolCatalog(self._criterion.settings))

    def row(self, scored: ScoredConversation, verdict: Verdict) -> ConversationRow:
        """Returns the row of a conversation."""
        sample, conversation, case = scored.sample, scored.sample.conversation, scored.sample.eval_case
        effects = self._effects(sample)
        made = agent_calls(conversation.turns, effects)
        found = _found(scored, verdict, self._criterion if made.destructive else None)
        tokens_in, tokens_out = _tokens(conversation.turns)
        return {
            "run_id": self.run.run_id,
            "conversation_id": conversation.conversation_id,
            "user_id": conversation.user_id,
            "eval_id": case.eval_id if case else None,
            "eval_set_id": case.eval_set_id if case else None,
            "case_digest": sample.case_digest,
            "task": stated_task(conversation),
            "app_version": conversation.app_version,
            "language": conversation.language,
            "tags": sample.tags,
            "verdict": verdict.status,
            "reason": _reason(verdict),
            "sampled_out": [*scored.sampled_out],
            "ended": conversation.ended,
            "worst_criterion": found.criterion,
            "worst_turn": found.turn,
            "why": found.why,
            "harm": found.harm,
            "harm_term": found.term,
            "cluster": found.cluster,
            "cluster_label": found.cluster_label,
            "turns": len(conversation.turns),
            **self._calls(sample, made, effects),
            "latency_seconds": _seconds(conversation.turns),
            "tokens_in": tokens_in,
            "tokens_out": tokens_out,
            "event_time": _event_time(sample),
            "source": sample.record.source,
            "position": sample.record.position,
            "revision": conversation.revision,
            "transcript": self._transcript(sample, made, effects, found.turn),
        }

    def _calls(self, sample: Sample, made: MadeCalls, effects: CallEffects) -> _CallColumns:
        is_unclear = any(made.changing)
        return {
            "tool_calls": sum(map(len, made.turns)),
            "tool_errors": made.errors,
            "destructive_calls": made.destructive,
            "unclear_tools": unclear_tools(sample, made, effects, self._criterion) if is_unclear else [],
            "guessed_tools": tool_names(made.guessed),
            "unknown_calls": _unknown(sample.conversation.turns) if sample.has_gaps else None,
        }

    def _transcript(
        self, sample: Sample, made: MadeCalls, effects: CallEffects, kept: int | None
    ) -> JsonObject | None:
        if not self.run.transcripts:
            return None
        return cast(JsonObject, transcript_of(sample, made, effects, kept))

    def _effects(self, sample: Sample) -> CallEffects:
        """Returns the effects of a conversation's calls; shared by those that declare no tools."""
        if sample.conversation.tools or (sample.eval_case is not None and sample.eval_case.tools):
            return CallEffects(self._criterion.catalog(sample))
        return self._undeclared


def _reason(verdict: Verdict) -> str | None:
    """Returns why a conversation is not decided, or fails whatever its scores."""
    if not verdict.reasons or verdict.status == "PASS":
        return None
    return one_line("; ".join(verdict.reasons), _MOST_REASON)


def _unknown(turns: Sequence[Turn]) -> str | None:
    """Returns why calls may be missing in the log; None: it states all."""
    found = (f"turn {index}: {turn.unknown_calls}" for index, turn in enumerate(turns) if turn.unknown_calls)
    return one_line(next(found, ""), _MOST_REASON) or None


def _seconds(turns: Sequence[Turn]) -> float | None:
    """Returns the sum of the durations of the turns; None: not all are logged, or there is no turn."""
    stated = [turn.latency_ms for turn in turns if turn.latency_ms is not None]
    return sum(stated) / 1000 if stated and len(stated) == len(turns) else None


def _tokens(turns: Sequence[Turn]) -> tuple[int | None, int | None]:
    """Returns the tokens that were read and written; None: not logged of all turns."""
    usages = [turn.usage for turn in turns if turn.usage is not None]
    if not usages or len(usages) < len(turns):
        return None, None
    return _sum([usage.input_tokens for usage in usages]), _sum([usage.output_tokens for usage in usages])


def _sum(numbers: Sequence[int | None]) -> int | None:
    stated = [number for number in numbers if number is not None]
    return sum(stated) if len(stated) == len(numbers) else None


def _event_time(sample: Sample) -> str | None:
    """Returns the start of a conversation, or else the time of its first timed turn."""
    conversation = sample.conversation
    if conversation.start_time is not None:
        return conversation.start_time
    for turn in conversation.turns:
        if turn.timestamp is not None:
            return rfc3339(turn.timestamp)
    return None
