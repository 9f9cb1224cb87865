"""hallucinations_v1: the share of an answer's sentences that their context supports."""

from collections import defaultdict
from collections.abc import Sequence
from operator import itemgetter
from statistics import mean
from typing import ClassVar, Literal

from pydantic import Field

from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.score import CriterionSeverityReason, Score
from turnwise.transforms.criteria.citations import was_skipped
from turnwise.transforms.criteria.responses import AdkJudged
from turnwise.transforms.judging.ask import Ask, Ballot, Question, Vote, vote_each
from turnwise.transforms.judging.prompts import (
    MAX_SECTION,
    ReasonedReply,
    Reply,
    context_sections,
    facts,
    left_out,
    messages_of_user,
    statement_sections,
    unjudged_reason,
    votes_of,
)
from turnwise.transforms.local_judge.grounding import ground, probability
from turnwise.transforms.matching.expectations import turn_texts
from turnwise.transforms.matching.sample import Sample, TurnPair
from turnwise.transforms.text.cleaning import quoted
from turnwise.transforms.text.sentences import MAX_SENTENCES, sentences

Label = Literal["supported", "unsupported", "contradictory", "disputed", "not_applicable"]
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
    severity_reason: ClassVar[CriterionSeverityReason] = "unsupported"

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
        language = sample.conversation.language
        spans = [(i, span) for i, text in enumerate(messages) for span in sentences(text, language)]
        if not spans:
            return None
        if len(spans) > MAX_SENTENCES:
            return Score(None, f"{len(spans)} sentences; at most {MAX_SENTENCES} are judged")
        context = context_sections(sample.conversation, turn)
        texts = [messages[i][span.start : span.end] for i, span in spans]
        prompt = self._prompt("hallucinations/2", [*context, *statement_sections("sentence", texts)])
        question = Question(
            prompt,
            HallucinationsReply,
            self.options,
            lambda: local_reply(texts, facts(context), messages_of_user(context)),
        )
        count = len(spans)
        vote = await vote_each(
            ask,
            question,
            lambda reply: votes_of(((v.number, v.label in _GOOD) for v in reply.sentences), count),
            count,
        )
        details: list[JsonObject] = [
            {"sentence": text, "message": i, "start": span.start, "end": span.end}
            for text, (i, span) in zip(texts, spans, strict=True)
        ]
        for number, (detail, ballot) in enumerate(zip(details, vote.ballots, strict=True), 1):
            detail |= _decision(ballot, number, prompt.evidence)
        return _score(details, vote)

    def mean(self, values: Sequence[float]) -> float:
        """Returns the mean, rounded once as google-adk's is."""
        return mean(values)


def local_reply(
    texts: Sequence[str], evidence: Sequence[str], asked: Sequence[str]
) -> LocalHallucinationsReply:
    """Labels sentences without a model; see `ground`."""
    grounded = ground(texts, evidence, asked)
    verdicts = [
        SentenceVerdict(
            number=number,
            supporting_quote=verdict.quote if verdict.label == "supported" else "",
            contradicting_quote=verdict.quote if verdict.label == "contradictory" else "",
            reason=verdict.reason,
            label=verdict.label,
        )
        for number, verdict in enumerate(grounded, 1)
    ]
    coverages = [None if v.coverage is None else (v.coverage, v.weight) for v in grounded]
    return LocalHallucinationsReply(sentences=verdicts, coverages=coverages)


def _decision(ballot: Ballot[HallucinationsReply], number: int, evidence: str) -> JsonObject:
    verdicts = ballot.reply.sentences if ballot.reply else ()
    verdict = next((v for v in verdicts if v.number == number), None)
    votes = [ballot.positives, ballot.negatives]
    if verdict is None:
        return {"label": None, "reason": None, "votes": votes}
    supporting = quoted(verdict.supporting_quote, evidence, "supporting_quote")
    contradicting = quoted(verdict.contradicting_quote, evidence, "contradicting_quote")
    return {
        "label": verdict.label,
        "reason": verdict.reason,
        "votes": votes,
        **supporting,
        **contradicting,
    }


def _score(details: Sequence[JsonObject], vote: Vote[HallucinationsReply]) -> Score | None:
    """Returns the mean over the messages of the means of their sentences.

    Of the local judge's answers, it is the mean of the probabilities of the messages by the coverages of
    their sentences that claim something; None: none does.
    """
    values = [ballot.value for ballot in vote.ballots]
    score = Score(None, judge=vote.answers.use)
    score.details = {"sentences": list(details), **left_out(vote.answers.question.prompt)}
    if missing := values.count(None):
        score.reason = unjudged_reason(missing, len(values), vote.answers.reason)
        return score
    local = [reply for reply in vote.answers.replies if isinstance(reply, LocalHallucinationsReply)]
    if not local or len(local) < len(vote.answers.replies):
        by_message: defaultdict[int, list[float]] = defaultdict(list)
        for detail, value in zip(details, values, strict=True):
            by_message[detail["message"]].append(value or 0.0)
        score.value = mean(map(mean, by_message.values()))
        bad = (detail["reason"] for detail in details if detail["label"] not in _GOOD)
        score.explanation = next(bad, details[0]["reason"])
        return score
    claims: defaultdict[int, list[tuple[float, float]]] = defaultdict(list)
    for detail, covered in zip(details, local[0].coverages, strict=True):
        detail["probability"] = None if covered is None else probability([covered])
        if covered is not None:
            claims[detail["message"]].append(covered)
    if not claims:
        return None
    score.value = mean(map(probability, claims.values()))
    claiming = [detail for detail in details if detail["probability"] is not None]
    score.explanation = min(claiming, key=itemgetter("probability"))["reason"]
    return score
