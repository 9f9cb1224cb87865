"""tool_effects_v1: comparison of the changes that calls made with the expected changes."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field

from turnwise.schemas.conversation import ExpectedTurn, ToolCall
from turnwise.schemas.harm import CriterionHarm
from turnwise.schemas.score import Score
from turnwise.schemas.values import JsonObject, JsonValue
from turnwise.transforms.criteria.base import MeasuredCriterion, RestsOn
from turnwise.transforms.criteria.calls.base import UsesToolEffects
from turnwise.transforms.effects.actor_calls import ActorCall
from turnwise.transforms.effects.calls import ArgumentComparison
from turnwise.transforms.effects.changes import Changes, ExpectedCalls, changes_of, match_changes
from turnwise.transforms.effects.handoffs import expected_handoffs
from turnwise.transforms.effects.pairing import Matching
from turnwise.transforms.effects.prose import may_be_reworded
from turnwise.transforms.effects.tool_catalog import ToolCatalog
from turnwise.transforms.effects.wording import (
    by_other_actor,
    call_text,
    listed,
    not_compared,
    summary,
    texts,
    wrong_details,
)
from turnwise.transforms.matching.arguments import ArgumentMatcher, is_directive
from turnwise.transforms.matching.expectations import JUDGE_NEEDED
from turnwise.transforms.matching.sample import EXTRA_TURN, Sample, TurnPair

HANDOFF_WEIGHT = 0.1
"""Weight of a hand-off relative to a write. One extra hand-off costs less than one wrong write among ten."""


class ToolEffects(MeasuredCriterion, UsesToolEffects):
    """F1 of the changes that were made against those that were expected, 0..1.

    A change is a successful call of a tool that writes or hands over. Idempotent calls count once, and two
    calls that undo each other do not count. A hand-off weighs a tenth of a write; if no write is expected or
    made, that agreement weighs one write. The score passes if nothing is missing and nothing extra; an extra
    destructive call always fails. An expected change may be made by the agent or the user; other changes of
    the user do not count.

    When to use: The effects of calls matter, and not the read calls on the way.

    Attributes:
        argument_matchers: Tool (or `*`) -> parameter -> how it is compared, as in
            `tool_trajectory_avg_score`.
        ordered_lists: Tool (or `*`) -> parameters whose lists are compared in order.
        extra_handoffs: Effect of an unexpected hand-off: `allow`, it is reported and does not count; `weigh`,
            it lowers the value; `fail`, it lowers the value and fails at any threshold.
        prose: How free texts of other wording count: `judge`, only a judge can compare them, so that the
            conversation has no score unless something else fails it; `ignore`, they are not compared. Texts
            of hand-offs are never compared.
    """

    name: ClassVar[str] = "tool_effects_v1"
    needs: ClassVar[str] = "expected calls"
    harm: ClassVar[CriterionHarm] = "missing_writes"
    rests_on: ClassVar[RestsOn] = ("calls",)
    turns_count: ClassVar[bool] = True
    needs_expected_calls: ClassVar[bool] = True

    threshold: float | None = 1.0
    argument_matchers: dict[str, dict[str, ArgumentMatcher]] = Field(default_factory=dict)
    ordered_lists: dict[str, list[str]] = Field(default_factory=dict)
    extra_handoffs: Literal["allow", "weigh", "fail"] = "allow"
    prose: Literal["judge", "ignore"] = "judge"

    def score(self, sample: Sample, pair: TurnPair) -> Score | None:
        """Compares the changes of a turn with those of its golden turn; an absent turn changes nothing."""
        expected = pair.expected.tool_calls if pair.expected else None
        if expected is None and not (pair.label == EXTRA_TURN and states_calls(sample)):
            return None
        catalog, turns = self.catalog(sample), [pair.actual] if pair.actual else []
        wanted = _expected(pair.expected, catalog)
        score = self._compare(changes_of(wanted, turns, catalog), catalog)
        score.label = pair.label
        return score

    def score_conversation(self, sample: Sample) -> Score | None:
        """Compares all changes of the conversation, where the case states only those of the whole."""
        golden = sample.eval_case
        if golden is None or (golden.actions is None and not golden.user_actions):
            return None
        actions, catalog = golden.actions, self.catalog(sample)
        of_turns = [_expected(turn, catalog) for turn in golden.turns]
        if actions is None and states_calls(sample):
            actions = [call for turn in of_turns for call in turn.by_agent or ()]
        wanted = ExpectedCalls(
            actions, golden.user_actions, [call for turn in of_turns for call in turn.optional]
        )
        return self._compare(changes_of(wanted, sample.conversation.turns, catalog), catalog)

    def overall(self, turns: Sequence[Score]) -> Score | None:
        """Returns the mean over the turns; FAIL if a turn fails at any threshold."""
        overall = super().overall(turns)
        reasons = [self._certain_failure(s.details or {}) for s in turns if s.outcome == "FAIL"]
        if overall is not None and any(reasons):
            overall.outcome, overall.reason = "FAIL", f"in a turn: {next(filter(None, reasons))}"
        return overall

    def _compare(self, work: Changes, catalog: ToolCatalog) -> Score:
        """Scores what is certain; there is no score where a judge's answer could change it."""
        score = self._score(work, catalog, False)
        if score.value == 1.0 or not any(_needs_judge(item.call) for item in (*work.expected, *work.actual)):
            return score
        best = self._score(work, catalog, True)
        if best.value == score.value:
            return score
        unclear = (best.details or {}).pop("not_compared", None)
        reason = JUDGE_NEEDED
        if isinstance(unclear, list):
            names = ", ".join(map(str, unclear))
            reason = f"the wording of {names} differs: ask a judge (`semantic`) or state a matcher"
            score.details = (score.details or {}) | {"unclear": unclear}
        return Score(None, reason=reason, details=score.details, **self._certain(best))

    def _certain(self, best: Score) -> dict[str, Any]:
        """Returns the outcome of a score without a value: FAIL if it fails whatever a judge says."""
        decided = self.gated(best)
        if decided.outcome != "FAIL":
            return {}
        return {"outcome": "FAIL", "threshold": self.threshold, "explanation": best.explanation}

    def _score(self, work: Changes, catalog: ToolCatalog, undecided: bool) -> Score:
        names = {item.call.name for item in work.expected if _is_handoff(item, catalog)}
        ignores = self.prose == "ignore"
        compare = ArgumentComparison(
            self.argument_matchers, self.ordered_lists, undecided, ignores, frozenset(names)
        )
        matching = match_changes(work, catalog, compare)
        unexpected = _unexpected(matching)
        handoffs = [
            d
            for d in (unexpected if self.extra_handoffs == "fail" else matching.extra)
            if _is_handoff(d, catalog)
        ]
        allowed = handoffs if self.extra_handoffs == "allow" else []
        if allowed:
            matching.extra[:] = [item for item in matching.extra if not _is_handoff(item, catalog)]
        details = _details(matching, compare, work) | _if_any(
            destructive=listed(texts([d for d in unexpected if catalog.effect_of(d.call).destructive])),
            extra_handoffs=listed(texts(handoffs)),
        )
        skipped = not_compared(matching, compare)
        if skipped:
            details["not_compared"] = listed(skipped)
        told = summary(matching, compare, allowed, work.undone, skipped)
        score = Score(_f1(matching, catalog), explanation=told, details=details)
        score.reason = self._certain_failure(details)
        if score.reason:
            score.threshold, score.outcome = self.threshold, "FAIL"
        return score

    def _certain_failure(self, details: JsonObject) -> str | None:
        """Returns the reason for a failure at any threshold; None: there is none, or no threshold."""
        told = {"destructive": "destructive"}
        if self.extra_handoffs == "fail":
            told["extra_handoffs"] = "a hand-off"
        reasons = [
            f"{words} and not expected: {', '.join(map(str, calls))}"
            for key, words in told.items()
            if isinstance(calls := details.get(key), list)
        ]
        return "; ".join(reasons) if reasons and self.threshold is not None else None


def states_calls(sample: Sample) -> bool:
    """Returns whether a turn of the case states which calls are expected."""
    return sample.eval_case is not None and any(
        turn.tool_calls is not None for turn in sample.eval_case.turns
    )


def _needs_judge(call: ToolCall) -> bool:
    """Returns whether a call holds what only a judge may be able to compare."""
    return any(is_directive(value) or _holds_prose(value) for value in (call.args or {}).values())


def _holds_prose(value: JsonValue) -> bool:
    if isinstance(value, dict | list):
        return any(map(_holds_prose, value.values() if isinstance(value, dict) else value))
    return may_be_reworded(value)


def _expected(turn: ExpectedTurn | None, catalog: ToolCatalog) -> ExpectedCalls:
    """Returns the required and optional calls and hand-offs of a golden turn."""
    if turn is None:
        return ExpectedCalls([])
    skipped = [e.tool_call for e in turn.expectations if e.skip and e.tool_call]
    handoffs, free = expected_handoffs(turn, catalog)
    return ExpectedCalls([*(turn.tool_calls or ()), *handoffs], optional=[*skipped, *free])


def _unexpected(matching: Matching) -> list[ActorCall]:
    """Returns the unexpected calls of the agent, with those that replace expected ones."""
    return [*matching.extra, *(pair.actual for pair in matching.wrong if pair.actual.actor == "agent")]


def _is_handoff(item: ActorCall, catalog: ToolCatalog) -> bool:
    return catalog.effect_of(item.call).effect == "handoff"


def _f1(matching: Matching, catalog: ToolCatalog) -> float:
    """Returns F1 = 2 M / (E + A), with the weights of matched, expected and made calls."""
    matched = [pair.expected for pair in matching.matched]
    wanted = [*matched, *matching.missing, *(pair.expected for pair in matching.wrong)]
    made = [*matched, *matching.extra, *(pair.actual for pair in matching.wrong)]
    agreed, total = _weight(matched, catalog), _weight(wanted, catalog) + _weight(made, catalog)
    if not any(catalog.effect_of(item.call).effect == "write" for item in (*wanted, *made)):
        agreed, total = agreed + 1.0, total + 2.0
    return 2.0 * agreed / total


def _weight(made: Sequence[ActorCall], catalog: ToolCatalog) -> float:
    return sum(HANDOFF_WEIGHT if _is_handoff(item, catalog) else 1.0 for item in made)


def _details(matching: Matching, compare: ArgumentComparison, work: Changes) -> JsonObject:
    matched, wrong = len(matching.matched), len(matching.wrong)
    details: JsonObject = {
        "expected": matched + wrong + len(matching.missing),
        "actual": matched + wrong + len(matching.extra),
        "matched": listed(texts([pair.expected for pair in matching.matched])),
        "missing": listed(texts(matching.missing)),
        "extra": listed(texts(matching.extra)),
        "wrong_arguments": wrong_details(matching.wrong, compare),
    }
    return details | _if_any(
        made_by_the_other=by_other_actor(matching),
        undone=listed(texts(work.undone)),
        failed=listed(list(map(call_text, work.failed))),
        guessed=work.guesses,
    )


def _if_any(**details: JsonValue) -> JsonObject:
    """Returns those details that are not empty."""
    return {name: value for name, value in details.items() if value}
