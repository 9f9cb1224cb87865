"""Asks a judge about numbered items, yes or no, in one answer."""

from collections.abc import Callable, Sequence
from typing import Literal

from pydantic import Field

from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.score import Score
from turnwise.transforms.judging.ask import Ask, JudgeModelOptions, Prompt, Question
from turnwise.transforms.judging.prompts.reply import ReasonedReply, Reply
from turnwise.transforms.judging.prompts.sections import Section
from turnwise.transforms.judging.vote import Ballot, Vote, vote_each
from turnwise.transforms.text.cleaning import quoted

UNREAD = "unread"


class StatementVerdict(ReasonedReply):
    """Verdict on one numbered item."""

    number: int = Field(description="Number of the item, as in its section's name.")
    quote: str = Field(description="The words of the material that decide; empty if there are none.")
    reason: str = Field(description="Why, in one or two sentences.")
    verdict: Literal["yes", "no"]


class StatementReply(Reply):
    """One entry for every numbered item."""

    verdicts: list[StatementVerdict]


def statement_sections(word: str, texts: Sequence[str]) -> list[Section]:
    """Returns texts as numbered sections, `{word} 1` and so on."""
    return [Section(f"{word} {i}", text) for i, text in enumerate(texts, 1)]


async def judge_statements(
    ask: Ask,
    prompt: Prompt,
    options: JudgeModelOptions,
    count: int,
    local: Callable[[], StatementReply] | None = None,
) -> tuple[list[JsonObject], Vote[StatementReply]]:
    """Asks about numbered items at once.

    Args:
        ask: The judge.
        prompt: Prompt with the items as numbered sections.
        options: Model and number of samples.
        count: Number of items.
        local: Answers without a model; None: only a model can answer.

    Returns:
        For every item its score (1.0 yes, 0.0 no, None: not judged), reason, quote and votes; and the vote.
    """
    vote = await vote_each(
        ask, Question(prompt, StatementReply, options, local), lambda reply: _votes(reply, count), count
    )
    found = [_finding(ballot, i, prompt.evidence) for i, ballot in enumerate(vote.ballots, 1)]
    for item in found if prompt.unread else ():
        if item["score"]:
            item |= {"score": None, "reason": unread_reason(prompt.unread)}
    return found, vote


def share(scores: Sequence[float | None], reason: str, threshold: float | None) -> Score:
    """Returns the share of yes among some scores, 0..1.

    The value covers the judged items. While items are unjudged, the outcome is never PASS, and FAIL only if
    yes for all of them would not reach the threshold.

    Args:
        scores: For every item 1.0, 0.0 or None (not judged).
        reason: Why items are not judged.
        threshold: Lowest share that passes; None: no outcome.
    """
    judged = [score for score in scores if score is not None]
    missing = len(scores) - len(judged)
    if not judged:
        return Score(None, reason=reason)
    value = sum(judged) / len(judged)
    score = Score(value)
    if missing:
        score.reason = unjudged_reason(missing, len(scores), reason)
        best = (sum(judged) + missing) / len(scores)
        if threshold is not None and best < threshold:
            score.threshold, score.outcome = threshold, "FAIL"
    elif threshold is not None:
        score.threshold, score.outcome = threshold, "PASS" if value >= threshold else "FAIL"
    return score


def unjudged_reason(missing: int, total: int, reason: str) -> str:
    """Returns why something has no value: the reason alone where nothing at all was judged."""
    return reason if missing == total else f"{missing} of {total} not judged: {reason}"


def share_score(
    found: Sequence[JsonObject], vote: Vote[StatementReply], name: str, threshold: float | None
) -> Score:
    """Returns the share of yes among findings, with the findings as details.

    Unlike `share`, the value is None while a finding is missing.

    Args:
        found: Findings of `judge_statements`.
        vote: Its vote.
        name: Key of the findings in the details.
        threshold: Lowest share that passes; None: no outcome.
    """
    unasked = (item["reason"] for item in found if item["score"] is None and item["reason"])
    score = share([item["score"] for item in found], next(unasked, vote.answers.reason), threshold)
    score.value = None if score.reason else score.value
    score.judge, score.explanation = vote.answers.use, explanation(found)
    score.details = {name: list(found), **left_out(vote.answers.question.prompt)}
    return score


def explanation(found: Sequence[JsonObject]) -> str | None:
    """Returns the reason of the first negative finding, or else of the first finding."""
    judged = [item for item in found if item["score"] is not None]
    decisive = next((item for item in judged if not item["score"]), judged[0] if judged else None)
    return decisive["reason"] if decisive else None


def left_out(prompt: Prompt) -> JsonObject:
    """Returns the number of omitted characters of evidence and of judged text, as details."""
    details = {"left_out": prompt.left_out, UNREAD: prompt.unread}
    return {name: count for name, count in details.items() if count}


def unread_reason(count: int) -> str:
    """Returns the reason of a score whose judged text was truncated."""
    return f"{count} characters of what was to be judged were not read"


def _votes(reply: StatementReply, count: int) -> list[bool | None]:
    """Reads an answer; an item that is left out, or answered both ways, abstains."""
    said: list[set[bool]] = [set() for _ in range(count)]
    for verdict in reply.verdicts:
        if 1 <= verdict.number <= count:
            said[verdict.number - 1].add(verdict.verdict == "yes")
    return [next(iter(answers)) if len(answers) == 1 else None for answers in said]


def _finding(ballot: Ballot[StatementReply], number: int, evidence: str) -> JsonObject:
    verdicts = ballot.reply.verdicts if ballot.reply else ()
    verdict = next((v for v in verdicts if v.number == number), None)
    return {
        "score": ballot.value,
        "reason": verdict.reason if verdict else None,
        **quoted(verdict.quote if verdict else "", evidence),
        "votes": [ballot.positives, ballot.negatives],
    }
