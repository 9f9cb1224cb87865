"""Reads files of which it is not known whether they hold logs or eval cases; memory stays flat."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from turnwise.pipeline.io.agent_folder import without_configs
from turnwise.pipeline.io.event_join import EventJoin
from turnwise.pipeline.io.files import file_patterns, file_records, matched_files
from turnwise.pipeline.store.urls import shown_place
from turnwise.schemas.score import Failure
from turnwise.transforms.formats.events import ConversationEvent
from turnwise.transforms.formats.reading import AnyReader, FoundCase, LoggedConversation, ReadRecord


class OpenedFile(NamedTuple):
    """A file whose records follow.

    Attributes:
        path: The file.
        failure: Why it cannot be read at all; None: its records follow.
    """

    path: str
    failure: Failure | None = None


class JoinedEvents(NamedTuple):
    """A conversation that was joined of events, or why they could not be joined.

    Attributes:
        format: Name of the events' format.
        found: The conversation, or failures.
        sources: The files of its events, in order.
    """

    format: str
    found: Sequence[LoggedConversation | Failure]
    sources: Sequence[str]


Read: TypeAlias = OpenedFile | ReadRecord | JoinedEvents


def read_files(option: str, paths: Sequence[str], reader: AnyReader, limit: int) -> Iterator[Read]:
    """Yields every file and what its records hold; at the end what events were joined into.

    Args:
        option: What the user calls the paths.
        paths: Files, directories and globs.
        reader: How records are read.
        limit: A record of more bytes is a failure.

    Raises:
        ConfigError: A path names nothing, or cannot be read.
    """
    with EventJoin() as joining:
        for path in matched_files(file_patterns(option, without_configs(paths))):
            if isinstance(path, Failure):
                yield OpenedFile(path.source or "", path)
                continue
            yield OpenedFile(shown_place(path))
            for record in file_records(path, limit):
                read = ReadRecord(None, [record]) if isinstance(record, Failure) else reader.read(record)
                for one in read.found:
                    if isinstance(one, ConversationEvent):
                        joining.add(one)
                yield read
        for events, found in joining.joined(Counter()):
            yield JoinedEvents(events[0].kind, found, _sources(events))


def _sources(events: Sequence[ConversationEvent]) -> list[str]:
    return list(dict.fromkeys(event.record.source for event in events))


def whole_items(reads: Iterator[Read]) -> Iterator[LoggedConversation | FoundCase | Failure]:
    """Yields the conversations, cases and failures of what was read, without the files."""
    for read in reads:
        if isinstance(read, OpenedFile):
            if read.failure is not None:
                yield read.failure
            continue
        yield from (one for one in read.found if not isinstance(one, ConversationEvent))
