"""semantic_match: comparison of values by meaning (`$matchType: semantic`)."""

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.schemas.score import CriterionHarm, Score
from turnwise.transforms.criteria.base import JudgedCriterion, RestsOn
from turnwise.transforms.criteria.ces.items import ComparedValue, with_items
from turnwise.transforms.effects.equivalence import OpenPair
from turnwise.transforms.judging.ask import Ask
from turnwise.transforms.judging.prompts.sections import Section
from turnwise.transforms.judging.prompts.statements import judge_statements, share_score
from turnwise.transforms.matching.calls import directive_text, plain_text, value_matches
from turnwise.transforms.matching.expectations import ExpectationOutcome, agent_updates
from turnwise.transforms.matching.sample import Sample, TurnPair


class OpenValue(NamedTuple):
    """A value to be compared by meaning.

    Attributes:
        place: Index of its expectation among the outcomes.
        name: Parameter or variable; `response` for a tool's response.
        directive: The `$matchType` directive of the case.
    """

    place: int
    name: str
    directive: JsonObject
    actual: JsonValue


def open_values(outcomes: Sequence[ExpectationOutcome], updates: JsonObject) -> list[OpenValue]:
    """Returns the values that code could not compare; `updates` holds the agent's changes of variables."""
    found = []
    for place, outcome in enumerate(outcomes):
        if outcome.outcome != "SKIPPED":
            wanted, actual = _sides(outcome, updates)
            found += [
                OpenValue(place, name, value, actual[name])
                for name, value in wanted.items()
                if name in actual and value_matches(value, actual[name]) is None
            ]
    return found


def _sides(outcome: ExpectationOutcome, updates: JsonObject) -> tuple[JsonObject, JsonObject]:
    """Returns the expected and the actual values of an expectation by name."""
    expectation, observed = outcome.expectation, outcome.observed
    if expectation is None:
        return {}, {}
    if expectation.kind == "updated_variables":
        return expectation.variables or {}, updates
    if expectation.tool_call is not None:
        return expectation.tool_call.args or {}, getattr(observed, "args", None) or {}
    if expectation.tool_response is not None and observed is not None:
        return {"response": expectation.tool_response.response}, {
            "response": getattr(observed, "response", None)
        }
    return {}, {}


class SemanticMatch(JudgedCriterion):
    """Share of the values compared by meaning (`$matchType: semantic`) that mean the same, 0..1.

    It compares parameters of tool calls, tool responses and variables with different wording, and decides the
    outcome of these expectations. What `tool_effects_v1` and `final_state_v1` leave open is asked by its
    options, whether or not it stands in the config.

    When to use: CES cases with `$matchType: semantic`.
    """

    name: ClassVar[str] = "semantic_match"
    needs: ClassVar[str] = "an expected call with an argument to be compared by meaning"
    harm: ClassVar[CriterionHarm] = "text"
    rests_on: ClassVar[RestsOn] = ("calls",)

    async def judge(self, sample: Sample, pair: TurnPair, ask: Ask) -> Score | None:
        """Compares the values of a golden turn; None if there are none."""
        if sample.eval_case is None or pair.expected is None or not pair.expected.expectations:
            return None
        return await self._ask(ask, open_values(sample.replay(pair).outcomes, agent_updates(pair.actual)))

    async def judge_conversation(self, sample: Sample, ask: Ask) -> Score | None:
        """Compares the values of a scenario; None if there are none."""
        return await self._ask(ask, open_values(sample.scenario_outcomes, {}))

    async def compare(self, ask: Ask, pairs: Sequence[OpenPair]) -> Score | None:
        """Compares pairs that a measured criterion left open; the items of the score are in their order."""
        values = [
            OpenValue(place, pair.name, {"$matchValue": pair.expected}, pair.actual)
            for place, pair in enumerate(pairs)
        ]
        return await self._ask(ask, values)

    async def _ask(self, ask: Ask, values: Sequence[OpenValue]) -> Score | None:
        if not values:
            return None
        sections = [section for i, value in enumerate(values, 1) for section in _pair(i, value)]
        prompt = self._prompt(f"{self.name}/2", sections)
        judged, vote = await judge_statements(ask, prompt, self.options, len(values))
        found: list[JsonObject] = [
            {
                "place": value.place,
                "name": value.name,
                "expected": directive_text(value.directive),
                "actual": value.actual,
            }
            | item
            for value, item in zip(values, judged, strict=True)
        ]
        score = share_score(found, vote, "values", self.threshold)
        return with_items(score, [ComparedValue(v["place"], v["name"], v["score"]) for v in found])


def _pair(number: int, value: OpenValue) -> list[Section]:
    sections = [
        Section(f"pair {number}, parameter", value.name),
        Section(f"pair {number}, expected value", directive_text(value.directive)),
        Section(f"pair {number}, actual value", plain_text(value.actual)),
    ]
    example = value.directive.get("$originalValue")
    return [*sections, Section(f"pair {number}, example", plain_text(example))] if example else sections
