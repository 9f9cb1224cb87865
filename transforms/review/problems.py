"""Finds what is wrong with a scored conversation: failed criteria, destructive calls, no verdict."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from turnwise.schemas.score import HARM_TERMS, HarmTerm, Score
from turnwise.transforms.criteria.base import Criterion
from turnwise.transforms.criteria.ces_turns import Hallucination, in_ces_terms, unjustified_text
from turnwise.transforms.criteria.expectations_met import not_met
from turnwise.transforms.criteria.reasons import why_unpaired
from turnwise.transforms.criteria.tool_effects import ToolEffects
from turnwise.transforms.matching.expectations import ExpectationOutcome
from turnwise.transforms.matching.sample import Sample, broke_off, end_text
from turnwise.transforms.review.calls import DESTRUCTIVE
from turnwise.transforms.scoring.evaluate import CriterionScores, ScoredConversation
from turnwise.transforms.scoring.gaps import conversation_gap
from turnwise.transforms.scoring.verdict import STATUS, Verdict


class ReviewProblem(NamedTuple):
    """One reason to read a conversation.

    Attributes:
        term: Kind of harm.
        gap: Distance from the threshold as a share of the criterion's range, 0..1.
        criterion: Criterion that failed; None: none did.
        turn: 0-based turn of the score; None: the whole conversation.
        score: The failed score; None: there is none.
        text: Why, where no score says it.
        label: Kind of the failure and the tool, where no score says it.
        compares_calls: Whether the criterion compares calls with expected ones.
    """

    term: HarmTerm
    gap: float
    criterion: str | None = None
    turn: int | None = None
    score: Score | None = None
    text: str | None = None
    label: tuple[str, str] | None = None
    compares_calls: bool = False


def problems_of(
    scored: ScoredConversation, verdict: Verdict, effects: ToolEffects | None = None
) -> list[ReviewProblem]:
    """Returns the problems of a conversation, the most severe first; empty: it passed, nothing failed.

    Args:
        scored: The conversation and its scores.
        verdict: Its verdict.
        effects: Finds unexpected destructive calls where the criteria of the run do not; None: there is no
            destructive call.
    """
    found, conversation = [], scored.sample.conversation
    if conversation.ended is not None and broke_off(conversation):
        found.append(ReviewProblem("expectations", 1.0, text=end_text(conversation)))
    if verdict.status is None and STATUS not in scored.sampled_out:
        found.append(ReviewProblem("undecided", 0.0, text=_joined(verdict) or "no verdict"))
    for entry in scored.scores:
        if entry.overall is not None and entry.overall.outcome == "FAIL":
            found.append(_failed(entry, entry.overall))
    if effects is not None:
        found += _destructive(scored, effects)
    if not found and verdict.status == "FAIL":
        return [_unmet(scored, verdict)]
    return sorted(found, key=_severity) if len(found) > 1 else found


def _severity(problem: ReviewProblem) -> tuple[int, float]:
    return HARM_TERMS.index(problem.term), -problem.gap


def _unmet(scored: ScoredConversation, verdict: Verdict) -> ReviewProblem:
    """Returns the first expectation that is not met, of a case that decides by rules of its own."""
    sample, problem = scored.sample, ReviewProblem("expectations", 1.0, text=_joined(verdict) or None)
    if verdict.reasons or sample.eval_case is None:
        return problem
    for pair in sample.pairs:
        if pair.label:
            return problem._replace(turn=pair.index, text=why_unpaired(pair), label=(pair.label, ""))
        found = _first_unmet(sample.replay(pair).outcomes)
        if found is not None:
            return found._replace(turn=pair.index)
    return _first_unmet(sample.scenario_outcomes) or _first_unjustified(scored) or problem


def _first_unmet(outcomes: Sequence[ExpectationOutcome]) -> ReviewProblem | None:
    for outcome in outcomes:
        if outcome.outcome == "FAIL" and outcome.expectation is not None:
            call = outcome.expectation.tool_call
            label = (outcome.expectation.kind, (call.name or "") if call else "")
            return ReviewProblem("expectations", 1.0, text=not_met([outcome]), label=label)
    return None


def _first_unjustified(scored: ScoredConversation) -> ReviewProblem | None:
    for entry in scored.scores:
        for turn, score in entry.turns if isinstance(entry.criterion, Hallucination) else ():
            if in_ces_terms(score).value == 0.0:
                problem = ReviewProblem(Hallucination.harm, 1.0, Hallucination.name, turn)
                return problem._replace(text=unjustified_text(score), label=(score.label or "", ""))
    return None


def _joined(verdict: Verdict) -> str:
    return "; ".join(verdict.reasons)


def _failed(entry: CriterionScores, overall: Score) -> ReviewProblem:
    """Returns the problem of a failed criterion."""
    criterion, (turn, score) = entry.criterion, _worst(entry, overall)
    gap, compares_calls = gap_of(criterion, overall), criterion.needs_expected_calls
    return ReviewProblem(criterion.harm, gap, criterion.name, turn, score, compares_calls=compares_calls)


def _worst(entry: CriterionScores, overall: Score) -> tuple[int | None, Score]:
    """Returns the failed turn with the largest gap, of equal ones the first; else the whole."""
    failed = [found for found in entry.turns if found[1].outcome == "FAIL"]
    if len(failed) < 2:
        return failed[0] if failed else (None, overall)
    return max(failed, key=lambda found: (gap_of(entry.criterion, found[1]), -found[0]))


def gap_of(criterion: Criterion, score: Score) -> float:
    """Returns how far a failed score is from its threshold, as a share of the range of values, 0..1.

    Without a scale the range is the threshold itself. A failure without a value has the gap 1, one that
    reaches the threshold and fails nevertheless the gap 0.
    """
    threshold = score.threshold if score.threshold is not None else criterion.threshold
    if score.value is None or threshold is None:
        return 1.0
    extent = criterion.scale[1] - criterion.scale[0] if criterion.scale else abs(threshold)
    gap = threshold - score.value if criterion.gate == "at_least" else score.value - threshold
    return min(1.0, max(0.0, gap / extent if extent else float(gap > 0)))


def _destructive(scored: ScoredConversation, effects: ToolEffects) -> Iterator[ReviewProblem]:
    """Yields a problem for every destructive call that was not expected."""
    compared = [entry for entry in scored.scores if isinstance(entry.criterion, ToolEffects)]
    name: str | None = ToolEffects.name
    if not any(entry.overall and entry.overall.value is not None for entry in compared):
        compared, name = _compared(scored.sample, effects), None
    for entry in compared:
        scores: list[tuple[int | None, Score]] = [*entry.turns]
        if not any(_of_score(score) for _, score in scores) and entry.overall is not None:
            scores = [(None, entry.overall)]
        for turn, score in scores:
            for _ in _of_score(score):
                yield ReviewProblem(DESTRUCTIVE, 1.0, name, turn, score)


def _of_score(score: Score) -> list[str]:
    """Returns the texts of the destructive calls that were not expected."""
    return (score.details or {}).get(DESTRUCTIVE, [])


def _compared(sample: Sample, effects: ToolEffects) -> list[CriterionScores]:
    """Compares the changes of a conversation with the expected ones, where all of them are known."""
    if sample.eval_case is None or conversation_gap(effects, sample):
        return []
    entry = CriterionScores(effects, overall=effects.score_conversation(sample))
    for pair in sample.evaluable:
        score = effects.score(sample, pair)
        if score is not None:
            entry.turns.append((pair.index, score))
    return [entry]
