"""The metrics files of a stream: one row a window, the newest."""

import json

import pytest

from turnwise.pipeline.streaming.alerts import WindowSum
from turnwise.pipeline.streaming.local.storage import MetricsFiles
from turnwise.transforms.beam.windows import WindowMetrics
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
    return [WindowSum(one.window_start, one.app_version, one.state) for one in windows]


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


def test_the_newest_figures_of_a_window_count(files, rows):
    files(window(1), window(2, revision=1), window(3, revision=2, pane="ON_TIME"))
    assert rows() == [("01:00", "v1", 3, 2)]
    assert rows("metrics_by_turn") == [("01:00", "v1", 0, 2)]


def test_windows_and_versions_have_rows_of_their_own_in_order(files, rows):
    files(window(1, start=7200.0), window(2, version="v2"), window(3, version=""), window(4))
    assert rows() == [
        ("01:00", None, 3, 0),
        ("01:00", "v1", 4, 0),
        ("01:00", "v2", 2, 0),
        ("02:00", "v1", 1, 0),
    ]


def test_revisions_go_on_after_a_restart(files, rows):
    files(window(1), window(2, revision=1))
    files(before=[window(2)])
    assert rows() == [("01:00", "v1", 2, 1)], "what stands in the files is kept"
    files(window(2, revision=0), window(4, revision=1), before=[window(2)])
    assert rows() == [("01:00", "v1", 4, 3)]
    files(window(5, revision=9), before=[window(4)])
    assert rows() == [("01:00", "v1", 5, 9)]


def test_a_row_that_a_revision_overtook_before_a_crash_goes(files, rows):
    """The conversation moved to another version, was kept, and the process died before the files said so."""
    files(window(1, version=""))
    files(window(1, version="v1"), before=[window(1, version="v1")])
    assert rows() == [("01:00", "v1", 1, 0)]


def test_the_newest_window_is_what_there_is_to_see(files):
    metrics = files(window(1), window(2, start=7200.0), window(3, start=7200.0, version="v2"))
    shown = [r for r in metrics.last_windows(1) if r["criterion"] == "verdict"]
    assert [(row["app_version"], row["conversations"]) for row in shown] == [("v1", 2), ("v2", 3)]


def test_what_is_stored_and_in_no_window_is_missing(files):
    metrics = files(window(1), window(2, start=7200.0))
    stored = [window(4), window(2, start=7200.0), window(3, start=7200.0, version="v2")]
    assert metrics.missing(known(*stored)) == 6
    assert metrics.missing(known(window(1), window(1, start=7200.0))) == 0, "a window may hold more"
