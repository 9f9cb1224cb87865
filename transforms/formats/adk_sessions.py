"""google-adk's sessions, stored, live and streamed, as canonical conversations."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import chain, pairwise

from pydantic.alias_generators import to_camel

from turnwise.schemas import adk
from turnwise.schemas.conversation import Conversation, Turn
from turnwise.schemas.jsonio import JsonObject, JsonValue, json_structure, listed, shown
from turnwise.transforms.formats import adk_cases as cases
from turnwise.transforms.formats import endings, fields
from turnwise.transforms.formats.canonical import check_calls
from turnwise.transforms.formats.messages.kinds import as_object, decoded, key_set, objects, snaked, stated
from turnwise.transforms.formats.registry import EventReader, register_built_in
from turnwise.transforms.matching.sample import BROKEN
from turnwise.transforms.text.dates import rfc3339, time_seconds

_UNNUMBERED = -1


def locate(value: JsonObject) -> tuple[str, int]:
    """Returns the session id of an event, and -1: turns have invocation ids; raises ValueError for none."""
    session_id = endings.as_text(_last([value], "session_id"))
    if not session_id:
        raise ValueError("an ADK event needs a session_id")
    return session_id, _UNNUMBERED


def is_end(value: JsonObject) -> bool:
    """Returns whether an envelope states the end of its session."""
    return value.get("end") is True or bool(value.get(endings.ENDED))


def joined_conversation(session_id: str, values: Sequence[JsonObject]) -> Conversation:
    """Joins the events of a session, given in order, as if the session had been stored.

    Its state comes from the envelopes and the events' state deltas, without temporary keys. Its end is stated
    by the last envelope that has one, or else determined from the events. Raises ValueError, one line, if
    they are of several users, or cannot be read even leniently.
    """
    # A session is of one user: another one's may have the same name.
    fields.check_one_user((endings.as_text(value.get("user_id")) for value in values), session_id)
    events: list[JsonObject] = []
    faults: list[str] = []
    state: JsonObject = {}
    for value in values:
        event, held = logged_event(value), value.get("event")
        if event is not None:
            events.append(event)
        elif held is not None:
            faults.append(f"event: a JSON object is needed, not {shown(held)}")
        actions = (event or {}).get("actions")
        delta = _last([actions], "state_delta") if isinstance(actions, dict) else None
        for change in (value.get("state"), delta):
            if isinstance(change, dict):
                state |= {key: item for key, item in change.items() if not key.startswith("temp:")}
    if faults and not events:
        raise ValueError(faults[0])
    named = {name: _last(values, name) for name in ("app_name", "user_id")}
    conversation = session_conversation({"id": session_id, **named, "state": state, "events": events})
    fields.gaps(fields.UNREAD, faults).add_to_all(conversation.turns)
    end = endings.stated_end(_last(values, endings.ENDED), _last(values, endings.DETAIL))
    if end != endings.UNKNOWN:
        kinds = {finding.kind for turn in conversation.turns for finding in turn.findings}
        before = endings.End(conversation.ended, conversation.ended_detail)
        ends = (end, before) if fields.AGENT_ERROR in kinds else (end,)
        conversation.ended, conversation.ended_detail = endings.agreed_end(*ends)
    return conversation


def logged_event(value: JsonObject) -> JsonObject | None:
    """Returns the event that a record is, or that it holds; None: an envelope without one."""
    event = value.get("event")
    return event if isinstance(event, dict) else value if "author" in value else None


def _last(values: Sequence[JsonObject], name: str) -> JsonValue:
    """Returns what the last object states under a name, in snake_case or in camelCase."""
    spellings = (name, to_camel(name))
    items = (value.get(spelling) for value in reversed(values) for spelling in spellings)
    return next((item for item in items if item is not None), None)


_NAME = re.compile(r"reasoningEngines/[^/]+/sessions/([^/]+)(/events/[^/]+)?$")
_PAGE = ("sessionEvents", "session_events")
_NEXT = ("nextPageToken", "next_page_token")
_GOES_ON = "the list of events goes on on a page that is not there: later turns may be missing"
_METADATA = key_set(
    "partial turn_complete interrupted branch custom_metadata long_running_tool_ids grounding_metadata "
    "input_transcription output_transcription"
)


def _events(value: JsonObject) -> list[JsonObject]:
    """Returns the events that a record holds: a page of them, those of a session, or the record itself."""
    listed = next((value[key] for key in (*_PAGE, "events") if isinstance(value.get(key), list)), None)
    if listed is not None:
        return list(objects(listed, "events"))
    match = _NAME.search(endings.name_of(value))
    return [value] if match and match[2] else []


def _fits(record: JsonObject) -> bool:
    page: JsonValue = next((record[key] for key in _PAGE if isinstance(record.get(key), list)), [])
    return any(isinstance(item, dict) and _NAME.search(endings.name_of(item)) for item in (record, *page))


def _locate(value: JsonObject) -> tuple[str, int]:
    for item in (value, *_events(value)):
        if match := _NAME.search(endings.name_of(item)):
            return match[1], _UNNUMBERED
    raise ValueError("no event names its session")


def _join(session_id: str, values: Sequence[JsonObject]) -> Conversation:
    session: JsonObject = {"id": session_id, "state": {}, "events": []}
    events: dict[str, JsonObject] = {}
    for value in values:
        for key, name in (("sessionState", "state"), ("session_state", "state"), ("userId", "user_id")):
            if value.get(key) is not None:
                session[name] = value[key]
        for index, event in enumerate(_events(value)):
            events.setdefault(endings.name_of(event) or f"{len(events)}:{index}", event)
    as_adk: list[JsonObject] = []
    for value in events.values():
        # As google-adk makes an event of the API's: `rawEvent` first, the outer names above it.
        outer = snaked(value)
        event = dict(as_object(outer.get("raw_event")))
        if not event:
            event = {key: outer[key] for key in ("content", "error_code", "error_message") if key in outer}
            actions = event["actions"] = snaked(as_object(outer.get("actions")))
            if "transfer_agent" in actions:
                actions["transfer_to_agent"] = actions.pop("transfer_agent")
            about = snaked(as_object(outer.get("event_metadata")))
            event |= {key: about[key] for key in _METADATA if key in about}
            custom = as_object(event.get("custom_metadata"))
            if isinstance(custom.get("_usage_metadata"), dict):
                event["usage_metadata"] = custom["_usage_metadata"]
            if isinstance(custom.get("_compaction"), dict):
                actions["compaction"] = custom["_compaction"]
        event["id"] = endings.name_of(value).rpartition("/")[2] or endings.as_text(event.get("id"))
        for key in ("author", "invocation_id"):
            if outer.get(key):
                event.pop(to_camel(key), None)
                event[key] = outer[key]
        stamp = time_seconds(outer.get("timestamp"))
        as_adk.append(event if stamp is None else {**event, "timestamp": stamp})
    session["events"] = sorted(as_adk, key=lambda event: event.get("timestamp") or 0.0)
    conversation = session_conversation(session)
    conversation.source = "agent_engine"
    pages = [value for value in values if any(isinstance(value.get(key), list) for key in _PAGE)]
    if pages and all(any(page.get(key) for key in _NEXT) for page in pages) and conversation.turns:
        fields.gaps(fields.MISSING, [_GOES_ON]).add_to(conversation.turns[-1])
    return conversation


# For example {"sessionEvents": [{"name": ".../sessions/7/events/1", "author": "user", "content": {...}}]}
register_built_in(
    "agent_engine", 68, "sessions and events of Vertex AI Agent Engine, as its API lists them", _fits,
    ("sessionEvents",),
    events=EventReader(locate=_locate, join=_join, own_id=lambda value: value.get("name")),
)  # fmt: skip

PICKLED = "pickled_actions"
"""Key of a session whose events' actions are pickled, so that they are not read."""
_OF_ROWS = frozenset(("app_name", "user_id", "session_id", "event_data", "long_running_tool_ids_json"))


def session_record(session: JsonObject, events: Sequence[JsonObject], is_pickled: bool) -> JsonObject:
    """Returns a session with its events, of rows of the tables of google-adk's database.

    The row of the session holds the states of its app (`app_state`) and user (`user_state`), too; those of
    events are in order, without the column `actions` (`is_pickled`: it holds pickles).
    """
    state: JsonObject = {}
    for kind in ("app", "user"):
        state |= {f"{kind}:{key}": item for key, item in _object(session.get(f"{kind}_state")).items()}
    state |= _object(session.get("state"))
    made: list[JsonObject] = []
    for row in events:
        value = row.get("timestamp")  # seconds, or a text in UTC without its zone
        time = time_seconds(value.replace(" ", "T") if isinstance(value, str) else value)
        if whole := _object(row.get("event_data")):
            stamped = {"id": row.get("id"), "invocation_id": row.get("invocation_id"), "timestamp": time}
            made.append(stated(stamped) | whole)
            continue
        # Without that column of JSON, an event is put together from the others.
        columns = ((key, item) for key, item in row.items() if key not in _OF_ROWS and item is not None)
        event = {key: decoded(item, allow_nan=True) for key, item in columns}
        event["timestamp"] = time
        for key in ("partial", "turn_complete", "interrupted"):
            if isinstance(event.get(key), int):
                event[key] = bool(event[key])
        tools = row.get("long_running_tool_ids_json")
        if isinstance(tools, str) and tools:
            event["long_running_tool_ids"] = json_structure(tools)
        made.append(stated(event))
    about = {key: session.get(key) for key in ("id", "app_name", "user_id")}
    pickled = {PICKLED: len(events)} if is_pickled else {}
    return {**about, "state": state, "events": made, **pickled}


def _object(value: JsonValue) -> JsonObject:
    held = decoded(value, allow_nan=True)  # a NaN in an event is read here as in a file of events
    return held if isinstance(held, dict) else {}


_SESSION_KEYS = endings.spelt("last_update_time", "display_name") | {PICKLED}
_EVENT_KEYS = endings.spelt(
    *("output", "error_code", "logprobs_result", "cache_metadata", "citation_metadata", "node_info"),
    *("live_session_resumption_update", "go_away", "voice_activity", "turn_complete_reason"),
    *("avg_logprobs", "safety_ratings", "session_id", "app_name", "user_id", "state"),
) | {"event_id"}
_ACTION_KEYS = endings.spelt(
    *("artifact_delta", "requested_auth_configs", "requested_tool_confirmations", "agent_state"),
    *("render_ui_widgets", "route", "set_model_response", "transfer_reason"),
)


def session_conversation(value: JsonValue) -> Conversation:
    """Returns a stored session as a conversation, one turn per invocation id; a live one, a turn per answer.

    Invocations that a rewind undid are left out, as in google-adk, and so are those without any message.
    Raises ValueError, one line, for what cannot be read even leniently.
    """
    with fields.one_line_problems("not an ADK session"):
        session = adk.read_log(adk.AdkSession, value)
    session.events = _in_order(session.events)
    events, left_out = _history(whole_events(_stated_once(session.events)))
    given = _invocation_groups(events)
    groups = [group for group in given if any(map(_holds_something, group))]
    invocations = [_invocation(events) for events in groups]
    turns = [_turn(*turn, i) for i, turn in enumerate(zip(groups, invocations, strict=True))]
    end = _add_crashes(events, groups, turns) or _session_end(events)
    index = -1
    for group in given if turns else ():
        is_turn = any(map(_holds_something, group))
        index += is_turn
        # What is left out before an event of the group; of the last group also what is after it.
        for following, note in left_out:
            if group is given[-1] if following is None else any(event is following for event in group):
                note.add_to(turns[max(0, index)])
        if not is_turn:
            # google-adk counts an invocation without any message as one.
            names = list(dict.fromkeys(name for event in group for name in event.actions.state_delta))
            what = f"only changes of the state ({listed(names, _SHOWN)})" if names else "no message"
            message = f"the invocation {group[0].invocation_id[:60]!r} holds {what}, and is no turn"
            silence = fields.gaps("InvocationWithoutMessage", [message], calls=False, words=False)
            silence.add_to(turns[max(0, index)])
    extra = session.model_extra or {}
    unread = fields.Unread().keys(extra, _SESSION_KEYS)
    if extra.get(PICKLED):
        unread.add("PickledActions", "actions of events are pickled: rewinds and state changes are unknown")
    calls = ((bool(e.partial), p.function_call) for e in session.events for p in _parts(e))
    made = {(is_partial, call.name) for is_partial, call in calls if call}
    pieces = sorted({name or "?" for is_partial, name in made if is_partial and (False, name) not in made})
    if pieces:
        message = f"calls that only partial events hold are not read: {', '.join(pieces[:_SHOWN])}"
        unread.add(fields.UNREAD, message, calls=True)
    unread.add_to_all(turns)
    check_calls(turns)
    start = session.events[0].timestamp if session.events else None
    whole = Conversation(session.id, "adk", user_id=session.user_id, turns=turns, state=session.state)
    whole.start_time = None if start is None else rfc3339(start)
    whole.ended, whole.ended_detail = end.ended, end.detail
    whole.meta = {"app_name": session.app_name, **cases.turn_context(invocations)}
    return whole


def _in_order(events: list[adk.AdkEvent]) -> list[adk.AdkEvent]:
    """Returns events by their times, where a user's message has a later event before it."""
    # Rows of a query may be in any order. In a live session the times of speech are those of its beginning.
    times = [event.timestamp for event in events if event.timestamp is not None]
    if len(times) < len(events) or any(e.input_transcription or e.output_transcription for e in events):
        return events
    # Events of one time keep their order, in which the newest may come first.
    step = -1 if times == sorted(times, reverse=True) else 1
    spoken = (i for i, event in enumerate(events[1:], 1) if by_user(event) and _parts(event))
    if not any(times[i] < times[i - 1 if step == 1 else 0] for i in spoken):
        return events
    return [events[i] for i in sorted(range(len(events))[::step], key=times.__getitem__)]


def _invocation_groups(events: Sequence[adk.AdkEvent]) -> list[list[adk.AdkEvent]]:
    """Groups events by turns of an invocation id, or where it is missing by the user's events."""
    invocations: dict[str, list[adk.AdkEvent]] = {}
    openings = 0
    for event in events:
        openings += by_user(event)
        invocations.setdefault(event.invocation_id or f"#{openings}", []).append(event)
    joined: list[list[adk.AdkEvent]] = []
    for group in (turn for invocation in invocations.values() for turn in _live_turns(invocation)):
        parts = [part for event in group if by_user(event) for part in _parts(event)]
        answers = [part.function_response for part in parts if part.function_response]
        # Answers alone are joined to their calls, turns between them or not: by the id, or else by the name.
        wanted = {(a.id, None if a.id else a.name) for a in answers} if len(answers) == len(parts) else ()
        for earlier in reversed(joined):
            calls = (part.function_call for event in earlier for part in _parts(event))
            if any((call.id, None if call.id else call.name) in wanted for call in calls if call):
                earlier.extend(group)
                break
        else:
            joined.append(group)
    return joined


def _holds_something(event: adk.AdkEvent) -> bool:
    """Returns whether an event is part of a turn, not only a change of the state or a signal of a stream."""
    output = (event.model_extra or {}).get(_OUTPUT)
    is_held = any(item is not None for item in (event.content, event.grounding_metadata, output))
    return is_held or bool(event.error_code or event.error_message or event.finish_reason)


def _turn(events: Sequence[adk.AdkEvent], invocation: adk.Invocation, index: int) -> Turn:
    turn = cases.invocation_turn(invocation, index)
    if not any(map(by_user, events)):
        turn.user = None
    final = next((e for e in reversed(events) if not by_user(e) and cases.text(e.content)), None)
    if final is not None and turn.agent == cases.text(final.content):
        turn.speakers = [*turn.speakers[: len(turn.agent_messages) - 1], final.author]
    handed_over = [e.actions.transfer_to_agent for e in events if e.actions.transfer_to_agent]
    turn.transfers = handed_over or turn.transfers
    turn.variables = {key: item for e in events for key, item in e.actions.state_delta.items()}
    setters = {key: e for e in events for key in e.actions.state_delta}
    turn.given_variables = [key for key, event in setters.items() if by_user(event)]
    # From the first event to the last one, without the waits for the user.
    seconds, latest = 0.0, None
    for event in events:
        time = event.timestamp
        if time is None or not (latest is None or time > latest):  # NaN is no time after another
            continue
        if latest is None:
            turn.timestamp = time
        elif not by_user(event):
            seconds += time - latest
        latest = time
    if latest is not None:
        turn.latency_ms = endings.length(seconds * 1000.0) or None
    # Of calls that were answered again later, only the last result counts.
    calls = Counter(call.id for call in turn.tool_calls)
    last = {response.id: number for number, response in enumerate(turn.tool_responses)}
    numbered = enumerate(turn.tool_responses)
    kept = [r for i, r in numbered if r.id is None or calls[r.id] != 1 or last[r.id] == i]
    if earlier := len(turn.tool_responses) - len(kept):
        message = f"{earlier} results of calls that were answered again later are left out"
        turn.tool_responses = kept
        fields.gaps("InterimResult", [message], calls=False, words=False).add_to(turn)
    turn.inference_calls = turn.inference_calls or None
    if pieces := sum(bool(event.partial) for event in events):
        message = f"messages whose pieces are joined, as their whole text is not logged: {pieces}"
        fields.gaps("JoinedPieces", [message], calls=False, words=False).add_to(turn)
    unread = cases.AdkUnread()
    is_heard = any(event.output_transcription is not None for event in events)
    for event in events:
        by_agent, strange = not by_user(event), unread.strange
        unread.content(event.content, by_agent, is_heard)
        strange.keys(event.model_extra or {}, _EVENT_KEYS, by_agent)
        strange.keys(event.actions.model_extra or {}, _ACTION_KEYS, by_agent)
        strange.keys((event.content.model_extra if event.content else None) or {}, frozenset(), by_agent)
    return unread.add_to(turn)


def _invocation(events: Sequence[adk.AdkEvent]) -> adk.Invocation:
    """Builds the invocation as google-adk's own conversion of stored events does.

    Unlike there, the final event keeps its tool responses, and the user's answers to tool calls count.
    """
    finals = [event for event in events if not by_user(event) and _parts(event) and _is_final(event)]
    worded = [event for event in finals if any(part.text for part in _parts(event))]
    final = next(reversed(worded or finals), None)
    steps = []
    for event in events:
        parts = _parts(event)
        is_held = any(getattr(part, name) for part in parts for name in _HELD)
        if event is final:
            parts = [part for part in parts if not part.text]
        elif by_user(event):
            answers = (part.function_response for part in parts)
            parts = [adk.Part(function_response=answer) for answer in answers if answer]
        elif not (is_held or event.grounding_metadata):
            continue
        step = adk.InvocationEvent(author=event.author, content=adk.Content(parts=parts))
        step.grounding_metadata = event.grounding_metadata
        step.usage_metadata, step.model_version = event.usage_metadata, event.model_version
        steps.append(step)
    asked = [part for event in events if by_user(event) for part in _parts(event)]
    return adk.Invocation(
        user_content=adk.Content(parts=asked),
        final_response=final.content if final else None,
        intermediate_data=adk.InvocationEvents(invocation_events=steps),
    )


def _parts(event: adk.AdkEvent) -> list[adk.Part]:
    return cases.parts_of(event.content)


REWOUND = "UndoneTurns"
_SECOND = 0.001
_HELD = ("text", "inline_data", "function_call", "function_response", *cases.CODE)
_OUTPUT = "output"
"""Key of what a node of a workflow returned."""
_SHOWN = 5


def _history(
    events: Sequence[adk.AdkEvent],
) -> tuple[list[adk.AdkEvent], list[tuple[adk.AdkEvent | None, fields.Unread]]]:
    """Returns the events that google-adk counts as having happened, and what is left out before which.

    A rewind undoes itself and everything from the first event of the invocation that it names, but not the
    external effects of its calls. A compaction repeats in short what other events hold.
    """
    firsts = {event.invocation_id: i for i, event in reversed(list(enumerate(events)))}
    stamps = [e.timestamp for e in events if e.actions.compaction is None and e.timestamp is not None]
    counted: list[adk.AdkEvent] = []
    left_out: list[tuple[adk.AdkEvent | None, fields.Unread]] = []
    i = len(events)
    while i > 0:
        i -= 1
        target, compacted = events[i].actions.rewind_before_invocation_id, events[i].actions.compaction
        note = None
        if target:
            undone = events[firsts.get(target, i) : i]
            count = len({event.invocation_id for event in undone if event.content is not None})
            message = f"{count} invocations were undone by a rewind and are left out"
            calls = (part.function_call for event in undone if not event.partial for part in _parts(event))
            names = list(dict.fromkeys(call.name or "?" for call in calls if call))
            if names:
                message += f"; what they called may have its effects all the same: {listed(names, _SHOWN)}"
            note = fields.gaps(REWOUND, [message], calls=bool(names), words=False)
            if not undone:
                lost = f"a rewind to before {target[:60]!r}, which the log does not hold"
                note = fields.gaps(REWOUND, [lost])
            i -= len(undone)
        elif compacted is not None:
            bounds = (compacted.start_timestamp, compacted.end_timestamp)
            if not all(b is not None and any(abs(b - at) < _SECOND for at in stamps) for b in bounds):
                message = "earlier turns were compacted and are not all in the log"
                note = fields.gaps("CompactedTurns", [message])
        else:
            counted.append(events[i])
        if note is not None:
            left_out.append((counted[-1] if counted else None, note))
    return counted[::-1], left_out


def _last_event(events: Sequence[adk.AdkEvent]) -> adk.AdkEvent | None:
    """Returns the last event with content, error or finish reason, or by which the user interrupted."""
    return next((e for e in reversed(events) if cases.parts_of(e.content) or e.error_code or e.error_message
                 or e.finish_reason or e.interrupted or _OUTPUT in (e.model_extra or {})), None)  # fmt: skip


def _session_end(events: Sequence[adk.AdkEvent]) -> endings.End:
    """Returns how a session ended, by its last event with content, error or finish reason.

    An invocation ends with a final response, in google-adk's sense; where none followed the user's message or
    the agent's last call, the agent failed. A pending call of a long-running tool is no end. A user who
    interrupts the agent has not left; one who speaks last may have hung up.
    """
    last = _last_event(events)
    if last is None:
        return endings.UNKNOWN
    if last.error_code or last.error_message:
        return endings.error_end(last.error_code, last.error_message)
    finished = endings.finished_end(last.finish_reason)
    if finished.ended not in (None, "normally"):
        return finished
    if last.interrupted:
        return endings.End(None, "the user interrupted the agent's last answer")
    if by_user(last) and is_spoken(last):
        return endings.End(None, "the user's last words have no answer")
    is_complete = any(event.turn_complete for event in events[events.index(last) :])
    if last.partial and not is_complete:
        why = "of the last message only pieces are logged: nothing says whether it is whole"
        return endings.End(None, why)
    if by_user(last):
        return endings.End("agent_error", "the user's last message has no answer")
    if not _is_final(last) and not (last.actions.escalate or last.actions.end_of_agent):
        calls = (part.function_call for part in _parts(last) if part.function_call)
        called = next((f"{call.name or '?'} never responded" for call in calls), None)
        return endings.End("agent_error", called or "no answer followed the last tool response")
    if finished.detail and finished.ended is None:
        return finished
    if next((e.turn_complete for e in reversed(events) if e.turn_complete is not None), None) is False:
        return endings.End(None, "turnComplete is false: the agent had not finished")
    is_answer = bool(_is_final(last) and not last.long_running_tool_ids and cases.text(last.content))
    if is_answer and finished == endings.UNKNOWN and is_complete:
        return endings.End("normally")
    return finished if is_answer else endings.UNKNOWN


def _add_crashes(
    events: Sequence[adk.AdkEvent], groups: Sequence[list[adk.AdkEvent]], turns: Sequence[Turn]
) -> endings.End | None:
    """Adds what failed in other turns than the last; returns the first failure of the agent, or None.

    The user may have asked again, and the agent failed all the same. A message without any event of the agent
    is no failure that the log states. A live invocation may go on with a call after the user spoke.
    """
    crash, ending = None, _last_event(events)
    lasts = {group[-1].invocation_id: group for group in groups}
    for number, (group, turn) in enumerate(zip(groups, turns, strict=True), 1):
        end, last = _session_end(group), _last_event(group)
        others = [event for event in group if not by_user(event)]
        # The error of an agent after which only other agents spoke; one that goes on has tried again.
        errors = ((e, others[i:]) for i, e in enumerate(others, 1) if e.error_code or e.error_message)
        ended = ((e, rest) for e, rest in errors if rest and not e.interrupted)
        failures = (e for e, rest in ended if all(e.author != after.author for after in rest))
        if (failed := next(failures, None)) and last is not failed:
            end = endings.error_end(failed.error_code, failed.error_message)
            why = f"{failed.author or 'an agent'} failed: {end.detail}"
            fields.gaps(fields.AGENT_ERROR, [why], calls=False, words=False).add_to(turn)
            crash = crash or endings.End(end.ended, f"turn {number}: {why}")
            continue
        if last is None or any(event is ending for event in group):
            continue
        has_error = bool(last.error_code or last.error_message)
        if by_user(last) and not (has_error or last.interrupted):
            fields.gaps(fields.NO_ANSWER, ["the user's message has no answer"]).add_to(turn)
            continue
        goes_on = bool(last.invocation_id) and lasts.get(last.invocation_id, group) is not group
        is_answered = goes_on or (_is_final(last) and cases.text(last.content))
        if end.ended in BROKEN and (has_error or not is_answered):
            why = f"the agent failed: {end.detail}"
            fields.gaps(fields.AGENT_ERROR, [why], calls=False, words=False).add_to(turn)
            crash = crash or endings.End(end.ended, f"turn {number}: {end.detail}")
    return crash


def _is_final(event: adk.AdkEvent) -> bool:
    """Returns whether an event is a final response, in google-adk's sense."""
    if event.actions.skip_summarization or event.long_running_tool_ids:
        return True
    parts = _parts(event)
    works = any(part.function_call or part.function_response for part in parts)
    return not works and (not parts or parts[-1].code_execution_result is None)


# What was said in live and streamed sessions, as events with whole texts.

_Voice = tuple[str, str]
_Fragment = tuple[int, adk.AdkEvent, str]


def by_user(event: adk.AdkEvent) -> bool:
    """Returns whether the user is the author of an event."""
    return event.author.lower() == "user"


def is_spoken(event: adk.AdkEvent) -> bool:
    """Returns whether an event holds a transcription."""
    return event.input_transcription is not None or event.output_transcription is not None


class _Words:
    """Joins pieces of words; a run of them ends where somebody else speaks, and at a call.

    A finished transcription holds what the pieces before it held, as does the last event of a streamed
    answer; where it is missing, the pieces are joined. Of Live APIs that do not say that a transcription is
    finished, google-adk does at the end of a turn (2.13: `models/gemini_llm_connection.py`).
    """

    def __init__(self) -> None:
        self.events: list[adk.AdkEvent | None] = []  # None in place of pieces
        self._runs: dict[_Voice, list[list[_Fragment]]] = {}
        self._speaker = ""
        self._whole: tuple[_Voice, str, bool] | None = None

    def add(self, event: adk.AdkEvent) -> None:
        """Adds an event, which may end those of its invocation, too."""
        spoken = event.input_transcription or event.output_transcription
        author = "user" if event.input_transcription or by_user(event) else event.author
        key = event.invocation_id, author
        is_written = bool(cases.text(event.content))
        text = (spoken.text or "") if spoken and not is_written else cases.text(event.content)
        if event.partial or (spoken and not spoken.finished and not is_written):
            runs = self._runs.setdefault(key, [])
            if not runs or (text and self._speaker != author):
                runs.append([])
            self._speaker = author if text else self._speaker
            runs[-1].append((len(self.events), event, text))
            self.events.append(None)
        elif text or (spoken and spoken.finished):
            self._add_whole(key, event, text)
        else:
            self.events.append(event)
            if any(part.function_call for part in cases.parts_of(event.content)):
                self._speaker, self._whole = "", None
        if event.turn_complete or event.interrupted:
            self.close(event.invocation_id, "user" if event.interrupted else "")

    def _add_whole(self, key: _Voice, event: adk.AdkEvent, text: str) -> None:
        """Adds a whole text; it holds what the pieces before it hold, or else ends them."""
        runs = self._runs.pop(key, [])
        last = runs[-1] if runs else []
        joined = _joined(last)
        is_repeated = self._whole is not None and self._whole[:2] == (key, text) and self._speaker == key[1]
        if is_repeated and not runs and (is_spoken(event) or (self._whole and self._whole[2])):
            self.events.append(_with_text(event, "", key[1]))  # it was transcribed twice, or also written
            return
        self._whole = key, text, is_spoken(event)
        is_whole = all(piece.partial for _, piece, _ in last)
        if not is_whole and is_spoken(event) and not _holds(text, joined):
            text, is_whole = joined + text, True  # older versions: the last piece alone is finished
        for run in runs[:-1] if is_whole else runs:
            if not _holds(text, _joined(run)):
                self._join(key, run)
        self._speaker = key[1]
        self.events.append(None)
        # Words of the user stand where they began: the agent may have answered before they were whole.
        index = last[0][0] if last and key[1] == "user" else len(self.events) - 1
        self.events[index] = _with_text(event, text or joined, key[1])

    def close(self, invocation: str | None, but: str = "") -> None:
        """Joins the pieces of an invocation (None: of all), but not those of one speaker."""
        self._whole = None
        for key in list(self._runs):
            if invocation in (None, key[0]) and key[1] != but:
                for run in self._runs.pop(key):
                    self._join(key, run)

    def _join(self, key: _Voice, run: Sequence[_Fragment]) -> None:
        text = _joined(run)
        if text:
            index, event, _ = run[0 if key[1] == "user" else -1]
            self.events[index] = _with_text(event, text, key[1])


def _joined(run: Sequence[_Fragment]) -> str:
    """Returns the text of pieces: each goes on after the one before, or each repeats it and goes on."""
    texts = [text for _, _, text in run if text]
    is_repeating = all(after.startswith(text.rstrip()) for text, after in pairwise(texts))
    return texts[-1] if is_repeating and len(set(texts)) > 1 else "".join(texts)


def _holds(whole: str, piece: str) -> bool:
    return "".join(piece.split()) in "".join(whole.split())


def _with_text(event: adk.AdkEvent, text: str, author: str) -> adk.AdkEvent:
    """Returns an event whose text is what was said, beside what else it holds; a written one as it is."""
    if cases.text(event.content) == text:
        return event
    parts = [part for part in cases.parts_of(event.content) if not part.text]
    role = "user" if author == "user" else "model"
    content = adk.Content(role=role, parts=[*parts, adk.Part(text=text)] if text else parts)
    return event.model_copy(update={"author": author, "content": content})


def _stated_once(events: Sequence[adk.AdkEvent]) -> list[adk.AdkEvent]:
    """Returns events without those that an export repeats with their ids."""
    firsts: dict[object, adk.AdkEvent] = {}
    ids = ((event.model_extra or {}).get("id") or index for index, event in enumerate(events))
    pairs = [(firsts.setdefault(name, event), event) for name, event in zip(ids, events, strict=True)]
    return [event for first, event in pairs if first is event or first != event]


def whole_events(events: Sequence[adk.AdkEvent]) -> list[adk.AdkEvent]:
    """Returns events without partial ones; what was spoken is the text of an event of its speaker."""
    if not any(event.partial or is_spoken(event) for event in events):
        return list(events)
    words = _Words()
    for event in events:
        if event.input_transcription and event.output_transcription:
            # What the user said and what the agent said at once are two events.
            words.add(event.model_copy(update={"output_transcription": None, "content": None}))
            event = event.model_copy(update={"input_transcription": None})
        words.add(event)
    words.close(None)
    return [event for event in words.events if event is not None]


def _live_turns(events: Sequence[adk.AdkEvent]) -> list[list[adk.AdkEvent]]:
    """Returns the events of one invocation by turns.

    A live session is one invocation of google-adk. In it a turn begins where the user speaks after the agent
    did, or with what follows after the agent completed its turn; a barge-in begins none by itself.
    """
    if not any(is_spoken(event) or event.turn_complete for event in events):
        return [list(events)]
    stretches: list[list[adk.AdkEvent]] = [[]]
    for event in events:
        stretches[-1].append(event)
        if event.turn_complete or event.interrupted:
            stretches.append([])
    spoken = [[event for event in stretch if cases.text(event.content)] for stretch in stretches]
    # What the user said may be transcribed after its answer: where the agent completes its turn right after
    # it, and does not answer it then.
    for stretch, words, after in zip(stretches, spoken, [*spoken[1:], []], strict=True):
        users = [event for event in words if by_user(event)]
        is_late = users and not by_user(words[0]) and all(map(by_user, words[-len(users) :]))
        is_over = is_late and stretch[-1].turn_complete and not stretch[-1].interrupted
        is_answered_after = after and not any(map(by_user, after))
        if is_over and not is_answered_after and all(item.input_transcription for item in users):
            stretch.sort(key=lambda event: not any(event is user for user in users))
    turns: list[list[adk.AdkEvent]] = [[]]
    is_answered = is_complete = False
    for event in chain.from_iterable(stretches):
        speaks = bool(cases.text(event.content))
        acts = speaks or any(part.function_call for part in cases.parts_of(event.content))
        if (is_complete and acts) or (is_answered and speaks and by_user(event)):
            turns.append([])
            is_answered = is_complete = False
        turns[-1].append(event)
        is_answered = is_answered or (speaks and not by_user(event))
        is_complete = is_complete or bool(event.turn_complete)
    return turns
