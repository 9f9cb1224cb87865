"""OpenAI chat messages with tool calls, as canonical conversations; also tau-bench's and tau2's records."""

from turnwise.schemas.conversation import Conversation, ToolCall, ToolResponse
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.endings import (
    as_text,
    call_fields,
    declared_tools,
    failure_mark,
    own_result,
    split_actions,
)
from turnwise.transforms.formats.fields import UNREAD, Unread
from turnwise.transforms.formats.messages.dialogue import Dialogue
from turnwise.transforms.formats.messages.kinds import (
    AGENT,
    RESPONSES_PARTS,
    SYSTEM,
    TEXT,
    TOOL,
    USER,
    part_types,
    role_of,
)
from turnwise.transforms.formats.messages.streams import as_object, decoded, key_set, objects, stated
from turnwise.transforms.formats.problems import canonical

_KEYS = key_set(
    "messages conversation_id id source app_version language eval_id eval_set_id tags start_time end_time "
    "reward reward_info tools functions task_id trial info task expected ended ended_detail error model "
    "tool_choice function_call response_format stop stream_options logit_bias user user_id policy"
)
_KEYS_WITH_TRAJ = _KEYS | {"traj"}


def chat_conversation(value: JsonValue, fallback_id: str) -> Conversation:
    """Returns a chat as a conversation.

    Args:
        value: A list of messages, or an object that holds it under `messages` or `traj`.
        fallback_id: The conversation's name where the record has no `conversation_id`, `id` or `task_id`.

    Raises:
        ValueError: There is no list of messages, or a value in it has the wrong type.
    """
    record: JsonObject = value if isinstance(value, dict) else {"messages": value}
    given = record.get("messages", record.get("traj"))
    if not isinstance(given, list) or not all(isinstance(message, dict) for message in given):
        raise ValueError("not a chat: no list of messages under messages or traj")
    log = Dialogue()
    log.general.keys(record, _KEYS_WITH_TRAJ if record.get("messages") is None else _KEYS)
    read_messages(given, log)
    end = log.end(record)
    name = as_text(record.get("conversation_id", record.get("id")))
    if name is None and record.get("task_id") is not None:
        name = f"{record['task_id']}-{record['trial']}" if "trial" in record else str(record["task_id"])
    tags = record.get("tags")
    tags = tags if isinstance(tags, list) else [] if tags is None else [tags]
    task = as_object(record.get("info")).get("task")
    expected: JsonObject | None = None if given else {}
    if isinstance(task, dict) and isinstance(task.get("actions"), list):
        by_agent, by_user = split_actions(task["actions"])
        expected = {"actions": by_agent, "user_actions": by_user, "outputs": task.get("outputs") or []}
    fields = {
        "conversation_id": name or fallback_id,
        "source": record.get("source") or "openai_chat",
        "language": record.get("language"),
        "user_id": as_text(record.get("user_id") or record.get("user")),
        "tags": [tag for tag in map(as_text, tags) if tag],
        "start_time": as_text(record.get("start_time")),
        "turns": log.close(end),
        "expected": expected,
        "ended": end.ended,
        "ended_detail": end.detail,
        "labels": {"reward": record["reward"]} if "reward" in record else {},
        "tools": declared_tools(record.get("tools") or record.get("functions")),
        "meta": {key: record[key] for key in ("task_id", "trial") if key in record},
    }
    return canonical(Conversation, fields, "not a chat")


_TEXT_TYPES = part_types(RESPONSES_PARTS, TEXT)
_HOLDERS = ("content", "tool_calls", "function_call", "refusal", "audio")
KEYS = frozenset(
    (*_HOLDERS, "role", "tool_call_id", "name", "id", "error", "requestor", "usage", "additional_kwargs")
)
_OF_INSTRUCTIONS = frozenset(("role", "content", "name", "id"))
_TEXT_KEYS = frozenset(("type", "text"))
_CALL_KEYS = frozenset(("tool_calls", "function_call"))
OF_PARTS = key_set(
    "type text refusal thinking signature data encrypted_content summary reasoning reasoningContent "
    "reasoning_content redactedContent image_url image input_audio audio video video_url file document "
    "source inlineData inline_data blob"
)


def by_user(message: JsonObject) -> bool:
    """Returns whether the user sent a message."""
    return role_of(message.get("role")) == USER


def _is_answer(message: JsonObject) -> bool:
    return role_of(message.get("role")) == TOOL or bool(message.get("tool_call_id"))


def words(message: JsonObject) -> str:
    """Returns the texts of a message, a refusal and the transcript of speech among them, one a line."""
    content = (
        message.get("content") or message.get("refusal") or as_object(message.get("audio")).get("transcript")
    )
    if isinstance(content, list):
        return "\n".join(text for part in content if (text := _text(part)))
    return content if isinstance(content, str) else ""


def _text(part: JsonValue) -> str | None:
    """Returns the text that a part of a content is; None: it is something else."""
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        return None
    kind = part.get("type")
    text = part.get("refusal") if kind == "refusal" else part.get("text")
    is_text = kind in _TEXT_TYPES or (kind is None and part.keys() == {"text"})
    return text if is_text and isinstance(text, str) else None


def message_calls(message: JsonObject) -> list[ToolCall]:
    """Returns the calls of a message; raises ValueError if they are no array."""
    older, given = message.get("function_call"), message.get("tool_calls") or []
    if not isinstance(given, list):
        raise ValueError(f"not a chat: tool_calls: a JSON array is needed, not {type(given).__name__}")
    calls = [
        canonical(ToolCall, call_fields(call), f"not a chat: tool_calls.{place}")
        for place, call in enumerate(given)
        if not _is_other(call)
    ]
    if older:
        call = canonical(ToolCall, call_fields(older), "not a chat: function_call")
        if all((call.name, call.args) != (made.name, made.args) for made in calls):
            calls.append(call)
    return calls


def call_results(message: JsonObject) -> list[ToolResponse | None]:
    """Returns what each of the calls of a message holds as its result, in the order of `message_calls`."""
    given = [call for call in message.get("tool_calls") or [] if not _is_other(call)]
    older = message.get("function_call")
    if older and len(message_calls(message)) > len(given):
        given.append(older)
    return [own_result(call) for call in given]


def _is_other(call: JsonValue) -> bool:
    """Returns whether an entry of `tool_calls` is of a type that is not read."""
    return isinstance(call, dict) and call.get("type") not in (None, "function", "tool_call", "custom")


def _unread_of(message: JsonObject, unread: Unread) -> None:
    role = message.get("role")
    is_agents = not (by_user(message) or _is_answer(message))
    if is_agents and role_of(role) != AGENT:
        unread.role(role)
    # What is nothing but a role says nothing; other keys may hold what was said.
    if message.keys().isdisjoint(_HOLDERS) and not (_is_answer(message) or message.keys() <= KEYS):
        shown = ", ".join(list(message)[:8])
        unread.add(UNREAD, f"a message without content (keys {shown})", calls=True, words=is_agents)
    unread.keys(message, KEYS, is_agents)
    calls = message.get("tool_calls") or ()
    for call in filter(_is_other, calls):
        unread.add(UNREAD, f"a call of the type {str(call['type'])[:60]!r} is not read", calls=True)
    kwargs = message.get("additional_kwargs")  # LangChain's additional data, which may repeat the calls
    if isinstance(kwargs, dict):
        names = {call.name for call in message_calls(message)}
        is_repeated = {call.name for call in message_calls(kwargs)} <= names
        unread.keys(kwargs, _CALL_KEYS if is_repeated else frozenset())
    elif kwargs:
        unread.keys({"additional_kwargs": kwargs}, frozenset())
    if message.get("audio") and not words(message):
        unread.part("audio", is_agents)
    _unread_content(message, unread, is_agents)


def _unread_content(message: JsonObject, unread: Unread, is_agents: bool) -> None:
    content = message.get("content")
    if content is None or isinstance(content, str) or (isinstance(content, dict) and _is_answer(message)):
        return
    for part in content if isinstance(content, list) else [content]:
        kind = type(part).__name__
        if isinstance(part, dict):
            kind = str(part.get("type") or next(iter(part), "an empty object"))
        if _text(part) is None:
            unread.part(kind, is_agents)
        if isinstance(part, dict) and not part.keys() <= _TEXT_KEYS:
            unread.keys(part, OF_PARTS, is_agents)


_SAID, _AUDIO = ("content", "refusal"), "audio"


def read_messages(messages: list[JsonValue], log: Dialogue) -> None:
    """Adds messages to a dialogue; raises ValueError for a value of the wrong type."""
    for message in objects(messages, "messages"):
        if role_of(message.get("role")) == SYSTEM:
            log.general.keys(message, _OF_INSTRUCTIONS, False)
            _unread_content(message, log.general, False)
            continue
        if by_user(message):
            calls, own = message_calls(message), call_results(message)
            log.user(words(message), message.get("timestamp"), zip(calls, own, strict=True))
        elif _is_answer(message):
            call_id, by_users = message.get("tool_call_id") or message.get("id"), message.get("requestor")
            content, error = message.get("content"), failure_mark(message)
            value = content if isinstance(content, dict) else decoded(words(message))
            log.result(value, call_id, message.get("name"), error, by_user=by_users == "user")
        else:
            if not log.turns:
                log.open(message.get("timestamp"))
            if role_of(message.get("role")) == AGENT:
                log.agent(words(message))
            for call, held in zip(message_calls(message), call_results(message), strict=True):
                log.made(call, held)
            log.said(message)
            log.usage(message.get("usage"), message.get("model"))
        _unread_of(message, log.unread)


def read_reply(reply: JsonObject, log: Dialogue) -> None:
    """Adds a reply to a dialogue; raises ValueError for a value of the wrong type."""
    choices = list(objects(reply.get("choices"), "choices"))
    first = next((choice for choice in choices if choice.get("index") in (0, None)), None)
    message = first.get("message") if first else None
    log.alternatives(len(choices))
    if isinstance(message, dict):
        read_messages([{"role": "assistant", **stated(message)}], log)
    log.usage(reply.get("usage"), reply.get("model"))
    log.finish = first.get("finish_reason") if first else None
    log.failure = reply.get("error")


def join_chunks(chunks: list[JsonObject]) -> JsonObject:
    """Returns the reply that chunks make: texts joined, calls joined by their index."""
    said: dict[str, str] = {}
    calls: list[JsonObject] = []
    reply: JsonObject = {"usage": None}
    finish: JsonValue = None
    for chunk in chunks:
        reply |= {key: chunk[key] for key in ("usage", "error", "model") if chunk.get(key)}
        for choice in objects(chunk.get("choices"), "choices"):
            delta = choice.get("delta")
            if choice.get("index") not in (0, None) or not isinstance(delta, dict):
                continue
            finish = choice.get("finish_reason") or finish
            heard = as_object(delta.get(_AUDIO)).get("transcript")
            for key, text in (*((key, delta.get(key)) for key in _SAID), (_AUDIO, heard)):
                if isinstance(text, str):
                    said[key] = said.get(key, "") + text
            older = delta.get("function_call")
            pieces = [{"index": "function_call", "function": older}] if isinstance(older, dict) else []
            for piece in (*pieces, *objects(delta.get("tool_calls"), "tool_calls")):
                # It belongs to the last call of its index, unless it has another id.
                index, call_id = piece.get("index"), piece.get("id")
                call = next((call for call in reversed(calls) if call["index"] == index), None)
                if call is None or (call_id and call.get("id") not in (None, call_id)):
                    call = {"index": index}
                    calls.append(call)
                call |= {key: piece[key] for key in ("id", "type") if piece.get(key)}
                part = piece.get("function")
                if isinstance(part, dict):
                    function = call.setdefault("function", {"name": None, "arguments": ""})
                    function["name"] = part.get("name") or function["name"]
                    function["arguments"] += part.get("arguments") or ""
    spoken = {_AUDIO: {"transcript": said.pop(_AUDIO)}} if _AUDIO in said else {}
    message = {"role": "assistant", "content": None, "tool_calls": calls, **said, **spoken}
    return {**reply, "choices": [{"index": 0, "message": message, "finish_reason": finish}]}
