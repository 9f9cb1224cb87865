"""One reader for logs and one for cases; they know every format by name or recognise it."""

from collections.abc import Callable, Sequence
from pathlib import PurePosixPath
from typing import TypeVar

from pydantic_core import from_json

from turnwise.schemas.case import EvalCase
from turnwise.schemas.config import CesConfig, DiscoveryEngineConfig
from turnwise.schemas.conversation import Conversation
from turnwise.schemas.record import Record
from turnwise.schemas.values import JsonValue
from turnwise.transforms.formats.adk import eval_sets as adk
from turnwise.transforms.formats.adk import legacy as adk_legacy
from turnwise.transforms.formats.adk import results as adk_result
from turnwise.transforms.formats.adk.sessions import session_conversation
from turnwise.transforms.formats.canonical import records as turnwise
from turnwise.transforms.formats.ces import cases as ces_cases
from turnwise.transforms.formats.ces import conversations as ces
from turnwise.transforms.formats.chat.openai import chat_conversation
from turnwise.transforms.formats.discovery_engine.conversations import answer_conversation
from turnwise.transforms.formats.events import EVENT_FORMATS, ConversationEvent, read_event
from turnwise.transforms.formats.problems import checked, with_turns
from turnwise.transforms.formats.recognise import is_adk_eval_result, recognise

T = TypeVar("T")
N = TypeVar("N", Conversation, Conversation | ValueError)


def _no_conversation(name: str) -> ValueError:
    return ValueError(f"a record of the format {name} holds no conversation; eval cases go to --eval_cases")


def _each(value: JsonValue, key: str, read: Callable[[JsonValue], list[T]]) -> list[T | ValueError]:
    """Reads a document that lists several things; if it is refused, one thing at a time."""
    try:
        return list(read(value))
    except ValueError as error:
        items = value.get(key) if isinstance(value, dict) else None
        if not isinstance(items, list) or len(items) < 2:
            raise
        refused = str(error)
    found: list[T | ValueError] = []
    for position, item in enumerate(items, 1):
        try:
            found += read({**value, key: [item]})
        except ValueError as problem:
            found.append(ValueError(f"entry {position}: {problem}"))
    if all(isinstance(one, ValueError) for one in found):
        raise ValueError(refused)
    return found


_ANSWERS_BY_ENGINE = DiscoveryEngineConfig()
_DISCOVERY_ENGINE = "discovery_engine"
_LOG_FORMATS: dict[str, Callable[[JsonValue, str], Sequence[Conversation | ValueError]]] = {
    "ces_conversation": lambda value, fallback: [ces.conversation(value)],
    "adk_session": lambda value, fallback: [session_conversation(value)],
    "adk_eval_result": lambda value, fallback: _each(
        value, "eval_case_results", adk_result.eval_result_conversations
    ),
    "adk_case_result": lambda value, fallback: adk_result.eval_result_conversations(value),
    "openai_chat": lambda value, fallback: [chat_conversation(value, fallback)],
}


class LogReader:
    """Reads log records.

    Attributes:
        input_format: Name of every record's format, or `auto`.
        answers: How the answers of a search engine are read.
    """

    def __init__(
        self, input_format: str = "auto", answers: DiscoveryEngineConfig = _ANSWERS_BY_ENGINE
    ) -> None:
        self.input_format, self.answers = input_format, answers

    def read(self, record: Record) -> Sequence[Conversation | ValueError] | ConversationEvent:
        """Returns the conversations of a record (an error in place of one that is bad), or the event it is.

        Raises:
            ValueError: It cannot be read; one line.
        """
        hint = self.input_format
        if hint == "turnwise" or (hint == "auto" and turnwise.looks_canonical(record.data)):
            conversation = turnwise.read_recording(record.data)
            if conversation.turns or hint == "turnwise":
                return [with_turns(_named(conversation, record))]
        value = _decoded(from_json(record.data))
        name = recognise(value) if hint == "auto" else hint
        if name == "turnwise":
            return [with_turns(_named(turnwise.read_recording(record.data), record))]
        if name in EVENT_FORMATS:
            return read_event(name, value, record)
        if name == _DISCOVERY_ENGINE:
            return [_checked(answer_conversation(value, self.answers), record)]
        if name not in _LOG_FORMATS:
            raise _no_conversation(name)
        return [_checked(found, record) for found in _LOG_FORMATS[name](value, _place(record))]


def _decoded(value: JsonValue) -> JsonValue:
    """Returns what a JSON text inside a JSON text holds, as older result files of google-adk do."""
    if not isinstance(value, str):
        return value
    try:
        inner = from_json(value)
    except ValueError:
        return value
    return inner if isinstance(inner, dict) and is_adk_eval_result(inner) else value


def _place(record: Record) -> str:
    return f"{PurePosixPath(record.source).name}:{record.position}"


def _named(conversation: Conversation, record: Record) -> Conversation:
    if not conversation.conversation_id:
        conversation.conversation_id = _place(record)
    return conversation


def _checked(found: Conversation | ValueError, record: Record) -> Conversation | ValueError:
    try:
        return found if isinstance(found, ValueError) else with_turns(checked(_named(found, record)))
    except ValueError as error:
        return error


class CaseReader:
    """Reads eval cases of every format, strictly.

    Attributes:
        config: How CES cases are judged where they do not say.
    """

    def __init__(self, config: CesConfig) -> None:
        self.config = config

    def read(self, record: Record) -> Sequence[EvalCase | ValueError]:
        """Returns the cases of a record (an error in place of one that is bad).

        Raises:
            ValueError: It holds no valid case; one line.
        """
        value = from_json(record.data)
        name = recognise(value)
        if name == "ces_evaluation":
            return [ces_cases.eval_case(record.data, self.config)]
        if name in ("adk_eval_set", "adk_eval_case"):
            return _each(value, "eval_cases", adk.eval_cases)
        if name in ("adk_legacy_rows", "adk_legacy_case"):
            stem = PurePosixPath(record.source).name.split(".")[0]
            return adk_legacy.legacy_cases(value if isinstance(value, list) else [value], stem)
        if name == "turnwise":
            return [turnwise.read_case(record.data)]
        raise ValueError(f"a record of the format {name} holds no eval case")


def is_one_record(elements: Sequence[object]) -> bool:
    """Tells whether a JSON array is one record as a whole: rows of an eval case, or messages of a chat."""
    first = elements[0] if elements else None
    return isinstance(first, dict) and ("query" in first or "role" in first)
