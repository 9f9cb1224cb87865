"""The JSON Schemas are those of the documented messages, and of what is printed."""

import json
import re
from pathlib import Path

import jsonschema
import pytest
from google.cloud import ces_v1beta
from google.protobuf.descriptor import FieldDescriptor

from turnwise.schemas.ces.cases import Evaluation
from turnwise.schemas.ces.messages import MESSAGES
from turnwise.schemas.ces.requests import GetEvaluationResultRequest, UpdateEvaluationRequest
from turnwise.schemas.ces.results import EvaluationResult
from turnwise.schemas.proto.schema import message_schema

SHARED = Path(__file__).parents[3] / "../shared"
SAMPLES = sorted((SHARED / "fixtures/ces/samples").glob("*.json"))
REFERENCE = SHARED / "reference/ces.md"
TOP = [Evaluation, EvaluationResult, UpdateEvaluationRequest, GetEvaluationResultRequest]

SCALARS = {
    FieldDescriptor.TYPE_STRING: "string",
    FieldDescriptor.TYPE_BOOL: "boolean",
    FieldDescriptor.TYPE_INT32: "integer int32",
    FieldDescriptor.TYPE_FLOAT: "number float",
    FieldDescriptor.TYPE_DOUBLE: "number double",
    FieldDescriptor.TYPE_BYTES: "string byte",
}
WELL_KNOWN = {
    "google.protobuf.Timestamp": "string date-time",
    "google.protobuf.Duration": "string google-duration",
    "google.protobuf.FieldMask": "string google-fieldmask",
    "google.protobuf.Struct": "object",
    "google.protobuf.Any": "object",
}


def in_words(schema):
    """What a schema says, in one text: a kind with its format, an enum's names, or a message's name."""
    if "$ref" in schema:
        return schema["$ref"].removeprefix("#/$defs/")
    if "anyOf" in schema:
        first, second = schema["anyOf"]
        assert second["type"] == ("integer" if "enum" in first else "string")
        return in_words(first)
    if "enum" in schema:
        return ",".join(schema["enum"])
    if schema["type"] == "array":
        return f"list of {in_words(schema['items'])}"
    if schema["type"] == "object" and isinstance(schema["additionalProperties"], dict):
        return f"map to {in_words(schema['additionalProperties'])}"
    return " ".join(filter(None, (schema["type"], schema.get("format"))))


def real_words(field):
    inner = field.message_type
    if inner and inner.GetOptions().map_entry:
        return f"map to {real_words(inner.fields_by_name['value'])}"
    if field.enum_type:
        text = ",".join(value.name for value in field.enum_type.values)
    elif inner:
        text = WELL_KNOWN.get(inner.full_name) or re.sub(
            r"^google\.(cloud\.ces\.v1beta|rpc)\.", "", inner.full_name
        )
    else:
        text = SCALARS[field.type]
    return f"list of {text}" if field.is_repeated else text


def objects(message):
    schema = message_schema(message)
    return {message.PROTO: schema, **schema.get("$defs", {})}


@pytest.mark.parametrize("message", TOP, ids=lambda message: message.PROTO)
def test_every_object_is_the_real_message(message):
    compared = 0
    for name, schema in objects(message).items():
        assert schema["additionalProperties"] is False
        if MESSAGES[name].PACKAGE != "google.cloud.ces.v1beta":
            continue
        real = ces_v1beta
        for part in name.split("."):
            real = getattr(real, part)
        fields = type(real.pb(real())).DESCRIPTOR.fields
        assert {key: in_words(value) for key, value in schema["properties"].items()} == {
            field.json_name: real_words(field) for field in fields
        }
        compared += 1
    assert compared >= (1 if message is GetEvaluationResultRequest else 40)


@pytest.mark.skipif(not REFERENCE.exists(), reason="needs the reference")
@pytest.mark.parametrize("message", [Evaluation, EvaluationResult], ids=lambda message: message.PROTO)
def test_every_object_is_the_documented_one(message):
    text = REFERENCE.read_text()
    for name, schema in objects(message).items():
        table = re.search(rf"^\*\*{re.escape(name)}\*\*[^\n]*\n\n\|.*\n\|.*\n((?:\|[^\n]*\n)+)", text, re.M)
        if table:
            documented = re.findall(r"^\| \d+ \| `(\w+)` \|", table[1], re.M)
            assert sorted(schema["properties"]) == sorted(documented), name


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


@pytest.mark.parametrize(
    ("fields", "is_valid"),
    [
        ({"invalid": True}, True),
        ({"invalid": "true"}, False),
        ({"tags": ["a"]}, True),
        ({"tags": [1]}, False),
        ({"scenario": {"userGoalBehavior": "USER_GOAL_REJECTED", "variableOverrides": {"a": {}}}}, True),
        ({"scenario": {"userGoalBehavior": 77}}, True),
        ({"scenario": {"userGoalBehavior": "NEVER"}}, False),
        ({"golden": {"turns": [{"rootSpan": {"childSpans": [{"childSpans": [{"name": "x"}]}]}}]}}, True),
        ({"golden": {"turns": [{"rootSpan": {"childSpans": [{"childSpans": [{"nam": "x"}]}]}}]}}, False),
    ],
)
def test_the_schema_of_an_evaluation(fields, is_valid):
    assert jsonschema.Draft202012Validator(message_schema(Evaluation)).is_valid(fields) is is_valid


def test_output_only_fields_are_marked_or_left_out():
    whole, writable = message_schema(Evaluation), message_schema(Evaluation, writable_only=True)
    marked = {name for name, schema in whole["properties"].items() if schema.get("readOnly")}
    assert marked == Evaluation.OUTPUT_ONLY
    assert writable["properties"].keys() == whole["properties"].keys() - marked
    assert "AggregatedMetrics" in whole["$defs"] and "AggregatedMetrics" not in writable["$defs"]
