"""The metrics files of a stream: one row a window, the newest."""

import json

import pytest

from tests.tables import stated
from turnwise.pipeline.streaming.local.storage import MetricsFiles
from turnwise.transforms.beam.windows import SumsChange, WindowMetrics
from turnwise.transforms.metrics.state import MetricsState, Tally


def state(conversations):
    tally = Tally()
    for _ in range(conversations):
        tally.add(0.5, "PASS")
    sums = MetricsState(conversations, conversations, conversations)
    sums.tallies = {("c", None): tally, ("c", 0): tally}
    return sums


def window(conversations, revision=0, start=3600.0, version="v1", pane="EARLY"):
    return WindowMetrics(start, start + 3600.0, version, pane, revision, state(conversations))


def known(*windows):
    return [SumsChange(1, one.window_start, one.app_version, one.state) for one in windows]


@pytest.fixture
def files(tmp_path):
    """Returns a function that puts windows into the files of a new process."""

    def put(*windows, before=()):
        metrics = MetricsFiles(tmp_path, "run", known(*before))
        for one in windows:
            metrics.put(one)
        metrics.write({one.app_version: one.state for one in windows}, 1)
        return metrics

    return put


@pytest.fixture
def rows(tmp_path):
    """Returns a function that gives (start, version, conversations or turn, revision) of a file's rows."""

    def read(table="metrics_by_app_version"):
        found = [json.loads(line) for line in (tmp_path / f"{table}.jsonl").read_bytes().splitlines()]
        column = "turn_index" if table == "metrics_by_turn" else "conversations"
        return [
            (row["window_start"][11:16], row["app_version"], row[column], row["revision"])
            for row in found
            if row["criterion"] in ("verdict", "c")
            and (row["criterion"] == "verdict") == (table != "metrics_by_turn")
        ]

    return read


@stated("steps", "why, steps")
def test_rows_of_windows(files, rows, why, steps):
    """Of each process: windows that it puts, those that are stored, and the rows that stand there then."""
    for put, stored, wanted in steps:
        files(*(window(n, **own) for n, own in put), before=[window(n, **own) for n, own in stored])
        assert [*map(list, rows())] == wanted, why
        assert {row[3] for row in rows("metrics_by_turn")} <= {row[3] for row in wanted}


def test_the_newest_window_is_what_there_is_to_see(files):
    metrics = files(window(1), window(2, start=7200.0), window(3, start=7200.0, version="v2"))
    shown = [r for r in metrics.last_windows(1) if r["criterion"] == "verdict"]
    assert [(row["app_version"], row["conversations"]) for row in shown] == [("v1", 2), ("v2", 3)]


def test_what_is_stored_and_in_no_window_is_missing(files):
    metrics = files(window(1), window(2, start=7200.0))
    stored = [window(4), window(2, start=7200.0), window(3, start=7200.0, version="v2")]
    assert metrics.complete(known(window(1), window(1, start=7200.0)), 3600.0) == 0, "a window may hold more"
    assert metrics.complete(known(*stored), 3600.0) == 7 and metrics.complete(known(*stored), 3600.0) == 0
