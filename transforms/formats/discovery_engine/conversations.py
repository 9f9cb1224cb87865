"""Discovery Engine's Answers, replies to questions, and sessions, as canonical conversations."""

import re
from collections.abc import Sequence
from itertools import islice

from pydantic.alias_generators import to_camel

from turnwise.schemas.config import DiscoveryEngineConfig
from turnwise.schemas.conversation import (
    FAILED,
    SUCCEEDED,
    UNFINISHED,
    Conversation,
    GroundedAnswer,
    Problem,
    Turn,
)
from turnwise.schemas.discovery_engine import Answer, AnswerSession, SessionTurn
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.schemas.proto.message import read_lenient
from turnwise.transforms.formats.answers import PLACEHOLDERS, answer_turn, read_problems
from turnwise.transforms.formats.discovery_engine.flat import as_reply, is_flat
from turnwise.transforms.formats.endings import UNKNOWN, End
from turnwise.transforms.formats.spellings import as_text

_ENGINE = re.compile(r"(.*?/(?:engines|dataStores)/[^/]+)/sessions/")
_MAX_TAGS = 50
_STATES = (None, SUCCEEDED, FAILED, *UNFINISHED)
_FIELDS = frozenset(map(to_camel, Answer.model_fields))


def answer_conversation(value: JsonValue, config: DiscoveryEngineConfig) -> Conversation:
    """Converts an Answer, an AnswerQueryResponse or a Session whose turns have detailed answers.

    `query` beside an Answer or a reply (a text or a Query; no field of either) is the question, and
    `evaluation` or `eval_id` in any of them may name the case. What cannot be read counts as absent and is
    kept as a problem of its turn.

    Raises:
        ValueError: It is none of them; one line.
    """
    if not isinstance(value, dict):
        raise ValueError(f"a JSON object is needed, not {type(value).__name__}")
    record = as_reply(value) if is_flat(value) else value
    made = _session(record, config) if "turns" in record else _single(record, config)
    found = [turn.grounded for turn in made.turns if turn.grounded is not None]
    tags = dict.fromkeys(tag for answer in found for tag in answer.tags)
    made.tags += [tag for tag in islice(tags, _MAX_TAGS) if tag not in made.tags]
    made.ended, made.ended_detail = _end(found)
    if config.app_version_field is not None:
        made.app_version = _app_version(value, config.app_version_field)
    case = value.get("evaluation") or value.get("eval_id")
    made.eval_id = case if isinstance(case, str) else None
    made.eval_set_id = as_text(value.get("eval_set_id"))
    return made


def _end(answers: Sequence[GroundedAnswer]) -> End:
    """Returns the end of a conversation: a failed last answer, or an unknown state."""
    states = [answer.state for answer in answers]
    if states and states[-1] == FAILED:
        return End("agent_error", "the state of the last answer is FAILED")
    unknown = next((state for state in states if state not in _STATES), None)
    return UNKNOWN if unknown is None else End(None, f"the state of an answer is {unknown}")


def _session(value: JsonObject, config: DiscoveryEngineConfig) -> Conversation:
    turns = value["turns"]
    if not isinstance(turns, list):
        raise ValueError("Session.turns: a repeated field must be a JSON array")
    made, problems = _headed(value)
    made.turns = [_session_turn(index, raw, config) for index, raw in enumerate(turns)]
    return _with_problems(made, problems)


def _headed(value: JsonObject) -> tuple[Conversation, list[Problem]]:
    """Returns the conversation of a session without turns, and its problems."""
    header = {key: item for key, item in value.items() if key != "turns"}
    session, problems_found = read_lenient(AnswerSession, header, "Session", PLACEHOLDERS)
    made = Conversation(
        conversation_id=session.name,
        source="discovery_engine",
        app_version=_engine(session.name),
        start_time=session.start_time,
        tags=list(session.labels),
        user_id=session.user_pseudo_id or None,
    )
    return made, read_problems(problems_found)


def _with_problems(made: Conversation, problems: list[Problem]) -> Conversation:
    """Adds the problems of a session to its first turn."""
    first = made.turns[0].grounded if made.turns else None
    if first is not None:
        first.problems = problems + first.problems
    return made


def _session_turn(index: int, raw: JsonValue, config: DiscoveryEngineConfig) -> Turn:
    label, is_object = f"Session.turns[{index}]", isinstance(raw, dict)
    message, problems_found = read_lenient(SessionTurn, raw if is_object else {}, label, PLACEHOLDERS)
    if not is_object:
        problems_found.unreadable.append(f"{label}: a message must be a JSON object")
    asked, answer = message.query.text if message.query else None, message.detailed_answer or Answer()
    logged = (raw.get("detailedAnswer") or raw.get("detailed_answer")) if isinstance(raw, dict) else None
    logged = logged if isinstance(logged, dict) else {}
    return answer_turn(index, asked, answer, problems_found, config.tool_name, logged)


def _single(value: JsonObject, config: DiscoveryEngineConfig) -> Conversation:
    """Reads an Answer, or a reply that holds one."""
    body = value["answer"] if isinstance(value.get("answer"), dict) else value
    if body is value and not any(to_camel(str(key)) in _FIELDS for key in value):
        raise ValueError("neither an Answer, nor a reply or a session that holds one")
    answer, problems_found = read_lenient(Answer, body, "Answer", PLACEHOLDERS)
    session = value.get("session")
    made, problems = _headed(session if isinstance(session, dict) else {})
    asked = _question(value, session, answer.name)
    made.turns = [answer_turn(0, asked, answer, problems_found, config.tool_name, body)]
    made.conversation_id = answer.name or made.conversation_id
    made.app_version = _engine(answer.name) or made.app_version
    made.start_time = answer.create_time or made.start_time
    return _with_problems(made, problems)


def _question(value: JsonObject, session: JsonValue, answer_name: str) -> str | None:
    """Returns the question beside the answer, or of the session's turn of that answer.

    If no turn names that answer, the last one counts, unless it names another.
    """
    own = _query_text(value.get("query"))
    if own is not None or not isinstance(session, dict) or not isinstance(session.get("turns"), list):
        return own
    turns = [turn for turn in session["turns"] if isinstance(turn, dict)]
    named = [turn for turn in turns if answer_name and turn.get("answer") == answer_name]
    last = named[-1:] or [turn for turn in turns[-1:] if not (answer_name and turn.get("answer"))]
    return _query_text(last[0].get("query")) if last else None


def _query_text(query: JsonValue) -> str | None:
    if isinstance(query, str):
        return query
    text = query.get("text") if isinstance(query, dict) else None
    return text if isinstance(text, str) else None


def _engine(name: str) -> str | None:
    """Returns the engine (or data store) in the name of a session or an answer."""
    match = _ENGINE.match(name)
    return match[1] if match else None


def _app_version(value: JsonObject, field: str) -> str | None:
    """Returns a field of a record as text; None: it is absent, or no text or number."""
    found: JsonValue = value
    for step in field.split("."):
        if isinstance(found, dict):
            found = found.get(step)
        elif isinstance(found, list) and step.isdecimal() and int(step) < len(found):
            found = found[int(step)]
        else:
            return None
    return as_text(found) if isinstance(found, str | int | float) and str(found).strip() else None
