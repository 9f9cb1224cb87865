"""The rules of a gate, as tables of cases: what passes, what fails, and what cannot be decided."""

from typing import Any

import pytest
from msgspec.structs import replace

from tests.compared_sides import F, P, U, observed
from tests.compared_sides import compared as compared_sides
from turnwise.pipeline.report.gate import rule_line
from turnwise.schemas.calibration import Calibration, Corrected, CriterionCalibration
from turnwise.schemas.comparison import (
    Bounds,
    Comparison,
    CorrectedDifference,
    CriterionComparison,
    Missing,
    MissingReading,
    VersionDifference,
)
from turnwise.schemas.config import GateConfig
from turnwise.transforms.decisions.comparison.collect import ComparedConversation, Observed, ScoredId
from turnwise.transforms.decisions.comparison.sides import columns_of
from turnwise.transforms.decisions.gate.bounds import (
    GatedVersion,
    Rejected,
    rejected_of,
    unrecorded_cases,
)
from turnwise.transforms.decisions.gate.rules import apply_rules

STATUS, ROUGE, LATENCY = "verdict", "response_match_score", "turn_latency"
NOTHING_REJECTED = Rejected(0, "")
TURNS_PASS, TURNS_FAIL = Observed(1.0, P, is_summed=True), Observed(0.0, F, is_summed=True)


def conversations(outcomes: Any, criterion: str = STATUS, cases: Any = None) -> list[ComparedConversation]:
    given = ({criterion: observed(one)} for one in outcomes)
    return [
        ComparedConversation(f"c{i}", eval_id=cases[i] if cases else None, criteria=criteria)
        for i, criteria in enumerate(given)
    ]


def version(
    found: list[ComparedConversation], rows: Any = (), comparison: Comparison | None = None
) -> GatedVersion:
    return GatedVersion("v1", columns_of(found), list(rows), comparison)


def gone(number: int) -> Rejected:
    return Rejected(number, f"{number} rejected" if number else "", [f"log:{n}" for n in range(number)])


def applied(rule: Any, gated: GatedVersion, lost: Rejected = NOTHING_REJECTED, *more: Any) -> Any:
    found = apply_rules(GateConfig.model_validate({"rules": [rule, *more]}), [gated], lost)
    return found[0]


def rate(side: str = "estimate", criterion: str = STATUS, **bound: float) -> dict[str, Any]:
    return {"rule": "bound", "criterion": criterion, "side": side, **bound}


def mean(criterion: str, side: str = "estimate", **bound: float) -> dict[str, Any]:
    return {"measure": "mean", **rate(side, criterion, **bound)}


def all_pass(criterion: str = STATUS) -> dict[str, Any]:
    return {"rule": "all_pass", "criterion": criterion}


def coverage(share: float, criterion: str = STATUS) -> dict[str, Any]:
    return {"rule": "coverage", "criterion": criterion, "at_least": share}


RULES = [
    (rate(at_least=0.9), [P] * 9 + [F], 0, "passed", ""),
    (rate(at_least=0.9), [P] * 8 + [F] * 2, 0, "failed", ""),
    # Wilson's interval of 9 of 10 begins at 0.596; one that passes alone shows nothing about the others.
    (rate("lower", at_least=0.6), [P] * 9 + [F], 0, "failed", ""),
    (rate("lower", at_least=0.59), [P] * 9 + [F], 0, "passed", ""),
    (rate("upper", at_most=0.3), [F] * 40, 0, "passed", ""),
    (rate("lower", at_least=0.5), [P], 0, "failed", ""),
    (rate(at_least=0.5), [F] * 10, 0, "failed", "0.0% (0.0% to 27.8%), 10 cases"),
    # What has no outcome or was rejected may have passed or failed.
    (rate(at_least=0.9), [P] * 9 + [U], 0, "passed", ""),
    (rate(at_least=0.9), [P] * 8 + [U] * 2, 0, "inconclusive", ""),
    (rate(at_least=0.9), [P] * 8 + [F] * 2 + [U], 0, "failed", ""),
    (rate(at_least=1.0), [P] * 10, 1, "inconclusive", ""),
    (rate(at_least=0.9), [P] * 10, 1, "passed", ""),
    (rate(at_most=0.1), [F] * 9, 2, "inconclusive", ""),
    # Nothing is never a pass.
    (rate(at_least=0.0), [], 0, "inconclusive", ""),
    (rate("lower", at_least=0.5), [U, U], 0, "inconclusive", ""),
    (rate(at_least=0.0), [U, U], 0, "inconclusive", ""),
    (all_pass(), [P, P], 0, "passed", "0 failed, 0 without an outcome"),
    (all_pass(), [P, F], 0, "failed", "1 failed, 0 without an outcome"),
    (all_pass(), [P, U], 0, "inconclusive", "0 failed, 1 without an outcome"),
    (all_pass(), [P, F, U], 2, "failed", "1 failed, 3 without an outcome (2 rejected)"),
    (all_pass(), [], 0, "inconclusive", "nothing was scored"),
    # Turns without a score of the conversation: no pass, but what fails, fails.
    (all_pass(), [TURNS_PASS], 0, "inconclusive", "nothing was scored"),
    (all_pass(), [Observed(-1.0, None, is_summed=True), P], 0, "passed", "0 failed, 0 without an outcome"),
    (all_pass(), [TURNS_FAIL, P], 0, "failed", "1 failed, 0 without an outcome"),
    (coverage(0.75), [P, F, P, U], 0, "passed", ""),
    (coverage(0.76), [P, F, P, U], 0, "failed", ""),
    (coverage(0.8), [P, F, P, P], 1, "passed", "1 rejected"),
    (coverage(0.8), [P, F, P, P], 2, "failed", "2 rejected"),
    (coverage(0.0), [], 0, "inconclusive", ""),
    (mean(ROUGE, at_least=0.6), [0.5, 0.7], 0, "passed", ""),
    (mean(ROUGE, "lower", at_least=0.5), [0.5, 0.7], 0, "failed", ""),
    (mean(ROUGE, at_least=0.2), [0.5, U], 0, "passed", ""),
    (mean(ROUGE, at_least=0.3), [0.5, U], 0, "inconclusive", ""),
    # Equal values leave no doubt only as far as the scale goes, here from 0 to 1 and from 1 to 5.
    (mean(ROUGE, "lower", at_least=0.9), [1.0] * 3, 0, "failed", ""),
    (mean("response_evaluation_score", "lower", at_least=4.6), [5.0] * 40, 0, "passed", ""),
    (mean("response_evaluation_score", "lower", at_least=4.7), [5.0] * 40, 0, "failed", ""),
    (mean(LATENCY, at_most=2.0), [1.0, 3.0], 0, "passed", ""),
    (mean(LATENCY, "upper", at_most=2.0), [1.0, 3.0], 0, "failed", ""),
    # A latency that is not known may be anything; a value below the scale is no claim, and does not count.
    (mean(LATENCY, at_most=1e9), [1.0, U], 0, "inconclusive", ""),
    (mean(LATENCY, at_most=2.0), [float("nan"), 1.0], 0, "inconclusive", ""),
    (mean("hallucination", at_least=1.0), [-1.0, 1.0], 0, "passed", ""),
]


@pytest.mark.parametrize(("rule", "outcomes", "lost", "status", "why"), RULES)
def test_rules(rule, outcomes, lost, status, why):
    gated = version(conversations(outcomes, rule["criterion"]))
    found = applied(rule, gated, gone(lost))
    assert found.status == status and why in found.why, found
    if rule["rule"] == "all_pass":
        assert found.why == why and found.rejected == [*gone(lost).names]
        # What has no outcome is not left out, whatever a rule on coverage allows.
        assert applied(rule, gated, gone(lost), coverage(0.1)) == found
    elif rule["rule"] == "bound" and "measure" not in rule:
        misses = sum(one != P for one in outcomes)
        assert len(found.conversations) + found.more == (0 if status == "passed" else misses)


def test_a_coverage_rule_allows_for_what_has_no_outcome():
    gated = version(conversations([P] * 18 + [U] * 2))
    assert applied(rate(at_least=0.95), gated).status == "inconclusive"
    assert applied(rate(at_least=0.95), gated, NOTHING_REJECTED, coverage(0.9)).status == "passed"
    other = coverage(0.9, "safety_v1")
    assert applied(rate(at_least=0.95), gated, NOTHING_REJECTED, other).status == "inconclusive"


def corrected(value: float | None, covers: Any = "all", **more: Any) -> Corrected:
    interval = None if value is None else Bounds(max(0.0, value - 0.1), min(1.0, value + 0.1))
    counts = {"scores": 10, "no_score": 0, "labels": 5, "cases": 5, "missing": 0, "raw": 1.0}
    fields: dict[str, Any] = {**counts, "group": "all", "name": None, "value": value, "interval": interval}
    return Corrected(covers=covers, **{**fields, **more})


HALF = [P] * 5 + [U] * 5
CORRECTED = [
    # The labels decide, in both directions.
    ([P] * 10, corrected(0.6), rate(at_least=0.8), 0, "failed"),
    ([F] * 10, corrected(0.9), rate(at_least=0.8), 0, "passed"),
    ([P] * 10, corrected(0.9), rate("lower", at_least=0.85), 0, "failed"),
    ([P] * 10, corrected(0.9, interval=None), rate("lower", at_least=0.5), 0, "inconclusive"),
    # What was lost may have been anything; so may what the labels do not cover.
    ([P] * 10, corrected(0.9), rate(at_least=0.8), 10, "inconclusive"),
    ([P] * 10, corrected(0.9), rate(at_least=0.4), 10, "passed"),
    (HALF, corrected(0.9, no_score=5), rate(at_least=0.8), 0, "passed"),
    (HALF, corrected(0.9, "decided", no_score=5), rate(at_least=0.8), 0, "inconclusive"),
    (HALF, corrected(0.9, "decided", no_score=5), rate(at_least=0.4), 0, "passed"),
    # Labels that correct nothing change nothing.
    ([P] * 10, corrected(None, reason="too few labels"), rate(at_least=0.8), 0, "passed"),
]


@pytest.mark.parametrize(("outcomes", "figure", "rule", "lost", "status"), CORRECTED)
def test_a_bound_on_a_corrected_rate(outcomes, figure, rule, lost, status):
    counts: Any = dict.fromkeys(("scores", "labelled", "cases", "raters", "random"), 5)
    counts |= {"no_score": 0, "hand_picked": 0, "corrected": [figure]}
    one = CriterionCalibration(criterion=STATUS, level="conversation", kind="outcomes", **counts)
    known = Calibration(
        run_id="r", labels=[], lines=5, problems=[], false_pass_cost=1, false_fail_cost=1, criteria=[one]
    )
    found = applied(rule, replace(version(conversations(outcomes)), calibration=known), gone(lost))
    assert found.status == status
    what = "corrected by 5 labels of people" if figure.value else "not corrected by its labels: too few"
    assert what in found.why


def test_a_rule_says_what_its_criterion_does_not_apply_to():
    gated = version([*conversations([P, P], "safety_v1"), *conversations([P] * 38)])
    rest = "; n/a for 38 other conversations"
    for rule, seen in (
        (rate(criterion="safety_v1", at_least=0.5), "100.0% (34.2% to 100.0%), 2 cases"),
        (coverage(1.0, "safety_v1"), "100.0%: 2 of 2"),
        (all_pass("safety_v1"), "0 failed, 0 without an outcome"),
    ):
        assert applied(rule, gated).why == seen + rest


GOOD, BAD, SILENT = (version(conversations([own], name)) for own, name in (
    (P, "safety_v1"), (F, "safety_v1"), (P, STATUS)))  # fmt: skip
EVERY = [rate(criterion="safety_v1", at_least=1.0), {"rule": "no_destructive_calls"}]


@pytest.mark.parametrize(
    ("rules", "versions", "statuses"),
    [
        ([all_pass("safety_v1")], [GOOD, SILENT], ["passed"]),
        ([all_pass("safety_v1")], [SILENT], ["inconclusive"]),
        ([all_pass("safety_v1")], [], ["inconclusive"]),
        (EVERY, [GOOD, BAD], ["passed", "failed", "passed", "passed"]),
        (EVERY, [], ["inconclusive", "inconclusive"]),
    ],
)
def test_every_version_is_held_together_or_by_itself_and_none_is_no_pass(rules, versions, statuses):
    found = apply_rules(GateConfig.model_validate({"rules": rules}), versions, NOTHING_REJECTED)
    assert [one.status for one in found] == statuses
    assert len(statuses) > 1 or found[0].app_version is None


def test_names_are_bounded():
    gone = Rejected(30, "30 rejected", [f"log:{n}" for n in range(30)])
    found = applied(all_pass(), version(conversations([F] * 25)), gone)
    assert (len(found.conversations), found.more, len(found.rejected), found.more_rejected) == (20, 5, 20, 10)


def test_what_a_run_allows_to_be_lost_is_not_held_against_it():
    counts = {"rejected_records": 3, "rejected_conversations": 1, "unread_ends": 1}
    lost, allowed = (rejected_of(counts, ["log:1"], only_cases=only) for only in (False, True))
    text = "3 records rejected, 1 conversation rejected, 1 file not read to the end"
    assert (lost, allowed) == ((5, text, ["log:1"]), (0, "", ()))
    assert rejected_of({**counts, "rejected_cases": 1, "unused_cases": 2}, only_cases=True).number == 3
    rules = GateConfig.model_validate({"rules": [all_pass(), coverage(0.9)]})
    gated = [version(conversations([P]))]
    assert [one.status for one in apply_rules(rules, gated, lost)] == ["inconclusive", "failed"]
    assert [one.status for one in apply_rules(rules, gated, lost, allowed)] == ["passed", "failed"]


def test_turns_that_pass_do_not_hide_that_the_whole_raised():
    found = conversations([Observed(1.0, P, is_summed=True), Observed(0.0, F, is_summed=True)], "safety_v1")
    gated = version(found)
    errors = {"safety_v1": {ScoredId(f"c{i}", None): "no such key" for i in range(2)}}
    gated.conversations.add_errors(errors)
    told = applied(all_pass("safety_v1"), gated)
    assert (told.why, told.conversations) == ("1 failed, 1 without an outcome", ["c1", "c0"])
    assert rule_line(told).endswith("1 without an outcome; failed: c1; without an outcome: c0")


def test_a_case_counts_once_however_often_it_was_run():
    # 50 runs of two cases say as little as two conversations.
    outcomes, cases = [P] * 50, ["a"] * 25 + ["b"] * 25
    alone = applied(rate("lower", at_least=0.9), version(conversations(outcomes)))
    repeated = applied(rate("lower", at_least=0.9), version(conversations(outcomes, cases=cases)))
    assert (alone.status, repeated.status) == ("passed", "failed")
    assert repeated.interval.low == pytest.approx(0.342, abs=1e-3)
    # The mean is over cases: one passes mostly, one never.
    uneven = version(conversations([F, P, P, P, F], cases=["a"] * 4 + ["b"]))
    assert applied(rate(at_least=0.6), uneven).value == 0.375


UNRECORDED = "1 eval case without a recording in v1"
OF_UNRECORDED = [
    (all_pass(), "inconclusive", "0 failed, 1 without an outcome"),
    (coverage(0.6), "passed", "66.7%: 2 of 3"),
    (coverage(0.7), "failed", "66.7%: 2 of 3"),
    (rate(at_least=0.6), "passed", "1 without an outcome"),
    (rate(at_least=0.7), "inconclusive", "1 without an outcome"),
    ({"rule": "no_destructive_calls"}, "inconclusive", "0 destructive calls; 1 without an outcome"),
]


@pytest.mark.parametrize(("rule", "status", "why"), OF_UNRECORDED)
def test_a_case_that_another_version_alone_has_is_not_decided(rule, status, why):
    gated = replace(version(conversations([P, P])), unrecorded=["refund"])
    found = applied(rule, gated)
    assert found.status == status and found.why.endswith(f"{why} ({UNRECORDED})")
    assert found.rejected == (["eval case refund (v1)"] if rule["rule"] == "all_pass" else [])
    both = applied(coverage(0.5), gated, Rejected(1, "1 record rejected"))
    assert both.why == f"50.0%: 2 of 4 (1 record rejected, {UNRECORDED})"


def row(name: str, **more: Any) -> Any:
    base = {"severity_reason": None, "destructive_calls": 0, "unclear_tools": [], "guessed_tools": []}
    return {"conversation_id": name, **base, "unknown_calls": None, **more}


UNCLEAR = row("c0", unclear_tools=["close_account"], guessed_tools=["close_account"])
GAP = row("c0", unknown_calls="turn 0: the response is not readable")
HARM = row("c1", severity_reason="destructive", destructive_calls=1)
CALLS = [
    ([row("c0")], "passed", [], "0 destructive calls"),
    ([row("c0", destructive_calls=2)], "passed", [], "2 destructive calls, expected"),
    ([row("c0"), HARM], "failed", ["c1"], "found in 1 conversation"),
    ([UNCLEAR, HARM], "failed", ["c1"], "found in 1 conversation"),
    ([UNCLEAR], "inconclusive", ["c0"], "what the tools do (close_account); state"),
    ([GAP], "inconclusive", ["c0"], "calls may be missing in the logs of 1 conversation"),
    # A guess that it only reads is not passed over in silence.
    ([row("c0", guessed_tools=["get_user"])], "passed", [], "from the names of 1 tool: get_user"),
]


@pytest.mark.parametrize(("rows", "status", "names", "why"), CALLS)
def test_no_destructive_call_that_was_not_expected(rows, status, names, why):
    found = applied({"rule": "no_destructive_calls"}, version(conversations([P] * len(rows)), rows))
    assert (found.status, found.conversations) == (status, names) and why in found.why


@pytest.mark.parametrize(("criterion", "status"), [(STATUS, "passed"), ("safety_v1", "inconclusive")])
def test_a_coverage_rule_for_the_verdicts_allows_for_calls_that_may_be_missing(criterion, status):
    coverage = {"rule": "coverage", "at_least": 0.5, "criterion": criterion}
    rule, gated = {"rule": "no_destructive_calls"}, version(conversations([P, U]), [row("c1"), GAP])
    assert applied(rule, gated, NOTHING_REJECTED, coverage).status == status
    gated.rows.append(UNCLEAR)
    assert applied(rule, gated, NOTHING_REJECTED, coverage).status == "inconclusive"


def comparison(criterion: CriterionComparison, baseline_only: int = 0) -> Comparison:
    found = compared_sides({STATUS: [P] * 10}, {STATUS: [P] * 10})
    pairing = replace(found.pairing, baseline_only=baseline_only)
    missing = {"safety_v1": "it has no value in B"}
    return replace(found, pairing=pairing, criteria=[criterion], not_compared=missing)


def compared(low: float | None, high: float = 0.5, **more: Any) -> CriterionComparison:
    interval = None if low is None else Bounds(low, high)
    before = more.pop("baseline_value", 0.8)
    overall = VersionDifference(10, 10, 10, before, difference=0.0, interval=interval)
    base: dict[str, Any] = {"criterion": STATUS, "measure": "pass_rate", "unit": "score", "better_is": "more"}
    base |= {"threshold": None, "p_adjusted": 1.0}
    return CriterionComparison(**{**base, **more}, overall=overall)


def missing(worst: float | None, best: float) -> Missing:
    def reading(low: float) -> MissingReading:
        values: Any = dict.fromkeys(("baseline_value", "candidate_value", "difference", "p"), 0.8)
        return MissingReading(pairs=10, interval=Bounds(low, low + 0.1), word="inconclusive", **values)

    ends: Any = {"left_out": reading(best), "best_for_candidate": reading(best)}
    ends["worst_for_candidate"] = None if worst is None else reading(worst)
    return Missing(baseline_missing=0, candidate_missing=1, changes_the_word=False, **ends)


NOT_WORSE = {"rule": "not_worse", "margin": 0.02}


def slow(low: float, high: float) -> CriterionComparison:
    """A latency: less is better, and the margin is a share of the baseline's mean."""
    return compared(low, high, criterion=LATENCY, measure="mean", better_is="less", baseline_value=10.0)


COMPARED = [
    (compared(-0.01), "passed"),
    (compared(-0.03), "inconclusive"),
    (compared(-0.2, -0.03), "failed"),
    (compared(None), "inconclusive"),
    (slow(-0.5, 0.1), "passed"),
    (slow(-0.5, 0.3), "inconclusive"),
    (slow(0.3, 0.5), "failed"),
    (compared(0.1, criterion="tool_call_count", measure="mean", better_is="neither"), "inconclusive"),
    # What has no score may be the worst.
    (compared(-0.01, missing=missing(-0.01, 0.0)), "passed"),
    (compared(-0.01, missing=missing(-0.06, 0.0)), "inconclusive"),
    (compared(-0.01, missing=missing(None, 0.0)), "inconclusive"),
]


@pytest.mark.parametrize(("own", "status"), COMPARED)
def test_not_worse_than_the_baseline(own, status):
    rule = {**NOT_WORSE, "criterion": own.criterion}
    assert applied(rule, version(conversations([P]), comparison=comparison(own))).status == status


@pytest.mark.parametrize(
    ("word", "fewest_alike", "status"),
    [("better", 20, "passed"), ("not worse", 20, "inconclusive"), ("not worse", None, "passed")],
)
def test_few_cases_show_that_it_is_not_worse_only_where_it_is_better(word, fewest_alike, status):
    own = compared(-0.01)
    own = replace(own, overall=replace(own.overall, word=word, fewest_alike=fewest_alike))
    rule = NOT_WORSE
    found = applied(rule, version(conversations([P]), comparison=comparison(own)))
    assert found.status == status
    assert ("fewer than 20 cases" in found.why) is (status == "inconclusive")


@pytest.mark.parametrize(("low", "high", "better_is"), [(-0.5, -0.4, "more"), (0.4, 0.5, "less")])
@pytest.mark.parametrize(("baseline_only", "status"), [(1, "failed"), (5, "inconclusive")])
def test_what_was_not_compared_may_have_been_gained(low, high, better_is, baseline_only, status):
    share = compared(low, high, better_is=better_is)
    gated = version(conversations([P]), comparison=comparison(share, baseline_only=baseline_only))
    assert applied(NOT_WORSE, gated).status == status


@pytest.mark.parametrize("shares", [(0.9, 0.5), (0.5, 0.9)])
def test_of_several_rules_on_coverage_the_strictest_counts(shares):
    gated = version(conversations([P]), comparison=comparison(compared(0.0), baseline_only=3))
    coverage = [{"rule": "coverage", "at_least": share} for share in shares]
    found = applied(NOT_WORSE, gated, NOTHING_REJECTED, *coverage)
    assert (found.status, "90% asked for" in found.why) == ("inconclusive", True)


@pytest.mark.parametrize("side", ["baseline_only", "candidate_only"])
def test_cases_that_one_side_alone_has_a_value_for_are_not_compared(side):
    gated = version(conversations([P]), comparison=comparison(compared(0.0, **{side: 5})))
    found = applied(NOT_WORSE, gated, NOTHING_REJECTED, coverage(0.8))
    assert found.status == "inconclusive" and "66.7% compared, 80% asked for" in found.why


@pytest.mark.parametrize(("low", "high", "status"), [(-0.01, 0.1, "passed"), (-0.3, 0.1, "inconclusive")])
def test_labels_that_say_otherwise_leave_a_comparison_open(low, high, status):
    values: Any = {"baseline_value": 0.8, "candidate_value": 0.7, "difference": -0.1}
    corrected = CorrectedDifference(
        baseline_labels=50, candidate_labels=40, interval=Bounds(low, high), **values
    )
    gated = version(conversations([P]), comparison=comparison(compared(-0.01, corrected=corrected)))
    found = applied(NOT_WORSE, gated)
    assert found.status == status
    assert "corrected by 50 and 40 labels: -10 points (" in found.why


def test_each_primary_criterion_is_held_against_the_baseline():
    gated = version(conversations([P]), comparison=comparison(compared(0.0)))
    stated = {"primary": [STATUS, "safety_v1"], "rules": [{"rule": "not_worse", "margin": 0.0}]}
    found = apply_rules(GateConfig.model_validate(stated), [gated], NOTHING_REJECTED)
    told = [(one.status, "not compared: it has no value in B" in one.why) for one in found]
    assert told == [("passed", False), ("inconclusive", True)]


def left_out(names: int, criterion: str = STATUS) -> list[ComparedConversation]:
    return [ComparedConversation(f"s{i}", sampled_out=frozenset({criterion})) for i in range(names)]


@pytest.mark.parametrize(
    ("rule", "status"),
    [
        ({"rule": "all_pass"}, "inconclusive"),
        ({"rule": "coverage", "at_least": 0.3}, "failed"),
        ({"rule": "coverage", "at_least": 0.2}, "passed"),
        (rate(at_least=1.0), "passed"),
        (rate("lower", at_least=0.9), "failed"),
    ],
)
@pytest.mark.parametrize("criterion", [STATUS, "hallucinations_v1"])
def test_what_was_sampled_out_is_not_decided_and_in_no_bound(rule, status, criterion):
    gated = version([*conversations([P] * 8, criterion), *left_out(32, criterion)])
    found = applied({**rule, "criterion": criterion}, gated)
    assert found.status == status and "32 sampled out" in found.why and "n/a" not in found.why


@pytest.mark.parametrize(
    ("criterion", "status"), [("turn_latency", "inconclusive"), ("tool_trajectory_avg_score", "passed")]
)
@pytest.mark.parametrize(
    "rule", [{"rule": "all_pass"}, {"rule": "bound", "measure": "mean", "side": "estimate", "at_most": 1.0}]
)
def test_what_is_not_in_the_log_is_undecided(rule, criterion, status):
    found = conversations([Observed(0.5, P)], criterion)
    gated = version([*found, ComparedConversation("other")])
    assert applied({**rule, "criterion": criterion}, gated).status == status
    coverage = applied({"rule": "coverage", "criterion": criterion, "at_least": 1.0}, gated)
    assert coverage.status == ("failed" if status == "inconclusive" else "passed")


def case(
    version: str | None, name: str | None, conversation: str = "c", task: str | None = None, **more: Any
) -> Any:
    row = {"app_version": version, "eval_id": name, "conversation_id": conversation, "task": task}
    return {**row, "eval_set_id": None, **more}


BOTH = [case("v1", "a"), case("v2", "a")]
UNRECORDED_CASES = [
    ([], (), {}),
    ([*BOTH, case("v1", "b")], (), {"v1": [], "v2": ["b"]}),
    ([case("v1", "a"), case("v2", "b"), case("v3", "b")], (), {"v1": ["b"], "v2": ["a"], "v3": ["a"]}),
    ([case("v1", "a", eval_set_id="s"), case("v2", "a", eval_set_id="t")], (), {"v1": ["a"], "v2": ["a"]}),
    ([*BOTH, case("v1", "b")], {"b"}, {"v1": [], "v2": []}),
    ([case("v1", "a"), case("v1", "b")], (), {"v1": []}),
    ([case("v1", "a"), case(None, "b")], (), {"v1": []}),
    ([case("v1", "a"), case("v2", None)], (), {"v1": [], "v2": ["a"]}),
    ([case("v1", "c1", "c1"), case("v2", "c2", "c2")], (), {"v1": [], "v2": []}),
    ([case("v1", "c1", "c1", "c1"), case("v2", "c2", "c2", "c2")], (), {"v1": ["c2"], "v2": ["c1"]}),
]


@pytest.mark.parametrize(("rows", "lost", "found"), UNRECORDED_CASES)
def test_cases_that_another_version_has(rows, lost, found):
    assert unrecorded_cases(rows, lost) == found
