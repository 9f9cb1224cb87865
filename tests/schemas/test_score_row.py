"""Score rows as they are made have the columns of those that are read, and are written alike."""

import json
from typing import get_type_hints

import pytest

from turnwise.schemas.jsonio import dump_json
from turnwise.schemas.rows import MadeScoreRow, ScoreRow, plain_rows, score_lines


class Label(str):
    """A text of a class of its own, as numpy has them."""


def row(**columns):
    known = {"run_id": "r", "conversation_id": "c1", "app_version": "v1", "turn_index": 0, "value": 0.5}
    known |= {"criterion": "turn_latency", "outcome": "PASS", "threshold": 1.0, "language": "en"}
    known |= {"tags": ["a"], "revision": 0, "score_id": "k"}
    return MadeScoreRow(**dict.fromkeys(get_type_hints(ScoreRow)) | known | columns)


def test_made_rows_have_the_columns_of_read_rows():
    assert list(plain_rows([row()])[0]) == list(get_type_hints(ScoreRow))
    assert row()["score_id"] == "k"


@pytest.mark.parametrize(
    "columns",
    [
        {},
        {"value": None, "reason": 'a "quoted"\nreason \x00 “é” 😀'},
        {"details": {"large": 2**70, "none": float("nan"), "nested": [{"a": (1, 2)}]}},
        {"value": 1 / 3, "threshold": 1e-7, "label": Label("A"), "explanation": Label("")},
    ],
)
def test_made_rows_are_written_as_objects_are(columns):
    made = [row(**columns), row()]
    assert score_lines(made) == score_lines(plain_rows(made))
    assert score_lines(made).splitlines() == [dump_json(each) for each in plain_rows(made)]
    assert json.loads(score_lines(made).splitlines()[1])["score_id"] == "k"


def test_a_text_that_cannot_be_written_is_an_error():
    with pytest.raises(ValueError, match="surrogates"):
        score_lines([row(reason="\ud800")])
