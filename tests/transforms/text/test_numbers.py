import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnwise.transforms.text.words import NUMERAL, read_numeral

PATTERN = re.compile(NUMERAL)


def keys(text):
    return {key for match in PATTERN.finditer(text) for key in read_numeral(match[0]).keys}


def demands(text):
    return [keys for match in PATTERN.finditer(text) for keys in read_numeral(match[0]).demands]


def holds(evidence, claim):
    return all(not keys(evidence).isdisjoint(wanted) for wanted in demands(claim))


@pytest.mark.parametrize("text", ["1200", "1.200", "1.200,00", "١٢٠٠", "0001200"])
def test_one_number_in_many_formats(text):
    assert "#1200" in keys(text)
    assert holds(text, "1200")
    assert holds("1200", text)
    assert not holds("1201", text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0.500", {"#0.5"}),
        ("1,234,567.89", {"#1234567.89"}),
        ("20 thousand", {"#20000"}),
        ("1.5億円", {"#150000000"}),
        ("12万3456円", {"#123456"}),
        ("000", {"#0"}),
    ],
)
def test_what_a_number_says(text, expected):
    assert keys(text) == expected


@pytest.mark.parametrize("text", ["2024-03-25", "3/25/2024", "2024年3月25日", "2024년 3월 25일"])
def test_one_date_in_many_formats(text):
    assert holds(text, "2024-03-25")
    assert holds("2024-03-25 15:00", text)
    assert not holds("2024-03-26 15:00", text)
    assert not holds("2023-03-25 15:00", text)


def test_an_ambiguous_date_has_both_readings():
    assert holds("03/05/2024", "2024-03-05")
    assert holds("03/05/2024", "2024-05-03")
    assert not holds("2024-03-06", "03/05/2024")


def test_a_short_date_may_be_a_number():
    assert holds("2024-03-05", "05.03.")
    assert holds("5.03", "05.03.")
    assert not holds("2024-04-05", "05.03.")


@pytest.mark.parametrize("text", ["15:00", "3 PM", "03:00 pm", "15:00:00"])
def test_one_time_in_many_formats(text):
    assert holds(text, "15:00")
    assert holds("15:00", text)
    assert holds("15 Uhr", text)
    assert not holds("16:00", text)


@pytest.mark.parametrize(
    ("evidence", "claim", "expected"),
    [
        ("10:30 PM", "22:30", True),
        ("22:30", "10:30", True),
        ("10:30 AM", "10:30 PM", False),
        ("12:15 PM", "12:15", True),
    ],
)
def test_times_of_half_days(evidence, claim, expected):
    assert holds(evidence, claim) is expected


@settings(deadline=None)
@given(st.text(alphabet="0123456789.,:-/ 'kmMapT年月日万億٠٥", max_size=40))
def test_every_numeral_holds_itself(text):
    assert holds(text, text)


@settings(deadline=None)
@given(st.integers(min_value=0, max_value=10**12))
def test_grouped_digits_say_the_same(number):
    grouped = f"{number:,}"
    assert holds(str(number), grouped)
    assert holds(grouped, str(number))
    assert holds(grouped.replace(",", "."), grouped)


def test_digits_without_end_are_read():
    assert keys("9" * 100_000) == {"#" + "9" * 64, "#" + "9" * 32}
