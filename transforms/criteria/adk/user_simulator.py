"""per_turn_user_simulator_quality_v1: adherence of a simulated user to its scenario, by a judge."""

import asyncio
import re
from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import Field

from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import Conversation, Turn
from turnwise.schemas.score import CriterionHarm, Score
from turnwise.transforms.criteria.adk.judged import AdkJudged
from turnwise.transforms.judging.ask import Ask, Question
from turnwise.transforms.judging.prompts import dialogue_sections, position
from turnwise.transforms.judging.prompts.personas import rules_of
from turnwise.transforms.judging.prompts.reply import ReasonedReply
from turnwise.transforms.judging.prompts.sections import Section
from turnwise.transforms.judging.prompts.statements import left_out, statement_sections
from turnwise.transforms.judging.prompts.wordings import wording
from turnwise.transforms.judging.vote import sum_uses, vote
from turnwise.transforms.matching.sample import Sample, TurnPair
from turnwise.transforms.text.cleaning import quoted

_STOP_PLACE = re.compile(r"\{\{\s*stop_signal\s*\}\}")
"""How google-adk's personas name the stop signal."""


class SimulatorReply(ReasonedReply):
    """Verdict on a message of the simulated user."""

    quote: str = Field(description="The words of the message, or of the plan, that decide.")
    reason: str = Field(description="Why, in one or two sentences; name the rule that is violated.")
    verdict: Literal["valid", "invalid"]


class PerTurnUserSimulatorQuality(AdkJudged):
    """1.0 if the simulated user's message follows the scenario, else 0.0.

    The rules are the behaviors of the case's persona, those of google-adk's persona that it names (EXPERT,
    NOVICE, EVALUATOR), or 7 rules for any user. The first message must equal the scenario's starting prompt,
    if there is one. After the last turn, the decision to stop is judged too; if it was wrong, the last turn
    scores 0.0.

    When to use: Check the simulation in conversations with a simulated user.

    Attributes:
        stop_signal: Message of the user that ends the conversation.
        adk_compat: Count a turn without a score as 0 in a conversation's mean, as google-adk does; an
            unusable reply of the judge abstains, and is not asked again.
    """

    name: ClassVar[str] = "per_turn_user_simulator_quality_v1"
    needs: ClassVar[str] = "a scenario of a simulated user"
    harm: ClassVar[CriterionHarm] = "other"
    default_samples: ClassVar[int] = 5

    stop_signal: str = "</finished>"

    async def judge(self, sample: Sample, pair: TurnPair, ask: Ask) -> Score | None:
        """Judges the user's message of a recorded turn; None if the case is no scenario."""
        if (
            sample.eval_case is None
            or sample.eval_case.kind != "scenario"
            or not sample.eval_case.task
            or pair.actual is None
        ):
            return None
        place = position(sample.conversation, pair.actual)
        if place + 1 < len(sample.conversation.turns):
            return await self._message(sample, sample.eval_case, place, ask)
        last, stop = await asyncio.gather(
            self._message(sample, sample.eval_case, place, ask),
            self._ask(sample.eval_case, sample.conversation, place + 1, self.stop_signal, ask),
        )
        return _with_stop(last, stop)

    def overall(self, turns: Sequence[Score]) -> Score | None:
        """Returns the mean over the turns, with `adk_compat` also over those without a score."""
        overall = super().overall(turns)
        if overall is None or overall.value is None or not self.as_adk:
            return overall
        return self.gated(Score(sum(score.value or 0.0 for score in turns) / len(turns)))

    async def _message(self, sample: Sample, scenario: EvalCase, place: int, ask: Ask) -> Score:
        start, turn = _fact(scenario, "starting_prompt"), sample.conversation.turns[place]
        if place == 0 and start is not None:
            return _opening(turn, start)
        return await self._ask(scenario, sample.conversation, place, turn.user or "", ask)

    def _rules(self, case: EvalCase) -> list[str]:
        """Returns the rules of the case, of google-adk's persona that it names, or of any simulated user."""
        if case.user_behaviors:
            return [_STOP_PLACE.sub(lambda _: self.stop_signal, rule) for rule in case.user_behaviors]
        if self._generation == "first":
            return wording("user_rules", "first").split("\n")
        return rules_of(_fact(case, "user_persona"))

    async def _ask(
        self, case: EvalCase, conversation: Conversation, place: int, message: str, ask: Ask
    ) -> Score:
        sections = [Section("plan", case.task or "")]
        sections += [Section("what the user knows", f"{fact.name}: {fact.value}") for fact in case.user_facts]
        sections += [
            *statement_sections("rule", self._rules(case)),
            *dialogue_sections(conversation, place),
        ]
        sections += [Section("stop signal", self.stop_signal), Section("to be judged", message)]
        prompt = self._prompt("user_simulator/2", sections)
        question = Question(prompt, SimulatorReply, self.options)
        result = await vote(ask, question, lambda reply: reply.verdict == "valid")
        (ballot,), answers = result.ballots, result.answers
        if ballot.reply is None:
            return Score(None, reason=answers.reason, judge=answers.use)
        votes = [ballot.positives, ballot.negatives]
        details = {**quoted(ballot.reply.quote, prompt.evidence), "votes": votes, **left_out(prompt)}
        return Score(
            ballot.value,
            label=ballot.reply.verdict,
            explanation=ballot.reply.reason,
            details=details,
            judge=answers.use,
        )


def _fact(case: EvalCase, name: str) -> str | None:
    return next((fact.value for fact in case.user_facts if fact.name == name), None)


def _opening(turn: Turn, start: str) -> Score:
    if (turn.user or "").strip() == start.strip():
        return Score(1.0, label="valid", explanation="The user opens with the starting prompt.")
    return Score(0.0, label="invalid", explanation="The user does not open with the starting prompt.")


def _with_stop(score: Score, stop: Score) -> Score:
    """Joins the last turn's score and the stop check's: the worse of the two counts."""
    score.details = {
        **(score.details or {}),
        "stop": {"score": stop.value, "reason": stop.explanation or stop.reason},
    }
    score.judge = sum_uses([score.judge, stop.judge])
    if stop.value == 0.0 and score.value != 0.0:
        score.value, score.label, score.explanation, score.reason = 0.0, stop.label, stop.explanation, None
    elif stop.value is None and score.value:
        score.value, score.label, score.reason = None, None, f"stopping: {stop.reason}"
    return score
