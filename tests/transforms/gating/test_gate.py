"""The rules of a gate: what passes, what fails, and what cannot be decided.

Each line of `gates.jsonl` holds `rules` against `conversations`, group by group: criterion -> outcomes or
values (in lower case: the sum of its turns; n: no claim), or the rows of scores of `turns` and the `whole`.
`rejected` counts what was lost, `rows` are of conversations, `corrected` is what labels say, `comparison`
what the comparison with the baseline does.
`status` is that of all rules, or of the first; `why` all of its reason, or parts of it.
"""

from typing import Any

import pytest
from msgspec import convert
from msgspec.structs import replace

from tests.compared_sides import F, P, U, observed, raised_row, score_row
from tests.compared_sides import compared as compared_sides
from tests.tables import lines_beside, stated
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
from turnwise.transforms.decisions.comparison.collect import ComparedConversation, Observed, collect
from turnwise.transforms.decisions.comparison.sides import columns_of
from turnwise.transforms.decisions.gate import (
    GatedVersion,
    Rejected,
    apply_rules,
    rejected_of,
    unrecorded_cases,
)

LINES = lines_beside(__file__, "gates.jsonl")
NOTHING_REJECTED = Rejected(0, "")
ALL_PASS: Any = {"rule": "all_pass", "criterion": "verdict"}
OUTCOMES: dict[str, Any] = {
    **{"P": P, "F": F, "U": U, "n": Observed(-1.0, None, is_summed=True)},
    **{"p": Observed(1.0, P, is_summed=True), "f": Observed(0.0, F, is_summed=True)},
}
ROW = {"severity_reason": None, "destructive_calls": 0, "unclear_tools": [], "guessed_tools": []}


def given(value: Any) -> Observed:
    if isinstance(value, list):
        return Observed(*value)
    if isinstance(value, dict):
        turns = [score_row(None, of_turn, turn_index=index) for index, of_turn in enumerate(value["turns"])]
        [made] = collect([*turns, score_row(None, **value["whole"])], [])
        return made.criteria["match"]
    return observed(float("nan") if value == "nan" else OUTCOMES.get(value, value))


def version(groups: list[dict[str, Any]], line: Any) -> GatedVersion:
    """Returns a version of conversations c0, c1 ..., of which a line may say more."""
    criteria = [
        {name: given(value)} if name else {}
        for group in groups
        for name, values in group.items()
        for value in values
    ]
    cases = line.get("cases") or [None] * len(criteria)
    made = [
        ComparedConversation(f"c{i}", eval_id=case, criteria=own)
        for i, (own, case) in enumerate(zip(criteria, cases, strict=True))
    ]
    for name, number in line.get("sampled_out", {}).items():
        made += [ComparedConversation(f"s{i}", sampled_out=frozenset({name})) for i in range(number)]
    rows: Any = [{**ROW, "unknown_calls": None, **row} for row in line.get("rows", ())]
    return GatedVersion(
        *("v1", columns_of(made), rows, comparison(**line["comparison"]) if "comparison" in line else None),
        calibration=calibration(line["corrected"]) if "corrected" in line else None,
        unrecorded=line.get("unrecorded", ()),
    )


def calibration(stated: dict[str, Any]) -> Calibration:
    counts: Any = {"scores": 10, "no_score": 0, "labels": 5, "cases": 5, "missing": 0, "raw": 1.0}
    figure = convert({**counts, "group": "all", "name": None, "covers": "all", **stated}, Corrected)
    numbers: Any = dict.fromkeys(("scores", "labelled", "cases", "raters", "random"), 5)
    numbers |= {"no_score": 0, "hand_picked": 0, "corrected": [figure]}
    one = CriterionCalibration(criterion="verdict", level="conversation", kind="outcomes", **numbers)
    return Calibration(
        run_id="r", labels=[], lines=5, problems=[], false_pass_cost=1, false_fail_cost=1, criteria=[one]
    )


def comparison(
    interval: list[float] | None, baseline_only: int = 0, baseline_value: float = 0.8, **fields: Any
) -> Comparison:
    """Returns a comparison by one criterion, with the bounds of its difference; safety_v1 has no value."""
    shown = {**{"difference": 0.0, "interval": interval and Bounds(*interval)}, **fields.pop("overall", {})}
    base: dict[str, Any] = {"criterion": "verdict", "measure": "pass_rate", "unit": "score"}
    base |= {"better_is": "more", "threshold": None, "p_adjusted": 1.0, **fields.pop("own", {}), **fields}
    if "corrected" in fields:
        values: Any = {"baseline_value": 0.8, "candidate_value": 0.7, "difference": -0.1}
        base["corrected"] = CorrectedDifference(
            baseline_labels=50, candidate_labels=40, interval=Bounds(*fields["corrected"]), **values
        )
    if "missing" in fields:
        base["missing"] = missing(**fields["missing"])
    whole = compared_sides({"verdict": [P] * 10}, {"verdict": [P] * 10})
    overall = VersionDifference(10, 10, 10, baseline_value, **shown)
    return replace(
        whole,
        pairing=replace(whole.pairing, baseline_only=baseline_only),
        criteria=[CriterionComparison(**base, overall=overall)],
        not_compared={"safety_v1": "it has no value in B"},
    )


def missing(worst: float | None, best: float) -> Missing:
    def reading(low: float) -> MissingReading:
        values: Any = dict.fromkeys(("baseline_value", "candidate_value", "difference", "p"), 0.8)
        return MissingReading(pairs=10, interval=Bounds(low, low + 0.1), word="inconclusive", **values)

    ends: Any = {"left_out": reading(best), "best_for_candidate": reading(best)}
    ends["worst_for_candidate"] = None if worst is None else reading(worst)
    return Missing(baseline_missing=0, candidate_missing=1, changes_the_word=False, **ends)


def rejected(line: Any) -> Rejected:
    lost = line.get("rejected", 0)
    if isinstance(lost, list):
        return Rejected(*lost)
    return Rejected(lost, f"{lost} rejected" if lost else "", [f"log:{n}" for n in range(lost)])


@pytest.mark.parametrize("name", LINES)
def test_rules(name):
    line = LINES[name]
    stated = {key: line[key] for key in ("rules", "primary") if key in line}
    groups = line.get("versions", [line.get("conversations", [{"verdict": "P"}])])
    gated = [version(one, line) for one in groups]
    results = [*apply_rules(GateConfig.model_validate(stated), gated, rejected(line))]
    first, status, why = results[0], line.get("status"), line.get("why", [])
    assert status in (None, first.status, [one.status for one in results]), first
    assert first.why == why if isinstance(why, str) else all(part in first.why for part in why), first.why
    assert not any(part in first.why for part in line.get("lacks", ()))
    if stated["rules"][0]["rule"] == "all_pass":
        # What has no outcome is not left out, whatever a rule on coverage allows.
        lenient = {"rules": [*stated["rules"], {"rule": "coverage", "criterion": "verdict", "at_least": 0.1}]}
        assert next(apply_rules(GateConfig.model_validate(lenient), gated, rejected(line))) == first
    told = {
        "second": lambda: results[1].why,
        "rejected_names": lambda: first.rejected,
        "names": lambda: first.conversations,
        "missed": lambda: len(first.conversations) + first.more,
        "numbers": lambda: [
            *(len(first.conversations), first.more, len(first.rejected), first.more_rejected)
        ],
        "of_version": lambda: first.app_version,
        "value": lambda: first.value,
        "low": lambda: pytest.approx(first.interval.low, abs=1e-3),
    }
    for key in told.keys() & line.keys():
        assert line[key] == told[key](), key


def test_what_a_run_allows_to_be_lost_is_not_held_against_it():
    counts = {"rejected_records": 3, "rejected_conversations": 1, "unread_ends": 1}
    lost, allowed = (rejected_of(counts, ["log:1"], only_cases=only) for only in (False, True))
    text = "3 records rejected, 1 conversation rejected, 1 file not read to the end"
    assert (lost, allowed) == ((5, text, ["log:1"]), (0, "", ()))
    assert rejected_of({**counts, "rejected_cases": 1, "unused_cases": 2}, only_cases=True).number == 3
    coverage = {"rule": "coverage", "criterion": "verdict", "at_least": 0.9}
    rules = GateConfig.model_validate({"rules": [ALL_PASS, coverage]})
    gated = [version([{"verdict": "P"}], {})]
    assert [one.status for one in apply_rules(rules, gated, lost)] == ["inconclusive", "failed"]
    assert [one.status for one in apply_rules(rules, gated, lost, allowed)] == ["passed", "failed"]


def test_turns_that_pass_do_not_hide_that_the_whole_raised():
    gated = version([{"safety_v1": "pf"}], {})
    gated.conversations.add_errors([raised_row(f"c{i}", None, "safety_v1", "no such key") for i in range(2)])
    rules = GateConfig.model_validate({"rules": [{**ALL_PASS, "criterion": "safety_v1"}]})
    (told,) = apply_rules(rules, [gated], NOTHING_REJECTED)
    assert (told.why, told.conversations) == ("1 failed, 1 without an outcome", ["c1", "c0"])
    assert rule_line(told).endswith("1 without an outcome; failed: c1; without an outcome: c0")


@stated("unrecorded", "cases, lost, found")
def test_cases_that_another_version_has(cases, lost, found):
    """A case: app version, eval case, conversation, task, eval set."""
    names = ("app_version", "eval_id", "conversation_id", "task", "eval_set_id")
    rows: Any = [dict(zip(names, (*case, *(None, None, "c", None, None)[len(case) :]))) for case in cases]  # noqa: B905
    assert unrecorded_cases(rows, lost) == found
