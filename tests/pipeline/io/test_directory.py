"""The reader of a run's output directory: what it reads, and how it refuses part of a run."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastavro
import pytest

import turnwise
from tests.tables import as_earlier_version, document_of, file_of, folder_of
from turnwise.pipeline.cli.main import main
from turnwise.pipeline.runs.directory import open_run
from turnwise.schemas.config import ConfigError
from turnwise.schemas.rows import TABLES, added_columns

Damage = Callable[[Path], object]
TURN = {"user": "Hi", "agent": "Hello", "expected": {"response": "Hello"}}
RULES = {"gate": {"rules": [{"rule": "coverage", "at_least": 0.1}]}}
ROWS = ("scores", "conversations", "results", "failures")


@pytest.fixture(scope="module", params=["jsonl", "avro"])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(request.param)
    labelled = {"app_version": "v1", "turns": [TURN, TURN], "tags": ["skipped:NO"]}
    logs = [{"conversation_id": f"c{i}", **labelled} for i in range(4)]
    path, config = folder / "logs.jsonl", folder / "config.json"
    path.write_text("\n".join(map(json.dumps, [*logs, {"conversation_id": "bad", "turns": []}])))
    config.write_text(json.dumps({"criteria": {"response_match_score": 0.5}, **RULES}))
    arguments = ["--input", str(path), "--config", str(config), "--output_format", request.param]
    assert main(["run", *arguments, "--output", str(folder / "out")]) == 0
    return folder / "out"


@pytest.fixture
def copy(run: Path, tmp_path: Path) -> Path:
    return shutil.copytree(run, tmp_path / "copy")


def refusal(directory: Path, table: str = "") -> str:
    """Returns the one line that refuses a directory, or a table of it."""
    with pytest.raises(ConfigError) as error:
        found = open_run(str(directory))
        list(getattr(found, table)() if table in ROWS else found.rows(table))
    assert str(directory) in str(error.value) and "\n" not in str(error.value)
    return str(error.value)


def rewritten(directory: Path, table: str, change: Callable[[list[str]], list[str]]) -> None:
    path = file_of(directory, table)
    path.write_text("".join(f"{line}\n" for line in change(path.read_text().splitlines())))


def test_tables_and_document_are_those_that_were_written(run):
    found = open_run(str(run))
    expected = turnwise.evaluate(
        [{"conversation_id": "c0", "app_version": "v1", "turns": [TURN, TURN]}],
        criteria={"response_match_score": 0.5},
    )
    own = [row for row in found.scores() if row["conversation_id"] == "c0"]
    assert [(r["criterion"], r["value"], r["outcome"], r["details"]) for r in own] == [
        (r["criterion"], r["value"], r["outcome"], r["details"]) for r in expected.scores
    ]
    assert [(row["conversation_id"], row["verdict"]) for row in found.results()] == [
        (f"c{i}", "PASS") for i in range(4)
    ]
    assert [row["stage"] for row in found.failures()] == ["parse"]
    assert {row["conversations"] for row in found.metrics()} == {4}
    assert {row["turn_index"] for row in found.rows("metrics_by_turn")} == {0, 1}
    assert found.document.counts["results"] == 4 and "criteria" in found.document.config
    assert list(found.rows("nothing")) == []


def test_run_json_names_every_file_with_its_rows(run):
    document, found = document_of(run, "run.json"), open_run(str(run))
    sizes = {path.name: path.stat().st_size for path in folder_of(run).iterdir()}
    files = {name: stated for own in document["files"].values() for name, stated in own.items()}
    assert document["folder"] != "." and set(document["files"]) == {*TABLES, "aggregated_metrics"}
    assert {name: stated["bytes"] for name, stated in files.items()} == sizes
    for table in TABLES:
        stated = sum(file["rows"] for file in document["files"][table].values())
        assert stated == len(list(found.rows(table)))
    assert document["create_time"] < document["end_time"]


def without(pattern: str) -> Damage:
    return lambda directory: [path.unlink() for path in directory.glob(pattern)]


def renamed(suffix: str) -> Damage:
    def damage(directory: Path) -> None:
        path = file_of(directory, "scores")
        path.rename(path.with_name(path.name.split("-0")[0] + suffix + path.suffix))

    return damage


def beside(directory: Path) -> None:
    path = file_of(directory, "scores")
    shutil.copy(path, path.with_name(f"scores-00001-of-00002{path.suffix}"))


def with_text(text: str) -> Damage:
    return lambda directory: (directory / "run.json").write_text(text)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (without("*"), "holds no run.json: no run was written into it"),
        (without("run.json"), "holds no run.json: the run has not finished"),
        (without("results-*"), "files of the run are missing: results"),
        (renamed("-00001-of-00002"), "1 of 2 files of scores are missing"),
        (renamed("-00002"), "2 of 3 files of scores are missing"),
        (beside, "scores is of two runs"),
        (with_text("{"), "run.json: Input data was truncated"),
        (with_text("{}"), "run.json: Object missing required field `run_id`"),
    ],
)
def test_what_is_no_finished_run_is_refused(copy, damage, message):
    damage(as_earlier_version(copy))
    assert message in refusal(copy)


def test_what_is_no_output_directory_is_refused(run):
    assert "is no output directory of a run" in refusal(Path("/no/such/place"))
    assert "it is a folder of a run; name the output directory" in refusal(folder_of(run))


def test_a_run_json_of_another_run_or_format_is_refused(copy):
    document = document_of(copy, "run.json")
    (copy / "run.json").write_text(json.dumps(document | {"folder": "run-20260101T000000Z-00000000"}))
    assert "files that run.json names are missing" in refusal(copy)
    (copy / "run.json").write_text(json.dumps(document | {"output_format": "mine"}))
    assert "written as mine, which is none of avro, jsonl" in refusal(copy)


def cut(table: str) -> Damage:
    """Removes the last row of a file; what is left looks whole."""

    def damage(directory: Path) -> None:
        path = file_of(directory, table)
        if path.suffix == ".avro":
            path.write_bytes(path.read_bytes()[:-16])
        else:
            rewritten(directory, table, lambda lines: lines[:-1])

    return damage


def cut_alike(directory: Path) -> None:
    """Removes the rows of one conversation from all tables of rows."""
    for table in ROWS[:3]:
        rewritten(directory, table, lambda lines: [line for line in lines if '"c3"' not in line])


@pytest.mark.parametrize("table", [*ROWS, "metrics_by_turn", "aggregated_metrics"])
def test_a_file_that_was_cut_or_is_gone_is_refused(copy, table):
    path = file_of(copy, table)
    if table != "aggregated_metrics":
        cut(table)(copy)
        assert path.name in refusal(copy)
    path.unlink()
    said = refusal(copy)
    assert "files that run.json names are missing" in said and path.name in said


COMMANDS: dict[str, Callable[[str, str], list[str]]] = {
    "compare": lambda run, copy: ["compare", run, copy],
    "report": lambda run, copy: ["report", copy],
    "gate": lambda run, copy: ["gate", copy],
    "baseline": lambda run, copy: ["gate", run, "--baseline", copy],
    "calibrate": lambda run, copy: ["calibrate", copy, "--labels", f"{copy}/labels.jsonl"],
    "cases": lambda run, copy: ["cases", "--from", copy, "--select", "sample", "--to", f"{copy}/made.json"],
    "convert": lambda run, copy: [
        "convert",
        copy,
        f"{copy}/made.evalset_result.json",
        "--to",
        "adk_eval_result",
    ],
}


def without_columns(table: str, *names: str) -> Damage:
    def damage(directory: Path) -> None:
        path = file_of(directory, table)
        if path.suffix == ".jsonl":
            rows = map(json.loads, path.read_text().splitlines())
            kept = [{key: value for key, value in row.items() if key not in names} for row in rows]
            path.write_text("".join(json.dumps(row) + "\n" for row in kept))
            return
        with path.open("rb") as file:
            reader = fastavro.reader(file)
            schema: Any = reader.writer_schema
            found = list(reader)
        fields = [field for field in schema["fields"] if field["name"] not in names]
        with path.open("wb") as file:
            fastavro.writer(file, {**schema, "fields": fields}, found)

    return damage


@pytest.mark.parametrize("run", ["jsonl"], indirect=True)
@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_refuses_part_of_a_run(run, copy, tmp_path, capsys, name):
    """A gate over a directory of which all tables were cut alike must not pass."""
    label = {"conversation_id": "c0", "criterion": "verdict", "label": "PASS"}
    for number, damage in enumerate((cut_alike, cut("failures"), cut("metrics_by_turn"))):
        damaged = shutil.copytree(copy, tmp_path / str(number))
        damage(damaged)
        (damaged / "labels.jsonl").write_text(json.dumps(label) + "\n")
        capsys.readouterr()
        assert main(COMMANDS[name](str(run), str(damaged))) == 2
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1) and "copy the directory again" in err and str(damaged) in err


@pytest.mark.parametrize(
    ("table", "columns"),
    [
        ("conversations", ["task"]),
        ("scores", ["details", "score_id"]),
        ("failures", ["turn_index"]),
        ("metrics_by_app_version", ["repeats"]),
    ],
)
def test_a_run_of_another_version_is_refused(copy, table, columns):
    without_columns(table, *columns)(as_earlier_version(copy))
    said = refusal(copy, table)
    assert f"has no column {', '.join(columns)}: the run was written by another version" in said
    assert "score its logs again" in said


def test_a_score_column_that_was_added_is_read_as_its_default(copy):
    added = added_columns("scores")
    without_columns("scores", *added)(as_earlier_version(copy))
    rows = [*open_run(str(copy)).scores()]
    assert "span" in added and rows and all(added.items() <= row.items() for row in rows)


@pytest.mark.parametrize("run", ["jsonl"], indirect=True)
@pytest.mark.parametrize(("table", "line", "place"), [("scores", "null", 0), ("conversations", "[]", -1)])
def test_a_row_that_is_no_object_or_lacks_a_column_is_refused(copy, table, line, place):
    path = file_of(as_earlier_version(copy), table)
    lines = path.read_text().splitlines()
    row = json.loads(lines[place])
    del row["conversation_id"]
    for text, said in ((line, f"{path}: cannot be read: "), (json.dumps(row), "no column conversation_id")):
        lines[place] = text
        rewritten(copy, table, lambda _: lines)
        assert said in refusal(copy, table)


@pytest.mark.parametrize("run", ["jsonl"], indirect=True)
@pytest.mark.parametrize("level", ["turn", "conversation"])
def test_scores_of_each_level_are_held_against_the_metrics(copy, level):
    """A criterion of whole conversations has no score of a turn whose absence would show."""
    rows = [json.loads(line) for line in file_of(as_earlier_version(copy), "scores").open()]
    gone = next(row for row in rows if (row["turn_index"] is None) == (level == "conversation"))
    rewritten(copy, "scores", lambda _: [json.dumps(row) for row in rows if row != gone])
    assert f"scores of {level}s, and its metrics count" in refusal(copy, "scores")


@pytest.mark.parametrize("run", ["avro"], indirect=True)
@pytest.mark.parametrize("share", [0.1, 0.5, 0.999])
@pytest.mark.parametrize("table", ["scores", "results", "metrics_by_turn"])
def test_an_avro_file_that_is_cut_is_refused(copy, table, share):
    path = file_of(as_earlier_version(copy), table)
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    refusal(copy, table)


@pytest.mark.parametrize("run", ["jsonl"], indirect=True)
@pytest.mark.parametrize("table", ROWS)
def test_rows_that_the_run_counts_are_not_missing(copy, table):
    """Files of an earlier version cut at a line end look whole."""
    rewritten(as_earlier_version(copy), table, lambda lines: lines[: 3 if table == "scores" else 0])
    said = refusal(copy, table)
    assert f"files of {table} hold " in said and " count" in said


@pytest.mark.parametrize("run", ["jsonl"], indirect=True)
def test_rows_that_were_edited_can_be_read(copy):
    """Such as words that were removed from transcripts."""
    rewritten(copy, "conversations", lambda lines: [line.replace("Hello", "[removed]") for line in lines])
    assert len(list(open_run(str(copy)).conversations())) == 4


def test_a_run_of_an_earlier_version_is_read_as_before(run, copy):
    then, now = open_run(str(as_earlier_version(copy))), open_run(str(run))
    assert then.document.folder == "." and then.document.files is None
    assert all(list(then.rows(table)) == list(now.rows(table)) for table in TABLES)
