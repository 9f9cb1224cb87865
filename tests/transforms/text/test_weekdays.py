import pytest

from turnwise.transforms.text.dates import weekdays_in


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("Come on Monday or SUNDAY.", {0, 6}),
        ("am Dienstag", {1}),
        ("le mercredi, el jueves", {2, 3}),
        ("金曜日と土曜", {4, 5}),
        ("월요일에", {0}),
        ("Mondays at 日本, sonntags", {0, 6}),
        ("", set()),
    ],
)
def test_weekdays(text, days):
    assert weekdays_in(text) == days
