"""Pairs tool responses with calls."""

from collections import Counter, deque
from collections.abc import Collection, Sequence

from turnwise.schemas.conversation import ToolCall, ToolResponse


def pair_responses(calls: Sequence[ToolCall], responses: Sequence[ToolResponse]) -> list[ToolResponse | None]:
    """Pairs every call with its response; no response is used twice.

    Three rounds: by id where that id occurs once among the calls and once among the responses; then, in
    order, the first free response of the same name; then, in order, what is left where the call or the
    response has no name.

    Returns:
        One entry per call; None: it has no response.
    """
    if len(calls) == len(responses) and all(map(_is_same, calls, responses)):
        return list(responses)
    partners = _by_unique_id(calls, responses)
    _add_same_names(calls, responses, partners)
    _add_nameless(calls, responses, partners)
    return [responses[partners[i]] if i in partners else None for i in range(len(calls))]


def _add_same_names(
    calls: Sequence[ToolCall], responses: Sequence[ToolResponse], partners: dict[int, int]
) -> None:
    used = set(partners.values())
    free: dict[str, deque[int]] = {}
    for place, response in enumerate(responses):
        if response.name and place not in used:
            free.setdefault(response.name, deque()).append(place)
    for i, call in enumerate(calls):
        if i not in partners and call.name and free.get(call.name):
            partners[i] = free[call.name].popleft()


def _add_nameless(
    calls: Sequence[ToolCall], responses: Sequence[ToolResponse], partners: dict[int, int]
) -> None:
    used = set(partners.values())
    free = deque(place for place in range(len(responses)) if place not in used)
    nameless = deque(place for place in free if not responses[place].name)
    for i, call in enumerate(calls):
        if i not in partners:
            left = nameless if call.name else free
            while left and left[0] in used:
                left.popleft()
            if left:
                partners[i] = left.popleft()
                used.add(partners[i])


def without_call(
    calls: Sequence[ToolCall], responses: Sequence[ToolResponse], earlier: Collection[str | None] = ()
) -> list[ToolResponse]:
    """Returns the responses whose call is not in the log.

    Those that are left over, and, where every call has an id, those whose id no call has.

    Args:
        calls: The calls of a turn.
        responses: Its responses.
        earlier: Ids and names of the calls of earlier turns, which may be answered later.
    """
    if not responses or (len(responses) == len(calls) and all(map(_stands_beside, calls, responses))):
        return []
    used = {id(response) for response in pair_responses(calls, responses)}
    ids = {call.id for call in calls}
    are_named = None not in ids
    return [
        response
        for response in responses
        if (id(response) not in used or (are_named and response.id and response.id not in ids))
        and (response.id or response.name) not in earlier
    ]


def _by_unique_id(calls: Sequence[ToolCall], responses: Sequence[ToolResponse]) -> dict[int, int]:
    call_counts = Counter(call.id for call in calls)
    response_counts = Counter(response.id for response in responses)
    places = {response.id: i for i, response in enumerate(responses)}
    return {
        i: places[call.id]
        for i, call in enumerate(calls)
        if call.id and call_counts[call.id] == 1 and response_counts[call.id] == 1
    }


def _stands_beside(call: ToolCall, response: ToolResponse) -> bool:
    return call.id == response.id and (call.id is not None or call.name == response.name)


def _is_same(call: ToolCall, response: ToolResponse) -> bool:
    return call.id == response.id and call.name == response.name
