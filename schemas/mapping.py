"""The config's mapping from records of any form to conversations."""

from collections.abc import Iterator
from difflib import get_close_matches
from functools import lru_cache
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, model_validator

from turnwise.schemas.values import short_repr

_SHOWN = 200


def _checked(expression: str) -> str:
    import jmespath
    from jmespath.exceptions import JMESPathError

    try:
        problem = next(_problems(jmespath.compile(expression).parsed), None)
    except JMESPathError as error:
        problem = " ".join(str(error).split())[:_SHOWN]
    except RecursionError:
        problem = "it nests too deeply"
    if problem is not None:
        raise ValueError(f"{short_repr(expression, _SHOWN)} is no JMESPath expression: {problem}")
    return expression


def _problems(node: dict[str, Any]) -> Iterator[str]:
    """Yields what no record can be read by: functions that there are not, and the like."""
    from jmespath.functions import Functions

    children = node.get("children", [])
    if node["type"] == "slice":
        if children[2:] == [0]:
            yield "the step of a slice is 0"
        return
    if node["type"] == "function_expression":
        name = node["value"]
        table = Functions.FUNCTION_TABLE
        if name not in table:
            near = get_close_matches(name, table, 1)
            yield f"there is no function {name}()" + (f" (did you mean {near[0]}?)" if near else "")
            return
        wanted = table[name]["signature"]
        is_open = bool(wanted and wanted[-1].get("variadic"))
        if len(children) < len(wanted) or (len(children) > len(wanted) and not is_open):
            few = "at least " if is_open else ""
            yield f"{name}() takes {few}{len(wanted)} arguments, not {len(children)}"
    for child in children:
        yield from _problems(child)


Path = Annotated[str, AfterValidator(_checked)]
"""A JMESPath expression, such as `meta.id` or `lines[*].{user: asked, agent: said}`."""


class MappingConfig(BaseModel):
    """Where the fields of conversations stand in records of any form, as JMESPath expressions.

    Exactly one of `turns`, `messages`, `turn` and `message` is set. With one of the last two, a record is a
    part of a conversation, and records with one `conversation_id` are joined.

    Attributes:
        when: Only records for which this is true; None: those that no format recognises.
        conversation_id: Id of the conversation.
        turns: List of turns with the fields of canonical ones.
        messages: List of messages in any format that is read.
        turn: The turn that the record is.
        message: The message that the record is.
        ignored: Lists and objects that hold neither calls nor words.
        order: Number or text by which the records of a conversation are ordered, as numbers if all are
            numbers or texts of numbers; None: by time, then place.
    """

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True)

    when: Path | None = None
    conversation_id: Path | None = None
    turns: Path | None = None
    messages: Path | None = None
    turn: Path | None = None
    message: Path | None = None
    order: Path | None = None
    ignored: Path | None = None
    app_version: Path | None = None
    language: Path | None = None
    eval_id: Path | None = None
    eval_set_id: Path | None = None
    user_id: Path | None = None
    start_time: Path | None = None
    tags: Path | None = None
    ended: Path | None = None
    ended_detail: Path | None = None
    labels: Path | None = None
    state: Path | None = None
    tools: Path | None = None

    @property
    def is_part(self) -> bool:
        """Whether a record is a part of a conversation."""
        return bool(self.turn or self.message)

    @property
    def content(self) -> str:
        """The expression that finds turns or messages."""
        return self.turns or self.messages or self.turn or self.message or ""

    @model_validator(mode="after")
    def _one_content(self) -> "MappingConfig":
        given = [name for name in ("turns", "messages", "turn", "message") if getattr(self, name)]
        if len(given) != 1:
            raise ValueError("exactly one of turns, messages, turn and message is needed")
        if self.is_part and not self.conversation_id:
            raise ValueError(f"{given[0]} needs conversation_id, by which records are joined")
        return self


def named_keys(mapping: MappingConfig) -> frozenset[str]:
    """Returns all keys that the expressions of a mapping name."""
    import jmespath

    stated = (each for each in mapping.model_dump().values() if isinstance(each, str))
    nodes = (node for each in stated for node in _nodes(jmespath.compile(each).parsed))
    return frozenset(node["value"] for node in nodes if node["type"] == "field")


@lru_cache(maxsize=64)
def states_no_calls(expression: str) -> bool:
    """Returns whether an expression of turns or messages states that there are no calls."""
    import jmespath

    none = {"type": "literal", "value": [], "children": []}
    pairs = (node for node in _nodes(jmespath.compile(expression).parsed) if node["type"] == "key_val_pair")
    return any(pair["value"] == "tool_calls" and pair["children"] == [none] for pair in pairs)


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node["children"] if node["type"] not in ("slice", "literal") and "children" in node else ():
        yield from _nodes(child)
