"""Matches an agent's claims about actions with the actions that it performed."""

from collections.abc import Sequence
from functools import partial
from typing import Literal, NamedTuple

from msgspec import Struct

from turnwise.schemas.conversation import UNKNOWN, Conversation, ToolCall, ToolResponse
from turnwise.schemas.jsonio import JsonObject, json_structure
from turnwise.transforms.effects.actor_calls import without_repeats
from turnwise.transforms.effects.call_values import CallValue, ValueVerdict, leaves, values_text
from turnwise.transforms.effects.failures import has_failed
from turnwise.transforms.effects.statements.claimed_values import ClaimedValue, compare_value
from turnwise.transforms.effects.statements.stated_codes import is_named
from turnwise.transforms.effects.statements.unlisted_values import (
    held_values,
    unlisted_money,
    unlisted_numbers,
)
from turnwise.transforms.effects.tool_catalog import ToolCatalog, called_tool
from turnwise.transforms.effects.wording import call_text
from turnwise.transforms.matching.expectations import turn_texts
from turnwise.transforms.matching.responses import pair_responses
from turnwise.transforms.text.quotes import find_span

_TRANSFER = "transfer to "

ClaimVerdict = Literal["done", "not_compared", "other_values", "not_done", "too_early"]


class Action(Struct):
    """A successful call that is, or may be, a change.

    Attributes:
        turn: Index of its turn.
        tool: Name of the tool that did it.
        call: The call.
        values: Values of arguments and response.
        is_change: Whether the tool is known to change something.
        is_claimed: Whether the agent claims it anywhere.
    """

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
    """An action that an agent claims.

    Attributes:
        tool: Tool that performs such an action; "": none.
        identifier: Identifier of the affected resource; "": none.
        values: Values that the agent states of the action.
        action: The matching action; None: there is none.
    """

    place: MessageRange
    quote: str
    tool: str
    identifier: str
    values: Sequence[ClaimedValue] = ()
    verdict: ClaimVerdict = "not_done"
    action: Action | None = None

    def compared(self, action: Action) -> list[ValueVerdict]:
        """Returns how each value compares with the arguments of an action's call."""
        return [compare_value(value, action.call.args, action.values) for value in self.values]

    def detail(self) -> JsonObject:
        """Returns the claim for the details of a score."""
        return {
            **self.place._asdict(),
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
        return list(zip(self.values, self.compared(self.action), strict=True))


def actions_of(conversation: Conversation, catalog: ToolCatalog) -> list[Action]:
    """Returns the calls of the agent that are no look-ups, without repetitions of idempotent ones."""
    found: list[Action] = []
    for place, turn in enumerate(conversation.turns):
        pairs = zip(turn.tool_calls, pair_responses(turn.tool_calls, turn.tool_responses), strict=True)
        own = [_action(place, *pair) for pair in pairs if _has_effect(*pair, catalog)]
        if not any(catalog.effect(action.tool).effect == "handoff" for action in own):
            own += [_action(place, ToolCall(name=f"{_TRANSFER}{agent}"), None) for agent in turn.transfers]
        found += own
    for action in found:
        action.is_change = catalog.effect(action.tool).effect != UNKNOWN
    kept = {id(call) for call in without_repeats([action.call for action in found], catalog)}
    return [action for action in found if id(action.call) in kept]


def _has_effect(call: ToolCall, response: ToolResponse | None, catalog: ToolCatalog) -> bool:
    if catalog.effect_of(call).effect == "read":
        return False
    return not has_failed(response, called_tool(call), call.args)


def _action(place: int, call: ToolCall, response: ToolResponse | None) -> Action:
    answer = response.response if response else None
    read = json_structure(answer) if isinstance(answer, str) else None
    values = leaves(call.args or {}) + leaves(answer if read is None else read)
    tool = called_tool(call)
    if tool.startswith(_TRANSFER):
        values.append(CallValue("agent", tool.removeprefix(_TRANSFER)))
    return Action(place, tool, call, values)


def find_quote(quote: str, turn: int, conversation: Conversation) -> MessageRange | None:
    """Finds a quote in the agent's messages, in the stated turn first; None: it is not there."""
    turns = range(len(conversation.turns))
    for index in (*(i for i in turns if i == turn), *(i for i in turns if i != turn)):
        for message, text in enumerate(turn_texts(conversation.turns[index])):
            found = find_span(quote, text)
            if found is not None:
                return MessageRange(index, message, *found)
    return None


def match_claims(claims: Sequence[ActionClaim], actions: Sequence[Action]) -> None:
    """Sets the action and verdict of every claim, claims with an identifier first.

    A claim matches an action of its tool: one with the stated values, then one that is not claimed yet; else
    it repeats an earlier claim. If the action comes after the claim, the verdict is `too_early`; if a stated
    value is not that of the call, it is `other_values`; if one cannot be compared, `not_compared`. The values
    of a claim that has an action also get the numbers, codes, addresses and days of its quote that no action
    holds, amounts of money that no claim lists, and an identifier in words that no action holds.
    """
    held = held_values([value for action in actions for value in action.values])
    texts = {id(action): values_text(action.values) for action in actions}
    said = [value.text for claim in claims for value in claim.values]
    for claim in sorted(claims, key=lambda claim: not claim.identifier):
        of_tool = [action for action in actions if action.tool == claim.tool]
        fitting = [action for action in of_tool if _names(claim.identifier, texts[id(action)])]
        is_unheld = not fitting and not any(map(str.isdecimal, claim.identifier))
        fitting = of_tool if is_unheld else fitting
        before = [action for action in fitting if action.turn <= claim.place.turn]
        if fitting:
            listed = [claim.identifier, *(value.text for value in claim.values)]
            more = unlisted_money(claim.quote, said) + unlisted_numbers(claim.quote, listed, held)
            words = [ClaimedValue("", claim.identifier)] if is_unheld else []
            claim.values = [*claim.values, *more, *words]
            claim.action = min(before or fitting, key=partial(_distance, claim))
            claim.action.is_claimed = True
            claim.verdict = _verdict(claim.compared(claim.action)) if before else "too_early"


def _names(identifier: str, text: str) -> bool:
    return not identifier.strip() or is_named(identifier, text)


def _verdict(compared: Sequence[ValueVerdict]) -> ClaimVerdict:
    if "other" in compared:
        return "other_values"
    return "not_compared" if "not_compared" in compared else "done"


def _distance(claim: ActionClaim, action: Action) -> tuple[int, int, bool]:
    """Returns how many values differ from an action's or are not compared, and whether it is claimed."""
    compared = claim.compared(action)
    return compared.count("other"), compared.count("not_compared"), action.is_claimed
