"""Containers of spans: versions, ids, times and values; `containers.jsonl` has one turn in each of them."""

import copy

import turnwise
from tests.tables import rows_test
from tests.transforms.formats.test_readings import READINGS
from turnwise.transforms.formats.traces.span import any_value, as_id, as_nanos, loaded

test_rows = rows_test(globals(), "containers")
START = 1_760_000_000_000_000_000


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


def id_of(value, wanted):
    assert as_id(value) == wanted


def time(value):
    assert as_nanos(value) == START


def no_time(value):
    assert as_nanos(value) == 0


def test_values():
    assert any_value({"kvlistValue": {"values": [{"key": "a", "value": {"intValue": "5"}}]}}) == {"a": 5}
    assert any_value(0) == 0 and any_value(False) is False and any_value({}) is None
    assert any_value({"arrayValue": {"values": [{"boolValue": True}, {"doubleValue": "NaN"}, {}]}}) == [
        True,
        "NaN",
        None,
    ]
    assert loaded("{'a': (1,)}") == "{'a': (1,)}" and loaded("{'a': 1}") == {"a": 1}
    assert loaded('"{\\"a\\": 1}"') == {"a": 1} and loaded("[" * 500) == "[" * 500
