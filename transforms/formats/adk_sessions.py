"""google-adk's stored sessions, as canonical conversations."""

from collections.abc import Sequence
from datetime import UTC, datetime

from turnwise.schemas.adk import (
    AdkEvent,
    AdkSession,
    Content,
    Invocation,
    InvocationEvent,
    InvocationEvents,
    Part,
    read_log,
)
from turnwise.schemas.conversation import Conversation, Turn
from turnwise.schemas.jsonio import JsonValue
from turnwise.transforms.formats.adk.content import AdkUnread, parts_of, unread_event
from turnwise.transforms.formats.adk.end import by_user, is_final, session_end
from turnwise.transforms.formats.adk.history import history
from turnwise.transforms.formats.adk.pauses import joined_pauses, settle, working_seconds
from turnwise.transforms.formats.adk.tables import PICKLED
from turnwise.transforms.formats.adk_cases import invocation_turn, stated_app_version, turn_context
from turnwise.transforms.formats.problems import one_line_problems
from turnwise.transforms.formats.spellings import length, spelt
from turnwise.transforms.formats.unread import Unread, check_calls

_SESSION_KEYS = spelt("last_update_time", "display_name") | {PICKLED}


def session_conversation(value: JsonValue) -> Conversation:
    """Returns a stored session as a conversation, one turn per invocation id.

    Partial (streamed) events are left out: the whole text follows them. So are invocations that a rewind
    undid, as in google-adk.

    Raises:
        ValueError: It cannot be read even leniently; one line with the path of the first problem.
    """
    with one_line_problems("not an ADK session"):
        session = read_log(AdkSession, value)
    counted = history(session.events)
    events = [event for event in counted.events if not event.partial]
    groups, end = _invocation_groups(events), session_end(events)
    invocations = [_invocation(events) for events in groups]
    turns = [_turn(*turn, i) for i, turn in enumerate(zip(groups, invocations, strict=True))]
    for turn, group in zip(turns, groups, strict=True):
        for note in counted.notes_of(group, turn is turns[-1]):
            note.add_to(turn)
    unread = Unread().keys(session.model_extra or {}, _SESSION_KEYS)
    if (session.model_extra or {}).get(PICKLED):
        unread.add("PickledActions", "actions of events are pickled: rewinds and state changes are unknown")
    unread.add_to_all(turns)
    check_calls(turns)
    return Conversation(
        conversation_id=session.id,
        source="adk",
        app_version=stated_app_version(session.state),
        eval_id=_stated(session, "eval_id"),
        eval_set_id=_stated(session, "eval_set_id"),
        user_id=session.user_id,
        start_time=_rfc3339(session.events[0].timestamp) if session.events else None,
        turns=turns,
        state=session.state,
        ended=end.ended,
        ended_detail=end.detail,
        meta={"app_name": session.app_name, **turn_context(invocations)},
    )


def _stated(session: AdkSession, name: str) -> str | None:
    value = session.state.get(name)
    return value if isinstance(value, str) and value else None


def _invocation_groups(events: Sequence[AdkEvent]) -> list[list[AdkEvent]]:
    """Groups events by invocation id, or where it is missing by the user's events; resumed ones are one."""
    groups: dict[str, list[AdkEvent]] = {}
    openings = 0
    for event in events:
        openings += by_user(event)
        groups.setdefault(event.invocation_id or f"#{openings}", []).append(event)
    return joined_pauses(groups.values())


def _turn(events: Sequence[AdkEvent], invocation: Invocation, index: int) -> Turn:
    turn = invocation_turn(invocation, index)
    if not any(map(by_user, events)):
        turn.user = None
    handed_over = [e.actions.transfer_to_agent for e in events if e.actions.transfer_to_agent]
    turn.transfers = handed_over or turn.transfers
    turn.variables = {key: item for e in events for key, item in e.actions.state_delta.items()}
    setters = {key: e for e in events for key in e.actions.state_delta}
    turn.given_variables = [key for key, event in setters.items() if by_user(event)]
    times = [event.timestamp for event in events if event.timestamp is not None]
    if times:
        turn.timestamp = times[0]
        turn.latency_ms = length(working_seconds(events) * 1000.0) or None
    settle(turn)
    turn.inference_calls = turn.inference_calls or None
    unread = AdkUnread()
    for event in events:
        unread_event(event, unread, not by_user(event))
    return unread.add_to(turn)


def _invocation(events: Sequence[AdkEvent]) -> Invocation:
    """Builds the invocation as google-adk's own conversion of stored events does.

    Unlike there, the final event keeps its tool responses, and the user's answers to tool calls count.
    """
    final = _final_event(events)
    steps = []
    for event in events:
        if event is final:
            steps.append(_step(event, [part for part in _parts(event) if not part.text]))
        elif by_user(event):
            answers = [Part(function_response=part.function_response) for part in _parts(event)]
            steps.append(_step(event, [part for part in answers if part.function_response]))
        elif event.grounding_metadata or any(map(_has_content, _parts(event))):
            steps.append(_step(event, _parts(event)))
    said = [part for event in events if by_user(event) for part in _parts(event)]
    return Invocation(
        user_content=Content(parts=said),
        final_response=final.content if final else None,
        intermediate_data=InvocationEvents(invocation_events=steps),
    )


def _final_event(events: Sequence[AdkEvent]) -> AdkEvent | None:
    finals = [event for event in events if not by_user(event) and _parts(event) and is_final(event)]
    worded = [event for event in finals if any(part.text for part in _parts(event))]
    chosen = worded or finals
    return chosen[-1] if chosen else None


def _step(event: AdkEvent, parts: list[Part]) -> InvocationEvent:
    return InvocationEvent(
        author=event.author,
        content=Content(parts=parts),
        grounding_metadata=event.grounding_metadata,
        usage_metadata=event.usage_metadata,
        model_version=event.model_version,
    )


def _has_content(part: Part) -> bool:
    return bool(part.text or part.function_call or part.function_response or part.inline_data)


def _parts(event: AdkEvent) -> list[Part]:
    return parts_of(event.content)


def _rfc3339(seconds: float | None) -> str | None:
    if seconds is None:
        return None
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return None
