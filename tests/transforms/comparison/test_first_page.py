"""The first page: its sentence, its counts, the criterion that leads, and what is to be read first."""

from msgspec.structs import replace

from tests.compared_sides import compared
from tests.tables import stated
from tests.transforms.comparison.test_comparison import row
from turnwise.schemas.comparison import Bounds
from turnwise.transforms.decisions.comparison.words import short_names
from turnwise.transforms.decisions.first_page import counts_text, headline, leading, without_baseline


def test_one_version():
    found = without_baseline(["v1"], (18, 5, 7), (0.58, 0.9), [{"rejected_records": 2}], [], None)
    assert found.headline == "One version only: 78.3% pass (58.0% to 90.0%), 23 with a verdict, 7 without."
    assert counts_text(found) == "failed 5, no verdict 7, rejected 2" and found.baseline is None
    assert found.destructive is None, "the conversations are not read"
    nothing = without_baseline(["v1"], (0, 0, 7), (None, None), [], [], None)
    assert nothing.headline == "One version only: 0 with a verdict, 7 without.", "no share is no 0 %"
    three = without_baseline(["v1", "v2", "v10"], (0, 0, 7), (None, None), [], [], None)
    assert three.headline == "v1, v2 and v10 are not compared: 0 with a verdict, 7 without."
    several = without_baseline(["", "v1"], (5, 5, 7), (None, None), [], [], None, "No baseline is named: ")
    told = "(no version) and v1 are not compared; together 50.0% pass, 10 with a verdict, 7 without."
    assert several.headline == f"No baseline is named: {told}" and several.baseline is None


@stated("leads", "primary, measured, stating, name, why")
def test_the_criterion_that_leads(primary, measured, stating, name, why):
    assert leading(primary, measured, stating) == (name, why)


def test_few_verdicts_of_one_version_ask_for_more():
    few, enough = (without_baseline(["v1"], (n, 0, 2), (None, None), [], [], None) for n in (1, 10))
    text = "Only 1 conversation has a verdict: 99 more conversations tell the pass rate to within 10 points."
    assert (few.detail, enough.detail) == (text, "")
    rows = [row(i % 3, severity_score=0.0, conversation_id=f"c{i}", transcript=None) for i in range(12)]
    found = without_baseline(["v1"], (0, 12, 0), (None, None), [], [], rows)
    assert "12 with a verdict (of 3 cases), 0 without" in found.headline
    assert (
        found.detail == "Only 3 cases have a verdict: 97 more cases tell the pass rate to within 10 points."
    )


def test_a_headline_has_the_bounds_of_the_table():
    """A small difference whose interval leaves 0 out, and which another criterion leaves open by Holm."""
    fast, slow = [1.0 + i / 10 for i in range(12)], [1.3 + i / 9 for i in range(12)]
    found = compared({"turn_latency": fast}, {"turn_latency": slow})
    (own,) = found.criteria
    held = replace(own, overall=replace(own.overall, word="inconclusive", interval=Bounds(0.2, 0.6)))
    assert "v2 may be 0.20 to 0.60 s worse than v1" in headline(held, found)


def test_short_names_differ_as_the_names_do():
    long = [f"desk-agent-of-the-north-region-{i}-release-candidate-for-production-2026-11-29" for i in (1, 2)]
    short = short_names(long)
    assert all("…" in form and len(form) <= 32 for form in short.values())
    assert [form.count(f"region-{i}-") for i, form in zip((1, 2), short.values(), strict=True)] == [1, 1]
    hidden = ["a" * 40 + x + "b" * 40 + y + "c" * 40 for x in "12" for y in "12"]
    assert len({*short_names(hidden).values()}) == 4, "where two parts differ, no two look alike"
    assert short_names(["v1", "v1", "v" * 40]) == {"v1": "v1", "v" * 40: "v" * 15 + "…" + "v" * 16}
