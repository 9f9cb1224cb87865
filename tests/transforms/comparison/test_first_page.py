"""The first page: its sentence, its counts, the criterion that leads, and what is to be read first."""

import pytest
from msgspec.structs import replace

from tests.compared_sides import F, P, U, compared, observed, side
from turnwise.schemas.comparison import Bounds
from turnwise.schemas.rows import ConversationRow
from turnwise.transforms.decisions.comparison.collect import ComparedConversation
from turnwise.transforms.decisions.comparison.differences import compare
from turnwise.transforms.decisions.comparison.estimates import CompareOptions
from turnwise.transforms.decisions.comparison.sides import ComparedSide, columns_of
from turnwise.transforms.decisions.comparison.words import short_names
from turnwise.transforms.decisions.first_page import (
    counts_text,
    destructive_text,
    headline,
    leading,
    reasons_of,
    two_versions,
    without_baseline,
)


def page(baseline, candidate, primary=(), rows=(), **fields):
    found = compare(side("v1", baseline), side("v2", candidate, **fields), CompareOptions())
    return two_versions(found, primary, rows, "they were named")


def row(number, severity_score, **columns):
    named = {"conversation_id": f"v2-{number}", "app_version": "v2", "eval_id": f"e{number}"}
    columns = {"verdict": F, "problem_type": f"type-{number}", **columns}
    return {
        **dict.fromkeys(ConversationRow.__annotations__),
        **named,
        "severity_score": severity_score,
        **columns,
    }


OPEN = [P] * 10 + [F] * 10, [P] * 8 + [F] * 2 + [P] * 3 + [F] * 7
BETTER = "v2 is better than v1: 80.0% pass against 48.0%, +32.0 points ("
WORSE = "v2 is worse than v1: 60.0% pass against 100.0%, -40.0 points ("
SAME = "v2 is the same as v1, within 2 points: 100.0% pass against 100.0%, 0.0 points ("


@pytest.mark.parametrize(
    ("baseline", "candidate", "headline", "counts"),
    [
        ([P] * 12 + [F] * 13, [P] * 20 + [F] * 5, BETTER, "regressed 0, fixed 8, still failing 5"),
        ([P] * 30, [P] * 18 + [F] * 12, WORSE, "regressed 12, fixed 0, still failing 0"),
        (*OPEN, "Inconclusive: v2 may be up to ", "regressed 2, fixed 3, still failing 7"),
        ([P] * 3000, [P] * 3000, SAME, "regressed 0, fixed 0, still failing 0"),
    ],
    ids=("better", "worse", "inconclusive", "same"),
)
def test_two_versions(baseline, candidate, headline, counts):
    found = page({"verdict": baseline}, {"verdict": candidate})
    assert found.headline.startswith(headline) and found.detail == ""
    assert counts_text(found) == f"{counts}, no verdict 0, rejected 0"
    assert (found.baseline, found.candidate) == ("v1", "v2")
    cases = f"{len(baseline)} cases, paired by eval_id"
    if headline.startswith("Inconclusive"):
        assert f" better than v1 ({cases}). Safe to ship if a loss of " in found.headline
        assert found.headline.endswith(" cases would settle a difference of this size.")
    else:
        assert found.headline.endswith(f", {cases}.")


def test_what_could_change_the_answer_stands_below_it():
    baseline, candidate = [P] * 30, [P] * 20 + [U] * 10
    found = page({"verdict": baseline}, {"verdict": candidate}, rejected=4)
    assert found.headline.startswith("Inconclusive: ") and (found.no_verdict, found.rejected) == (10, 4)
    assert "0 of v1 and 10 of v2 have no verdict: they could turn the answer." in found.detail
    assert "Safe to ship" not in found.headline, "what has no verdict may add to the loss"
    assert "rejected" not in found.detail, "the count says it"


def test_one_version():
    found = without_baseline(["v1"], (0.78, 0.58, 0.9), (18, 5, 7), [], 2, None)
    assert found.headline == "One version only: 78.0% pass (58.0% to 90.0%), 23 with a verdict, 7 without."
    assert counts_text(found) == "failed 5, no verdict 7, rejected 2" and found.baseline is None
    assert found.destructive is None, "the conversations are not read"
    nothing = without_baseline(["v1"], None, (0, 0, 7), [], 0, None)
    assert nothing.headline == "One version only: 0 with a verdict, 7 without.", "no share is no 0 %"
    several = without_baseline(
        ["", "v1"], (0.5, None, None), (5, 5, 7), [], 0, None, "No baseline is named: "
    )
    told = "No baseline is named: (no version) and v1 are not compared; 50.0% pass, 10 with a verdict, 7"
    assert several.headline == f"{told} without." and several.baseline is None


@pytest.mark.parametrize(
    ("primary", "measured", "stating", "name", "why"),
    [
        (["a", "b"], ["recorded_reward", "b"], [], "b", "the config calls it primary"),
        (["a"], ["recorded_reward", "verdict"], [], "recorded_reward", "the log holds it"),
        ([], ["tool_effects_v1"], ["tool_effects_v1"], "tool_effects_v1", "the eval cases state actions"),
        ([], ["tool_effects_v1"], [], "verdict", "no criterion is called primary"),
    ],
)
def test_the_criterion_that_leads(primary, measured, stating, name, why):
    assert leading(primary, measured, stating) == (name, why)


def test_the_headline_is_about_the_criterion_that_leads():
    outcomes, values = [P] * 30, [0.4 + i / 100 for i in range(30)]
    baseline = {"verdict": outcomes, "response_match_score": values}
    candidate = {"verdict": outcomes, "response_match_score": [value - 0.2 for value in values]}
    found = page(baseline, candidate, ["response_match_score"])
    assert found.headline.startswith("v2 is worse than v1 by response_match_score: ")
    assert found.chosen == "response_match_score leads, because the config calls it primary; they were named"
    found = page(baseline, candidate, ["safety_v1"])
    assert found.criterion == "verdict" and "because no primary criterion is compared" in found.chosen
    assert found.detail.startswith("The primary criterion safety_v1 is not compared: ")
    found = page(baseline, candidate)
    assert found.criterion == "verdict" and found.chosen.startswith("The verdict leads, because no criterion")


SOME = [F] * 2 + [P] * 28


@pytest.mark.parametrize(
    ("before", "after", "criterion"),
    [
        ([P] * 30, [P] * 30, "verdict"),
        (SOME, SOME, "verdict"),
        ([P] * 30, [F] * 30, "tool_effects_v1"),
    ],
)
def test_effects_that_nobody_fails_lead_nowhere_and_hide_no_verdict(before, after, criterion):
    """The cases may state no action; what all pass says nothing of what got worse."""
    sides = {"verdict": [P] * 30, "tool_effects_v1": before}, {"verdict": [F] * 30, "tool_effects_v1": after}
    found = page(*sides)
    by = "" if criterion == "verdict" else f" by {criterion}"
    assert found.criterion == criterion and found.headline.startswith(f"v2 is worse than v1{by}: ")


def test_verdicts_that_are_not_compared_have_no_counts():
    found = page({"response_match_score": [0.5] * 9}, {"response_match_score": [0.5] * 9})
    assert (found.regressed, found.fixed, found.still_failing) == (None, None, None)
    assert "regressed" not in counts_text(found)
    assert found.headline.startswith("v2 and v1 cannot be compared: ")


DESTRUCTIVE = {"severity_reason": "destructive", "severity": "critical"}


@pytest.mark.parametrize(("destructive", "is_advised"), [(0, True), (1, False)])
def test_no_loss_is_advised_beside_destructive_calls(destructive, is_advised):
    found = page({"verdict": OPEN[0]}, {"verdict": OPEN[1]}, destructive=destructive)
    assert ("Safe to ship if a loss" in found.headline) is is_advised


def test_regressions_are_read_first_and_then_the_most_severe():
    rows = [row(0, 9.0, **DESTRUCTIVE), row(1, 1.0), row(2, 2.0), row(3, 0.0, verdict=P)]
    found = page({"verdict": [F, P, F, P]}, {"verdict": [F, F, F, P]}, rows=rows)
    assert [one.conversation_id for one in found.read_first] == ["v2-1", "v2-0", "v2-2"]
    rows = [row(i, 9.0 - i, problem_type="a" if i < 7 else "b") for i in range(8)]
    found = page({"verdict": [F] * 5 + [P, P, F]}, {"verdict": [F] * 8}, rows=rows)
    read = ["v2-5", "v2-6", "v2-0", "v2-7"]
    assert [one.conversation_id for one in found.read_first] == read, "three of a type, regressions included"


@pytest.mark.parametrize(
    ("candidate", "baseline", "text"),
    [
        (None, None, ""),
        (0, 0, ""),
        (1, 3, "in 1 conversation of v2, in 3 of v1"),
        (0, 2, "in 0 conversations of v2, in 2 of v1"),
        (14, None, "in 14 conversations of v2"),
    ],
)
def test_destructive_calls_of_both_sides_are_named(candidate, baseline, text):
    sides = [side(name, {"verdict": [P] * 9}) for name in ("v1", "v2")]
    sides[0].destructive, sides[1].destructive = baseline, candidate
    found = two_versions(compare(*sides, CompareOptions()), [], None, "")
    assert destructive_text(found) == (text and f"unexpected destructive calls: {text}")
    assert (found.destructive, found.baseline_destructive) == (candidate, baseline)


def test_counts_are_of_the_criterion_that_leads_and_say_so():
    """By the recorded reward two cases regressed, and by the verdict none."""
    baseline = {"verdict": [F] * 3 + [P] * 9, "recorded_reward": [P] * 12}
    candidate = {"verdict": [P] * 12, "recorded_reward": [F] * 2 + [U] + [P] * 9}
    found = page(baseline, candidate)
    assert found.counts_by == found.criterion == "recorded_reward"
    counts = "recorded_reward: regressed 2, fixed 0, still failing 0, no score 1; no verdict 0, rejected 0"
    assert counts_text(found) == counts
    found = page(baseline, {**candidate, "verdict": [U] * 3 + [P] * 9})
    assert "no score 1; no verdict 3, rejected 0" in counts_text(found), "each has a number of its own"
    values = {"response_match_score": [0.5 + i / 100 for i in range(12)]}
    found = page(
        values | {"verdict": [P] * 12}, values | {"verdict": [F] + [P] * 11}, ["response_match_score"]
    )
    assert (found.criterion, found.counts_by) == ("response_match_score", "verdict")
    assert counts_text(found).startswith("verdict: regressed 1, "), "a mean has no cases that pass"


def test_what_was_rejected_is_of_no_version():
    found = page({"verdict": [P] * 12 + [F] * 13}, {"verdict": [P] * 25}, rejected=35)
    unknown = "35 rejected records or conversations (perhaps of v2)"
    assert found.headline.startswith(f"Inconclusive: {unknown} could turn what the others show: 100.0% pass")
    assert "better" not in f"{found.headline} {found.detail}" and "Safe to ship" not in found.headline


@pytest.mark.parametrize(("lost_by", "share"), [("v1", 8), ("v2", 8), ("v2", 1)])
def test_one_word_stands_in_headline_table_and_sentence(lost_by, share):
    """100 cases, of which 10 regressed: what was rejected on either side could turn that, if it is enough."""
    rejected = {lost_by: 2 * share}
    sides = [
        side(name, {"verdict": own}, rejected=rejected.get(name, 0))
        for name, own in (("v1", [P] * 100), ("v2", [P] * 90 + [F] * 10))
    ]
    sides[1].run_ids[:] = ["other"]
    found = compare(*sides, CompareOptions())
    (own,), shown = found.criteria, two_versions(found, [], [], "they were named")
    is_open = 2 * share > 10
    assert found.word == own.overall.word == ("inconclusive" if is_open else "worse")
    assert shown.headline.startswith("Inconclusive: " if is_open else "v2 is worse than v1"), shown.headline
    assert ("is inconclusive" in own.sentence) is is_open and ("could turn it" in own.sentence) is is_open
    assert bool(own.unmeasured) is is_open


def test_first_pages_say_what_pairs_the_cases_and_how_many_are_in_pairs():
    few = {"verdict": [P] * 4}
    paired = page({"verdict": [P] * 30}, {"verdict": [P] * 29 + [U]})
    assert "29 of 30 cases, paired by eval_id" in paired.headline
    assert "Only" not in paired.detail, "enough cases"
    found = compare(side("v1", {"verdict": [P] * 30}), side("v2", few, prefix="n"), CompareOptions())
    unpaired = two_versions(found, [], [], "")
    assert "(unpaired samples of 30 and 4 conversations)" in unpaired.headline
    needed = "Only 4 conversations of each version can be compared: about 20 are needed."
    assert unpaired.detail == f"{needed} No case is on both sides: those of v1 and v2 are taken to be alike."
    assert page(few, few).detail == needed.replace(" of each version", "").replace("conversations", "cases")


def test_few_verdicts_of_one_version_ask_for_more():
    few, enough = (without_baseline(["v1"], None, (n, 0, 2), [], 0, None) for n in (1, 10))
    text = "Only 1 conversation has a verdict: 99 more conversations tell the pass rate to within 10 points."
    assert (few.detail, enough.detail) == (text, "")
    rows = [row(i % 3, 0.0, conversation_id=f"c{i}", transcript=None) for i in range(12)]
    found = without_baseline(["v1"], None, (0, 12, 0), [], 0, rows)
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


def test_a_page_says_why_verdicts_are_missing():
    rows = [row(i, 0.0, verdict=None, reason="the user goal needs a judge") for i in range(2)]
    rows += [row(i, 0.0, verdict=None, reason="turn 2: the last turn has no answer") for i in (2, 3, 4)]
    rows += [row(i, 0.0, verdict="FAIL", reason="the agent raised an error") for i in range(5, 9)]
    found = page({"verdict": [P] * 12}, {"verdict": [U] * 6 + [P] * 6}, rows=rows)
    assert reasons_of(found) == [
        "no verdict (6 of v2), most often:",
        "  3: the last turn has no answer",
        "  2: what is expected needs a judge: name one with --judge",
        "  1: other reasons",
    ]


@pytest.mark.parametrize(
    ("after", "gone", "names_cases", "is_open", "is_advised"),
    [
        ([P] * 60, 140, True, True, False),
        ([P] * 10 + [F] + [P] * 13, 176, True, False, False),
        ([P] * 60, 1, True, False, False),
        ([P] * 10 + [F] * 5 + [P] * 45, 1, True, False, True),
        ([P] * 10 + [F] * 5 + [P] * 34, 1, True, False, True),
        ([P] * 60, 140, False, False, False),
    ],
)
def test_cases_of_the_baseline_that_the_candidate_lacks(after, gone, names_cases, is_open, is_advised):
    before = {"verdict": [F] * 20 + [P] * (len(after) - 20) + [P] * gone}
    if is_advised or len(after) == 24:
        before = {"verdict": [P] * 9 + [F] * 3 + [P] * (len(after) - 12 + gone)}
    found = compare(
        side("v1", before),
        side("v2", {"verdict": after}, prefix="" if names_cases else "n"),
        CompareOptions(),
    )
    shown = two_versions(found, [], [], "they were named")
    lacking = f"{gone} case{'s' * (gone > 1)} of v1 without a conversation of v2"
    head = f"Inconclusive: {lacking} could turn what the others show: "
    assert shown.headline.startswith(head) is is_open, shown.headline
    assert ("Safe to ship" in shown.headline) is is_advised, shown.headline
    assert (f"Left out: {lacking}." in shown.detail) is (names_cases and not is_open)


@pytest.mark.parametrize(
    ("fixed", "measured", "gone", "is_open"), [(60, 60, 140, True), (55, 112, 88, True), (60, 60, 50, False)]
)
def test_a_gain_holds_only_if_the_missing_cases_cannot_undo_it(fixed, measured, gone, is_open):
    """Had the baseline passed them all and the candidate none, `gone` cases would be lost, `fixed` gained."""
    before = {"verdict": [F] * fixed + [P] * (measured - fixed + gone)}
    shown = page(before, {"verdict": [P] * measured})
    assert shown.headline.startswith("Inconclusive: " if is_open else "v2 is better"), shown.headline


def test_every_failed_run_of_a_case_that_regressed_is_a_regression():
    """The first run of the case passes; the second one, which fails, is the one to read."""
    baseline, candidate = side("v1", {"verdict": [P, P]}), [(0, P), (0, F), (0, F), (1, F)]
    made = [
        ComparedConversation(f"v2-{i}", "v2", f"e{case}", criteria={"verdict": observed(own)})
        for i, (case, own) in enumerate(candidate)
    ]
    found = compare(baseline, ComparedSide("v2", "out", columns_of(made), ["run"]), CompareOptions())
    rows = [row(i, 5.0 - i if own == F else 0.0, verdict=own) for i, (_, own) in enumerate(candidate)]
    rows.append(row(9, 9.0))
    read = [one.conversation_id for one in two_versions(found, [], rows, "").read_first]
    assert read == ["v2-1", "v2-2", "v2-3", "v2-9"]


def test_short_names_differ_as_the_names_do():
    long = [f"desk-agent-of-the-north-region-{i}-release-candidate-for-production-2026-11-29" for i in (1, 2)]
    short = short_names(long)
    assert all("…" in form and len(form) <= 32 for form in short.values())
    assert [form.count(f"region-{i}-") for i, form in zip((1, 2), short.values(), strict=True)] == [1, 1]
    hidden = ["a" * 40 + x + "b" * 40 + y + "c" * 40 for x in "12" for y in "12"]
    assert len({*short_names(hidden).values()}) == 4, "where two parts differ, no two look alike"
    assert short_names(["v1", "v1", "v" * 40]) == {"v1": "v1", "v" * 40: "v" * 15 + "…" + "v" * 16}


def test_a_regression_of_the_verdict_is_read_before_what_fails_in_both():
    verdicts = {"verdict": [F, P, *[P] * 20]}, {"verdict": [F, F, *[P] * 20]}
    lead = {"response_match_score": [P] * 22}
    rows = [row(0, 9.0), row(1, 1.0)]
    found = page(verdicts[0] | lead, verdicts[1] | lead, ["response_match_score"], rows)
    assert found.criterion == "response_match_score"
    assert [one.eval_id for one in found.read_first] == ["e1", "e0"]


def test_two_nights_of_one_version_ship_nothing():
    nights = [
        replace(side("v1", {"verdict": night}), name=f"v1 (day {i})") for i, night in enumerate(OPEN, 1)
    ]
    headline = two_versions(compare(*nights, CompareOptions()), (), (), "they were named").headline
    assert " better than v1 (day 1) (20 cases, paired by eval_id); " in headline and "ship" not in headline
