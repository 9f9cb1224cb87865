"""Discovery Engine's Answers as turns."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TypeAlias

from pydantic.alias_generators import to_camel

from turnwise.schemas import conversation as grounded
from turnwise.schemas.config import DiscoveryEngineConfig
from turnwise.schemas.conversation import (
    FAILED,
    SUCCEEDED,
    UNFINISHED,
    Conversation,
    GroundedAnswer,
    Problem,
    ToolCall,
    ToolResponse,
    Turn,
)
from turnwise.schemas.discovery_engine import (
    Answer,
    AnswerReference,
    AnswerSession,
    AnswerStep,
    ChunkContent,
    DocumentMetadata,
    ReferenceChunkInfo,
    SessionTurn,
    StepAction,
    StepState,
    StructuredDocumentInfo,
    UnstructuredDocumentInfo,
)
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.schemas.proto.message import OpenEnum, ReadProblems, read_lenient
from turnwise.schemas.proto.scalars import timestamp_nanos
from turnwise.transforms.formats.endings import UNKNOWN, End, as_text, name_of, spelt
from turnwise.transforms.formats.fields import Unread
from turnwise.transforms.formats.messages.kinds import snake
from turnwise.transforms.formats.messages.streams import stated
from turnwise.transforms.formats.registry import Format, register_format

PLACEHOLDERS: Mapping[str, JsonValue] = {"startIndex": -1, "endIndex": -1}
"""Replacement for an unreadable offset, which is outside every text."""
UNREADABLE = "UnreadableField"
ANSWERS_UNKNOWN = "UnknownEnumValue"
BACKWARDS = "NegativeDuration"
_SEARCH = ("searchAction", "search_action")
_NANOS_PER_MS = 1_000_000
_PART = re.compile(r"(?:Answer|Session\.turns\[\d+\]\.detailed_?[aA]nswer)\.(\w+)(?:\[\d+\])?(?:\.(\w+))?")

_Source: TypeAlias = DocumentMetadata | UnstructuredDocumentInfo | StructuredDocumentInfo


def _answer_turn(
    index: int,
    question: str | None,
    answer: Answer,
    problems_found: ReadProblems,
    tool_name: str,
    raw: JsonObject,
) -> Turn:
    """Returns the turn of a question and its answer."""
    latency = _latency_ms(answer)
    problems = _read_problems(problems_found)
    if latency is not None and latency < 0:
        problems.append(grounded.Problem(BACKWARDS, f"completeTime is {-latency:g} ms before createTime"))
    annotations = _grounded(answer, problems, _unread(problems_found))
    turn = Turn(
        turn_index=index,
        user=question,
        agent=answer.answer_text or None,
        tool_calls=[_call(place, action, tool_name) for place, _, action in _actions(answer.steps)],
        tool_responses=[
            _response(place, step, action, tool_name)
            for place, step, action in _actions(answer.steps)
            if action.observation is not None or step.state == StepState.FAILED
        ],
        timestamp=answer.create_time,
        latency_ms=latency if latency is not None and latency >= 0 else None,
        grounded=annotations,
        unknown_calls=annotations.why_unread("steps.actions"),
    )
    return _actions_unread(raw).add_to(turn)


def _actions_unread(raw: JsonObject) -> Unread:
    """Returns the unread actions of an answer, which are no searches."""
    unread = Unread()
    for step in _objects_answers(raw.get("steps")):
        for action in _objects_answers(step.get("actions")):
            if action.keys().isdisjoint(_SEARCH):
                unread.part(next((name for name in action if name != "observation"), "action"), False)
    return unread


def _objects_answers(value: JsonValue) -> list[JsonObject]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _read_problems(problems_found: ReadProblems) -> list[grounded.Problem]:
    """Returns the problems found while reading, one per kind."""
    return [
        grounded.Problem.of(kind, messages)
        for kind, messages in (
            (UNREADABLE, problems_found.unreadable),
            (ANSWERS_UNKNOWN, problems_found.unknown),
        )
        if messages
    ]


def _unread(problems_found: ReadProblems) -> list[str]:
    """Returns the parts of an answer of which something could not be read, two names deep at most."""
    found = (_PART.match(message) for message in problems_found.unreadable)
    parts = (".".join(snake(name) for name in match.groups() if name) for match in found if match)
    return list(dict.fromkeys(parts))


def _latency_ms(answer: Answer) -> float | None:
    if answer.create_time is None or answer.complete_time is None:
        return None
    return (timestamp_nanos(answer.complete_time) - timestamp_nanos(answer.create_time)) / _NANOS_PER_MS


def _actions(steps: Sequence[AnswerStep]) -> Iterator[tuple[str, AnswerStep, StepAction]]:
    for i, step in enumerate(steps):
        for k, action in enumerate(step.actions):
            yield f"s{i}a{k}", step, action


def _call(place: str, action: StepAction, tool_name: str) -> ToolCall:
    if action.search_action is None:
        return ToolCall(id=place)
    return ToolCall(name=tool_name, id=place, args={"query": action.search_action.query})


def _response(place: str, step: AnswerStep, action: StepAction, tool_name: str) -> ToolResponse:
    """Returns what came back of an action; without an observation that the step failed."""
    seen = action.observation
    results = None if seen is None else {"output": {"results": seen.to_value().get("searchResults", [])}}
    return ToolResponse(
        name=tool_name if action.search_action is not None else None,
        id=place,
        response=results,
        error=True if step.state == StepState.FAILED else None,
    )


def _grounded(answer: Answer, problems: list[grounded.Problem], unread: list[str]) -> grounded.GroundedAnswer:
    understood = answer.query_understanding_info
    classes = understood.query_classification_info if understood else []
    return grounded.GroundedAnswer(
        state=_name(answer.state),
        grounding_score=answer.grounding_score,
        citations=[
            grounded.Citation(c.start_index, c.end_index, [source.reference_id for source in c.sources])
            for c in answer.citations
        ],
        claims=[
            grounded.GroundedClaim(
                start=claim.start_index,
                end=claim.end_index,
                score=claim.grounding_score,
                check_required=claim.grounding_check_required,
                sources=[source.reference_id for source in claim.sources],
            )
            for claim in answer.grounding_supports
        ],
        references=[_reference_answers(reference) for reference in answer.references],
        safety_ratings=[
            grounded.SafetyRating(
                category=rating.category.name,
                probability=_name(rating.probability),
                probability_score=rating.probability_score,
                severity=_name(rating.severity),
                severity_score=rating.severity_score,
                blocked=rating.blocked,
            )
            for rating in answer.safety_ratings
        ],
        skipped_reasons=[reason.name for reason in answer.answer_skipped_reasons],
        query_classes=[found.type.name for found in classes if found.positive],
        problems=problems,
        related_questions=list(answer.related_questions),
        steps=[
            grounded.GroundedStep(
                state=_name(step.state),
                description=step.description or None,
                actions=len(step.actions),
                observed=sum(action.observation is not None for action in step.actions),
            )
            for step in answer.steps
        ],
        unread=unread,
    )


def _name(value: OpenEnum) -> str | None:
    return value.name if value else None


def _reference_answers(reference: AnswerReference) -> grounded.Reference:
    chunk, document = reference.chunk_info, reference.unstructured_document_info
    if chunk is not None:
        return _source(chunk.document_metadata, [chunk])
    if document is not None:
        return _source(document, document.chunk_contents)
    return _source(reference.structured_document_info, [])


def _source(
    source: _Source | None, chunks: Sequence[ReferenceChunkInfo | ChunkContent]
) -> grounded.Reference:
    made = grounded.Reference(texts=[chunk.content for chunk in chunks if chunk.content])
    relevances = [chunk.relevance_score for chunk in chunks if chunk.relevance_score is not None]
    if relevances and len(relevances) == len(chunks):
        made.relevance = max(relevances)
    if source is not None:
        made.title, made.uri = source.title or None, source.uri or None
        made.document, made.data = source.document or None, source.struct_data
    return made


# Answers of a search engine, as an object.

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
    return own or _is_flat(record) or bool(_OF_ANSWER_NAME.search(name_of(record)))


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


# For example {"answer": {"answerText": "Up to 7 kg.", "citations": []}, "query": {"text": "How much?"}}
register_format(
    Format(
        name="discovery_engine",
        help="Discovery Engine Answer, AnswerQueryResponse and Session, or flat answers",
        keys=("answerText", "citations", "references"),
        rank=90,
        recognises=lambda record: _is_session(record) or _is_reply(record) or _is_answer(record),
        read_log=lambda value, record, settings: [answer_conversation(value, settings.answers)],
        has_rubrics=False,
    )
)


# Discovery Engine's Answers, replies to questions, and sessions, as canonical conversations.

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
    record = _as_reply(value) if _is_flat(value) else value
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
    return made, _read_problems(problems_found)


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
    return _answer_turn(index, asked, answer, problems_found, config.tool_name, logged)


def _single(value: JsonObject, config: DiscoveryEngineConfig) -> Conversation:
    """Reads an Answer, or a reply that holds one."""
    body = value["answer"] if isinstance(value.get("answer"), dict) else value
    if body is value and not any(to_camel(str(key)) in _FIELDS for key in value):
        raise ValueError("neither an Answer, nor a reply or a session that holds one")
    answer, problems_found = read_lenient(Answer, body, "Answer", PLACEHOLDERS)
    session = value.get("session")
    made, problems = _headed(session if isinstance(session, dict) else {})
    asked = _question(value, session, answer.name)
    made.turns = [_answer_turn(0, asked, answer, problems_found, config.tool_name, body)]
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


# Grounded answers in a flat spelling, as replies with a question.
#
# A record is `{id, query, answer, citations, references, claims, labels}`; `labels.support_score` is the
# score of the whole answer. A citation is `{start, end, reference_ids}`; a claim the same with `score` and
# `check_required`; a reference `{id, content, uri, title, relevance}`. Offsets count bytes, as in an Answer.


def _is_flat(value: JsonObject) -> bool:
    """Returns whether an answer is in the flat spelling."""
    return isinstance(value.get("answer"), str) and ("references" in value or "citations" in value)


def _as_reply(value: JsonObject) -> JsonObject:
    """Returns a flat answer in the spelling of an AnswerQueryResponse with a question; nothing is checked."""
    references = _objects(value.get("references"))
    places = {str(stated(reference).get("id", i)): str(i) for i, reference in enumerate(references)}
    labels = value.get("labels")
    answer: JsonObject = {
        "name": value.get("id"),
        "answerText": value["answer"],
        "citations": [_marked(citation, places) for citation in _objects(value.get("citations"))],
        "groundingSupports": [
            {
                **_marked(claim, places),
                "groundingScore": claim.get("score"),
                "groundingCheckRequired": claim.get("check_required"),
            }
            for claim in _objects(value.get("claims"))
        ],
        "references": [_reference(reference) for reference in references],
        "groundingScore": labels.get("support_score") if isinstance(labels, dict) else None,
    }
    return {"query": value.get("query"), "answer": answer}


def _objects(value: JsonValue) -> list[JsonObject]:
    """Returns the elements of a list; an element that is no object is an empty one."""
    return [item if isinstance(item, dict) else {} for item in value] if isinstance(value, list) else []


def _marked(value: JsonObject, places: dict[str, str]) -> JsonObject:
    ids = value.get("reference_ids")
    named = [str(name) for name in ids] if isinstance(ids, list) else []
    sources = [
        {"referenceId": places.get(name, (f"id {name}" if name.isdecimal() else name))} for name in named
    ]
    return {"startIndex": value.get("start"), "endIndex": value.get("end"), "sources": sources}


def _reference(value: JsonObject) -> JsonObject:
    document = {"uri": value.get("uri"), "title": value.get("title")}
    chunk = {"content": value.get("content"), "relevanceScore": value.get("relevance")}
    return {"chunkInfo": {**chunk, "documentMetadata": document}}
