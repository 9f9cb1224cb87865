"""hallucination: CES's check of a turn's claims against their context."""

from collections import Counter
from collections.abc import Sequence
from typing import ClassVar, Literal

from msgspec.structs import replace
from pydantic import Field

from turnwise.schemas.conversation import ExpectedTurn
from turnwise.schemas.score import CriterionHarm, Score
from turnwise.transforms.criteria.base import JudgedCriterion
from turnwise.transforms.effects.changes import value_text
from turnwise.transforms.judging.ask import Ask, Question
from turnwise.transforms.judging.prompts import (
    agent_sections,
    asked_sections,
    earlier_sections,
    facts,
    messages_of_user,
)
from turnwise.transforms.judging.prompts.reply import ReasonedReply
from turnwise.transforms.judging.prompts.sections import MAX_SECTION, JudgedSection
from turnwise.transforms.judging.prompts.statements import left_out
from turnwise.transforms.judging.vote import ask_all
from turnwise.transforms.local_judge.coverage import probability
from turnwise.transforms.local_judge.grounding import PROBABLE, ground
from turnwise.transforms.matching.expectations import turn_texts
from turnwise.transforms.matching.sample import Sample, TurnPair
from turnwise.transforms.text.cleaning import quoted
from turnwise.transforms.text.sentences import sentences

NO_CLAIM = -1
LABELS = {1: "Justified", 0: "Not Justified", NO_CLAIM: "No Claim To Assess"}
"""CES's labels of the scores."""
UNDECIDED = "Undecided"
"""Label of a value of the local judge that no number or negation decides, and that is not probable."""
INCOMPARABLE = "the local judge cannot tell: the evidence is no prose in the language of the answer"
"""Why the local judge leaves an answer unscored."""

Justification = Literal["justified", "not_justified", "no_claim"]
_SCORES: dict[Justification, int] = {"not_justified": 0, "no_claim": NO_CLAIM, "justified": 1}


class HallucinationReply(ReasonedReply):
    """Verdict on the claims of an answer."""

    claim_quote: str = Field(description="The words of the answer that decide; empty if it claims nothing.")
    context_quote: str = Field(
        description="The words of the context that justify or contradict them; or empty."
    )
    reason: str = Field(description="Why, in one or two sentences.")
    verdict: Justification

    def inapplicable(self) -> Sequence[bool]:
        """Returns whether the answer claims nothing."""
        return (self.verdict == "no_claim",)


class LocalHallucinationReply(HallucinationReply):
    """The local judge's answer; no model is asked for it.

    Attributes:
        probability: Probability that people call the answer supported, 0..1; None: it claims nothing.
        cannot_tell: Whether the evidence is no prose in the language of the answer.
    """

    probability: float | None
    cannot_tell: bool

    def inapplicable(self) -> Sequence[bool]:
        """Returns whether no sentence claims anything; an undecided answer claims something."""
        return (self.probability is None,)


class Hallucination(JudgedCriterion):
    """CES's hallucination score of a turn with tool calls: 1 justified, 0 not justified, -1 no claim.

    A score of -1 is outside the scale: it enters no mean and has no outcome. Of several samples
    the most frequent verdict counts, and of equally frequent ones the worst. The local judge's value is the
    probability that people call the answer supported.

    When to use: CES's own hallucination figure is needed.
    """

    name: ClassVar[str] = "hallucination"
    needs: ClassVar[str] = "answers of the agent"
    harm: ClassVar[CriterionHarm] = "unsupported"
    special_values: ClassVar[tuple[float, ...]] = (NO_CLAIM,)

    async def judge(self, sample: Sample, pair: TurnPair, ask: Ask) -> Score | None:
        """Judges a recorded turn; None if it has no tool call, or the case switches the check off."""
        turn = pair.actual
        called = turn is not None and bool(turn.tool_calls or turn.unknown_calls)
        if turn is None or not called or switched_off(pair.expected):
            return None
        answer = "\n".join(turn_texts(turn))
        if not answer.strip():
            return no_claim("The agent said nothing.")
        if turn.grounded is not None and turn.grounded.skipped_reasons:
            return no_claim(turn.grounded.skipped_text)
        context = [
            *agent_sections(sample.conversation, turn),
            *earlier_sections(sample.conversation, turn),
            *asked_sections(sample.conversation, turn),
        ]
        prompt = self._prompt("hallucination/2", [*context, JudgedSection("answer", answer)])
        language = sample.conversation.language
        question = Question(
            prompt,
            HallucinationReply,
            self.options,
            lambda: local_reply(answer, language, facts(context), messages_of_user(context)),
            lambda reply: [reply.verdict],
        )
        return await self._ask(question, ask)

    async def _ask(self, question: Question[HallucinationReply], ask: Ask) -> Score:
        answers = await ask_all(ask, question)
        if not answers.replies:
            return Score(None, reason=answers.reason, judge=answers.use)
        verdict = _most_frequent([reply.verdict for reply in answers.replies])
        reply = next(reply for reply in answers.replies if reply.verdict == verdict)
        score, prompt = _score(reply), question.prompt
        score.judge = answers.use
        score.details = {
            **quoted(reply.claim_quote, prompt.evidence, "claim_quote"),
            **quoted(reply.context_quote, prompt.evidence, "context_quote"),
            "verdicts": [reply.verdict for reply in answers.replies],
            **left_out(prompt),
        }
        return score

    def gated(self, score: Score) -> Score:
        """Applies the threshold, except to a score without a claim."""
        return super().gated(score) if self.counts(score) else score

    def overall(self, turns: Sequence[Score]) -> Score | None:
        """Returns the share of the turns with claims that are justified, 0..1; None if no turn claims."""
        return super().overall([score for score in turns if self.counts(score)])


def _score(reply: HallucinationReply) -> Score:
    """Returns value, label and explanation of an answer of a judge."""
    score = _SCORES[reply.verdict]
    value, label = float(score), LABELS[score]
    if isinstance(reply, LocalHallucinationReply):
        if reply.cannot_tell:
            return Score(None, reason=reply.reason)
        if reply.probability is not None:
            value, label = reply.probability, UNDECIDED if score == NO_CLAIM else label
    return Score(value, label=label, explanation=reply.reason)


def local_reply(
    answer: str, language: str | None, evidence: Sequence[str], asked: Sequence[str]
) -> LocalHallucinationReply:
    """Judges an answer without a model, by its first 20,000 characters; see `ground`.

    The verdict is `not_justified` only if a sentence contradicts the evidence, or has a number, date or
    identifier that the evidence does not hold; the probability is then 0. Other words can only justify an
    answer, because answers paraphrase tool results.
    """
    texts = [answer[start:end] for start, end in sentences(answer[:MAX_SECTION], language)]
    verdicts = ground(texts, evidence, asked)
    claims = [
        (verdict, text, verdict.coverage)
        for text, verdict in zip(texts, verdicts, strict=True)
        if verdict.coverage is not None
    ]
    if not claims:
        return _local("No sentence claims anything.", "no_claim")
    least, text, _ = min(claims, key=lambda claim: (not claim[0].is_certain, claim[2]))
    if least.is_certain:
        return _local(least.reason, "not_justified", 0.0, text, least.quote)
    value = probability([(covered, verdict.weight) for verdict, _, covered in claims])
    if value >= PROBABLE:
        is_held = least.label == "supported"
        reason = least.reason if is_held else f"The evidence holds most of the answer; least of “{text}”."
        return _local(reason, "justified", value, text, least.quote)
    cannot_tell = not any(verdict.is_comparable for verdict, _, _ in claims)
    reason = INCOMPARABLE if cannot_tell else least.reason
    return _local(reason, "no_claim", value, text, least.quote, cannot_tell=cannot_tell)


def _local(
    reason: str,
    verdict: Justification,
    value: float | None = None,
    claim: str = "",
    context: str = "",
    cannot_tell: bool = False,
) -> LocalHallucinationReply:
    return LocalHallucinationReply(
        claim_quote=claim,
        context_quote=context,
        reason=reason,
        verdict=verdict,
        probability=value,
        cannot_tell=cannot_tell,
    )


def in_ces_terms(score: Score) -> Score:
    """Returns a score as CES has it, 1, 0 or -1; one without a value if the local judge is undecided."""
    if score.value is None:
        return score
    if score.label == UNDECIDED:
        return replace(score, value=None, reason=f"the local judge is undecided, {score.value:.2f}")
    return replace(score, value=float(score.value if score.value < 0 else score.value >= PROBABLE))


def unjustified_text(score: Score) -> str:
    """Returns the sentence that makes a score 0, and why."""
    claim = (score.details or {}).get("claim_quote")
    sentence = f"“{value_text(claim)}” is not justified" if claim else "the answer is not justified"
    return f"hallucination: {sentence}" + (f": {score.explanation}" if score.explanation else ".")


def no_claim(explanation: str) -> Score:
    """Returns the score of a turn without a claim."""
    return Score(float(NO_CLAIM), label=LABELS[NO_CLAIM], explanation=explanation)


def switched_off(expected: ExpectedTurn | None) -> bool:
    """Returns whether a golden turn's expected answers all switch the hallucination check off."""
    key, flag = "agentResponseHallucinationMetricsConfigOverride", "enableHallucinationMetrics"
    answers = [
        e.wire or {} for e in (expected.expectations if expected else ()) if e.kind == "agent_response"
    ]
    return bool(answers) and all(key in wire and not wire[key].get(flag) for wire in answers)


def _most_frequent(verdicts: Sequence[Justification]) -> Justification:
    counts = Counter(verdicts)
    return max(_SCORES, key=lambda verdict: counts[verdict])
