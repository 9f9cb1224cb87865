"""Labels that people give to scores: one JSON object a line, as the report exports and `calibrate` reads."""

from typing import Literal

import msgspec

_LARGEST_WEIGHT = 1e9
_LARGEST_NUMBER = 1e15

LabelAnswer = Literal["up", "down", "PASS", "FAIL"]
"""What a person says of an outcome; `up` means PASS, `down` FAIL."""


class LabelDraw(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a random sample was drawn. All labels of one sample have the same one.

    A sample is of one criterion and of one level (turns, or whole conversations), over a whole run: a sample
    of what a filter shows is `hand-picked`.

    Attributes:
        seed: Seed of the random numbers.
        size: How many were drawn, each with the same probability and without replacement.
        of: From how many: all scores of the criterion at that level in the run, unscored ones included, or
            all conversations that have such scores.
        unit: What was drawn: single scores, or conversations with all of their scores of the criterion.
    """

    seed: int | str
    size: int
    of: int
    unit: Literal["score", "conversation"] = "score"

    def __post_init__(self) -> None:
        """Checks the numbers."""
        if not 1 <= self.size <= self.of:
            raise ValueError("size is 1 or more, and not more than of")


class HumanLabel(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one person says of one score. Every line stands for itself: files may be joined.

    Attributes:
        conversation_id: Id of the conversation.
        turn_index: 0-based turn; None: the whole conversation.
        criterion: Name of the criterion; `evaluation_status`: the verdict.
        score_id: Id of the score, as in the table of scores; None: found by the three columns above.
        app_version: Version of the agent; needed where a run has the same conversation id in several.
        label: An answer, or a number on the scale of the criterion. None: the score was drawn, and has no
            label (yet). A sample has a line for everything drawn.
        comment: Free text.
        rater: Who labelled; None: one person.
        chosen: How the score was chosen: `random` needs `draw` or `weight`.
        draw: The random sample it was drawn in.
        number: 1-based place of what was drawn (the conversation, or the score) in the order of drawing.
            Labels in that order may end early: what comes after the last label is not of the sample.
        weight: Sampling weight, 1 divided by the probability of being drawn, 1e-9 to 1e9; None: that of
            `draw`.
    """

    conversation_id: str
    criterion: str
    turn_index: int | None = None
    score_id: str | None = None
    app_version: str | None = None
    label: LabelAnswer | float | None = None
    comment: str | None = None
    rater: str | None = None
    chosen: Literal["hand-picked", "random"] = "hand-picked"
    draw: LabelDraw | None = None
    number: int | None = None
    weight: float | None = None

    def __post_init__(self) -> None:
        """Checks what belongs together."""
        if self.chosen == "random" and self.draw is None and self.weight is None:
            raise ValueError("a random label needs draw or weight")
        if self.chosen != "random" and (self.draw or self.number or self.weight) is not None:
            raise ValueError("draw, number and weight are of random labels")
        if self.weight is not None and not 1 / _LARGEST_WEIGHT <= self.weight <= _LARGEST_WEIGHT:
            raise ValueError(
                "weight is 1 divided by the probability of being drawn, a number from 1e-9 to 1e9"
            )
        if isinstance(self.label, float) and not abs(self.label) <= _LARGEST_NUMBER:
            raise ValueError("label is PASS, FAIL, up, down, or a number from -1e15 to 1e15")
        if self.number is not None and self.number < 1:
            raise ValueError("number is 1 or more")


def parse_label(line: bytes | str) -> HumanLabel:
    """Returns a label from one line of JSON.

    Raises:
        ValueError: It is no label; the message says which key is wrong.

    >>> parse_label('{"conversation_id": "c1", "criterion": "safety_v1", "label": "down"}').label
    'down'
    """
    return msgspec.json.decode(line, type=HumanLabel)
