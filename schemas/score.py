"""Scores: one measured or judged value for one turn or one conversation."""

from typing import Literal

from msgspec import Struct

from turnwise.schemas.values import JsonObject

Outcome = Literal["PASS", "FAIL", "SKIPPED"]


class JudgeUse(Struct):
    """Usage of the judge for one score.

    Attributes:
        model: Model name; of a panel or cascade, the names of all models as the config has them.
        prompt_version: Name and version of the prompt; of a cascade, that of the first judge.
        samples: Number of requested answers.
        tokens_in: Billed prompt tokens; None: the judge's API does not state them.
        tokens_out: Tokens of the answers; None: the judge's API does not state them.
        cached: Number of answers from the cache.
        voted: Number of verdicts (of one rubric, sentence, aspect or answer) with two votes or more.
        flipped: Number of those whose votes are not all the same; None: no verdict has two votes.
    """

    model: str
    prompt_version: str
    samples: int
    tokens_in: int | None
    tokens_out: int | None
    cached: int
    voted: int = 0
    flipped: int | None = None


class Score(Struct):
    """Score of a turn or a whole conversation.

    Attributes:
        value: Value on the criterion's scale, finite; None: unscored.
        reason: Why there is no value or no outcome, or an outcome that the value alone does not give.
        label: Label of the value, or the measured item (a tool, a model).
        explanation: One sentence for a reviewer.
        details: Details of the value.
        threshold: Applied threshold; None: there is none.
        outcome: PASS or FAIL by the threshold; None: unscored, or no threshold.
        judge: Usage of the judge; None: the score was measured.

    >>> import turnwise
    >>> turnwise.Score(None, reason="the log has no times").outcome is None
    True
    """

    value: float | None
    reason: str | None = None
    label: str | None = None
    explanation: str | None = None
    details: JsonObject | None = None
    threshold: float | None = None
    outcome: Outcome | None = None
    judge: JudgeUse | None = None
