"""Grounded answers in a flat spelling, as replies with a question.

A record is `{id, query, answer, citations, references, claims, labels}`; `labels.support_score` is the score
of the whole answer. A citation is `{start, end, reference_ids}`; a claim the same with `score` and
`check_required`; a reference `{id, content, uri, title, relevance}`. Offsets count bytes, as in an Answer.
"""

from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.messages.values import stated


def is_flat(value: JsonObject) -> bool:
    """Returns whether an answer is in the flat spelling."""
    return isinstance(value.get("answer"), str) and ("references" in value or "citations" in value)


def as_reply(value: JsonObject) -> JsonObject:
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
    sources = [{"referenceId": places.get(name, _unknown(name))} for name in named]
    return {"startIndex": value.get("start"), "endIndex": value.get("end"), "sources": sources}


def _unknown(name: str) -> str:
    """Returns a name that no reference has, so that it is not read as a place in the list."""
    return f"id {name}" if name.isdecimal() else name


def _reference(value: JsonObject) -> JsonObject:
    document = {"uri": value.get("uri"), "title": value.get("title")}
    chunk = {"content": value.get("content"), "relevanceScore": value.get("relevance")}
    return {"chunkInfo": {**chunk, "documentMetadata": document}}
