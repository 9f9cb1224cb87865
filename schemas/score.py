"""Scores: one measured or judged value for one turn or one conversation."""

from dataclasses import dataclass
from typing import Literal

from turnwise.schemas.values import JsonObject

Outcome = Literal["PASS", "FAIL", "SKIPPED"]


@dataclass(slots=True)
class JudgeUse:
    """What a judge did for a score.

    Attributes:
        model: Who judged.
        prompt_version: Name and version of the prompt's wording.
        samples: Answers that were asked for.
        tokens_in: Tokens of the prompts that were paid.
        tokens_out: Tokens of the answers.
        cached: Answers that came out of the cache.
    """

    model: str
    prompt_version: str
    samples: int
    tokens_in: int
    tokens_out: int
    cached: int


@dataclass(slots=True)
class Score:
    """What a criterion says of a turn, or of a whole conversation.

    Attributes:
        value: The figure, on the criterion's scale; None: unscored, never 0 and never NaN.
        reason: Why there is no value, or no outcome.
        label: A word for the value, or what was measured (a tool, a model).
        explanation: One sentence a reviewer can read.
        details: Figures behind the value.
        threshold: The gate that applied; None: no gate.
        outcome: PASS or FAIL against the gate; None: unscored, or no gate.
        judge: Who judged it; None: it was measured.
    """

    value: float | None
    reason: str | None = None
    label: str | None = None
    explanation: str | None = None
    details: JsonObject | None = None
    threshold: float | None = None
    outcome: Outcome | None = None
    judge: JudgeUse | None = None
