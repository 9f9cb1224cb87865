"""Answers of a search engine, as an object."""

import re

from turnwise.schemas.conversation import Conversation, Record
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.discovery_engine.flat import is_flat
from turnwise.transforms.formats.registry import Format, ReadSettings, register_format
from turnwise.transforms.formats.spellings import name_of, spelt

_OF_ANSWERS = spelt(
    *("answer_text", "grounding_supports", "grounding_score", "answer_skipped_reasons"),
    *("query_understanding_info", "related_questions"),
)
_RATINGS = spelt("safety_ratings")
_PARTS_OF_ANSWERS = frozenset(("state", "citations", "references", "steps"))
_INSIDE_ANSWERS = _OF_ANSWERS | _RATINGS | _PARTS_OF_ANSWERS
_OF_ANSWER_TURNS = spelt("detailed_answer")
_OF_ANSWER_NAME = re.compile(r"/sessions/[^/]+/answers/[^/]+$")
_OF_SESSION_NAME = re.compile(r"/(engines|dataStores)/[^/]+/sessions/[^/]+$")


def _is_answer(record: JsonObject) -> bool:
    is_rated = bool(record.keys() & _RATINGS and record.keys() & _PARTS_OF_ANSWERS)
    own = bool(record.keys() & _OF_ANSWERS) or is_rated
    return own or is_flat(record) or bool(_OF_ANSWER_NAME.search(name_of(record)))


def _is_reply(record: JsonObject) -> bool:
    answer = record.get("answer")
    return isinstance(answer, dict) and bool(
        "answerQueryToken" in record or answer.keys() & _INSIDE_ANSWERS or _is_answer(answer)
    )


def _is_session(record: JsonObject) -> bool:
    turns = record.get("turns")
    if not isinstance(turns, list):
        return False
    return any(isinstance(t, dict) and t.keys() & _OF_ANSWER_TURNS for t in turns) or bool(
        _OF_SESSION_NAME.search(name_of(record))
    )


def _read(value: JsonValue, record: Record, settings: ReadSettings) -> list[Conversation]:
    # Imported late: runs that read no answers do not wait for the classes of messages.
    from turnwise.transforms.formats.discovery_engine.conversations import answer_conversation

    return [answer_conversation(value, settings.answers)]


register_format(
    Format(
        name="discovery_engine",
        help="Discovery Engine Answer, AnswerQueryResponse and Session, or flat answers",
        keys=("answerText", "citations", "references"),
        rank=90,
        recognises=lambda record: _is_session(record) or _is_reply(record) or _is_answer(record),
        read_log=_read,
        has_rubrics=False,
    )
)
