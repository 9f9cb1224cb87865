"""expectations_met: the expectations of a case that can be checked without a judge."""

from collections.abc import Sequence
from typing import ClassVar

from turnwise.schemas.conversation import Expectation, ToolCall, ToolResponse
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.schemas.score import Score
from turnwise.transforms.criteria.base import MeasuredCriterion
from turnwise.transforms.effects.changes import call_text, value_text
from turnwise.transforms.effects.equivalence import SpokenText
from turnwise.transforms.matching.expectations import ExpectationOutcome, turn_texts
from turnwise.transforms.matching.sample import Sample, TurnPair

_MOST_TOLD = 3
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
        outcomes = [*sample.scenario_outcomes, *_outputs_said(sample)]
        return _share([*_of_turns(sample), *outcomes], None) if outcomes else None


def _of_turns(sample: Sample) -> list[ExpectationOutcome]:
    pairs = (pair for pair in sample.evaluable if pair.expected is not None and pair.expected.expectations)
    return [outcome for pair in pairs for outcome in sample.replay(pair).outcomes if _is_checked(outcome)]


def _outputs_said(sample: Sample) -> list[ExpectationOutcome]:
    """Searches the agent's messages for a case's outputs."""
    wanted = [text for text in sample.eval_case.outputs if text.strip()] if sample.eval_case else []
    if not wanted or sample.eval_case is None:
        return []
    texts = [text for turn in sample.conversation.turns for text in turn_texts(turn)]
    spoken = SpokenText(texts, sample.conversation.language or sample.eval_case.language)
    return [_said(text, spoken) for text in wanted]


def _said(text: str, spoken: SpokenText) -> ExpectationOutcome:
    expectation = Expectation("agent_response", text=text, comparison="CONTAINS")
    if spoken.contains(text):
        return ExpectationOutcome(expectation, "PASS")
    return ExpectationOutcome(expectation, "FAIL", spoken.nearest_sentence(text) or None, "text")


def _is_checked(outcome: ExpectationOutcome) -> bool:
    expectation = outcome.expectation
    if expectation is None or outcome.outcome == "SKIPPED" or expectation.kind in _CHECKED_ELSEWHERE:
        return False
    return expectation.kind != "agent_response" or expectation.comparison != "SEMANTIC_SIMILARITY"


def _share(outcomes: Sequence[ExpectationOutcome], label: str | None) -> Score | None:
    if not outcomes:
        return None
    undecided = sum(outcome.outcome is None for outcome in outcomes)
    details: JsonObject = {"checks": [_check(o, o.expectation) for o in outcomes if o.expectation]}
    if undecided:
        reason = f"{undecided} of {len(outcomes)} expectations need a judge"
        return Score(None, reason=reason, label=label, details=details)
    met = sum(outcome.outcome == "PASS" for outcome in outcomes)
    return Score(met / len(outcomes), label=label, explanation=_explanation(outcomes, met), details=details)


def _check(outcome: ExpectationOutcome, expectation: Expectation) -> JsonObject:
    """Returns the expected value and, if it was not met, the observed one."""
    check: JsonObject = {"kind": expectation.kind, "outcome": outcome.outcome, "wanted": _wanted(expectation)}
    return check if outcome.outcome == "PASS" else check | {"observed": _observed(outcome)}


def _wanted(expectation: Expectation) -> str | None:
    if expectation.tool_call is not None:
        return value_text(call_text(expectation.tool_call))
    if expectation.tool_response is not None:
        return _response_text(expectation.tool_response)
    wanted: JsonValue = expectation.text or expectation.target_agent or expectation.variables
    return None if wanted is None else value_text(wanted)


def _observed(outcome: ExpectationOutcome) -> str | None:
    seen = outcome.observed
    if isinstance(seen, ToolCall):
        return value_text(call_text(seen))
    if isinstance(seen, ToolResponse):
        return _response_text(seen)
    return None if seen is None else value_text(seen)


def _response_text(response: ToolResponse) -> str:
    return f"{response.name}: {value_text(response.response)}"


def _explanation(outcomes: Sequence[ExpectationOutcome], met: int) -> str:
    head = f"{met} of {len(outcomes)} expectation{'s' * (len(outcomes) != 1)} met."
    return f"{head} {not_met(outcomes)}".rstrip()


def not_met(outcomes: Sequence[ExpectationOutcome]) -> str:
    """Returns the expected and observed values of failed expectations; "" if none failed."""
    failed = [_unmet_text(o, o.expectation) for o in outcomes if o.outcome == "FAIL" and o.expectation]
    more = f"; and {len(failed) - _MOST_TOLD} more" if len(failed) > _MOST_TOLD else ""
    return f"Not met: {'; '.join(failed[:_MOST_TOLD])}{more}." if failed else ""


def _unmet_text(outcome: ExpectationOutcome, expectation: Expectation) -> str:
    wanted, observed = _wanted(expectation), _observed(outcome)
    if expectation.kind == "agent_response":
        observed_text = f"said instead: “{observed}”" if observed else "the agent said nothing"
        return f"“{wanted}” was not said, {observed_text}"
    if expectation.kind == "no_tool_calls":
        return "a tool was called where none was to be"
    observed_text = f", but {observed}" if observed else ""
    return f"{expectation.kind} {wanted}{observed_text}"
