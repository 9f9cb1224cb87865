"""Messages of LangChain and states of LangGraph, as `dumpd`, `messages_to_dict` or `model_dump` spell."""

from collections.abc import Sequence

from turnwise.schemas.conversation import Conversation, Record
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats import registry
from turnwise.transforms.formats.chat import call_results, message_calls
from turnwise.transforms.formats.endings import as_text, failure_mark, own_result
from turnwise.transforms.formats.identity import ANY
from turnwise.transforms.formats.messages import kinds, messages_base
from turnwise.transforms.formats.messages.anthropic import is_block, read_block, result_value
from turnwise.transforms.formats.messages.dialogue import Dialogue
from turnwise.transforms.formats.messages.streams import (
    as_object,
    key_set,
    kind_of,
    listed,
    objects,
    objects_in,
    stated,
    text_at,
)

_LANGCHAIN_OWN = ("human", "ai", "remove")
_TEXTS = kinds.part_types(kinds.LANGCHAIN_PARTS, kinds.TEXT)
_CALLS = key_set("tool_use tool_call function_call input_json_delta tool_call_chunk invalid_tool_call")
KEYS = key_set(
    "type role content id name tool_calls invalid_tool_calls tool_call_id status usage_metadata "
    "response_metadata additional_kwargs artifact example tool_call_chunks chunk_position"
)


def _fits(message: JsonObject) -> bool:
    if "lc" in message and "kwargs" in message:
        return True
    kind = message.get("type")
    if not isinstance(kind, str) or "role" in message:
        return False
    role = kinds.role_of(kind)
    if isinstance(message.get("data"), dict):
        return role is not None or kind.lower().startswith(("remove", "chat"))
    is_own = kind.lower().startswith(_LANGCHAIN_OWN)
    return is_own or (role in (kinds.TOOL, kinds.SYSTEM) and "content" in message)


def read_messages(messages: list[JsonValue], log: Dialogue) -> None:
    """Adds messages to a dialogue, in order, without those that later ones remove.

    Raises:
        ValueError: A value has the wrong type.
    """
    given = _joined_chunks([_unwrapped(each) for each in objects(messages, "messages")])
    for message in _kept_messages(given, log):
        role = _whose(message)
        if role == kinds.USER:
            log.user(_words(message, log, False))
        elif role == kinds.AGENT:
            _agent(message, log)
        elif role == kinds.TOOL:
            value = result_value(message.get("content"), log)
            error = failure_mark(message)
            said = value if error is True and isinstance(value, str) else None
            log.result(value, message.get("tool_call_id"), message.get("name"), said or error)
        elif role != kinds.SYSTEM:
            log.unread.role(role)
        log.unread.keys(message, KEYS, role == kinds.AGENT)


def _words(message: JsonObject, log: Dialogue, by_agent: bool) -> str:
    """Returns the text of a message; blocks of calls are left to the message's `tool_calls`."""
    content = message.get("content")
    if isinstance(content, str) or content is None:
        return content or ""
    said: list[str] = []
    for part in listed(content, "content"):
        kind = kind_of(part) if isinstance(part, dict) else ""
        if isinstance(part, str):
            said.append(part)
        elif kind in _TEXTS:
            said.append(text_at(part, "refusal" if kind == "refusal" else "text"))
        elif isinstance(part, dict) and part.keys() == {"cachePoint"}:
            continue
        elif kind not in _CALLS and not is_block(part) and kind not in _SERVER:
            log.unread.part(kind, by_agent)
    return "".join(said)


_SERVER = kinds.part_types(kinds.LANGCHAIN_PARTS, kinds.HOSTED, kinds.RESULT)


def _agent(message: JsonObject, log: Dialogue) -> None:
    # Integrations keep a refusal, and the transcript of speech, apart from an empty content.
    kwargs = as_object(message.get("additional_kwargs"))
    heard = kwargs.get("refusal") or as_object(kwargs.get("audio")).get("transcript")
    log.agent(_words(message, log, True) or as_text(heard) or "")
    calls = list(objects(message.get("tool_calls"), "tool_calls"))
    for call in calls:
        args = call.get("args", call.get("arguments"))
        log.call(call.get("name"), args, call.get("id"), own=own_result(call))
    bad = list(objects(message.get("invalid_tool_calls"), "invalid_tool_calls"))
    for call in bad:
        log.call(call.get("name"), call.get("args"), call.get("id"))
        error = str(call.get("error"))[:100]
        log.unread.add("InvalidCall", f"the arguments of a call could not be read: {error}")
    blocks, has_none = objects_in(message.get("content")), not calls and not bad
    for block in blocks:
        # A call or result of a server, or a call that `tool_calls` does not repeat.
        kind = kind_of(block)
        if kind == "server_tool_call":
            log.call(block.get("name"), block.get("args"), block.get("id"))
        elif kind == "server_tool_result":
            log.result(block.get("output"), block.get("tool_call_id"), error=failure_mark(block))
        elif is_block(block) and kind != "tool_use":
            read_block(block, log)
        elif kind in ("tool_use", "tool_call", "function_call") and has_none:
            args = next((block[key] for key in ("input", "args", "arguments") if key in block), None)
            log.call(block.get("name"), args, block.get("call_id") or block.get("id"))
    extra = message.get("additional_kwargs")
    if isinstance(extra, dict) and has_none and not any(kind_of(block) in _CALLS for block in blocks):
        for made, own in zip(message_calls(extra), call_results(extra), strict=True):
            log.call(made.name, made.args, made.id, own=own)
    # Older versions keep the tokens in the metadata of the response.
    about = as_object(message.get("response_metadata"))
    log.usage(
        as_object(message.get("usage_metadata"))
        or as_object(about.get("token_usage"))
        or as_object(about.get("usage")),
        about.get("model_name") or about.get("model"),
    )
    log.finish = finish_reason(message)
    log.said(message)


# For example {"type": "ai", "content": "", "tool_calls": [{"name": "find", "args": {"id": 5}, "id": "1"}]}
LANGCHAIN = messages_base.register_dialect(
    messages_base.Dialect(
        name="langchain_messages",
        keys=(("channel_values", "channel_versions"),),
        help="messages of LangChain, states of LangGraph",
        fits=_fits,
        read=read_messages,
        keeps_state=True,
    )
)


_ALL = "__remove_all__"


def _unwrapped(message: JsonObject) -> JsonObject:
    """Returns the fields of a message in any of the three spellings, with its type."""
    if isinstance(message.get("kwargs"), dict) and "lc" in message:
        names = message.get("id")
        name = str(names[-1]) if isinstance(names, list) and names else ""
        return {"type": name, **stated(message["kwargs"])}
    data = message.get("data")
    return {**data, "type": message.get("type")} if isinstance(data, dict) else message


def _whose(message: JsonObject) -> str:
    """Returns whose a message is: of a class's name, its type, or the role of a plain message."""
    kind = str(message.get("type") or "")
    if kind.lower() in ("remove", "removemessage"):
        return "remove"
    role = str(message.get("role") or kind)
    return kinds.role_of(kind) or kinds.role_of(role) or role


def _joined_chunks(messages: list[JsonObject]) -> list[JsonObject]:
    """Returns messages with the chunks of each streamed one joined: they follow each other, with one id."""
    found: list[JsonObject] = []
    for message in messages:
        last = found[-1] if found else {}
        if _is_chunk(message) and _is_chunk(last) and message.get("id") in (None, last.get("id")):
            found[-1] = _joined(last, message)
        else:
            found.append(message)
    return found


def _is_chunk(message: JsonObject) -> bool:
    return str(message.get("type")).lower() == "aimessagechunk"


def _joined(one: JsonObject, other: JsonObject) -> JsonObject:
    """Returns two chunks as one: texts and arguments continued, other keys of the later one."""
    pieces = [piece for chunk in (one, other) for piece in objects(chunk.get("tool_call_chunks"), "chunks")]
    later = {key: value for key, value in other.items() if value not in (None, "", [], {})}
    content = [*_parts(one.get("content")), *_parts(other.get("content"))]
    # Names, ids and JSON texts of calls come in pieces, by the index of each.
    calls: dict[JsonValue, JsonObject] = {}
    for piece in pieces:
        call = calls.setdefault(piece.get("index"), {"name": "", "id": "", "args": ""})
        for key in call:
            call[key] += piece[key] if isinstance(piece.get(key), str) else ""
    return {
        **one,
        **later,
        "content": content,
        "tool_call_chunks": pieces,
        "tool_calls": [dict(call) for call in calls.values()],
    }


def _parts(content: JsonValue) -> list[JsonValue]:
    return content if isinstance(content, list) else [content] if content else []


def _kept_messages(messages: list[JsonObject], log: Dialogue) -> list[JsonObject]:
    """Returns the messages that no `remove` names, and says how many there are."""
    found: list[JsonObject] = []
    removed = 0
    for message in messages:
        if _whose(message) == "remove":
            before = len(found)
            found = [m for m in found if message.get("id") not in (_ALL, m.get("id"))]
            removed += before - len(found)
        else:
            found.append(message)
    if removed:
        log.general.add("UndoneTurns", f"{removed} messages were removed from the state", calls=True)
    return found


_REASONS = ("finish_reason", "stop_reason", "stopReason")


def finish_reason(message: JsonObject) -> str | None:
    """Returns why the model stopped."""
    about = as_object(message.get("response_metadata"))
    reason = next((about[key] for key in _REASONS if about.get(key)), None)
    return as_text(reason or as_object(about.get("incomplete_details")).get("reason"))


_OWN = ("next", "parent_config", "parent_checkpoint")
_FIELDS = ("values", "next", "config", "metadata", "created_at", "parent_config", "tasks", "interrupts")
_FEWEST_FIELDS = 6
_PLACES = ("config", "checkpoint", "metadata")
_BRANCH = "an earlier state of the thread holds messages that the newest does not hold"


def _is_snapshot(value: JsonObject) -> bool:
    return isinstance(value.get("values"), dict) and not value.keys().isdisjoint(_OWN)


def _from_array(value: list[JsonValue]) -> JsonObject | None:
    """Returns the snapshot that an array spells: `StateSnapshot` is a named tuple."""
    if not _FEWEST_FIELDS <= len(value) <= len(_FIELDS):
        return None
    kinds_of = (dict, list, dict, dict | None, str | None, dict | None)
    is_one = all(map(isinstance, value, kinds_of)) and all(isinstance(node, str) for node in value[1])
    return dict(zip(_FIELDS, value, strict=False)) if is_one else None


def _stated(snapshot: JsonObject, key: str = "thread_id") -> str | None:
    """Returns the thread that a snapshot names, or what else `key` is."""
    for holder in map(as_object, map(snapshot.get, _PLACES)):
        for held in (as_object(holder.get("configurable")), holder):
            if held.get(key):
                return as_text(held[key])
    return None


def _is_nameless(value: JsonObject) -> bool:
    return _is_snapshot(value) and _stated(value) is None


def _age(snapshot: JsonObject) -> tuple[bool, str, str]:
    """Returns what orders snapshots: those of the graph itself after those of its subgraphs, then by time."""
    made = as_text(snapshot.get("created_at")) or ""
    own = as_text(snapshot.get("checkpoint_id")) or _stated(snapshot, "checkpoint_id") or ""
    return not _stated(snapshot, "checkpoint_ns"), made, own


def _steps(snapshot: JsonObject) -> list[tuple[object, ...]]:
    log = Dialogue()
    messages_base.read_half(LANGCHAIN, snapshot, log)
    return log.steps


def _conversation(snapshot: JsonObject, earlier: Sequence[JsonObject], name: str) -> Conversation:
    """Returns the conversation of the newest snapshot, given also those before it."""
    log = Dialogue()
    messages_base.read_half(LANGCHAIN, snapshot, log)
    if any(steps != log.steps[: len(steps)] for steps in map(_steps, earlier)):
        log.general.add("OtherBranch", _BRANCH, calls=True)
    # The graph stopped at a task whose error the snapshot still holds.
    errors = (task.get("error") for task in objects_in(snapshot.get("tasks")))
    log.failure = next(filter(None, errors), None)
    return messages_base.conversation(LANGCHAIN, log, snapshot, name)


def _join(thread: str, values: Sequence[JsonObject]) -> Conversation:
    newest = max(values, key=_age)
    main = [value for value in values if _age(value)[0] == _age(newest)[0] and value is not newest]
    return _conversation(newest, main, thread)


def _read(value: JsonValue, record: Record, settings: registry.ReadSettings) -> list[Conversation]:
    """Returns the conversations of snapshots that name no thread: those that no other one continues."""
    snapshots = list(objects(value if isinstance(value, list) else [value], "snapshots"))
    steps = list(map(_steps, snapshots))
    kept: list[int] = []
    for place in sorted(range(len(steps)), key=lambda place: -len(steps[place])):
        if not any(steps[place] == steps[other][: len(steps[place])] for other in kept):
            kept.append(place)
    name = registry.record_place(record)
    names = [name] if len(kept) == 1 else [f"{name}:{place + 1}" for place in kept]
    return [_conversation(snapshots[place], (), name) for place, name in zip(kept, names, strict=True)]


# For example {"values": {"messages": [...]}, "next": [], "config": {"configurable": {"thread_id": "7"}}}
registry.register_format(
    registry.Format(
        name="langgraph_thread",
        places=(("", ANY), ("metadata", ANY), ("config.configurable", ANY)),
        keys=("values", "next", "config"),
        help="snapshots of LangGraph threads, as get_state and get_state_history return them; "
        "the newest of a thread counts",
        rank=110,
        recognises=lambda record: _is_snapshot(record) and _stated(record) is not None,
        from_array=_from_array,
        events=registry.EventReader(place=lambda value: (_stated(value) or "", -1), join=_join),
        time_keys=("created_at",),
        has_rubrics=False,
    )
)
# For example [{"values": {"messages": [{"type": "human", "content": "Hi"}]}, "next": []}]
registry.register_format(
    registry.Format(
        name="langgraph_history",
        keys=("values", "next", "parent_config"),
        help="snapshots of LangGraph threads that name no thread: a list of them, newest first",
        rank=110,
        recognises=_is_nameless,
        read_log=_read,
        is_list=_is_nameless,
        has_rubrics=False,
    )
)
