"""Which conversations are read first."""

from typing import get_type_hints

from hypothesis import given
from hypothesis import strategies as st

from turnwise.schemas.rows import ConversationRow
from turnwise.transforms.review.problems import to_read, type_sizes


def row(name, severity_score=1.0, problem_type="a", **columns):
    empty = dict.fromkeys(get_type_hints(ConversationRow))
    made = {
        **empty,
        "run_id": "r",
        "conversation_id": name,
        "severity_score": severity_score,
        "problem_type": problem_type if severity_score else None,
        "revision": 0,
        **columns,
    }
    return made


def names(rows):
    return "".join(each["conversation_id"] for each in rows)


def test_the_bounds_can_be_chosen():
    rows = [row(n) for n in "abc"] + [row(n, 0.5, "other") for n in "xyz"]
    assert names(to_read(rows, most=2)) == "ax"


@given(
    st.lists(
        st.tuples(
            st.sampled_from([0.0, 1.0, 2.0, 3.0]),
            st.sampled_from("stuvw"),
            st.sampled_from(["PASS", "FAIL", None]),
        ),
        max_size=60,
    )
)
def test_parts_can_be_chosen_first(made):
    rows = [
        row(f"{i:02}", severity_score, problem_type, verdict=verdict)
        for i, (severity_score, problem_type, verdict) in enumerate(made)
    ]
    parts = [rows[i::3] for i in range(3)]
    assert to_read([each for part in parts for each in to_read(part)]) == to_read(rows)


def test_problem_types_are_counted():
    rows = [row("a"), *(row(name, problem_type=kind) for name, kind in ("bz", "cz", "db")), row("p", 0.0)]
    assert list(type_sizes(rows).items()) == [("z", 2), ("a", 1), ("b", 1)]
