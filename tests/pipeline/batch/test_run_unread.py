"""A whole run over records that are not understood in full, or that hold nothing."""

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

CRITERIA = ("tool_effects_v1", "tool_trajectory_avg_score", "response_match_score", "turn_latency")
DELETE = {"type": "delete_use", "name": "delete_account", "input": {}}


def chat(name: str, *parts: Any) -> dict[str, Any]:
    said = [{"type": "text", "text": "Your account is as it was."}, *parts]
    return {
        "conversation_id": name,
        "app_version": "v1",
        "eval_id": "case",
        "tags": ["tier:gold"],
        "messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": said}],
    }


@pytest.fixture(scope="module")
def finished(turnwise: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("unread")
    records = [chat("plain"), chat("unread", DELETE), {"conversation_id": "empty", "turns": []}]
    (folder / "log.jsonl").write_text("\n".join(map(json.dumps, records)))
    case = {"eval_id": "case", "actions": [], "tags": ["tier:gold", "suite:nightly"]}
    (folder / "cases.jsonl").write_text(json.dumps(case))
    config = {"criteria": {name: {} for name in CRITERIA}, "slices": ["tier", "suite"]}
    (folder / "config.json").write_text(json.dumps(config))
    return turnwise(
        *("run", "--judge", "none", "--input", folder / "log.jsonl", "--config", folder / "config.json"),
        *("--eval_cases", folder / "cases.jsonl"),
        output=folder / "out",
    )


def statuses(finished: Any) -> dict[str, str | None]:
    rows = finished.rows("results")
    return {row["displayName"].rpartition(" ")[2]: row.get("evaluationStatus") for row in rows}


def test_effects_of_what_is_not_understood_are_unscored(finished):
    effects = {
        row["conversation_id"]: row
        for row in finished.rows("scores")
        if row["criterion"] == "tool_effects_v1"
    }
    assert (effects["plain"]["value"], effects["plain"]["outcome"]) == (1.0, "PASS")
    assert (effects["unread"]["value"], effects["unread"]["outcome"]) == (None, None)
    assert "'delete_use' is not read" in effects["unread"]["reason"]
    assert statuses(finished) == {"plain": "PASS", "unread": None}


def test_a_conversation_without_a_turn_is_a_failure(finished):
    (row,) = [row for row in finished.rows("failures") if row["stage"] == "parse"]
    assert (row["position"], row["message"]) == (3, "conversation empty has no turn")
    assert len(finished.rows("results")) == 2


def test_tags_of_the_record_and_of_its_case_reach_scores_and_slices(finished):
    assert {tuple(row["tags"]) for row in finished.rows("scores")} == {("tier:gold", "suite:nightly")}
    slices = {row["slice"]: row["conversations"] for row in finished.rows("metrics_by_slice")}
    assert slices == {"tier:gold": 2, "suite:nightly": 2}


EMPTY = {"zero.json": b"", "zero.json.gz": b"", "zero.jsonl.gz": b"", "blank.json": b" \n\t "}


@pytest.mark.parametrize("streaming", [False, True])
def test_what_holds_nothing_and_cannot_be_empty_is_a_failure(turnwise, tmp_path, streaming):
    folder = tmp_path / "in"
    folder.mkdir()
    good = {"conversation_id": "a", "turns": [{"user": "u", "agent": "a", "expected": {"response": "a"}}]}
    whole = {"good.jsonl": json.dumps(good).encode(), "none.jsonl": b"", "none.ndjson.gz": gzip.compress(b"")}
    for name, content in (EMPTY | whole).items():
        (folder / name).write_bytes(content)
        os.utime(folder / name, (1e9, 1e9))
    (tmp_path / "c.json").write_text('{"criteria": {"response_match_score": 0.8}}')
    stream = ("--streaming", "--max_run_time", "2") if streaming else ()
    arguments = ("--input", folder, "--config", tmp_path / "c.json", "--fail_on", "evaluation_status")
    run = turnwise("run", *arguments, *stream, output=tmp_path / "out")
    assert {Path(row["source"]).name for row in run.rows("failures")} == EMPTY.keys()
    assert {row["stage"] for row in run.rows("failures")} == {"read"} and run.status == 1
    assert "5 records = 1 parsed + 4 failed" in run.out


@pytest.mark.parametrize("kind", ["", "--streaming"])
@pytest.mark.parametrize("path", [b"/sub\xff", b"/sub\xff/*.jsonl"])
def test_a_path_that_is_not_utf_8_is_one_line(turnwise, tmp_path, path, kind):
    place = os.fsencode(tmp_path) + b"/sub\xff"
    os.mkdir(place)
    Path(os.fsdecode(place + b"/a.jsonl")).write_text("{}\n")
    arguments = ["--input", os.fsdecode(os.fsencode(tmp_path) + path), *([kind] if kind else [])]
    run = turnwise("run", *arguments, output=tmp_path / "out")
    assert run.status == 2 and run.err.count("\n") == 1 and "not UTF-8; rename it" in run.err
