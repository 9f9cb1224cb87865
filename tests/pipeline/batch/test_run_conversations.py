"""What a run writes to be read: conversations with transcripts, and which to read first."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_type_hints

import pytest

import turnwise as api
from tests.tables import file_of
from turnwise.pipeline.io.sinks.base import table_rows
from turnwise.pipeline.io.terminal import columns
from turnwise.pipeline.report.terminal import reading_text
from turnwise.schemas.rows import ConversationRow
from turnwise.transforms.review.problems import to_read

COLUMNS = list(get_type_hints(ConversationRow))
PLAIN = ("--judge", "none")


@pytest.fixture(scope="module")
def done(turnwise: Callable[..., Any], sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Runs the sample by the local judge."""
    paths = ("--input", sample / "conversations", "--eval_cases", sample / "cases")
    options = ("--config", sample / "config.json", "--judge", "local")
    return turnwise("run", *paths, *options, output=tmp_path_factory.mktemp("run") / "out")


def test_every_result_has_a_row_with_its_verdict(done: Any) -> None:
    rows = done.rows("conversations")
    assert len(rows) == 59 and all(list(row) == COLUMNS for row in rows)
    verdicts = {row["conversation_id"]: row["verdict"] for row in rows}
    for result in done.rows("results"):
        name = result["displayName"].rsplit(" - ", 1)[1]
        assert result.get("evaluationStatus") == verdicts[name]
    turns = {row["app_version"]: row["turns"] for row in done.rows("metrics_by_app_version")}
    assert sum(row["turns"] for row in rows) == sum(turns.values())


def test_only_what_passed_has_no_harm(done: Any) -> None:
    for row in done.rows("conversations"):
        assert (row["harm"] == 0) <= (row["verdict"] == "PASS")
        assert (row["harm"] == 0) == (row["why"] is None) == (row["cluster"] is None)


def test_judged_scores_count_too(done: Any, sample: Path) -> None:
    paths = {"cases": sample / "cases", "config": sample / "config.json"}
    bare = api.evaluate(sample / "conversations", **paths, judge="none")
    measured = {row["conversation_id"]: row["harm"] for row in bare.conversations}
    whole = [row for row in done.rows("scores") if row["turn_index"] is None and row["outcome"] == "FAIL"]
    judged = {row["conversation_id"] for row in whole if row["criterion"] == "semantic_similarity"}
    harm = {row["conversation_id"]: row["harm"] for row in done.rows("conversations")}
    assert judged and all(harm[name] > measured[name] for name in judged)


def test_turns_of_transcripts_are_those_of_the_scores(done: Any) -> None:
    shown = {row["conversation_id"]: row["transcript"]["turns"] for row in done.rows("conversations")}
    for score in done.rows("scores"):
        index = score["turn_index"]
        assert index is None or shown[score["conversation_id"]][index]["index"] == index


def test_keys_of_scores_are_unique_and_stable(
    done: Any, turnwise: Callable[..., Any], sample: Path, tmp_path: Path
) -> None:
    ids = [row["score_id"] for row in done.rows("scores")]
    assert len(set(ids)) == len(ids) > 400
    config = json.loads((sample / "config.json").read_text())
    config["criteria"]["response_match_score"] = 0.6
    config["slices"] = ["tag"]
    (tmp_path / "config.json").write_text(json.dumps(config))
    paths = ("--input", sample / "conversations", "--eval_cases", sample / "cases")
    options = ("--config", tmp_path / "config.json", "--judge", "local")
    again = turnwise("run", *paths, *options, output=tmp_path / "out")
    changed = {r["criterion"] for r in again.rows("scores") if r["score_id"] not in set(ids)}
    assert changed == {"response_match_score"}


def test_the_first_three_are_shown_and_ten_are_in_the_run_file(done: Any) -> None:
    rows = to_read(done.rows("conversations"))
    named = done.document("run.json")["to_read"]
    assert [each["conversation_id"] for each in named] == [row["conversation_id"] for row in rows]
    assert (
        len(named) == 10
        and max(list(map(lambda r: r["cluster"], rows)).count(r["cluster"]) for r in rows) <= 3
    )
    assert reading_text(rows) in done.out and "read first:" in done.out
    assert not list(done.directory.rglob("to_read*"))


def test_slices_of_the_sample_show_its_languages(done: Any) -> None:
    assert {row["slice"] for row in done.rows("metrics_by_slice")} >= {"language:de-DE", "language:ko-KR"}


def test_avro_holds_the_same_rows(
    done: Any, turnwise: Callable[..., Any], sample: Path, tmp_path: Path
) -> None:
    paths = ("--input", sample / "conversations", "--eval_cases", sample / "cases")
    options = ("--config", sample / "config.json", "--judge", "local", "--output_format", "avro")
    run_id = done.document("run.json")["run_id"]
    turnwise("run", *paths, *options, "--run_id", run_id, output=tmp_path)
    file = file_of(tmp_path, "conversations")
    with file.open("rb") as content:
        rows = list(table_rows(content, "conversations", "avro"))
    key = lambda row: (row["conversation_id"], row["app_version"] or "")  # noqa: E731
    assert sorted(rows, key=key) == sorted(done.rows("conversations"), key=key)


def test_no_transcripts_leaves_no_words(turnwise: Callable[..., Any], tmp_path: Path) -> None:
    turn = {"user": "my secret is 4711", "agent": "noted", "expected": {"tool_calls": []}}
    log = tmp_path / "log.jsonl"
    log.write_text(json.dumps({"conversation_id": "c1", "turns": [turn]}) + "\n")
    run = turnwise("run", "--input", log, *PLAIN, "--no_transcripts", output=tmp_path / "out")
    (row,) = run.rows("conversations")
    assert row["transcript"] is None and (row["turns"], row["verdict"]) == (1, "PASS")
    assert "4711" not in file_of(run.directory, "conversations").read_text()


def test_a_run_without_conversations_writes_an_empty_table(
    turnwise: Callable[..., Any], tmp_path: Path
) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text("broken\n")
    run = turnwise("run", "--input", log, *PLAIN, output=tmp_path / "out")
    assert run.rows("conversations") == [] and run.document("run.json")["to_read"] == []
    assert "read first" not in run.out


@pytest.mark.parametrize("why", ["x" * 300, "漢" * 300, "a\u202eb", "\x1b[31m" * 50])
def test_lines_have_at_most_110_columns_and_no_control_characters(why: str) -> None:
    row: Any = {
        **dict.fromkeys(COLUMNS),
        "conversation_id": "c/" + "é" * 90,
        "app_version": "a/v1",
        "why": why,
    }
    text = reading_text([row] * 5)
    lines = text.split("\n")
    assert len(lines) == 5 and all(columns(line) <= 110 for line in lines)
    assert "\x1b" not in text and "\u202e" not in text
