import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.schemas.conversation import ToolCall
from turnwise.transforms.effects.arguments import ArgumentComparison
from turnwise.transforms.effects.equivalence import equivalent, key_of, pair_equivalent
from turnwise.transforms.matching.calls import ArgumentMatcher

LONG = "The user wants to cancel the whole order at once."
ALIKE = [
    ("2024-05-20T12:00:00+02:00", 1716199200000),
    (1716199200, "2024-05-20T10:00:00Z"),
    ("+49 30 1234567", "+49301234567"),
    ("4111 1111 1111 1111", "4111-1111-1111-1111"),
    ("SW1A 1AA", "SW1A1AA"),
    ("5.00", "5"),
    ("€1,234.50", "EUR 1234.5"),
    ("12,50 €", "12.50 EUR"),
    ("1.250,00 €", "€1,250"),
    ("one_way", "one way"),
    ("oneWay", "one-way"),
    ("Cancelled", "canceled"),
    ("organisation", "organization"),
    ("neighbour", "neighbor"),
    ("Dr. Smith", "Doctor Smith"),
    ("12 Main St.", "12 main street"),
    ("Hauptstr. 5", "Hauptstraße 5"),
    ("5-10", "5 to 10"),
    ("5 bis 10", "5–10"),
    ("two and a half days", "2.5 days"),
    ("16/05/2024", "2024-05-16"),
    ("06.05.2024", "2024-05-06"),
    ([1, 2], [1.0, 2]),
    ("$-5.0", "-$5"),
    (".5", 0.5),
    ("ＡＢＣ", "abc"),
    ("yes", True),
    ("no", False),
    ("no", None),
    ({"a": 1}, {"a": "1", "more": 5}),
    ("2024-05-20T10:00:00Z", "2024-05-20T12:00:00+02:00"),
    ("20240520", "2024-05-20"),
    ("2024-05-20", "2024/05/20"),
    ("2024-05-20", "05/20/2024"),
    ("2024-05-20", "20-May-2024"),
    ("2024-05-20 10:00", "Monday, May 20, 2024 at 10am"),
    ("2024-05-20T23:30:00-01:00", "2024-05-21T00:30:00Z"),
    ("10:00", "10:00:00"),
    ("22:00", "10 PM"),
    ("5. Mai", "May 5"),
    ("5/5", "May 5th"),
    ("5 mai", "5 de mayo"),
    ("5 mei", "5. Mai"),
    ("in progress", "in-progress"),
    ("2024-05-20", "2024\u201105\u201120"),
    ("2024-05-20", "2024\u201305\u201320"),
    ("10:00-11:00", "10:00 \u2013 11:00"),
    ("030-1234567", "030\u20101234567"),
    (-5, "\u22125"),
    ("O'Brien", "O\u2019Brien"),
    ("non-refundable", "non\u2011refundable"),
    ("12 Main St, Apt 4", "12 Main St Apt 4"),
    ("12 Oak Rd, Springfield", "12 Oak Rd Springfield"),
    ("5 kg", "5 kilograms"),
    ("2 hours", "2h"),
    ("2 hrs", "2h"),
    ("30 min", "30 minutes"),
    ("1 hour 30 minutes", "1h 30min"),
    ("5 lb", "5 lbs"),
    ("5 ml", "5 milliliters"),
    ("20°C", "20 C"),
    ("20 °C", "20 degrees Celsius"),
    ("15h", "15:00"),
    ("2.30pm", "14:30"),
    ("10am-11am", "10:00 to 11:00"),
    ("Mon to Fri", "Monday - Friday"),
    ("10:00+02:00", "08:00Z"),
    ("10×20", "10x20"),
    ("“Hamlet”", "Hamlet"),
    ("3 pm", "15h"),
    ("14h30", "14:30"),
    ("14 heures", "14:00"),
    ("noon", "12:00"),
    ("midnight", "00:00"),
    ("Mon", "Monday"),
    ("Mon, Wed", "Monday, Mittwoch"),
    ("Jan", "January"),
    ("5", "five"),
    (2, "deux"),
    (21, "twenty-one"),
    ("100 dollars", "$100"),
    ("100 €", "100 Euro"),
    ("1 million", 1000000),
    ("500円", "500 JPY"),
    ("5th Avenue", "Fifth Avenue"),
    ("+49 30 1234567", "0049301234567"),
    ("90 minutes", "1.5 hours"),
    ("90 minutes", "1h30"),
    ("PT1H30M", "90 min"),
    ("PT1H30M", "1:30:00"),
    ("a week", "7 days"),
    ("1 kg", "1000 g"),
    ("0.5 g", "500 mg"),
    ("12 inches", "1 foot"),
    ("20 °C", "68 °F"),
    ("on", True),
    ("disabled", False),
    ("./a.txt", "a.txt"),
    ("src//./a.py", "src/a.py"),
]
UNCLEAR = [
    ("1:30", "90 minutes"),
    ("1:30", "90 seconds"),
    ("5 km", "3.1 miles"),
    ("6 ft", "183 cm"),
    ("1/2", 0.5),
    ("active", True),
    ("tomorrow", "2026-07-09"),
    ("in 2 days", "2026-07-09"),
    ("half past nine", "09:30"),
    ("May 2026", "2026-05-01"),
    ("JFK", "New York"),
    ("DE", "Germany"),
    ("Moscow", "Москва"),
    ("ラーメン", "らーめん"),
    ("J. Smith", "John Smith"),
    ("Mr. John Smith", "John Smith"),
    ("http://a.com/x", "https://www.a.com/x"),
    ({"value": 10, "currency": "USD"}, "$10"),
    ({"lat": 1, "lng": 2}, "1,2"),
    ("2024-05-06", "05/06/2024"),
    ("2024-06-05T10:00", "05/06/2024 10:00"),
    ("05/06", "June 5"),
    ("$5", 5),
    ("5 USD", "5"),
    ("5 kg", 5),
    ("5 days", "5"),
    ("1,250", "1.250"),
    ("1.250", 1250),
    ("1,5", 1.5),
    ("5,10", "5,1"),
    ("NO", None),
    ("userName", "username"),
    ([1, 2, 3], [3, 2, 1]),
    ([LONG, "open the lid of the box"], ["open the lid of the box", LONG]),
    ("Flugverspätung", "Verspätung"),
    ("overbooking", "overbooked"),
    ("SEA 12", 12),
    ("(500)", "500"),
    (LONG, "something else"),
    ("1 000", "1000"),
    (1000000, "1 000 000"),
    ("50%", 0.5),
    ("1,2", "1, 2"),
    ("5 lbs", "5 pounds"),
    ("5 lbs", "£5"),
    ("3 o'clock", "15:00"),
    ("Di", "Tuesday"),
    ("München", "Munchen"),
    ("Muenchen", "Munchen"),
    ("São Paulo", "Sao Paulo"),
    (["A1"], "A1"),
    ("A1, A2", ["A1", "A2"]),
    ("business", "business class"),
    ("St. Louis", "Saint Louis"),
    ("US", "USA"),
    ("LA", "Los Angeles"),
    ("3 adults", "3 adult"),
    ("3pm CET", "3pm"),
    ({"a": "null"}, {"a": None}),
    ("A & B", "A and B"),
    ("T-shirt", "tshirt"),
    ("Gate B12", "B12"),
    ("+1 555 123 4567", "555-123-4567"),
    ("https://a.com/", "https://a.com"),
    ("yes", "true"),
    ("2 mil", 2000),
    ("United States of America", "USA"),
    ("M", "medium"),
    (None, "null"),
    ("2024-05-20T23:30:00-05:00", "2024-05-20T23:30:00"),
    ("10:00Z", "10:00"),
    ([["a", "b"], ["c", "d"]], [["c", "d"], ["a", "b"]]),
    (["1.5", "2.5"], ["2.5", "1.5"]),
    (True, 1),
    ("1", True),
    (0, False),
    ({"a": [0]}, {"a": [False]}),
    ("14:30", "14.30"),
    ("09:05", "905"),
    ("1430", "14:30"),
    (12, "a dozen"),
    ("6", "ein halbes Dutzend"),
    ("90210", "90210-1234"),
    ("****1234", "4111 1111 1111 1234"),
    ("**** **** **** 1234", "1234"),
    ("…1234", "1234"),
]
DIFFERENT = [
    ("on it", "o nit"),
    ("25:00", "00:00"),
    ("UTC -5", "UTC 5"),
    ("04/05/2024", "05/04/2024"),
    ("01.02.2024", "02.01.2024"),
    ("1 2", "12"),
    ("LH 400", "LH 4000"),
    ("seats 1 2 3 4 5 6 7", "seats 1234567"),
    ("5. Mai", "05.06."),
    ("May 5", "May 15"),
    ("Monday, May 5", "Tuesday, May 5"),
    ("2026-05-05", "May 6"),
    ("05.05.26", "05.05.2027"),
    ("01234", "1234"),
    (True, 0),
    (False, 1),
    ("14:30", "14.31"),
    ("14:30", "2.30"),
    ("90210", "90211-1234"),
    ("****1234", "4111111111111235"),
    ("X12", "RX12"),
    ([{"id": 1, "action": "delete"}], [{"id": 1, "action": "keep"}]),
    ("2024-07-05", "05/06/2024"),
    ("06.05.2024", "2024-06-05"),
    ("available", "unavailable"),
    ("increase", "decrease"),
    ("A 1", "1."),
    ("a*b", "a-b"),
    ("5 kg", -5),
    ("not 5", 5),
    ("john.smith", "john-smith"),
    ("economy", "business"),
    ("Austria", "Australia"),
    ("prise", "prize"),
    ("filled", "filed"),
    ("5-10", "5 to 12"),
    ("UTC-10", "UTC 10"),
    ("12,50 €", "12.60 EUR"),
    ("5 USD", "5 EUR"),
    (12345678901234567890, "12345678901234567891"),
    ("2024-05-20", "2024-05-21"),
    (5, "2024-05-20"),
    ("", LONG),
    ("nan", "nan1"),
    ("5 kg", "5 lb"),
    ("New York", "York"),
    ("refundable", "non-refundable"),
    ("+1 555 123 4567", "555-123-4568"),
    ("10am-11am", "10:00-12:00"),
    ("10:00-11:00", "10:00-12:00"),
    ("10:00+02:00", "10:00+05:00"),
    (["10:00-11:00"], ["10:00-12:00"]),
    ("10 mg", "10 mcg"),
    ("2h", "14h"),
    ("noon", "13:00"),
    ("Mon", "Tuesday"),
    ("Mon-Fri", "Mon, Fri"),
    ("Jan", "June"),
    ("6", "five"),
    ("100 dollars", "100 euros"),
    ("2 million", 1000000),
    ("Köln", "Bonn"),
    (["A1"], "A2"),
    ("economy", "business class"),
    ("New York", "New Jersey"),
    ("smoking", "smoking not"),
    ("US", "UK"),
    ("5th Avenue", "Sixth Avenue"),
    (["A", ""], ["A"]),
    ("2 days", "24 hours"),
    ("1 kg", "100 g"),
    ("1:30", "45 minutes"),
    ("20 °C", "20 °F"),
    ("off", True),
    ("../a", "a"),
    ({"id": 5}, 6),
    ({"date": "2026-01-01"}, "2026-01-02"),
    ("May 2026", "2026-06-01"),
    ("J. Smith", "John Miller"),
]


@pytest.mark.parametrize(("expected", "actual"), ALIKE)
def test_values_that_mean_the_same(expected, actual):
    assert equivalent(expected, actual)


@pytest.mark.parametrize(("expected", "actual"), DIFFERENT)
@pytest.mark.parametrize("prose", ["unmet", "met"])
def test_values_that_differ(expected, actual, prose):
    assert not equivalent(expected, actual, prose)
    assert not equivalent(actual, expected, prose)


@pytest.mark.parametrize(("expected", "actual"), UNCLEAR)
def test_values_that_only_a_judge_can_compare(expected, actual):
    for pair in ((expected, actual), (actual, expected)):
        assert not equivalent(*pair)
        assert equivalent(*pair, "met")


@pytest.mark.parametrize(
    ("expected", "actual", "name", "is_unclear"),
    [
        ("en", "English", "language", True),
        ("de-DE", "German", "locale", True),
        ("on", "Monday", "when", False),
        ("A-123", "a-123", "order_id", True),
        ("A-123", "a-124", "order_id", False),
        ("Abc-123", "abc-123", "password", False),
    ],
)
def test_what_the_name_of_the_parameter_decides(expected, actual, name, is_unclear):
    assert not equivalent(expected, actual, "unmet", name)
    assert equivalent(expected, actual, "met", name) is is_unclear


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.floats(-9, 9) | st.text("aB 0-5", max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=3),
    max_leaves=12,
)


@given(JSON)
def test_everything_is_like_itself_and_its_json_text(value):
    assert equivalent(value, value)
    if isinstance(value, dict | list):
        assert equivalent(value, json.dumps(value))


@given(st.lists(JSON, max_size=6), st.randoms(use_true_random=False))
def test_order_does_not_matter(values, draw):
    shuffled = list(values)
    draw.shuffle(shuffled)
    assert equivalent(values, shuffled, name="ids")


@given(JSON, JSON)
def test_equal_keys_mean_alike(left, right):
    if key_of(left) == key_of(right):
        assert equivalent(left, right)


@pytest.mark.parametrize("size", [3, 2_000])
def test_lists_of_any_length(size):
    values = list(range(size))
    texts = [f" {value}.0" for value in values]
    random.Random(0).shuffle(texts)
    assert equivalent(values, texts, name="seats")
    assert not equivalent([*values, 0], [*texts, "1"], name="seats")


def test_pairs_are_one_to_one():
    assert pair_equivalent([1, "1", 2], ["2", 1.0, 3], "unmet") == [1, None, 0]


def nested(depth, leaf):
    for _ in range(depth):
        leaf = [leaf]
    return leaf


@pytest.mark.parametrize("depth", [1, 10, 100])
def test_lists_in_lists(depth):
    assert equivalent(nested(depth, "a"), nested(depth, " A "))
    assert not equivalent(nested(depth, "a"), nested(depth, "b"))
    assert not equivalent(nested(depth, "a"), nested(depth - 1, "a"))


@pytest.mark.parametrize(("text", "value"), [('["a"]', ["A"]), ('{"a": "5"}', {"a": 5.0, "b": None})])
def test_a_json_text_has_the_key_of_what_it_spells(text, value):
    assert key_of(text) == key_of(value)


def differing(expected, actual, compare=None, **fields):
    found = (compare or ArgumentComparison()).differences(
        ToolCall("t", expected, **fields), ToolCall("t", actual)
    )
    return [difference.parameter for difference in found]


CASES = [
    (None, {"a": 1}, ["a"]),
    ({"a": 1, "b": None, "c": False, "d": "", "e": []}, {"a": "1"}, []),
    ({"ids": [1, 2]}, {"ids": [2, 1]}, []),
    ({"numbers": [1, 2], "steps": ["b", "a"]}, {"numbers": [2, 1], "steps": ["a", "b"]}, ["steps"]),
    ({"seats": [1, 2], "new_seats": [3, 4]}, {"seats": [2, 1], "new_seats": [4, 3]}, []),
    (
        {"seats": [1, 2], "new_seats": [3, 4]},
        {"seats": [1, 2], "new_seats": [4, 3]},
        ["seats with new_seats"],
    ),
    ({"itinerary": ["A", "B"], "days": [3, 4]}, {"itinerary": ["B", "A"], "days": [4, 3]}, ["itinerary"]),
    ({"a": {"$matchType": "semantic", "$matchValue": "b"}}, {"a": "c"}, ["a"]),
]


@pytest.mark.parametrize(("expected", "actual", "wanted"), CASES)
def test_arguments(expected, actual, wanted):
    assert differing(expected, actual) == wanted


def test_lists_that_are_declared_ordered():
    ordered = ArgumentComparison(ordered={"*": ["a"], "t": ["b"]})
    assert differing({"a": [1, 2], "ids": [1, 2]}, {"a": ["1", 2.0], "ids": [2, 1]}, ordered) == []
    assert differing({"a": [1, 2], "b": [1, 2]}, {"a": [2, 1], "b": [2, 1]}, ordered) == ["a", "b"]
    assert differing({"a": [1, 2]}, {"a": [1]}, ordered) == ["a"]
    ignored = {"t": {"b": ArgumentMatcher(match="ignore")}}
    both = ArgumentComparison(ordered={"t": ["b"]}, matchers=ignored)
    assert differing({"b": [1, 2]}, {"b": [2, 1]}, both) == []


@pytest.mark.parametrize(
    ("names", "wanted"), [(None, ["a", "b", "c"]), ([], []), (["a"], ["a"]), (["d"], [])]
)
def test_an_expected_call_may_say_which_arguments_matter(names, wanted):
    assert differing({"a": 1, "b": 1}, {"a": 2, "b": 2, "c": 2}, compare_args=names) == wanted


def test_what_only_a_judge_can_compare_counts_as_it_is_told():
    vague = {"a": {"$matchType": "semantic", "$matchValue": "b"}}
    assert differing(vague, {"a": "c"}, ArgumentComparison(unclear=True)) == []
