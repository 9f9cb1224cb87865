"""What an agent says it did, beside what it did."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from turnwise.schemas.conversation import Conversation, ToolCall, ToolResponse
from turnwise.schemas.values import JsonObject
from turnwise.transforms.effects.deeds import once
from turnwise.transforms.effects.equivalence import plain
from turnwise.transforms.effects.failures import has_failed
from turnwise.transforms.effects.tool_catalog import ToolCatalog, called_tool
from turnwise.transforms.effects.wording import call_text
from turnwise.transforms.judging.prompts.render import json_text
from turnwise.transforms.matching.expectations import turn_texts
from turnwise.transforms.matching.responses import pair_responses
from turnwise.transforms.text.quotes import span

_AROUND = "#$€£¥₩.,:;()[]\"'“”"
_LAST_DIGITS = 4

Verdict = Literal["done", "not_done", "too_early"]


@dataclass(slots=True)
class Action:
    """Something that succeeded.

    Attributes:
        turn: Index of its turn.
        tool: Name of the tool that did it.
        call: The call.
        text: Arguments and answer, to look for an identifier in.
        is_said: Whether the agent says so anywhere.
    """

    turn: int
    tool: str
    call: ToolCall
    text: str
    is_said: bool = False


class MessageRange(NamedTuple):
    """Where words of an agent stand: turn and message by index, then code-point offsets, half open."""

    turn: int
    message: int
    start: int
    end: int


@dataclass(slots=True)
class ActionClaim:
    """Something that an agent says it did.

    Attributes:
        tool: The tool that would have done it; "": none.
        identifier: What names the thing it was done to; "": nothing does.
        action: The action that is meant; None: there is none.
    """

    place: MessageRange
    quote: str
    tool: str
    identifier: str
    verdict: Verdict = "not_done"
    action: Action | None = None

    def detail(self) -> JsonObject:
        """Returns the claim as a row's detail."""
        return {
            **self.place._asdict(),
            "quote": self.quote,
            "tool": self.tool or None,
            "identifier": self.identifier or None,
            "verdict": self.verdict,
            "call": call_text(self.action.call) if self.action else None,
        }


def actions_of(conversation: Conversation, catalog: ToolCatalog) -> list[Action]:
    """Returns what an agent changed and whom it handed over to; what is idempotent, once."""
    found: list[Action] = []
    for place, turn in enumerate(conversation.turns):
        pairs = zip(turn.tool_calls, pair_responses(turn.tool_calls, turn.tool_responses), strict=True)
        own = [_action(place, *pair) for pair in pairs if _has_effect(*pair, catalog)]
        if not any(catalog.effect(action.tool).effect == "handoff" for action in own):
            own += [_action(place, ToolCall(name=f"transfer to {agent}"), None) for agent in turn.transfers]
        found += own
    kept = {id(call) for call in once([action.call for action in found], catalog)}
    return [action for action in found if id(action.call) in kept]


def _has_effect(call: ToolCall, response: ToolResponse | None, catalog: ToolCatalog) -> bool:
    return catalog.effect_of(call).effect != "read" and not has_failed(response, called_tool(call))


def _action(place: int, call: ToolCall, response: ToolResponse | None) -> Action:
    text = json_text([call.name, call.args, response.response if response else None])
    return Action(place, called_tool(call), call, plain(text))


def place_of(quote: str, turn: int, conversation: Conversation) -> MessageRange | None:
    """Finds an agent's words, first in the turn in which they are said to stand; None: nobody said so."""
    turns = range(len(conversation.turns))
    for index in (*(i for i in turns if i == turn), *(i for i in turns if i != turn)):
        for message, text in enumerate(turn_texts(conversation.turns[index])):
            found = span(quote, text)
            if found is not None:
                return MessageRange(index, message, *found)
    return None


def settle(claims: Sequence[ActionClaim], actions: Sequence[Action]) -> None:
    """Finds for every claim the action that is meant; one that names its thing chooses first.

    A claim means an action of its tool that nobody has claimed yet, or else repeats an earlier claim. An
    action that only follows the claim was claimed too early.
    """
    for claim in sorted(claims, key=lambda claim: not claim.identifier):
        fitting = [action for action in actions if _fits(claim, action)]
        before = [action for action in fitting if action.turn <= claim.place.turn]
        meant = before or fitting
        if meant:
            claim.action = next((action for action in meant if not action.is_said), meant[0])
            claim.action.is_said = True
            claim.verdict = "done" if before else "too_early"


def _fits(claim: ActionClaim, action: Action) -> bool:
    return action.tool == claim.tool and _names(claim.identifier, action.text)


def _names(identifier: str, text: str) -> bool:
    """Tells whether a text holds an identifier whole (`A1` is not in `A12`), or a long number by its end."""
    wanted = plain(identifier).strip(_AROUND)
    is_end = wanted.isdigit() and len(wanted) >= _LAST_DIGITS
    before = "" if is_end else r"(?<![a-z0-9])"
    return not wanted or re.search(rf"{before}{re.escape(wanted)}(?![a-z0-9])", text) is not None
