"""What a tool does: changes something, hands the conversation over, or only reads."""

from typing import Literal, NamedTuple

import msgspec
from pydantic import BaseModel, ConfigDict, model_validator

from turnwise.schemas.values import JsonValue

Effect = Literal["read", "write", "handoff"]


class ToolEffect(NamedTuple):
    """What is known of one tool.

    Attributes:
        effect: `read` changes nothing, `write` changes something, `handoff` gives the conversation to
            somebody else.
        idempotent: Doing it twice is doing it once.
        destructive: It takes away what cannot be brought back.
        source: Where `effect` comes from: `config`, the kind of a declaration (`mcp`, `openapi`), or `guess`.
    """

    effect: Effect
    idempotent: bool
    destructive: bool
    source: str

    @property
    def is_guess(self) -> bool:
        """Whether the effect was guessed from the tool's name."""
        return self.source == GUESS


GUESS = "guess"


class ToolDeclaration(msgspec.Struct):
    """A tool as a log or a case declares it; None where the declaration does not say.

    Attributes:
        origin: What kind of declaration it is: `mcp`, `openapi`, `ces`, `adk`, `openai` or `declared`.
    """

    name: str
    effect: Effect | None = None
    idempotent: bool | None = None
    destructive: bool | None = None
    description: str | None = None
    origin: str = "declared"


class ToolSetting(BaseModel):
    """What the config says of a tool; None leaves it to the declarations and the guess.

    Attributes:
        source: Where `turnwise tools` had it from; accepted and not used.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    effect: Effect | None = None
    idempotent: bool | None = None
    destructive: bool | None = None
    source: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _from_name(cls, value: JsonValue) -> JsonValue:
        return {"effect": value} if isinstance(value, str) else value
