from itertools import permutations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import turnwise
from turnwise.schemas.conversation import ExpectedTurn, ToolCall, Turn
from turnwise.transforms.matching import alignment
from turnwise.transforms.text.rouge import rouge

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


def turn_similarity(expected, actual):
    words, said = (turn.user or "" for turn in (expected, actual))
    user = 1.0 if words == said else rouge(words, said)[2]
    wanted, made = ({call.name for call in turn.tool_calls or ()} for turn in (expected, actual))
    return (2 * user + len(wanted & made) / len(wanted | made)) / 3 if wanted else user


def best_sum(expected, actual):
    if not expected or not actual:
        return 0.0
    paired = turn_similarity(expected[0], actual[0]) + best_sum(expected[1:], actual[1:])
    return max(paired, best_sum(expected[1:], actual), best_sum(expected, actual[1:]))


@given(EXPECTED, ACTUAL)
def test_order_is_kept_and_every_turn_appears_once(expected, actual):
    pairs = alignment.align(expected, actual)
    assert [i for i, _ in pairs if i is not None] == list(range(len(expected)))
    assert [j for _, j in pairs if j is not None] == list(range(len(actual)))
    assert (None, None) not in pairs


@example(  # the user's words count more than the tools
    [ExpectedTurn(user="book a flight", tool_calls=calls("a"))],
    [Turn(user="cancel my flight", tool_calls=calls("a")), Turn(user="book a flight")],
)
@example(  # but not all that much more
    [ExpectedTurn(user="book a flight", tool_calls=calls("a"))],
    [Turn(user="a flight"), Turn(user="my flight", tool_calls=calls("a"))],
)
@given(EXPECTED, ACTUAL)
def test_the_sum_of_similarities_is_the_largest(expected, actual):
    both = [(expected[i], actual[j]) for i, j in alignment.align(expected, actual) if None not in (i, j)]
    assert sum(turn_similarity(*pair) for pair in both) == pytest.approx(best_sum(expected, actual))
    assert all(turn_similarity(*pair) > 0 for pair in both)


def full_alignment(rows, columns, similarity):
    """Aligns by the whole table of sums."""
    best = [[0.0] * (columns + 1) for _ in range(rows + 1)]
    for i in reversed(range(rows)):
        for j in reversed(range(columns)):
            best[i][j] = max(best[i + 1][j], best[i][j + 1], best[i + 1][j + 1] + similarity(i, j))
    i, j, pairs = 0, 0, []
    while i < rows or j < columns:
        has_both = i < rows and j < columns
        if has_both and similarity(i, j) > 0 and best[i][j] == best[i + 1][j + 1] + similarity(i, j):
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif j == columns or (i < rows and best[i][j] == best[i + 1][j]):
            pairs.append((i, None))
            i += 1
        else:
            pairs.append((None, j))
            j += 1
    return pairs


SHARES = st.sampled_from([0.0, 1.0, 1.0, 1.0, 2 / 3, 1 / 3, 0.1, 0.7]) | st.floats(0, 1)


@given(st.integers(0, 12), st.integers(0, 12), st.lists(SHARES, min_size=1, max_size=40))
def test_a_band_gives_what_the_whole_table_gives(rows, columns, shares):
    def similarity(i, j):
        return shares[(7 * i + 5 * j + i * j) % len(shares)]

    def similarities(i, first, stop):
        return [similarity(i, j) for j in range(first, stop)]

    pairs = alignment.align_in_order(rows, columns, similarities)
    assert pairs == full_alignment(rows, columns, similarity)


def test_long_sequences_in_another_order_are_compared_in_a_band_only():
    rows, compared = 6_000, []

    def similarities(i, first, stop):
        compared.append(stop - first)
        return [0.0] * (stop - first)

    pairs = alignment.align_in_order(rows, rows, similarities)
    assert len(pairs) == 2 * rows
    assert sum(compared) < rows * rows / 2


@pytest.mark.parametrize("common", ["", "about", "about my"])
@pytest.mark.parametrize("is_late", [True, False])
def test_sixty_turns_that_are_shifted_by_twenty_find_each_other(common, is_late):
    """Further from the diagonal than the first band, beside which every turn has something in common."""
    middle = [f"{common} first{i} second{i}" for i in range(41)]
    before, after = (
        [f"{common} {word}{i} other{word}{i}" for i in range(20)] for word in ("before", "after")
    )
    golden, recorded = (
        ([*middle, *after[:19]], [*before, *middle]) if is_late else ([*before, *middle], middle)
    )
    recorded = recorded if is_late else [*recorded, *after[:18]]
    case = {"eval_id": "e", "turns": [{"user": text, "response": f"On {text}."} for text in golden]}
    log = {"conversation_id": "c", "eval_id": "e",
           "turns": [{"user": text, "agent": f"On {text}."} for text in recorded]}  # fmt: skip
    result = turnwise.evaluate(log, cases=case, criteria={"response_match_score": 0.8})
    by_turn = [row for row in result.scores if row["turn_index"] is not None]
    assert [row["value"] for row in by_turn].count(1.0) == 41
    labels = [row["label"] for row in by_turn if row["value"] != 1.0]
    assert (labels.count("EXTRA_TURN"), labels.count("MISSING_TURN")) == ((20, 19) if is_late else (18, 20))


def weight_matrices(weight):
    sizes = st.tuples(st.integers(0, 5), st.integers(0, 5))
    return sizes.flatmap(
        lambda size: st.lists(
            st.lists(weight, min_size=size[1], max_size=size[1]), min_size=size[0], max_size=size[0]
        )
    )


def all_assignments(rows, columns):
    places = [*range(columns), *[None] * rows]
    return {tuple(order) for order in permutations(places, rows)} if rows else {()}


def total(weights, partners):
    return sum(weights[i][j] for i, j in enumerate(partners) if j is not None)


def best_total(weights):
    columns = len(weights[0]) if weights else 0
    return max(
        total(weights, partners)
        for partners in all_assignments(len(weights), columns)
        if all(j is None or weights[i][j] > 0 for i, j in enumerate(partners))
    )


def assert_one_to_one(partners, rows, columns):
    used = [j for j in partners if j is not None]
    assert len(partners) == rows
    assert len(used) == len(set(used))
    assert all(0 <= j < columns for j in used)


@given(weight_matrices(st.integers(-1, 4).map(lambda n: n / 2)))
@example([[1.5, 2.0], [0.0, 2.0]])
@example([[-5.0, -1.0], [-1.0, -5.0]])
def test_best_assignment_is_as_good_as_the_best_of_all(weights):
    partners = alignment.best_assignment(weights)
    assert_one_to_one(partners, len(weights), len(weights[0]) if weights else 0)
    assert all(j is None or weights[i][j] > 0 for i, j in enumerate(partners))
    assert total(weights, partners) == pytest.approx(best_total(weights), abs=1e-9)


def matching_size(fits):
    columns = len(fits[0]) if fits else 0
    return max(
        sum(j is not None for j in partners)
        for partners in all_assignments(len(fits), columns)
        if all(j is None or fits[i][j] for i, j in enumerate(partners))
    )


@given(weight_matrices(st.booleans()))
@example([[True, True], [True, False]])
def test_count_matches_finds_a_maximum_matching(fits):
    columns = len(fits[0]) if fits else 0
    partners = alignment.count_matches(range(len(fits)), range(columns), lambda i, j: fits[i][j])
    assert_one_to_one(partners, len(fits), columns)
    assert all(j is None or fits[i][j] for i, j in enumerate(partners))
    assert sum(j is not None for j in partners) == matching_size(fits)


@given(st.lists(st.integers(0, 3), max_size=6), st.lists(st.integers(0, 3), max_size=6))
def test_equal_elements_are_paired_as_often_as_can_be(expected, actual):
    partners = alignment.equal_matches(expected, actual)
    assert_one_to_one(partners, len(expected), len(actual))
    assert all(j is None or expected[i] == actual[j] for i, j in enumerate(partners))
    wanted = alignment.count_matches(expected, actual, int.__eq__)
    assert len(partners) - partners.count(None) == len(wanted) - wanted.count(None)


def test_a_chain_of_thousands_is_moved_along():
    """Every element prefers the next place; the last one makes all the others step back."""
    size = 2000
    fits = [{i, i + 1} for i in range(size - 1)] + [{size - 1}]
    order = [*range(1, size), 0]
    expected = [fits[i] for i in order]
    partners = alignment.count_matches(expected, range(1, size), lambda want, place: place in want)
    assert partners.count(None) == 1
    assert_one_to_one(partners, size, size - 1)
