"""Proposes a mapping for files, and tries it on them."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pydantic_core import from_json

from turnwise.pipeline.io.files import file_patterns, file_records, matched_files, read_files, whole_items
from turnwise.pipeline.settings.run import MAX_RECORD_BYTES
from turnwise.schemas.config import EvalConfig, MappingConfig
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.score import Failure
from turnwise.transforms.formats.reading import AnyReader, LoggedConversation
from turnwise.transforms.tools.inspection import suggested_mapping, unread_keys


class Suggestion(NamedTuple):
    """A proposed mapping, and what it reads.

    Attributes:
        has_calls: Whether it names calls.
        unread: Keys of the first such record that the mapping does not read.
        lost: Number of records and conversations that are not read with it.
    """

    mapping: MappingConfig
    conversations: int
    turns: int
    lost: int
    has_calls: bool
    unread: list[str]


def suggest_mapping(paths: Sequence[str], reader: AnyReader, config: EvalConfig) -> Suggestion | None:
    """Returns a mapping for the first record that no format fits; None: none can be proposed.

    Raises:
        ConfigError: A path names nothing, or cannot be read.
    """
    proposals = ((record, suggested_mapping(record)) for record in _unknown(paths, reader))
    record, mapping = next((pair for pair in proposals if pair[1] is not None), ({}, None))
    if mapping is None:
        return None
    mapped = AnyReader(config=config.model_copy(update={"mapping": mapping}))
    conversations = turns = lost = 0
    for item in whole_items(read_files("inspect", paths, mapped, MAX_RECORD_BYTES)):
        lost += isinstance(item, Failure)
        if isinstance(item, LoggedConversation):
            conversations += 1
            turns += len(item.conversation.turns)
    return Suggestion(
        mapping, conversations, turns, lost, "tool_calls: " in mapping.content, unread_keys(record, mapping)
    )


def _unknown(paths: Sequence[str], reader: AnyReader) -> Iterator[JsonObject]:
    """Yields the objects that no format fits."""
    for path in matched_files(file_patterns("inspect", paths)):
        for record in () if isinstance(path, Failure) else file_records(path, MAX_RECORD_BYTES):
            if isinstance(record, Failure) or reader.read(record).format is not None:
                continue
            try:
                value = from_json(record.data)
            except ValueError:
                continue
            if isinstance(value, dict):
                yield value
