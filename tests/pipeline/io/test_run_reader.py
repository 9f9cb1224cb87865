"""The reader of a run's output directory."""

import json
import shutil

import pytest

import turnwise
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
    directory = tmp_path / "out"
    shutil.copytree(run, directory)
    damage(directory)
    with pytest.raises(ConfigError) as error:
        open_run(str(directory))
    assert message in str(error.value) and str(directory) in str(error.value)
    assert "\n" not in str(error.value)


def test_a_broken_file_is_an_error_in_one_line(run, tmp_path):
    directory = tmp_path / "out"
    shutil.copytree(run, directory)
    path = next(directory.glob("scores-*"))
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


@pytest.mark.parametrize("table", ["scores", "conversations", "results", "failures"])
def test_rows_that_the_run_counts_are_not_missing(tmp_path, run, table):
    """Files cut at a line end look whole."""
    if not list(run.glob("*.jsonl")):
        pytest.skip("rows of Avro are not lines")
    directory = shutil.copytree(run, tmp_path / "cut")
    (path,) = directory.glob(f"{table}-*")
    path.write_text("".join(path.read_text().splitlines(keepends=True)[: 3 if table == "scores" else 0]))
    with pytest.raises(ConfigError, match=f"files of {table} hold .* count"):
        list(getattr(open_run(str(directory)), table)())
