"""Reads records of which it is not known whether they are logs or eval cases."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from pydantic_core import from_json

from turnwise.schemas.case import EvalCase
from turnwise.schemas.config import EvalConfig
from turnwise.schemas.conversation import Record
from turnwise.schemas.score import RAISED, Failure
from turnwise.transforms.formats.events import ConversationEvent
from turnwise.transforms.formats.messages.values import without_nulls
from turnwise.transforms.formats.parsing import LoggedConversation, parse_case, parse_record
from turnwise.transforms.formats.reading import CaseReader, LogReader, decoded
from turnwise.transforms.formats.recognise import recognise
from turnwise.transforms.formats.registry import AUTO, FORMATS, Format


class FoundCase(NamedTuple):
    """An eval case and the record it was read from."""

    case: EvalCase
    record: Record


Found: TypeAlias = LoggedConversation | ConversationEvent | FoundCase | Failure


class ReadRecord(NamedTuple):
    """What a record holds.

    Attributes:
        format: Name of its format; None: it could not be recognised.
        found: Its conversations, its cases, the event that it is, or failures.
    """

    format: str | None
    found: Sequence[Found]


class AnyReader:
    """Reads records of logs and of eval cases of every registered format."""

    def __init__(self, input_format: str = AUTO, config: EvalConfig | None = None) -> None:
        config = config or EvalConfig()
        self._input_format = input_format
        self._logs = LogReader(input_format, config)
        self._cases = CaseReader(config.ces)

    def read(self, record: Record) -> ReadRecord:
        """Returns what a record holds: conversations if it is a log, else eval cases. It never raises."""
        kind = self._kind(record)
        name = kind.name if kind else None
        if kind is not None and not kind.is_log:
            return ReadRecord(name, self._read_cases(record))
        found = parse_record(self._logs, record, Counter())
        if kind and kind.read_cases and any(isinstance(one, Failure) for one in found):
            cases = self._read_cases(record)
            if any(isinstance(one, FoundCase) for one in cases) or not _names_conversation(record):
                return ReadRecord(name, cases)
        return ReadRecord(name, found)

    def _kind(self, record: Record) -> Format | None:
        if self._input_format != AUTO:
            return FORMATS[self._input_format]
        try:
            return FORMATS[recognise(decoded(from_json(record.data)))]
        except RAISED:
            return None

    def _read_cases(self, record: Record) -> list[Found]:
        cases = parse_case(self._cases, record, Counter())
        return [one if isinstance(one, Failure) else FoundCase(one[1], record) for one in cases]


def _names_conversation(record: Record) -> bool:
    value = without_nulls(from_json(record.data))
    return isinstance(value, dict) and "conversation_id" in value
