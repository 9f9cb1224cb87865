"""Which stored conversations are compared is what a plain loop over them says."""

from typing import NamedTuple

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from turnwise.pipeline.runs.store import RecordColumns, with_cases
from turnwise.transforms.decisions.comparison.sides import coded

NAMES = st.sampled_from(["", "x", "y"])


class Record(NamedTuple):
    conversation: str
    version: str
    run: str
    nanos: int
    case: str
    evaluation: str
    is_result: bool


def columns_of_records(found):
    names, versions, runs, nanos, cases, evaluations, is_result = [*zip(*found, strict=True)] or [()] * 7
    numbers = np.asarray(nanos, np.int64), np.asarray(is_result, np.bool_), np.arange(len(found))
    return RecordColumns(*map(coded, (names, versions, runs, cases, evaluations)), *numbers)


@st.composite
def records(draw):
    """Records of several runs, ordered by run, with names and times of their own."""
    found = []
    for number in range(draw(st.integers(0, 12))):
        own = Record(
            conversation=draw(st.sampled_from("abc")),
            version=draw(st.sampled_from(["v1", "v2"])),
            run=draw(st.sampled_from(["r1", "r2", "r3"])),
            nanos=draw(st.integers(0, 4)) * 100 + number,
            case=draw(NAMES),
            evaluation=draw(NAMES),
            is_result=draw(st.booleans()),
        )
        found.append(own)
    return sorted(found, key=lambda own: own.run)


def plain_last_runs(found):
    """Returns the places of each conversation in its last run, where several runs have the conversation."""
    last = {}
    for own in sorted(found, key=lambda own: own.nanos):
        last[own.evaluation or own.case, own.conversation, own.version] = own.run
    runs = {
        own.conversation: {other.run for other in found if other.conversation == own.conversation}
        for own in found
    }
    return [
        place
        for place, own in enumerate(found)
        if len(runs[own.conversation]) == 1
        or last[own.evaluation or own.case, own.conversation, own.version] == own.run
    ]


@given(found=records())
def test_each_conversation_counts_in_its_last_run(found):
    columns = columns_of_records(found)
    assert columns.last_runs().places.tolist() == plain_last_runs(found)
    assert columns.oldest == min((own.nanos for own in found), default=0)
    assert columns.run_ids == sorted({own.run for own in found})
    own = columns.of_evaluations({"x"})
    assert [*own.evaluations] == ["x"] * sum(own.evaluation == "x" for own in found)


@given(a=records(), b=records())
def test_results_have_the_case_of_the_conversations_of_their_evaluation(a, b):
    known = {own.evaluation: own.case for own in [*a, *b] if not own.is_result and own.evaluation}
    for side, own in zip((a, b), with_cases([columns_of_records(a), columns_of_records(b)]), strict=True):
        wanted = [one._replace(case=known.get(one.case, one.case)) if one.is_result else one for one in side]
        assert [*own.cases] == [one.case for one in wanted]
        assert len({*own.cases.values}) == len(own.cases.values)
