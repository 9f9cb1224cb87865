"""tool_effects_v1: did the conversation change what it was to change, and nothing else."""

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from pydantic import Field

from schemas.conversation import ExpectedTurn, ToolCall, Turn
from schemas.score import Score
from schemas.values import JsonObject
from transforms.arguments import ArgumentMatcher, is_directive
from transforms.conversation_case import EXTRA_TURN, ConversationCase, TurnPair
from transforms.criteria.base import MeasuredCriterion
from transforms.criteria.knows_tools import KnowsTools
from transforms.effects.book import ToolBook, called_tool
from transforms.effects.calls import Comparison
from transforms.effects.done import agents_work, changes, users_work
from transforms.effects.pairing import Matching, match_calls, once
from transforms.effects.wording import listed, summary, wrong_details
from transforms.expectations import JUDGE_NEEDED

HANDOFF_WEIGHT = 0.1
"""What a hand-off counts beside a write: it changes who is in charge, and no record.

At a tenth, one hand-off too many lowers the value less than one wrong write among up to ten."""


class _Work(NamedTuple):
    """What was to be changed, what may be, and what was, by the agent and with the user's own tools."""

    expected: list[ToolCall]
    optional: list[ToolCall]
    actual: list[ToolCall]
    idle: list[ToolCall]
    users_expected: list[ToolCall]
    users_actual: list[ToolCall]
    users_idle: list[ToolCall]
    failed: list[ToolCall]
    guesses: dict[str, str]


class ToolEffects(MeasuredCriterion, KnowsTools):
    """F1 of the changes that were made against those that were expected, 0..1.

    A change is a call of a tool that writes or hands over, and whose answer is no error; an idempotent one
    counts once. A hand-off weighs a tenth of a write, and that neither side writes anything weighs one write.
    It passes if nothing is missing and nothing extra; an extra destructive call always fails. The user's own
    calls count as far as the case expects them.

    Attributes:
        argument_matchers: Tool (or `*`) -> parameter -> how it is compared.
        ordered_lists: Tool (or `*`) -> parameters whose lists are compared in order.
    """

    name: ClassVar[str] = "tool_effects_v1"

    threshold: float | None = 1.0
    argument_matchers: dict[str, dict[str, ArgumentMatcher]] = Field(default_factory=dict)
    ordered_lists: dict[str, list[str]] = Field(default_factory=dict)

    def score(self, case: ConversationCase, pair: TurnPair) -> Score | None:
        """Compares the changes of a turn with those of its golden turn; an absent turn changes nothing."""
        expected = pair.expected.tool_calls if pair.expected else None
        if expected is None and not (pair.label == EXTRA_TURN and _states_calls(case)):
            return None
        book, turns = self.book(case), [pair.actual] if pair.actual else []
        score = self._compare(_work(book, expected or [], [], turns, _optional(pair.expected)), book)
        score.label = pair.label
        return score

    def score_conversation(self, case: ConversationCase) -> Score | None:
        """Compares all changes of the conversation, where the case states only those of the whole."""
        golden = case.case
        if golden is None or (golden.actions is None and not golden.user_actions):
            return None
        book, turns = self.book(case), case.conversation.turns
        return self._compare(_work(book, golden.actions, golden.user_actions, turns, []), book)

    def overall(self, turns: Sequence[Score]) -> Score | None:
        """Returns the mean over the turns; it fails if one did something destructive and unexpected."""
        overall = super().overall(turns)
        if overall is not None and any(
            s.outcome == "FAIL" and "destructive" in (s.details or {}) for s in turns
        ):
            overall.outcome, overall.reason = "FAIL", "a turn did something destructive that was not expected"
        return overall

    def _compare(self, work: _Work, book: ToolBook) -> Score:
        score = self._score(work, book, False)
        if any(map(_has_directive, work.expected)):
            best = self._score(work, book, True)
            if best.value != score.value:
                score = Score(None, reason=JUDGE_NEEDED, details=score.details)
        return score

    def _score(self, work: _Work, book: ToolBook, undecided: bool) -> Score:
        compare = Comparison(self.argument_matchers, self.ordered_lists, undecided)
        matching = _matching(work.expected, work.actual, work.idle, compare)
        matching.extra[:] = match_calls(work.optional, matching.extra, compare).extra
        destructive = [call for call in _unexpected(matching) if book.effect_of(call).destructive]
        users = _matching(work.users_expected, work.users_actual, work.users_idle, compare)
        matching.matched.extend(users.matched)
        matching.missing.extend(users.missing)
        matching.wrong.extend(users.wrong)
        details = _details(matching, compare, work)
        if destructive:
            details["destructive"] = listed(destructive)
        score = Score(_f1(matching, book), explanation=summary(matching, compare), details=details)
        if destructive and self.threshold is not None:
            score.threshold, score.outcome = self.threshold, "FAIL"
            score.reason = f"destructive and not expected: {', '.join(listed(destructive))}"
        return score


def _states_calls(case: ConversationCase) -> bool:
    return case.case is not None and any(turn.tool_calls is not None for turn in case.case.turns)


def _has_directive(call: ToolCall) -> bool:
    return any(map(is_directive, (call.args or {}).values()))


def _optional(expected: ExpectedTurn | None) -> list[ToolCall]:
    """Returns the calls that a golden turn names and does not check."""
    return [e.tool_call for e in (expected.expectations if expected else ()) if e.skip and e.tool_call]


def _work(
    book: ToolBook,
    expected: Sequence[ToolCall] | None,
    by_user: Sequence[ToolCall],
    turns: Sequence[Turn],
    optional: list[ToolCall],
) -> _Work:
    done = agents_work(turns if expected is not None else [], book)
    users_expected = once(changes(by_user, book), book)
    users = users_work(turns if users_expected else [], book)
    called = [call for turn in turns for call in turn.tool_calls]
    return _Work(
        once(changes(expected or [], book), book),
        optional,
        once(done.succeeded, book),
        once(done.idle, book),
        users_expected,
        once(users.succeeded, book),
        once(users.idle, book),
        done.failed,
        book.guesses(map(called_tool, [*(expected or []), *by_user, *called, *users.succeeded])),
    )


def _matching(
    expected: Sequence[ToolCall], actual: Sequence[ToolCall], idle: Sequence[ToolCall], compare: Comparison
) -> Matching:
    """Pairs calls; one that found all as it was to be is no change, and does what is missing else."""
    matching = match_calls(expected, actual, compare)
    if matching.missing and idle:
        found = match_calls(matching.missing, idle, compare)
        matching.matched.extend(found.matched)
        matching.missing[:] = [*found.missing, *(wrong.expected for wrong in found.wrong)]
    return matching


def _unexpected(matching: Matching) -> list[ToolCall]:
    return [*matching.extra, *(wrong.actual for wrong in matching.wrong)]


def _f1(matching: Matching, book: ToolBook) -> float:
    """Returns 2 M / (E + A) of the weights of what matched, was expected and was made."""
    matched, missing, extra = matching.matched, matching.missing, matching.extra
    wanted = [*matched, *missing, *(wrong.expected for wrong in matching.wrong)]
    made = [*matched, *extra, *(wrong.actual for wrong in matching.wrong)]
    agreed, total = _weight(matched, book), _weight(wanted, book) + _weight(made, book)
    if not any(book.effect_of(call).effect == "write" for call in (*wanted, *made)):
        agreed, total = agreed + 1.0, total + 2.0
    return 2.0 * agreed / total


def _weight(calls: Sequence[ToolCall], book: ToolBook) -> float:
    return sum(HANDOFF_WEIGHT if book.effect_of(call).effect == "handoff" else 1.0 for call in calls)


def _details(matching: Matching, compare: Comparison, work: _Work) -> JsonObject:
    matched, wrong = len(matching.matched), len(matching.wrong)
    details: JsonObject = {
        "expected": matched + wrong + len(matching.missing),
        "actual": matched + wrong + len(matching.extra),
        "matched": listed(matching.matched),
        "missing": listed(matching.missing),
        "extra": listed(matching.extra),
        "wrong_arguments": wrong_details(matching.wrong, compare),
    }
    more = {"failed": listed(work.failed), "guessed": work.guesses}
    return details | {name: value for name, value in more.items() if value}
