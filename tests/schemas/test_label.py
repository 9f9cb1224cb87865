"""Labels of people: what is read, and what is refused."""

import json

import msgspec
import pytest

from tests.tables import rows_test
from turnwise.schemas.calibration import parse_label

test_rows = rows_test(globals(), "label")


def label_of(more):
    return parse_label(json.dumps({"conversation_id": "c1", "criterion": "safety_v1", **more}))


def read(more, name, value):
    assert msgspec.to_builtins(getattr(label_of(more), name)) == value


def refused(more, message):
    with pytest.raises(ValueError, match=message):
        label_of(more)


@pytest.mark.parametrize("line", ["conversation_id;criterion;label", "[]", '{"conversation_id": "c1",'])
def test_a_line_that_is_no_object_is_told_what_one_is(line):
    with pytest.raises(ValueError, match="each line is one label, a JSON object"):
        parse_label(line)
