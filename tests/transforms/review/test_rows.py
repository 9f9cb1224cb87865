"""Why a conversation should be read, in which order, and what its transcript holds: rows of conversations."""

import random

import turnwise
from tests.tables import rows_test
from tests.transforms.review.test_choice import names, row
from tests.transforms.review.test_review import Failing, reviewed
from tests.transforms.review.test_transcript import sample_of, shown
from turnwise.schemas.score import SEVERITY_WEIGHTS
from turnwise.transforms.review.problems import gap_of, to_read

test_rows = rows_test(globals())


def reviewed_as(turns, criteria, wanted, more=None):
    """The wanted columns; a problem is as severe as its kind allows."""
    given = more or {}
    columns = {**reviewed(turns, criteria, given.get("case"), **given.get("of", {}))}
    assert {name: columns[name] for name in wanted} == wanted
    if reason := columns["severity_reason"]:
        weight = SEVERITY_WEIGHTS[reason]
        assert weight / 2 <= columns["severity_score"] < weight * 1.5


def order_of_reading(rows, wanted, why=""):
    made = [row(**{"problem_type": None, **each}) for each in rows]
    for seed in range(5):
        random.Random(seed).shuffle(made)
        assert names(to_read(made)) == wanted, why


def transcript(turns, wanted, more=None):
    given = more or {}
    assert shown(sample_of(turns, given.get("case"), **given.get("of", {}))) == wanted


def gap(scale, gate, value, threshold, wanted):
    """A share of the range of the criterion."""
    fields = {"scale": scale and tuple(scale), "gate": gate, "__annotations__": {}}
    criterion = type("Measured", (Failing,), fields).model_construct(threshold=threshold)
    assert gap_of(criterion, turnwise.Score(value, threshold=threshold, outcome="FAIL")) == wanted
