"""Discovery Engine's Answers as turns."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from turnwise.schemas import conversation as grounded
from turnwise.schemas.conversation import ToolCall, ToolResponse, Turn
from turnwise.schemas.discovery_engine import (
    Answer,
    AnswerReference,
    AnswerSafetyRating,
    AnswerStep,
    ChunkContent,
    DocumentMetadata,
    ReferenceChunkInfo,
    StepAction,
    StepState,
    StructuredDocumentInfo,
    UnstructuredDocumentInfo,
)
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.schemas.proto.message import OpenEnum, ReadProblems
from turnwise.schemas.proto.scalars import timestamp_nanos
from turnwise.transforms.formats.unread import Unread, snake

PLACEHOLDERS: Mapping[str, JsonValue] = {"startIndex": -1, "endIndex": -1}
"""Replacement for an unreadable offset, which is outside every text."""
UNREADABLE = "UnreadableField"
UNKNOWN = "UnknownEnumValue"
BACKWARDS = "NegativeDuration"
_SEARCH = ("searchAction", "search_action")
_NANOS_PER_MS = 1_000_000
_PART = re.compile(r"(?:Answer|Session\.turns\[\d+\]\.detailed_?[aA]nswer)\.(\w+)(?:\[\d+\])?(?:\.(\w+))?")

_Source: TypeAlias = DocumentMetadata | UnstructuredDocumentInfo | StructuredDocumentInfo


def answer_turn(
    index: int,
    question: str | None,
    answer: Answer,
    problems_found: ReadProblems,
    tool_name: str,
    raw: JsonObject,
) -> Turn:
    """Returns the turn of a question and its answer.

    Args:
        index: 0-based turn index.
        question: Message of the user; None: not logged.
        answer: The answer.
        problems_found: Problems found while reading the answer.
        tool_name: Name of the search tool.
        raw: The answer as logged.
    """
    latency = _latency_ms(answer)
    problems = read_problems(problems_found)
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
    for step in _objects(raw.get("steps")):
        for action in _objects(step.get("actions")):
            if action.keys().isdisjoint(_SEARCH):
                unread.part(next((name for name in action if name != "observation"), "action"), False)
    return unread


def _objects(value: JsonValue) -> list[JsonObject]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def read_problems(problems_found: ReadProblems) -> list[grounded.Problem]:
    """Returns the problems found while reading, one per kind."""
    return [
        grounded.Problem.of(kind, messages)
        for kind, messages in ((UNREADABLE, problems_found.unreadable), (UNKNOWN, problems_found.unknown))
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
        references=[_reference(reference) for reference in answer.references],
        safety_ratings=[_rating(rating) for rating in answer.safety_ratings],
        skipped_reasons=[reason.name for reason in answer.answer_skipped_reasons],
        query_classes=[found.type.name for found in classes if found.positive],
        problems=problems,
        related_questions=list(answer.related_questions),
        steps=[_step(step) for step in answer.steps],
        unread=unread,
    )


def _step(step: AnswerStep) -> grounded.GroundedStep:
    return grounded.GroundedStep(
        state=_name(step.state),
        description=step.description or None,
        actions=len(step.actions),
        observed=sum(action.observation is not None for action in step.actions),
    )


def _name(value: OpenEnum) -> str | None:
    return value.name if value else None


def _reference(reference: AnswerReference) -> grounded.Reference:
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


def _rating(rating: AnswerSafetyRating) -> grounded.SafetyRating:
    return grounded.SafetyRating(
        category=rating.category.name,
        probability=_name(rating.probability),
        probability_score=rating.probability_score,
        severity=_name(rating.severity),
        severity_score=rating.severity_score,
        blocked=rating.blocked,
    )
