"""Effects of tools: reading, writing, handing the conversation over."""

from typing import Final, Literal, NamedTuple

import msgspec
from pydantic import BaseModel, ConfigDict, model_validator

from turnwise.schemas.values import JsonValue

Effect = Literal["read", "write", "handoff"]
InferredEffect = Literal["read", "write", "handoff", "unknown"]


class ToolEffect(NamedTuple):
    """Effect of one tool.

    Attributes:
        effect: `read` changes nothing, `write` changes something, `handoff` hands the conversation over;
            `unknown`: neither the config nor a declaration nor the name says which.
        idempotent: Whether repeating a call is known to have no further effect.
        destructive: Whether it is known to delete something irreversibly.
        source: Where `effect` comes from: `config`, the kind of a declaration (`mcp`, `openapi`), or `guess`.
    """

    effect: InferredEffect
    idempotent: bool
    destructive: bool
    source: str

    @property
    def is_guess(self) -> bool:
        """Whether the effect is inferred from the tool's name or description, or unknown."""
        return self.source == GUESS


GUESS = "guess"
UNKNOWN: Final = "unknown"


class ToolDeclaration(msgspec.Struct):
    """Declaration of a tool in a log or a case; None: not stated.

    Attributes:
        origin: Kind of the declaration: `mcp`, `openapi`, `ces`, `adk`, `openai` or `declared`.

    >>> import turnwise
    >>> turnwise.ToolDeclaration("book_slot", effect="write").origin
    'declared'
    """

    name: str
    effect: Effect | None = None
    idempotent: bool | None = None
    destructive: bool | None = None
    description: str | None = None
    origin: str = "declared"


class ToolSetting(BaseModel):
    """Setting of a tool in the config; None: declared or inferred.

    Attributes:
        source: Origin as written by `turnwise tools`; accepted and not used.
    """

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True)

    effect: Effect | None = None
    idempotent: bool | None = None
    destructive: bool | None = None
    source: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _from_name(cls, value: JsonValue) -> JsonValue:
        return {"effect": value} if isinstance(value, str) else value
