"""Eval cases that change while a stream runs, and while it does not; and what the graph holds of them."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import apache_beam as beam
import pytest

from turnwise.pipeline.io.case_book import CasePlaces, worker_cases
from turnwise.pipeline.settings.run import RunSettings
from turnwise.pipeline.streaming.beam import SharedFiles, build_stream
from turnwise.schemas.config import CesConfig, EvalConfig
from turnwise.schemas.conversation import Arrival
from turnwise.schemas.run import RunInfo
from turnwise.transforms.scoring.config import build_criteria

LARGEST_GRAPH = 100_000
"""Bytes of the graph of a stream, whatever the number of its cases."""


def case(name: str, text: str) -> str:
    said = {"user_content": {"parts": [{"text": "Hi"}]}, "final_response": {"parts": [{"text": text}]}}
    return json.dumps({"eval_id": name, "conversation": [said]}) + "\n"


def conversation(name: str, eval_id: str) -> str:
    turn = {"user": "Hi", "agent": "alpha beta"}
    return json.dumps({"conversation_id": name, "eval_id": eval_id, "turns": [turn]}) + "\n"


@pytest.fixture(scope="module")
def changed(stream, drop, tmp_path_factory):
    """A stream whose cases are changed, broken and removed between its conversations."""
    folder = tmp_path_factory.mktemp("changes")
    watched, cases, config = folder / "in", folder / "cases.jsonl", folder / "config.json"
    watched.mkdir()
    config.write_text('{"criteria": {"response_match_score": 0.5}}')
    drop(cases, case("one", "alpha beta") + case("two", "alpha beta"))
    arguments = ["--input", watched, "--eval_cases", cases, "--config", config, "--judge", "none"]
    started = stream(folder / "out", *arguments, "--refresh_cases", "0.1")

    def said(name: str, eval_id: str) -> bool:
        """Adds a conversation, waits for its row, and returns whether it has a result."""
        rows = started.count("conversations") + started.count("failures")
        drop(watched / f"{name}.jsonl", conversation(name, eval_id))
        started.until(lambda: started.count("conversations") + started.count("failures") > rows)
        return any(row["conversation_id"] == name for row in started.rows("scores"))

    started.until(lambda: (folder / "out/progress.sqlite").exists())
    assert said("first", "one")
    drop(cases, case("one", "other words") + case("three", "alpha beta") + "{broken\n")
    started.until_rows("failures", 1)
    assert said("second", "one") and said("kept", "two") and said("new", "three")
    drop(cases, case("one", "alpha beta") + case("three", "alpha beta"))
    number = 0
    while said(f"try{number}", "two"):
        number += 1
    started.signal().finish()
    started.arguments, started.cases = arguments, cases
    return started


def scores(stream: Any) -> dict[str, float]:
    return {row["conversation_id"]: row["value"] for row in stream.rows("scores") if row["turn_index"] == 0}


def test_conversations_are_scored_against_the_cases_of_their_time(changed):
    found = scores(changed)
    assert (found["first"], found["second"], found["kept"], found["new"]) == (1.0, 0.0, 1.0, 1.0)
    digests = {row["conversation_id"]: row["case_digest"] for row in changed.rows("conversations")}
    assert digests["first"] != digests["second"]


def test_a_broken_case_is_a_failure_once_and_a_removed_one_is_unknown(changed):
    failures = [(row["stage"], row["error_type"]) for row in changed.rows("failures")]
    assert sorted(failures) == [("match", "UnknownCaseError"), ("parse_case", "ValueError")]
    counts = changed.document("run.json")["counts"]
    assert counts["rejected_cases"] == 1 and counts["rejected_conversations"] == 1


def test_a_restart_after_a_change_scores_nothing_again(changed, goes_on, drop):
    before = scores(changed)
    drop(changed.cases, case("one", "all other words") + case("two", "words") + case("three", "words"))
    done = goes_on(changed.directory, *changed.arguments)
    assert scores(changed) == before
    counts = done.document("run.json")["counts"]
    assert (counts["results"], counts["replaced"], counts["repeated"]) == (len(before), 0, 0)


def size_of_graph(place: Path, number: int) -> int:
    place.write_text("".join(case(f"case-{i}", f"words of case {i}") for i in range(number)))
    config, run = EvalConfig(), RunInfo("run-1", "2026-11-21T00:00:00.000Z")
    given = {"run": run, "config": config, "criteria": build_criteria(config), "eval_cases": (str(place),)}
    settings = RunSettings(**given, is_distributed=True)
    lookup = partial(worker_cases, CasePlaces((str(place),), 1 << 20, "", CesConfig(), 60.0))
    assert lookup().cases
    root = beam.Pipeline()
    arrivals = root | beam.Create([b""]) | beam.Map(_arrival)
    build_stream(arrivals, [], lookup, settings, SharedFiles("out", "run-1"))
    return len(root.to_runner_api().SerializeToString())


def _arrival(data: bytes) -> Arrival:
    return Arrival("a", 1, data, 0.0)


def test_cases_are_not_in_the_graph(tmp_path):
    few, many = (size_of_graph(tmp_path / f"{number}.jsonl", number) for number in (1, 20_000))
    assert abs(many - few) < 1_000 and many < LARGEST_GRAPH
