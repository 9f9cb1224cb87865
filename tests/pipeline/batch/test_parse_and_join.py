"""A run that is one process joins events on disk, to the same conversations as the runner's grouping."""

import json
from pathlib import Path
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.testing import test_pipeline
from apache_beam.testing.util import assert_that, equal_to

from turnwise.pipeline.batch.execution import BeamOptions
from turnwise.pipeline.io.sources import ParseAndJoin, ParseAndJoinFn
from turnwise.schemas.conversation import Record
from turnwise.transforms.beam.steps import JoinSessions, NameGroups, ParseConversations
from turnwise.transforms.formats.reading import LogReader


def span(trace: str, own: str, at: int, **attributes: str) -> dict[str, Any]:
    held = [{"key": key.replace("__", "."), "value": {"stringValue": v}} for key, v in attributes.items()]
    times = {"startTimeUnixNano": str(at * 10**9), "endTimeUnixNano": str((at + 1) * 10**9)}
    return {"traceId": trace * 32, "spanId": own * 16, "name": own, "attributes": held, **times}


def export(*spans: dict[str, Any]) -> dict[str, Any]:
    return {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}


def agent(trace: str, at: int, said: str) -> dict[str, Any]:
    words = {"gen_ai__operation__name": "invoke_agent", "gen_ai__conversation__id": "talk"}
    output = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": said}]}])
    return span(trace, "a", at, **words, gen_ai__output__messages=output)


EVENT = {
    "labels": {"session_id": "s1", "app_version": "v7"},
    "jsonPayload": {"text": "first", "turnIndex": 1, "turnCompleted": True},
}
OTHER = {"text": "other", "turnIndex": 1, "turnCompleted": True}
VALUES = [
    export(agent("2", 20, "second"), span("3", "b", 3, http__method="GET")),
    EVENT,
    export(agent("1", 10, "first")),
]
RECORDS = [Record("log.jsonl", place, json.dumps(one).encode()) for place, one in enumerate(VALUES, 1)]


def by_the_runner(records: Any) -> Any:
    parsed = records | ParseConversations(LogReader())
    named = parsed.grouped | NameGroups()
    joined = (parsed.events, named.events) | beam.Flatten() | JoinSessions()
    return joined.conversations, (named.failures, joined.failures) | "Rejected" >> beam.Flatten()


def on_disk(records: Any) -> Any:
    joined = records | ParseAndJoin(LogReader())
    return joined.conversations, joined.failures


@pytest.mark.parametrize("join", [by_the_runner, on_disk])
def test_events_are_joined_to_the_same_conversations(join):
    with test_pipeline.TestPipeline(runner="FnApiRunner", options=BeamOptions([])) as root:
        conversations, failures = join(root | beam.Create(RECORDS))
        told = conversations | beam.Map(
            lambda found: (found.conversation.conversation_id, [t.agent for t in found.conversation.turns])
        )
        rejected = failures | beam.Map(lambda failure: (failure.error_type, len(failure.receipts)))
        assert_that(told, equal_to([("talk", ["first", "second"]), ("s1", ["first"])]), "Told")
        assert_that(rejected, equal_to([("NoConversation", 1)]), "Rejected2")


def test_different_events_with_one_id_are_told():
    twice = [EVENT | {"insertId": "same"}, EVENT | {"insertId": "same", "jsonPayload": OTHER}]
    records = [Record("log.jsonl", place, json.dumps(one).encode()) for place, one in enumerate(twice, 1)]
    with test_pipeline.TestPipeline(runner="FnApiRunner", options=BeamOptions([])) as root:
        conversations, _ = by_the_runner(root | beam.Create(records))
        told = conversations | beam.Map(
            lambda found: [(turn.agent, bool(turn.unknown_words)) for turn in found.conversation.turns]
        )
        assert_that(told, equal_to([[("first", True)]]))


def test_nothing_is_grouped_in_memory_before_events_are_joined():
    root = beam.Pipeline()
    on_disk(root | beam.Create(RECORDS, reshuffle=False))
    steps = root.to_runner_api().components.transforms.values()
    Path(root.local_tempdir).rmdir()
    kinds = {step.spec.urn for step in steps}
    assert "beam:transform:pardo:v1" in kinds
    assert not kinds & {"beam:transform:group_by_key:v1", "beam:transform:flatten:v1"}


def test_several_bundles_are_an_error_and_no_divided_conversation():
    join = ParseAndJoinFn(LogReader())
    join.start_bundle()
    join.process(RECORDS[1])
    (joined, _) = join.finish_bundle()
    assert joined.value.conversation.conversation_id == "s1"
    join.start_bundle()
    assert list(join.finish_bundle()) == []
    join.process(RECORDS[1])
    with pytest.raises(RuntimeError, match="several bundles"):
        list(join.finish_bundle())


def test_records_are_read_in_batches_of_sixteen_or_one_mib():
    join = ParseAndJoinFn(LogReader())
    for size, number, given in ((1, 17, [0] * 15 + [16, 0]), (600_000, 4, [0, 2, 0, 2])):
        join.start_bundle()  # without those of the bundle before
        assert [len(join.process(Record("x", 1, b" " * size))) for _ in range(number)] == given
