"""Pauses of google-adk's invocations: long-running tools, confirmations, credentials."""

from collections import Counter
from collections.abc import Iterable, Sequence

from turnwise.schemas.adk import AdkEvent, FunctionResponse
from turnwise.schemas.conversation import Turn
from turnwise.transforms.formats.adk.content import parts_of
from turnwise.transforms.formats.adk.end import by_user
from turnwise.transforms.formats.unread import gaps

_EARLIER = "InterimResult"


def joined_pauses(groups: Iterable[list[AdkEvent]]) -> list[list[AdkEvent]]:
    """Returns groups of events; one in which the user only answered calls is joined to that of the calls.

    Other turns may stand between them. An answer without such a call is a group of its own.
    """
    found: list[list[AdkEvent]] = []
    for group in groups:
        said = [part for event in group if by_user(event) for part in parts_of(event.content)]
        answers = [part.function_response for part in said if part.function_response]
        answered = _answered(answers, found) if len(answers) == len(said) else None
        if answered is None:
            found.append(group)
        else:
            answered.extend(group)
    return found


def _answered(answers: Sequence[FunctionResponse], groups: Sequence[list[AdkEvent]]) -> list[AdkEvent] | None:
    """Returns the last group with a call that is answered: of the same id, or without ids the same name."""
    wanted = {(each.id, None if each.id else each.name) for each in answers}
    for group in reversed(groups):
        parts = (part for event in group for part in parts_of(event.content))
        calls = (part.function_call for part in parts if part.function_call)
        if any((call.id, None if call.id else call.name) in wanted for call in calls):
            return group
    return None


def working_seconds(events: Sequence[AdkEvent]) -> float:
    """Returns the time from the first event to the last one, without the waits for the user."""
    seconds, latest = 0.0, None
    for event in events:
        time = event.timestamp
        if time is not None and (latest is None or time > latest):
            seconds += 0.0 if latest is None or by_user(event) else time - latest
            latest = time
    return seconds


def settle(turn: Turn) -> None:
    """Leaves out the results of calls that were answered again later, in place, and says so."""
    calls = Counter(call.id for call in turn.tool_calls)
    last = {response.id: place for place, response in enumerate(turn.tool_responses)}
    kept = [
        response
        for place, response in enumerate(turn.tool_responses)
        if response.id is None or calls[response.id] != 1 or last[response.id] == place
    ]
    earlier = len(turn.tool_responses) - len(kept)
    if earlier:
        said = f"{earlier} results of calls that were answered again later are left out"
        turn.tool_responses = kept
        gaps(_EARLIER, [said], calls=False, words=False).add_to(turn)
