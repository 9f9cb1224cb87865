"""Finds what is wrong with a scored conversation: failed criteria, destructive calls, no verdict."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, groupby
from math import prod
from typing import NamedTuple

from turnwise.schemas.config import STATUS
from turnwise.schemas.conversation import ExpectedTurn, ToolCall, turn_name
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.schemas.rows import ConversationRow
from turnwise.schemas.score import SEVERITY_REASONS, SEVERITY_WEIGHTS, Score, SeverityReason
from turnwise.transforms.criteria.base import Criterion, why_unpaired
from turnwise.transforms.criteria.ces import Hallucination, in_ces_terms, unjustified_text
from turnwise.transforms.criteria.expectations_met import not_met
from turnwise.transforms.criteria.tool_effects import ToolEffects, states_calls
from turnwise.transforms.effects.call_effects import (
    DESTRUCTIVE,
    MadeCalls,
    ToolCatalog,
    called_tool,
    tool_names,
)
from turnwise.transforms.effects.changes import call_text, comparison_cost, differing_text
from turnwise.transforms.effects.equivalence import ArgumentComparison, Difference
from turnwise.transforms.matching.calls import (
    arguments_match,
    call_key,
    equal_calls,
    held_calls,
    same_tool,
    same_value,
)
from turnwise.transforms.matching.expectations import ExpectationOutcome
from turnwise.transforms.matching.sample import (
    EXTRA_TURN,
    Sample,
    TurnPair,
    broke_off,
    end_text,
    unanswered_state,
)
from turnwise.transforms.scoring.evaluate import CriterionScores, ScoredConversation, Verdict
from turnwise.transforms.scoring.selection import conversation_gap
from turnwise.transforms.text.dates import time_seconds
from turnwise.transforms.text.sentences import single_spaced


class ReviewProblem(NamedTuple):
    """One reason to read a conversation: a `criterion` that failed (None: none did), at a 0-based `turn`.

    `gap` is the distance from the threshold as a share of the criterion's range, 0..1; `text` says why, and
    `label` names the kind of the failure and the tool, where no score does; `compares_calls`: with expected
    ones.
    """

    term: SeverityReason
    gap: float
    criterion: str | None = None
    turn: int | None = None
    score: Score | None = None
    text: str | None = None
    label: tuple[str, str] | None = None
    compares_calls: bool = False


def problems_of(
    scored: ScoredConversation, verdict: Verdict, effects: ToolEffects | None = None
) -> list[ReviewProblem]:
    """Returns the problems of a conversation, the most severe first; empty: it passed, nothing failed.

    `effects` finds unexpected destructive calls where the criteria of the run do not; None: there are none.
    """
    problems, conversation = [], scored.sample.conversation
    if conversation.ended is not None and broke_off(conversation):
        problems.append(ReviewProblem("expectations", 1.0, text=end_text(conversation)))
    if verdict.status is None and STATUS not in scored.sampled_out:
        problems.append(ReviewProblem("no_verdict", 0.0, text="; ".join(verdict.reasons) or "no verdict"))
    for entry in scored.scores:
        criterion, overall = entry.criterion, entry.overall
        if overall is not None and overall.outcome == "FAIL":
            # The failed turn with the largest gap, of equal ones the first; else the whole.
            failed = [(turn, score) for turn, score in entry.turns if score.outcome == "FAIL"]
            turn, score = failed[0] if failed else (None, overall)
            if len(failed) > 1:
                turn, score = max(failed, key=lambda failure: gap_of(criterion, failure[1]))
            term, gap = criterion.severity_reason, gap_of(criterion, overall)
            of_calls = criterion.needs_expected_calls
            problems.append(ReviewProblem(term, gap, criterion.name, turn, score, compares_calls=of_calls))
    if effects is not None:
        problems += _destructive(scored, effects)
    if not problems and verdict.status == "FAIL":
        return [_unmet(scored, verdict)]
    if len(problems) > 1:
        problems.sort(key=lambda problem: (SEVERITY_REASONS.index(problem.term), -problem.gap))
    return problems


def _unmet(scored: ScoredConversation, verdict: Verdict) -> ReviewProblem:
    """Returns the first expectation that is not met, of a case that decides by rules of its own."""
    sample = scored.sample
    problem = ReviewProblem("expectations", 1.0, text="; ".join(verdict.reasons) or None)
    if verdict.reasons or sample.eval_case is None:
        return problem
    for pair in sample.pairs:
        if pair.label:
            return problem._replace(turn=pair.index, text=why_unpaired(pair), label=(pair.label, ""))
        unmet = _first_unmet(sample.replay(pair).outcomes)
        if unmet is not None:
            return unmet._replace(turn=pair.index)
    unmet = _first_unmet(sample.scenario_outcomes)
    if unmet is not None:
        return unmet
    for entry in scored.scores:
        for turn, score in entry.turns if isinstance(entry.criterion, Hallucination) else ():
            if in_ces_terms(score).value == 0.0:
                problem = ReviewProblem(Hallucination.severity_reason, 1.0, Hallucination.name, turn)
                return problem._replace(text=unjustified_text(score), label=(score.label or "", ""))
    return problem


def _first_unmet(outcomes: Sequence[ExpectationOutcome]) -> ReviewProblem | None:
    for outcome in outcomes:
        if outcome.outcome == "FAIL" and outcome.expectation is not None:
            call = outcome.expectation.tool_call
            label = (outcome.expectation.kind, (call.name or "") if call else "")
            return ReviewProblem("expectations", 1.0, text=not_met([outcome]), label=label)
    return None


def gap_of(criterion: Criterion, score: Score) -> float:
    """Returns how far a failed score is from its threshold, as a share of the range of values, 0..1.

    Without a scale the range is the threshold itself. A failure without a value has the gap 1, one that
    reaches the threshold and fails nevertheless the gap 0.
    """
    threshold = score.threshold if score.threshold is not None else criterion.threshold
    if score.value is None or threshold is None:
        return 1.0
    extent = criterion.scale[1] - criterion.scale[0] if criterion.scale else abs(threshold)
    gap = threshold - score.value if criterion.gate == "at_least" else score.value - threshold
    return min(1.0, max(0.0, gap / extent if extent else float(gap > 0)))


def _destructive(scored: ScoredConversation, effects: ToolEffects) -> Iterator[ReviewProblem]:
    """Yields a problem for every destructive call that was not expected."""
    sample = scored.sample
    compared = [entry for entry in scored.scores if isinstance(entry.criterion, ToolEffects)]
    criterion: str | None = ToolEffects.name
    if not any(entry.overall and entry.overall.value is not None for entry in compared):
        # Changes are compared here, where all that are expected are known.
        compared, criterion = [], None
        if sample.eval_case is not None and not conversation_gap(effects, sample):
            scores = [(pair.index, effects.score(sample, pair)) for pair in sample.evaluable]
            turns = [(turn, score) for turn, score in scores if score is not None]
            compared = [CriterionScores(effects, turns, effects.score_conversation(sample))]
    for entry in compared:
        calls = [(turn, score, (score.details or {}).get(DESTRUCTIVE, [])) for turn, score in entry.scores()]
        of_turns = any(texts for turn, _, texts in calls if turn is not None)
        for turn, score, texts in calls:
            if turn is not None or not of_turns:
                yield from [ReviewProblem(DESTRUCTIVE, 1.0, criterion, turn, score)] * len(texts)


# How much a conversation needs to be read, as one number.

_DECIMALS = 3


def severity_of(problems: Sequence[ReviewProblem]) -> float:
    """Returns the severity of a conversation as a number; 0: it has no problem.

    Each kind adds weight * (1 - 1/2 * product of (1 - gap/2) over its problems), which lies between half the
    weight and the weight. The half of each weight is more than all lower kinds together, so that a worse kind
    always comes first, and among equal kinds more and larger failures come first. Problems of a kind stand
    together.
    """
    severity = 0.0
    for term, group in groupby(problems, key=lambda problem: problem.term):
        missed = prod(1.0 - problem.gap / 2 for problem in group)
        severity += SEVERITY_WEIGHTS[term] * (1.0 - missed / 2)
    return round(severity, _DECIMALS)


# Finds calls that may have destroyed something: nothing says that they were expected, or what they do.

_COMPARE = ArgumentComparison()
_MOST_COMPARED = 250_000
"""Pairs of calls that are compared by meaning; further ones are compared by equality."""


def unclear_tools(sample: Sample, made: MadeCalls, effects: ToolCatalog, criterion: ToolEffects) -> list[str]:
    """Returns the tools of successful calls of the agent that may have destroyed something unexpectedly.

    Of destructive calls, those that were held against no expected calls. Of calls whose effect is unknown or
    guessed from the name of the tool to be a write, all that were not expected: the guess may be wrong.
    """
    case = sample.eval_case
    unclear: list[ToolCall] = []
    if case is None or conversation_gap(criterion, sample):
        unclear += chain.from_iterable(made.changing)
    elif case.actions is not None:
        wanted = [*case.actions, *chain.from_iterable(map(_wanted, case.turns))]
        unclear += _not_wanted(chain.from_iterable(made.changing), wanted, effects)
    else:
        of_turns = iter(made.changing)
        for pair in sample.pairs:
            if pair.actual is not None and (calls := next(of_turns)):
                unclear += _not_wanted_of_turn(sample, pair, calls, effects)
    return tool_names(map(called_tool, unclear)) if unclear else []


def _not_wanted_of_turn(
    sample: Sample, pair: TurnPair, changing: list[ToolCall], effects: ToolCatalog
) -> list[ToolCall]:
    golden, calls = pair.expected, pair.actual.tool_calls if pair.actual else []
    states_them = golden is not None and golden.tool_calls is not None
    if not states_them and pair.label == EXTRA_TURN and sample.eval_case:
        states_them = states_calls(sample.eval_case.turns)
    if not states_them or unanswered_state(pair) is not None:
        return changing
    if golden is not None and golden.expectations:
        are_expected = equal_calls(golden.tool_calls or (), calls)
    else:
        paired = sample.calls(pair)
        are_expected = paired.are_equal and len(paired.made) == len(calls)
    return [] if are_expected else _not_wanted(changing, _wanted(golden), effects)


def _wanted(turn: ExpectedTurn | None) -> list[ToolCall]:
    """Returns the required and the optional calls of a golden turn."""
    if turn is None:
        return []
    optional = [item.tool_call for item in turn.expectations if item.skip and item.tool_call]
    return [*(turn.tool_calls or ()), *optional]


def _not_wanted(made: Iterable[ToolCall], wanted: list[ToolCall], effects: ToolCatalog) -> list[ToolCall]:
    """Returns writes that were not expected; a destructive call is compared by the criterion."""
    writes = [call for call in made if not effects.effect_of(call).destructive]
    if not writes:
        return []
    has_resources = any([call.resource for call in (*writes, *wanted)])
    left: defaultdict[str | None, list[ToolCall]] = defaultdict(list)
    for want in wanted:
        left[None if has_resources else want.name].append(want)
    extra: list[ToolCall] = []
    tried = 0
    for number, call in enumerate(writes):
        same = left[None if has_resources else call.name]
        is_first = equal_calls(same[:1], [call])  # as most are; it costs less than to weigh the call
        tried += len(same) * (1 if is_first or not same else comparison_cost(call) ** 2)
        if tried > _MOST_COMPARED:
            return [*extra, *_not_equal(writes[number:], chain.from_iterable(left.values()), effects)]
        alike = (same_tool(want, call) and not _COMPARE.differences(want, call) for want in same)
        index = 0 if is_first else next((i for i, is_alike in enumerate(alike) if is_alike), None)
        if index is None:
            extra.append(call)
        elif not effects.effect_of(call).idempotent:
            del same[index]
    return extra


def _not_equal(made: list[ToolCall], wanted: Iterable[ToolCall], effects: ToolCatalog) -> list[ToolCall]:
    """Returns the calls that equal no expected one; they may mean the same."""
    left, extra = Counter(map(call_key, wanted)), list[ToolCall]()
    for call in made:
        key = call_key(call)
        if not left[key]:
            extra.append(call)
        elif not effects.effect_of(call).idempotent:
            left[key] -= 1
    return extra


# Says what is wrong with the calls of a turn or a conversation, by its first difference.

_MISSING, _WRONG, _EXTRA = "missing", "wrong arguments", "not expected"


class CallProblem(NamedTuple):
    """What is wrong with calls of a turn: `missing`, `wrong arguments`, `not expected` or `destructive`."""

    kind: str
    tool: str
    text: str


def call_problem(problem: ReviewProblem, sample: Sample) -> CallProblem | None:
    """Returns what is wrong with the calls; None: the failed score does not rest on expected calls."""
    if problem.score is None:
        return None
    details = problem.score.details or {}
    if problem.term == DESTRUCTIVE:
        return _problem_of(DESTRUCTIVE, details[DESTRUCTIVE], "destructive and not expected: ")
    if not problem.compares_calls or problem.score.label is not None:
        return None
    if "wrong_arguments" in details:  # they hold the texts of calls
        missing, wrong, extra = (_entries(details, key) for key in ("missing", "wrong_arguments", "extra"))
        if missing:
            return _problem_of(_MISSING, missing, "missing ")
        if wrong and isinstance(wrong[0], dict) and isinstance(wrong[0].get("expected"), str):
            tool = wrong[0]["expected"].partition("(")[0]
            differences = [Difference(**item) for item in wrong[0]["arguments"]]
            text = f"{tool}: {differing_text(differences)}" if differences else f"called {wrong[0]['actual']}"
            return CallProblem(_WRONG, tool, text)
        if extra:
            return _problem_of(_EXTRA, extra, "not expected: ")
    if problem.turn is None:
        wanted = sample.eval_case.actions if sample.eval_case else None
        calls = [call for turn in sample.conversation.turns for call in turn.tool_calls]
    else:
        pair = next(pair for pair in sample.pairs if pair.index == problem.turn)
        wanted = pair.expected.tool_calls if pair.expected else None
        calls = pair.actual.tool_calls if pair.actual else []
    return _by_calls(wanted or [], held_calls(calls, wanted or ()), details)


def _problem_of(kind: str, calls: Sequence[JsonValue], head: str) -> CallProblem:
    more = f" and {len(calls) - 1} more" if len(calls) > 1 else ""
    return CallProblem(kind, str(calls[0]).partition("(")[0], f"{head}{calls[0]}{more}")


def _entries(details: JsonObject, key: str) -> list[JsonValue]:
    """Returns a list of the details; empty: there is none."""
    entries = details.get(key)
    return entries if isinstance(entries, list) else []


def _by_calls(
    wanted: Sequence[ToolCall], made: Sequence[ToolCall], details: JsonObject
) -> CallProblem | None:
    """Returns the first difference: a tool not called, one called with other arguments, one not expected."""
    asked = {call.name for call in wanted}
    called: dict[str | None, list[ToolCall]] = {}
    for call in made:
        called.setdefault(call.name, []).append(call)
    # `missing` of the details names the calls that the criterion did not pair, if present.
    named = _entries(details, "missing") if "missing" in details else asked
    unpaired = [call for call in wanted if call.name in named]
    for want in unpaired:
        if want.name not in called:
            return CallProblem(_MISSING, want.name or "", f"missing {call_text(want)}")
    for want in unpaired:
        same = called[want.name]
        if not any(arguments_match(want.args, call.args, {}) is not False for call in same):
            wanted_args, args = want.args or {}, same[0].args or {}
            pairs = [(name, wanted_args.get(name), args.get(name)) for name in {**wanted_args, **args}]
            differences = [Difference(*pair) for pair in pairs if not same_value(*pair[1:])]
            # Where one value alone differs, it is shown whether or not both mean the same; lists are
            # compared together.
            is_one = len(differences) == 1 and wanted_args.keys() ^ args.keys() <= {differences[0].parameter}
            if not is_one or isinstance(differences[0].expected, list):
                differences = _COMPARE.differences(want, same[0]) or differences
            text = f"{want.name or ''}: {differing_text(differences)}" if differences else ""
            return CallProblem(_WRONG, want.name or "", text or f"called {call_text(same[0])}")
    extra = next((call for call in made if call.name not in asked), None)
    return CallProblem(_EXTRA, extra.name or "", f"not expected: {call_text(extra)}") if extra else None


# Says in one line why a conversation should be read, and which others are of the same problem type.

MOST_WHY = 200
_MOST_KIND = 60
_PLACE = re.compile(r"(?:\d+ of \d+ fail\. )?(?:turn \d+: )?(?:\d+ of \d+ expectations? met\. )?", re.I)
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def why_of(problem: ReviewProblem, sample: Sample) -> tuple[str, str, str]:
    """Returns why a conversation should be read, by its most severe problem.

    It is one line of at most 200 characters, then criterion, label and tool, separated by `|`, and the same
    for people.
    """
    kind, tool, text = _described(problem, sample)
    if problem.turn is not None:
        name = turn_name(problem.turn)
        text = text if text[: len(name)].lower().startswith(name) else f"{name}: {text}"
    criterion = problem.criterion or (DESTRUCTIVE if problem.term == DESTRUCTIVE else STATUS)
    return one_line(text, MOST_WHY), *_problem_type(criterion, kind, tool)


@lru_cache(maxsize=1024)
def _problem_type(criterion: str, kind: str, tool: str) -> tuple[str, str]:
    problem_type = "|".join(one_line(part, _MOST_KIND).replace("|", "/") for part in (criterion, kind, tool))
    shown = " ".join(part for part in (kind, tool) if part)
    return problem_type, one_line(f"{criterion}: {shown}" if shown else criterion, MOST_WHY)


def _described(problem: ReviewProblem, sample: Sample) -> CallProblem:
    """Returns the text, the label and the tool of a problem; the last two tell it from others."""
    calls, score = call_problem(problem, sample), problem.score
    if calls is not None:
        return calls
    if score is None:
        # Without its place and numbers, so that equal reasons are equal.
        kind = one_line(_NUMBER.sub("N", _without_place(problem.text or "")), _MOST_KIND)
        text = problem.text or f"the verdict is FAIL ({problem.term})"
        return CallProblem(*(problem.label or (kind, "")), text)
    shown = _without_place(score.explanation or score.reason or "")
    text = f"{problem.criterion}: {shown}" if shown else f"{problem.criterion} failed"
    if problem.turn is not None and shown.startswith(f"{turn_name(problem.turn).capitalize()} "):
        text = f"t{shown[1:]}"
    if score.label is not None:
        return CallProblem(score.label, "", text)
    checks = _entries(score.details or {}, "checks")
    failed = next((c for c in checks if isinstance(c, dict) and c.get("outcome") == "FAIL"), {})
    kind = str(failed.get("kind") or "")
    tool = str(failed.get("wanted") or "").partition("(")[0] if kind == "tool_call" else ""
    return CallProblem(kind, tool, text)


def _without_place(text: str) -> str:
    match = _PLACE.match(text)
    return text[match.end() :] if match else text


def one_line(text: str, most: int) -> str:
    """Returns a text in one line of at most `most` characters."""
    line = single_spaced(text, most)
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"


# Chooses the conversations to read first, and counts those of the same problem type.

MOST_READ = 10
MOST_OF_A_TYPE = 3
_MOST_KEPT = 256


LEAST_DESTRUCTIVE = SEVERITY_WEIGHTS[DESTRUCTIVE] / 2
"""Severity from which a conversation has an unexpected destructive call: all else together is less."""


def _step(row: ConversationRow) -> int:
    """Returns 0 of a conversation that destroyed something unexpectedly, 1 of one that failed, else 2."""
    return 0 if row["severity_score"] >= LEAST_DESTRUCTIVE else 1 if row["verdict"] == "FAIL" else 2


def reading_key(row: ConversationRow) -> tuple[int, float, float, str, str, str]:
    """Returns a key that sorts conversations in the order of reading.

    What failed or destroyed something comes first, then what passed although something is wrong, each the
    most severe first, of equal severity the latest event. Ids decide what is left, so that the order does not
    depend on the order of the rows.
    """
    severity, time = row["severity_score"], time_seconds(row["event_time"]) or 0.0
    ids = row["conversation_id"], row["app_version"] or "", row["eval_id"] or ""
    return _step(row), -severity, -time, *ids


def to_read(rows: Iterable[ConversationRow], most: int = MOST_READ) -> list[ConversationRow]:
    """Returns the conversations to read first, so that they show different problems.

    Those with an unexpected destructive call come first, then the worst of every problem type, then the
    second ones, and so on; each time by severity. None else that passed stands before one that failed. Those
    without a problem are not chosen; at most three are of one problem type.
    """
    rounds: list[list[ConversationRow]] = [[] for _ in range(MOST_OF_A_TYPE)]
    taken: Counter[str | None] = Counter()
    for row in sorted((row for row in rows if row["severity_score"] > 0), key=reading_key):
        number = taken[row["problem_type"]]
        if number < MOST_OF_A_TYPE:
            rounds[number].append(row)
            taken[row["problem_type"]] += 1
    return sorted((row for round_of_rows in rounds for row in round_of_rows), key=_step)[:most]


def add_candidates(kept: list[ConversationRow], rows: Iterable[ConversationRow]) -> None:
    """Adds rows, without transcripts, to some of which `to_read` chooses later; at most hundreds are kept.

    A row that is chosen from the whole is chosen from its part, too, where fewer rows stand before it.
    """
    kept += [{**row, "transcript": None} for row in rows if row["severity_score"] > 0]
    if len(kept) > _MOST_KEPT:
        kept[:] = to_read(kept)


def type_sizes(rows: Iterable[ConversationRow]) -> dict[str, int]:
    """Returns problem_type -> number of conversations, the largest problem_type first, then by name."""
    sizes = Counter(row["problem_type"] for row in rows if row["problem_type"] is not None)
    return dict(sorted(sizes.items(), key=lambda item: (-item[1], item[0])))
