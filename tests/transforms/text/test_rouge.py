import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from turnwise.transforms.text.rouge import has_tokens, rouge, rouge_tokens

TYPES = ["rouge1", "rouge2", "rougeL"]
NUMBERS = [
    ("서울의 날씨가 맑다", "서울 날씨는 맑습니다", 0.7059),
    ("人々", "人人", 0.5),
    ("Погода в Москве солнечная", "погода Москвы солнечна", 0.2857),
    ("Straße", "strasse", 0.0),
    ("ｶﾀｶﾅ", "カタカナ", 1.0),
    ("วันนี้อากาศดี", "อากาศดีวันนี้", 1.0),
    ("dying skies news", "die sky new", 2 / 3),
]


@pytest.mark.parametrize(("left", "right", "wanted"), NUMBERS)
def test_numbers_of_google_adk(left, right, wanted):
    assert rouge(left, right).fmeasure == pytest.approx(wanted, abs=5e-5)
    assert rouge(right, left).fmeasure == rouge(left, right).fmeasure


IDENTICAL = ["서울의 날씨가 맑다", "Погода в Москве", "วันนี้อากาศดี", "សួស្តី", "iPhone16を購入"]


@pytest.mark.parametrize("text", IDENTICAL)
def test_identical_texts_in_every_script(text):
    assert has_tokens(text)
    assert [rouge(text, text, kind) for kind in TYPES] == [(1.0, 1.0, 1.0)] * 3


TOKENS = [
    ("Running, cities & DOGS dog", ["run", "citi", "dog", "dog"]),
    ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
    ("ﬁnes", ["fine"]),
    ("\x1cA\x00b", ["a", "b"]),
]


@pytest.mark.parametrize(("text", "wanted"), TOKENS)
def test_tokens(text, wanted):
    assert rouge_tokens(text) == wanted
    assert has_tokens(text) == bool(wanted)


WORDS = [
    "dying skies news lying ties inning innings outing canning howe proceed exceed succeed idly gently ugly",
    "rational valenci hesitanci digitizer radically differently vileli analogously operator feudalism",
    "revival allowance inference airliner adjustable replacement adoption communism activate effective",
    "the a is of 42 3.14 1,000,000 x1 don't e-mail snake_case A4 U.S.A. C++ says said yes by enjoying",
]
ASCII_WORD = st.one_of(
    st.sampled_from(" ".join(WORDS).split()),
    st.text(st.characters(min_codepoint=0, max_codepoint=127), max_size=6),
    st.text("abcdeilmnorstuy", min_size=2, max_size=7).flatmap(
        lambda stem: st.sampled_from(["s", "es", "ies", "ing", "ed", "ly", "ness", "ing7", "s2", "7s"]).map(
            stem.__add__
        )
    ),
)
ASCII_TEXT = st.lists(ASCII_WORD, max_size=12).map(" ".join)
REFERENCE = RougeScorer(TYPES, use_stemmer=True)


class OwnTokenizer:
    def tokenize(self, text):
        return rouge_tokens(text)


OVER_OWN_TOKENS = RougeScorer(TYPES, tokenizer=OwnTokenizer())


def assert_bit_equal(scorer, reference, candidate):
    wanted = scorer.score(reference, candidate)
    for kind in TYPES:
        assert tuple(rouge(reference, candidate, kind)) == tuple(wanted[kind]), kind


@given(ASCII_TEXT, ASCII_TEXT)
def test_ascii_texts_score_as_rouge_score_does(reference, candidate):
    assert_bit_equal(REFERENCE, reference, candidate)


@pytest.mark.parametrize("line", WORDS)
def test_the_stems_of_irregular_words(line):
    assert rouge_tokens(line) == REFERENCE._tokenizer.tokenize(line)


def test_long_words_score_as_rouge_score_does():
    for word in ("y" * 200_001, "ational" * 20_000, "4f" * 100_000 + "ies"):
        assert rouge_tokens(word) == REFERENCE._tokenizer.tokenize(word)


SCRIPTS = st.text(st.sampled_from("ab 가나我爱はカวันนี้ສະថ្មမင်éßıя́💡²ｱ-\u3099\u0301 \u3000"), max_size=20)


@given(st.one_of(SCRIPTS, st.text(max_size=12)), st.one_of(SCRIPTS, st.text(max_size=12)))
def test_any_texts_score_as_rouge_score_does_over_the_same_tokens(reference, candidate):
    assert_bit_equal(OVER_OWN_TOKENS, reference, candidate)


RANGES = [
    # first and last character of a script whose characters are tokens of their own, and their neighbours
    ("\u4e00", "\u9fff", True),
    ("\u3041", "\u309e", True),
    ("\u33ff\u3400", "\u4dbf", False),
    ("\u3105", "\u312f", False),
]


@pytest.mark.parametrize(("first", "last", "alone"), RANGES)
def test_where_every_character_is_a_token(first, last, alone):
    for char in (first[-1], last):
        assert len(rouge_tokens(f"é{char}é")) == (3 if alone else 1), hex(ord(char))


STARTS = ["\u0e01", "\u0e81", "\u17dc", "\u1050"]


@pytest.mark.parametrize("letter", STARTS)
def test_where_a_letter_starts_a_token(letter):
    assert rouge_tokens(f"é{letter}é") == ["é", f"{letter}é"]
