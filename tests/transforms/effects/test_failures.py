import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.schemas.conversation import ToolResponse
from turnwise.transforms.effects.failures import changed_nothing, has_failed


@pytest.mark.parametrize(("mark", "wanted"), [(True, True), ("boom", True), (False, False), ("", False)])
def test_the_mark_of_the_log(mark, wanted):
    assert has_failed(ToolResponse(response="fine", error=mark)) is wanted


def test_without_an_answer_a_call_has_succeeded():
    assert not has_failed(None) and not changed_nothing(None)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=10,
)


@given(JSON)
def test_every_answer_can_be_read(answer):
    assert has_failed(ToolResponse(response=answer)) in (True, False)
