"""CES's statements about a whole conversation: evaluation expectations, and expected answers of scenarios."""

from collections.abc import Iterable
from typing import ClassVar

from pydantic import Field

from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.score import Score
from turnwise.transforms.criteria.base import JudgedCriterion, RestsOn
from turnwise.transforms.criteria.ces.items import ExpectedAnswer, Statement, with_items
from turnwise.transforms.judging.ask import Ask
from turnwise.transforms.judging.prompts import dialogue_sections, spoken_sections
from turnwise.transforms.judging.prompts.statements import (
    judge_statements,
    share,
    share_score,
    statement_sections,
)
from turnwise.transforms.matching.sample import Sample


class EvaluationExpectations(JudgedCriterion):
    """Share of a case's evaluation expectations that the conversation meets, 0..1; PASS or FAIL each.

    A case states an expectation itself, or names the resource that does; `prompts` has the texts of names. A
    name without a text is not judged.

    When to use: CES cases with evaluation expectations.

    Attributes:
        prompts: Wording of named expectations: resource name, or its last segment, to text.
    """

    name: ClassVar[str] = "evaluation_expectations"
    needs: ClassVar[str] = "a case with evaluation expectations"

    threshold: float | None = 1.0
    prompts: dict[str, str] = Field(default_factory=dict)

    async def judge_conversation(self, sample: Sample, ask: Ask) -> Score | None:
        """Judges a recorded conversation; None if its case has no such expectation."""
        case = sample.eval_case
        names = case.evaluation_expectations if case else []
        if not names or not sample.conversation.turns:
            return None
        texts = {name: text for name in names if (text := self._text(name))}
        found = {name: _unworded(name) for name in names}
        if not texts:
            score = share([None] * len(names), _unworded(names[0])["reason"], self.threshold)
            score.details = {"expectations": list(found.values())}
            return with_items(score, _statements(found.values()))
        sections = statement_sections("expectation", list(texts.values()))
        prompt = self._prompt(f"{self.name}/2", [*dialogue_sections(sample.conversation), *sections])
        judged, vote = await judge_statements(ask, prompt, self.options, len(texts))
        for (name, text), item in zip(texts.items(), judged, strict=True):
            found[name] = {"expectation": name, "prompt": text, **item}
        stated = [found[name] for name in names]
        score = share_score(stated, vote, "expectations", self.threshold)
        return with_items(score, _statements(stated))

    def _text(self, name: str) -> str | None:
        known = self.prompts.get(name) or self.prompts.get(name.rsplit("/", 1)[-1])
        return known or (None if "/evaluationExpectations/" in name else name)


def _unworded(name: str) -> JsonObject:
    reason = f"the config's criteria.evaluation_expectations.prompts has no text for {name}"
    return {"expectation": name, "prompt": None, "score": None, "reason": reason}


def _statements(found: Iterable[JsonObject]) -> list[Statement]:
    return [Statement(item["expectation"], item["prompt"], item["score"], item["reason"]) for item in found]


class ScenarioExpectations(JudgedCriterion):
    """Share of a scenario's expected answers that were given in other words, 0..1.

    When to use: CES scenarios whose expected answers may be paraphrased.
    """

    name: ClassVar[str] = "scenario_expectations"
    needs: ClassVar[str] = "a scenario with expected responses"
    rests_on: ClassVar[RestsOn] = ("words",)

    threshold: float | None = 1.0

    async def judge_conversation(self, sample: Sample, ask: Ask) -> Score | None:
        """Judges a recorded conversation; None if no expected answer needs it."""
        wanted = {
            place: outcome.expectation.text or ""
            for place, outcome in enumerate(sample.scenario_outcomes)
            if outcome.outcome is None
            and outcome.expectation
            and outcome.expectation.kind == "agent_response"
        }
        if not wanted:
            return None
        sections = statement_sections("expected answer", list(wanted.values()))
        prompt = self._prompt(f"{self.name}/2", [*spoken_sections(sample.conversation), *sections])
        judged, vote = await judge_statements(ask, prompt, self.options, len(wanted))
        found: list[JsonObject] = [
            {"place": place, "text": text, **item}
            for (place, text), item in zip(wanted.items(), judged, strict=True)
        ]
        score = share_score(found, vote, "answers", self.threshold)
        answers = [ExpectedAnswer(item["place"], item["score"], item["quote"]) for item in found]
        return with_items(score, answers)
