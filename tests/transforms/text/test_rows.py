"""What is read from texts and times: rows that a person labelled."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tables import rows_test
from tests.transforms.text.labelled import replaced
from tests.transforms.text.test_words import holds_number, keys
from turnwise.transforms.formats.registry import record_time
from turnwise.transforms.text.cleaning import Utf8Text, contains_quote, find_span, quoted
from turnwise.transforms.text.dates import epoch_seconds, rfc3339, time_seconds, weekdays_in
from turnwise.transforms.text.rouge import has_tokens, rouge, rouge_tokens
from turnwise.transforms.text.sentences import guessed_language, sentences
from turnwise.transforms.text.words import dates_in_words, tokenize, weigh, words

test_rows = rows_test(globals())


def moment(value, wanted):
    assert time_seconds(value) == wanted


def seconds(number, wanted):
    """Of seconds or milliseconds."""
    assert epoch_seconds(number) == wanted


def time_text(stated, wanted):
    assert rfc3339(stated) == wanted


def time_of_record(record, wanted):
    assert record_time(json.dumps(record).encode()) == wanted


def weekdays(text, wanted):
    assert sorted(weekdays_in(text)) == wanted


def number(text, wanted):
    assert sorted(keys(text)) == wanted


def has_key(text, key):
    assert key in keys(text)


def holds(evidence, claim, wanted):
    """Whether the numbers, dates and times of a claim stand in evidence, in any form."""
    assert holds_number(evidence, claim) is wanted


def values(text, wanted):
    """Personal data, exactly."""
    assert [text[start:end] for start, end, _ in sorted(replaced(text))] == wanted


def rouge_1(left, right, wanted):
    """As google-adk computes it."""
    assert rouge(left, right)[2] == pytest.approx(wanted, abs=5e-5)
    assert rouge(right, left)[2] == rouge(left, right)[2]


def identical(text):
    assert has_tokens(text)
    assert [rouge(text, text, kind) for kind in ("rouge1", "rouge2", "rougeL")] == [(1.0, 1.0, 1.0)] * 3


def rouge_words(text, wanted):
    assert rouge_tokens(text) == wanted
    assert has_tokens(text) == bool(wanted)


def alone(first, last, wanted):
    """From the first to the last character of a script, each is a token of its own; or none is."""
    for char in (first[-1], last):
        assert len(rouge_tokens(f"é{char}é")) == (3 if wanted else 1), hex(ord(char))


def split(text, language, wanted):
    assert [text[start:end] for start, end in sentences(text, language)] == wanted


def sentence_count(language, text, wanted):
    assert len(sentences(text, language)) == wanted
    assert len(sentences(text, None)) >= 1


def language(text, wanted):
    assert guessed_language(text) == wanted


def tokens(text, wanted):
    assert tokenize(text) == wanted


def alike(first, second, least, most):
    """The share of the first text's weight that the second one has."""
    ours, theirs = weigh(words(first)), weigh(words(second))
    share = sum(min(weight, theirs.get(key, 0)) for key, weight in ours.items()) / sum(ours.values())
    assert least <= share <= most


def negated(text, wanted):
    assert any(word.is_negation for word in words(text)) is wanted


def days(text, wanted):
    """Days with the name of a month."""
    assert [[*found] for _, found in dates_in_words(words(text))] == wanted


def quote(quotation, text, wanted):
    assert contains_quote(quotation, text) is wanted


def span(quotation, text, wanted):
    """Spans are code points of the text as it was."""
    found = find_span(quotation, text)
    assert (text[slice(*found)] if found else None) == wanted


def whole_quote(quotation, text, wanted):
    """Brackets are found whatever is around them."""
    assert contains_quote(quotation, text) is wanted
    assert (find_span(quotation, text) is not None) is wanted


def detail(quotation, text, name, wanted):
    assert quoted(quotation, text, name) == wanted


def text_range(text, start, end, wanted):
    assert [*Utf8Text(text).text_range(start, end)] == wanted


def test_bytes_that_are_no_record_say_no_time():
    assert record_time(b"") is None and record_time(b"\xff") is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["turns", "timestamp", "event", "event_time", "messages", "rootSpan", "x"]), inner
        )
    ),
    max_leaves=12,
)


@given(JSON.map(lambda value: json.dumps(value).encode()) | st.binary(max_size=40))
def test_never_raises(data):
    time = record_time(data)
    assert time is None or 0 < time < 1e11
