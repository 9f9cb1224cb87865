import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from turnwise.transforms.text.rouge import rouge, rouge_tokens

TYPES = ["rouge1", "rouge2", "rougeL"]


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
        assert rouge(reference, candidate, kind) == tuple(wanted[kind]), kind


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
