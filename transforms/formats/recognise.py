"""Which format a parsed record is in, told by its keys."""

import re
from collections.abc import Callable
from itertools import islice

from pydantic.alias_generators import to_camel

from turnwise.schemas.values import JsonObject, JsonValue
from turnwise.transforms.formats.discovery_engine.flat import is_flat
from turnwise.transforms.formats.foreign import NEXT_STEP, foreign_format

SHOWN_KEYS = 8
_ONLY_OF_ANSWERS = (
    "answer_text",
    "grounding_supports",
    "grounding_score",
    "answer_skipped_reasons",
    "query_understanding_info",
    "related_questions",
)
_OF_ANSWERS = frozenset((*_ONLY_OF_ANSWERS, *map(to_camel, _ONLY_OF_ANSWERS)))
_RATINGS = frozenset(("safety_ratings", "safetyRatings"))
_PARTS_OF_ANSWERS = frozenset(("state", "citations", "references", "steps"))
_INSIDE_ANSWERS = _OF_ANSWERS | _RATINGS | _PARTS_OF_ANSWERS
_OF_EVENTS = frozenset(("content", "actions", "invocation_id", "invocationId", "errorCode", "error_code"))
_OF_ANSWER_TURNS = frozenset({"detailedAnswer", "detailed_answer"})
_OF_ANSWER_NAME = re.compile(r"/sessions/[^/]+/answers/[^/]+$")
_OF_SESSION_NAME = re.compile(r"/(engines|dataStores)/[^/]+/sessions/[^/]+$")


def recognise(value: JsonValue) -> str:
    """Returns the name of a parsed record's format.

    Args:
        value: A JSON object; of the formats that are lists (`openai_chat`, `adk_legacy_rows`,
            `adk_legacy_case`) also the list.

    Raises:
        ValueError: No format fits, or it is another system's that is not read; one line that says what it is.
    """
    sample = value[0] if isinstance(value, list) and value else value
    record = {"messages": value} if _is_message(sample) else sample
    if isinstance(record, dict):
        for name, fits in TESTS:
            if fits(record) and not (name == "openai_chat" and foreign_format(record)):
                return name
    foreign = foreign_format(record if isinstance(record, dict) else value)
    if foreign:
        raise ValueError(f"{foreign}: this format is not read; {NEXT_STEP}")
    known = f"known formats: {', '.join(FORMATS)}"
    if _is_message(value):
        said = "a single message; a chat is one record that holds all its messages in a list under messages"
        raise ValueError(f"unrecognised record: {_described(value)}: {said}")
    raise ValueError(f"unrecognised record: {_described(record)} ({known}); {NEXT_STEP}")


def _described(record: JsonValue) -> str:
    if not isinstance(record, dict):
        return f"{type(record).__name__}, not an object"
    more = ", ..." if len(record) > SHOWN_KEYS else ""
    return f"keys {', '.join(islice(record, SHOWN_KEYS))}{more}"


def _is_message(value: JsonValue) -> bool:
    return isinstance(value, dict) and "role" in value


def _is_conversation(record: JsonObject) -> bool:
    return "conversation_id" in record and "turns" in record


def _is_turn_event(record: JsonObject) -> bool:
    marks = {"turn", "turn_index", "event_id", "event_time", "end", "ended"}
    return "conversation_id" in record and bool(record.keys() & marks) and not _is_chat(record)


def _is_adk_event(record: JsonObject) -> bool:
    """Tells an event in an envelope, the bare end of a session, or an event that names its session."""
    if not record.keys() & {"session_id", "sessionId"}:
        return False
    event = record.get("event")
    if not isinstance(event, dict | None):
        return True
    inside = isinstance(event, dict) and bool(event.keys() & {"author", *_OF_EVENTS})
    return inside or record.get("end") is True or bool(record.get("ended")) or _is_adks(record)


def _is_adks(event: JsonObject) -> bool:
    return "author" in event and bool(event.keys() & _OF_EVENTS)


def _is_case(record: JsonObject) -> bool:
    return "eval_id" in record and bool(
        record.keys() & {"kind", "dialect", "turns", "task", "actions", "rubrics"}
    )


def _is_adk_eval_set(record: JsonObject) -> bool:
    return "eval_cases" in record or "evalCases" in record


def _is_adk_eval_case(record: JsonObject) -> bool:
    scripts = {"conversation", "conversation_scenario", "conversationScenario"}
    return bool(record.keys() & {"eval_id", "evalId"} and record.keys() & scripts)


def is_adk_eval_result(record: JsonObject) -> bool:
    """Tells a file of google-adk's eval results."""
    return "eval_case_results" in record or "evalCaseResults" in record


def _is_adk_case_result(record: JsonObject) -> bool:
    return "eval_metric_result_per_invocation" in record or "evalMetricResultPerInvocation" in record


def _is_adk_session(record: JsonObject) -> bool:
    """Tells a session by an event with an author; one without events by its state, or whose it is."""
    if not record.keys() >= {"id", "events"}:
        return False
    events = record["events"]
    if not events:
        return bool(record.keys() & {"state", "app_name", "appName"})
    return isinstance(events, list) and any(isinstance(event, dict) and _is_adks(event) for event in events)


def _is_adk_legacy_case(record: JsonObject) -> bool:
    return "name" in record and isinstance(record.get("data"), list)


def _is_adk_legacy_row(record: JsonObject) -> bool:
    return "query" in record and ("expected_tool_use" in record or "reference" in record)


def _is_ces_evaluation_result(record: JsonObject) -> bool:
    own = {
        "goldenResult",
        "golden_result",
        "scenarioResult",
        "scenario_result",
        "executionState",
        "execution_state",
    }
    return bool(record.keys() & own) or "/results/" in _name(record)


def _is_ces_evaluation(record: JsonObject) -> bool:
    return "golden" in record or "scenario" in record or "/evaluations/" in _name(record)


def _is_ces_session_output(record: JsonObject) -> bool:
    labels = record.get("labels")
    logged = "jsonPayload" in record and isinstance(labels, dict) and "session_id" in labels
    turn, diagnosis = {"turnIndex", "turn_index"}, {"diagnosticInfo", "diagnostic_info"}
    return logged or bool(record.keys() & turn and record.keys() & diagnosis)


def _is_ces_conversation(record: JsonObject) -> bool:
    turns = record.get("turns")
    holders = [record, *turns] if isinstance(turns, list) else [record]
    return "/conversations/" in _name(record) or any(map(_holds_chunks, holders))


def _is_answer(record: JsonObject) -> bool:
    is_rated = bool(record.keys() & _RATINGS and record.keys() & _PARTS_OF_ANSWERS)
    own = bool(record.keys() & _OF_ANSWERS) or is_rated
    return own or is_flat(record) or bool(_OF_ANSWER_NAME.search(_name(record)))


def _is_answer_reply(record: JsonObject) -> bool:
    answer = record.get("answer")
    return isinstance(answer, dict) and bool(
        "answerQueryToken" in record or answer.keys() & _INSIDE_ANSWERS or _is_answer(answer)
    )


def _is_answer_session(record: JsonObject) -> bool:
    turns = record.get("turns")
    if not isinstance(turns, list):
        return False
    return any(isinstance(t, dict) and t.keys() & _OF_ANSWER_TURNS for t in turns) or bool(
        _OF_SESSION_NAME.search(_name(record))
    )


def _is_chat(record: JsonObject) -> bool:
    messages = record.get("messages", record.get("traj"))
    return isinstance(messages, list) and (any(map(_is_message, messages)) or _raised(record, messages))


def _raised(record: JsonObject, messages: list[JsonValue]) -> bool:
    """Tells a run of a task that raised before its first message."""
    info = record.get("info")
    return not messages and "task_id" in record and isinstance(info, dict) and bool(info.get("error"))


def _holds_chunks(holder: JsonValue) -> bool:
    messages = holder.get("messages") if isinstance(holder, dict) else None
    return isinstance(messages, list) and any(isinstance(m, dict) and "chunks" in m for m in messages)


def _name(record: JsonObject) -> str:
    name = record.get("name")
    return name if isinstance(name, str) else ""


TESTS: tuple[tuple[str, Callable[[JsonObject], bool]], ...] = (
    ("turnwise", _is_conversation),
    ("turn_event", _is_turn_event),
    ("adk_eval_set", _is_adk_eval_set),
    ("adk_eval_case", _is_adk_eval_case),
    ("adk_eval_result", is_adk_eval_result),
    ("adk_case_result", _is_adk_case_result),
    ("adk_session", _is_adk_session),
    ("adk_event", _is_adk_event),
    ("discovery_engine", _is_answer_session),
    ("discovery_engine", _is_answer_reply),
    ("discovery_engine", _is_answer),
    ("ces_evaluation_result", _is_ces_evaluation_result),
    ("ces_evaluation", _is_ces_evaluation),
    ("ces_session_output", _is_ces_session_output),
    ("ces_conversation", _is_ces_conversation),
    ("openai_chat", _is_chat),
    ("adk_legacy_case", _is_adk_legacy_case),
    ("adk_legacy_rows", _is_adk_legacy_row),
    ("turnwise", _is_case),
)

FORMATS = tuple(sorted({name for name, _ in TESTS}))
"""Names that `recognise` returns."""
