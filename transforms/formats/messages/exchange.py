"""Requests to models with their replies, as a proxy logs them; those of a conversation are joined."""

from collections.abc import Sequence
from hashlib import blake2b
from typing import NamedTuple

from turnwise.schemas.conversation import Conversation
from turnwise.schemas.jsonio import JsonObject, dump_json
from turnwise.transforms.formats.messages.chains import chains
from turnwise.transforms.formats.messages.dialogue import Dialogue, added
from turnwise.transforms.formats.messages.halves import dialects_of_halves, halves
from turnwise.transforms.formats.messages.messages_base import (
    DIALECTS,
    Dialect,
    conversation,
    messages_in,
    read_half,
)
from turnwise.transforms.formats.messages.values import key_set
from turnwise.transforms.formats.registry import EventReader, Format, register_format
from turnwise.transforms.formats.spellings import as_text

_NAMES = ("conversation_id", "session_id", "thread_id", "conversationId", "sessionId", "threadId", "chat_id")
_KEYS = key_set(
    "request response uri url method path headers request_headers id response_headers app_version tags "
    "error metadata custom_id params source"
) | frozenset((*_NAMES,))


class _Exchange(NamedTuple):
    dialect: Dialect
    log: Dialogue
    request: JsonObject


def _is_exchange(value: JsonObject) -> bool:
    if not value.keys() >= {"request", "response"}:
        return False
    request, reply, events = halves(value)
    return bool(messages_in(request)[0]) and len(dialects_of_halves(request, reply, events)) < 2


def _read(value: JsonObject, log: Dialogue | None = None) -> _Exchange:
    """Reads a request with its reply.

    Args:
        value: The record.
        log: The dialogue to which its messages are added; None: a new one.

    Raises:
        ValueError: A value has the wrong type.
    """
    request, reply, events = halves(value)
    plain = next(each.name for each in DIALECTS.values() if each.is_plain)
    dialect = DIALECTS[next(iter(dialects_of_halves(request, reply, events)), plain)]
    is_first = log is None or not log.steps
    log = Dialogue() if log is None else log
    read_half(dialect, request, log, is_first)
    is_stream = bool(events and not isinstance(reply, dict) and dialect.join)
    if is_stream and dialect.join:
        reply = dialect.join(events)
    if isinstance(reply, dict) and reply.get("error") and not dialect.is_reply(reply):
        log.failure = reply["error"]
    elif isinstance(reply, dict) and dialect.reply:
        dialect.reply(reply, log)
        if is_stream:
            log.check_end()
    elif reply:
        log.unread.add("UnreadPart", "the reply is in a form that is not read", calls=True, words=True)
    else:
        log.unread.add("NoAnswer", "the reply is not in the log", calls=True, words=True)
    beside = {key: item for key, item in value.items() if key not in ("request", "response")}
    log.general.keys({key: item for key, item in beside.items() if key not in request}, _KEYS)
    return _Exchange(dialect, log, {**request, **beside})


def _stated(value: JsonObject) -> str | None:
    """Returns the conversation that a record names, itself or in the request's metadata."""
    request = halves(value)[0]
    holders = (value, value.get("metadata"), request.get("metadata"), request)
    names = [as_text(h.get(key)) for h in holders if isinstance(h, dict) for key in _NAMES]
    kept = request.get("conversation")
    names.append(as_text(kept.get("id") if isinstance(kept, dict) else kept))
    return next(filter(None, names), None)


def _place(value: JsonObject) -> tuple[str, int]:
    """Returns the conversation of a record: as it is named, or by how it opens.

    The opening goes up to the agent's first step. Every request repeats the messages before it, so all of
    a conversation open alike. A request without an answer stands alone.

    Raises:
        ValueError: It cannot be read.
    """
    stated = _stated(value)
    if stated:
        return stated, -1
    exchange = _read(value)
    steps = exchange.log.steps
    first = next((i for i, step in enumerate(steps) if step[0] in ("agent", "call")), len(steps))
    opening = dump_json([list(step) for step in steps[: first + 1]])
    opening += dump_json(value) if first == len(steps) else b""
    return f"{exchange.dialect.name}-{blake2b(opening, digest_size=8).hexdigest()}", -1


def _join(session_id: str, values: Sequence[JsonObject]) -> Conversation:
    """Returns the conversation of records: the longest list of messages; the others are its beginnings.

    Raises:
        ValueError: They cannot be read.
    """
    exchanges = sorted(map(_read_chain, chains(values)), key=lambda each: len(each.log.steps))
    *others, (dialect, log, request) = exchanges
    for other in others:
        if other.log.steps != log.steps[: len(other.log.steps)] or other.dialect is not dialect:
            said = "a request is not among the messages of the longest one; its reply is not read"
            log.general.add("OtherBranch", said, calls=True)
        else:
            _add_measures(log, other.log)
    return conversation(dialect, log, {**request, "id": session_id}, session_id)


def _read_chain(values: Sequence[JsonObject]) -> _Exchange:
    """Reads records of which each has only the new messages."""
    whole = Dialogue()
    return [_read(value, whole) for value in values][-1]


def _add_measures(log: Dialogue, other: Dialogue) -> None:
    """Adds the tokens and the time of earlier replies to their turns."""
    for turn, its in zip(log.turns, other.turns, strict=False):
        turn.usage = added(turn.usage, its.usage)
        if its.model_ms is not None:
            turn.model_ms = (turn.model_ms or 0.0) + its.model_ms


register_format(
    Format(
        name="model_exchange",
        keys=("request", "response"),
        help="requests to a model with their replies; those of one conversation are joined",
        rank=120,
        recognises=_is_exchange,
        events=EventReader(place=_place, join=_join),
        has_rubrics=False,
    )
)
