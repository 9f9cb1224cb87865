"""Cases that expect an empty text, or of a tool or variable that they do not name."""

import json

import pytest

from turnwise.schemas.config import CesConfig
from turnwise.schemas.conversation import Record
from turnwise.transforms.formats.reading import CaseReader


def golden(*expectations, **fields):
    steps = [{"userInput": {"text": "hi"}}, *({"expectation": entry} for entry in expectations)]
    return {"displayName": "x", "golden": {"turns": [{"steps": steps}], **fields}}


def scenario(**fields):
    return {"displayName": "x", "scenario": {"task": "pay", **fields}}


def read(case):
    return CaseReader(CesConfig()).read(Record("cases.jsonl", 1, json.dumps(case).encode()))


@pytest.mark.parametrize(
    ("case", "path"),
    [
        (golden({"agentResponse": {"role": "agent", "chunks": [{"text": " "}]}}), "agentResponse"),
        (golden({"toolCall": {"args": {"a": 1}}}), "toolCall"),
        (golden({"updatedVariables": {}}), "updatedVariables"),
        (golden({"toolCall": {"tool": "t"}}, evaluationExpectations=[""]), r"evaluationExpectations\[0\]"),
        (scenario(evaluationExpectations=[""]), r"evaluationExpectations\[0\]"),
        ({"eval_id": "e", "kind": "golden", "evaluation_expectations": ["a", " "]}, "empty text"),
        ({"eval_id": "e", "rubrics": [{"rubric_id": "1", "text": ""}]}, "empty text"),
    ],
)
def test_an_empty_expectation_is_refused(case, path):
    with pytest.raises(ValueError, match=path):
        read(case)


@pytest.mark.parametrize(
    "case",
    [
        golden({"agentResponse": {"role": "agent", "chunks": [{"text": ""}, {"text": "hello"}]}}),
        golden({"agentResponse": {"role": "agent", "chunks": [{"payload": {"card": 1}}]}}),
        golden({"toolCall": {"displayName": "pay"}}),
        golden({"updatedVariables": {"a": None}}),
        golden(),
        scenario(rubrics=["polite"]),
        {"eval_id": "e", "kind": "golden", "outputs": ["10"]},
    ],
)
def test_other_expectations_are_read(case):
    assert len(read(case)) == 1
