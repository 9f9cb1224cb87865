"""Requests to models with their replies, as a proxy logs them; those of a conversation are joined."""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from hashlib import blake2b
from typing import NamedTuple, TypeAlias
from uuid import UUID

import orjson
from pydantic_core import from_json

from turnwise.schemas.conversation import Conversation, Record
from turnwise.schemas.jsonio import JsonObject, JsonValue, dump_json
from turnwise.transforms.formats import registry
from turnwise.transforms.formats.endings import as_text, length, stated_reason
from turnwise.transforms.formats.fields import UNREAD, check_one_user
from turnwise.transforms.formats.identity import ANY, OF_ANY, Places
from turnwise.transforms.formats.messages import kinds, messages_base
from turnwise.transforms.formats.messages.dialogue import Dialogue
from turnwise.transforms.formats.messages.model_apis import CHAT
from turnwise.transforms.text.dates import time_seconds, value_time

_NAMES = messages_base.IDS[:-1]
_LATENCY = "latency_ms of the model"
_SESSION = "turnwise.session_of_call"
"""Key of an exchange with a session that may be made up for this call, as its client named none."""
_CALLER = "turnwise.caller"
"""Key of an exchange with what tells programs apart that send requests."""
_UNCLEAR = "turnwise.unclear_retry"
"""Key of a failed request of which it is unknown whether a conversation goes on with it."""
_RETRY_SECONDS, _MOST_RETRIES = 600.0, 5
_APART = ("request", "response", _SESSION, _CALLER)
_Exchanged: TypeAlias = Callable[[JsonObject], JsonObject]
_TRIED = 50
"""How many of a stream's events are looked at to tell its dialect."""
_KEYS = kinds.key_set(
    "request response uri url method path headers request_headers id response_headers app_version tags "
    "error metadata custom_id params source"
).union(_NAMES)


class _Exchange(NamedTuple):
    dialect: messages_base.Dialect
    log: Dialogue
    request: JsonObject


def _is_exchange(value: JsonObject) -> bool:
    # A row of MLflow holds the spans of a trace, too, or its text.
    if "response" not in value or "spans" in value or "spans" in str(value.get("trace")):
        return False
    request, reply, events = _halves(value)
    has_messages = bool(messages_base.messages_in(request)[0])
    is_reply = isinstance(reply, dict) and any(d.is_reply(reply) for d in messages_base.DIALECTS.values())
    is_one = len(_dialects_of_halves(request, reply, events)) < 2
    return has_messages and is_one and ("request" in value or is_reply)


def _read_exchange(value: JsonObject, log: Dialogue | None = None) -> _Exchange:
    request, reply, events = _halves(value)
    dialect = messages_base.DIALECTS[next(iter(_dialects_of_halves(request, reply, events)), CHAT.name)]
    log = log or Dialogue()
    add_reply = partial(_add_reply, dialect, value)
    messages_base.read_half(dialect, messages_base.unrepeated(dialect, request, add_reply), log)
    add_reply(log)
    if log.turns and (latency := length(value.get(_LATENCY))) is not None:
        log.turn.model_ms = (log.turn.model_ms or 0.0) + latency
    beside = {key: item for key, item in value.items() if key not in _APART}
    log.general.keys({key: item for key, item in beside.items() if key not in request}, _KEYS)
    return _Exchange(dialect, log, {**request, **beside})


def _add_reply(dialect: messages_base.Dialect, value: JsonObject, log: Dialogue) -> None:
    _, reply, events = _halves(value)
    pieces = [reply] if isinstance(reply, dict) else events
    are_known = any(dialect.is_reply(piece) or dialect.is_event(piece) for piece in pieces)
    are_messages = bool(pieces) and not are_known and all("role" in piece for piece in pieces)
    holders = kinds.as_object(value.get("response")), value
    codes = (held.get(key) for held in holders for key in ("status_code", "statusCode", "status"))
    before = len(log.steps)
    if are_messages:
        dialect.read([*pieces], log)
    elif pieces and dialect.join and not isinstance(reply, dict):
        messages_base.read_stream(dialect, events, log)
    elif isinstance(reply, dict) and reply.get("error") and not dialect.is_reply(reply):
        log.failure = reply["error"]
    elif isinstance(reply, dict) and reply and dialect.reply:
        dialect.reply(reply, log)
        if len(log.steps) == before and not (log.failure or log.finish):
            log.unread.add(UNREAD, "nothing of the reply is read", calls=True, words=True)
    elif (status := next((code for code in codes if isinstance(code, int)), 0)) >= 400:
        log.failure = f"status {status}"
    elif reply:
        log.unread.add(UNREAD, "the reply is in a form that is not read", calls=True, words=True)
    else:
        log.unread.add("NoAnswer", "the reply is not in the log", calls=True, words=True)


def _stated_name(value: JsonObject) -> str | None:
    request = _halves(value)[0]
    kept = request.get("conversation")
    kept_by = as_text(kept.get("id") if isinstance(kept, dict) else kept)
    named = messages_base.named_in(value, *_NAMES) or messages_base.named_in(request, *_NAMES)
    return named or kept_by or None


def _join(session_id: str, values: Sequence[JsonObject]) -> Conversation:
    """Returns the conversation of records: the longest list of messages; the others are its beginnings."""
    exchanges = []
    for chain in _chains(values):
        # Each record has only the new messages.
        whole = Dialogue()
        exchanges.append([_read_exchange(value, whole) for value in chain][-1])
    exchanges.sort(key=lambda exchange: (len(exchange.log.steps), len(str(exchange.log.begun[-1:]))))
    begun = [exchange.log.begun for exchange in exchanges]
    *others, (dialect, log, request) = exchanges
    earlier: list[Dialogue] = []
    for other in others:
        is_known = other.log.steps == log.steps[: len(other.log.steps)] or other.log.steps in begun
        if is_known and other.dialect is dialect:
            earlier.append(other.log)
        else:
            check_one_user(map(messages_base.user_of, (request, other.request)), session_id)
            message = "a request is not among the messages of the longest one; its reply is not read"
            log.general.add("OtherBranch", message, calls=True)
    # Of a reply that states no tokens, those of its turn are unknown.
    for stage in (log, *earlier):
        if stage.turns and stage.turn.usage is None and not stage.failure:
            log.uncounted.add(len(stage.turns) - 1)
    for stage in earlier:
        # The tokens and the time of earlier replies are of their turns.
        log.uncounted |= stage.uncounted
        log.silent_calls.clear()
        for turn, its in zip(log.turns, stage.turns, strict=False):
            both = turn.usage and its.usage and turn.usage.plus(its.usage)
            turn.usage = both or turn.usage or its.usage
            if its.model_ms is not None:
                turn.model_ms = (turn.model_ms or 0.0) + its.model_ms
    if request.get(_UNCLEAR):
        log.failure, request = None, {key: item for key, item in request.items() if key != "error"}
        why = (
            "the request failed, and whether one of the conversations that begin alike repeats it is unknown"
        )
        log.unread.add("NoAnswer", why, calls=True, words=True)
    return messages_base.conversation(dialect, log, {**request, "id": session_id}, session_id)


def _sessions(name: JsonValue, *sent: JsonValue) -> JsonObject:
    """Returns a session as its client's, if that sent it or it is no random UUID; else as that of a call."""
    text = as_text(name) or ""
    try:
        is_random = UUID(text).version == 4 and text.encode() not in dump_json(sent)
    except ValueError:
        is_random = False
    return {_SESSION if is_random else "session_id": text or None}


_UserState: TypeAlias = tuple[bytes, str | None]
"""What was said so far, as a digest, and the user."""


class _GroupRow(NamedTuple):
    time: float | None
    user: str | None
    session: str | None  # it may be made up for the row
    asked: list[bytes]  # a digest of the steps of the request up to each
    steps: list[bytes]  # the same of the request and its reply
    name: str  # the session; else by time, user, reply's id and steps to the agent's first, or the whole row
    is_answered: bool  # whether the agent has a step
    position: int


def _exchange_events(exchanged: _Exchanged, time_key: str = "") -> registry.EventReader:
    """Returns how rows, of which `exchanged` makes requests with their replies, are joined."""
    # Those that name no session come in groups that open alike, as every request repeats what was said
    # before. Without a `time_key` the time is stated as in other records, or else in the reply.

    def time(row: JsonObject) -> float | None:
        return time_seconds(row.get(time_key)) if time_key else value_time(row) or _link(row)[0] or None

    def group(row: JsonObject) -> str:
        value = exchanged(row)
        if _stated_name(value):
            return ""
        dialect, log, _ = _read_exchange(value)
        caller = as_text(value.get(_CALLER)) or ""
        return _name(dialect, log.steps[: _agents_first(log.steps)], caller.encode())

    def lend(group: str, events: Sequence[bytes]) -> list[registry.Lent]:
        rows, copies = list[_GroupRow](), dict[bytes, int]()
        for index, data in enumerate(events):
            if copies.setdefault(data, index) < index:
                continue
            row = from_json(data)
            value = exchanged(row)
            dialect, log, about = _read_exchange(value)
            asked = _digests(_read_exchange({**value, "response": None}).log)
            first = _agents_first(log.steps)
            is_answered, at, session = first < len(log.steps), time(row), as_text(value.get(_SESSION))
            user, steps = messages_base.user_of(about), _digests(log)
            # A group may be read in parts, as a stream reads it: what tells its rows apart is in their names.
            apart = [part for part in (at, user, _link(value)[1]) if part is not None]
            more = (dump_json(apart) if apart else b"") + (b"" if is_answered else dump_json(value))
            name = session or _name(dialect, log.steps[: first + 1], more)
            rows.append(_GroupRow(at, user, session, asked, steps, name, is_answered, index))
        names, unclear = _named_rows(rows)
        given = {index: dump_json({**from_json(events[index]), _UNCLEAR: True}) for index in unclear}
        firsts = ((index, copies[data], data) for index, data in enumerate(events))
        return [registry.Lent(index, names[first], given.get(first, data)) for index, first, data in firsts]

    def join(session_id: str, rows: Sequence[JsonObject]) -> Conversation:
        made = _join(session_id, [{**exchanged(row), _UNCLEAR: row.get(_UNCLEAR)} for row in rows])
        made.start_time = made.start_time or as_text(rows[0].get(time_key))
        return made

    return registry.EventReader(
        locate=lambda row: (_stated_name(exchanged(row)) or "", -1),
        join=join, group=group, lend=lend, is_endless=True,
    )  # fmt: skip


def _agents_first(steps: Sequence[tuple[object, ...]]) -> int:
    return next((index for index, step in enumerate(steps) if step[0] in ("agent", "call")), len(steps))


def _name(dialect: messages_base.Dialect, steps: Sequence[tuple[object, ...]], more: bytes) -> str:
    text = _dump([list(step) for step in steps]) + more
    return f"{dialect.name}-{blake2b(text, digest_size=8).hexdigest()}"


def _dump(steps: list[object]) -> bytes:
    """Returns JSON with sorted keys, as a client may write the arguments of a call anew."""
    try:
        return orjson.dumps(steps, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # integers of more than 64 bits, and unpaired surrogates
        return json.dumps(steps, sort_keys=True).encode()


def _named_rows(rows: list[_GroupRow]) -> tuple[dict[int, str], set[int]]:
    """Returns the conversations of the rows of a group, and the failed ones that may be of another."""
    # A row goes on with one that it repeats, never with another user's; of several the first goes on, by
    # time. One that repeats what was said in a conversation that has gone on since is another branch of it.
    # Different requests of one session are its client's, and stay together. A first request that failed is of
    # the one conversation of the same user that repeats it soon; where a user is unknown, so is that.
    latest, passed = defaultdict[_UserState, list[str]](list), dict[_UserState, str]()
    starts: list[tuple[_GroupRow, str]] = []
    names: dict[int, str] = {}
    count: Counter[str] = Counter()
    requests, of_sessions = defaultdict[str | None, set[bytes]](set), dict[str | None, str]()
    for row in rows:
        requests[row.session].update(row.asked[-1:])
    has_times = all(row.time is not None for row in rows)
    for row in sorted(
        rows, key=lambda row: (has_times and row.time, len(row.steps), len(row.asked), row.position)
    ):
        if row.session and len(requests[row.session]) > 1:
            names[row.position] = row.session
        if row.position in names or not row.is_answered:
            continue
        # Who was unknown may have signed in since.
        states = ((state, user) for state in reversed(row.asked) for user in dict.fromkeys((row.user, None)))
        known = next((held for held in states if held in passed), (b"", None))
        waiting = latest[known]
        name = waiting.pop(0) if waiting else passed.get(known)
        if name is None:
            count[row.name] += 1
            name = row.name if count[row.name] == 1 else f"{row.name}-{count[row.name]}"
            starts.append((row, name))
        latest[row.steps[-1], row.user].append(name)
        passed.setdefault((row.steps[-1], row.user), name)
        names[row.position] = of_sessions[row.session] = name
    failed, unclear = [row for row in rows if row.position not in names], set[int]()
    for row in failed:
        near = [
            (start.user, name)
            for start, name in starts
            if start.time is None or row.time is None or -1.0 <= start.time - row.time <= _RETRY_SECONDS
            if None in (start.user, row.user) or start.user == row.user
        ]
        retried = [name for user, name in near if user is not None and user == row.user]
        if row.session and row.session in of_sessions:
            names[row.position] = of_sessions[row.session]
        elif len(retried) == 1 and len(failed) <= _MOST_RETRIES:
            names[row.position] = retried[0]
        else:
            names[row.position] = row.name
            if near:
                unclear.add(row.position)
    return names, unclear


def _digests(log: Dialogue) -> list[bytes]:
    whole, digests = blake2b(digest_size=16), list[bytes]()
    for step in log.steps:
        whole.update(_dump(list(step)))
        digests.append(whole.copy().digest())
    return digests


# For example {"request": {"model": "m", "messages": [...]}, "response": {"choices": [{"message": {...}}]}}
registry.register_built_in(
    "model_exchange", 120, "requests to a model with their replies; those of one conversation are joined",
    _is_exchange, ("request", "response"), events=_exchange_events(lambda value: value),
)  # fmt: skip

_SENT_BESIDE = ("metadata.requester_metadata", "requestMetadata", "properties")
_BESIDE: Places = (*OF_ANY, *((key, ANY) for key in _SENT_BESIDE))


def _register_log(
    name: str, text: str, fits: registry.Test, keys: tuple[str, ...], time: str, places: Places = _BESIDE
) -> Callable[[_Exchanged], _Exchanged]:
    """Adds a format of rows, which the decorated function makes exchanges."""

    def add(exchange: _Exchanged) -> _Exchanged:
        events = _exchange_events(exchange, time)
        registry.register_built_in(
            name, 117, text, fits, keys, events=events, places=places, time_keys=(time,)
        )
        return exchange

    return add


# For example {"call_type": "acompletion", "spend": 0.1, "messages": [...], "response": {"choices": [...]}}
@_register_log(
    "litellm_log", "LiteLLM's spend logs; those of one conversation are joined",
    lambda row: row.keys() >= {"call_type", "spend", "messages", "response"},
    ("request_id", "call_type", "spend", "session_id", "messages", "response"), "startTime",
)  # fmt: skip
def _of_litellm(row: JsonObject) -> JsonObject:
    """Returns a row of LiteLLM's table of spending, whose columns may be JSON texts, as an exchange."""
    # Words are there only if the proxy stores prompts; else the columns hold empty objects.
    sent = kinds.as_object(kinds.decoded(row.get("proxy_server_request")))
    messages, reply, about = (kinds.decoded(row.get(key)) for key in ("messages", "response", "metadata"))
    request = {**kinds.as_object(sent.get("body")), "model": row.get("model")}
    times = [time_seconds(row.get(key)) for key in ("startTime", "endTime")]
    spent = None if None in times else (times[1] - times[0]) * 1000  # type: ignore[operator]
    failed = row.get("status") == "failure"
    kind = str(row.get("call_type"))
    if "embed" in kind or "moderation" in kind:
        raise registry.NoConversation(f"a call of the type {kind} is no part of a conversation")
    request |= {"input" if "responses" in kind else "messages": messages} if messages else {}
    if not messages_base.messages_in(request)[0]:
        raise ValueError("LiteLLM stored no words of this call; set store_prompts_in_spend_logs: true")
    made = {"request": request, "response": {"error": "failure"} if failed and not reply else reply}
    made["metadata"] = about
    made |= _sessions(row.get("session_id"), sent, kinds.as_object(about).get("requester_metadata"))
    made |= {"user_id": row.get("end_user") or None, _CALLER: row.get("api_key")}
    return made | {"source": "litellm_log", _LATENCY: spent}


# For example {"event": "$ai_generation", "properties": {"$ai_session_id": "s", "$ai_input": [...], ...}}
@_register_log(
    "posthog_generations", "PostHog's events of generations; those of one session or trace are joined",
    lambda event: str(event.get("event")).startswith("$ai_") and "properties" in event,
    ("event", "timestamp", "properties"), "timestamp",
)  # fmt: skip
def _of_posthog(event: JsonObject) -> JsonObject:
    if event.get("event") != "$ai_generation":
        raise registry.NoConversation(f"an event of the type {event.get('event')} is not read")
    held = kinds.as_object(kinds.decoded(event.get("properties")))
    replies = kinds.decoded(held.get("$ai_output_choices"))
    usage = {f"{side}_tokens": held.get(f"$ai_{side}_tokens") for side in ("input", "output")}
    message = {"role": "assistant", **replies[0]} if isinstance(replies, list) and replies else {}
    calls = [p for p in kinds.objects_in(message.get("content")) if p.get("type") == "function"]
    if calls:
        message["content"] = [p for p in kinds.objects_in(message["content"]) if p not in calls]
        message["tool_calls"] = calls
    reply: JsonObject = {"choices": [{"message": message}] if message else [], "usage": usage}
    seconds, session = held.get("$ai_latency"), held.get("$ai_session_id")
    # Of nobody in particular the id is that of the trace.
    person = None if event.get("distinct_id") == held.get("$ai_trace_id") else event.get("distinct_id")
    request = {"model": held.get("$ai_model"), "messages": kinds.decoded(held.get("$ai_input"))}
    request["tools"] = kinds.decoded(held.get("$ai_tools"))
    reply |= {"error": held["$ai_error"]} if held.get("$ai_is_error") else {}
    return {
        "request": request,
        "response": reply,
        **(_sessions(held.get("$ai_trace_id")) if session is None else {"session_id": session}),
        "user_id": person,
        "source": "posthog_generations",
        _LATENCY: seconds * 1000 if isinstance(seconds, int | float) else None,
    }


# For example {"schemaType": "ModelInvocationLog", "modelId": "m", "input": {"inputBodyJson": {...}}, ...}
@_register_log(
    "bedrock_log", "Amazon Bedrock's logs of model invocations; those of one conversation are joined",
    lambda row: row.get("schemaType") == "ModelInvocationLog",
    ("schemaType", "modelId", "input", "output"), "timestamp",
)  # fmt: skip
def _of_bedrock(row: JsonObject) -> JsonObject:
    sent, got = kinds.as_object(row.get("input")), kinds.as_object(row.get("output"))
    if "inputBodyJson" not in sent:
        raise ValueError("the words are not in the record (inputBodyS3Path); put the body from S3 into it")
    failed = row.get("errorCode")
    return {
        "request": {**kinds.as_object(sent["inputBodyJson"]), "model": row.get("modelId")},
        "response": {"error": failed} if failed else got.get("outputBodyJson"),
        "metadata": kinds.as_object(row.get("requestMetadata")),
        "source": "bedrock_log",
    }


# For example {"logging_time": "...", "full_request": {"contents": [...]}, "full_response": {...}}
@_register_log(
    "vertex_log", "Vertex AI request-response logs: rows of BigQuery; those of one conversation are joined",
    lambda row: "full_request" in row or row.keys() >= {"deployed_model_id", "request_payload"},
    ("endpoint", "logging_time", "full_request", "full_response"), "logging_time",
    (("", ANY), ("full_request.labels", ANY)),
)  # fmt: skip
def _of_vertex(row: JsonObject) -> JsonObject:
    # Columns: docs.cloud.google.com/vertex-ai/generative-ai/docs/multimodal/request-response-logging. Where
    # the whole JSON is missing, a payload is a list of its pieces. The labels may name the session.
    halves: JsonObject = {}
    for name in ("request", "response"):
        pieces = row.get(f"{name}_payload")
        joined = "".join(map(str, pieces)) if isinstance(pieces, list) else pieces
        halves[name] = _body(joined if row.get(f"full_{name}") is None else row[f"full_{name}"])
    labels = kinds.as_object(kinds.as_object(halves["request"]).get("labels"))
    latency = kinds.as_object(_body(row.get("metadata"))).get("request_latency")
    return {**halves, "metadata": labels, "source": "vertex_log", _LATENCY: latency}


def _chains(values: Sequence[JsonObject]) -> list[list[JsonObject]]:
    """Returns the records of one conversation in chains, each in order, by the time of its last reply."""
    # A record follows the one whose reply it names as the previous one. Where two follow the same reply, each
    # ends a chain of its own. Records whose conversation the server keeps are one chain; others are alone.
    links = sorted(((*_link(value), value) for value in values), key=lambda link: link[0])
    places = {name: index for index, (_, name, *_) in enumerate(links) if name}
    replied, *kept_by = messages_base.KEPT_BY
    previous = [as_text(request.get(replied)) for _, _, request, _ in links]
    are_kept = [any(request.get(key) is not None for key in kept_by) for _, _, request, _ in links]
    kept = [index for index, is_kept in enumerate(are_kept) if is_kept and previous[index] is None]
    followed = {places.get(name) for name in previous if name}
    ends = set(range(len(links))) - followed - set(kept[:-1]) or {len(links) - 1}
    chains: list[list[JsonObject]] = []
    for end in sorted(ends):
        chain: list[int] = []
        at: int | None = end
        while at is not None and at not in chain:
            chain.append(at)
            at = places.get(previous[at] or "")
        chains.append([links[index][-1] for index in (kept if end in kept else chain[::-1])])
    return chains


def _link(value: JsonObject) -> tuple[float, str | None, JsonObject]:
    """Returns the time and the id that the reply of a record states (0.0, None: none), and the request."""
    request, reply, events = _halves(value)
    last = events[-1].get("response") if events and not isinstance(reply, dict) else None
    held = kinds.as_object(reply if isinstance(reply, dict) else last)
    time = time_seconds(held.get("created_at")) or time_seconds(held.get("created")) or 0.0
    return time, as_text(held.get("id")), request


def _body(half: JsonValue) -> JsonValue:
    inner = half.get("body") if isinstance(half, dict) else None
    return kinds.decoded(half if inner is None else inner, allow_nan=True)


def _dialects_of_halves(request: JsonObject, reply: JsonValue, events: list[JsonObject]) -> set[str]:
    first = events[:_TRIED]
    return set(messages_base.dialects_of(request)).union(
        dialect.name
        for dialect in messages_base.DIALECTS.values()
        if (dialect.is_reply(reply) if isinstance(reply, dict) else any(map(dialect.is_event, first)))
    )


def _halves(value: JsonObject) -> tuple[JsonObject, JsonValue, list[JsonObject]]:
    """Returns a record's request, its reply, and the events of the reply if it is a stream."""
    # The messages of the request may stand beside the reply.
    asked = value["request"] if "request" in value else {k: v for k, v in value.items() if k not in _APART}
    request, reply = _body(asked), _body(value.get("response"))
    return request if isinstance(request, dict) else {}, reply, kinds.events_of(reply)


def _is_event(value: JsonObject) -> bool:
    # A reply of Gemini's that states how it finished is whole; the pieces before the last one do not.
    is_whole = any(map(stated_reason, kinds.objects_in(value.get("candidates"))))
    is_one = sum(dialect.is_event(value) for dialect in messages_base.DIALECTS.values()) == 1
    return is_one and "request" not in value and not is_whole


def _read(value: JsonValue, record: Record, settings: registry.ReadSettings) -> list[Conversation]:
    events = kinds.events_of(value if isinstance(value, list) else [value])
    known = messages_base.DIALECTS.values()
    dialects = [d for d in known if any(d.is_event(e) or d.is_reply(e) for e in events[:_TRIED])]
    if len(dialects) != 1:
        raise ValueError("not the reply of a model, or one in several formats")
    [dialect], reply = dialects, events[0]
    return messages_base.read_record(dialect, events if dialect.is_event(reply) else reply, record)


# For example {"object": "chat.completion", "choices": [{"message": {"role": "assistant", "content": "Hi"}}]}
registry.register_built_in(
    "model_reply", 135, "a model's reply without its request, whole or as the events of a stream",
    lambda value: messages_base.dialects_of(value) == {CHAT.name} or (
        not messages_base.dialects_of(value) and _is_event(value)),
    ("object", "created", "choices"), read_log=_read, is_list=_is_event, is_lines=_is_event,
)  # fmt: skip
