"""A record that lacks one key of a format is told that format, and the key."""

import json
from pathlib import Path

import pytest

from tests.documentation import check_names
from turnwise.transforms.formats.mapped import recognise
from turnwise.transforms.formats.registry import FORMATS, no_version_text

_MADE_BY_TURNWISE = {"trace_part", "mapped_part", "mapping"}
NEAREST = Path(__file__).with_name("nearest.jsonl")
RECORDS = [tuple(json.loads(line)) for line in NEAREST.read_text().splitlines()]
"""Of each format: a key that it needs, and a record."""


def test_every_format_is_tried():
    tried = {"otel_attributes", *(name for name, _, _ in RECORDS)}
    check_names(tried, {*FORMATS} - _MADE_BY_TURNWISE, str(NEAREST))
    assert {name for name, each in FORMATS.items() if not each.keys} == _MADE_BY_TURNWISE


@pytest.mark.parametrize(("name", "key", "record"), RECORDS)
def test_a_misspelt_key_is_named_with_its_format(name, key, record):
    assert recognise(record) == name
    misspelt = {f"{each}s" if each == key else each: item for each, item in record.items()}
    said = rf"\b{key} \(is it {key}s\?\).* missing for the nearest format, {name} \("
    with pytest.raises(ValueError, match=said):
        recognise(misspelt)


_OR_GOLDEN = ("scenario", "scenarioResult")
# A record of one key has nothing left to be told by; what is neither golden nor scenario is told as a golden.
WITHOUT = [row for row in RECORDS if len(row[2]) > 1 and row[1] not in _OR_GOLDEN]


@pytest.mark.parametrize(("name", "key", "record"), WITHOUT)
def test_a_missing_key_is_named_with_its_format(name, key, record):
    rest = {each: item for each, item in record.items() if each != key}
    with pytest.raises(ValueError, match=rf"\b{key} (is|are) missing for the nearest format, {name} \("):
        recognise(rest)


def test_attributes_with_keys_of_columns_are_named():
    said = r"gen_ai.operation.name \(is it gen_ai_operation_name\?\), .* nearest format, otel_attributes "
    with pytest.raises(ValueError, match=said):
        recognise({"gen_ai_operation_name": "chat", "gen_ai_request_model": "m"})


@pytest.mark.parametrize(
    "record", [{"type": "click", "at": 1}, {"id": "1", "name": "x", "words": "y"}, {"usage": {}}]
)
def test_a_record_with_less_than_half_of_the_keys_is_near_to_none(record):
    with pytest.raises(ValueError, match="near to none of the formats"):
        recognise(record)


def test_where_the_history_of_dialogflow_states_versions_is_named():
    said = no_version_text(["dialogflow_history"], [])
    assert "flowVersions, flow_versions (interactions.request" in said
