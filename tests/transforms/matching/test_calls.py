from hypothesis import given
from hypothesis import strategies as st

from turnwise.schemas.conversation import ToolCall, ToolResponse
from turnwise.transforms.matching import calls as pairing
from turnwise.transforms.matching.alignment import best_assignment

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.5, 1.0, "a", "b", ""]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=5,
)
OBJECTS = st.none() | st.dictionaries(st.sampled_from("abc"), JSON, max_size=3)


@given(OBJECTS, OBJECTS)
def test_without_matchers_it_is_pythons_equality_and_no_arguments_are_empty_ones(expected, actual):
    assert pairing.arguments_match(expected, actual, {}) is ((expected or {}) == (actual or {}))


MEANT = {"$matchType": "semantic", "$originalValue": "Rome"}


def paged(pages):
    return [ToolCall(name="get", args={"page": page, "size": 10}) for page in pages]


def test_a_thousand_calls_of_one_tool_are_paired_by_equality():
    assert pairing.PairedCalls(paged(range(1000)), paged(reversed(range(1000)))).partners == list(
        reversed(range(1000))
    )


def test_what_is_not_equal_among_a_thousand_is_paired_in_order():
    expected, actual = paged(range(1000)), paged([*range(2000, 2500), *range(500)])
    assert pairing.PairedCalls(expected, actual).partners == [*range(500, 1000), *range(500)]
    assert pairing.PairedCalls(expected, actual[:500]).partners == [*range(500), *[None] * 500]
    assert pairing.PairedCalls(expected[:1], paged(range(1, 50_001))).partners == [0]


def test_thirty_calls_with_another_size_are_paired_by_their_page():
    wanted, made = paged(range(30)), paged(reversed(range(30)))
    for call in made:
        call.args = {**(call.args or {}), "size": 20}
    assert pairing.PairedCalls(wanted, made).partners == list(reversed(range(30)))


def test_a_thousand_calls_of_one_name_are_told_apart_by_their_resource():
    one, other = (
        [ToolCall(name="get", resource=f"p/apps/{app}/tools/get", args={"page": i}) for i in range(300)]
        for app in ("one", "other")
    )
    partners = pairing.PairedCalls(one, [*other, *one]).partners
    assert all(pairing.same_tool(one[i], [*other, *one][j]) for i, j in enumerate(partners) if j is not None)
    assert partners == list(range(300, 600))
    assert pairing.PairedCalls(one, other).partners == [None] * 300


PLAIN = st.integers(0, 60)
ODD = st.sampled_from([True, 1.0, "1", None, [1], {"$matchType": "ignore"}, MEANT])
PAIRED_ARGUMENTS = st.one_of(
    *(st.fixed_dictionaries({"a": PLAIN, **more}) for more in ({}, {}, {"b": PLAIN})),
    st.fixed_dictionaries({"a": ODD}),
)


def weight(score):
    return 1 + (score.matched + score.unclear / 2) / score.total if score.total else 2.0


@given(
    st.lists(PAIRED_ARGUMENTS, max_size=3), st.lists(PLAIN, min_size=7, max_size=12, unique=True), st.data()
)
def test_many_calls_in_another_order_are_paired_as_the_best_assignment_pairs_them(odd, plain, data):
    wanted = [*({"a": value} for value in plain), *odd]
    made = [*data.draw(st.permutations(wanted)), *data.draw(st.lists(PAIRED_ARGUMENTS, max_size=2))]
    expected, actual = ([ToolCall(name="go", args=args) for args in side] for side in (wanted, made))
    weights = [[weight(pairing.parameter_score(want, given)) for given in made] for want in wanted]
    in_order = len(wanted) == len(made) and all(map(pairing.same_value, wanted, made))
    assert pairing.PairedCalls(expected, actual).partners == (
        [*range(len(wanted))] if in_order else best_assignment(weights)
    )


TOOLS = st.lists(
    st.builds(
        ToolCall, name=st.sampled_from(["a", "b", None]), resource=st.sampled_from(["r/a", "s/a", None])
    ),
    max_size=6,
)


@given(TOOLS, TOOLS)
def test_the_share_in_order_is_that_of_the_longest_common_subsequence(expected, actual):
    longest = [[0] * (len(actual) + 1) for _ in range(len(expected) + 1)]
    for i, want in enumerate(expected, 1):
        for j, call in enumerate(actual, 1):
            paired = longest[i - 1][j - 1] + pairing.same_tool(want, call)
            longest[i][j] = max(paired, longest[i - 1][j], longest[i][j - 1])
    if expected:
        assert pairing.ordered_share(expected, actual) == longest[-1][-1] / len(expected)


def answered_calls(text):
    return [ToolCall(name=name or None, id=id_ or None) for name, _, id_ in map(partition, text.split())]


def responses(text):
    return [ToolResponse(name=name or None, id=id_ or None) for name, _, id_ in map(partition, text.split())]


def partition(word):
    return word.strip("-").partition("#")


NAMES_AND_IDS = st.tuples(st.sampled_from(["", "a", "b"]), st.sampled_from(["", "1", "2", "3"])).map("#".join)
ANSWERED = st.lists(NAMES_AND_IDS.map(lambda word: word if word != "#" else "-"), max_size=6).map(" ".join)


@given(ANSWERED)
def test_answers_in_the_order_of_calls_pair_in_that_order(made):
    given_calls = answered_calls(made)
    answers = [ToolResponse(name=call.name, id=call.id) for call in given_calls]
    found = pairing.pair_responses(given_calls, answers)
    assert [(r.name, r.id) for r in found] == [(call.name, call.id) for call in given_calls]


def by_searching(made, answered):
    """Pairs by looking through all free responses for every call."""
    call_ids, response_ids = [call.id for call in made], [response.id for response in answered]
    partners = {
        i: response_ids.index(id_)
        for i, id_ in enumerate(call_ids)
        if id_ and call_ids.count(id_) == 1 and response_ids.count(id_) == 1
    }
    free = [j for j in range(len(answered)) if j not in partners.values()]
    same_name = [bool(c.name) and c.name == r.name for c in made for r in answered]
    same_id = [bool(c.id) and c.id == r.id for c in made for r in answered]
    nameless = [not c.name or not r.name for c in made for r in answered]
    for fits in (same_name, same_id, nameless):
        for i in range(len(made)):
            match = next((j for j in free if i not in partners and fits[i * len(answered) + j]), None)
            if match is not None:
                partners[i] = match
                free.remove(match)
    return [partners.get(i) for i in range(len(made))]


@given(ANSWERED, ANSWERED)
def test_pairs_are_those_of_a_search_through_all_responses(made, answered):
    given_calls, given_responses = answered_calls(made), responses(answered)
    places = {id(response): i for i, response in enumerate(given_responses)}
    found = [
        None if r is None else places[id(r)] for r in pairing.pair_responses(given_calls, given_responses)
    ]
    is_side_by_side = [(c.id, c.name) for c in given_calls] == [(r.id, r.name) for r in given_responses]
    if not is_side_by_side:
        assert found == by_searching(given_calls, given_responses)
