"""google-adk's rubric criteria: statements about an answer, a turn's tool use, or a whole conversation."""

from typing import ClassVar

from turnwise.schemas.score import Score
from turnwise.transforms.criteria.adk.rubric_base import RubricCriterion
from turnwise.transforms.judging.ask import Ask
from turnwise.transforms.judging.prompts import (
    agent_sections,
    asked_sections,
    dialogue_sections,
    earlier_sections,
)
from turnwise.transforms.judging.prompts.sections import JudgedSection
from turnwise.transforms.matching.sample import Sample, TurnPair


class RubricFinalResponse(RubricCriterion):
    """Share of the rubrics that the agent's final answer fulfils, 0..1; each by majority of the samples.

    Rubrics of the case and of the turn have the type `FINAL_RESPONSE_QUALITY`.

    When to use: The quality of answers can be stated as yes-or-no rubrics.
    """

    name: ClassVar[str] = "rubric_based_final_response_quality_v1"
    needs: ClassVar[str] = "rubrics, in the config or in a case"
    rubric_type: ClassVar[str] = "FINAL_RESPONSE_QUALITY"

    async def judge(self, sample: Sample, pair: TurnPair, ask: Ask) -> Score | None:
        """Judges the answer of a recorded turn; None without a rubric for it."""
        rubrics = self.applying(sample, [pair])
        if pair.actual is None or not rubrics:
            return None
        material = [
            *agent_sections(sample.conversation, pair.actual),
            *earlier_sections(sample.conversation, pair.actual),
            *asked_sections(sample.conversation, pair.actual),
            JudgedSection("answer to be judged", self.said(pair.actual)),
        ]
        return await self.ask_about(ask, material, [(rubric, None) for rubric, _ in rubrics])


class RubricToolUse(RubricCriterion):
    """Share of the rubrics that a turn's tool calls fulfil, 0..1; each by majority of the samples.

    Rubrics of the case and of the turn have the type `TOOL_USE_QUALITY`.

    When to use: The quality of tool use can be stated as yes-or-no rubrics.
    """

    name: ClassVar[str] = "rubric_based_tool_use_quality_v1"
    needs: ClassVar[str] = "rubrics, in the config or in a case"
    rubric_type: ClassVar[str] = "TOOL_USE_QUALITY"

    async def judge(self, sample: Sample, pair: TurnPair, ask: Ask) -> Score | None:
        """Judges the calls of a recorded turn; None without a rubric for them."""
        rubrics = self.applying(sample, [pair])
        if pair.actual is None or not rubrics:
            return None
        setup = agent_sections(sample.conversation, pair.actual)
        material = [
            *(section for section in setup if section.name == "tools of an agent"),
            *earlier_sections(sample.conversation, pair.actual),
            *asked_sections(sample.conversation, pair.actual),
        ]
        return await self.ask_about(ask, material, [(rubric, None) for rubric, _ in rubrics])


class RubricMultiTurnTrajectory(RubricCriterion):
    """Share of the rubrics that the whole conversation fulfils, 0..1; each by majority of the samples.

    Rubrics of the case have the type `TRAJECTORY_QUALITY`.

    When to use: Rubrics are about the conversation as a whole.
    """

    name: ClassVar[str] = "rubric_based_multi_turn_trajectory_quality_v1"
    needs: ClassVar[str] = "rubrics, in the config or in a case"
    rubric_type: ClassVar[str] = "TRAJECTORY_QUALITY"

    async def judge_conversation(self, sample: Sample, ask: Ask) -> Score | None:
        """Judges a recorded conversation; unscored without a rubric for it."""
        rubrics = self.applying(sample, sample.pairs)
        if not sample.conversation.turns:
            return None
        if not rubrics:
            return self.without_rubric()
        material = [*agent_sections(sample.conversation), *dialogue_sections(sample.conversation)]
        return await self.ask_about(ask, material, rubrics)
