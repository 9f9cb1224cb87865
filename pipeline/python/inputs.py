"""Conversations and eval cases as arguments: paths, records as Python values, or objects."""

import json
import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, Generic, TypeAlias, TypeVar

from msgspec import Struct

from turnwise.pipeline.io.cases import Cases, case_records, read_cases
from turnwise.pipeline.io.files import UNREAD_FILES, file_patterns, listed_files, named_records
from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import Conversation, Record
from turnwise.schemas.score import Failure, record_failure
from turnwise.transforms.formats.events import ConversationEvent, named_events
from turnwise.transforms.formats.reading import (
    CaseReader,
    LoggedConversation,
    LogReader,
    is_one_record,
    join_session,
    parse_conversation,
    parse_record,
)

T = TypeVar("T", Conversation, EvalCase)

AnyPath: TypeAlias = str | os.PathLike[str]
ConversationInput: TypeAlias = AnyPath | Mapping[str, Any] | Conversation
CaseInput: TypeAlias = AnyPath | Mapping[str, Any] | EvalCase


class Inputs(Struct, Generic[T], frozen=True):
    """The values of one argument.

    Attributes:
        name: Name of the parameter.
        paths: Files, directories, globs and, of eval cases, addresses of stores.
        items: Records, objects with their positions, and values that are no record.
    """

    name: str
    paths: list[str]
    items: list[Record | tuple[Record, T] | Failure]


def sort_inputs(name: str, values: object, kind: type[T]) -> Inputs[T]:
    """Separates paths, records and objects.

    Args:
        name: Name of the parameter.
        values: One of them, or several.
        kind: The class of the objects.

    Raises:
        TypeError: Something is none of these.
    """
    if isinstance(values, str | os.PathLike | Mapping | kind):
        found: list[object] = [values]
    elif isinstance(values, Iterable) and not isinstance(values, bytes):
        found = list(values)
        found = [found] if isinstance(values, list) and is_one_record(found) else found
    else:
        raise TypeError(f"{name}: {type(values).__name__} is no path, dict or {kind.__name__}, nor several")
    inputs: Inputs[T] = Inputs(name, [], [])
    for position, value in enumerate(found, 1):
        place = Record(name, position, b"")
        if isinstance(value, str | os.PathLike):
            inputs.paths.append(os.fsdecode(value))
        elif isinstance(value, kind):
            inputs.items.append((place, value))
        elif isinstance(value, Mapping | list):
            inputs.items.append(_as_record(value, place))
        else:
            said = f"{type(value).__name__} is no path, dict or {kind.__name__}"
            raise TypeError(f"{name}[{position - 1}]: {said}")
    return inputs


def _as_record(value: object, place: Record) -> Record | Failure:
    try:
        value = dict(value) if isinstance(value, Mapping) else value
        return place._replace(data=json.dumps(value, ensure_ascii=False, allow_nan=False).encode())
    except (TypeError, ValueError, RecursionError) as error:
        return record_failure("read", error, place)


def logged_conversations(
    inputs: Inputs[Conversation], reader: LogReader, limit: int, counts: Counter[str]
) -> Iterator[LoggedConversation | Failure]:
    """Yields conversations and failures: of files by name, then of values in order, then joined events.

    Args:
        inputs: The values of one argument.
        reader: How records are read.
        limit: A record of more bytes in a file is a failure.
        counts: Counters by name, added to in place.

    Raises:
        ConfigError: A path names nothing.
    """
    patterns = file_patterns(inputs.name, inputs.paths)
    opened = (
        named_records(file, limit, patterns, lambda: counts.update([UNREAD_FILES]))
        for file in listed_files(patterns)
    )
    events: defaultdict[str, list[ConversationEvent]] = defaultdict(list)
    grouped: defaultdict[str, list[ConversationEvent]] = defaultdict(list)
    for one in chain(chain.from_iterable(opened), inputs.items):
        if isinstance(one, Failure):
            counts["unread_records"] += 1
            yield one
        elif not isinstance(one, Record):
            yield parse_conversation(one[1], one[0], counts)
        else:
            for found in parse_record(reader, one, counts):
                if isinstance(found, ConversationEvent):
                    (grouped[found.group] if found.group else events[found.session_id]).append(found)
                else:
                    yield found
    for group, members in grouped.items():
        named = named_events(group, members, counts)
        yield from named.failures
        for event in named.events:
            events[event.session_id].append(event)
    for session_id, given in events.items():
        yield from join_session(session_id, given, counts)


def eval_cases(inputs: Inputs[EvalCase], reader: CaseReader, limit: int, counts: Counter[str]) -> Cases:
    """Returns eval cases and what could not be read; raises ConfigError if a path names nothing."""
    return read_cases(chain(case_records(inputs.name, inputs.paths, limit), inputs.items), reader, counts)
