"""Collects and matches the expected and the made changes of a conversation, by agent and user."""

import json
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from math import isfinite
from typing import Literal, NamedTuple
from unicodedata import normalize

from turnwise.schemas import jsonio
from turnwise.schemas.conversation import ExpectedTurn, ToolCall, ToolResponse, Turn
from turnwise.schemas.jsonio import JsonObject, JsonValue, grouped
from turnwise.transforms.effects.call_effects import ToolCatalog, called_tool
from turnwise.transforms.effects.catalog import SETTING, TOGGLING, deciding_verb, words_of
from turnwise.transforms.effects.equivalence import ArgumentComparison, OpenPair, equivalent, key_of, nodes
from turnwise.transforms.effects.failures import admits_failure, changed_nothing, has_failed
from turnwise.transforms.effects.prose import may_be_reworded
from turnwise.transforms.matching.alignment import best_assignment, count_matches, equal_matches
from turnwise.transforms.matching.calls import (
    answered_calls,
    frozen,
    held_calls,
    is_directive,
    matcher_text,
    pair_responses,
    same_tool,
)
from turnwise.transforms.matching.expectations import same_agent, turn_texts
from turnwise.transforms.text.sentences import single_spaced
from turnwise.transforms.text.words import word_set

# Calls with their actor (agent or user), without repetitions and without pairs that undo each other.

Actor = Literal["agent", "user"]
_STATES = ("on", "off", "enabled", "disabled", "active", "inactive")
_THINGS = word_set("""account attribute cell channel column customer device field file id ids index item key
    line order parameter passenger path product property room row sensor setting sku ticket url user uuid
    variable zone""")
_VALUES = word_set("amount enabled level limit mode on quantity state status to value")
_MOST_SET = 100_000
_NAMES_OF_STATES = frozenset(("state", "status", "value", "on", "off", "to", "enable", "enabled", "active"))


class ActorCall(NamedTuple):
    """A call and the actor that makes it, or is expected to make it."""

    call: ToolCall
    actor: Actor


def calls_by(actor: Actor, calls: Iterable[ToolCall]) -> list[ActorCall]:
    """Returns calls with their actor."""
    return [ActorCall(call, actor) for call in calls]


def without_repeats(calls: Iterable[ActorCall], catalog: ToolCatalog) -> list[ActorCall]:
    """Returns calls without repetitions of idempotent calls by one actor."""
    seen: set[Hashable] = set()
    distinct = []
    for item in calls:
        effect = catalog.effect_of(item.call)
        if effect.idempotent:
            key = item.actor, call_key(item.call, effect.effect == "handoff")
            if key in seen:
                continue
            seen.add(key)
        distinct.append(item)
    return distinct


def call_key(call: ToolCall, is_handoff: bool = False) -> Hashable:
    """Returns a key that only equal calls share; lists are compared in order, prose of hand-offs is not."""

    def in_order(value: JsonValue) -> Hashable:
        if isinstance(value, dict):
            return frozenset((name, in_order(item)) for name, item in value.items())
        if isinstance(value, list):
            return tuple(map(in_order, value))
        return "prose" if is_handoff and may_be_reworded(value) else key_of(value)

    return call.name, call.resource, in_order(call.args or {})


def without_undone(
    made: Sequence[ActorCall], catalog: ToolCatalog
) -> tuple[list[ActorCall], list[ActorCall]]:
    """Returns calls without pairs of which the second undoes the first (two toggles of a light), and those.

    Calls of one actor are paired with each other first, then calls of different actors.
    """
    keys: list[Hashable] = []
    for call, _ in made:
        tool, values = catalog.effect_of(call), (call.args or {}).values()
        toggles = (
            deciding_verb(called_tool(call)) in TOGGLING and tool.effect == "write" and not tool.idempotent
        )
        # With an argument for the new state, a call sets it.
        sets = toggles and (
            any(word in _NAMES_OF_STATES for name in call.args or () for word in words_of(name))
            or any(isinstance(v, bool) or any(equivalent(state, v) for state in _STATES) for v in values)
        )
        keys.append(call_key(call) if toggles and not sets else None)
    counts = Counter((key, item.actor) for key, item in zip(keys, made, strict=True))
    odd = {(key, actor) for (key, actor), count in counts.items() if count % 2}
    left = {(key, actor) for key, actor in odd if not {(key, "agent"), (key, "user")} <= odd}
    distinct: list[ActorCall] = []
    undone: list[ActorCall] = []
    for key, item in zip(keys, made, strict=True):
        stays = key is None or (key, item.actor) in left
        (distinct if stays else undone).append(item)
        left.discard((key, item.actor))
    return distinct, undone


# Pairs expected changes with the calls that were made, one to one.

_MOST_COMPARED = 250_000
_TEXT_COST, _TEXT_LENGTH = 6, 50
_FEW = 64  # pairs of calls that are compared in less time than it takes to look for equal ones
_MOST_DESCRIBED = 256
_OTHER_ACTOR_FACTOR = 0.5


class Pair(NamedTuple):
    """An expected call and a made call of the same tool."""

    expected: ActorCall
    actual: ActorCall


class Matching(NamedTuple):
    """Expected and made calls, by their match.

    Matched calls are equivalent, wrong ones of the same tool with others; the rest has no partner.
    """

    matched: list[Pair]
    missing: list[ActorCall]
    extra: list[ActorCall]
    wrong: list[Pair]


def match_same(
    expected: Sequence[ActorCall], actual: Sequence[ActorCall], compare: ArgumentComparison
) -> Matching:
    """Pairs as many equivalent calls as possible, calls of one actor first.

    A call of the other actor is paired only if the expected actor made no equivalent call. Of hundreds
    of calls of one tool, only those are paired that differ in nothing but the spelling of single values.
    """

    def is_same(want: ActorCall, item: ActorCall) -> bool:
        return same_tool(want.call, item.call) and not compare.differences(want.call, item.call)

    matching = Matching([], [], [], [])
    others = _by_name(actual)
    for name, wanted in _by_name(expected).items():
        made = others.pop(name, [])
        is_many, are_some = _are_many(wanted, made), len(wanted) * len(made) > _FEW
        for key in (frozen, key_of) if is_many else (frozen,) if are_some else ():
            for by_actor in (True, False) if is_many else (True,):
                # Of calls with equal keys, and of equal actors if `by_actor`, the equivalent ones are pairs.
                keys, made_keys = (
                    [(by_actor and c.actor, key(c.call.args or {})) for c in side] for side in (wanted, made)
                )
                pairs = zip(wanted, equal_matches(keys, made_keys), strict=True)
                partners = [j if j is not None and is_same(want, made[j]) else None for want, j in pairs]
                wanted, made = _take(wanted, made, partners, matching.matched)
        if not _are_many(wanted, made):
            of_one_actor: list[int | None] = []
            if len({item.actor for item in (*wanted, *made)}) > 1:
                of_one_actor = count_matches(wanted, made, lambda w, m: w.actor == m.actor and is_same(w, m))
            partners = count_matches(wanted, made, is_same, of_one_actor)
            wanted, made = _take(wanted, made, partners, matching.matched)
        matching.missing.extend(wanted)
        matching.extra.extend(made)
    matching.extra.extend(chain.from_iterable(others.values()))
    return matching


def match_rest(matching: Matching, compare: ArgumentComparison) -> None:
    """Pairs missing calls with extra calls of the same tool by similarity, hundreds in order; in place."""

    def similarity(want: ActorCall, item: ActorCall) -> float:
        if not same_tool(want.call, item.call):
            return 0.0
        factor = 1.0 if want.actor == item.actor else _OTHER_ACTOR_FACTOR
        return factor / (1 + len(compare.differences(want.call, item.call)))

    made, missing = _by_name(matching.extra), _by_name(matching.missing)
    matching.missing.clear()
    matching.extra.clear()
    for name, wanted in missing.items():
        calls = made.pop(name, [])
        is_many = _are_many(wanted, calls)
        if is_many or len(wanted) * len(calls) > _MOST_DESCRIBED:
            partners: list[int | None] = [i if i < len(calls) else None for i in range(len(wanted))]
        else:
            partners = best_assignment([[similarity(want, item) for item in calls] for want in wanted])
        for want, j in zip(wanted, partners, strict=True):
            if j is not None:
                same = False
                if is_many and same_tool(want.call, calls[j].call):
                    # Where too many are left to compare, those that may be the same in other words are.
                    apart = compare.differences(want.call, calls[j].call)
                    reworded = [may_be_reworded(d.expected) and may_be_reworded(d.actual) for d in apart]
                    same = not apart or (compare.unclear and all(reworded))
                (matching.matched if same else matching.wrong).append(Pair(want, calls[j]))
        wanted, calls = _take(wanted, calls, partners, [])
        matching.missing.extend(wanted)
        matching.extra.extend(calls)
    matching.extra.extend(chain.from_iterable(made.values()))


def _by_name(made: Sequence[ActorCall]) -> dict[str | None, list[ActorCall]]:
    return grouped((item.call.name, item) for item in made)


def _are_many(wanted: list[ActorCall], made: list[ActorCall]) -> bool:
    costs = [sum(comparison_cost(item.call) for item in side) for side in (wanted, made)]
    return costs[0] * costs[1] > _MOST_COMPARED


def comparison_cost(call: ToolCall) -> int:
    """Returns the nodes of the arguments of a call, and more for texts, which take longer to compare."""
    values: list[JsonValue] = [call.args]
    cost = nodes(call.args or {})
    for value in values:  # and those inside, which are added behind it
        if isinstance(value, (dict, list)):
            values += value.values() if isinstance(value, dict) else value
        elif may_be_reworded(value):
            cost += _TEXT_COST + len(value) // _TEXT_LENGTH
    return cost


def _take(
    wanted: list[ActorCall], made: list[ActorCall], partners: list[int | None], pairs: list[Pair]
) -> tuple[list[ActorCall], list[ActorCall]]:
    """Adds the pairs of partners to others, and returns the remaining calls of both sides."""
    pairs += [Pair(want, made[j]) for want, j in zip(wanted, partners, strict=True) if j is not None]
    used = set(partners)
    unmet = [item for item, partner in zip(wanted, partners, strict=True) if partner is None]
    return unmet, [item for j, item in enumerate(made) if j not in used]


class ExpectedCalls(NamedTuple):
    """Required calls of the agent (None: not stated) and the user, and optional ones of the agent."""

    by_agent: Sequence[ToolCall] | None
    by_user: Sequence[ToolCall] = ()
    optional: Sequence[ToolCall] = ()


class Changes(NamedTuple):
    """Expected, optional and made changes."""

    expected: list[ActorCall]
    optional: list[ActorCall]
    actual: list[ActorCall]
    no_ops: list[ActorCall]  # had nothing to change
    undone: list[ActorCall]  # undid each other
    # Expected calls that are the last to set something, with the last made one, if it sets another value.
    last_set: list[tuple[ToolCall, ToolCall]]
    failed: list[ToolCall]  # the response is an error
    lookups: list[ToolCall]  # failed, and the agent's words may rest on them: see `_failed_lookups`
    counts_extra: bool  # whether unexpected calls of the agent count
    guesses: dict[str, str]  # tool -> its effect, for inferred effects


def changes_of(expected: ExpectedCalls, turns: Sequence[Turn], catalog: ToolCatalog) -> Changes:
    """Collects the calls that change something.

    Calls of the user, and calls of the agent if none are stated for it, count only if their tool is expected
    or was called by the agent.
    """
    by_agent = expected.by_agent or ()
    stated = [*calls_by("agent", by_agent), *calls_by("user", expected.by_user)]
    changing = [item for item in stated if catalog.effect_of(item.call).effect != "read"]
    wanted, _ = without_undone(without_repeats(changing, catalog), catalog)
    names = {item.call.name for item in wanted}
    called = [call for turn in turns for call in turn.tool_calls]
    pairs: Iterable[tuple[ToolCall, ToolResponse | None]] = chain.from_iterable(map(answered_calls, turns))
    if expected.by_agent is None:
        pairs = (pair for pair in pairs if pair[0].name in names)
    else:  # what destroys counts, whoever called it, and code that ran
        ran = (call for call in called if call.name == call.inside)
        held = set(map(id, (*held_calls(called, by_agent), *ran)))
        pairs = (pair for pair in pairs if id(pair[0]) in held or catalog.effect_of(pair[0]).destructive)
    results = list(_results("agent", pairs, catalog))
    transferring = (turn for turn in turns if turn.transfers)
    handoffs = (call for turn in transferring for call in recorded_handoffs(turn, catalog, by_agent))
    counted = (call for call in handoffs if expected.by_agent is not None or call.name in names)
    results += _results("agent", ((call, None) for call in counted), catalog)
    names.update(item.call.name for result, item in results if result == "succeeded")
    by_users = ((turn.user_tool_calls, turn.user_tool_responses) for turn in turns)
    pairs = chain.from_iterable(zip(side[0], pair_responses(*side), strict=True) for side in by_users)
    results += _results("user", (pair for pair in pairs if pair[0].name in names), catalog)
    made, failed, no_ops = (
        [item for result, item in results if result == name] for name in ("succeeded", "failed", "no_ops")
    )
    by_agents, by_others = ([d.call for d in made if d.actor == actor] for actor in ("agent", "user"))
    actual, undone = without_undone(without_repeats(made, catalog), catalog)
    return Changes(
        wanted,
        calls_by("agent", expected.optional),
        actual,
        without_repeats(no_ops, catalog),
        undone,
        _last_set(by_agent, expected.by_user, by_agents, catalog),
        [item.call for item in failed],
        _failed_lookups(by_agent, turns, catalog),
        expected.by_agent is not None,
        catalog.guesses((*by_agent, *expected.by_user, *called, *by_others)),
    )


def _results(
    actor: Actor, pairs: Iterable[tuple[ToolCall, ToolResponse | None]], catalog: ToolCatalog
) -> Iterator[tuple[str, ActorCall]]:
    """Yields the calls that are no look-ups, each with its result: succeeded, failed, or no_ops."""
    for call, response in pairs:
        if catalog.effect_of(call).effect != "read":
            done = "no_ops" if changed_nothing(response) else "succeeded"
            has_failed_call = has_failed(response, called_tool(call), call.args)
            yield "failed" if has_failed_call else done, ActorCall(call, actor)


def _last_set(
    expected: Sequence[ToolCall], by_user: Sequence[ToolCall], made: Sequence[ToolCall], catalog: ToolCatalog
) -> list[tuple[ToolCall, ToolCall]]:
    """Returns the last expected calls that set something, with the last made one if it is another."""
    setting = [call for call in expected if deciding_verb(called_tool(call)) in SETTING]
    wanted = [call for call in setting if catalog.effect_of(call).idempotent]
    pairs = []
    for i, want in enumerate(wanted if len(wanted) * len(made) <= _MOST_SET else ()):
        # The order of calls of different actors is unknown.
        if any(_sets_the_same(want, other) for other in (*wanted[i + 1 :], *by_user)):
            continue
        key = call_key(want)
        last = next((c for c in reversed(made) if call_key(c) == key or _sets_the_same(want, c)), None)
        if last is not None and call_key(last) != key:
            pairs.append((want, last))
    return pairs


def _sets_the_same(call: ToolCall, other: ToolCall) -> bool:
    """Returns whether two calls, which name one thing or differ in a value alone, give it other values."""
    args, others = call.args or {}, other.args or {}
    if call.name != other.name or args.keys() != others.keys():
        return False
    nouns = {name: (words_of(name) or [""])[-1] for name in args}
    differing = [name for name in args if key_of(args[name], name) != key_of(others[name], name)]
    if not differing or any(nouns[name] in _THINGS for name in differing):
        return False
    if not _THINGS.isdisjoint(nouns.values()) or len(args) == 1:
        return True
    value, noun = args[differing[0]], nouns[differing[0]]
    is_value = isinstance(value, int | float) or noun in _VALUES or noun in words_of(called_tool(call))
    return len(differing) == 1 and is_value


def uncalled(wanted: Iterable[ToolCall], called: Sequence[ToolCall]) -> list[ToolCall]:
    """Returns the wanted calls whose tool is not among the called ones."""
    return [want for want in wanted if not any(same_tool(want, call) for call in called)]


def _failed_lookups(
    expected: Sequence[ToolCall], turns: Sequence[Turn], catalog: ToolCatalog
) -> list[ToolCall]:
    """Returns the calls of expected look-ups that never succeeded, unless the agent says so in that turn.

    A look-up that was made with other arguments than expected only counts if no later one succeeded.
    """
    reads = [call for call in expected if catalog.effect_of(call).effect == "read"]
    made = [
        (turn, call, has_failed(response, called_tool(call), call.args))
        for turn in (turns if reads else ())
        for call, response in answered_calls(turn)
        if catalog.effect_of(call).effect == "read"
    ]
    failed_ones = {}
    for want in reads if any(failed for *_, failed in made) else ():
        tried = [i for i, (_, call, _) in enumerate(made) if call.name == want.name]
        same = [i for i in tried if call_key(made[i][1]) == call_key(want)]
        rest = same or (range(tried[0], len(made)) if tried else [])
        if rest and all(made[i][2] for i in rest):
            turn, call, _ = made[(same or tried)[-1]]
            if not any(map(admits_failure, turn_texts(turn))):
                failed_ones[id(call)] = call
    return list(failed_ones.values())


def match_changes(work: Changes, catalog: ToolCatalog, compare: ArgumentComparison) -> Matching:
    """Pairs expected with made changes of both actors.

    A call without effect (`no_ops`) is no change, but can match an expected one that is missing otherwise. A
    call of the user counts only if it matches an expected one.
    """
    matching = match_same(work.expected, work.actual, compare)
    if matching.missing and work.no_ops:
        without_effect = match_same(matching.missing, work.no_ops, compare)
        matching.matched.extend(without_effect.matched)
        matching.missing[:] = without_effect.missing
    # An idempotent call that a matched one of the other actor repeats is neither extra nor missing.
    pairs = matching.matched

    def repeats(item: ActorCall, other: ActorCall) -> bool:
        if item.actor == other.actor or item.call.name != other.call.name:
            return False
        return catalog.effect_of(item.call).idempotent and call_key(item.call) == call_key(other.call)

    matching.extra[:] = [
        item for item in matching.extra if not any(repeats(item, pair.actual) for pair in pairs)
    ]
    matching.missing[:] = [
        item
        for item in matching.missing
        if not any(
            repeats(item, pair.expected) and not compare.differences(item.call, pair.actual.call)
            for pair in pairs
        )
    ]
    if not work.counts_extra:
        matching.extra[:] = [item for item in matching.extra if item.actor == "user"]
    match_rest(matching, compare)
    matching.extra[:] = [item for item in matching.extra if item.actor == "agent"]
    if work.optional:
        optional = match_same(work.optional, matching.extra, compare)
        match_rest(optional, compare)
        matching.extra[:] = optional.extra
    return matching


# Renders calls and their differences as text for explanations and details.

MOST_LISTED = 50
_LONGEST_VALUE, _LONGEST_APART, _LONGEST_HEAD = 160, 70, 30
_SHOWN = 3
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_encode = json.JSONEncoder(ensure_ascii=False).encode


def value_text(value: JsonValue) -> str:
    """Returns a value in one line, at most 160 characters; a directive of a case in words."""
    if isinstance(value, str):
        text = value
    elif isinstance(value, dict) and is_directive(value):
        text = matcher_text(value)
    elif value is None:
        text = "nothing"
    elif type(value) is int or (type(value) is float and isfinite(value)):
        return clipped_value(repr(value))  # as JSON has it, and one line
    else:
        try:
            text = _encode(value)
        except (TypeError, ValueError):
            text = repr(value)
    return clipped_value(single_spaced(text, _LONGEST_VALUE))


def clipped_value(text: str, longest: int = _LONGEST_VALUE) -> str:
    """Returns the first 160 characters of a text, or fewer, with a mark if it is longer."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def differing_text(differences: Iterable[tuple[str, JsonValue, JsonValue]]) -> str:
    """Returns what differs: of every parameter or path, the actual value and the expected one."""
    apart = ((name, *told_apart(actual, expected)) for name, expected, actual in differences)
    return ", ".join(f"{name} is {actual} instead of {expected}" for name, actual, expected in apart)


def told_apart(first: JsonValue, second: JsonValue) -> tuple[str, str]:
    """Returns the texts of two values in one line each; where these look alike, JSON of where they differ.

    What still looks alike there, such as two spellings of an accent, is escaped.
    """
    texts = value_text(first), value_text(second)
    if "" not in texts and texts[0] != texts[1]:
        # Without the mark of a clipped text.
        left, other = texts[0][: _LONGEST_VALUE - 1], texts[1][: _LONGEST_VALUE - 1]
        if (left != other and left.isascii() and other.isascii()) or _look(texts[0]) != _look(texts[1]):
            return texts
    spelt = [json.dumps(value, ensure_ascii=False, default=repr) for value in (first, second)]
    start = _common(*spelt)
    rest = [text[start:] for text in spelt]
    end = _common(rest[0][::-1], rest[1][::-1])
    if rest == ["", ""]:
        return texts
    head = spelt[0][:start]
    head = head if start <= _LONGEST_HEAD else f"…{head[-_LONGEST_HEAD:]}"
    middles = [text[: len(text) - end] for text in rest]
    if _look(spelt[0]) == _look(spelt[1]):
        escaped = [_NOT_ASCII.sub(lambda char: json.dumps(char[0])[1:-1], middle) for middle in middles]
        middles = [middle.replace(" ", "\\u0020") for middle in escaped]
    left, other = (
        clipped_value(f"{head}{middle}{text[len(text) - end :]}", _LONGEST_APART)
        for middle, text in zip(middles, rest, strict=True)
    )
    return left, other


def _common(first: str, second: str) -> int:
    """Returns how many characters two texts begin with in common, by halves."""
    known, most = 0, min(len(first), len(second))
    while known < most:
        middle = (known + most + 1) // 2
        if first[known:middle] == second[known:middle]:
            known = middle
        else:
            most = middle - 1
    return known


def _look(text: str) -> str:
    return " ".join((text if text.isascii() else normalize("NFKC", text)).split())


def call_text(call: ToolCall) -> str:
    """Returns a call as `tool(parameter: value, ...)`."""
    arguments = [f"{name}: {value_text(value)}" for name, value in (call.args or {}).items()]
    return f"{call.name}({', '.join(arguments)})"


def texts(made: Iterable[ActorCall]) -> list[str]:
    """Returns the texts of calls."""
    return [call_text(item.call) for item in made]


def listed(items: Sequence[str]) -> list[str]:
    """Returns the first 50 items and, if there are more, their number."""
    more = [f"and {len(items) - MOST_LISTED} more"] if len(items) > MOST_LISTED else []
    return [*items[:MOST_LISTED], *more]


def wrong_details(wrong: Sequence[Pair], compare: ArgumentComparison) -> list[JsonObject]:
    """Returns the differences of the first 50 wrong pairs."""
    return [
        {
            "expected": call_text(want.call),
            "actual": call_text(made.call),
            "arguments": [d._asdict() for d in compare.differences(want.call, made.call)],
        }
        for want, made in wrong[:MOST_LISTED]
    ]


def not_compared(matching: Matching, compare: ArgumentComparison) -> list[str]:
    """Returns the arguments whose wording differs and was not compared, as `parameter of tool`."""
    names = (
        f"{name} of {want.call.name}"
        for want, made in (*matching.matched, *matching.wrong)
        if want.call.args != made.call.args
        for name in compare.not_compared(want.call, made.call)
    )
    return list(dict.fromkeys(names))


def open_pairs(matching: Matching, compare: ArgumentComparison) -> tuple[OpenPair, ...]:
    """Returns the values of matched calls that only a judge can compare."""
    apart = ((want.call, made.call) for want, made in matching.matched if want.call.args != made.call.args)
    return tuple(dict.fromkeys(pair for calls in apart for pair in compare.open_pairs(*calls)))


def by_other_actor(matching: Matching) -> list[JsonObject]:
    """Returns the changes that were expected of one actor and made, rightly or wrongly, by the other."""
    return [
        {
            "call": call_text(pair.actual.call),
            "expected_of": pair.expected.actor,
            "made_by": pair.actual.actor,
        }
        for pair in (*matching.matched, *matching.wrong)
        if pair.expected.actor != pair.actual.actor
    ][:MOST_LISTED]


def summary(
    matching: Matching,
    compare: ArgumentComparison,
    notes: Mapping[str, Sequence[ActorCall]],
    undone: Sequence[ActorCall],
    skipped: Sequence[str],
) -> str:
    """Summarises a matching in one or a few sentences.

    `notes` are heads of sentences about calls that do not count, with the calls; `undone` are calls that
    undid each other, `skipped` the arguments whose wording was not compared.
    """
    wanted = len(matching.matched) + len(matching.missing) + len(matching.wrong)
    changes = f"{wanted} expected change{'s' * (wanted != 1)} made"
    if matching.missing or matching.extra or matching.wrong or any(notes.values()):
        parts = [f"{len(matching.matched)} of {changes}." if wanted else "No change was expected."]
    else:
        parts = [f"{changes}, and no other." if wanted else "Nothing was to be changed, and nothing was."]
    wrong = [""] * len(matching.wrong)
    for i, (want, made) in enumerate(matching.wrong[:_SHOWN]):
        wrong[i] = f"{made.call.name}: {differing_text(compare.differences(want.call, made.call))}"
    heads = {"Missing": matching.missing, "Not expected": matching.extra}
    parts += [_sentence(head, texts(calls)) for head, calls in heads.items()]
    parts += [_sentence("Wrong arguments", wrong)]
    parts += [_sentence(head, texts(calls)) for head, calls in notes.items()]
    parts += [_sentence("Done and undone", texts(undone)), _sentence("Wording not compared", skipped)]
    for made_by, other in (("agent", "user"), ("user", "agent")):
        others = [a for e, a in matching.matched if (a.actor, e.actor) == (made_by, other)]
        parts.append(_sentence(f"By the {made_by} in place of the {other}", texts(others)))
    return " ".join(filter(None, parts))


def _sentence(head: str, things: Sequence[str]) -> str:
    return f"{head}: {jsonio.listed(things, _SHOWN, mark='; ')}." if things else ""


# Converts hand-offs that are recorded or expected without a tool call into equivalent calls.

_TOOL, _PARAMETER = "transfer_to_agent", "agent_name"


def recorded_handoffs(turn: Turn, catalog: ToolCatalog, wanted: Iterable[ToolCall]) -> list[ToolCall]:
    """Returns the hand-offs of a turn that have no call of their own.

    A hand-off to an agent that one of the expected calls names becomes that call.
    """
    agents = _without_called(turn.transfers, turn.tool_calls, catalog)
    single = [call for call in wanted if len(call.args or ()) == 1]
    made = []
    for agent in agents:
        name = agent.rsplit("/", 1)[-1]
        named = (c for c in single if _names(c, name) and catalog.effect_of(c).effect == "handoff")
        made.append(next(named, _call(agent)))
    return made


def expected_handoffs(turn: ExpectedTurn, catalog: ToolCatalog) -> tuple[list[ToolCall], list[ToolCall]]:
    """Returns the required and the optional hand-offs of a golden turn, beside its calls."""
    stated = [(e.target_agent or "", e.skip) for e in turn.expectations if e.kind == "agent_transfer"]
    wanted = [agent for agent, is_optional in stated if not is_optional]
    free = [*(agent for agent, is_optional in stated if is_optional), *turn.scripted_transfers]
    must = _without_called(wanted, turn.tool_calls or (), catalog)
    return [_call(agent) for agent in must], [_call(agent) for agent in free]


def _call(agent: str) -> ToolCall:
    return ToolCall(_TOOL, {_PARAMETER: agent.rsplit("/", 1)[-1]})


def _without_called(agents: Sequence[str], calls: Sequence[ToolCall], catalog: ToolCatalog) -> list[str]:
    """Removes agents for which there is a call: the named agent, else one agent per unnamed hand-off."""
    left = list(agents)
    unnamed = 0
    for call in calls if left else ():
        if catalog.effect_of(call).effect != "handoff":
            continue
        named = next((agent for agent in left if _names(call, agent)), None)
        if named is not None:
            left.remove(named)
        elif not (call.name == _TOOL and (call.args or {}).get(_PARAMETER)):
            unnamed += 1
    return left[unnamed:]


def _names(call: ToolCall, agent: str) -> bool:
    return any(isinstance(value, str) and same_agent(value, agent) for value in (call.args or {}).values())
