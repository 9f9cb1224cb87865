"""Containers of spans: versions, ids, times and values; `containers.jsonl` has one turn in each of them."""

import copy

import pytest

import turnwise
from tests.transforms.formats.test_readings import READINGS
from turnwise.transforms.formats.traces.span import any_value, as_id, as_nanos, loaded

TRACE, START = "0af7651916cd43dd8448eb211c80319c", 1_760_000_000_000_000_000


def held_by(container):
    return copy.deepcopy(READINGS[f"traces/containers: container: {container}"]["records"])


def test_the_config_names_the_attribute_of_the_resource_that_holds_the_app_version():
    config = {"app_version_from": ["vcs.ref.head.revision"]}
    stated = {"service.version": "v1", "vcs.ref.head.revision": "abc", "process.pid": 7}
    pairs = [{"key": key, "value": {"stringValue": str(value)}} for key, value in stated.items()]
    [exports], [query], [flat] = map(held_by, ("OTLP", "Jaeger", "flat, Python's SDK"))
    exports["resourceSpans"][0]["resource"] = {"attributes": pairs}
    query["data"][0]["processes"]["p1"]["tags"] = [{"key": k, "value": v} for k, v in stated.items()]
    dumped = [{**each, "resource": {"attributes": stated}} for each in flat]
    for records in ([exports], [query], dumped):
        (found,) = turnwise.read_conversations(records, config=config)
        assert found.app_version == "abc"
        (plain,) = turnwise.read_conversations(records)
        assert plain.app_version == "v1"
    (other,) = turnwise.read_conversations(flat, config=config)
    assert other.app_version == "v1", "what a resource lacks is as without the config"
    spans = exports["resourceSpans"][0]["scopeSpans"][0]["spans"]
    spans[0]["attributes"].append({"key": "gen_ai.agent.version", "value": {"stringValue": "agent-2"}})
    (found,) = turnwise.read_conversations([exports], config=config)
    assert found.app_version == "abc", "it goes before what spans say"
    (plain,) = turnwise.read_conversations([exports])
    assert plain.app_version == "agent-2"


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("CveOx0dH4uRPZpLFkNsHlQ==", "0af78ec74747e2e44f6692c590db0795"),
        (TRACE.upper(), TRACE),
        (f"0x{TRACE}", TRACE),
        ("0" * 32, ""),
        ("live-trace-1", "live-trace-1"),
        (None, ""),
        ([], ""),
        (255, "ff"),
    ],
)
def test_ids(value, found):
    assert as_id(value) == found


@pytest.mark.parametrize(
    "value",
    [
        START,
        str(START),
        START / 1000,
        START // 10**6,
        START / 10**9,
        [1_760_000_000, 0],
        "2025-10-09T08:53:20Z",
    ],
)
def test_times(value):
    assert as_nanos(value) == START


@pytest.mark.parametrize(
    "value", [None, "", "x", -1, float("nan"), float("inf"), True, {}, [1], ["a", "b"], 10**40]
)
def test_what_is_no_time(value):
    assert as_nanos(value) == 0


def test_values():
    assert any_value({"kvlistValue": {"values": [{"key": "a", "value": {"intValue": "5"}}]}}) == {"a": 5}
    assert any_value({"arrayValue": {"values": [{"boolValue": True}, {"doubleValue": "NaN"}, {}]}}) == [
        True,
        "NaN",
        None,
    ]
    assert loaded("{'a': (1,)}") == "{'a': (1,)}" and loaded("{'a': 1}") == {"a": 1}
    assert loaded('"{\\"a\\": 1}"') == {"a": 1} and loaded("[" * 500) == "[" * 500
