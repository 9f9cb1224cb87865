import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.schemas.conversation import ToolCall, ToolResponse
from turnwise.transforms.matching.calls import pair_responses


def calls(text):
    return [ToolCall(name=name or None, id=id_ or None) for name, _, id_ in map(partition, text.split())]


def responses(text):
    return [ToolResponse(name=name or None, id=id_ or None) for name, _, id_ in map(partition, text.split())]


def partition(word):
    return word.strip("-").partition("#")


@pytest.mark.parametrize(
    ("made", "answered", "partners"),
    [
        ("", "", []),
        ("a b", "a b", [0, 1]),
        ("a a", "a a", [0, 1]),
        ("a#1 b#1", "b#1 a#1", [1, 0]),
        ("a#1 a#2", "a#1 a#1", [0, 1]),
        ("- b", "b -", [1, 0]),
        ("a a#1", "a a#1", [0, 1]),
    ],
)
def test_pairs(made, answered, partners):
    given_responses = responses(answered)
    found = pair_responses(calls(made), given_responses)
    places = {id(response): i for i, response in enumerate(given_responses)}
    assert [None if response is None else places[id(response)] for response in found] == partners


words = st.tuples(st.sampled_from(["", "a", "b"]), st.sampled_from(["", "1", "2", "3"])).map("#".join)
texts = st.lists(words.map(lambda word: word if word != "#" else "-"), max_size=6).map(" ".join)


@given(texts, texts)
def test_each_response_is_used_at_most_once(made, answered):
    given_calls, given_responses = calls(made), responses(answered)
    found = [id(r) for r in pair_responses(given_calls, given_responses) if r is not None]
    assert len(found) == len(set(found)) <= min(len(given_calls), len(given_responses))


@given(texts)
def test_answers_in_the_order_of_calls_pair_in_that_order(made):
    given_calls = calls(made)
    answers = [ToolResponse(name=call.name, id=call.id) for call in given_calls]
    found = pair_responses(given_calls, answers)
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
    nameless = [not c.name or not r.name for c in made for r in answered]
    for fits in (same_name, nameless):
        for i in range(len(made)):
            match = next((j for j in free if i not in partners and fits[i * len(answered) + j]), None)
            if match is not None:
                partners[i] = match
                free.remove(match)
    return [partners.get(i) for i in range(len(made))]


@given(texts, texts)
def test_pairs_are_those_of_a_search_through_all_responses(made, answered):
    given_calls, given_responses = calls(made), responses(answered)
    places = {id(response): i for i, response in enumerate(given_responses)}
    found = [None if r is None else places[id(r)] for r in pair_responses(given_calls, given_responses)]
    is_side_by_side = [(c.id, c.name) for c in given_calls] == [(r.id, r.name) for r in given_responses]
    if not is_side_by_side:
        assert found == by_searching(given_calls, given_responses)
