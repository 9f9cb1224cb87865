"""The JSON Schemas are those of the documented messages, and of what is printed."""

import json
import re
from pathlib import Path

import jsonschema
import pytest

from tests.ces_messages import MESSAGES
from tests.tables import rows_test
from turnwise.schemas.ces.evaluation import check_evaluation
from turnwise.schemas.ces.result import Evaluation, EvaluationResult
from turnwise.schemas.ces.tools import GetEvaluationResultRequest, UpdateEvaluationRequest
from turnwise.schemas.proto.message import WireError
from turnwise.schemas.proto.schema import message_schema

SHARED = Path(__file__).parents[3] / "../shared"
SAMPLES = sorted((SHARED / "fixtures/ces/samples").glob("*__Evaluation*.json"))
REFERENCE = SHARED / "reference/ces.md"
TOP = [Evaluation, EvaluationResult, UpdateEvaluationRequest, GetEvaluationResultRequest]


def objects(message, use="answer"):
    schema = message_schema(message, use)
    inner = {name: inner for name, inner in schema.get("$defs", {}).items() if name in MESSAGES}
    return {message.PROTO: schema, **inner}


def documented_flags(name):
    """The flags of the fields that the reference lists for a message; nothing if it lists none."""
    start = rf"^\*\*{re.escape(name)}\*\*[^\n]*\n\n\|.*\n\|.*\n((?:\|[^\n]*\n)+)"
    table = re.search(start, REFERENCE.read_text(), re.M)
    rows = re.findall(r"^\| \d+ \| `(\w+)` \|[^|]*\|([^|]*)\|", table[1], re.M) if table else []
    return {key: words.split() for key, words in rows}


@pytest.mark.parametrize("message", TOP, ids=lambda message: message.PROTO)
def test_a_schema_is_one_whole_schema(message):
    schema = message_schema(message)
    jsonschema.Draft202012Validator.check_schema(schema)
    references = set(re.findall(r'"#/\$defs/([^"]+)"', json.dumps(schema)))
    assert references == set(schema.get("$defs", {}))
    assert schema["type"] == "object"


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_samples_meet_their_schemas(path):
    schema = message_schema(MESSAGES[path.stem.split("__")[1]])
    document = json.loads(path.read_text())
    jsonschema.validate(document, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**document, "unknown": 1}, schema)


test_rows = rows_test(globals(), "schema")


def evaluation(fields, is_valid):
    assert jsonschema.Draft202012Validator(message_schema(Evaluation)).is_valid(fields) is is_valid


@pytest.mark.skipif(not REFERENCE.exists(), reason="needs the reference")
def test_superseded_and_required_fields_are_the_documented_ones():
    # A scenario is also scored with a task or rubrics alone.
    accepted = {"Evaluation.Scenario": {"task", "rubrics", "scenarioExpectations"}}
    request = objects(Evaluation, "request")
    for name, schema in (objects(EvaluationResult) | request).items():
        flags = documented_flags(name)
        marked = {key for key, value in schema["properties"].items() if value.get("deprecated")}
        assert not flags or marked == {key for key, words in flags.items() if "D" in words}, name
        required = {key for key, words in flags.items() if "R" in words} - accepted.get(name, set())
        assert not flags or set(schema.get("required", ())) == (required if name in request else set()), name


def test_what_only_the_service_sets_is_marked_and_not_described_in_requests():
    whole, written = message_schema(Evaluation), message_schema(Evaluation, "request")
    for schema in (whole, written):
        marked = {name for name, schema in schema["properties"].items() if schema.get("readOnly")}
        assert marked == Evaluation.OUTPUT_ONLY
    assert "AggregatedMetrics" in whole["$defs"] and "AggregatedMetrics" not in written["$defs"]
    assert written["properties"]["aggregatedMetrics"]["type"] == "object"


def test_a_message_may_be_described_elsewhere():
    schema = message_schema(Evaluation, elsewhere={EvaluationResult: "the_tool"})
    assert "EvaluationResult" not in schema["$defs"]
    last, ten = (schema["properties"][name] for name in ("lastCompletedResult", "lastTenResults"))
    assert last["type"] == "object" and ten["items"] == {"type": "object"}
    assert last["description"].endswith("see the answer of the_tool.")


def held(use, fields, is_valid):
    """What a request must hold."""
    kind, value = (
        (UpdateEvaluationRequest, {"evaluation": fields}) if use == "update" else (Evaluation, fields)
    )
    assert jsonschema.Draft202012Validator(message_schema(kind, use)).is_valid(value) is is_valid


def test_a_golden_has_at_most_a_hundred_turns():
    turns = [{"steps": [{"userInput": {"text": "hi"}}]}] * 101
    held("request", {"name": "n", "displayName": "x", "golden": {"turns": turns[1:]}}, True)
    held("request", {"name": "n", "displayName": "x", "golden": {"turns": turns}}, False)


def in_range(name, number, is_valid):
    """The schema has the range that is checked."""
    levels = {"goldenEvaluationMetricsThresholds": {"turnLevelMetricsThresholds": {name: number}}}
    fields = {"name": "n", "displayName": "x", "scenario": {"task": "x"}}
    fields["evaluationMetricsThresholdOverride"] = levels
    held("request", fields, is_valid)
    try:
        check_evaluation(Evaluation.from_value(fields))
    except WireError as error:
        assert not is_valid and name in str(error)
    else:
        assert is_valid
