"""google-adk's rubric criteria: statements about an answer, a turn's tool use, or a whole conversation."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import ClassVar

from pydantic import Field, model_validator

from turnwise.schemas.conversation import Rubric
from turnwise.schemas.jsonio import JsonObject, no_items
from turnwise.schemas.score import Score
from turnwise.transforms.criteria.responses import AdkJudged
from turnwise.transforms.judging.ask import AdkOptions, Ask
from turnwise.transforms.judging.prompts import (
    JudgedSection,
    Section,
    agent_sections,
    context_sections,
    dialogue_sections,
    share,
    statement_sections,
)
from turnwise.transforms.matching.sample import Sample, TurnPair


class RubricContent(AdkOptions):
    """A rubric's statement."""

    text_property: str | None = None


class ConfiguredRubric(AdkOptions):
    """A rubric that the config applies everywhere, whatever its type."""

    rubric_id: str
    rubric_content: RubricContent
    description: str | None = None
    type: str | None = None

    @model_validator(mode="after")
    def _says_something(self) -> "ConfiguredRubric":
        if not self.text.strip():
            raise ValueError(f"rubric {self.rubric_id} has neither text_property nor description")
        return self

    @property
    def text(self) -> str:
        """The statement of the rubric."""
        return self.rubric_content.text_property or self.description or ""


class RubricCriterion(AdkJudged):
    """Share of rubrics that are fulfilled, by majority of the judge's samples.

    Rubrics come from the config, and, with the criterion's own type, from the case and from the turn.

    Attributes:
        rubrics: Rubrics that apply everywhere: objects with `rubric_id` and
            `rubric_content.text_property`.
    """

    default_samples: ClassVar[int] = 5
    rubric_type: ClassVar[str]

    rubrics: list[ConfiguredRubric] = Field(default_factory=no_items)

    @property
    def lacks_rubrics(self) -> bool:
        """Whether the config gives it no rubric."""
        return not self.rubrics

    def overall(self, turns: Sequence[Score]) -> Score | None:
        """Returns the share over the rubrics of all turns together, as google-adk does.

        While a rubric is not judged, a share that passes is no verdict.
        """
        if not turns:
            return None
        pool: list[JsonObject] = [rubric for score in turns for rubric in (score.details or {})["rubrics"]]
        why = next((score.reason for score in turns if score.reason), None)
        overall = share([rubric["score"] for rubric in pool], why or "", self.threshold)
        scores: defaultdict[str, list[float]] = defaultdict(list)
        for rubric in pool:
            if rubric["score"] is not None:
                scores[rubric["rubric_id"]].append(rubric["score"])
        means = {rubric_id: sum(values) / len(values) for rubric_id, values in scores.items()}
        overall.details = {"rubrics": means}
        return overall

    def applying(self, sample: Sample, pairs: Iterable[TurnPair]) -> list[tuple[Rubric, int | None]]:
        """Returns the rubrics that apply, each once, and the 0-based turn that each is about (None: all)."""
        of_case = sample.eval_case.rubrics if sample.eval_case else []
        typed: list[tuple[Rubric, int | None]] = [(rubric, None) for rubric in of_case]
        for pair in pairs:
            recorded = pair.actual.expected if pair.actual else None
            for turn in (pair.expected, recorded):
                typed += [(rubric, pair.index) for rubric in (turn.rubrics if turn else [])]
        given = [(Rubric(rubric_id=rubric.rubric_id, text=rubric.text), None) for rubric in self.rubrics]
        without_repeats: dict[tuple[str, str], tuple[Rubric, int | None]] = {}
        for rubric, index in (
            *given,
            *((r, i) for r, i in typed if r.type == self.rubric_type and r.text.strip()),
        ):
            without_repeats.setdefault((rubric.rubric_id, rubric.text), (rubric, index))
        return list(without_repeats.values())

    async def judge_conversation(self, sample: Sample, ask: Ask) -> Score | None:
        """Returns a score without a value if no rubric applies; None: the turns are judged."""
        if not sample.conversation.turns or self.applying(sample, sample.pairs):
            return None
        return self.without_rubric()

    def without_rubric(self) -> Score:
        """Returns the score where there is nothing to judge by."""
        needed = f"in the config, or of the type {self.rubric_type} in the case or a turn"
        return Score(None, reason=f"there is no rubric: one is needed {needed}")

    async def ask_about(
        self, ask: Ask, material: list[Section], rubrics: Sequence[tuple[Rubric, int | None]]
    ) -> Score:
        """Asks about all rubrics at once."""
        sections = [
            Section(f"rubric {i}" + ("" if turn is None else f" (of turn {turn + 1})"), rubric.text)
            for i, (rubric, turn) in enumerate(rubrics, 1)
        ]
        prompt = self._prompt(f"{self.name.removesuffix('_v1')}/2", [*material, *sections])
        items: list[JsonObject] = [{"rubric_id": r.rubric_id, "rubric": r.text} for r, _ in rubrics]
        return await self._judge_items(ask, prompt, "rubrics", items)


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
        material = context_sections(sample.conversation, pair.actual)
        material.append(JudgedSection("answer to be judged", self.said(pair.actual)))
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
        context = context_sections(sample.conversation, pair.actual)
        material = [section for section in context if section.name != "instructions of an agent"]
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
        """Judges a recorded conversation; no score without a rubric for it."""
        rubrics = self.applying(sample, sample.pairs)
        if not sample.conversation.turns:
            return None
        if not rubrics:
            return self.without_rubric()
        material = [*agent_sections(sample.conversation), *dialogue_sections(sample.conversation)]
        return await self.ask_about(ask, material, rubrics)


# google-adk's criteria of a whole conversation: task success, trajectory quality, tool use quality.


class MultiTurn(AdkJudged):
    """Share of certain aspects that a conversation has, 0..1."""

    aspects: ClassVar[tuple[str, ...]]

    async def judge_conversation(self, sample: Sample, ask: Ask) -> Score | None:
        """Judges a recorded conversation; None if it is empty."""
        turns = sample.conversation.turns
        if not any(turn.user or turn.agent or turn.agent_messages or turn.tool_calls for turn in turns):
            return None
        sections = [*agent_sections(sample.conversation), *dialogue_sections(sample.conversation)]
        if sample.eval_case and sample.eval_case.task:
            sections.append(Section("what the user was to achieve", sample.eval_case.task))
        sections += statement_sections("aspect", self.aspects)
        prompt = self._prompt(f"{self.name.removesuffix('_v1')}/2", sections, "multi_turn")
        return await self._judge_items(ask, prompt, "aspects", [{"aspect": text} for text in self.aspects])


class MultiTurnTaskSuccess(MultiTurn):
    """1.0 if the user's request was fulfilled, or refused for a stated reason; else 0.0.

    When to use: Measure task success without a reference. It needs no eval case.
    """

    name: ClassVar[str] = "multi_turn_task_success_v1"
    aspects: ClassVar[tuple[str, ...]] = (
        "By the end the user has everything they asked for, or was refused, for a stated reason, what the "
        "agent may not or cannot give.",
    )


class MultiTurnTrajectoryQuality(MultiTurn):
    """Share of the marks of a good path to the goal that the conversation has, 0..1.

    There are 5 marks.

    When to use: Compare the paths of two versions without a reference.
    """

    name: ClassVar[str] = "multi_turn_trajectory_quality_v1"
    aspects: ClassVar[tuple[str, ...]] = (
        "Every step of the agent served the user's goal; there was no detour.",
        "The steps came in an order that makes sense: what a step depends on was known or done before it.",
        "The agent did not repeat a question or a step whose answer it already had.",
        "Where something was unclear or missing, the agent asked instead of guessing.",
        "Where something went wrong, the agent noticed and went on sensibly.",
    )


class MultiTurnToolUseQuality(MultiTurn):
    """Share of the marks of good tool use that the conversation has, 0..1.

    There are 6 marks.

    When to use: Compare the tool use of two versions without a reference.
    """

    name: ClassVar[str] = "multi_turn_tool_use_quality_v1"
    aspects: ClassVar[tuple[str, ...]] = (
        "Every tool call was of a tool that fits its purpose.",
        "Every argument was right: taken from the user, from an earlier result or from the instructions, not "
        "made up.",
        "No call was missing: nothing was claimed or promised that needed a call which was not made.",
        "No call was needless or repeated without cause.",
        "The agent used the results as they are: nothing important was overlooked, misread or altered.",
        "Failed calls were noticed and handled.",
    )
