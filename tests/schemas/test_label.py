"""Labels of people: what is read, and what is refused."""

import json

import pytest

from turnwise.schemas.calibration import LabelDraw, parse_label

PLAIN = {"conversation_id": "c1", "criterion": "safety_v1"}
DRAW = {"seed": 7, "size": 3, "of": 5}


@pytest.mark.parametrize(
    "more, name, value",
    [
        ({"label": 1}, "label", 1.0),
        ({"label": None}, "label", None),
        ({}, "chosen", "hand-picked"),
        ({"chosen": "random", "draw": DRAW}, "draw", LabelDraw(seed=7, size=3, of=5)),
        ({"chosen": "random", "weight": 2}, "weight", 2.0),
    ],
)
def test_what_is_read(more, name, value):
    assert getattr(parse_label(json.dumps(PLAIN | more)), name) == value


@pytest.mark.parametrize(
    "more, message",
    [
        ({"label": True}, "got `bool`"),
        ({"label": "good"}, "Invalid enum value 'good'"),
        ({"lable": "up"}, "unknown field `lable`"),
        ({"chosen": "random"}, "a random label needs draw or weight"),
        ({"draw": DRAW}, "are of random labels"),
        ({"chosen": "random", "draw": DRAW | {"of": 2}}, "size is 1 or more, and not more than of"),
        ({"chosen": "random", "draw": DRAW, "number": 0}, "number is 1 or more"),
        *(
            ({"chosen": "random", "weight": weight}, "weight is 1 divided by the probability of being drawn")
            for weight in (0, -1, 1e308, 2e9, 1e-300, float("1e-10"))
        ),
        ({"label": 1e308}, "a number from -1e15 to 1e15"),
    ],
)
def test_what_is_refused(more, message):
    with pytest.raises(ValueError, match=message):
        parse_label(json.dumps(PLAIN | more))
