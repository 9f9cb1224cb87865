"""Chat messages, as an object."""

from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.chat import chat_conversation
from turnwise.transforms.formats.chat.completions import join_chunks, read_messages, read_reply
from turnwise.transforms.formats.foreign import foreign_format
from turnwise.transforms.formats.messages.messages_base import DIALECTS, Dialect, dialects_of
from turnwise.transforms.formats.registry import Format, record_place, register_format


def is_message(value: JsonValue) -> bool:
    """Returns whether a value is a message of a chat."""
    return isinstance(value, dict) and "role" in value


def is_chat(record: JsonObject) -> bool:
    """Returns whether a record holds a list of messages."""
    messages = record.get("messages", record.get("traj"))
    return isinstance(messages, list) and (any(map(is_message, messages)) or _raised(record, messages))


def _raised(record: JsonObject, messages: list[JsonValue]) -> bool:
    """Returns whether a record is a run of a task that failed before its first message."""
    info = record.get("info")
    return not messages and "task_id" in record and isinstance(info, dict) and bool(info.get("error"))


def _holds(value: JsonObject, key: str) -> bool:
    """Returns whether the first choice of a reply holds a message, or a piece of one."""
    choices = value.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return isinstance(first, dict) and isinstance(first.get(key), dict)


CHAT = register_format(
    Format(
        name="openai_chat",
        help="OpenAI chat messages with tool calls; tau-bench trajectories",
        keys=("messages",),
        rank=140,
        recognises=lambda record: is_chat(record) and not dialects_of(record) and not foreign_format(record),
        read_log=lambda value, record, settings: [chat_conversation(value, record_place(record))],
        is_list=is_message,
        has_rubrics=False,
    )
)
DIALECTS[CHAT.name] = Dialect(
    name=CHAT.name,
    help=CHAT.help,
    fits=lambda message: False,
    read=read_messages,
    reply=read_reply,
    is_reply=lambda value: value.get("object") == "chat.completion" or _holds(value, "message"),
    join=join_chunks,
    is_event=lambda value: value.get("object") == "chat.completion.chunk" or _holds(value, "delta"),
    is_plain=True,
)
