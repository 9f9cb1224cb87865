"""The extension point of dialects: what a writer's attributes mean."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Literal

import msgspec
from msgspec import Struct

from turnwise.schemas.conversation import Usage
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.schemas.registry import Registry
from turnwise.transforms.formats.messages.kinds import SYSTEM
from turnwise.transforms.formats.messages.parts import HIDDEN, OBJECT, SpanMessage
from turnwise.transforms.formats.messages.spellings import HISTORIES, only_messages, read_messages
from turnwise.transforms.formats.traces.span import TraceSpan, as_count, is_cut, loaded

# What a span is: a model call, a tool call, an agent; and what it holds.

Kind = Literal["model", "tool", "agent", "chain", "handoff", "other"]
"""`agent`: an agent or a workflow; `chain`: a step that holds others; `other`: known, and none of these."""


class SpanStep(msgspec.Struct, kw_only=True, gc=False):
    """What dialects read in a span; None: not stated. Empty messages: stated, and cut off or no JSON.

    Attributes:
        kind: What the span is; None: unknown.
        name: Name of the tool, of the agent, or of the model.
        input: Messages that were given.
        output: Messages that came back.
        user: The user's message, where it is stated apart from the input.
        args: Arguments of a tool.
        result: Result of a tool.
        has_result: Whether the result is stated.
        error: Error of the tool or the agent.
        call_id: Id of the call.
        target: Agent that a hand-off leads to.
        version: Version of the agent.
        usage: Tokens.
        finish: Finish reason.
        response_id: Id of the model's reply.
        event: Which event of a call it is, where each has a span of its own: the start, the end, or what the
            agent was told.
        tags: Labels.
        unread: What is not read, such as events of an unknown type: words for several of them.
        dialects: Names of the dialects that were read.
    """

    kind: Kind | None = None
    name: str | None = None
    input: list[SpanMessage] | None = None
    output: list[SpanMessage] | None = None
    user: str | None = None
    args: JsonValue = None
    result: JsonValue = None
    has_result: bool = False
    error: bool | str | None = None
    call_id: str | None = None
    target: str | None = None
    version: str | None = None
    usage: Usage | None = None
    finish: str | None = None
    response_id: str | None = None
    event: Literal["start", "end", "told"] | None = None
    tags: list[str] = []
    unread: str | None = None
    dialects: list[str] = []

    def fill(self, other: "SpanStep") -> None:
        """Takes over what this one does not state; an error only if it has neither output nor result."""
        for field in self.__struct_fields__:
            if field not in _NOT_FILLED and not getattr(self, field):
                held = getattr(other, field)
                if held is not None:
                    setattr(self, field, held)
        is_answered = bool(self.output) or self.has_result
        self.error = self.error or (None if is_answered else other.error)
        if not self.has_result and other.has_result:
            self.result, self.has_result = other.result, True
        self.dialects = list(dict.fromkeys((*self.dialects, *other.dialects)))


_NOT_FILLED = ("dialects", "error", "has_result", "result")


class SpanDialect(Struct, frozen=True, kw_only=True):
    """How one writer spells agents, model calls and tool calls.

    Attributes:
        name: Its name, as it is told in the conversation's `source`.
        prefixes: First words of its attribute keys (`gen_ai`, `llm`); a span with none of them is not read.
        read: Adds what the span says to a step; an attribute of any type may come.
        rank: Of two dialects that state the same thing, the one of the lower rank counts.
        names: First words of the names of spans that are read even without such keys.
        is_guess: Whether it is asked only where no other says what the span is.
    """

    name: str
    prefixes: frozenset[str]
    read: Callable[[TraceSpan, SpanStep], None]
    rank: int
    names: tuple[str, ...] = ()
    is_guess: bool = False


def _fault(item: object) -> str | None:
    return None if isinstance(item, SpanDialect) else "it is no SpanDialect"


DIALECTS: Registry[SpanDialect] = Registry(
    "dialect of spans", "turnwise.dialects", "turnwise.transforms.formats.traces.dialects", _fault
)
"""Name -> dialect."""


def register_dialect(item: SpanDialect) -> SpanDialect:
    """Adds a dialect of spans and returns it; raises TypeError if it is none or its name is taken."""
    return DIALECTS.add(item)


def dialects_in_order() -> tuple[SpanDialect, ...]:
    """Returns all dialects as a span is tried on them."""
    return _in_order(len(DIALECTS), DIALECTS.changes)


@lru_cache(maxsize=1)
def _in_order(count: int, changes: int) -> tuple[SpanDialect, ...]:
    return tuple(sorted(DIALECTS.values(), key=lambda each: each.rank))


def text_at(attributes: JsonObject, *keys: str) -> str | None:
    """Returns the first of some attributes that is a text or number and not empty or hidden."""
    for key in keys:
        value = attributes.get(key)
        if value.__class__ is str:
            if value and value not in HIDDEN:
                return str(value)
        elif value.__class__ is int:
            return str(value)
    return None


def value_at(attributes: JsonObject, *keys: str) -> JsonValue:
    """Returns what the first stated of some attributes spells; None: none is stated, or it is hidden."""
    for key in keys:
        value = attributes.get(key)
        if value is not None and not (isinstance(value, str) and value in HIDDEN):
            return loaded(value)
    return None


def messages_at(value: JsonValue, role: str) -> list[SpanMessage] | None:
    """Returns the messages that an attribute holds; None: it is not stated, hidden, or holds none.

    Empty: it is JSON that is cut off.
    """
    if value is None:
        return None
    if not isinstance(value, str):
        return _readable(read_messages(value, role))
    if not value or value in HIDDEN:
        return None
    found = HISTORIES.read(value, role)
    return [] if len(found) == 1 and found[0].texts == [value] and is_cut(value) else _readable(found)


def _readable(messages: list[SpanMessage]) -> list[SpanMessage] | None:
    """Returns messages; None: there are none, or all are objects of a program in place of their content."""
    return messages if any(each.parts != [OBJECT] or each.texts for each in messages) else None


def json_messages_at(value: JsonValue, role: str) -> list[SpanMessage] | None:
    """Returns the messages of an attribute that is always JSON; empty: it is cut off, or no JSON."""
    found = messages_at(value, role)
    if not isinstance(value, str) or not found or len(found) > 1 or found[0].texts != [value]:
        return found
    return [] if value.lstrip().startswith(("{", "[", '"')) else found


def only_messages_at(value: JsonValue, role: str) -> list[SpanMessage] | None:
    """Returns the messages of an attribute that holds nothing but messages; what is none is nobody's.

    None: it is not stated. Empty: it is cut off, or no JSON.
    """
    found = json_messages_at(value, role)
    if found is None and not (isinstance(value, str) and value in HIDDEN):
        return only_messages(value, role) or None
    return found


def usage_at(attributes: JsonObject, fields: Mapping[str, tuple[str, ...]]) -> Usage | None:
    """Returns tokens by the keys of each field of `Usage`; None: none are stated."""
    found: dict[str, int] = {}
    for field, keys in fields.items():
        for key in keys:
            if key in attributes and (count := as_count(attributes[key])) is not None:
                found[field] = count
                break
    return Usage(**found) if found else None


def with_system(system: JsonValue, messages: list[SpanMessage] | None) -> list[SpanMessage] | None:
    """Returns messages after system instructions that stand apart from them."""
    said = messages_at(system, SYSTEM)
    if not said or messages == []:
        return messages
    return [SpanMessage(SYSTEM, each.texts) for each in said] + (messages or [])


def kind_at(value: JsonValue, kinds: dict[str, Kind]) -> Kind | None:
    """Returns the kind that a word names, in any case of letters; None: unknown."""
    return kinds.get(value.lower()) if isinstance(value, str) else None
