"""OpenAI chat messages with tool calls, as canonical conversations; also tau-bench's and tau2's records."""

from turnwise.schemas.conversation import Conversation
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.endings import (
    as_text,
    declared_tools,
    split_actions,
)
from turnwise.transforms.formats.messages.dialogue import Dialogue, read_dialogue
from turnwise.transforms.formats.messages.streams import as_object, key_set, objects, stated
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
    read_dialogue(given, log)
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


_SAID, _AUDIO = ("content", "refusal"), "audio"


def read_reply(reply: JsonObject, log: Dialogue) -> None:
    """Adds a reply to a dialogue; raises ValueError for a value of the wrong type."""
    choices = list(objects(reply.get("choices"), "choices"))
    first = next((choice for choice in choices if choice.get("index") in (0, None)), None)
    message = first.get("message") if first else None
    log.alternatives(len(choices))
    if isinstance(message, dict):
        read_dialogue([{"role": "assistant", **stated(message)}], log)
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
