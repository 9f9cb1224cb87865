import pytest

from turnwise.transforms.local_judge.claims import read_claim
from turnwise.transforms.local_judge.contradictions import contradiction
from turnwise.transforms.local_judge.evidence import Evidence

POOL = "The pool is open 5 days a week. The sauna, which is not free, is open every day."


def look(claim, *pieces):
    content = read_claim(claim).content
    return *Evidence(pieces).look_up(content), sum(content.values())


def test_the_quote_is_the_sentence_that_says_most():
    span, weight, total = look("The sauna is open every day.", POOL)
    assert span.quote == "sauna, which is not free, is open every day"
    assert span.context == f"\n{POOL}\n"
    assert weight == total


def test_pieces_never_share_a_window():
    _, weight, total = look("The sauna is open.", "The sauna", "is open")
    assert weight == total / 2


@pytest.mark.parametrize("filler", [0, 23, 47, 49, 200])
def test_neighbouring_words_are_found_wherever_they_stand(filler):
    span, weight, total = look(
        "The sauna is open.", "word " * filler + "the sauna is open" + " word" * filler
    )
    assert span.quote == "sauna is open"
    assert weight == total


def test_nothing_shared():
    assert look("The sauna is open.", "", "no such thing")[0] is None
    assert Evidence([]).look_up({"x": 1.0}) == (None, 0.0)


@pytest.mark.parametrize(
    ("claim", "text", "expected"),
    [
        ("The pool is open 6 days a week.", POOL, "It says “5”, not “6”."),
        ("The sauna is open 6 days.", POOL, None),
        (
            "The pool is not open 5 days a week.",
            POOL,
            "It says the contrary: “The pool is open 5 days a week”.",
        ),
        ("It costs 5 euros.", "It costs 5 euros, not 6 euros.", None),
        ("It opens at 10:30.", "It opens at 11:30.", "It says “11:30”, not “10:30”."),
    ],
)
def test_contradictions(claim, text, expected):
    span, weight, _ = look(claim, text)
    assert contradiction(read_claim(claim), span, weight, "It") == expected


def test_a_clause_that_is_not_whole_is_no_ground_for_a_contradiction():
    for count, is_contradicted in ((30, True), (120, False)):
        claim = " ".join(["open"] * count)
        span, weight, _ = look(claim, "not " + claim)
        assert (contradiction(read_claim(claim), span, weight, "It") is not None) is is_contradicted
