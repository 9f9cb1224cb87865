"""OpenAI chat messages as a target."""

import json
from collections.abc import Iterator

from turnwise.schemas.conversation import Conversation, ToolCall, ToolDeclaration, ToolResponse, Turn, Usage
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.conversion.plain import earlier_texts, plain, with_texts
from turnwise.transforms.formats.chat import chat_conversation
from turnwise.transforms.formats.problems import checked
from turnwise.transforms.matching.calls import pair_responses
from turnwise.transforms.tools.conversion import Codec, Target, register_target

_NAMED = (
    "source",
    "app_version",
    "language",
    "eval_id",
    "eval_set_id",
    "user_id",
    "tags",
    "start_time",
    "ended",
)
_OF_META = ("task_id", "trial")
_MADE = frozenset(
    (
        *("source", "turns.agent_messages", "turns.tool_calls.id", "turns.tool_responses.id"),
        *("turns.tool_responses.name", "turns.user_tool_calls.id", "turns.user_tool_responses.id"),
        "turns.user_tool_responses.name",
    )
)


def _write(conversation: Conversation) -> JsonObject:
    """Returns the record of a chat: messages, and beside them what the log says of the conversation."""
    record: JsonObject = {"conversation_id": conversation.conversation_id}
    record["messages"] = [m for i, turn in enumerate(conversation.turns) for m in _messages(turn, i)]
    stated = {name: getattr(conversation, name) for name in (*_NAMED, "ended_detail")}
    record |= {name: value for name, value in stated.items() if value}
    record |= {name: conversation.meta[name] for name in _OF_META if name in conversation.meta}
    if "reward" in conversation.labels:
        record["reward"] = conversation.labels["reward"]
    if conversation.tools:
        record["tools"] = [_tool(tool) for tool in conversation.tools]
    return record


def _read(record: JsonObject) -> Conversation:
    conversation = checked(chat_conversation(record, ""))
    conversation.turns = with_texts(conversation.turns)
    return conversation


def _messages(turn: Turn, index: int) -> list[JsonObject]:
    """Returns the messages of a turn: the user's, earlier answers, calls, results, the final answer."""
    made = list(_made(turn.user_tool_calls, turn.user_tool_responses, "user", f"user_{index}"))
    if turn.user is not None:
        made.append({"role": "user", "content": turn.user})
    made += [{"role": "assistant", "content": text} for text in earlier_texts(turn)]
    made += _made(turn.tool_calls, turn.tool_responses, "assistant", f"call_{index}")
    usage = {} if turn.usage is None else {"usage": _usage(turn.usage)}
    if turn.agent or usage:
        made.append({"role": "assistant", "content": turn.agent or "", **usage})
    if made and turn.timestamp is not None:
        made[0]["timestamp"] = turn.timestamp
    return made


def _made(calls: list[ToolCall], responses: list[ToolResponse], role: str, name: str) -> Iterator[JsonObject]:
    """Yields the calls of one side, and their results; every call needs an id."""
    if not calls and not responses:
        return
    ids = [call.id or f"{name}_{place}" for place, call in enumerate(calls)]
    if calls:
        made = [_call(call, key) for call, key in zip(calls, ids, strict=True)]
        yield {"role": role, "content": None, "tool_calls": made}
    paired = {id(r): key for key, r in zip(ids, pair_responses(calls, responses), strict=True) if r}
    requestor = {"requestor": "user"} if role == "user" else {}
    for response in responses:
        yield {**_answer(response, paired.get(id(response))), **requestor}


def _call(call: ToolCall, key: str) -> JsonObject:
    function: JsonObject = {"name": call.name}
    if call.args is not None:
        function["arguments"] = json.dumps(call.args, ensure_ascii=False)
    return {"id": key, "type": "function", "function": function}


def _answer(response: ToolResponse, key: str | None) -> JsonObject:
    message: JsonObject = {"role": "tool", "tool_call_id": response.id or key}
    message["content"] = _content(response.response)
    if response.name is not None:
        message["name"] = response.name
    return message if response.error is None else {**message, "error": response.error}


def _content(value: JsonValue) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _usage(usage: Usage) -> JsonObject:
    counts: JsonObject = {"prompt_tokens": usage.input_tokens, "completion_tokens": usage.output_tokens}
    if usage.cached_tokens is not None:
        counts["prompt_tokens_details"] = {"cached_tokens": usage.cached_tokens}
    if usage.reasoning_tokens is not None:
        counts["completion_tokens_details"] = {"reasoning_tokens": usage.reasoning_tokens}
    return counts


def _tool(tool: ToolDeclaration) -> JsonObject:
    """Returns a declaration in OpenAI's form, or in turnwise's where it states an effect."""
    stated = plain(tool)
    if tool.origin != "openai" or tool.effect is not None:
        return {name: value for name, value in stated.items() if name != "origin"}
    function = {key: stated[key] for key in ("name", "description") if key in stated}
    return {"type": "function", "function": function}


register_target(
    Target(
        name="openai_chat",
        help="OpenAI chat messages",
        conversation=Codec(
            write=_write,
            read=_read,
            made=_MADE,
        ),
    )
)
