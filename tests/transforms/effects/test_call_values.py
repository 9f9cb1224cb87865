import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.transforms.criteria.expectations_met import SpokenText


@pytest.mark.parametrize("part", ["a-", "1", "May ", "2024-"])
def test_long_texts_take_no_long_time(part):
    """Work that grew with the square of the length would be seen."""
    assert not SpokenText([part * 20_000], None).contains("see 77 there")


def test_a_text_does_not_go_over_two_messages():
    assert not SpokenText(["It is 5", "kg of sugar"], None).contains("5 kg")


@given(st.integers(0, 10**12), st.integers(0, 10**12))
def test_whole_numbers_are_found_as_themselves_alone(wanted, other):
    for spelled in (f"{wanted:,}", f"${wanted:,}.00", f"{wanted}", f"{wanted} EUR"):
        assert SpokenText([f"It is {spelled}, all told."], None).contains(str(wanted))
        assert SpokenText([f"It is {spelled}."], None).contains(str(other)) == (wanted == other)


@given(st.decimals(0, 10**9, places=2))
def test_decimals_in_two_languages(value):
    english = f"{value:,}"
    german = english.translate(str.maketrans(",.", ".,"))
    assert SpokenText([f"Das macht {german} €."], "de-DE").contains(str(value))
    assert SpokenText([f"That is {english}."], "en").contains(str(value))


@given(st.text(max_size=60), st.text(max_size=60), st.sampled_from([None, "de", "en", "fr", "ko", "?"]))
def test_any_texts_can_be_compared(wanted, said, language):
    spoken = SpokenText([said], language)
    spoken.contains(wanted)
    assert len(spoken.nearest_sentence(wanted)) <= 160


@given(st.text(alphabet="0123456789.,-/:$€% aAkmMay'\n", max_size=40))
def test_what_looks_like_numbers_is_found_in_itself(text):
    """Whatever it is read as, a text that begins and ends with a word is found in the same text."""
    assert SpokenText([f"see {text} there"], None).contains(f"see {text} there")
