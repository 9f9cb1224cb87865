"""What a contribution changes, without an engine."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.transforms.beam.windows import Contribution, revise
from turnwise.transforms.metrics.state import MetricsState, Tally


def contribution(revision=0, digest="a", time=0.0):
    """The version and the sums are those of the record: equal digests have equal ones."""
    tally = Tally()
    tally.add(ord(digest) + revision / 10, "PASS", True)
    state = MetricsState(1, 2, 1, 0, {(f"criterion {digest}", None): tally})
    version = "v1" if digest < "c" else "v2"
    return Contribution("n", revision, digest.encode(), time, version, state)


def sums_after(*contributions, earlier=None):
    """Adds up what comes, beginning with what an earlier process counted."""
    sums, known = {}, None

    def add(sign, time, version, state):
        place = sums.setdefault((version, time), MetricsState())
        place.merge(state, sign)
        if place == MetricsState():
            del sums[version, time]

    if earlier is not None:
        known, _ = revise(None, earlier)
        add(1, earlier.event_time, earlier.app_version, earlier.statistics)
    for one in contributions:
        known, changes = revise(known, one)
        for change in changes:
            add(*change)
    return sums


A, B, C = contribution(), contribution(digest="b", time=5.0), contribution(digest="c", time=9.0)
EARLIER = [
    ("read again", contribution(0, "a", 3.0), [contribution(0, "a", 4.0)], contribution(0, "a")),
    (
        "read again and revised",
        contribution(0, "a", 3.0),
        [contribution(0, "a", 4.0), contribution(1, "b", 6.0)],
        contribution(1, "b"),
    ),
]


@pytest.mark.parametrize(("old", "new", "winner"), [case[1:] for case in EARLIER])
def test_what_was_counted_before_a_restart(old, new, winner):
    assert sums_after(*new, earlier=old) == {(winner.app_version, 3.0): winner.statistics}


ANY = st.builds(contribution, st.integers(0, 2), st.sampled_from("abcd"), st.sampled_from([0.0, 100.0]))


@given(st.lists(ANY, min_size=1, max_size=6))
def test_exactly_one_is_counted(contributions):
    highest = max(one.revision for one in contributions)
    last = [one for one in contributions if one.revision == highest][-1]
    assert sums_after(*contributions) == {(last.app_version, contributions[0].event_time): last.statistics}


def test_a_lost_conversation_is_taken_back_and_counts_when_it_is_mended():
    rejected = contribution(1, "b")._replace(app_version="", statistics=MetricsState())
    assert sums_after(A, rejected) == {}
    mended = contribution(1, "c", 70.0)
    assert sums_after(A, rejected, mended) == {("v2", 0.0): mended.statistics}
    assert sums_after(rejected, mended, earlier=A) == {("v2", 0.0): mended.statistics}
