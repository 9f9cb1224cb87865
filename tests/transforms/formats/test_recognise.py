import json

import pytest

from tests.tables import rows_test
from turnwise.schemas.conversation import Record
from turnwise.transforms.formats.mapped import recognise
from turnwise.transforms.formats.reading import LogReader, is_one_record
from turnwise.transforms.formats.registry import FORMATS

test_rows = rows_test(globals(), "recognise")


def recognised(value, name):
    assert recognise(value) == name
    assert name in FORMATS


def unrecognised(value, message):
    with pytest.raises(ValueError, match=message):
        recognise(value)


def refused(value, name):
    """Formats of other systems are named and refused."""
    unrecognised(value, f"{name}.*: this format is not read; .*convert it to")


def together(value, wanted):
    """Whether an array of such values is one record."""
    assert is_one_record([value, value]) == wanted


def no_turn(value):
    """A conversation without a turn is refused."""
    try:
        found = LogReader().read(Record("f", 1, json.dumps(value).encode()))
    except ValueError as error:
        found = [error]
    assert len(found) == 1
    assert "has no turn" in str(found[0])


def no_record(text):
    with pytest.raises(ValueError, match=r"unrecognised record: .*, not a JSON object"):
        LogReader().read(Record("f", 1, json.dumps(text).encode()))


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("input_format", ["auto", "adk_eval_result"])
def test_eval_results_in_a_json_text_are_read(indent, input_format):
    said = {"actual_invocation": {"user_content": {"parts": [{"text": "hé \u201cyou\u201d"}]}}}
    case = {"eval_id": "one", "session_id": "session", "eval_metric_result_per_invocation": [said]}
    result = {"eval_set_result_id": "r", "eval_set_id": "s", "eval_case_results": [case]}
    once = json.dumps(result, indent=indent)
    twice = [
        LogReader(input_format).read(Record("f", 1, json.dumps(text).encode())) for text in (result, once)
    ]
    assert twice[0] == twice[1]
    assert [conversation.turns[0].user for conversation in twice[1]] == ["hé \u201cyou\u201d"]
