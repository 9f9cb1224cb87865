"""Decides which records the mapping of the config is meant for."""

from collections.abc import Sequence

from turnwise.schemas.config import MappingConfig
from turnwise.schemas.conversation import Record
from turnwise.schemas.jsonio import JsonValue, dump_json
from turnwise.transforms.formats.chat.format import is_message
from turnwise.transforms.formats.events import ConversationEvent, read_event
from turnwise.transforms.formats.mapped import MAPPING, PART, part_of
from turnwise.transforms.formats.messages.messages_base import dialects_of
from turnwise.transforms.formats.paths import MappedRecord
from turnwise.transforms.formats.recognise import recognise
from turnwise.transforms.formats.registry import FORMATS, Format

__all__ = ["MAPPING", "PART", "mapped_format", "part_event", "takes_rows"]


def takes_rows(mapping: MappingConfig, rows: Sequence[JsonValue], chosen: Format | None) -> bool:
    """Returns whether each object of an array is a record of its own, because the mapping is meant for it.

    Args:
        mapping: The mapping of the config.
        rows: The array, which a format may take for the messages of one chat.
        chosen: The format of every record; None: they are recognised.
    """
    if chosen is not None:
        return chosen is FORMATS[MAPPING] and mapping.is_part
    if mapping.when is not None:
        return any(_finds(mapping.when, row) for row in rows)
    is_chat = bool(rows) and is_message(rows[0]) and not dialects_of({"messages": list(rows)})
    return is_chat and mapping.is_part and any(_finds(mapping.conversation_id, row) for row in rows)


def _finds(expression: str | None, row: JsonValue) -> bool:
    try:
        return isinstance(row, dict) and bool(MappedRecord(row).at(expression))
    except ValueError:
        return False


def mapped_format(mapping: MappingConfig, value: JsonValue) -> Format:
    """Returns the format of a record where the config has a mapping.

    Raises:
        ValueError: No format fits, and the mapping is meant for other records.
    """
    if mapping.when is not None and isinstance(value, dict) and MappedRecord(value).at(mapping.when):
        return FORMATS[MAPPING]
    try:
        return FORMATS[recognise(value)]
    except ValueError:
        if mapping.when is not None or not isinstance(value, dict):
            raise
    return FORMATS[MAPPING]


def part_event(mapping: MappingConfig, value: JsonValue, record: Record) -> ConversationEvent:
    """Returns the event that a record is, which holds what the mapping found in it.

    Raises:
        ValueError: The mapping finds nothing in it.
    """
    if not isinstance(value, dict):
        raise ValueError(f"a JSON object is needed, not {type(value).__name__}")
    part = part_of(mapping, value)
    return read_event(PART, part, record._replace(data=dump_json(part)))
