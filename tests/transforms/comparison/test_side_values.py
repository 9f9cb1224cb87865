"""Counts and means by case are those of a plain loop over the conversations."""

from copy import deepcopy
from statistics import fmean

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnwise.transforms.comparison.columns import columns_of
from turnwise.transforms.comparison.compare import CompareOptions, compare
from turnwise.transforms.comparison.measures import measure_of
from turnwise.transforms.comparison.observed import ComparedConversation, Observed
from turnwise.transforms.comparison.pairing import match
from turnwise.transforms.comparison.side import ComparedSide
from turnwise.transforms.comparison.side_values import values_of
from turnwise.transforms.comparison.values import group_values, paired_values

STATUS, SCORE, LATENCY = "evaluation_status", "response_match_score", "turn_latency"
VALUES = st.sampled_from([None, 0.0, 1.0, -1.0, 0.1, 0.2, 0.30000000000000004])
SCORES = st.builds(Observed, VALUES)
VERDICTS = st.sampled_from([Observed(1.0, "PASS"), Observed(0.0, "FAIL"), Observed(None, None)])
GIVEN = st.fixed_dictionaries({}, optional={STATUS: VERDICTS, SCORE: SCORES, LATENCY: SCORES})


@st.composite
def conversations(draw, side):
    """Conversations of a side; several share one and the same `criteria`."""
    made = draw(st.lists(GIVEN, min_size=1, max_size=4))
    found = []
    for number in range(draw(st.integers(1, 14))):
        one = ComparedConversation(f"{side}{number}", side, draw(st.sampled_from(["x", "y", "z", None])))
        one.criteria = draw(st.sampled_from(made))
        one.sampled_out = frozenset(draw(st.sets(st.sampled_from([STATUS, SCORE]), max_size=1)))
        found.append(one)
    return found


def plain_values(found, measure, undecided=None):
    seen = [own.criteria[measure.criterion] for own in found if measure.criterion in own.criteria]
    values = [measure.value(own) for own in seen if measure.applies(own)]
    return [own for own in (undecided if value is None else value for value in values) if own is not None]


def plain_pairs(cases, measure, undecided):
    """Returns case -> values of A and of B, by the rule that `paired_values` states."""
    found = {}
    for name, sides in cases.items():
        own = [plain_values(side, measure, fill) for side, fill in zip(sides, undecided, strict=True)]
        for place, side in enumerate(sides):
            drawn = [one for one in side if measure.criterion not in one.sampled_out]
            if None not in undecided and not own[place] and plain_values(sides[1 - place], measure, 0.0):
                own[place] = [undecided[place]] * len(drawn)
        if own[0] and own[1]:
            found[name] = own
    return found


@pytest.mark.parametrize("criterion", [STATUS, SCORE, LATENCY])
@given(a=conversations("v1"), b=conversations("v2"))
@settings(max_examples=30, deadline=None)
def test_values_by_case(criterion, a, b):
    given_by = [own.criteria[criterion] for own in (*a, *b) if criterion in own.criteria]
    measure = measure_of(criterion, given_by, False)
    matched = values_of(match(columns_of(a), columns_of(b), "eval_id"))
    names = sorted({own.eval_id for own in a} & {own.eval_id for own in b} - {None})
    cases = {name: [[own for own in side if own.eval_id == name] for side in (a, b)] for name in names}
    assert matched.names == names
    for undecided in ((None, None), (0.0, 1.0), (0.1, 0.1)):
        found = paired_values(matched, measure, undecided)
        wanted = plain_pairs(cases, measure, undecided)
        assert found.names == [*wanted]
        for place, runs in enumerate((found.a, found.b)):
            assert runs.counts.tolist() == [len(own[place]) for own in wanted.values()]
            assert runs.means.tolist() == [fmean(own[place]) for own in wanted.values()]
    for side, own in ((matched.a, a), (matched.b, b)):
        wanted = len(plain_values(own, measure, 0.0)) - len(plain_values(own, measure))
        assert side.count_undecided(measure) == wanted
        by_case = {}
        for one in own:
            by_case.setdefault(one.eval_id or one.conversation_id, []).append(one)
        values = [plain_values(found, measure) for found in by_case.values()]
        assert group_values(side, measure).means.tolist() == [fmean(found) for found in values if found]


@given(a=conversations("v1"), b=conversations("v2"))
@settings(max_examples=20, deadline=None)
def test_criteria_that_conversations_share_are_compared_like_copies(a, b):
    options = CompareOptions(any_verdicts=True)
    shared, copied = (
        compare(*(ComparedSide("x", "out", columns_of(side), ["run"]) for side in sides), options)
        for sides in ((a, b), ([deepcopy(one) for one in a], [deepcopy(one) for one in b]))
    )
    assert msgspec.json.encode(shared) == msgspec.json.encode(copied)


def test_an_error_concerns_only_its_conversation():
    criteria = {SCORE: Observed(1.0)}
    made = columns_of([ComparedConversation(f"c{number}", "v1", criteria=criteria) for number in range(3)])
    assert made.criteria.places.tolist() == [0, 0, 0]
    made.add_errors({LATENCY: {("c1", "v1"): "no clock"}, SCORE: {("c2", "v1"): "is scored"}})
    assert [own.get(LATENCY) for own in made.criteria] == [
        None,
        Observed(why="raised an error: no clock"),
        None,
    ]
    assert made.criteria.places.tolist() == [0, 1, 0] and criteria == {SCORE: Observed(1.0)}
    assert all(own[SCORE] == Observed(1.0) for own in made.criteria)
