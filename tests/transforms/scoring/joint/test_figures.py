from collections import Counter

import pytest

from tests.tables import rows_test
from turnwise.schemas.config import TokenPrices
from turnwise.transforms.scoring.config import (
    JOINT_CASCADE,
    JOINT_PANEL,
    by_criterion,
    cascade_figures,
    joint_counts,
    panel_figures,
)
from turnwise.transforms.statistics.agreement import krippendorffs_alpha, nominal_alpha

test_rows = rows_test(globals(), "figures")


def panel(letters):
    verdicts = {"P": "PASS", "F": "FAIL", "O": "OTHER", "U": None}
    return {"panel": {"members": [{"verdict": verdicts[letter]} for letter in letters]}}


def test_panels_are_counted_by_the_verdicts_of_their_members():
    scores = [("match", panel("PPF")), ("match", panel("PPF")), ("safety", panel("UO")), ("match", None)]
    assert by_criterion(joint_counts(scores), JOINT_PANEL) == {"match": {"PPF": 2}, "safety": {"UO": 1}}


def test_a_panel():
    questions = Counter({"PPF": 1, "FPF": 2, "UPP": 1, "UPF": 1, "PUU": 1, "UUU": 1})
    found = panel_figures(["a", "b", "c"], questions)
    assert (found["questions"], found["decided"]) == (7, 4)
    assert found["agreement"] == pytest.approx((3 * 2 / 3 + 1) / 4)
    a, b, c = found["members"].values()
    assert (a["verdicts"], a["unmeasured"], a["pass_rate"]) == (4, 3, 0.5)
    assert a["bias"] == pytest.approx((1 / 2 - 2 * 1 / 2) / 3)
    assert b["bias"] == pytest.approx((1 / 2 + 2 * 1 + 0 + 1) / 5)
    assert c["bias"] == pytest.approx((-1 - 2 * 1 / 2 + 0 - 1) / 5)
    assert c["pass_rate"] == 1 / 5


def test_a_panel_that_was_never_measured():
    found = panel_figures(["a", "b"], {"UU": 3})
    assert (found["decided"], found["agreement"], found["alpha"]) == (0, None, None)
    assert found["members"]["a"] == {"verdicts": 0, "unmeasured": 3, "pass_rate": None, "bias": None}


def alpha(units):
    """Of two labels."""
    numbers = [[float(letter == "P") for letter in labels] for labels, n in units.items() for _ in range(n)]
    assert nominal_alpha(units) == pytest.approx(krippendorffs_alpha(numbers))


def test_alpha_of_several_labels():
    """Example C of Krippendorff 2011: four observers, nominal data, missing values."""
    observers = ["123321412...", "1233224125.3", ".3332342251.", "12332441251."]
    units = Counter("".join(labels).replace(".", "") for labels in zip(*observers, strict=True))
    assert nominal_alpha(units) == pytest.approx(0.743, abs=5e-4)


def cascade(unsure=None, tokens=(30, 6), cached=0, **spared):
    first = {"samples": 3, "cached": cached, "tokens_in": tokens[0], "tokens_out": tokens[1]}
    return {"cascade": {"first": first, "unsure": unsure, "spared": spared or None}}


SPARED = {"calls": 5, "tokens_in": 500, "tokens_out": 100}
CHEAP = TokenPrices(input_per_million=1, output_per_million=2)
DEAR = TokenPrices(input_per_million=100, output_per_million=1000)
PRICES = {"cheap": CHEAP, "dear": DEAR}


def figures(scores, prices=PRICES, candidates=False):
    (counts,) = by_criterion(joint_counts([("match", each) for each in scores]), JOINT_CASCADE).values()
    return cascade_figures("cheap", counts, prices, candidates)


def test_a_cascade():
    went_on = [cascade("votes"), cascade("no_score", cached=3)]
    found = figures([cascade(dear=SPARED), cascade(dear=SPARED), *went_on])
    assert (found["first"], found["questions"], found["went_on"]) == ("cheap", 4, 2)
    assert found["unsure"] == {"votes": 1, "confidence": 0, "no_score": 1}
    assert found["saved"]["calls"] == 2 * 5 - 9
    assert found["saved"]["tokens"] == 2 * 600 - 4 * 36
    assert found["saved"]["cost"] == pytest.approx((2 * (50_000 + 100_000) - 4 * (30 + 12)) / 1e6)


def test_a_cascade_that_saved_nothing():
    saved = figures([cascade("confidence")])["saved"]
    assert (saved["calls"], saved["tokens"]) == (-3, -36)
    assert saved["cost"] == pytest.approx(-42 / 1e6)


UNKNOWN = [
    ([cascade(dear=SPARED)], {"cheap": CHEAP}, False, ["cost"]),
    ([cascade(dear=SPARED)], {"dear": DEAR}, False, ["cost"]),
    ([cascade(dear=SPARED), cascade(tokens=(None, 3), dear=SPARED)], PRICES, False, ["tokens", "cost"]),
    ([cascade(dear=SPARED)], PRICES, True, ["calls", "tokens", "cost"]),
]


@pytest.mark.parametrize(("scores", "prices", "candidates", "unknown"), UNKNOWN)
def test_what_is_unknown_is_null(scores, prices, candidates, unknown):
    saved = figures(scores, prices, candidates)["saved"]
    assert [name for name, number in saved.items() if number is None] == unknown
