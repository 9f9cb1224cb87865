"""The reader of a run's output directory: what it reads, and how it refuses part of a run.

A line of `damage.jsonl` does something to (`only` one kind of) a directory, perhaps in the layout of an
`earlier` version, by methods of `Damage`; then the directory, or a `table`, is refused in one line with these
texts ($FILE is the file of the table), or there are so many `rows`.
"""

import json
import shutil
from pathlib import Path

import fastavro
import pytest

import turnwise
from tests.tables import as_earlier_version, document_of, file_of, folder_of, lines_beside
from turnwise.pipeline.cli.main import main
from turnwise.pipeline.runs.directory import open_run
from turnwise.schemas.config import ConfigError
from turnwise.schemas.rows import TABLES, added_columns

TURN = {"user": "Hi", "agent": "Hello", "expected": {"response": "Hello"}}
RULES = {"gate": {"rules": [{"rule": "coverage", "at_least": 0.1}]}}


@pytest.fixture(scope="module", params=["jsonl", "avro"])
def run(request, tmp_path_factory):
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
def copy(run, tmp_path):
    return shutil.copytree(run, tmp_path / "copy")


class Damage:
    """What is done to a directory."""

    def __init__(self, directory):
        self.directory = directory

    def without(self, pattern):
        for path in self.directory.glob(pattern):
            path.unlink()

    def gone(self, table):
        file_of(self.directory, table).unlink()

    def renamed(self, suffix):
        path = file_of(self.directory, "scores")
        path.rename(path.with_name(path.name.split("-0")[0] + suffix + path.suffix))

    def beside(self):
        path = file_of(self.directory, "scores")
        shutil.copy(path, path.with_name(f"scores-00001-of-00002{path.suffix}"))

    def text(self, name, text):
        (self.directory / name).write_text(text)

    def document(self, fields):
        self.text("run.json", json.dumps(document_of(self.directory, "run.json") | fields))

    def rewrite(self, table, change):
        path = file_of(self.directory, table)
        path.write_text("".join(f"{line}\n" for line in change(path.read_text().splitlines())))

    def first(self, table, number):
        self.rewrite(table, lambda lines: lines[:number])

    def words(self, table, old, new):
        self.rewrite(table, lambda lines: [line.replace(old, new) for line in lines])

    def row(self, table, place, text):
        """Puts a text in the place of a row, or takes its id away."""

        def change(lines):
            row = json.loads(lines[place])
            del row["conversation_id"]
            lines[place] = text or json.dumps(row)
            return lines

        self.rewrite(table, change)

    def lost(self, level):
        """Removes the first score of a level."""

        def change(lines):
            is_whole = [json.loads(line)["turn_index"] is None for line in lines]
            del lines[is_whole.index(level == "conversation")]
            return lines

        self.rewrite("scores", change)

    def share(self, table, share):
        path = file_of(self.directory, table)
        path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])

    def cut(self, table):
        """Removes the last row; what is left looks whole."""
        path = file_of(self.directory, table)
        if path.suffix == ".jsonl":
            return self.rewrite(table, lambda lines: lines[:-1])
        path.write_bytes(path.read_bytes()[:-16])

    def cut_within(self, table):
        """Removes the end of the last row."""
        path = file_of(self.directory, table)
        path.write_bytes(path.read_bytes()[:-9])

    def cut_alike(self):
        """Removes the rows of one conversation from all tables of rows."""
        for table in ("scores", "conversations", "results"):
            self.rewrite(table, lambda lines: [line for line in lines if '"c3"' not in line])

    def columns(self, table, names):
        path = file_of(self.directory, table)
        if path.suffix == ".jsonl":
            rows = map(json.loads, path.read_text().splitlines())
            kept = [{key: value for key, value in row.items() if key not in names} for row in rows]
            path.write_text("".join(json.dumps(row) + "\n" for row in kept))
            return
        with path.open("rb") as file:
            reader = fastavro.reader(file)
            schema, rows = reader.writer_schema, list(reader)
        fields = [field for field in schema["fields"] if field["name"] not in names]
        with path.open("wb") as file:
            fastavro.writer(file, {**schema, "fields": fields}, rows)


LINES = lines_beside(__file__, "damage.jsonl")
KINDS = [
    (name, kind)
    for name, line in LINES.items()
    for kind in ("jsonl", "avro")
    if line.get("only", kind) == kind
]
ROWS = ("scores", "conversations", "results", "failures")


def table_of(directory, table):
    found = open_run(str(directory))
    return list(getattr(found, table)() if table in ROWS else found.rows(table))


@pytest.mark.parametrize(("name", "run"), KINDS, indirect=["run"])
def test_what_was_damaged_is_refused(name, copy):
    line, table = LINES[name], LINES[name].get("table", "")
    if line.get("earlier"):
        as_earlier_version(copy)
    path = str(file_of(copy, table)) if table else ""
    for work, *arguments in line["damage"]:
        getattr(Damage(copy), work)(*arguments)
    for kept, number in line.get("rows", {}).items():
        assert len(table_of(copy, kept)) == number
    if "refused" in line:
        with pytest.raises(ConfigError) as error:
            table_of(copy, table)
        assert str(copy) in str(error.value) and "\n" not in str(error.value)
        for text in line["refused"]:
            assert text.replace("$FILE", path if ":" in text else Path(path).name) in str(error.value)


def test_a_score_column_that_was_added_is_read_as_its_default(copy):
    added = added_columns("scores")
    Damage(as_earlier_version(copy)).columns("scores", added)
    rows = table_of(copy, "scores")
    assert "span" in added and rows and all(added.items() <= row.items() for row in rows)


COMMANDS = {
    "compare": "compare RUN COPY",
    "report": "report COPY",
    "gate": "gate COPY",
    "baseline": "gate RUN --baseline COPY",
    "calibrate": "calibrate COPY --labels COPY/labels.jsonl",
    "cases": "cases --from COPY --select sample --to COPY/made.json",
    "convert": "convert COPY COPY/made.evalset_result.json --to adk_eval_result",
}


@pytest.mark.parametrize("run", ["jsonl"], indirect=True)
@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_refuses_part_of_a_run(run, copy, tmp_path, turnwise, name):
    """A gate over a directory of which all tables were cut alike must not pass."""
    label = {"conversation_id": "c0", "criterion": "verdict", "label": "PASS"}
    damages = ["cut_alike"], ["cut", "failures"], ["cut", "metrics_by_turn"], ["cut_within", "scores"]
    for number, (work, *table) in enumerate(damages):
        damaged = shutil.copytree(copy, tmp_path / str(number))
        getattr(Damage(damaged), work)(*table)
        (damaged / "labels.jsonl").write_text(json.dumps(label) + "\n")
        done = turnwise(*COMMANDS[name].replace("RUN", str(run)).replace("COPY", str(damaged)).split())
        assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
        assert "copy the directory again" in done.err and str(damaged) in done.err


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


def test_what_is_no_output_directory_is_refused(run):
    with pytest.raises(ConfigError, match="is no output directory of a run"):
        open_run("/no/such/place")
    with pytest.raises(ConfigError, match="it is a folder of a run; name the output directory"):
        open_run(str(folder_of(run)))


def test_a_run_of_an_earlier_version_is_read_as_before(run, copy):
    then, now = open_run(str(as_earlier_version(copy))), open_run(str(run))
    assert then.document.folder == "." and then.document.files is None
    assert all(list(then.rows(table)) == list(now.rows(table)) for table in TABLES)
