"""Chat messages, as an object."""

from turnwise.schemas.values import JsonObject, JsonValue
from turnwise.transforms.formats.base import Format, record_place, register_format
from turnwise.transforms.formats.chat.openai import chat_conversation
from turnwise.transforms.formats.foreign import foreign_format


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


register_format(
    Format(
        name="openai_chat",
        help="OpenAI chat messages with tool calls; tau-bench trajectories",
        keys=("messages",),
        rank=140,
        recognises=lambda record: is_chat(record) and not foreign_format(record),
        read_log=lambda value, record, settings: [chat_conversation(value, record_place(record))],
        is_list=is_message,
        has_rubrics=False,
    )
)
