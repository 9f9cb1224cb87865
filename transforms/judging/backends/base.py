"""What goes from a judge to a model and what comes back, whatever the model's API."""

from dataclasses import dataclass
from typing import Literal, Protocol

from turnwise.schemas.config import ConfigError
from turnwise.schemas.values import JsonObject

FaultKind = Literal[
    "blocked", "max_tokens", "empty", "http", "timeout", "connection", "json", "schema", "budget", "other"
]
MAX_CANDIDATES = 8


class AuthenticationError(ConfigError):
    """The model's API refuses the credentials; every further call would fail alike."""


class OneCandidateError(Exception):
    """The model gives no more than one candidate a call."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Why there is no usable answer.

    Attributes:
        kind: What faults are counted by.
        reason: One line, without secrets.
    """

    kind: FaultKind
    reason: str


@dataclass(frozen=True, slots=True, eq=False)
class RequestTemplate:
    """What the requests of one kind have in common.

    Attributes:
        model: Name of the model.
        instructions: The system instruction.
        schema: JSON schema of an answer.
        settings: Generation settings in google-genai's JSON, names in snake_case.
        digest: Stands for all of it, the endpoint and the prompt's version.
    """

    model: str
    instructions: str
    schema: JsonObject
    settings: JsonObject
    digest: bytes


@dataclass(frozen=True, slots=True)
class Request:
    """A question as a model gets it.

    Attributes:
        evidence: The one user message.
        key: SHA-256 over everything that decides the answer; equal requests have equal keys.
    """

    recipe: RequestTemplate
    evidence: str
    key: bytes


@dataclass(frozen=True, slots=True)
class RawReply:
    """What a model answered.

    Attributes:
        text: The answer, thoughts left out; None: there is a fault.
        model: Who answered.
        tokens_in: Tokens of the prompt, as far as this reply has to bear them.
        tokens_out: Tokens of the answer, thoughts included.
    """

    text: str | None
    fault: Fault | None = None
    model: str = ""
    tokens_in: int = 0
    tokens_out: int = 0


class Backend(Protocol):
    """A model's API."""

    async def generate(self, request: Request, count: int) -> list[RawReply]:
        """Makes one call, with retries and a time-out.

        Args:
            request: What is asked.
            count: Candidates that are wanted, 1..MAX_CANDIDATES.

        Returns:
            So many replies; each has its text or its fault.

        Raises:
            AuthenticationError: The credentials are refused.
            OneCandidateError: Several candidates are wanted of a model that does not give them.
        """

    async def aclose(self) -> None:
        """Closes the connections."""


def one_line(text: str, longest: int = 200) -> str:
    """Returns a text in one line of at most so many characters."""
    line = " ".join(text.split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"
