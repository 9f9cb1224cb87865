import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.schemas.conversation import ExpectedTurn, ToolCall, Turn
from turnwise.transforms.matching.alignment import align, turn_similarity
from turnwise.transforms.matching.sample import EXTRA_TURN, MISSING_TURN, pair_turns

SENTENCES = ["hello there", "book a flight", "cancel my flight", "", None, "서울 날씨", "我要退款", "grazie"]
TOOLS = st.none() | st.lists(st.sampled_from("abc"), max_size=2)


def calls(names):
    return None if names is None else [ToolCall(name=name) for name in names]


EXPECTED = st.lists(
    st.builds(
        lambda user, names: ExpectedTurn(user=user, tool_calls=calls(names)),
        st.sampled_from(SENTENCES),
        TOOLS,
    ),
    max_size=5,
)
ACTUAL = st.lists(
    st.builds(
        lambda user, names: Turn(user=user, tool_calls=calls(names) or []), st.sampled_from(SENTENCES), TOOLS
    ),
    max_size=5,
)


def best_sum(expected, actual):
    if not expected or not actual:
        return 0.0
    paired = turn_similarity(expected[0], actual[0]) + best_sum(expected[1:], actual[1:])
    return max(paired, best_sum(expected[1:], actual), best_sum(expected, actual[1:]))


@given(EXPECTED, ACTUAL)
def test_order_is_kept_and_every_turn_appears_once(expected, actual):
    pairs = align(expected, actual)
    assert [i for i, _ in pairs if i is not None] == list(range(len(expected)))
    assert [j for _, j in pairs if j is not None] == list(range(len(actual)))
    assert (None, None) not in pairs


@given(EXPECTED, ACTUAL)
def test_the_sum_of_similarities_is_the_largest(expected, actual):
    both = [(expected[i], actual[j]) for i, j in align(expected, actual) if None not in (i, j)]
    assert sum(turn_similarity(*pair) for pair in both) == pytest.approx(best_sum(expected, actual))
    assert all(turn_similarity(*pair) > 0 for pair in both)


@given(EXPECTED, ACTUAL)
def test_similarity_is_a_share(expected, actual):
    for want in expected:
        for turn in actual:
            assert 0.0 <= turn_similarity(want, turn) <= 1.0


@given(ACTUAL)
def test_a_recording_of_the_golden_is_aligned_turn_by_turn(turns):
    golden = [ExpectedTurn(user=turn.user, tool_calls=turn.tool_calls) for turn in turns]
    assert sum(
        turn_similarity(golden[i], turns[j]) for i, j in align(golden, turns) if None not in (i, j)
    ) == pytest.approx(len(turns))


SIMILARITIES = [
    (ExpectedTurn(user="a b"), Turn(user="a b"), 1.0),
    (ExpectedTurn(user=None), Turn(user=None), 1.0),
    (ExpectedTurn(user="👍"), Turn(user="👍 "), 1.0),
    (ExpectedTurn(user="a"), Turn(user="b"), 0.0),
    (ExpectedTurn(user="a"), Turn(user=None), 0.0),
    (ExpectedTurn(user="a", tool_calls=[]), Turn(user="a", tool_calls=calls("x")), 1.0),
    (ExpectedTurn(user="a", tool_calls=calls("x")), Turn(user="a"), 2 / 3),
    (ExpectedTurn(user="a", tool_calls=calls("x")), Turn(user="b", tool_calls=calls("x")), 1 / 3),
    (ExpectedTurn(user="a", tool_calls=calls("xy")), Turn(user="a", tool_calls=calls("yz")), (2 + 1 / 3) / 3),
    (ExpectedTurn(user="a", tool_calls=calls("xx")), Turn(user="a", tool_calls=calls("x")), 1.0),
]


@pytest.mark.parametrize(("expected", "actual", "wanted"), SIMILARITIES)
def test_similarity(expected, actual, wanted):
    assert turn_similarity(expected, actual) == pytest.approx(wanted)


def goldens(*users):
    return [ExpectedTurn(user=user) for user in users]


def turns(*users):
    return [Turn(turn_index=i, user=user) for i, user in enumerate(users)]


EXAMPLES = [
    (["hi", "book a flight"], ["hi", "what is the weather", "book the flight"], [(0, 0), (None, 1), (1, 2)]),
    (["hi", "my name is Bob", "book a flight"], ["hi", "book a flight"], [(0, 0), (1, None), (2, 1)]),
    ([None, "hola, quiero un reembolso"], ["hola quiero mi reembolso"], [(0, None), (1, 0)]),
    (["你好", "我要退款"], ["你好", "天气", "我想退款"], [(0, 0), (None, 1), (1, 2)]),
    (
        ["안녕하세요", "환불해 주세요", "감사합니다"],
        ["환불 부탁해요", "감사합니다"],
        [(0, None), (1, 0), (2, 1)],
    ),
    (["مرحبا", "أريد استرداد المال"], ["أريد استرداد المال"], [(0, None), (1, 0)]),
    (["a", "b"], ["b", "a", "c"], None),
    ([], ["x", "y"], [(None, 0), (None, 1)]),
    (["x", "y"], [], [(0, None), (1, None)]),
]


@pytest.mark.parametrize(("golden", "recorded", "wanted"), EXAMPLES)
def test_examples(golden, recorded, wanted):
    found = align(goldens(*golden), turns(*recorded))
    if wanted is None:
        assert sum(None not in pair for pair in found) == 1
    else:
        assert found == wanted


def test_equal_numbers_of_turns_stand_side_by_side_whatever_they_say():
    pairs = pair_turns(goldens("a", "b"), turns("b", "a"))
    assert [(p.index, p.expected.user, p.actual.user, p.label) for p in pairs] == [
        (0, "a", "b", None),
        (1, "b", "a", None),
    ]


def test_missing_and_extra_turns_are_labelled():
    pairs = pair_turns(goldens("hello", "bye now"), turns("hello", "something else", "bye now"))
    assert [(p.index, p.label) for p in pairs] == [(0, None), (1, EXTRA_TURN), (2, None)]
    assert pairs[1].expected is None
    pairs = pair_turns(goldens("hello", "bye now"), turns("bye now"))
    assert [(p.index, p.label) for p in pairs] == [(0, MISSING_TURN), (1, None)]
    assert pairs[0].actual is None


def test_without_a_golden_every_turn_stands_alone():
    pairs = pair_turns([], turns("a", "b"))
    assert [(p.index, p.expected, p.actual.user, p.label) for p in pairs] == [
        (0, None, "a", None),
        (1, None, "b", None),
    ]
