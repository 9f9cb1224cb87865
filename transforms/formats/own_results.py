"""Reads the results that the calls of a log hold themselves, beside or in place of tool responses."""

from collections.abc import Sequence

from turnwise.schemas.conversation import ToolCall, ToolResponse, Turn
from turnwise.schemas.jsonio import JsonValue, json_structure
from turnwise.transforms.formats.spellings import failure_mark
from turnwise.transforms.formats.unread import UNREAD, Unread
from turnwise.transforms.matching.calls import pair_responses

VALUES = ("result", "output", "response", "content", "tool_result", "tool_output", "tool_response")
"""Keys of a call that hold its result."""
_LONGEST_NAME = 60


def own_result(call: JsonValue) -> ToolResponse | None:
    """Returns the result, or the mark of failure, that a call of a log holds; None: it holds none."""
    if not isinstance(call, dict):
        return None
    function = call.get("function")
    held = {**function, **call} if isinstance(function, dict) else call
    value = next((held[key] for key in VALUES if held.get(key) is not None), None)
    error = failure_mark(held)
    return None if value is None and error is None else ToolResponse(response=_decoded(value), error=error)


def _decoded(value: JsonValue) -> JsonValue:
    found = json_structure(value, allow_nan=False) if isinstance(value, str) else None
    return value if found is None else found


def with_own_results(
    calls: Sequence[ToolCall],
    own: Sequence[ToolResponse | None],
    responses: list[ToolResponse],
    unread: Unread,
) -> list[ToolResponse]:
    """Returns the responses of a turn with those that its calls hold.

    A response answers its call before the call's own result does. A failure that only the call states is
    added to it.

    Args:
        calls: The calls.
        own: What each of them holds.
        responses: The responses.
        unread: Takes the findings: another result than the response, or no telling which call one is of.
    """
    if not any(own):
        return responses
    found, answers = list(responses), pair_responses(calls, responses)
    for place, (call, held) in enumerate(zip(calls, own, strict=True)):
        given = answers[place]
        if held is not None and given is None:
            held.name, held.id = call.name, call.id
            answers[place] = held
            found.append(held)
        elif held is not None and given is not None:
            _agree(call, held, given, unread)
    if any(one is not other for one, other in zip(pair_responses(calls, found), answers, strict=True)):
        said = "calls hold results and have no ids: nothing says which call a result is of"
        unread.add(UNREAD, said, calls=True)
    return found


def add_own_results(
    turn: Turn,
    own: Sequence[ToolResponse | None],
    users: Sequence[ToolResponse | None],
    unread: Unread,
) -> None:
    """Adds to a turn the results that its calls, and those of the user, hold; see `with_own_results`."""
    turn.tool_responses = with_own_results(turn.tool_calls, own, turn.tool_responses, unread)
    turn.user_tool_responses = with_own_results(turn.user_tool_calls, users, turn.user_tool_responses, unread)


def _agree(call: ToolCall, held: ToolResponse, given: ToolResponse, unread: Unread) -> None:
    """Adds a failure that a call states to its response; another result than that is a finding."""
    given.error = given.error or held.error
    if held.response is not None and _decoded(held.response) != _decoded(given.response):
        shown = repr((call.name or "")[:_LONGEST_NAME])
        unread.add(UNREAD, f"the call {shown} holds another result than its tool response", calls=True)
