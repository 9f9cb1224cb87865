"""When a run fails, and what it must not hide: missed gates, rejected records, untried cases, another run."""

import contextlib
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.pipeline.logs import log, write
from turnwise.pipeline.io.run_writer import locked
from turnwise.pipeline.report.terminal import gate_problems
from turnwise.pipeline.settings.run import RunSettings
from turnwise.schemas.config import ConfigError, EvalConfig
from turnwise.schemas.run import RunInfo
from turnwise.transforms.scoring.config import build_criteria


def problems(ratio=None, **counts):
    """Returns the problems of a run of two conversations, with other counts."""
    config = EvalConfig()
    made = RunInfo("run-1", "2026-11-21T00:00:00.000Z")
    settings = RunSettings(
        run=made, config=config, criteria=build_criteria(config), output="out", max_failure_ratio=ratio
    )
    names = ("rejected_records", "rejected_conversations", "cases", "rejected_cases", "unused_cases")
    two = dict.fromkeys(("records", "parsed_records", "conversations", "results"), 2)
    return gate_problems(
        settings, {**dict.fromkeys(names, 0), **two, "failures": {}, "findings": {}, **counts}, []
    )


def test_max_failure_ratio():
    for ratio, records, conversations, is_missed in (
        *((0.0, 0, 0, False), (0.0, 1, 0, True), (0.5, 1, 1, False), (0.5, 2, 1, True)),
        # More than half of all is rejected: the option is named, which would allow it.
        *((None, 2, 0, False), (None, 3, 0, True), (None, 1, 2, True), (0.9, 3, 0, False)),
    ):
        counts = {"records": 2 + conversations + records, "parsed_records": 2 + conversations}
        counts |= {"rejected_records": records, "rejected_conversations": conversations}
        found = problems(ratio, **counts, conversations=2 + conversations)
        assert any("--max_failure_ratio" in one for one in found) is is_missed


@pytest.mark.parametrize("name", ["records", "parsed_records", "conversations", "results"])
def test_counts_that_do_not_add_up_fail_the_run(name):
    assert not any("do not add up" in problem for problem in problems())
    assert sum("do not add up" in problem for problem in problems(**{name: 3})) == 1


def test_a_directory_holds_one_run_at_a_time(turnwise, tmp_path):
    arguments = "run", "--input", write(tmp_path / "log.jsonl", log()), "--output", tmp_path / "out"
    with locked(str(tmp_path / "out")):
        done = turnwise(*arguments, "--overwrite")
        assert done.status == 2 and "another run is writing into it" in done.err
    assert turnwise(*arguments).status == 0
    assert not list((tmp_path / "out").glob(".*")), "the lock is gone"


def test_many_at_once_never_hold_one_lock(tmp_path):
    """A file that its owner removed, and another one opened before, locks nothing."""
    inside = []

    def compete(number):
        most = 0
        for _ in range(300):
            with contextlib.suppress(ConfigError), locked(str(tmp_path)):
                inside.append(number)
                time.sleep(0)
                most = max(most, len(inside))
                inside.remove(number)
        return most

    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(compete, range(8))) <= {0, 1}
