"""The reader of a run's output directory."""

import json
import shutil

import fastavro
import pytest

import turnwise
from tests.tables import as_earlier_version, file_of
from turnwise.pipeline.cli.main import main
from turnwise.pipeline.io.run_reader import open_run
from turnwise.schemas.config import ConfigError

TURN = {"user": "Hi", "agent": "Hello", "expected": {"response": "Hello"}}


@pytest.fixture(scope="module", params=["jsonl", "avro"])
def run(request, tmp_path_factory):
    directory = tmp_path_factory.mktemp(request.param)
    logs = [{"conversation_id": f"c{i}", "app_version": "v1", "turns": [TURN]} for i in range(3)]
    path = directory / "logs.jsonl"
    path.write_text("\n".join(map(json.dumps, [*logs, {"conversation_id": "bad", "turns": []}])))
    output = directory / "out"
    assert main(["run", "--input", str(path), "--output", str(output), "--output_format", request.param]) == 0
    return output


def test_tables_and_document_are_those_that_were_written(run):
    found = open_run(str(run))
    expected = turnwise.evaluate([{"conversation_id": "c0", "app_version": "v1", "turns": [TURN]}])
    own = [row for row in found.scores() if row["conversation_id"] == "c0"]
    assert [(r["criterion"], r["value"], r["outcome"], r["details"]) for r in own] == [
        (r["criterion"], r["value"], r["outcome"], r["details"]) for r in expected.scores
    ]
    assert [row["evaluation_status"] for row in found.results()] == ["PASS"] * 3
    assert {row["conversation_id"] for row in found.results()} == {"c0", "c1", "c2"}
    assert [row["stage"] for row in found.failures()] == ["parse"]
    assert {row["conversations"] for row in found.metrics_by_app_version()} == {3}
    assert {row["turn_index"] for row in found.metrics_by_turn()} == {0}
    assert list(found.metrics_by_slice()) == []
    assert found.document.counts["results"] == 3 and "criteria" in found.document.config
    assert found.has("scores") and not found.has("nothing") and list(found.rows("nothing")) == []


def _without(pattern):
    def damage(directory):
        for path in directory.glob(pattern):
            path.unlink()

    return damage


def _renamed(pattern, suffix):
    def damage(directory):
        for path in directory.glob(pattern):
            path.rename(path.with_name(path.name.split("-0")[0] + suffix + path.suffix))

    return damage


def _write(name, text):
    return lambda directory: (directory / name).write_text(text)


@pytest.mark.parametrize(
    "damage, message",
    [
        (_without("*"), "holds no run.json: no run was written into it"),
        (_without("run.json"), "holds no run.json: the run has not finished"),
        (_without("results-*"), "files of the run are missing: results"),
        (_without("metrics_by_turn*"), "files of the run are missing: metrics_by_turn"),
        (_renamed("scores-*", "-00001-of-00002"), "1 of 2 files of scores are missing"),
        (_renamed("scores-*", "-00002"), "2 of 3 files of scores are missing"),
        (_write("run.json", "{"), "run.json: Input data was truncated"),
        (_write("run.json", "{}"), "run.json: Object missing required field `run_id`"),
    ],
)
def test_what_is_no_finished_run_is_an_error_in_one_line(run, tmp_path, damage, message):
    directory = as_earlier_version(shutil.copytree(run, tmp_path / "out"))
    damage(directory)
    with pytest.raises(ConfigError) as error:
        open_run(str(directory))
    assert message in str(error.value) and str(directory) in str(error.value)
    assert "\n" not in str(error.value)


def test_a_broken_file_is_an_error_in_one_line(run, tmp_path):
    directory = tmp_path / "out"
    shutil.copytree(run, directory)
    path = file_of(directory, "scores")
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(ConfigError, match=f"{path.name}: cannot be read: ") as error:
        list(open_run(str(directory)).scores())
    assert "\n" not in str(error.value)


def test_a_format_that_no_plugin_adds_is_named(run, tmp_path):
    directory = tmp_path / "out"
    shutil.copytree(run, directory)
    document = json.loads((directory / "run.json").read_text()) | {"output_format": "mine"}
    (directory / "run.json").write_text(json.dumps(document))
    with pytest.raises(ConfigError, match="written as mine, which is none of avro, jsonl"):
        open_run(str(directory))


@pytest.mark.parametrize("path", ["/no/such/place", __file__])
def test_what_is_no_directory_is_an_error(path):
    with pytest.raises(ConfigError, match="is no output directory of a run"):
        open_run(path)


def _without_columns(table, *names):
    """Removes columns from the rows of a table, in JSON Lines or Avro."""

    def damage(directory):
        path = file_of(directory, table)
        if path.suffix == ".jsonl":
            rows = [json.loads(line) for line in path.read_text().splitlines()]
            kept = [{key: value for key, value in row.items() if key not in names} for row in rows]
            path.write_text("".join(json.dumps(row) + "\n" for row in kept))
            return
        with path.open("rb") as file:
            reader = fastavro.reader(file)
            schema, rows = reader.writer_schema, list(reader)
        fields = [field for field in schema["fields"] if field["name"] not in names]
        with path.open("wb") as file:
            fastavro.writer(file, {**schema, "fields": fields}, rows)

    return damage


@pytest.mark.parametrize(
    "table, columns",
    [
        ("conversations", ["task"]),
        ("conversations", ["transcript"]),
        ("scores", ["details", "score_id"]),
        ("failures", ["turn_index"]),
        ("metrics_by_app_version", ["repeats"]),
    ],
)
def test_a_run_of_another_version_is_an_error_in_one_line(run, tmp_path, table, columns):
    directory = tmp_path / "out"
    shutil.copytree(run, directory)
    _without_columns(table, *columns)(directory)
    with pytest.raises(ConfigError) as error:
        list(open_run(str(directory)).rows(table))
    message = str(error.value)
    assert f"has no column {', '.join(columns)}: the run was written by another version" in message
    assert "score its logs again" in message and "\n" not in message


@pytest.mark.parametrize("run", ["jsonl"], indirect=True)
@pytest.mark.parametrize("place", [0, -1])
@pytest.mark.parametrize("line", ["null", "12", "[]", '"text"'])
@pytest.mark.parametrize("table", ["scores", "results", "metrics_by_app_version", "conversations"])
def test_a_row_that_is_no_object_is_an_error_in_one_line(run, tmp_path, table, line, place):
    directory = tmp_path / "out"
    shutil.copytree(run, directory)
    path = file_of(directory, table)
    lines = path.read_text().splitlines()
    lines[place] = line
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(ConfigError) as error:
        list(open_run(str(directory)).rows(table))
    assert str(error.value).startswith(f"{path}: cannot be read: ") and "\n" not in str(error.value)


@pytest.mark.parametrize("run", ["jsonl"], indirect=True)
def test_a_later_row_without_a_column_is_an_error(run, tmp_path):
    directory = tmp_path / "out"
    shutil.copytree(run, directory)
    path = file_of(directory, "scores")
    *lines, last = path.read_text().splitlines()
    row = json.loads(last)
    del row["score_id"]
    path.write_text("\n".join([*lines, json.dumps(row)]) + "\n")
    with pytest.raises(ConfigError, match="has no column score_id"):
        list(open_run(str(directory)).rows("scores"))


COMMANDS = {
    "compare": lambda old, new: ["compare", old, new],
    "report": lambda old, new: ["report", old],
    "report of two": lambda old, new: ["report", new, old],
    "gate": lambda old, new: ["gate", old, "--config", f"{old}/gate.json"],
    "baseline": lambda old, new: ["gate", new, "--config", f"{old}/gate.json", "--baseline", old],
    "calibrate": lambda old, new: ["calibrate", old, "--labels", f"{old}/labels.jsonl"],
}


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("table, column", [("conversations", "task"), ("scores", "score_id")])
def test_each_command_refuses_a_run_of_another_version(run, tmp_path, capsys, name, table, column):
    old, new = tmp_path / "old", tmp_path / "new"
    for directory in (old, new):
        shutil.copytree(run, directory)
    _without_columns(table, column)(old)
    document = json.loads((new / "run.json").read_text()) | {"run_id": "other"}
    (new / "run.json").write_text(json.dumps(document))
    label = {"conversation_id": "c0", "criterion": "evaluation_status", "label": "PASS"}
    scored = {"conversation_id": "c0", "criterion": "response_match_score", "label": "PASS"}
    (old / "labels.jsonl").write_text(json.dumps(label) + "\n" + json.dumps(scored) + "\n")
    (old / "gate.json").write_text('{"gate": {"rules": [{"rule": "coverage", "at_least": 0.1}]}}')
    capsys.readouterr()
    assert main(COMMANDS[name](str(old), str(new))) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"has no column {column}: the run was written by another version" in line and str(old) in line


@pytest.mark.parametrize("name", COMMANDS)
def test_a_run_without_the_table_of_conversations(run, tmp_path, capsys, name):
    """Only the gate needs it."""
    old, new = tmp_path / "old", tmp_path / "new"
    for directory in (old, new):
        as_earlier_version(shutil.copytree(run, directory))
    _without("conversations-*")(old)
    document = json.loads((new / "run.json").read_text()) | {"run_id": "other"}
    (new / "run.json").write_text(json.dumps(document))
    scored = {"conversation_id": "c0", "criterion": "evaluation_status", "label": "PASS"}
    (old / "labels.jsonl").write_text(json.dumps(scored) + "\n")
    (old / "gate.json").write_text('{"gate": {"rules": [{"rule": "coverage", "at_least": 0.1}]}}')
    capsys.readouterr()
    status = main(COMMANDS[name](str(old), str(new)))
    assert status == (2 if name == "gate" else 0)
    assert len(capsys.readouterr().err.splitlines()) == (1 if status else 0)


@pytest.mark.parametrize("level", ["turn", "conversation"])
def test_scores_of_each_level_are_held_against_the_metrics(tmp_path, run, level):
    """A criterion of whole conversations has no score of a turn whose absence would show."""
    if not list(run.rglob("*.jsonl")):
        pytest.skip("rows of Avro are not lines")
    directory = as_earlier_version(shutil.copytree(run, tmp_path / "cut"))
    path = file_of(directory, "scores")
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    gone = next(row for row in rows if (row["turn_index"] is None) == (level == "conversation"))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows if row != gone))
    with pytest.raises(ConfigError, match=f"scores of {level}s, and its metrics count"):
        list(open_run(str(directory)).scores())


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("table", ["scores", "conversations", "results", "failures", "metrics_by_turn"])
def test_an_avro_file_cut_in_the_middle_is_an_error_in_one_line(tmp_path, run, table, share):
    if not list(run.rglob("*.avro")):
        pytest.skip("of Avro")
    directory = shutil.copytree(run, tmp_path / "cut")
    path = file_of(directory, table)
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(ConfigError) as error:
        list(open_run(str(directory)).rows(table))
    assert str(path) in str(error.value) or "count" in str(error.value)
    assert len(str(error.value).splitlines()) == 1


@pytest.mark.parametrize("table", ["scores", "conversations", "results", "failures"])
def test_rows_that_the_run_counts_are_not_missing(tmp_path, run, table):
    """Files cut at a line end look whole."""
    if not list(run.rglob("*.jsonl")):
        pytest.skip("rows of Avro are not lines")
    directory = as_earlier_version(shutil.copytree(run, tmp_path / "cut"))
    path = file_of(directory, table)
    path.write_text("".join(path.read_text().splitlines(keepends=True)[: 3 if table == "scores" else 0]))
    with pytest.raises(ConfigError, match=f"files of {table} hold .* count"):
        list(getattr(open_run(str(directory)), table)())
