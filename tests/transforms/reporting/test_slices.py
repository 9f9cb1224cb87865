"""Slices: outcomes, what stands out, and what so few conversations cannot show."""

import pytest

from tests.pipeline.report_html.made_run import Row, conversation, scores
from turnwise.schemas.report import Slice
from turnwise.transforms.decisions.report.collect import CollectedRuns, Entry, VersionKey
from turnwise.transforms.decisions.report.figures import outcomes, shrink, slices

V1, V2 = VersionKey(0, "v1"), VersionKey(0, "v2")
STATUS = "evaluation_status"


def entry(verdict: str | None, version: VersionKey = V1, **columns: object) -> Entry:
    row = conversation("c", verdict, **columns)
    return Entry(version, row, [{k: v for k, v in one.items() if v is not None} for one in scores(row)])


def found(entries: list[Entry], versions: list[VersionKey]) -> dict[tuple[str, str], Slice]:
    collected = CollectedRuns(versions, entries, [[]], {}, [0])
    return {(one.kind, one.value): one for one in slices(collected)}


def test_a_slice_that_is_worse_stands_out_and_so_does_the_rest() -> None:
    entries = [entry("PASS", language="en") for _ in range(40)]
    entries += [entry("FAIL" if i < 30 else "PASS", language="de") for i in range(40)]
    rows = found(entries, [V1])
    (german,) = rows["language", "de"].figures[STATUS]
    assert german is not None
    assert (german.passed, german.failed, german.unscored, german.stands_out) == (10, 30, 0, True)
    assert german.difference == pytest.approx(-0.75)
    (english,) = rows["language", "en"].figures[STATUS]
    assert english is not None and english.stands_out and english.difference == pytest.approx(0.75)


def test_chance_does_not_stand_out_and_what_would_is_stated() -> None:
    entries = [entry("FAIL" if i % 3 == 0 else "PASS", language="de" if i < 6 else "en") for i in range(30)]
    (figure,) = found(entries, [V1])["language", "de"].figures[STATUS]
    assert figure is not None and not figure.stands_out
    assert figure.detectable == pytest.approx(0.614, abs=0.001)


def test_a_slice_too_small_to_see_anything_says_so() -> None:
    """One of one against none of four: the p-value of Fisher's exact test is 0.2, and never smaller."""
    entries = [entry("PASS" if i < 1 else "FAIL", language="de" if i < 1 else "en") for i in range(5)]
    (figure,) = found(entries, [V1])["language", "de"].figures[STATUS]
    assert figure is not None and figure.difference == 1.0
    assert not figure.stands_out and figure.detectable is None


def test_what_is_not_decided_is_no_failure_and_no_pass() -> None:
    entries = [entry(None, tags=["x"]), entry("PASS", tags=["x"]), entry("PASS")]
    (figure,) = found(entries, [V1])["tag", "x"].figures[STATUS]
    assert figure is not None
    assert (figure.passed, figure.failed, figure.unscored) == (1, 0, 1)
    only = found([entry(None, tags=["x"]), entry("PASS")], [V1])["tag", "x"].figures[STATUS]
    assert only[0] is not None and only[0].difference is None and only[0].detectable is None


@pytest.mark.parametrize(("turns", "name"), [(1, "1"), (6, "4 to 6"), (11, "over 10")])
def test_lengths(turns: int, name: str) -> None:
    other = entry("PASS", turns=20 if turns < 11 else 1)
    assert ("turns", name) in found([entry("PASS", turns=turns), other], [V1])


PASSED, FAILED = {"value": 1.0, "outcome": "PASS"}, {"value": 0.0, "outcome": "FAIL"}


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        ([{"turn_index": 0, **PASSED}, {"turn_index": 1, **FAILED}], {"x": "FAIL"}),
        ([{"turn_index": 0, **FAILED}, PASSED], {"x": "PASS"}),
        ([{"turn_index": 0, **PASSED}, {"turn_index": 1}], {"x": None}),
        ([{"turn_index": 0, **PASSED}], {"x": "PASS"}),
        ([{"value": 3.0}], {}),
        ([{"reason": "no answer"}], {"x": None}),
    ],
)
def test_outcomes_of_a_conversation(own: list[Row], expected: dict[str, str | None]) -> None:
    made = Entry(V1, conversation("c"), [{"criterion": "x", **score} for score in own])
    assert outcomes(made) == {STATUS: "PASS", **expected}


def test_shrinking_moves_uncertain_differences_most() -> None:
    drawn = shrink([0.5, -0.5, 0.4], [0.001, 0.001, 0.5])
    assert drawn[0] == pytest.approx(0.5, abs=0.01) and drawn[1] == pytest.approx(-0.5, abs=0.01)
    assert abs(drawn[2]) < 0.3
    assert shrink([0.1, 0.1], [0.01, 0.01]) == pytest.approx([0.1, 0.1])
    assert shrink([0.3], [0.2]) == pytest.approx([0.3])
