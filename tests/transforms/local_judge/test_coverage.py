import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from turnwise.transforms.local_judge.claims import read_claim
from turnwise.transforms.local_judge.contradictions import contradiction
from turnwise.transforms.local_judge.evidence import Evidence
from turnwise.transforms.local_judge.grounding import coverage, probability, replaced_number

PROSE = "The old ferry to the island leaves the harbour at noon, and it takes an hour to get there."
TEXTS = st.lists(st.sampled_from([*PROSE.split(), "{", "W5", "5", "섬으로", "島へ", "not"]), max_size=12).map(
    " ".join
)


def covered(sentence, *pieces):
    claim, known = read_claim(sentence), Evidence(pieces)
    return coverage(claim, known, known.passages(claim.content), Evidence([]))


@pytest.mark.parametrize(("block", "near"), [(0, (0, 1)), (1, (0, 1, 2)), (3, (1, 2, 3, 4))])
def test_a_passage_and_a_block_on_either_side_are_near(block, near):
    """Blocks are of 24 words; a passage has that of the claim and, but for the first, the one before."""
    letters = "abcdefgh"
    blocks = [[f"{letter}{other}word" for other in letters * 3] for letter in letters]
    blocks[block][5] = "ferry"
    claim, known = read_claim("A ferry."), Evidence([" ".join(word for words in blocks for word in words)])
    (passage,) = known.passages(claim.content)
    near_keys = passage.piece.keys_near(passage.window)
    assert {i for i, letter in enumerate(letters) if f"{letter}aword" in near_keys} == set(near)


@settings(deadline=None)
@example(sentence="old get", pieces=["The old"], more=["get"])
@given(TEXTS, st.lists(TEXTS, max_size=3), st.lists(TEXTS, max_size=3))
def test_more_evidence_never_lowers_a_coverage(sentence, pieces, more):
    if read_claim(sentence).content:
        assert 0 <= covered(sentence, *pieces) <= covered(sentence, *pieces, *more) <= 1 + 1e-9


def test_probabilities_grow_with_the_mean_coverage():
    shares = [step / 20 for step in range(21)]
    found = [probability([(share, 1.0)]) for share in shares]
    assert found == sorted(found)
    assert (round(found[0], 3), round(found[-1], 3)) == (0.0, 0.902)
    assert probability([(0.6, 1.0), (1.0, 1.0)]) == pytest.approx(probability([(0.8, 1.0)]))
    assert probability([(0.4, 0.5), (1.0, 1.0)]) == pytest.approx(probability([(0.8, 1.0)]))


@pytest.mark.parametrize(("count", "is_compared"), [(20, True), (21, False)])
def test_numbers_that_stand_between_the_same_words_too_often_are_not_compared(count, is_compared):
    claim = read_claim("A row of 7 in all.")
    evidence = Evidence(["; ".join(f"a row of {number} in all" for number in range(10, 10 + count))])
    found = replaced_number(claim, evidence.passages(claim.content)[0])
    assert found == ("The evidence says “10”, not “7”." if is_compared else None)


def look(claim, *pieces):
    content = read_claim(claim).content
    passage = Evidence(pieces).passages(content)[0]
    return passage.span, passage.weight == sum(content.values())


@pytest.mark.parametrize("filler", [0, 23, 47, 49, 200])
def test_neighbouring_words_are_found_wherever_they_stand(filler):
    span, is_whole = look("The sauna is open.", "word " * filler + "the sauna is open" + " word" * filler)
    assert span.quote == "sauna is open"
    assert is_whole


def test_a_clause_that_is_not_whole_is_no_ground_for_a_contradiction():
    for count, is_contradicted in ((30, True), (120, False)):
        claim = " ".join(["open"] * count)
        span, _ = look(claim, "not " + claim)
        assert (contradiction(read_claim(claim), span, "It") is not None) is is_contradicted
