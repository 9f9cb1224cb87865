"""hallucination: CES's check of a turn's claims against their context."""

from collections import Counter
from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import Field

from turnwise.schemas.conversation import ExpectedTurn
from turnwise.schemas.harm import CriterionHarm
from turnwise.schemas.score import Score
from turnwise.transforms.criteria.base import JudgedCriterion
from turnwise.transforms.judging.ask import Ask, Question
from turnwise.transforms.judging.prompts.render import agent_sections, asked_sections, earlier_sections, facts
from turnwise.transforms.judging.prompts.reply import ReasonedReply
from turnwise.transforms.judging.prompts.sections import MAX_SECTION, JudgedSection
from turnwise.transforms.judging.prompts.statements import left_out
from turnwise.transforms.judging.vote import ask_all
from turnwise.transforms.local_judge.grounding import ground
from turnwise.transforms.matching.expectations import turn_texts
from turnwise.transforms.matching.sample import Sample, TurnPair
from turnwise.transforms.text.quotes import quoted
from turnwise.transforms.text.sentences import sentences

NO_CLAIM = -1
LABELS = {1: "Justified", 0: "Not Justified", NO_CLAIM: "No Claim To Assess"}
"""CES's labels of the scores."""

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


class Hallucination(JudgedCriterion):
    """CES's hallucination score of a turn with tool calls: 1 justified, 0 not justified, -1 no claim.

    A score of -1 is outside the scale: it enters no mean and has no outcome. Of several samples
    the most frequent verdict counts, and of equally frequent ones the worst.

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
            lambda: local_reply(answer, language, facts(context)),
            lambda reply: [reply.verdict],
        )
        return await self._ask(question, ask)

    async def _ask(self, question: Question[HallucinationReply], ask: Ask) -> Score:
        answers = await ask_all(ask, question)
        if not answers.replies:
            return Score(None, reason=answers.reason, judge=answers.use)
        verdict = _most_frequent([reply.verdict for reply in answers.replies])
        reply = next(reply for reply in answers.replies if reply.verdict == verdict)
        score, prompt = _SCORES[verdict], question.prompt
        details = {
            **quoted(reply.claim_quote, prompt.evidence, "claim_quote"),
            **quoted(reply.context_quote, prompt.evidence, "context_quote"),
            "verdicts": [reply.verdict for reply in answers.replies],
            **left_out(prompt),
        }
        return Score(
            float(score), label=LABELS[score], explanation=reply.reason, details=details, judge=answers.use
        )

    def gated(self, score: Score) -> Score:
        """Applies the threshold, except to a score without a claim."""
        return super().gated(score) if self.counts(score) else score

    def overall(self, turns: Sequence[Score]) -> Score | None:
        """Returns the share of the turns with claims that are justified, 0..1; None if no turn claims."""
        return super().overall([score for score in turns if self.counts(score)])


def local_reply(answer: str, language: str | None, evidence: Sequence[str]) -> HallucinationReply:
    """Judges an answer without a model, by its first 20,000 characters.

    The verdict is `not_justified` if a sentence contradicts the evidence, or has a number, date or identifier
    that the evidence does not hold. Other words can only justify a sentence, because answers paraphrase tool
    results.
    """
    texts = [answer[start:end] for start, end in sentences(answer[:MAX_SECTION], language)]
    verdicts = list(zip(texts, ground(texts, evidence), strict=True))
    refuted = [found for found in verdicts if found[1].is_certain]
    supported = [found for found in verdicts if found[1].label == "supported"]
    if not refuted and not supported:
        reason = "No sentence claims what the evidence could tell."
        return HallucinationReply(claim_quote="", context_quote="", reason=reason, verdict="no_claim")
    text, found = (refuted or supported)[0]
    verdict: Justification = "not_justified" if refuted else "justified"
    return HallucinationReply(
        claim_quote=text, context_quote=found.quote, reason=found.reason, verdict=verdict
    )


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
