"""Dialects of messages: what each reader of a list of messages registers."""

from collections.abc import Callable
from functools import partial

from msgspec import Struct

from turnwise.schemas.conversation import Conversation, Record, Turn
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats import registry
from turnwise.transforms.formats.endings import as_text, declared_tools, split_actions, tag_texts
from turnwise.transforms.formats.fields import OPEN_CALL, canonical
from turnwise.transforms.formats.messages.dialogue import NO_CONTENT, Dialogue, read_dialogue
from turnwise.transforms.formats.messages.kinds import (
    AGENT,
    SYSTEM,
    USER,
    as_object,
    decoded,
    first_of,
    key_set,
    listed,
    objects_in,
    role_of,
    stated,
)
from turnwise.transforms.text.dates import time_seconds

MISSING_HISTORY = "MissingHistory"
NO_REQUEST = "the request is not in the log, so that what the user said is unknown"
KEPT_BY = ("previous_response_id", "conversation")
"""Keys of requests that name earlier messages, which the server keeps."""
OTHER_BRANCHES = "other_branches"
"""Key of messages beside the others that were said in branches which the user left."""
ATTRIBUTES = ("gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions",
               "gen_ai.tool.definitions", "gen_ai.conversation.id")  # fmt: skip
"""Attributes of spans that hold messages; a record with others, too, stands for a span."""
_OF_OTHERS = ({"request", "response"}, {"run_type", "dotted_order"}, *registry.OF_PRODUCTS)
"""Keys of records that hold messages, and are no list of them."""
_TRIED = 1000
_MARKS = frozenset(("type", "parts", "toolInvocations", "lc"))
IDS = ("conversation_id", "session_id", "thread_id", "conversationId", "sessionId", "threadId", "chat_id",
        "gen_ai.conversation.id")  # fmt: skip
_OF_ROWS = (*IDS, "language", "user_id")
"""What each row of a table of messages may state of the conversation."""
_KEYS = key_set(
    "messages input contents items input_messages inputMessages id source app_version language eval_id "
    "eval_set_id tags start_time end_time tools functions ended ended_detail error model tool_choice "
    "toolConfig system instructions response_format stop stop_sequences temperature reasoning thinking text "
    "include truncation service_tier prompt inferenceConfig generationConfig generation_config "
    "safetySettings safety_settings systemInstruction system_instruction system_instructions config "
    "cachedContent context_management additionalModelRequestFields guardrailConfig performanceConfig "
    "requestMetadata stream_options logit_bias user provider extra_body extra_headers betas container "
    "mcp_servers output_config max_tokens meta info uri url method function_call reward reward_info task_id "
    "trial task expected policy user_id"
).union(IDS, (OTHER_BRANCHES,))


class Dialect(Struct, frozen=True):
    """How messages of one API or framework are read.

    Attributes:
        fits: Returns whether a message has keys that only this dialect has.
        keys: Keys of a typical request, reply or other record; see `Format.keys`.
        read: Adds messages to a dialogue; raises ValueError.
        reply: Adds a model's reply to a dialogue; raises ValueError. None: it has no form of its own.
        is_reply: Returns whether an object is such a reply.
        join: Returns the reply that the events of a stream make; None: there are no streams.
        is_event: Returns whether an object is an event of such a stream.
        holder: Key of the list of messages in a request, which tells the dialect; "": `messages`.
        keeps_state: Whether other keys beside the messages are the state of the session.
    """

    name: str
    help: str
    fits: registry.Test
    keys: tuple[tuple[str, ...], ...] = ((),)
    read: Callable[[list[JsonValue], Dialogue], None] = read_dialogue
    reply: Callable[[JsonObject, Dialogue], None] | None = None
    is_reply: registry.Test = lambda value: False
    join: Callable[[list[JsonObject]], JsonObject] | None = None
    is_event: registry.Test = lambda value: False
    holder: str = ""
    keeps_state: bool = False


DIALECTS: dict[str, Dialect] = {}
"""Name -> dialect."""


def _add(dialect: Dialect) -> None:
    DIALECTS[dialect.name] = dialect
    registry.register_built_in(
        dialect.name, 130, dialect.help, lambda record: dialects_of(record) == {dialect.name},
        dialect.keys[0], other_keys=dialect.keys[1:], is_list=dialect.fits,
        read_log=lambda value, record, settings: read_record(dialect, value, record),
    )  # fmt: skip


register_dialect = registry.registering(Dialect, _add)
"""Adds a dialect, given its fields, and the input format of records that hold a list of its messages."""


def messages_in(record: JsonObject) -> tuple[str, JsonValue]:
    """Returns the key and the value of the messages of a record; ("", None): there are none."""
    for key in ("messages", "traj", "input", "contents", "items", "input_messages", "inputMessages"):
        value = record.get(key)
        if isinstance(value, str) and key == "messages":
            value = decoded(value)  # cells hold JSON text
        if isinstance(value, list) or (isinstance(value, str) and key in ("input", "contents")):
            return key, value
        if key == "contents" and isinstance(value, dict):
            return key, [value]
    attribute = decoded(record.get(ATTRIBUTES[0]))
    if isinstance(attribute, list) and not any("." in key for key in record.keys() - ATTRIBUTES):
        return ATTRIBUTES[0], attribute
    items = _page_items(record)
    return ("", None) if items is None else ("data", items)


def _state_of(record: JsonObject) -> JsonObject:
    """Returns the object that holds the messages: the record, or the snapshot of a state inside it."""
    holders = (record, as_object(record.get("checkpoint")))
    states = objects_in([held.get(key) for held in holders for key in ("values", "state", "channel_values")])
    return next((state for state in states if messages_in(state)[0]), record)


_last: tuple[JsonObject, frozenset[str]] = {}, frozenset()


def dialects_of(record: JsonObject) -> frozenset[str]:
    """Returns the dialects whose own keys a record has, in any of its messages; see `Dialect.fits`."""
    global _last
    if _last[0] is record:
        return _last[1]
    dialects: list[Dialect] = []
    if not any(keys <= record.keys() for keys in _OF_OTHERS):
        key, messages = messages_in(_state_of(record))
        given = list(map(stated, objects_in(messages[:_TRIED] if isinstance(messages, list) else None)))
        # Most messages of chats have no key that any dialect looks for.
        marked = [m for m in given if isinstance(m.get("content"), list) or not _MARKS.isdisjoint(m)]
        dialects = [d for d in DIALECTS.values() if d.is_reply(record) or any(map(d.fits, marked))]
        if len(dialects) > 1:
            # A message that several fit, as one of the type SystemMessage, tells none of them.
            fitting = ([d.name for d in dialects if d.fits(message)] for message in marked)
            clear = {names[0] for names in fitting if len(names) == 1}
            dialects = [d for d in dialects if d.name in clear or d.is_reply(record)] or dialects
        if not dialects and (all("role" in held for held in given) if given else "model" in record):
            # Plain messages under a dialect's own key are a request to its model.
            dialects = [d for d in DIALECTS.values() if d.holder and d.holder == key]
    _last = record, frozenset(dialect.name for dialect in dialects)
    return _last[1]


def read_record(dialect: Dialect, value: JsonValue, record: Record) -> list[Conversation]:
    """Reads a list of messages, a record that holds them, a reply, or the events of streamed replies."""
    holder = messages_holder(value)
    pieces = [] if isinstance(value, dict) else objects_in(value)
    is_streamed = bool(pieces) and dialect.is_event(pieces[0])  # the pieces of Gemini's replies are replies
    streams = _streams(pieces) if is_streamed else [[]]
    source, made = registry.record_place(record), list[Conversation]()
    for number, events in enumerate(streams, 1):
        log = Dialogue()
        if events:
            holder = read_stream(dialect, events, log)
        else:
            add_reply = partial(dialect.reply, holder) if dialect.reply and dialect.is_reply(holder) else None
            read_half(dialect, unrepeated(dialect, holder, add_reply) if add_reply else holder, log)
            if add_reply:
                add_reply(log)
        if (events or dialect.is_reply(holder)) and not any(step[0] == "user" for step in log.steps):
            log.general.add(MISSING_HISTORY, NO_REQUEST)
        name = source if len(streams) == 1 else f"{source}:{number}"
        made.append(conversation(dialect, log, holder, name))
    return made


def messages_holder(value: JsonValue) -> JsonObject:
    """Returns what holds messages; of a list, with what all of them state of their conversation."""
    if isinstance(value, dict):
        return value
    stated = ((key, {as_text(message.get(key)) for message in objects_in(value)}) for key in _OF_ROWS)
    return {"messages": value, **{key: texts.pop() for key, texts in stated if len(texts) == 1}}


def _streams(events: list[JsonObject]) -> list[list[JsonObject]]:
    """Returns the events of each reply, by the id that it states in all events or in the first."""
    streams: dict[JsonValue, list[JsonObject]] = {}
    last: JsonValue = None
    for index, event in enumerate(events):
        holders = event, as_object(event.get("message")), as_object(event.get("response"))
        stated = (held.get(key) for held in holders for key in ("id", "responseId", "response_id"))
        # Bedrock's replies have none.
        name = str(index) if "messageStart" in event else next(filter(None, map(as_text, stated)), None)
        if last is None and streams:
            streams[name] = streams.pop(None)
        last = name or last
        streams.setdefault(last, []).append(event)
    return list(streams.values())


def read_half(dialect: Dialect, request: JsonObject, log: Dialogue) -> None:
    """Adds the messages of a request, or of another record that holds them; raises ValueError."""
    is_first = not log.steps
    key, messages = messages_in(_state_of(request))
    given = messages
    if isinstance(messages, str):
        body: JsonObject = {"parts": [{"text": messages}]} if key == "contents" else {"content": messages}
        given = [{"role": "user", **body}]
    dialect.read(_oldest_first(listed(given, key)), log)
    for name in (name for name in KEPT_BY if is_first and request.get(name) is not None):
        message = f"earlier messages are not in the record, which only names them by {name}"
        log.general.add(MISSING_HISTORY, message, calls=True, words=True)


_TIMES = ("timestamp", "createdAt", "created_at")


def _oldest_first(messages: list[JsonValue]) -> list[JsonValue]:
    """Returns messages in order; APIs list them from the newest one, as their times tell."""
    if len(messages) < 2:
        return messages
    times: list[float] = []
    # Most lists are in order, as the first and the last message tell.
    for message in (messages[0], messages[-1], *messages[1:-1]):
        time = time_seconds(first_of(as_object(message), _TIMES))
        if time is None or (len(times) == 1 and time >= times[0]):
            return messages
        times.append(time)
    # A message of the user before an answer may only have the time of another clock.
    is_first = len(set(times)) < 3 and role_of(as_object(messages[0]).get("role")) in (USER, SYSTEM)
    ordered = times[:1] + times[2:] + times[1:2]
    return messages if is_first or ordered != sorted(times, reverse=True) else messages[::-1]


def unrepeated(dialect: Dialect, request: JsonObject, add_reply: Callable[[Dialogue], None]) -> JsonObject:
    """Returns a request without the reply, which some logs repeat at the end of its messages."""
    key, messages = messages_in(request)
    given = messages if isinstance(messages, list) else []
    if not given or role_of(as_object(given[-1]).get("role")) not in (None, AGENT):
        return request
    reply = Dialogue()
    add_reply(reply)
    for start in range(len(given) - 1, 0, -1):
        end = Dialogue()
        dialect.read(given[start:], end)
        if len(end.steps) >= len(reply.steps):
            return {**request, key: given[:start]} if end.steps == reply.steps != [] else request
    return request


def read_stream(dialect: Dialect, events: list[JsonObject], log: Dialogue) -> JsonObject:
    """Adds the reply that the events of a stream make, and returns it; raises ValueError."""
    reply = dialect.join(events) if dialect.join else {}
    if dialect.reply:
        dialect.reply(reply, log)
    # Errors of Bedrock are named `modelStreamErrorException` and so on; that of Responses has a type.
    raised = (
        event.get("error")
        or {key: item for key, item in event.items() if key.endswith("Exception")}
        or (event.get("message") if event.get("type") == "error" else None)
        for event in events
    )
    log.failure = log.failure or next(filter(None, raised), None)
    log.check_end()
    return reply


def conversation(dialect: Dialect, log: Dialogue, record: JsonObject, name: str) -> Conversation:
    """Returns the conversation of a dialogue, which is closed, and of the record beside its messages.

    Where the record has no name, it is `name`. Raises ValueError, one line, for a value of the wrong type.
    """
    state = _state_of(record)
    is_state = dialect.keeps_state and not dialect.is_reply(record)
    is_page = _page_items(record) is not None
    if is_page and record.get("has_more"):
        log.general.add(MISSING_HISTORY, "the list goes on on another page", calls=True, words=True)
    if not is_state and not dialect.is_reply(record):
        log.general.keys(record, _KEYS | {"data" if is_page else messages_in(record)[0]})
    tasks = objects_in(record.get("tasks"))
    if is_state and (state.get("__interrupt__") or any(task.get("interrupts") for task in tasks)):
        message = "the graph waits at an interrupt, of which it is not read what was asked"
        log.unread.add(OPEN_CALL, message, calls=True, words=True)
    others = record.get(OTHER_BRANCHES)
    if isinstance(others, list) and others:
        message = f"{len(others)} messages are in branches that were left"
        log.general.add("OtherBranch", message, calls=True)
    end = log.end(record)
    # A run of tau-bench is named by its task and its trial.
    run = [str(part) for part in (record.get("task_id"), record.get("trial")) if part is not None]
    task = "-".join(run) if record.get("task_id") is not None else None
    labels = record.get("labels")
    rated = record if "reward" in record or not isinstance(labels, dict) else labels
    fields = {
        "conversation_id": named_in(record, *IDS) or as_text(record.get("id")) or task or name,
        "source": record.get("source") or dialect.name,
        "language": as_text(record.get("language")),
        "user_id": user_of(record),
        "tags": tag_texts(record.get("tags")),
        "start_time": as_text(record.get("start_time")),
        "turns": log.close(end),
        "expected": _expected(record),
        "labels": {"reward": rated["reward"]} if "reward" in rated else {},
        "state": {k: v for k, v in state.items() if k not in _KEYS} if is_state else {},
        "ended": end.ended,
        "ended_detail": end.detail,
        "tools": declared_tools(_tools(record)),
        "meta": {k: v for k in ("model", "task_id", "trial") if isinstance(v := record.get(k), str | int)},
    }
    made = canonical(Conversation, fields, f"not a record of the format {dialect.name}")
    messages = [finding.message for turn in made.turns for finding in turn.findings]
    unread = next((message for message in messages if NO_CONTENT in message), None)
    if unread and not any(map(_holds_content, made.turns)):
        raise UnreadMessagesError(
            f"no words and no calls are read of its messages: {unread}; name their keys in a `mapping` of the"
            " config (with `when`); turnwise inspect --suggest proposes one"
        )
    return made


class UnreadMessagesError(ValueError):
    """No words and no calls of the messages of a record are read, because their keys are not known."""


def _holds_content(turn: Turn) -> bool:
    words = (turn.user, turn.agent, *turn.agent_messages)
    calls = (turn.tool_calls, turn.tool_responses, turn.user_tool_calls, turn.user_tool_responses)
    return any(map(str.strip, filter(None, words))) or any(calls) or bool(turn.payloads or turn.transfers)


def _expected(record: JsonObject) -> JsonObject | None:
    """Returns what tau-bench expects of a run; of one without messages nothing."""
    task = as_object(as_object(record.get("info")).get("task"))
    if not isinstance(task.get("actions"), list):
        return {} if [] in (record.get("messages"), record.get("traj")) else None
    by_agent, by_user = split_actions(task["actions"])
    return {"actions": by_agent, "user_actions": by_user, "outputs": task.get("outputs") or []}


def _tools(record: JsonObject) -> JsonValue:
    """Returns the declared tools; those of Bedrock stand under `toolSpec`, with the schema under `json`."""
    tools = as_object(record.get("toolConfig")).get("tools")
    if not isinstance(tools, list):
        return record.get("tools") or record.get("functions")
    specs = (as_object(as_object(tool).get("toolSpec")) for tool in tools)
    return [{**spec, "inputSchema": as_object(spec.get("inputSchema")).get("json")} for spec in specs]


def named_in(record: JsonObject, *keys: str) -> str | None:
    """Returns the id that a record, or what it says about its conversation, names; None: it names none."""
    about = map(as_object, map(record.get, ("metadata", "config", "configurable", "checkpoint", "context")))
    holders = [record, *(held for inner in about for held in (inner, as_object(inner.get("configurable"))))]
    return next((as_text(held[key]) for held in holders for key in keys if held.get(key)), None)


def user_of(record: JsonObject) -> str | None:
    """Returns the id of the user that a record names; None: it names none."""
    return named_in(record, "user_id") or (record["user"] if isinstance(record.get("user"), str) else None)


def _page_items(record: JsonObject) -> list[JsonValue] | None:
    """Returns the items of a page, oldest first; None: the record is no page."""
    data = record.get("data")
    if record.get("object") != "list" or not isinstance(data, list):
        return None
    items = list(map(as_object, data))
    calls = [(i, str(item.get("type")), str(item.get("call_id"))) for i, item in enumerate(items)]
    places = {name: i for i, kind, name in reversed(calls) if kind.endswith("_output")}
    paired = [i > places[name] for i, kind, name in calls if kind == "function_call" and name in places]
    # The newest stands first if outputs stand before their calls, or only the last item is the user's.
    is_users = bool(items) and items[0].get("role") != "user" and items[-1].get("role") == "user"
    return data[::-1] if (all(paired) if paired else is_users) else data
