"""Helpers for tests of input formats: what a file holds, in short."""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from turnwise.pipeline.io.records import file_records
from turnwise.schemas.conversation import Conversation, Record
from turnwise.schemas.score import Failure
from turnwise.transforms.formats.events import ConversationEvent, named_events
from turnwise.transforms.formats.reading import LoggedConversation, LogReader, join_session, parse_record

FORMATS = Path(__file__).parents[2] / "shared/data/raw/formats"


class Reading(NamedTuple):
    """What records hold: conversations, and failures."""

    conversations: list[Conversation]
    failures: list[Failure]


def read(records: Sequence[Record | Failure], input_format: str = "auto") -> Reading:
    """Reads records, and joins those that are events."""
    reader, counts = LogReader(input_format), Counter[str]()
    found: list[Any] = []
    sessions: dict[str, list[ConversationEvent]] = {}
    groups: dict[str, list[ConversationEvent]] = {}
    for record in records:
        for part in [record] if isinstance(record, Failure) else parse_record(reader, record, counts):
            # All traces of a test are one conversation.
            if isinstance(part, ConversationEvent) and part.group and part.kind != "trace_part":
                groups.setdefault(part.group, []).append(part)
            elif isinstance(part, ConversationEvent):
                sessions.setdefault(part.session_id, []).append(part)
            else:
                found.append(part)
    for group, events in groups.items():
        named = named_events(group, events, counts)
        found += named.failures
        for event in named.events:
            sessions.setdefault(event.session_id, []).append(event)
    for name, events in sessions.items():
        found += join_session(name, events, counts)
    logged = [part.conversation for part in found if isinstance(part, LoggedConversation)]
    return Reading(logged, [part for part in found if isinstance(part, Failure)])


def read_file(path: Path | str, input_format: str = "auto") -> Reading:
    """Reads a file."""
    return read(list(file_records(str(path), 64 << 20)), input_format)


def read_value(*values: Any, input_format: str = "auto") -> Reading:
    """Reads JSON values, each as a record."""
    return read(
        [Record("log.json", i, json.dumps(value).encode()) for i, value in enumerate(values, 1)], input_format
    )


def one(*values: Any, input_format: str = "auto") -> Conversation:
    """Returns the only conversation of some values."""
    found = read_value(*values, input_format=input_format)
    assert found.failures == []
    [conversation] = found.conversations
    return conversation


def turns(conversation: Conversation) -> list[tuple[Any, ...]]:
    """Returns each turn: user, calls (name, arguments), results (name, value), last answer."""
    return [
        (
            turn.user,
            [(call.name, call.args) for call in turn.tool_calls],
            [(response.name, response.response) for response in turn.tool_responses],
            turn.agent,
        )
        for turn in conversation.turns
    ]


def tokens(conversation: Conversation) -> list[tuple[int | None, int | None]]:
    """Returns the input and output tokens of each turn; (None, None): not reported."""
    usages = [turn.usage for turn in conversation.turns]
    return [(usage.input_tokens, usage.output_tokens) if usage else (None, None) for usage in usages]


def findings(conversation: Conversation) -> list[str]:
    """Returns the kinds of all findings."""
    return [problem.kind for turn in conversation.turns for problem in turn.findings]
