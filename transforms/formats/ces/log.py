"""CES session logs, one output of a session an entry, as canonical conversations."""

from collections import Counter
from collections.abc import Sequence

from turnwise.schemas import conversation as canonical
from turnwise.schemas.ces import conversation as ces
from turnwise.schemas.ces.metric_settings import SessionOutput
from turnwise.schemas.jsonio import JsonObject
from turnwise.transforms.formats.ces.end import end_metadata, session_end
from turnwise.transforms.formats.ces_conversations import add_trace, label, logged_turn, spellings
from turnwise.transforms.formats.messages.values import as_object
from turnwise.transforms.formats.unread import MISSING, UNREAD, Unread, add_leap, check_calls

_LARGEST_INDEX = 2**31 - 1
_PAYLOAD_KEYS = spellings(SessionOutput) - {"tool_calls", "toolCalls"}
_OUTPUT_KEYS = (SessionOutput.model_fields.keys() | {"turnCompleted", "diagnosticInfo"}) - {"turn_index"}
_ENTRY_KEYS = frozenset(
    (
        *("labels", "jsonPayload", "resource", "httpRequest", "operation", "sourceLocation", "split"),
        *("errorGroups", "apphub", "apphubDestination", "apphubSource", "otel"),
    )
)
_NO_DETAILS = "the log entry has no diagnosticInfo.messages, which hold the calls"


def entry_session(value: JsonObject) -> tuple[str, int]:
    """Returns session id and 1-based turn index (0: unknown) of a log entry.

    Raises:
        ValueError: It names no session.
    """
    payload, labels = _payload(value), as_object(value.get("labels"))
    named = (
        labels.get("session_id"),
        value.get("session"),
        payload.get("sessionId"),
        payload.get("session_id"),
    )
    session = next((name for name in named if isinstance(name, str) and name), None)
    if session is None:
        raise ValueError("a session log entry needs labels.session_id (or session, sessionId)")
    return session, _stated_index(payload) or 0


def _stated_index(payload: JsonObject) -> int | None:
    """Returns the 1-based turn index of an output, 0 where it states none; None: it is no such number."""
    stated = payload.get("turnIndex") or payload.get("turn_index") or 0
    try:
        index = int(stated)
    except (TypeError, ValueError, OverflowError):
        return None
    return index if 0 <= index <= _LARGEST_INDEX else None


def ends_session(value: JsonObject) -> bool:
    """Returns whether a log entry states the end of its session."""
    return end_metadata(_payload(value)) is not None


def _payload(value: JsonObject) -> JsonObject:
    payload = value.get("jsonPayload", value)
    return payload if isinstance(payload, dict) else {}


def joined_conversation(session_id: str, entries: Sequence[JsonObject]) -> canonical.Conversation:
    """Joins the log entries of one session, in turn order, into a conversation.

    The last entry of a turn with diagnostics defines the whole turn; without one, the texts of its entries
    are the agent's messages.
    """
    turns: dict[int, list[JsonObject]] = {}
    for entry in entries:
        turns.setdefault(entry_session(entry)[1], []).append(entry)
    labels: JsonObject = {}
    for entry in entries:
        labels |= as_object(entry.get("labels"))
    made = [_entry_turn(i, turns[index]) for i, index in enumerate(sorted(turns))]
    before = 0
    for turn, index in zip(made, sorted(turns), strict=True):
        if index > before + 1:
            add_leap(turn, before, index, first=1)
        before = index
    check_calls(made)
    ends = (end_metadata(_payload(entry)) for entry in reversed(entries))
    end = session_end(made[-1] if made else None, metadata=next((e for e in ends if e is not None), None))
    return canonical.Conversation(
        conversation_id=session_id,
        source="ces",
        app_version=label(labels, "app_version"),
        language=label(labels, "language_code"),
        eval_id=label(labels, "evaluation") or label(labels, "eval_id"),
        eval_set_id=label(labels, "eval_set_id"),
        start_time=next((e["timestamp"] for e in entries if isinstance(e.get("timestamp"), str)), None),
        turns=made,
        ended=end.ended,
        ended_detail=end.detail,
    )


def _entry_turn(index: int, entries: Sequence[JsonObject]) -> canonical.Turn:
    payloads = [_payload(entry) for entry in entries]
    outputs = [
        SessionOutput.from_value({k: v for k, v in p.items() if k in _OUTPUT_KEYS}, lenient=True)
        for p in payloads
    ]
    found = ((o.diagnostic_info, p) for o, p in zip(reversed(outputs), reversed(payloads), strict=True))
    details, payload = next(((d, p) for d, p in found if d is not None), (None, {}))
    unread = Unread()
    if details is not None and details.messages:
        logged = ces.ConversationTurn(messages=details.messages, root_span=details.root_span)
        turn = logged_turn(index, logged, payload.get("diagnosticInfo") or payload["diagnostic_info"])
    else:
        texts = [output.text for output in outputs if output.text]
        turn = canonical.Turn(turn_index=index, agent="\n".join(texts) or None, agent_messages=texts)
        if details is not None:
            add_trace(turn, ces.ConversationTurn(root_span=details.root_span))
        unread.add(UNREAD, _NO_DETAILS, calls=True)
    for entry, output in zip(entries, payloads, strict=True):
        _unread_entry(entry, output, turn, unread)
    return unread.add_to(turn)


def _unread_entry(entry: JsonObject, payload: JsonObject, turn: canonical.Turn, unread: Unread) -> None:
    """Adds what a log entry holds beside its diagnostics, calls of the client's tools among it."""
    known = _PAYLOAD_KEYS if "jsonPayload" in entry else _PAYLOAD_KEYS | _ENTRY_KEYS
    if _repeats_calls(payload, turn):
        known |= {"toolCalls", "tool_calls"}
    unread.keys(payload, known)
    if "jsonPayload" in entry:
        unread.keys(entry, _ENTRY_KEYS)
    if _stated_index(payload) is None:
        unread.add(MISSING, "a turnIndex that is no number of a turn", calls=True, words=True)


def _repeats_calls(payload: JsonObject, turn: canonical.Turn) -> bool:
    """Returns whether the calls for tools of the client are among those of the turn's messages."""
    holder = payload.get("toolCalls") or payload.get("tool_calls")
    held = (holder.get("toolCalls") or holder.get("tool_calls")) if isinstance(holder, dict) else None
    if not isinstance(held, list) or not all(isinstance(call, dict) for call in held):
        return False
    named = (call.get("tool") or call.get("displayName") or call.get("display_name") for call in held)
    wanted = Counter(str(name).rsplit("/", 1)[-1] for name in named)
    return not wanted - Counter(str(call.name) for call in turn.tool_calls)
