"""tool_effects_v1: comparison of the changes that calls made with the expected changes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, Self

from pydantic import BaseModel, Field, PrivateAttr

from turnwise.schemas.conversation import UNKNOWN, ExpectedTurn, ToolCall, ToolSetting
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.schemas.score import Score
from turnwise.transforms.criteria.base import MeasuredCriterion
from turnwise.transforms.effects import changes
from turnwise.transforms.effects.call_effects import DESTRUCTIVE, ToolCatalog, called_tool
from turnwise.transforms.effects.equivalence import ArgumentComparison, OpenPair, equivalent
from turnwise.transforms.matching.calls import (
    ArgumentMatcher,
    directive_text,
    is_directive,
    plain_text,
    value_matches,
)
from turnwise.transforms.matching.expectations import JUDGE_NEEDED
from turnwise.transforms.matching.sample import EXTRA_TURN, Sample, TurnPair


class UsesToolEffects(BaseModel, defer_build=True):
    """A criterion that depends on the effects of tools.

    Attributes:
        tools: The config's own `tools`; a criterion has none of its own.
    """

    tools: dict[str, ToolSetting] = Field(default_factory=dict)


class OpenScore(Score):
    """A score without a value, because only a judge can compare some values."""

    pairs: tuple[OpenPair, ...] = ()


class LeavesOpen(BaseModel, defer_build=True):
    """A measured criterion that asks a judge about values that it cannot compare, where there is a judge."""

    _answers: Mapping[OpenPair, bool] = PrivateAttr(default_factory=dict)

    def with_answers(self, answers: Mapping[OpenPair, bool]) -> Self:
        """Returns the same criterion, with what a judge said: whether the values of a pair are the same."""
        copy = self.model_copy()
        copy._answers = answers
        return copy


HANDOFF_WEIGHT = 0.1
"""Weight of a hand-off relative to a write. One extra hand-off costs less than one wrong write among ten."""

CountsAs = Literal["allow", "weigh", "fail"]

_FAILING = {
    DESTRUCTIVE: "destructive and not expected",
    "extra_handoffs": "a hand-off and not expected",
    "extra_writes": "a write and not expected",
    "missing_handoffs": "a hand-off and missing",
}
_ALLOWED = {
    "extra_handoffs": "Handed over though not expected, which is allowed",
    "extra_writes": "Written though not expected, which is allowed",
    "missing_handoffs": "Not handed over though expected, which is allowed",
}


class ToolEffects(MeasuredCriterion, UsesToolEffects, LeavesOpen):
    """F1 of the changes that were made against those that were expected, 0..1.

    A change is a successful call of a tool that writes or hands over. Idempotent calls count once, and two
    calls that undo each other do not count. A hand-off weighs a tenth of a write; if no write is expected or
    made, that agreement weighs one write. The score passes if nothing is missing and nothing extra; an extra
    destructive call always fails. An expected change may be made by the agent or the user; other changes of
    the user do not count.

    A tool whose effect is unknown may be a look-up or destructive. A call of it as expected is right. One
    that is extra, missing or has other arguments leaves no score, unless the conversation fails anyway. Nor
    has a pass a score if an expected look-up failed, was not repeated with success, and the agent does not
    say so (its words may be invented); if only look-ups are expected and one was never made; or if the last
    call that sets a value (`set_temp`) sets another than expected.

    When to use: The effects of calls matter, and not the read calls on the way.

    Attributes:
        argument_matchers: Tool (or `*`) -> parameter -> how it is compared, as in
            `tool_trajectory_avg_score`.
        ordered_lists: Tool (or `*`) -> parameters whose lists are compared in order.
        extra_handoffs: Effect of an unexpected hand-off: `allow`, it is reported and does not count; `weigh`,
            it lowers the value; `fail`, it lowers the value and fails at any threshold.
        extra_writes: The same of an unexpected write that is not destructive.
        missing_handoffs: The same of an expected hand-off that is missing. One to another agent is missing
            and unexpected; it does not count if both are allowed.
        prose: How free texts of other wording count: `judge`, the judge of the run is asked whether they mean
            the same, by the options of `semantic_match`, and without one the conversation has no score unless
            something else fails it; `ignore`, they are not compared. Texts of hand-offs are not compared,
            unless they contradict.
    """

    name = "tool_effects_v1"
    needs = "expected calls"
    severity_reason = "missing_writes"
    rests_on = ("calls",)
    turns_count = True
    needs_expected_calls = True

    threshold: float | None = 1.0
    argument_matchers: dict[str, dict[str, ArgumentMatcher]] = Field(default_factory=dict)
    ordered_lists: dict[str, list[str]] = Field(default_factory=dict)
    extra_handoffs: CountsAs = "allow"
    extra_writes: CountsAs = "weigh"
    missing_handoffs: CountsAs = "weigh"
    prose: Literal["judge", "ignore"] = "judge"

    def score(self, sample: Sample, pair: TurnPair) -> Score | None:
        """Compares the changes of a turn with those of its golden turn; an absent turn changes nothing."""
        expected = pair.expected.tool_calls if pair.expected else None
        golden = sample.eval_case.turns if sample.eval_case else ()
        if expected is None and not (pair.label == EXTRA_TURN and states_calls(golden)):
            return None
        catalog, turns = sample.catalog(self.tools), [pair.actual] if pair.actual else []
        missing = changes.uncalled(expected or (), sample.called_tools)
        missing = missing if missing and catalog.are_lookups(golden) else []
        work = changes.changes_of(_expected(pair.expected, catalog), turns, catalog)
        score = self._compare(work, catalog, missing)
        score.label = pair.label
        return score

    def score_conversation(self, sample: Sample) -> Score | None:
        golden = sample.eval_case
        if golden is None or (golden.actions is None and not golden.user_actions):
            return None
        actions, catalog = golden.actions, sample.catalog(self.tools)
        of_turns = [_expected(turn, catalog) for turn in golden.turns]
        if actions is None and states_calls(golden.turns):
            actions = [call for turn in of_turns for call in turn.by_agent or ()]
        optional = [call for turn in of_turns for call in turn.optional]
        wanted = changes.ExpectedCalls(actions, golden.user_actions, optional)
        work = changes.changes_of(wanted, sample.conversation.turns, catalog)
        called = [*(actions or ()), *golden.user_actions]
        missing = changes.uncalled(called if actions else (), sample.called_tools)
        missing = missing if all(catalog.effect_of(call).effect == "read" for call in called) else []
        score = self._compare(work, catalog, missing)
        words = [golden.outputs, golden.expectations, golden.evaluation_expectations, golden.rubrics]
        of_turns_words = (t.response is not None or t.expectations or t.rubrics for t in golden.turns)
        if not work.expected and not any(words) and not any(of_turns_words):
            nothing = "The case states no change and no words, so that nothing that was said is compared."
            score.explanation = f"{score.explanation} {nothing}"
        return score

    def overall(self, turns: Sequence[Score]) -> Score | None:
        """Returns the mean over the turns; FAIL if a turn fails at any threshold."""
        overall = super().overall(turns)
        reasons = [self._certain_failure(s.details or {}) for s in turns if s.outcome == "FAIL"]
        if overall is not None and any(reasons):
            overall.outcome, overall.reason = "FAIL", f"in a turn: {next(filter(None, reasons))}"
        return overall

    def _compare(self, work: changes.Changes, catalog: ToolCatalog, missing: Sequence[ToolCall]) -> Score:
        """Scores what is certain; there is no score where a judge's answer could change it."""
        score = self._score(work, catalog, False)
        if score.value != 1.0:
            best = self._score(work, catalog, True)
            pairs, best.pairs = best.pairs, ()
            is_certain = (best.value, best.outcome) == (score.value, score.outcome)
            if not is_certain and self.gated(best).outcome != "FAIL":
                details, reason = best.details or {}, JUDGE_NEEDED
                if isinstance(unclear := details.get("not_compared"), list):
                    names = ", ".join(map(str, unclear))
                    reason = f"the wording of {names} differs: name a judge (`--judge`) or state a matcher"
                details = details | {"unclear": [pair._asdict() for pair in pairs[: changes.MOST_LISTED]]}
                text = f"If the wording means the same: {best.explanation}"
                return OpenScore(None, reason, explanation=text, details=details, pairs=pairs)
            score = best
        if not (work.lookups or missing or work.last_set) or self.gated(score).outcome != "PASS":
            return score
        compare = ArgumentComparison(self.argument_matchers, self.ordered_lists, True)
        last = [call for want, call in work.last_set if compare.differences(want, call)]
        heads = {
            "an expected look-up failed, and the agent does not say so": work.lookups,
            "only look-ups are expected, and one was not made": missing,
            "the last call that sets something is not the expected one": last,
        }
        for head, calls in heads.items():
            if calls:
                reason = f"{head}: {'; '.join(changes.listed(list(map(changes.call_text, calls))))}"
                return Score(None, reason=reason, explanation=score.explanation, details=score.details)
        return score

    def _score(self, work: changes.Changes, catalog: ToolCatalog, counts_unclear: bool) -> OpenScore:
        names = frozenset(d.call.name for d in work.expected if _has_effect(d, catalog, "handoff"))
        rules = self.argument_matchers, self.ordered_lists, counts_unclear, self.prose == "ignore"
        compare = ArgumentComparison(*rules, names, self._answers)
        matching = changes.match_changes(work, catalog, compare)
        unclear = _take_unclear(matching, catalog) if UNKNOWN in work.guesses.values() else {}
        unexpected = _unexpected(matching)
        chosen = self._chosen(matching, catalog)
        allowed = {name: calls for name, calls in chosen.items() if getattr(self, name) == "allow"}
        dropped = {id(item) for calls in allowed.values() for item in calls}
        for side in (matching.extra, matching.missing):
            side[:] = [item for item in side if id(item) not in dropped]
        matched, wrong = len(matching.matched), len(matching.wrong)
        details: JsonObject = {
            "expected": matched + wrong + len(matching.missing),
            "actual": matched + wrong + len(matching.extra),
            "matched": changes.listed(changes.texts([pair.expected for pair in matching.matched])),
            "missing": changes.listed(changes.texts(matching.missing)),
            "extra": changes.listed(changes.texts(matching.extra)),
            "wrong_arguments": changes.wrong_details(matching.wrong, compare),
        }
        further: JsonObject = {
            "made_by_the_other": changes.by_other_actor(matching),
            "undone": changes.listed(changes.texts(work.undone)),
            "failed": changes.listed(list(map(changes.call_text, [*work.failed, *work.lookups]))),
            "guessed": work.guesses,
            DESTRUCTIVE: changes.listed(
                changes.texts([d for d in unexpected if catalog.effect_of(d.call).destructive])
            ),
            **{name: changes.listed(changes.texts(calls)) for name, calls in chosen.items()},
            "unknown": changes.listed([text for calls in unclear.values() for text in changes.texts(calls)]),
            "not_compared": changes.listed(skipped := changes.not_compared(matching, compare)),
        }
        details |= {name: value for name, value in further.items() if value}
        notes = {_ALLOWED[name]: calls for name, calls in allowed.items()}
        uncounted = [item for calls in unclear.values() for item in calls]
        notes["Not counted, because it is unknown what the tool does"] = uncounted
        score = OpenScore(
            _f1(matching, catalog),
            explanation=changes.summary(matching, compare, notes, work.undone, skipped),
            details=details,
            pairs=changes.open_pairs(matching, compare) if counts_unclear else (),
        )
        score.reason = self._certain_failure(details)
        if score.reason:
            score.threshold, score.outcome = self.threshold, "FAIL"
        elif UNKNOWN in work.guesses.values():
            score.reason = self._why_unknown(matching, unclear, catalog)
            score.value = None if score.reason else score.value
        return score

    def _chosen(self, matching: changes.Matching, catalog: ToolCatalog) -> dict[str, list[changes.ActorCall]]:
        """Returns the calls that each mode is about; those that fail include calls with other arguments."""
        if self.extra_handoffs == self.missing_handoffs == "allow":
            for pair in [pair for pair in matching.wrong if _has_effect(pair.expected, catalog, "handoff")]:
                matching.wrong.remove(pair)
                matching.missing.append(pair.expected)
                matching.extra.append(pair.actual)
        extra, missing = _unexpected(matching), [*matching.missing, *(p.expected for p in matching.wrong)]
        chosen = {}
        for name, calls, all_calls, effect in (
            ("extra_handoffs", matching.extra, extra, "handoff"),
            ("extra_writes", matching.extra, extra, "write"),
            ("missing_handoffs", matching.missing, missing, "handoff"),
        ):
            mode = getattr(self, name)
            if mode != "weigh" or name == "extra_handoffs":
                tools = [(d, catalog.effect_of(d.call)) for d in (all_calls if mode == "fail" else calls)]
                chosen[name] = [d for d, tool in tools if tool.effect == effect and not tool.destructive]
        return chosen

    def _why_unknown(
        self, matching: changes.Matching, unclear: dict[str, list[changes.ActorCall]], catalog: ToolCatalog
    ) -> str | None:
        """Returns why the outcome depends on tools whose effect is unknown; None: it does not."""
        threshold = self.threshold
        # The value counts matched calls of such tools as writes and leaves out all others: it is the highest.
        if threshold is not None and _f1(matching, catalog) < threshold:
            return None
        known = [pair for pair in matching.matched if not _has_effect(pair.expected, catalog, UNKNOWN)]
        if unclear:
            names = {how: dict.fromkeys(called_tool(c.call) for c in calls) for how, calls in unclear.items()}
            tools = [f"{how}: {', '.join(called)}" for how, called in names.items()]
        elif threshold is None or threshold <= _f1(matching._replace(matched=known), catalog):
            return None
        else:
            tools = sorted({called_tool(p.expected.call) for p in matching.matched if p not in known})
        named = "; ".join(tools)
        return f"it is unknown what a tool does ({named}): state its effect in `tools` of the config"

    def _certain_failure(self, details: JsonObject) -> str | None:
        """Returns the reason for a failure at any threshold; None: there is none, or no threshold."""
        failing = [n for n in _FAILING if n == DESTRUCTIVE or getattr(self, n) == "fail"]
        certain = [(name, calls) for name in failing if isinstance(calls := details.get(name), list)]
        reasons = [f"{_FAILING[name]}: {', '.join(map(str, calls))}" for name, calls in certain]
        return "; ".join(reasons) if reasons and self.threshold is not None else None


def states_calls(golden: Iterable[ExpectedTurn]) -> bool:
    """Returns whether one of the turns of a case states which calls are expected."""
    return any(turn.tool_calls is not None for turn in golden)


def _expected(turn: ExpectedTurn | None, catalog: ToolCatalog) -> changes.ExpectedCalls:
    if turn is None:
        return changes.ExpectedCalls([])
    skipped = [e.tool_call for e in turn.expectations if e.skip and e.tool_call]
    handoffs, free = changes.expected_handoffs(turn, catalog)
    return changes.ExpectedCalls([*(turn.tool_calls or ()), *handoffs], optional=[*skipped, *free])


def _unexpected(matching: changes.Matching) -> list[changes.ActorCall]:
    """Returns the unexpected calls of the agent, with those that replace expected ones."""
    return [*matching.extra, *(pair.actual for pair in matching.wrong if pair.actual.actor == "agent")]


def _has_effect(call: changes.ActorCall, catalog: ToolCatalog, effect: str) -> bool:
    return catalog.effect_of(call.call).effect == effect


def _take_unclear(matching: changes.Matching, catalog: ToolCatalog) -> dict[str, list[changes.ActorCall]]:
    """Removes the calls that are not as expected and whose tool's effect is unknown, and returns them."""
    wrong = [pair for pair in matching.wrong if _has_effect(pair.expected, catalog, UNKNOWN)]
    unclear = {}
    for how, side in (("not expected", matching.extra), ("missing", matching.missing)):
        unclear[how] = [call for call in side if _has_effect(call, catalog, UNKNOWN)]
        side[:] = [call for call in side if not _has_effect(call, catalog, UNKNOWN)]
    unclear["with other arguments"] = [pair.actual for pair in wrong]
    matching.wrong[:] = [p for p in matching.wrong if not _has_effect(p.expected, catalog, UNKNOWN)]
    return {how: calls for how, calls in unclear.items() if calls}


def _f1(matching: changes.Matching, catalog: ToolCatalog) -> float:
    """Returns F1 = 2 M / (E + A), with the weights of matched, expected and made calls."""

    def weight(calls: Sequence[changes.ActorCall]) -> float:
        return sum(HANDOFF_WEIGHT if _has_effect(call, catalog, "handoff") else 1.0 for call in calls)

    matched = [pair.expected for pair in matching.matched]
    wanted = [*matched, *matching.missing, *(pair.expected for pair in matching.wrong)]
    made = [*matched, *matching.extra, *(pair.actual for pair in matching.wrong)]
    agreed, total = weight(matched), weight(wanted) + weight(made)
    if all(_has_effect(call, catalog, "handoff") for call in (*wanted, *made)):
        agreed, total = agreed + 1.0, total + 2.0
    return 2.0 * agreed / total


_SHOWN = 3


class FinalState(MeasuredCriterion, LeavesOpen):
    """Share of the expected paths of the session state that hold the expected value, 0..1.

    Objects are compared path by path and lists as one value, like arguments in `tool_effects_v1`; unexpected
    paths are ignored. The judge of the run is asked about texts of other wording, by the options of
    `semantic_match`; without one there is no value. A case's
    `final_session_state` is compared with the state at the end of the conversation, CES's updated variables
    with the state after their turn.

    When to use: The session state at the end (or after a turn) must hold certain values.
    """

    name = "final_state_v1"
    needs = "a case with a final session state"
    severity_reason = "missing_writes"
    rests_on = ("calls",)
    turns_count = True

    threshold: float | None = 1.0

    def score(self, sample: Sample, pair: TurnPair) -> Score | None:
        stated = pair.expected.expectations if pair.expected else []
        wanted: JsonObject = {}
        for expectation in stated:
            if expectation.kind == "updated_variables" and not expectation.skip:
                wanted |= expectation.variables or {}
        return self._compare(wanted, sample.state_after(pair)) if wanted else None

    def score_conversation(self, sample: Sample) -> Score | None:
        golden = sample.eval_case
        if golden is None or not golden.final_session_state:
            return None
        shown: JsonObject = {}
        for turn in sample.conversation.turns:
            shown |= turn.variables
        shown |= sample.conversation.state
        if not shown:
            return Score(None, reason="the log shows no session state")
        return self._compare(golden.final_session_state, golden.session_state | shown)

    def _compare(self, wanted: JsonObject, state: JsonObject) -> Score:
        total, matched = 0, 0
        differing: list[tuple[str, JsonValue, JsonValue]] = []
        pairs: list[OpenPair] = []
        for path, want, actual in _paths(wanted, state, ""):
            verdict = value_matches(want, actual) if is_directive(want) else equivalent(want, actual)
            is_open = not (verdict or is_directive(want)) and equivalent(want, actual, "met")
            if verdict is None or is_open:
                text = directive_text(want) if is_directive(want) else plain_text(want)
                pair = OpenPair(f"{path} of the state", text, plain_text(actual))
                verdict = self._answers.get(pair)
                pairs += [pair] if verdict is None else []
            total, matched = total + 1, matched + bool(verdict)
            differing += [(path, want, actual)] if verdict is False else []
        shown = [{"path": path, "expected": want, "actual": actual} for path, want, actual in differing]
        details: JsonObject = {"expected": total, "matched": matched, "differing": shown}
        share = (matched + len(pairs)) / total
        explanation = "The state is as expected."
        if differing:
            more = f", and {len(differing) - _SHOWN} more" if len(differing) > _SHOWN else ""
            explanation = f"{changes.differing_text(differing[:_SHOWN])}{more}."
        if pairs:
            details["unclear"] = [pair._asdict() for pair in pairs]
            named = ", ".join(pair.name for pair in pairs[:_SHOWN])
            explanation = f"Wording not compared: {named}. {explanation if differing else ''}".strip()
        if pairs and (self.threshold is None or share >= self.threshold):
            return OpenScore(None, JUDGE_NEEDED, explanation=explanation, details=details, pairs=tuple(pairs))
        return Score(share, explanation=explanation, details=details)


def _paths(wanted: JsonObject, state: JsonValue, prefix: str) -> Iterator[tuple[str, JsonValue, JsonValue]]:
    """Yields every path of the expected state with its expected and its actual value."""
    for key, value in wanted.items():
        actual = state.get(key) if isinstance(state, dict) else None
        if isinstance(value, dict) and value and not is_directive(value):
            yield from _paths(value, actual, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value, actual
