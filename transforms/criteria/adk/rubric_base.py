"""Base class of google-adk's rubric criteria."""

from collections.abc import Iterable, Sequence
from typing import ClassVar

from pydantic import Field, model_validator

from turnwise.schemas.conversation import Rubric
from turnwise.schemas.jsonio import JsonObject, no_items
from turnwise.schemas.score import Score
from turnwise.transforms.criteria.adk.judged import AdkJudged
from turnwise.transforms.judging.ask import AdkOptions, Ask
from turnwise.transforms.judging.prompts.sections import Section
from turnwise.transforms.judging.prompts.statements import judge_statements, share, share_score
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
        overall.details = {"rubrics": _means(pool)}
        return overall

    def applying(self, sample: Sample, pairs: Iterable[TurnPair]) -> list[tuple[Rubric, int | None]]:
        """Returns the rubrics that apply, each once, and the 0-based turn that each is about (None: all)."""
        given: list[tuple[Rubric, int | None]] = [
            (Rubric(rubric_id=rubric.rubric_id, text=rubric.text), None) for rubric in self.rubrics
        ]
        given += [
            (rubric, None) for rubric in self._typed(sample.eval_case.rubrics if sample.eval_case else [])
        ]
        for pair in pairs:
            recorded = pair.actual.expected if pair.actual else None
            for turn in (pair.expected, recorded):
                given += [(rubric, pair.index) for rubric in self._typed(turn.rubrics if turn else [])]
        without_repeats: dict[tuple[str, str], tuple[Rubric, int | None]] = {}
        for rubric, turn_index in given:
            without_repeats.setdefault((rubric.rubric_id, rubric.text), (rubric, turn_index))
        return list(without_repeats.values())

    def _typed(self, rubrics: Iterable[Rubric]) -> list[Rubric]:
        return [rubric for rubric in rubrics if rubric.type == self.rubric_type and rubric.text.strip()]

    async def judge_conversation(self, sample: Sample, ask: Ask) -> Score | None:
        """Returns an unscored score if no rubric applies; None: the turns are judged."""
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
        found, vote = await judge_statements(ask, prompt, self.options, len(rubrics))
        named: list[JsonObject] = [
            {"rubric_id": rubric.rubric_id, "rubric": rubric.text, **finding}
            for (rubric, _), finding in zip(rubrics, found, strict=True)
        ]
        return share_score(named, vote, "rubrics", self.threshold)


def _means(pool: Sequence[JsonObject]) -> JsonObject:
    scores: dict[str, list[float]] = {}
    for rubric in pool:
        if rubric["score"] is not None:
            scores.setdefault(rubric["rubric_id"], []).append(rubric["score"])
    return {rubric_id: sum(values) / len(values) for rubric_id, values in scores.items()}
