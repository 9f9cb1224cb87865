"""Messages of frameworks: LangChain and LangGraph, Vercel's AI SDK, OpenTelemetry, Azure, Pydantic AI."""

from collections.abc import Iterable, Sequence

from turnwise.schemas.conversation import Conversation, Record
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats import registry
from turnwise.transforms.formats.endings import as_text
from turnwise.transforms.formats.fields import OPEN_CALL
from turnwise.transforms.formats.identity import ANY
from turnwise.transforms.formats.messages import kinds, messages_base
from turnwise.transforms.formats.messages.dialogue import Dialogue, read_dialogue
from turnwise.transforms.formats.messages.parts import OF_RESULTS, REFUSED, both_of, not_done

# LangChain's messages and LangGraph's states, as `dumpd`, `messages_to_dict` or `model_dump` spell them.


def _is_langchain(message: JsonObject) -> bool:
    if "lc" in message and "kwargs" in message:
        return True
    kind = message.get("type")
    if not isinstance(kind, str) or "role" in message or "source" in message:
        return False
    role = kinds.role_of(kind)
    if isinstance(message.get("data"), dict):
        return role is not None or kind.lower().startswith(("remove", "chat"))
    is_own = kind.lower().startswith(("human", "ai", "remove"))
    return is_own or (role in (kinds.TOOL, kinds.SYSTEM) and "content" in message)


def _read_langchain(messages: list[JsonValue], log: Dialogue) -> None:
    """Adds messages to a dialogue, in order, without those that later ones remove; raises ValueError."""
    kept: list[JsonValue] = []
    removed = 0
    for message in _joined_chunks(map(_unwrapped, kinds.objects(messages, "messages"))):
        if str(message.get("type")).lower() in ("remove", "removemessage"):
            before, name = len(kept), message.get("id")
            kept = [m for m in kept if name not in ("__remove_all__", m.get("id"))]
            removed += before - len(kept)
        else:
            kept.append(message)
    if removed:
        log.general.add("UndoneTurns", f"{removed} messages were removed from the state", calls=True)
    read_dialogue(kept, log, joint="")


# For example {"type": "ai", "content": "", "tool_calls": [{"name": "find", "args": {"id": 5}, "id": "1"}]}
LANGCHAIN = messages_base.register_dialect(
    "langchain_messages", "messages of LangChain, states of LangGraph", _is_langchain,
    (("channel_values", "channel_versions"),), read=_read_langchain, keeps_state=True,
)  # fmt: skip


def _unwrapped(message: JsonObject) -> JsonObject:
    """Returns the fields of a message in any of the three spellings, with its type."""
    if isinstance(message.get("kwargs"), dict) and "lc" in message:
        names = message.get("id")
        name = str(names[-1]) if isinstance(names, list) and names else ""
        return {"type": name, **kinds.stated(message["kwargs"])}
    data = message.get("data")
    return {**data, "type": message.get("type")} if isinstance(data, dict) else message


def _joined_chunks(messages: Iterable[JsonObject]) -> list[JsonObject]:
    """Returns messages with the chunks of each streamed one joined: they follow each other, with one id."""
    runs: list[list[JsonObject]] = []
    for message in messages:
        first = runs[-1][0] if runs else {}
        are_chunks = all(str(piece.get("type")).lower() == "aimessagechunk" for piece in (first, message))
        if are_chunks and message.get("id") in (None, first.get("id")):
            runs[-1].append(message)
        else:
            runs.append([message])
    return [run[0] if len(run) == 1 else _joined(run) for run in runs]


def _joined(chunks: Sequence[JsonObject]) -> JsonObject:
    """Returns chunks as one message: texts and arguments continued, other keys of the later ones."""
    whole, content, pieces = dict(chunks[0]), list[JsonValue](), list[JsonObject]()
    for chunk in chunks:
        whole |= {key: value for key, value in chunk.items() if value not in (None, "", [], {})}
        text = chunk.get("content")
        content += text if isinstance(text, list) else [text] if text else []
        pieces += kinds.objects(chunk.get("tool_call_chunks"), "chunks")
    # Names, ids and JSON texts of calls come in pieces, by the index of each; one without is whole.
    calls: dict[JsonValue, JsonObject] = {}
    for number, piece in enumerate(pieces):
        call = calls.setdefault(piece.get("index", f"whole {number}"), {"name": "", "id": "", "args": ""})
        for key in call:
            call[key] += piece[key] if isinstance(piece.get(key), str) else ""
    return {**whole, "content": content, "tool_call_chunks": pieces, "tool_calls": list(calls.values())}


_OWN = ("next", "parent_config", "parent_checkpoint")
_FIELDS = ("values", "next", "config", "metadata", "created_at", "parent_config", "tasks", "interrupts")


def _is_snapshot(value: JsonObject) -> bool:
    return isinstance(value.get("values"), dict) and not value.keys().isdisjoint(_OWN)


def _from_array(value: list[JsonValue]) -> JsonObject | None:
    """Returns the snapshot that an array spells: `StateSnapshot` is a named tuple."""
    if not 6 <= len(value) <= len(_FIELDS):
        return None
    types = (dict, list, dict, dict | None, str | None, dict | None)
    is_one = all(map(isinstance, value, types)) and all(isinstance(node, str) for node in value[1])
    return dict(zip(_FIELDS, value, strict=False)) if is_one else None


def _thread(snapshot: JsonObject) -> str | None:
    return messages_base.named_in(snapshot, "thread_id")


def _is_nameless(value: JsonObject) -> bool:
    return _is_snapshot(value) and _thread(value) is None


def _log(snapshot: JsonObject) -> Dialogue:
    log = Dialogue()
    messages_base.read_half(LANGCHAIN, snapshot, log)
    return log


def _conversation(snapshot: JsonObject, earlier: Sequence[JsonObject], name: str) -> Conversation:
    log = _log(snapshot)
    if any(other.steps != log.steps[: len(other.steps)] for other in map(_log, earlier)):
        message = "an earlier state of the thread holds messages that the newest does not hold"
        log.general.add("OtherBranch", message, calls=True)
    # The graph stopped at a task whose error the snapshot still holds.
    errors = (task.get("error") for task in kinds.objects_in(snapshot.get("tasks")))
    log.failure = next(filter(None, errors), None)
    return messages_base.conversation(LANGCHAIN, log, snapshot, name)


def _join(thread: str, values: Sequence[JsonObject]) -> Conversation:
    # Those of the graph itself come after those of its subgraphs, and then by time.
    ages = []
    for held in values:
        space, checkpoint = (messages_base.named_in(held, f"checkpoint_{key}") for key in ("ns", "id"))
        ages.append((not space, as_text(held.get("created_at")) or "", checkpoint or ""))
    newest = ages.index(max(ages))
    main = [i for i, age in enumerate(ages) if age[0] == ages[newest][0] and i != newest]
    return _conversation(values[newest], [values[i] for i in main], thread)


def _read(value: JsonValue, record: Record, settings: registry.ReadSettings) -> list[Conversation]:
    """Returns the conversations of snapshots that name no thread: those that no other one continues."""
    snapshots = list(kinds.objects(value if isinstance(value, list) else [value], "snapshots"))
    steps = [_log(snapshot).steps for snapshot in snapshots]
    kept: list[int] = []
    for index in sorted(range(len(steps)), key=lambda index: -len(steps[index])):
        if not any(steps[index] == steps[other][: len(steps[index])] for other in kept):
            kept.append(index)
    name = registry.record_place(record)
    names = [name] if len(kept) == 1 else [f"{name}:{index + 1}" for index in kept]
    return [_conversation(snapshots[index], (), name) for index, name in zip(kept, names, strict=True)]


# For example {"values": {"messages": [...]}, "next": [], "config": {"configurable": {"thread_id": "7"}}}
registry.register_built_in(
    "langgraph_thread", 110,
    "snapshots of LangGraph threads, as get_state and get_state_history return them; "
    "the newest of a thread counts",
    lambda record: _is_snapshot(record) and _thread(record) is not None, ("values", "next", "config"),
    events=registry.EventReader(locate=lambda value: (_thread(value) or "", -1), join=_join),
    time_keys=("created_at",), places=(("", ANY), ("metadata", ANY), ("config.configurable", ANY)),
    from_array=_from_array,
)  # fmt: skip
# For example [{"values": {"messages": [{"type": "human", "content": "Hi"}]}, "next": []}]
registry.register_built_in(
    "langgraph_history", 110,
    "snapshots of LangGraph threads that name no thread: a list of them, newest first", _is_nameless,
    ("values", "next", "parent_config"), read_log=_read, is_list=_is_nameless,
)  # fmt: skip


# Messages of Vercel's AI SDK: UI messages (versions 4 and later) and model messages.

_OF_VERCEL = kinds.key_set(
    "tool-call tool-result tool-error tool-invocation dynamic-tool tool-approval-request"
)
_APPROVALS = _ASKED, _REPLIED = "tool-approval-request", "tool-approval-response"
_READ = ("parts", "content", "toolInvocations", "experimental_attachments", "reasoning", "data")


def _is_vercel(message: JsonObject) -> bool:
    if "role" not in message:
        return False
    given = kinds.objects_in(message.get("parts") or message.get("content"))
    typed = [part for part in given if isinstance(part.get("type"), str)]
    is_tool = any(p["type"].startswith("tool-") and "toolCallId" in p for p in typed)
    names_call = is_tool or any(p["type"] in _OF_VERCEL for p in typed)
    ui = isinstance(message.get("parts"), list) and any("text" in p or "-" in p["type"] for p in typed)
    return names_call or isinstance(message.get("toolInvocations"), list) or ui


def _read_vercel(messages: list[JsonValue], log: Dialogue) -> None:
    parts_of = (message.get("parts") or message.get("content") for message in kinds.objects_in(messages))
    every = [
        (part.get("type"), as_text(part.get("approvalId")), as_text(part.get("toolCallId")), part)
        for given in parts_of
        for part in kinds.objects_in(given)
    ]
    asked = {approval: call for kind, approval, call, _ in every if kind == _ASKED}
    names = {call: part.get("toolName") for kind, _, call, part in every if kind == "tool-call"}
    replied = {approval for kind, approval, *_ in every if kind == _REPLIED}
    done = {call for kind, _, call, _ in every if kind in OF_RESULTS}
    for message in kinds.objects(messages, "messages"):
        given = list(kinds.objects(message.get("parts"), "parts"))
        # Version 4 holds the text and the calls of a message beside each other.
        called = list(kinds.objects(message.get("toolInvocations"), "toolInvocations"))
        inside = [both_of(part).get("toolCallId") for part in given]
        apart = [call for call in called if call.get("toolCallId") not in inside]
        files = kinds.listed(message.get("experimental_attachments"), "experimental_attachments")
        parts: list[JsonObject] = [{"type": "tool-invocation", "toolInvocation": call} for call in apart]
        parts += [*(given or kinds.as_blocks(message.get("content"))), *({"type": "file"} for _ in files)]
        # Neither words nor work: approvals, and data that the interface shows.
        beside = [p for p in parts if p.get("type") in _APPROVALS or str(p.get("type")).startswith("data-")]
        if len(beside) < len(parts) or not beside:
            held = [part for part in parts if part not in beside]
            rest = {key: item for key, item in message.items() if key not in _READ}
            read_dialogue([{**rest, "parts": held}], log)
        for part in beside:
            kind, approval, approved = part.get("type"), as_text(part.get("approvalId")), part.get("approved")
            call = asked.get(approval, approval)
            if kind not in _APPROVALS:
                shown: JsonObject = {key: part[key] for key in ("type", "data") if key in part}
                log.turn.payloads = [*log.turn.payloads, shown]
            elif call in done:
                continue
            elif kind == _REPLIED and approved is False:
                log.result(None, call, None, part.get("reason") or REFUSED)
            elif (kind == _REPLIED and approved is not True) or approval not in replied:
                # The call waits.
                log.unread.add(OPEN_CALL, not_done(names.get(call), kind), calls=True)


# For example {"role": "user", "parts": [{"type": "text", "text": "Hi"}]}
messages_base.register_dialect(
    "vercel_messages", "UI messages and model messages of Vercel's AI SDK", _is_vercel,
    (("messages", "trigger", "messageId"),), read=_read_vercel,
)  # fmt: skip


# Messages whose parts the table reads as they stand.

_CALLS = ("tool_call", "tool_call_response", "server_tool_call", "server_tool_call_response")


def _is_genai(message: JsonObject) -> bool:
    return "role" in message and any(
        part.get("type") in _CALLS or (isinstance(part.get("type"), str) and "content" in part)
        for part in kinds.objects_in(message.get("parts"))
    )


def _outputs(record: JsonObject) -> JsonValue:
    """Returns the messages that a model answered with; None: they do not stand beside the others."""
    held = [record.get(key) for key in ("output_messages", "outputMessages", "output")]
    if messages_base.messages_in(record)[0] == messages_base.ATTRIBUTES[0]:
        held.append(kinds.decoded(record.get(messages_base.ATTRIBUTES[1])))
    return next((messages for messages in held if any(map(_is_genai, kinds.objects_in(messages)))), None)


# For example {"role": "user", "parts": [{"type": "text", "content": "Hi"}]}
messages_base.register_dialect(
    "genai_messages", "messages of OpenTelemetry's conventions for generative AI, outside of spans",
    _is_genai, (("input_messages", "output_messages"),),
    reply=lambda record, log: read_dialogue(kinds.listed(_outputs(record), "output_messages"), log),
    is_reply=lambda record: _outputs(record) is not None,
)  # fmt: skip


# For example {"role": "tool", "content": [{"type": "tool_result", "tool_result": "Bonn"}]}
messages_base.register_dialect(
    "azure_messages", "messages of Azure AI's agents and evaluations",
    lambda message: any("tool_result" in part or (part.get("type") == "tool_call" and "role" in message)
                        for part in kinds.objects_in(message.get("content"))),
    (("messages", "tool_definitions"),),
)  # fmt: skip
# For example {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "Hi"}]}
messages_base.register_dialect(
    "pydantic_messages", "messages of Pydantic AI (all_messages_json)",
    lambda message: message.get("kind") in ("request", "response") and any(
        "part_kind" in part for part in kinds.objects_in(message.get("parts"))),
    (("messages", "run_id", "conversation_id"),),
)  # fmt: skip
_WITHOUT_SOURCE = ("SystemMessage", "FunctionExecutionResultMessage")
"""Types of messages to AutoGen's models that name no source; LangChain has some of the same names."""
# For example [{"source": "bot", "type": "TextMessage", "content": "Hi", "models_usage": null}]
messages_base.register_dialect(
    "autogen_messages", "messages of AutoGen's teams",
    lambda message: "role" not in message and (message.get("type") in _WITHOUT_SOURCE or (
        isinstance(message.get("source"), str) and str(message.get("type")).endswith(("Message", "Event")))),
    (("messages", "stop_reason"),),
)  # fmt: skip
