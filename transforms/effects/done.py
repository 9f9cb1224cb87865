"""What was changed in a conversation: the calls with an effect that succeeded."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from schemas.conversation import ToolCall, ToolResponse, Turn
from transforms.effects.book import ToolBook, called_tool
from transforms.effects.failed import changed_nothing, has_failed
from transforms.formats.pairing import pair_responses


class Done(NamedTuple):
    """Calls of tools that write or hand over.

    Attributes:
        succeeded: Those that had an effect, in order.
        failed: Those whose answer is an error.
        idle: Those whose answer is that all was so before.
    """

    succeeded: list[ToolCall]
    failed: list[ToolCall]
    idle: list[ToolCall]


def agents_work(turns: Iterable[Turn], book: ToolBook) -> Done:
    """Returns what the agent did in some turns."""
    return _work([(turn.tool_calls, turn.tool_responses) for turn in turns], book)


def users_work(turns: Iterable[Turn], book: ToolBook) -> Done:
    """Returns what the user did with tools of their own."""
    return _work([(turn.user_tool_calls, turn.user_tool_responses) for turn in turns], book)


def _work(turns: Sequence[tuple[list[ToolCall], list[ToolResponse]]], book: ToolBook) -> Done:
    done = Done([], [], [])
    for calls, responses in turns:
        if any(book.effect_of(call).effect != "read" for call in calls):
            for call, response in zip(calls, pair_responses(calls, responses), strict=True):
                if book.effect_of(call).effect != "read":
                    _part(done, call, response).append(call)
    return done


def _part(done: Done, call: ToolCall, response: ToolResponse | None) -> list[ToolCall]:
    if has_failed(response, called_tool(call)):
        return done.failed
    return done.idle if changed_nothing(response) else done.succeeded


def changes(calls: Iterable[ToolCall], book: ToolBook) -> list[ToolCall]:
    """Returns those of some expected calls that are to change something."""
    return [call for call in calls if book.effect_of(call).effect != "read"]
