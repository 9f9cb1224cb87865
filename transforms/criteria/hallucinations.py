"""hallucinations_v1: the share of an answer's sentences that their context supports."""

from collections.abc import Sequence
from operator import itemgetter
from statistics import mean
from typing import ClassVar, Literal, TypeVar

from pydantic import Field

from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.score import CriterionHarm, Score
from turnwise.transforms.criteria.citations import was_skipped
from turnwise.transforms.criteria.responses import AdkJudged
from turnwise.transforms.judging.ask import Ask, Ballot, Question, Vote, vote_each
from turnwise.transforms.judging.prompts import (
    MAX_SECTION,
    ReasonedReply,
    Reply,
    agent_sections,
    asked_sections,
    earlier_sections,
    facts,
    left_out,
    messages_of_user,
    statement_sections,
    unjudged_reason,
)
from turnwise.transforms.local_judge.grounding import ground, probability
from turnwise.transforms.matching.expectations import turn_texts
from turnwise.transforms.matching.sample import Sample, TurnPair
from turnwise.transforms.text.cleaning import quoted
from turnwise.transforms.text.sentences import MAX_SENTENCES, SentenceSpan, sentences

Label = Literal["supported", "unsupported", "contradictory", "disputed", "not_applicable"]
_Figure = TypeVar("_Figure")
_GOOD = ("supported", "not_applicable")


class SentenceVerdict(ReasonedReply):
    """Verdict on one sentence."""

    number: int = Field(description="Number of the sentence, as in its section's name.")
    supporting_quote: str = Field(description="The words of the context that support it; empty if none do.")
    contradicting_quote: str = Field(description="The words of the context that contradict it; or empty.")
    reason: str = Field(description="Why, in one sentence.")
    label: Label


class HallucinationsReply(Reply):
    """One entry for every sentence."""

    sentences: list[SentenceVerdict]

    def inapplicable(self) -> Sequence[bool]:
        """Returns for each sentence whether it claims nothing."""
        return [verdict.label == "not_applicable" for verdict in self.sentences]


class LocalHallucinationsReply(HallucinationsReply):
    """The local judge's answer; no model is asked for it.

    Attributes:
        coverages: How much of each sentence the evidence holds, 0..1, and its weight; None: it claims
            nothing.
    """

    coverages: list[tuple[float, float] | None]


class _Sentence:
    """A sentence of one of the messages that are judged together."""

    def __init__(self, message: int, text: str, span: SentenceSpan) -> None:
        self.message, self.span, self.text = message, span, text[span.start : span.end]


class Hallucinations(AdkJudged):
    """Share of the sentences of an answer that their context supports, or that claim nothing, 0..1.

    The context includes the references of an answer. The details hold every sentence's label, reason, quotes
    and code-point offsets. The local judge's value is the probability that people call an answer supported,
    by the mean coverage of its sentences that claim something; without one the answer is not applicable.

    When to use: Answers must be supported by tool results and other context. It needs no eval case.

    Attributes:
        evaluate_intermediate_nl_responses: Judge all messages of the agent in a turn; the score is the mean
            over the messages. All are checked against the tool results of the whole turn.
    """

    name: ClassVar[str] = "hallucinations_v1"
    needs: ClassVar[str] = "answers of the agent"
    harm: ClassVar[CriterionHarm] = "unsupported"

    evaluate_intermediate_nl_responses: bool = False

    async def judge(self, sample: Sample, pair: TurnPair, ask: Ask) -> Score | None:
        """Labels every sentence of a recorded turn at once.

        Returns:
            None if there is no sentence, a refusal, or for the local judge nothing that claims anything.
        """
        turn = pair.actual
        if turn is None or was_skipped(turn):
            return None
        messages = turn_texts(turn) if self.evaluate_intermediate_nl_responses else [turn.agent or ""]
        if max(map(len, messages), default=0) > MAX_SECTION:
            return Score(None, f"an answer of more than {MAX_SECTION} characters is not judged by sentences")
        found = _sentences(messages, sample.conversation.language)
        if not found:
            return None
        if len(found) > MAX_SENTENCES:
            return Score(None, f"{len(found)} sentences; at most {MAX_SENTENCES} are judged")
        context = [
            *agent_sections(sample.conversation, turn),
            *earlier_sections(sample.conversation, turn),
            *asked_sections(sample.conversation, turn),
        ]
        texts = [sentence.text for sentence in found]
        prompt = self._prompt("hallucinations/2", [*context, *statement_sections("sentence", texts)])
        question = Question(
            prompt,
            HallucinationsReply,
            self.options,
            lambda: local_reply(texts, facts(context), messages_of_user(context)),
        )
        return _score(found, await vote_each(ask, question, lambda r: _votes(r, len(found)), len(found)))

    def mean(self, values: Sequence[float]) -> float:
        """Returns the mean, rounded once as google-adk's is."""
        return mean(values)


def _sentences(messages: Sequence[str], language: str | None) -> list[_Sentence]:
    return [_Sentence(i, text, span) for i, text in enumerate(messages) for span in sentences(text, language)]


def local_reply(
    texts: Sequence[str], evidence: Sequence[str], asked: Sequence[str]
) -> LocalHallucinationsReply:
    """Labels sentences without a model; see `ground`."""
    found = ground(texts, evidence, asked)
    verdicts = [
        SentenceVerdict(
            number=number,
            supporting_quote=verdict.quote if verdict.label == "supported" else "",
            contradicting_quote=verdict.quote if verdict.label == "contradictory" else "",
            reason=verdict.reason,
            label=verdict.label,
        )
        for number, verdict in enumerate(found, 1)
    ]
    coverages = [
        None if verdict.coverage is None else (verdict.coverage, verdict.weight) for verdict in found
    ]
    return LocalHallucinationsReply(sentences=verdicts, coverages=coverages)


def _votes(reply: HallucinationsReply, count: int) -> list[bool | None]:
    said: list[set[bool]] = [set() for _ in range(count)]
    for verdict in reply.sentences:
        if 1 <= verdict.number <= count:
            said[verdict.number - 1].add(verdict.label in _GOOD)
    return [next(iter(goods)) if len(goods) == 1 else None for goods in said]


def _score(found: Sequence[_Sentence], vote: Vote[HallucinationsReply]) -> Score | None:
    prompt = vote.answers.question.prompt
    details = [
        _detail(sentence, ballot, i, prompt.evidence)
        for i, (sentence, ballot) in enumerate(zip(found, vote.ballots, strict=True), 1)
    ]
    score = Score(None, judge=vote.answers.use, details={"sentences": details, **left_out(prompt)})
    missing = sum(ballot.value is None for ballot in vote.ballots)
    if missing:
        score.reason = unjudged_reason(missing, len(found), vote.answers.reason)
        return score
    coverages = _coverages(vote.answers.replies)
    if coverages:
        return _graded(score, details, _by_message(found, coverages), coverages)
    score.value = mean(map(mean, _by_message(found, [ballot.value for ballot in vote.ballots])))
    score.explanation = next((d["reason"] for d in details if d["label"] not in _GOOD), details[0]["reason"])
    return score


def _coverages(replies: Sequence[HallucinationsReply]) -> list[tuple[float, float] | None]:
    """Returns the coverages of the local judge; an empty list: a model has answered."""
    local = [reply for reply in replies if isinstance(reply, LocalHallucinationsReply)]
    return local[0].coverages if local and len(local) == len(replies) else []


def _by_message(found: Sequence[_Sentence], figures: Sequence[_Figure | None]) -> list[list[_Figure]]:
    """Returns the figures of the sentences of each message that has any."""
    messages: dict[int, list[_Figure]] = {}
    for sentence, figure in zip(found, figures, strict=True):
        if figure is not None:
            messages.setdefault(sentence.message, []).append(figure)
    return list(messages.values())


def _graded(
    score: Score,
    details: Sequence[JsonObject],
    messages: Sequence[Sequence[tuple[float, float]]],
    coverages: Sequence[tuple[float, float] | None],
) -> Score | None:
    """Adds the local judge's value, and the probabilities of the sentences to their details.

    Args:
        score: The score without its value.
        details: Details of the sentences.
        messages: Coverages and weights of the sentences of each message that claim something; empty: the
            score is None.
        coverages: Coverages of all sentences.
    """
    for detail, covered in zip(details, coverages, strict=True):
        detail["probability"] = None if covered is None else probability([covered])
    if not messages:
        return None
    claims = [detail for detail in details if detail["probability"] is not None]
    score.value = mean(map(probability, messages))
    score.explanation = min(claims, key=itemgetter("probability"))["reason"]
    return score


def _detail(
    sentence: _Sentence, ballot: Ballot[HallucinationsReply], number: int, evidence: str
) -> JsonObject:
    verdicts = ballot.reply.sentences if ballot.reply else ()
    verdict = next((v for v in verdicts if v.number == number), None)
    detail: JsonObject = {
        "sentence": sentence.text,
        "message": sentence.message,
        "start": sentence.span.start,
        "end": sentence.span.end,
        "label": verdict.label if verdict else None,
        "reason": verdict.reason if verdict else None,
        "votes": [ballot.positives, ballot.negatives],
    }
    if verdict:
        detail |= quoted(verdict.supporting_quote, evidence, "supporting_quote")
        detail |= quoted(verdict.contradicting_quote, evidence, "contradicting_quote")
    return detail
