"""expectations_met: the expectations of a case that can be checked without a judge."""

from collections.abc import Sequence
from typing import ClassVar

from turnwise.schemas.conversation import Expectation, ToolCall, ToolResponse
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.schemas.score import Score
from turnwise.transforms.criteria.base import MeasuredCriterion
from turnwise.transforms.effects.changes import call_text, told_apart, value_text
from turnwise.transforms.effects.equivalence import SpokenText
from turnwise.transforms.matching.expectations import ExpectationOutcome, turn_texts
from turnwise.transforms.matching.sample import Sample, TurnPair

_MOST_SHOWN = 3
_CHECKED_ELSEWHERE = ("tool_call", "mock_tool_response")


class ExpectationsMet(MeasuredCriterion):
    """Share of a CES case's checkable expectations that were met, 0..1.

    Of a golden turn: agent transfers, updated variables, tool responses, `noToolCalls`, and agent responses
    compared by EQUALS or CONTAINS. Of a scenario: its expected tool calls and agent responses, anywhere in
    the conversation. Of any case: the texts (`outputs`) that must have been said by the end, their numbers,
    amounts and dates by value. Comparisons by meaning are excluded. The details hold the expected and
    observed values under `checks`.

    When to use: Check CES cases, and cases with `outputs`, without a judge.
    """

    name: ClassVar[str] = "expectations_met"
    needs: ClassVar[str] = "a case with texts that must be said"

    threshold: float | None = 1.0

    def score(self, sample: Sample, pair: TurnPair) -> Score | None:
        """Checks a golden turn; None if it has nothing to check."""
        if pair.expected is None or not pair.expected.expectations:
            return None
        return _share([o for o in sample.replay(pair).outcomes if _is_checked(o)], pair.label)

    def score_conversation(self, sample: Sample) -> Score | None:
        """Checks a scenario's expectations and the outputs of any case; None if there are none.

        Expectations on single turns are included.
        """
        case, outcomes = sample.eval_case, list(sample.scenario_outcomes)
        wanted = [text for text in case.outputs if text.strip()] if case else []
        if case is not None and wanted:
            texts = [text for turn in sample.conversation.turns for text in turn_texts(turn)]
            spoken = SpokenText(texts, sample.conversation.language or case.language)
            for text in wanted:
                expectation = Expectation("agent_response", text=text, comparison="CONTAINS")
                outcome = ExpectationOutcome(expectation, "PASS")
                if not spoken.contains(text):
                    nearest = spoken.nearest_sentence(text) or None
                    outcome = ExpectationOutcome(expectation, "FAIL", nearest, "text")
                outcomes.append(outcome)
        if not outcomes:
            return None
        pairs = (pair for pair in sample.evaluable if pair.expected and pair.expected.expectations)
        of_turns = [o for pair in pairs for o in sample.replay(pair).outcomes if _is_checked(o)]
        return _share([*of_turns, *outcomes], None)


def _is_checked(outcome: ExpectationOutcome) -> bool:
    expectation = outcome.expectation
    if expectation is None or outcome.outcome == "SKIPPED" or expectation.kind in _CHECKED_ELSEWHERE:
        return False
    return expectation.kind != "agent_response" or expectation.comparison != "SEMANTIC_SIMILARITY"


def _share(outcomes: Sequence[ExpectationOutcome], label: str | None) -> Score | None:
    if not outcomes:
        return None
    unclear = sum(outcome.outcome is None for outcome in outcomes)
    checks: list[JsonObject] = []
    for outcome in outcomes:
        if expectation := outcome.expectation:
            wanted = _value_text(_wanted(expectation))
            checks.append({"kind": expectation.kind, "outcome": outcome.outcome, "wanted": wanted})
            if outcome.outcome != "PASS":
                checks[-1]["observed"] = _value_text(outcome.observed)
    if unclear:
        reason = f"{unclear} of {len(outcomes)} expectations need a judge"
        return Score(None, reason=reason, label=label, details={"checks": checks})
    met = sum(outcome.outcome == "PASS" for outcome in outcomes)
    head = f"{met} of {len(outcomes)} expectation{'s' * (len(outcomes) != 1)} met."
    explanation = f"{head} {not_met(outcomes)}".rstrip()
    return Score(met / len(outcomes), label=label, explanation=explanation, details={"checks": checks})


def _wanted(expectation: Expectation) -> ToolCall | ToolResponse | JsonValue:
    stated = expectation.text or expectation.target_agent or expectation.variables
    return expectation.tool_call or expectation.tool_response or stated


def _value_text(value: ToolCall | ToolResponse | JsonValue) -> str | None:
    return None if value is None else value_text(_plain(value))


def _plain(value: ToolCall | ToolResponse | JsonValue) -> JsonValue:
    if isinstance(value, ToolResponse):
        return f"{value.name}: {value_text(value.response)}"
    return call_text(value) if isinstance(value, ToolCall) else value


def not_met(outcomes: Sequence[ExpectationOutcome]) -> str:
    """Returns the expected and observed values of failed expectations; "" if none failed."""
    failed = []
    for outcome in outcomes:
        expectation = outcome.expectation
        if outcome.outcome != "FAIL" or expectation is None:
            continue
        wanted, observed = _value_text(_wanted(expectation)), _value_text(outcome.observed)
        if wanted and observed:
            wanted, observed = told_apart(_plain(_wanted(expectation)), _plain(outcome.observed))
        if expectation.kind == "agent_response":
            instead = f"said instead: “{observed}”" if observed else "the agent said nothing"
            failed.append(f"“{wanted}” was not said, {instead}")
        elif expectation.kind == "no_tool_calls":
            failed.append("a tool was called where none was to be")
        else:
            failed.append(f"{expectation.kind} {wanted}{f', but {observed}' if observed else ''}")
    more = f"; and {len(failed) - _MOST_SHOWN} more" if len(failed) > _MOST_SHOWN else ""
    return f"Not met: {'; '.join(failed[:_MOST_SHOWN])}{more}." if failed else ""
