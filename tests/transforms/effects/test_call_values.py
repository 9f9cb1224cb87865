import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.transforms.criteria.expectations_met import SpokenText
from turnwise.transforms.effects.mentions import read_number

SAID = [
    # wanted, said, language, whether it was said
    ("23553", "The total is $23,553.", None, True),
    ("5", "Il prezzo non è 5.", "it", False),
    ("5", "5 is wrong.", None, False),
    ("5", "It is 6 rather than 5.", None, False),
    ("5", "Room 5 is not available.", None, True),
    ("23553", "The total is **$23,553.00**!", None, True),
    ("$23,553", "It comes to 23,553 dollars.", None, True),
    ("$23,553", "It comes to 23,553 euros.", None, False),
    ("23553", "٢٣٥٥٣", None, True),
    ("23553", "123,553", None, False),
    ("23553", "23553.50", None, False),
    ("-23553", "-$23,553", None, True),
    ("23553", "It isn't 23553.", None, False),
    ("not 5", "It is not 5.", None, True),
    ("23553", "Es sind nicht 23.553 Euro", "de", False),
    ("1", "1.2", None, False),
    ("1", "flight A1", None, False),
    ("1", "at 1:00", None, False),
    ("1", "1.", None, True),
    ("5%", "5 %", None, True),
    ("5", "$5m", None, False),
    ("5", "5–10 days", None, False),
    ("10 kg", "10kg", None, True),
    ("123", "123-ABC", None, False),
    ("123", "order #123", None, True),
    ("HAT17", "HAT170", None, False),
    ("7", "007", None, False),
    ("2.5", "2,5", "de", True),
    ("2.5", "2.5", "de", True),
    ("23553", "23.553", None, False),
    ("1234567", "1.234.567", None, True),
    ("23553", "23 553 €", "fr", True),
    ("23553", "23\u202f553 €", None, True),
    ("2024-05-20", "on 20 May 2024 at 10:00", None, True),
    ("2024-05-20", "on May 21, 2024", None, False),
    ("2024-05-06", "on 05/06/2024", None, False),
    ("2024-05-06", "on 05/06/2024", "en-CA", False),
    ("2024-05-06", "on 05/06/2024", "en-US", True),
    ("2024-06-05", "on 05/06/2024", "en_GB", True),
    ("2024-06-05", "am 05.06.2024", None, True),
    ("06/05/2024", "on 5/6/2024", None, False),
    ("456", "The number is 123 456 789.", None, False),
    ("789", "The number is 123 456 789.", "de", False),
    ("123456789", "Le total est 123 456 789.", "fr", True),
    ("500", "at 10:30 500 600 people", None, True),
    ("5", "v1.5.2", None, False),
    ("5", "try 5 times", None, True),
    ("USD 5", "US$5", None, True),
    ("2024-05-20", "2024-05-201", None, False),
    ("2", "These:\n1. red\n2. blue", None, False),
    ("2", "These:\n1) 2 red ones\n2) blue ones", None, True),
    ("May 20", "on May 20, 2024", None, True),
    ("50 for 2 bags", "It is $50 for 2 bags.", None, True),
    ("no fee", "There is a fee.", None, False),
    ("yes", "I called yesterday.", None, False),
    ("confirmed", "It is unconfirmed.", None, False),
    ("confirm", "It is confirmed.", None, True),
    ("cancel", "I cancelled it.", None, True),
    ("возврат", "запрос возврата принят", "ru", True),
    ("كتاب", "الكتاب هنا", "ar", True),
    ("otel", "otelde kal", "tr", True),
    ("zahlbar", "Es ist unzahlbar.", "de", False),
    ("room 5", "bedroom 5", None, False),
    ("5 day", "in 5 days", None, True),
    ("환불", "환불이 됩니다", "ko", True),
    ("返金", "全額返金します", "ja", True),
    ("non-refundable", "It is non\u2011refundable.", None, True),
    ("LH-452", "Flight LH\u2011452 is full.", None, True),
    ("May 5", "on 5 May", None, True),
    ("May 5", "on May 5th, 2024", None, True),
    ("May 5, 2024", "on 5 May", None, False),
    ("May 5", "on May 15", None, False),
    ("5 May", "It is not on May 5.", None, False),
    ("5. Mai", "am 05.05.2024", "de", True),
    ("May 5 at 2 pm", "on 5 May at 14:00", None, True),
    ("May 5 at 2 pm", "on 5 May at 9:00, and on 6 June at 14:00", None, False),
    ("14:30", "um 14.30 Uhr", "de", True),
    ("2:30", "at 2:30 PM", None, True),
    ("noon", "at 12:00", None, True),
    ("00:00", "at midnight", None, True),
    ("11:00", "10:00-11:00", None, True),
    ("12:00", "10:00-11:00", None, False),
    ("14:30", "at 2:30 am", None, False),
    ("20", "There are twenty seats.", None, True),
    ("20", "There are twenty-one seats.", None, False),
    ("twenty", "There are 20 seats.", None, True),
    ("1", "one moment please", None, False),
    ("100 dollars", "one hundred dollars", "en", True),
    ("2", "1. Go on\n2. Wait", None, False),
    ("7", "3. Go on\n7. Wait", None, True),
]


@pytest.mark.parametrize(("wanted", "said", "language", "found"), SAID)
def test_texts_that_were_said(wanted, said, language, found):
    assert SpokenText([said], language).contains(wanted) is found
    assert SpokenText(["Hello, 99.", said, "Bye!"], language).contains(wanted) is found


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


@pytest.mark.parametrize(
    ("text", "language", "value"),
    [
        ("1.234", "de", 1234),
        ("1,234", "de", 1.234),
        ("1.234,5", None, 1234.5),
        ("1,23", None, None),
        ("0", None, 0),
        ("1" * 41, None, None),
    ],
)
def test_numbers_as_languages_write_them(text, language, value):
    assert read_number(text, language) == value


@pytest.mark.parametrize(
    ("wanted", "texts", "nearest"),
    [
        ("23553", ["Hello. The total is $23,554. Bye."], "The total is $23,554."),
        ("no refund", ["You get a refund. Goodbye now."], "You get a refund."),
        ("xyz", ["One. Two.", "Three. Last words!"], "Last words!"),
        ("xyz", [], ""),
        ("xyz", ["  "], ""),
    ],
)
def test_nearest_sentence(wanted, texts, nearest):
    assert SpokenText(texts, "en").nearest_sentence(wanted) == nearest
