"""Decides which records the mapping of the config is meant for."""

from turnwise.schemas.jsonio import dump_json
from turnwise.schemas.mapping import MappingConfig
from turnwise.schemas.record import Record
from turnwise.schemas.values import JsonValue
from turnwise.transforms.formats.base import FORMATS, Format
from turnwise.transforms.formats.events import ConversationEvent, read_event
from turnwise.transforms.formats.mapped.paths import MappedRecord
from turnwise.transforms.formats.mapped.reading import MAPPING, PART, part_of
from turnwise.transforms.formats.recognise import recognise

__all__ = ["MAPPING", "mapped_format", "part_event"]


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
