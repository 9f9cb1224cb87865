"""Schemas of answers: what a judge is asked to write, in which order."""

from collections.abc import Iterator, Sequence

from pydantic import BaseModel, ConfigDict, Field

from turnwise.schemas.jsonio import JsonObject

_ANALYSIS = "analysis"


class Reply(BaseModel):
    """Base of answer schemas; unknown keys make an answer unusable.

    >>> import turnwise
    >>> class Grade(turnwise.Reply):
    ...     grade: int
    >>> Grade(grade=3)
    Grade(grade=3)
    """

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True)

    def inapplicable(self) -> Sequence[bool]:
        """Returns for each of its verdicts whether it says that the question does not apply."""
        return (False,)


class ReasonedReply(Reply):
    """Base of answers and of entries of answers that begin with an analysis.

    The analysis is for the judge itself and is in no score. An answer counts without one, and with one that
    is longer than asked for.
    """

    analysis: str = Field(
        default="",
        description="Thinking, before anything is decided: what is asked, what the material shows.",
    )


def asked_schema(model: type[BaseModel], wants_analysis: bool) -> JsonObject:
    """Returns the JSON schema that an answer is asked for by, its `analysis` required or not in it."""
    schema, own = model.model_json_schema(), ReasonedReply.model_json_schema()["properties"][_ANALYSIS]
    for each in _objects(schema):
        if each["properties"].get(_ANALYSIS) != own:
            continue
        if wants_analysis:
            each["properties"][_ANALYSIS].pop("default")
            each["required"] = [_ANALYSIS, *each.get("required", [])]
        else:
            del each["properties"][_ANALYSIS]
    return schema


def _objects(schema: JsonObject) -> Iterator[JsonObject]:
    """Yields the object types of a schema."""
    for each in (schema, *schema.get("$defs", {}).values()):
        if "properties" in each:
            yield each
