"""What a span is: a model call, a tool call, an agent; and what it holds."""

from typing import Literal

import msgspec

from turnwise.schemas.conversation import Usage
from turnwise.schemas.jsonio import JsonValue
from turnwise.transforms.formats.traces.message import SpanMessage

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
