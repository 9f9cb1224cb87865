import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from turnwise.transforms.local_judge.claims import read_claim
from turnwise.transforms.local_judge.evidence import Evidence
from turnwise.transforms.local_judge.grounding import coverage, ground, probability, replaced_number

PROSE = "The old ferry to the island leaves the harbour at noon, and it takes an hour to get there."
TEXTS = st.lists(st.sampled_from([*PROSE.split(), "{", "W5", "5", "섬으로", "島へ", "not"]), max_size=12).map(
    " ".join
)


def covered(sentence, *pieces):
    claim, known = read_claim(sentence), Evidence(pieces)
    return coverage(claim, known, known.passages(claim.content), Evidence([]))


@pytest.mark.parametrize(
    ("sentence", "piece", "wanted"),
    [
        ("The old ferry leaves the harbour at noon.", PROSE, 1.0),
        ("The old ferry leaves the station at noon.", PROSE, 0.704),
        ("Mountains are high.", PROSE, 0.0),
        ("섬으로 가는 배", "섬으로 가는 배는 정오에 떠나요", 1.0),
        ("The ferry W5 leaves at noon.", '{"ferry": "W5", "leaves": "noon"}', 1.0),
        ("The ferry W5 sinks at noon.", '{"ferry": "W5", "leaves": "noon"}', 0.833),
    ],
)
def test_coverages(sentence, piece, wanted):
    assert covered(sentence, piece) == pytest.approx(wanted, abs=0.001)


@pytest.mark.parametrize(("block", "near"), [(0, (0, 1)), (1, (0, 1, 2)), (3, (1, 2, 3, 4))])
def test_a_passage_and_a_block_on_either_side_are_near(block, near):
    """Blocks are of 24 words; a passage has that of the claim and, but for the first, the one before."""
    letters = "abcdefgh"
    blocks = [[f"{letter}{other}word" for other in letters * 3] for letter in letters]
    blocks[block][5] = "ferry"
    claim, known = read_claim("A ferry."), Evidence([" ".join(word for words in blocks for word in words)])
    (passage,) = known.passages(claim.content)
    near_keys = passage.keys()
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


YEARS = (
    "The band had success with their 2000 album The State, and later with their 2001 album Silver Side Up."
)


@pytest.mark.parametrize(
    ("said", "evidence", "reason"),
    [
        (
            "The band had success with their 2001 album The State.",
            YEARS,
            "The evidence says “2000”, not “2001”.",
        ),
        ("The band had success with their 2000 album The State.", YEARS, None),
        (
            "They earned 5 gold and 5 silver albums.",
            "They earned two gold and five silver albums.",
            "“two”, not “5”",
        ),
        (
            "Corn was first domesticated 1,000 years ago.",
            "Corn was first domesticated 9,000 years ago.",
            "“9,000”",
        ),
        ("It had 2001 albums.", YEARS, None),
        ("They won 5 gold and 5 silver cups.", "They won two gold and five silver cups.", "“two”, not “5”"),
        ("The hall had 40 seats.", "The old theatre had 90 seats and a bar in 1990.", None),
    ],
)
def test_a_number_in_the_place_of_another(said, evidence, reason):
    (found,) = ground([said], [evidence])
    is_refuted = found.label == "contradictory"
    assert is_refuted == (reason is not None)
    assert reason is None or (reason in found.reason and found.coverage == 0.0 and found.is_certain)


@pytest.mark.parametrize(("count", "is_compared"), [(20, True), (21, False)])
def test_numbers_that_stand_between_the_same_words_too_often_are_not_compared(count, is_compared):
    claim = read_claim("A row of 7 in all.")
    evidence = Evidence(["; ".join(f"a row of {number} in all" for number in range(10, 10 + count))])
    found = replaced_number(claim, evidence.passages(claim.content)[0])
    assert found == ("The evidence says “10”, not “7”." if is_compared else None)
