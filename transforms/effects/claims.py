"""Matches an agent's claims about actions with the actions that it performed."""

import re
import unicodedata
from collections.abc import Sequence
from typing import Literal, NamedTuple

from msgspec import Struct

from turnwise.schemas.conversation import UNKNOWN, Conversation, ToolCall
from turnwise.schemas.jsonio import JsonObject, JsonValue, json_structure
from turnwise.transforms.effects.call_effects import ToolCatalog, called_tool
from turnwise.transforms.effects.call_values import (
    CallValue,
    ValueVerdict,
    addresses_in,
    codes_in,
    compare_addresses,
    compare_amounts,
    compare_digits,
    currency_of,
    is_named,
    is_plain_word,
    leaves,
    named,
    read_given,
    values_text,
    without_codes,
)
from turnwise.transforms.effects.changes import call_text, calls_by, without_repeats
from turnwise.transforms.effects.equivalence import equivalent
from turnwise.transforms.effects.failures import has_failed
from turnwise.transforms.effects.prose import compare_names, is_prose
from turnwise.transforms.effects.prose_values import compare_moments, given_moments
from turnwise.transforms.matching.calls import answered_calls
from turnwise.transforms.matching.expectations import turn_texts
from turnwise.transforms.text.cleaning import Amount, find_span, plain
from turnwise.transforms.text.dates import WEEKDAY_IN_CHARACTERS, read_dates, weekdays_in
from turnwise.transforms.text.values import normalized, read_passage
from turnwise.transforms.text.words import (
    Word,
    dates_in_words,
    month_key,
    number_in_words,
    spoken_number,
    words,
)

# Compares the values that an agent states of an action with the arguments of its call.

_LONGEST, _MOST_VALUES = 2_000, 100
_WORD = re.compile(r"[^\W_]+")


class ClaimedValue(NamedTuple):
    """A value that an agent states of an action, in its words; "": it is of no argument's path."""

    argument: str
    text: str


def compare_value(
    value: ClaimedValue, args: JsonObject | None, held: Sequence[CallValue] = ()
) -> ValueVerdict:
    """Compares a stated value with its argument; of a list, with all entries together.

    A value is the `same` only if all of its words are read and equal the argument, `other` only if it is
    shown to differ. Numbers, amounts of money, dates and times are compared by value, in any spelling; codes
    and addresses as a whole; other words with those of the argument. An argument that is empty, a truth value
    or prose with other words is `not_compared`.

    A value of an argument that the call does not have is the `same` if one of `held` is, the values of the
    call and of its response, or if it is codes that they hold.
    """
    given, text = leaves(args or {}), value.text
    leaves_named, near = named(value.argument, given) if value.argument else ([], [])
    if near:
        return "same" if any(_compare(text, leaf, given) == "same" for leaf in near) else "not_compared"
    if not leaves_named:
        values = [*given, *held]
        compared = [leaf for leaf in values if not isinstance(leaf.value, bool)][:_MOST_VALUES]
        paths = ((leaf, leaf.path.lower()) for leaf in values)
        currencies = [leaf for leaf, path in paths if path.endswith("unit") or "currency" in path]
        if any(_compare(text, leaf, currencies) == "same" for leaf in compared):
            return "same"
        codes, rest = codes_in(text), _WORD.findall(without_codes(text).lower())
        are_codes = bool(codes) and not addresses_in(text) and all(is_plain_word(word, "") for word in rest)
        return "same" if are_codes and set(codes) <= set(codes_in(values_text(values))) else "not_compared"
    verdicts = [_compare(text, leaf, given) for leaf in leaves_named]
    if len(leaves_named) == 1 or "same" in verdicts:
        return "same" if "same" in verdicts else verdicts[0]
    path, entries = leaves_named[0].path, [leaf.value for leaf in leaves_named]
    if numbers := read_given(entries, path, currency_of(path, given)):
        return compare_amounts(text, numbers)
    joined = ", ".join(entry if isinstance(entry, str) else plain(entry) for entry in entries)
    together = _compare_kinds(text, joined, path, given)
    return "other" if together == "not_compared" and set(verdicts) == {"other"} else together


def _compare(text: str, leaf: CallValue, given: Sequence[CallValue]) -> ValueVerdict:
    path, argument = leaf
    if argument is None or not text.strip() or len(text) > _LONGEST:
        return "not_compared"
    if plain(text) == plain(argument):
        return "same"
    if isinstance(argument, bool):
        return "same" if equivalent(argument, text) else "not_compared"
    return _compare_kinds(text, argument, path, given)


def _compare_kinds(text: str, argument: JsonValue, path: str, given: Sequence[CallValue]) -> ValueVerdict:
    # Fractions and raised digits are not read.
    has_fraction = any(unicodedata.category(char) == "No" for char in text)
    if is_prose(argument) or has_fraction or len(plain(argument)) > _LONGEST:
        return "not_compared"
    negations = [any(word.is_negation for word in words(side)) for side in (text, plain(argument))]
    is_denied = any(mention.is_denied for mention in read_passage(text, None).mentions)
    if is_denied or negations[0] != negations[1]:
        return "not_compared"
    shown = argument if isinstance(argument, str) else plain(argument)
    verdict = compare_addresses(text, shown, path)
    if verdict is None and isinstance(argument, str):
        moments = given_moments(argument)
        verdict = compare_moments(text, moments, path) if moments else compare_digits(text, argument, path)
    if verdict:
        return verdict
    numbers = read_given([argument], path, currency_of(path, given))
    return compare_amounts(text, numbers) if numbers else compare_names(text, shown, path)


_TRANSFER = "transfer to "

ClaimVerdict = Literal["done", "not_compared", "other_values", "not_done", "too_early"]


class Action(Struct):
    """A successful call that is, or may be, a change, with the values of its arguments and response."""

    turn: int
    tool: str
    call: ToolCall
    values: Sequence[CallValue]
    is_change: bool = True
    is_claimed: bool = False


class MessageRange(NamedTuple):
    """Range of an agent's words: indexes of turn and message, half-open code-point offsets."""

    turn: int
    message: int
    start: int
    end: int


class ActionClaim(Struct):
    """An action that an agent claims ("": by no tool, of no identifier), and the one performed, if any."""

    span: MessageRange
    quote: str
    tool: str
    identifier: str
    values: Sequence[ClaimedValue] = ()
    verdict: ClaimVerdict = "not_done"
    action: Action | None = None

    def detail(self) -> JsonObject:
        """Returns the claim for the details of a score."""
        return {
            **self.span._asdict(),
            "quote": self.quote,
            "tool": self.tool or None,
            "identifier": self.identifier or None,
            "values": [{**value._asdict(), "verdict": verdict} for value, verdict in self.compared_values()],
            "verdict": self.verdict,
            "call": call_text(self.action.call) if self.action else None,
        }

    def compared_values(self) -> list[tuple[ClaimedValue, ValueVerdict]]:
        """Returns the values and how they compare with the action; `not_compared` if there is none."""
        if self.action is None:
            return [(value, "not_compared") for value in self.values]
        args, held = self.action.call.args, self.action.values
        return [(value, compare_value(value, args, held)) for value in self.values]


def actions_of(conversation: Conversation, catalog: ToolCatalog) -> list[Action]:
    """Returns the calls of the agent that are no look-ups, without repetitions of idempotent ones."""
    actions: list[Action] = []
    for index, turn in enumerate(conversation.turns):
        of_turn = [
            (call, response)
            for call, response in answered_calls(turn)
            if catalog.effect_of(call).effect != "read"
            and not has_failed(response, called_tool(call), call.args)
        ]
        if not any(catalog.effect(called_tool(call)).effect == "handoff" for call, _ in of_turn):
            of_turn += [(ToolCall(name=f"{_TRANSFER}{agent}"), None) for agent in turn.transfers]
        for call, response in of_turn:
            answer = response.response if response else None
            structure = json_structure(answer) if isinstance(answer, str) else None
            values = leaves(call.args or {}) + leaves(answer if structure is None else structure)
            tool = called_tool(call)
            if tool.startswith(_TRANSFER):
                values.append(CallValue("agent", tool.removeprefix(_TRANSFER)))
            actions.append(Action(index, tool, call, values, catalog.effect(tool).effect != UNKNOWN))
    kept = without_repeats(calls_by("agent", (action.call for action in actions)), catalog)
    kept_calls = {id(item.call) for item in kept}
    return [action for action in actions if id(action.call) in kept_calls]


def find_quote(quote: str, turn: int, conversation: Conversation) -> MessageRange | None:
    """Finds a quote in the agent's messages, in the stated turn first; None: it is not there, or no words."""
    turns = conversation.turns if any(map(str.isalnum, quote)) else []
    for index in sorted(range(len(turns)), key=lambda index: index != turn):
        for message, text in enumerate(turn_texts(turns[index])):
            if (span := find_span(quote, text)) is not None:
                return MessageRange(index, message, *span)
    return None


def match_claims(claims: Sequence[ActionClaim], actions: Sequence[Action]) -> None:
    """Sets the action and verdict of every claim, claims with an identifier first.

    A claim matches an action of its tool: one with the stated values, then one that is not claimed yet; else
    it repeats an earlier claim. It is `too_early` if the action comes after it, `other_values` if a stated
    value is not that of the call, `not_compared` if one cannot be compared. The values of a claim with an
    action also get the numbers, codes, addresses and days of its quote that no action holds, amounts of money
    that no claim lists, and an identifier in words that no action holds.
    """
    values = [value for action in actions for value in action.values]
    days = [reading.day for leaf in values for reading in read_dates(plain(leaf.value))]
    text = values_text(values)
    held = text, _keys(words(text)), {day.weekday() for day in days if day} | weekdays_in(text)
    texts = {id(action): values_text(action.values) for action in actions}
    listed_money = {money for claim in claims for value in claim.values for money in _money_in(value.text)}
    for claim in sorted(claims, key=lambda claim: not claim.identifier):
        of_tool, name = [action for action in actions if action.tool == claim.tool], claim.identifier
        fitting = [action for action in of_tool if not name.strip() or is_named(name, texts[id(action)])]
        is_unheld = not fitting and not any(map(str.isdecimal, name))
        fitting = of_tool if is_unheld else fitting
        if not fitting:
            continue
        listed = [name, *(value.text for value in claim.values)]
        money = _money_in(claim.quote).items()
        more = [ClaimedValue("", text) for amount, text in money if amount not in listed_money]
        more += _unlisted_numbers(claim.quote, listed, *held)
        claim.values = [*claim.values, *more, *([ClaimedValue("", name)] if is_unheld else [])]
        # The fewest values that differ, then that are not compared; then one that is not claimed yet.
        before = [action for action in fitting if action.turn <= claim.span.turn]
        candidates = []
        for action in before or fitting:
            compared = [compare_value(value, action.call.args, action.values) for value in claim.values]
            counts = compared.count("other"), compared.count("not_compared"), action.is_claimed
            candidates.append((counts, action))
        (others, not_compared, _), claim.action = min(candidates, key=lambda candidate: candidate[0])
        claim.action.is_claimed = True
        if not before:
            claim.verdict = "too_early"
        elif others:
            claim.verdict = "other_values"
        else:
            claim.verdict = "not_compared" if not_compared else "done"


# Finds the numbers, amounts, codes, addresses and days of a claim that its list of values leaves out.

_LEAST_WORD = 10
"""Least number that is looked for if it is written as a word: `one` and `two` often count nothing."""

_LEAST_END = 4
_LIST_MARKER = re.compile(r"^\W*\d{1,2}[.)]\s")
_WEEKDAY_OR_WORD = re.compile(rf"{WEEKDAY_IN_CHARACTERS}|\w+")
_NUMBER_AND_UNIT = re.compile(r"\d+[a-z]{2,}|\d+h\d\d|\d+k")
_CAPITAL_MONTHS = frozenset(("may", "march", "mar", "sept", "dec", "mars", "mai", "mayo", "jan", "jun"))


def _unlisted_numbers(
    quote: str, listed: Sequence[str], held: str, held_keys: set[str], held_days: set[int]
) -> list[ClaimedValue]:
    """Returns the numbers, codes, addresses and days of a quote that are neither listed nor held."""
    text = " | ".join(listed)
    known, read = held_keys | _keys(words(text)), words(_LIST_MARKER.sub("", quote))
    days = list(dates_in_words(read))
    # Of a time such as `7:00`, without its reading after noon.
    demands = [
        (word.lower, tuple(keys[:1] if keys and keys[0].startswith("#t") else keys for keys in word.demands))
        for word in read
    ]
    demands += [(f"{word.lower} {keys[-1].rpartition('d')[2]}", (keys,)) for word, keys in days]
    spoken = ((word.lower, spoken_number(word.lower) or 0) for word in read)
    demands += [(word, ((f"#{number}",),)) for word, number in spoken if number >= _LEAST_WORD]
    dated = {word.lower for word, _ in days}
    for word in read:
        is_name = word.month and (word.lower not in _CAPITAL_MONTHS or word.lower.capitalize() in quote)
        if is_name and word.lower not in dated:
            demands.append((word.lower, ((month_key(word.month),),)))
    missing = (word for word, keys in demands if any(known.isdisjoint(k) for k in keys))
    # A long number that ends with four digits or more of the quote holds these.
    numbers = [
        number
        for number in dict.fromkeys(missing)
        if not (number.isdecimal() and len(number) >= _LEAST_END)
        or number not in held
        or not re.search(rf"\d{{3,}}{number}(?!\d)", held)
    ]
    known_codes = {*codes_in(text), *codes_in(held), *addresses_in(text), *addresses_in(held)}
    codes = [
        code
        for code in (*codes_in(quote), *addresses_in(quote))
        if code not in known_codes
        and not _NUMBER_AND_UNIT.fullmatch(code)
        and not is_named(code, f"{text} | {held}")
        and not any(number in code for number in numbers)
    ]
    weekdays = weekdays_in(quote) - weekdays_in(text) - held_days
    names = dict.fromkeys(match[0] for match in _WEEKDAY_OR_WORD.finditer(quote.lower()))
    days_named = (name for name in names if weekdays_in(name) & weekdays)
    return [ClaimedValue("", value) for value in (*numbers, *codes, *days_named)]


def _money_in(text: str) -> dict[Amount, str]:
    mentions, shown = read_passage(text, None).mentions, normalized(text, None)
    return {m.amount: shown[m.start : m.end] for m in mentions if m.amount and m.amount.currency}


def _keys(words: Sequence[Word]) -> set[str]:
    """Returns the keys of all readings of the numbers and days of a text."""
    numbers = [word.keys for word in words if word.demands]
    days = [keys for _, keys in dates_in_words(words)]
    spoken = (number_in_words(word.lower) for word in words)
    named = [(f"#{number}",) for number in spoken if number is not None]
    months = [(month_key(word.month),) for word in words if word.month]
    return {key for keys in (*numbers, *days, *named, *months) for key in keys}
