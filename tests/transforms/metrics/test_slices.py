"""Slices of the metrics."""

import pickle

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tables import stated
from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import Conversation, GroundedAnswer, Record, ToolCall, Turn
from turnwise.schemas.run import RunInfo
from turnwise.transforms.criteria.base import CRITERIA
from turnwise.transforms.matching.sample import Sample
from turnwise.transforms.metrics.state import (
    MetricsState,
    Tally,
    add_conversation,
    slice_rows,
    slices_of,
    version_rows,
)
from turnwise.transforms.review.row import decide
from turnwise.transforms.scoring.evaluate import evaluate
from turnwise.transforms.scoring.selection import Criteria

RUN = RunInfo("run-1", "2026-03-01T02:00:00Z", ("skipped", "query"))
CRITERIA_USED = [CRITERIA["skipped_rate"](threshold=0.6), CRITERIA["turn_latency"]()]


def turn(skipped=(), classes=(), latency=None):
    grounded = GroundedAnswer(skipped_reasons=list(skipped), query_classes=list(classes))
    return Turn(agent="a", latency_ms=latency, grounded=grounded)


def case_of(*turns, **fields):
    conversation = Conversation(**{"conversation_id": "c", "turns": list(turns), **fields})
    return Sample(conversation, None, Record("f", 1, b"{}"))


MIXED = case_of(
    turn(classes=["A"]),
    turn(["X", "Y"], ["A", "A"]),
    Turn(agent="b", speakers=["root"], tool_calls=[ToolCall("f", agent="music")], transfers=["root"]),
    tags=["vip", "skipped:X", "team:red"],
    language="de",
)


@stated("slices", "wanted, slices")
def test_slices(wanted, slices):
    assert slices_of(MIXED, wanted) == {name: own and {*own} for name, own in slices.items()}


def state_of(*cases, run=RUN):
    sums = {}
    for case in cases:
        found = decide(evaluate(case, Criteria(CRITERIA_USED))[0], run)
        add_conversation(sums, found.scored, found.verdict, found.parts)
    return sums.get("", MetricsState())


def rows_of(state):
    return {(row["slice"], row["criterion"], row["level"]): row for row in slice_rows(("", state), "run-1")}


@stated("one field", "wanted, fields, made")
def test_a_slice_needs_nothing_but_its_own_field(wanted, fields, made):
    run = RunInfo("run-1", "2026-03-01T02:00:00Z", (wanted,))
    turns = msgspec.convert(fields.pop("turns", [{"agent": "a"}]), list[Turn])
    state = state_of(case_of(*turns, **fields), run=run)
    assert [*state.slices] == [made]


def test_figures_are_those_of_the_slices_own_turns():
    first = case_of(turn(latency=1000.0), turn(["X"], latency=3000.0))
    second = case_of(turn(["X"], ["A"], latency=5000.0), turn(latency=7000.0))
    rows = rows_of(state_of(first, second, case_of(turn(latency=9000.0))))
    assert {name for name, *_ in rows} == {"skipped:X", "query:A"}
    latency = rows["skipped:X", "turn_latency", "turn"]
    rate = rows["skipped:X", "skipped_rate", "conversation"]
    assert (latency["count"], latency["mean"]) == (2, 4.0)
    assert (latency["conversations"], latency["turns"], latency["share_of_turns"]) == (2, 2, 2 / 5)
    assert (rate["count"], rate["mean"], rate["pass_count"], rate["fail_count"]) == (2, 1.0, 0, 2)
    status = rows["skipped:X", "verdict", "conversation"]
    assert (status["count"], status["pass_count"]) == (2, 2)
    assert rows["query:A", "turn_latency", "turn"]["mean"] == 5.0


def test_a_slice_of_whole_conversations_is_as_the_version():
    run = RunInfo("run-1", "2026-03-01T02:00:00Z", ("language",))
    cases = case_of(turn(latency=1000.0), language="de"), case_of(turn(["X"]), language="de")
    state = state_of(*cases, run=run)
    whole = version_rows(("", state), "run-1")
    sliced = slice_rows(("", state), "run-1")
    shared = whole[0].keys() & sliced[0].keys()
    assert [{k: row[k] for k in shared} for row in sliced] == [{k: row[k] for k in shared} for row in whole]
    assert {(row["slice"], row["share_of_turns"]) for row in sliced} == {("language:de", 1.0)}


def test_a_conversation_that_is_scored_again_is_in_its_slices_as_it_is_now():
    before, after = (state_of(case_of(turn(["X"], latency=latency))) for latency in (1000.0, 3000.0))
    change = MetricsState()
    change.merge(before, -1)
    change.merge(after)
    before.merge(change)
    assert rows_of(before) == rows_of(after)


def test_what_raised_is_counted_in_the_slices_of_its_turn():
    found = decide(evaluate(case_of(turn(), turn(["X"])), Criteria(CRITERIA_USED))[0], RUN)
    found.scored.scores[0].errors = [None, 0, 1]
    state, name = MetricsState(), found.scored.scores[0].criterion.name
    state.add(found.scored, found.verdict)
    tallies = state.slices["skipped:X"].tallies
    assert [tallies.get((name, place), Tally()).errors for place in (None, 0, 1)] == [1, 0, 1]


def test_a_conversation_that_broke_off_is_in_every_sum():
    ends = ((None, [turn()]), ("limit", [turn()]), ("agent_error", []), ("environment_error", [turn()]))
    cases = [case_of(*turns, eval_id="e", tags=["red"], ended=ended) for ended, turns in ends]
    held = [Sample(case.conversation, EvalCase(eval_id="e"), case.record) for case in cases]
    sums = state_of(*held, run=RunInfo("run-1", "2026-03-01T02:00:00Z", ("tag",)))
    for each in (sums, sums.slices["red"]):
        assert (each.conversations, each.passes, each.fails) == (4, 1, 2)
    repeats = sums.repeats.figures("verdict")
    assert (repeats["runs"], repeats["pass_hat_k"][0]["value"]) == (3, pytest.approx(1 / 3))


def test_without_labels_there_are_no_rows():
    assert slice_rows(("", state_of(case_of(turn()))), "run-1") == []
    assert slice_rows(("", MetricsState()), "run-1") == []


TURNS = st.sampled_from([turn(), turn(["X"]), turn(["X"], ["A"], 5.0), turn([], ["B"], 1.0)])
CASES = st.lists(st.lists(TURNS, max_size=3), max_size=5)


@settings(deadline=None)
@given(CASES, st.integers(0, 5))
def test_sums_of_parts_are_the_sums_of_all(conversations, cut):
    cases = [case_of(*turns) for turns in conversations]
    parts = [state_of(*cases[:cut]), state_of(*cases[cut:])]
    merged = MetricsState()
    for part in parts:
        merged.merge(pickle.loads(pickle.dumps(part)))
    assert rows_of(merged) == rows_of(state_of(*cases))
    assert merged.slices.keys() == {tag for c in cases for tag in slices_of(c, RUN.slices)}
