from collections import Counter
from copy import deepcopy

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.schemas.score import Score
from turnwise.transforms.beam.steps import MetricsFn, StateCoder
from turnwise.transforms.criteria.responses import FinalResponseMatch
from turnwise.transforms.judging.ask import JudgeModelOptions
from turnwise.transforms.metrics.state import (
    MetricsState,
    Tally,
    add_panel,
    packed,
    panel_column,
    unpacked,
    version_rows,
)
from turnwise.transforms.scoring.evaluate import CriterionScores

COUNTS = st.integers(0, 50)
OUTCOMES = st.sampled_from(["PASS", "FAIL", "SKIPPED", None])
ENTRIES = st.tuples(
    st.sampled_from(["one", "zwei", "日本"]),
    st.none() | st.integers(0, 3),
    st.none() | st.floats(-1e12, 1e12),
    OUTCOMES,
    st.booleans(),
)
SUM_KEYS = st.tuples(
    st.none() | st.integers(0, 3), st.sampled_from(["tool", "turn_latency"]), st.text(max_size=3)
)
SUMS = st.dictionaries(SUM_KEYS, st.tuples(st.integers(1, 9), st.integers(0, 10**25)).map(list), max_size=4)


def drawn_sums(draw):
    sampled = draw(st.dictionaries(st.sampled_from(["one", "zwei"]), st.integers(1, 9)))
    counts = (draw(COUNTS) for _ in range(4))
    state = MetricsState(*counts, ces=draw(SUMS), sampled_out=Counter(sampled))
    votes = st.dictionaries(st.sampled_from(["PP", "PF", "UU"]), st.integers(1, 9), min_size=1)
    for key in draw(st.sets(st.tuples(st.sampled_from(["one", "zwei"]), st.booleans()))):
        state.panels.update({(*key, letters): number for letters, number in draw(votes).items()})
    for case, outcome in draw(st.lists(st.tuples(st.sampled_from("abc"), OUTCOMES), max_size=6)):
        state.repeats.add(case, [("one", outcome)])
    for criterion, turn, value, outcome, is_timed in draw(st.lists(ENTRIES, max_size=12)):
        tally = state.tallies.setdefault((criterion, turn), Tally())
        tally.add(value, outcome, is_timed)
        tally.voted += outcome is None
        tally.errors += turn == 1
        tally.flipped += outcome is value is None
    return state


@st.composite
def states(draw):
    state = drawn_sums(draw)
    for name in draw(st.sets(st.sampled_from(["tag:a", "tag:b"]))):
        state.slices[name] = drawn_sums(draw)
        state.slices[name].conversations += 1
    return state


def added(*parts):
    state = MetricsState()
    for part in parts:
        state.merge(part)
    return state


@given(states(), states())
def test_what_is_taken_back_leaves_no_trace(one, other):
    before, spare = deepcopy(one), deepcopy(other)
    one.merge(other)
    one.merge(other, -1)
    assert (one, other) == (before, spare)
    one.merge(before, -1)
    assert one == MetricsState()


@given(states(), states(), states())
def test_order_and_grouping_do_not_matter(one, two, three):
    assert added(one, two, three) == added(three, added(two, one))
    back = MetricsState()
    back.merge(two, -1)
    assert added(back, one, two) == one


@given(states())
def test_packing_keeps_everything(state):
    assert unpacked(packed(state)) == state
    coder = StateCoder()
    assert coder.decode(coder.encode(state)) == state


@given(states(), states())
def test_changes_that_take_back_can_be_packed(one, other):
    one.merge(other, -1)
    assert unpacked(packed(one)) == one


def test_unpacked_sums_can_be_added_to():
    state = MetricsState(1, tallies={("c", None): Tally(1, sketch={5: 1})}, ces={(0, "tool", "x"): [1, 0]})
    found = unpacked(packed(state))
    found.merge(state)
    assert found.tallies["c", None].sketch == {5: 2}
    assert found.ces == {(0, "tool", "x"): [2, 0]}
    assert found.sampled_out["none"] == 0


OTHERS = [b"", b"\x00", msgspec.msgpack.encode([2, 0, 0, 0, 0, [], [], {}]), msgspec.msgpack.encode({"a": 1})]


@pytest.mark.parametrize("data", OTHERS)
def test_what_was_not_packed_here_is_refused(data):
    with pytest.raises((ValueError, msgspec.MsgspecError)):
        unpacked(data)


def test_a_newer_writer_may_add_fields_at_the_end():
    data = msgspec.msgpack.decode(packed(MetricsState(3, 7)))
    assert unpacked(msgspec.msgpack.encode([*data, {"new": 1}])) == MetricsState(3, 7)


def bundle(cases, outcome="PASS"):
    state = MetricsState(len(cases), passes=len(cases))
    for case in cases:
        state.repeats.add(f"case {case}", [("verdict", outcome)])
    return state


@pytest.mark.parametrize(
    ("bundles", "cases"),
    [
        ([range(6000), range(4000, 10_000)], 10_000),
        ([range(10_000), range(10_000), range(5)], 10_000),
        ([range(6000), range(6000, 10_001)], None),
        ([range(10_010), range(5), range(5)], None),
        ([range(5), range(10_001)], None),
    ],
)
def test_repeats_of_many_cases_add_up_over_workers(bundles, cases):
    """Beyond 10,000 cases nothing is said, whichever worker saw them; below, all runs of a case count."""
    fn, coder = MetricsFn(), StateCoder()
    runs = Counter(case for part in bundles for case in part)
    for order in (bundles, bundles[::-1]):
        sent = [fn.add_input(fn.create_accumulator(), bundle(part)) for part in order]
        first = coder.encode(fn.merge_accumulators(sent[:-1]))
        whole = fn.merge_accumulators([coder.decode(first), sent[-1]])
        (row,) = version_rows(("v", fn.extract_output(whole)), "r")
        assert row["conversations"] == sum(map(len, bundles))
        if cases is None:
            assert row["repeats"] is None
        else:
            assert (row["repeats"]["cases"], row["repeats"]["runs"]) == (cases, min(runs.values()))
            assert len(row["repeats"]["pass_hat_k"]) == max(runs.values())


def test_a_criterion_that_is_taken_back_leaves_no_row():
    state, other = MetricsState(1), MetricsState(1, sampled_out=Counter(seldom=1))
    for one in (state, other):
        one.tallies["kept", None] = Tally(scored=1)
    other.tallies["gone", None] = Tally(scored=1)
    state.merge(other)
    assert {row["criterion"] for row in version_rows(("v", state), "r")} == {
        "verdict",
        "kept",
        "gone",
        "seldom",
    }
    state.merge(other, -1)
    assert {row["criterion"] for row in version_rows(("v", state), "r")} == {"verdict", "kept"}


def test_adding_up_leaves_the_parts_alone():
    part = MetricsState(1, tallies={("c", 0): Tally(1, sketch={3: 1})}, ces={(0, "tool", ""): [1, 0]})
    spare = deepcopy(part)
    fn = MetricsFn()
    merged = fn.merge_accumulators([fn.add_input(fn.create_accumulator(), part), part])
    merged.merge(part)
    assert merged.conversations == 3
    assert part == spare


NAME = FinalResponseMatch.name


def scored(*letters, panel=("a", "b")):
    verdicts = {"P": "PASS", "F": "FAIL", "U": None}
    criterion = FinalResponseMatch(judge_model_options=JudgeModelOptions(panel=panel))
    scores = [
        Score(1.0, details={"panel": {"members": [{"verdict": verdicts[one]} for one in each]}})
        for each in letters
    ]
    return CriterionScores(criterion, list(enumerate([*scores, Score(0.0)])), Score(1.0))


def counted(*letters):
    counts = Counter()
    add_panel(counts, scored(*letters))
    return counts


def test_only_scores_of_a_panel_are_counted_and_those_of_whole_conversations_apart():
    assert counted("PP", "PF", "PP") == {(NAME, False, "PP"): 2, (NAME, False, "PF"): 1}
    assert counted() == {}
    counts = Counter()
    add_panel(counts, scored("PP", panel=()))
    assert counts == {}
    entry = scored("PP", "PF")
    entry.overall = Score(0.0, details={"panel": {"members": [{"verdict": "FAIL"}, {"verdict": "FAIL"}]}})
    add_panel(counts, entry)
    assert counts == {(NAME, False, "PP"): 1, (NAME, False, "PF"): 1, (NAME, True, "FF"): 1}
    assert panel_column(counts, NAME, "conversation")["questions"] == 1


def test_the_column():
    counts = counted("PP", "PF", "UU")
    column = {"questions": 3, "decided": 1, "agreement": 1.0, "alpha": 0.0}
    assert panel_column(counts, NAME, "turn") == column
    assert panel_column(counts, NAME, "conversation") is panel_column(counts, "another", "turn") is None
