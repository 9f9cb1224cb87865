import io
import json
import threading
from pathlib import Path
from typing import Any, NamedTuple

import apache_beam as beam
import duckdb
import pytest
from apache_beam.testing.test_pipeline import TestPipeline
from apache_beam.testing.util import assert_that
from pyarrow.parquet import read_table

from tests.object_store import FAULTS, OBJECTS, clear
from tests.pipeline.io.warehouse.conftest import conversation, place, staged
from turnwise.pipeline.io.sinks import complete_service, discarding, open_service, prepare_service
from turnwise.pipeline.io.staging import complete_dataset
from turnwise.schemas.config import ConfigError
from turnwise.schemas.rows import WAREHOUSE_TABLES, columns

EMPTY = {column.name: None for column in columns("scores")}
ODD = "projects/p/versions/a=b%20*?[x] 'é\n"


def read(lake, table, select):
    types = "hive_types = {'date': DATE, 'app_version': VARCHAR}"
    source = f"read_parquet('{lake}/{table}/*/*/*.parquet', {types})"
    return duckdb.sql(f"SELECT {select} FROM {source} ORDER BY ALL").fetchall()


def files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


class Twice(NamedTuple):
    """A run, and the same run over other records.

    Attributes:
        lake: The dataset after both.
        written: Rows of the first run's output by table.
        rows: The same rows as DuckDB read them then.
        days: The days of those.
        second: The second run.
    """

    lake: Path
    written: dict[str, list[dict[str, Any]]]
    rows: dict[str, list[dict[str, Any]]]
    days: set[str]
    second: Any


def all_rows(lake, table):
    names = [column.name for column in columns(table)]
    found = read(lake, table, ", ".join(f'"{name}"' for name in names))
    rows = [dict(zip(names, row, strict=True)) for row in found]
    for row in rows:
        for column in columns(table):
            if column.is_json and row[column.name] is not None:
                row[column.name] = json.loads(row[column.name])
    return rows


@pytest.fixture(scope="module")
def twice(score, tmp_path_factory):
    folder = tmp_path_factory.mktemp("twice")
    lake = folder / "lake"
    calls = [{"user": "Hi", "agent": "Hello", "tool_calls": [{"name": "f", "args": {"a": 1}}]}] * 3
    first = score(
        folder,
        f"parquet:{lake}",
        conversation("c1", "007", tags=["skipped:NONE"]),
        conversation("c2", ODD, "Bye", tags=["a", "b"]),
        conversation("c3", None),
        conversation("c4", "007", turns=calls),
        {"turns": "none"},
    )
    rows = {table: all_rows(lake, table) for table in WAREHOUSE_TABLES}
    days = {str(day) for table in WAREHOUSE_TABLES for (day,) in read(lake, table, "DISTINCT date")}
    written = {table: first.rows(table) for table in WAREHOUSE_TABLES}
    return Twice(lake, written, rows, days, score(folder, f"parquet:{lake}", conversation("c9", "008")))


def test_rows_are_those_of_the_output(twice):
    [day] = twice.days
    for table in WAREHOUSE_TABLES:
        found, wanted = (sorted(map(json.dumps, rows[table])) for rows in (twice.rows, twice.written))
        assert found and found == wanted
        assert {path.name for path in (twice.lake / table).iterdir()} == {f"date={day}"}
    versions = {row["app_version"] for row in twice.rows["conversations"]}
    assert versions == {"007", ODD, None}
    assert [row["stage"] for row in twice.rows["failures"]] == ["parse"]
    assert {tuple(row["tags"]) for row in twice.rows["conversations"]} >= {("a", "b"), ()}
    transcripts = {row["conversation_id"]: row["transcript"] for row in twice.rows["conversations"]}
    assert transcripts["c4"]["turns"][0]["tool_calls"][0]["args"] == {"a": 1}


def test_a_run_replaces_its_rows_by_its_id(twice):
    for table in WAREHOUSE_TABLES:
        wanted = sorted(twice.second.rows(table), key=json.dumps)
        if wanted:
            assert sorted(all_rows(twice.lake, table), key=json.dumps) == wanted
        else:
            assert files(twice.lake / table) == []
    assert {path.split("/")[0] for path in files(twice.lake)} < set(WAREHOUSE_TABLES)
    assert [path for path in twice.lake.iterdir() if path.name.startswith("_")] == []
    assert all(path.rpartition("/")[2] == "night.00000.parquet" for path in files(twice.lake))


def scores(lake):
    return read(lake, "scores", "run_id, conversation_id, date::VARCHAR, app_version")


def test_only_files_of_the_same_run_are_replaced_on_whatever_day(tmp_path):
    lake, stage = tmp_path / "lake", tmp_path / "stage"

    def complete(run_id, name, day="2026-11-21"):
        rows = [staged(stage, "scores", {"run_id": run_id, "conversation_id": name})]
        assert complete_dataset(place(f"parquet:{lake}", tmp_path, run_id, day), rows) == []

    for run_id in ("n", "n.1", "n-1", "n*"):
        complete(run_id, "old")
    complete("n", "new", "2026-11-22")
    complete("n*", "new")
    assert scores(lake) == [
        ("n", "new", "2026-11-22", "v1"),
        ("n*", "new", "2026-11-21", "v1"),
        ("n-1", "old", "2026-11-21", "v1"),
        ("n.1", "old", "2026-11-21", "v1"),
    ]


def test_an_end_that_is_repeated_keeps_what_has_arrived(tmp_path):
    lake, there = tmp_path / "lake", place(f"parquet:{tmp_path / 'lake'}", tmp_path)
    complete_dataset(
        there, [staged(tmp_path / "s", "scores", {"run_id": "night", "conversation_id": "old"})] * 1
    )
    rows = [
        staged(tmp_path / "s", "scores", {"run_id": "night", "conversation_id": name})
        for name in ("a", "b", "c")
    ]
    # The worker died after the first rename.
    first = min(rows, key=lambda part: part.path)
    target = lake / "scores/date=2026-11-21/app_version=v1/night.00000.parquet"
    Path(first.path).rename(target)
    assert complete_dataset(there, rows) == []
    assert complete_dataset(there, rows) == []
    assert [name for _, name, *_ in scores(lake)] == ["a", "b", "c"]


def test_rows_that_do_not_arrive_are_a_problem_of_the_run(tmp_path):
    there = place(f"parquet:{tmp_path / 'lake'}", tmp_path)
    part = staged(tmp_path / "s", "scores", {"run_id": "night", "conversation_id": "a"})
    Path(part.path).unlink()
    [problem] = complete_service(there, [part])
    assert problem.startswith(f"--store parquet:{tmp_path}/lake: not all of 1 rows were written: ")
    assert "\n" not in problem


def test_a_row_that_arrow_cannot_hold_is_named_and_the_others_are_written(tmp_path):
    there = place(f"parquet:{tmp_path / 'lake'}", tmp_path)
    rows: list[dict[str, Any]] = [
        {"run_id": "night", "conversation_id": f"c{i}", "app_version": "v1"} for i in range(7)
    ]
    for row in rows[1:6]:
        row["turn_index"] = 1 << 70
    prepare_service(there)
    with discarding(there), TestPipeline() as pipeline:
        given = pipeline | beam.Create([[EMPTY | row for row in rows]])
        written = open_service(there).write_table(given, "scores")
        assert written is not None
        assert_that(written | beam.combiners.ToList(), lambda lists: _complete(there, lists[0]))
    assert [name for _, name, *_ in scores(tmp_path / "lake")] == ["c0", "c6"]


def _complete(there, parts):
    [problem] = complete_service(there, parts)
    assert "5 rows of scores were not written: conversation_id c1, turn_index 11805" in problem
    assert problem.endswith("; and 2 more")


@pytest.fixture
def bucket():
    clear()
    yield OBJECTS
    clear()


GATHERED: list[Any] = []


def _gather(part):
    GATHERED.append(part)


def run_into(there, *names):
    """Runs a pipeline that writes scores, and completes it; returns what was not written."""
    rows = [{"run_id": there.run_id, "conversation_id": name, "app_version": "v/1"} for name in names]
    GATHERED.clear()
    with discarding(there):
        with TestPipeline() as pipeline:
            given = pipeline | beam.Create([[EMPTY | row] for row in rows])
            written = open_service(there).write_table(given, "scores")
            assert written is not None
            _ = written | beam.Map(_gather)
        assert sum(part.rows for part in GATHERED) == len(rows)
        return complete_service(there, GATHERED)


def test_a_bucket_holds_the_same_objects(bucket, tmp_path):
    there = place("parquet:objects://b/lake", tmp_path)
    prepare_service(place("parquet:objects://b/lake", tmp_path, start="0"))
    for names in (("a", "b"), ("c",)):
        assert run_into(there, *names) == []
        folder = "objects://b/lake/scores/date=2026-11-21/app_version=v%2F1"
        assert {path.rpartition("/")[0] for path in bucket} == {folder}
        tables = [read_table(io.BytesIO(content)) for content, _ in bucket.values()]
        assert sorted(name.as_py() for each in tables for name in each["conversation_id"]) == list(names)


def test_a_bucket_that_refuses_is_told_before_or_after_the_run(bucket, tmp_path):
    FAULTS.fails = lambda operation, path, number: operation == "create" and "_staging" in path
    with pytest.raises(ConfigError, match=r"^--store parquet:objects://b/lake: cannot be written: "):
        prepare_service(place("parquet:objects://b/lake", tmp_path))
    FAULTS.fails = lambda operation, path, number: operation == "copy" and "/scores/" in path
    [problem] = run_into(place("parquet:objects://b/lake", tmp_path), "a", "b")
    assert problem.startswith("--store parquet:objects://b/lake: not all of 2 rows were written: ")
    assert bucket == {}


@pytest.mark.parametrize(
    ("error", "goes_on", "left"),
    [(KeyboardInterrupt, True, 1), (KeyboardInterrupt, False, 0), (OSError, True, 0)],
)
def test_the_rows_of_a_failed_attempt_are_discarded_unless_it_goes_on_elsewhere(
    tmp_path, error, goes_on, left
):
    there = place(f"parquet:{tmp_path}", tmp_path)
    with pytest.raises(error), discarding(there, goes_on):
        prepare_service(there)
        [folder] = tmp_path.iterdir()
        staged(folder, "scores", {"run_id": "night"})
        raise error
    assert len(list(tmp_path.iterdir())) == left


def test_what_a_killed_attempt_left_goes_with_the_next_one(tmp_path):
    lake = tmp_path / "lake"
    other = place(f"parquet:{lake}", tmp_path, "night-2")
    prepare_service(other)
    attempts = [place(f"parquet:{lake}", tmp_path, start=start) for start in "12"]
    prepare_service(place(f"parquet:{lake}", tmp_path, start="0"))
    with discarding(attempts[1]):
        for attempt in attempts:
            prepare_service(attempt)
            [folder] = lake.glob(f"_staging.night.*{attempt.create_time[-2]}Z")
            staged(folder, "scores", {"run_id": "night"})
        complete_dataset(attempts[1], [])
    assert [path.name for path in lake.iterdir()] == ["_staging.night-2.20261122T010000001Z"]


def test_of_two_runs_of_one_id_at_a_time_the_rows_of_the_first_to_end_stay(tmp_path):
    lake = tmp_path / "lake"
    late, early = (place(f"parquet:{lake}", tmp_path, start=start) for start in "12")
    parts = {}
    for one in (late, early):
        prepare_service(one)
        [folder] = lake.glob(f"_staging.night.*{one.create_time[-2]}Z")
        versions = ("v1", "v2") if one is early else ("v1",)
        row = {"run_id": "night", "criterion": one.create_time}
        parts[one] = [staged(folder, "scores", row, version=version) for version in versions]
    complete_dataset(early, parts[early])
    said = "is gone: another run with the same id has ended, whose rows are current"
    with pytest.raises(OSError, match=said):
        complete_dataset(late, parts[late])
    assert read(lake, "scores", "app_version, criterion") == [(v, early.create_time) for v in ("v1", "v2")]
    with pytest.raises(Exception, match=said), TestPipeline() as pipeline:
        rows = pipeline | beam.Create([[EMPTY | {"app_version": "v1"}]])
        open_service(late).write_table(rows, "scores")


def test_a_file_that_is_alone_is_replaced_while_it_is_read(tmp_path):
    lake, stage = tmp_path / "lake", tmp_path / "stage"
    seen, ended = set(), threading.Event()

    def replace():
        for i in range(30):
            rows = [staged(stage, "scores", {"run_id": "night", "conversation_id": f"{i:02}"})]
            complete_dataset(place(f"parquet:{lake}", tmp_path), rows)
        ended.set()

    complete_dataset(
        place(f"parquet:{lake}", tmp_path),
        [staged(stage, "scores", {"run_id": "night", "conversation_id": "--"})],
    )
    [file] = (lake / "scores").glob("*/*/*.parquet")
    thread = threading.Thread(target=replace)
    thread.start()
    try:
        while not ended.is_set():
            seen.add(read_table(file).num_rows)
    finally:
        thread.join()
    assert seen == {1} and scores(lake)[0][1] == "29"
