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
