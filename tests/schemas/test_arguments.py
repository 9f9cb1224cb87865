import pytest

from turnwise.schemas.conversation import decoded_arguments


@pytest.mark.parametrize(
    ("value", "arguments"),
    [
        (None, None),
        ({"a": 1}, {"a": 1}),
        ('{"a": 1}', {"a": 1}),
        ("", {}),
        ("null", {}),
        ([], {}),
        ('""', {"raw": '""'}),
        ("[1]", {"raw": "[1]"}),
        ("{a: 1", {"raw": "{a: 1"}),
        ([1], {"raw": [1]}),
    ],
)
def test_decoded_arguments(value, arguments):
    assert decoded_arguments(value) == arguments
