"""Pauses of google-adk's invocations: long-running tools, confirmations, credentials."""

from collections import Counter
from collections.abc import Iterable, Sequence

from turnwise.schemas.adk.results import AdkEvent
from turnwise.schemas.conversation import Turn
from turnwise.transforms.formats.adk.content import parts_of
from turnwise.transforms.formats.adk.end import by_user
from turnwise.transforms.formats.unread import gaps

_EARLIER = "InterimResult"


def joined_pauses(groups: Iterable[list[AdkEvent]]) -> list[list[AdkEvent]]:
    """Returns groups of events with those joined to the one before in which the user only answered calls."""
    found: list[list[AdkEvent]] = []
    for group in groups:
        said = [part for event in group if by_user(event) for part in parts_of(event.content)]
        if found and said and all(part.function_response for part in said):
            found[-1] = [*found[-1], *group]
        else:
            found.append(group)
    return found


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
