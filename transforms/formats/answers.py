"""Discovery Engine's Answers as turns."""

import re
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import TypeAlias

from pydantic.alias_generators import to_camel

from turnwise.schemas import conversation as grounded
from turnwise.schemas import discovery_engine as engine
from turnwise.schemas.config import DiscoveryEngineConfig
from turnwise.schemas.conversation import Conversation, GroundedAnswer, Problem, ToolCall, ToolResponse, Turn
from turnwise.schemas.jsonio import JsonObject, JsonValue, shown
from turnwise.schemas.proto.message import OpenEnum, ReadProblems, read_lenient
from turnwise.schemas.proto.scalars import timestamp_nanos
from turnwise.transforms.formats.endings import UNKNOWN, End, name_of, spelt
from turnwise.transforms.formats.fields import Unread
from turnwise.transforms.formats.identity import OF_CES
from turnwise.transforms.formats.messages.kinds import as_object, objects_in, snake, stated
from turnwise.transforms.formats.registry import register_built_in

_PLACEHOLDERS: Mapping[str, JsonValue] = {"startIndex": -1, "endIndex": -1}
"""Replacement for an unreadable offset, which is outside every text."""
_NANOS_PER_MS = 1_000_000
_Source: TypeAlias = engine.DocumentMetadata | engine.UnstructuredDocumentInfo | engine.StructuredDocumentInfo
_Answered: TypeAlias = tuple[str | None, engine.Answer, ReadProblems, JsonObject]
"""A question, its answer, what of them could not be read, and the answer as it is logged."""
_PART = re.compile(r"(?:Answer|Session\.turns\[\d+\]\.detailed_?[aA]nswer)\.(\w+)(?:\[\d+\])?(?:\.(\w+))?")


def _answer_turn(index: int, answered: _Answered, tool_name: str) -> Turn:
    question, answer, problems_found, raw = answered
    latency, problems = None, _read_problems(problems_found)
    if answer.create_time is not None and answer.complete_time is not None:
        nanos = timestamp_nanos(answer.complete_time) - timestamp_nanos(answer.create_time)
        latency = nanos / _NANOS_PER_MS
    if latency is not None and latency < 0:
        problems.append(Problem("NegativeDuration", f"completeTime is {-latency:g} ms before createTime"))
        latency = None
    # Parts of which something could not be read are named two names deep at most.
    matches = (_PART.match(message) for message in problems_found.unreadable)
    parts = (".".join(snake(name) for name in match.groups() if name) for match in matches if match)
    annotations = _grounded(answer, problems, list(dict.fromkeys(parts)))
    turn = Turn(turn_index=index, user=question, agent=answer.answer_text or None, grounded=annotations)
    turn.timestamp, turn.latency_ms = answer.create_time, latency
    turn.unknown_calls = annotations.why_unread("steps.actions")
    actions = [(f"s{i}a{k}", s, a) for i, s in enumerate(answer.steps) for k, a in enumerate(s.actions)]
    for call_id, step, action in actions:
        search, seen = action.search_action, action.observation
        name, args = (None, None) if search is None else (tool_name, {"query": search.query})
        turn.tool_calls.append(ToolCall(name=name, id=call_id, args=args))
        results = None if seen is None else {"output": {"results": seen.to_value().get("searchResults", [])}}
        error = True if step.state == engine.StepState.FAILED else None
        if results or error:
            turn.tool_responses.append(ToolResponse(name=name, id=call_id, response=results, error=error))
    unread = Unread()
    for logged in objects_in(raw.get("steps")):
        for item in objects_in(logged.get("actions")):
            if item.keys().isdisjoint(("searchAction", "search_action")):
                unread.part(next((name for name in item if name != "observation"), "action"), False)
    return unread.add_to(turn)


def _read_problems(problems_found: ReadProblems) -> list[Problem]:
    kinds = (("UnreadableField", problems_found.unreadable), ("UnknownEnumValue", problems_found.unknown))
    return [Problem.of(kind, messages) for kind, messages in kinds if messages]


def _grounded(answer: engine.Answer, problems: list[Problem], unread: list[str]) -> GroundedAnswer:
    understood = answer.query_understanding_info
    classes = understood.query_classification_info if understood else []
    made = GroundedAnswer(_name(answer.state), answer.grounding_score, problems=problems, unread=unread)
    for cited in answer.citations:
        sources = [source.reference_id for source in cited.sources]
        made.citations.append(grounded.Citation(cited.start_index, cited.end_index, sources))
    for claim in answer.grounding_supports:
        sources = [source.reference_id for source in claim.sources]
        support = claim.grounding_score, claim.grounding_check_required
        made.claims.append(grounded.GroundedClaim(claim.start_index, claim.end_index, *support, sources))
    for reference in answer.references:
        chunk, document = reference.chunk_info, reference.unstructured_document_info
        source: _Source | None = document or reference.structured_document_info
        chunks: Sequence[engine.ReferenceChunkInfo | engine.ChunkContent]
        chunks = document.chunk_contents if document else ()
        if chunk is not None:
            source, chunks = chunk.document_metadata, [chunk]
        listed = grounded.Reference(texts=[held.content for held in chunks if held.content])
        relevances = [held.relevance_score for held in chunks if held.relevance_score is not None]
        if relevances and len(relevances) == len(chunks):
            listed.relevance = max(relevances)
        if source is not None:
            listed.title, listed.uri = source.title or None, source.uri or None
            listed.document, listed.data = source.document or None, source.struct_data
        made.references.append(listed)
    for rating in answer.safety_ratings:
        likely = _name(rating.probability), rating.probability_score
        severe = _name(rating.severity), rating.severity_score
        rated = grounded.SafetyRating(rating.category.name, *likely, *severe, rating.blocked)
        made.safety_ratings.append(rated)
    made.skipped_reasons = [reason.name for reason in answer.answer_skipped_reasons]
    made.query_classes = [query_class.type.name for query_class in classes if query_class.positive]
    made.related_questions = list(answer.related_questions)
    for step in answer.steps:
        seen = sum(action.observation is not None for action in step.actions)
        description = step.description or None
        made.steps.append(grounded.GroundedStep(_name(step.state), description, len(step.actions), seen))
    return made


def _name(value: OpenEnum) -> str | None:
    return value.name if value else None


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


def _fits(record: JsonObject) -> bool:
    """Returns whether a record is an Answer, a reply that holds one, or a session of some."""
    turns, answer, keys = record.get("turns"), record.get("answer"), record.keys()
    is_session = isinstance(turns, list) and bool(_OF_SESSION_NAME.search(name_of(record)))
    if is_session or any(turn.keys() & _OF_ANSWER_TURNS for turn in objects_in(turns)):
        return True
    if isinstance(answer, dict) and ("answerQueryToken" in record or answer.keys() & _INSIDE_ANSWERS):
        return True
    is_named = any(_OF_ANSWER_NAME.search(name_of(held)) for held in (record, as_object(answer)))
    is_rated = bool(keys & _RATINGS and keys & _PARTS_OF_ANSWERS)
    return is_named or is_rated or _is_flat(record) or bool(keys & _OF_ANSWERS)


# For example {"answer": {"answerText": "Up to 7 kg.", "citations": []}, "query": {"text": "How much?"}}
register_built_in(
    "discovery_engine", 90, "Discovery Engine Answer, AnswerQueryResponse and Session, or flat answers",
    _fits, ("answerText", "citations", "references"),
    read_log=lambda value, record, settings: [answer_conversation(value, settings.answers)],
    places=(("", OF_CES),),
)  # fmt: skip


# Discovery Engine's Answers, replies to questions, and sessions, as canonical conversations.

_ENGINE = re.compile(r"(.*?/(?:engines|dataStores)/[^/]+)/sessions/")
_MAX_TAGS = 50
_STATES = (None, grounded.SUCCEEDED, grounded.FAILED, *grounded.UNFINISHED)
_FIELDS = frozenset(map(to_camel, engine.Answer.model_fields))


def answer_conversation(value: JsonValue, config: DiscoveryEngineConfig) -> Conversation:
    """Converts an Answer, an AnswerQueryResponse or a Session whose turns have detailed answers.

    `query` beside an Answer or a reply (a text or a Query; no field of either) is the question. What cannot
    be read counts as absent and is kept as a problem of its turn. Raises ValueError, one line, for another.
    """
    if not isinstance(value, dict):
        raise ValueError(f"a JSON object is needed, not {shown(value)}")
    record = _as_reply(value) if _is_flat(value) else value
    answered = _answered(record)
    is_session = "turns" in record
    header = record if is_session else as_object(record.get("session"))
    only = engine.Answer() if is_session else answered[0][1]
    turns = [_answer_turn(index, given, config.tool_name) for index, given in enumerate(answered)]
    answers = [turn.grounded for turn in turns if turn.grounded is not None]
    about = {key: item for key, item in header.items() if key != "turns"}
    session, problems = read_lenient(engine.AnswerSession, about, "Session", _PLACEHOLDERS)
    for first in answers[:1]:
        first.problems = _read_problems(problems) + first.problems
    engines = filter(None, map(_ENGINE.match, (only.name, session.name)))
    tags = dict.fromkeys(tag for answer in answers for tag in answer.tags)
    states = [answer.state for answer in answers]
    unknown = next((state for state in states if state not in _STATES), None)
    end = UNKNOWN if unknown is None else End(None, f"the state of an answer is {unknown}")
    if states and states[-1] == grounded.FAILED:
        end = End("agent_error", "the state of the last answer is FAILED")
    made = Conversation(only.name or session.name, turns=turns, source="discovery_engine")
    made.app_version = next((match[1] for match in engines), None)
    made.start_time, made.user_id = only.create_time or session.start_time, session.user_pseudo_id or None
    made.tags = [*session.labels, *(tag for tag in islice(tags, _MAX_TAGS) if tag not in session.labels)]
    made.ended, made.ended_detail = end.ended, end.detail
    return made


def _answered(value: JsonObject) -> list[_Answered]:
    """Returns the answers of a session, or the one of a reply."""
    answered: list[_Answered] = []
    if not isinstance(value.get("turns", []), list):
        raise ValueError("Session.turns: a repeated field must be a JSON array")
    for index, raw in enumerate(value.get("turns", ())):
        label, logged = f"Session.turns[{index}]", as_object(raw)
        message, problems = read_lenient(engine.SessionTurn, logged, label, _PLACEHOLDERS)
        if not isinstance(raw, dict):
            problems.unreadable.append(f"{label}: a message must be a JSON object")
        asked = message.query.text if message.query else None
        body = as_object(logged.get("detailedAnswer") or logged.get("detailed_answer"))
        answered.append((asked, message.detailed_answer or engine.Answer(), problems, body))
    if "turns" in value:
        return answered
    body = value["answer"] if isinstance(value.get("answer"), dict) else value
    if body is value and not any(to_camel(str(key)) in _FIELDS for key in value):
        raise ValueError("neither an Answer, nor a reply or a session that holds one")
    answer, problems = read_lenient(engine.Answer, body, "Answer", _PLACEHOLDERS)
    # The question stands beside the answer, or in the session's turn of that answer; if no turn names that
    # answer, the last one counts, unless it names another.
    turns = objects_in(as_object(value.get("session")).get("turns"))
    named = [turn for turn in turns if answer.name and turn.get("answer") == answer.name]
    last = named[-1:] or [turn for turn in turns[-1:] if not (answer.name and turn.get("answer"))]
    queries = (holder.get("query") for holder in (value, *last))
    texts = (query.get("text") if isinstance(query, dict) else query for query in queries)
    question = next((text for text in texts if isinstance(text, str)), None)
    return [(question, answer, problems, body)]


# Grounded answers in a flat spelling, as replies with a question.
#
# A record is `{id, query, answer, citations, references, claims, labels}`; `labels.support_score` is the
# score of the whole answer. A citation is `{start, end, reference_ids}`; a claim the same with `score` and
# `check_required`; a reference `{id, content, uri, title, relevance}`. Offsets count bytes, as in an Answer.
def _is_flat(value: JsonObject) -> bool:
    return isinstance(value.get("answer"), str) and ("references" in value or "citations" in value)


def _as_reply(value: JsonObject) -> JsonObject:
    """Returns a flat answer in the spelling of an AnswerQueryResponse with a question; nothing is checked."""
    references, labels = _objects(value.get("references")), value.get("labels")
    places = {str(stated(reference).get("id", i)): str(i) for i, reference in enumerate(references)}
    answer: JsonObject = {"name": value.get("id"), "answerText": value["answer"]}
    answer["citations"] = [_marked(citation, places) for citation in _objects(value.get("citations"))]
    answer["groundingSupports"], answer["references"] = [], []
    for claim in _objects(value.get("claims")):
        names = {"groundingScore": "score", "groundingCheckRequired": "check_required"}
        support = {name: claim.get(key) for name, key in names.items()}
        answer["groundingSupports"].append(_marked(claim, places) | support)
    for reference in references:
        about = {"uri": reference.get("uri"), "title": reference.get("title")}
        chunk = {"content": reference.get("content"), "relevanceScore": reference.get("relevance")}
        answer["references"].append({"chunkInfo": chunk | {"documentMetadata": about}})
    answer["groundingScore"] = labels.get("support_score") if isinstance(labels, dict) else None
    return {"query": value.get("query"), "answer": answer}


def _objects(value: JsonValue) -> list[JsonObject]:
    """Returns the elements of a list; an element that is no object is an empty one."""
    return [item if isinstance(item, dict) else {} for item in value] if isinstance(value, list) else []


def _marked(value: JsonObject, places: dict[str, str]) -> JsonObject:
    ids = value.get("reference_ids")
    named = [str(name) for name in ids] if isinstance(ids, list) else []
    ids = [places.get(name, f"id {name}" if name.isdecimal() else name) for name in named]
    sources = [{"referenceId": reference_id} for reference_id in ids]
    return {"startIndex": value.get("start"), "endIndex": value.get("end"), "sources": sources}
