import pytest

from turnwise.transforms.text.dates import weekdays_in


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("Come on Monday or SUNDAY.", {0, 6}),
        ("le mercredi, el jueves", {2, 3}),
        ("월요일에", {0}),
        ("Mondays at 日本, sonntags", {0, 6}),
    ],
)
def test_weekdays(text, days):
    assert weekdays_in(text) == days
