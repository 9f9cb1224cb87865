"""Workers and launchers that are killed in the middle of a run: it is repeated, or it fails plainly."""

import json
import os
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.engines.cases import Case
from benchmarks.engines.elsewhere import Elsewhere, elsewhere
from benchmarks.engines.engines import FLINK_WITH_RESTARTS, Engine, Tools, find_engine
from benchmarks.engines.objects import BUCKET
from benchmarks.engines.processes import started_by
from benchmarks.engines.runs import (
    PATIENCE_S,
    Ended,
    Started,
    check,
    check_equal,
    made_job,
    made_logs,
    started,
    succeeded,
)
from benchmarks.engines.tables import tables

_FEWEST_TURNS = 8_000


def _several(tools: Tools, folder: Path, turns: int) -> str:
    engine = find_engine("several processes")
    job = made_job(made_logs(folder, max(turns, _FEWEST_TURNS)))
    place = folder / "out"
    with engine.started(tools, folder) as options:
        command = [*job, "--output", str(place), *options]
        with started(command, folder) as run:
            _until(lambda: list(place.glob("run-*/*.partial")), run)
            _kill(started_by(run.process.pid, "turnwise")[1:])
            ended = run.wait()
        check(not (place / "run.json").exists(), "a run that lost a worker has a run.json")
        _check_plain(ended)
        succeeded(command, folder)
    succeeded([*job, "--output", str(folder / "expected")], folder)
    check_equal(tables(folder / "expected"), tables(place))
    return "the run fails in one line, and the same command again gives the same tables"


def _in_pool(engine: Engine, tools: Tools, folder: Path, turns: int) -> str:
    with elsewhere(tools, folder) as place, engine.started(tools, folder) as own:
        job = place.made(max(turns, _FEWEST_TURNS))
        expected = place.run(job, (), "expected")
        with _started_there(place, job, place.options(own)) as run:
            _until(lambda: _has_partial(place), run)
            _kill(started_by(place.leader, "SdkHarness"))
            ended = run.wait()
        if ended.status:
            check("found/run.json" not in place.objects.names("found"), "a failed run has a run.json")
            _check_plain(ended)
            return "the run fails in one line"
        check_equal(expected, place.tables("found"))
        return "the bundles are repeated: same tables"


def _launcher(engine: Engine, tools: Tools, folder: Path, turns: int) -> str:
    with elsewhere(tools, folder) as place, engine.started(tools, folder) as own:
        job = place.made(max(turns, _FEWEST_TURNS))
        expected = place.run(job, (), "expected")
        with _started_there(place, job, place.options(own)) as run:
            _until(lambda: _has_partial(place), run)
            _kill([run.process.pid])
        deadline = time.monotonic() + PATIENCE_S
        while "found/run.json" not in place.objects.names("found"):
            check(time.monotonic() < deadline, "the job did not go on")
            time.sleep(1)
        check_equal(expected, place.tables("found"))
        status = json.loads(place.objects.read("found/run.json"))["exit_status"]
        check(status == 0, f"exit_status {status}")
        return "the job goes on: same tables"


def _started_there(place: Elsewhere, job: Sequence[str], options: Sequence[str]):
    output = ("--output", f"gs://{BUCKET}/found")
    return started([*job, *output, *options], place.folder, place.environ)


def _has_partial(place: Elsewhere) -> bool:
    return any(name.endswith(".partial") for name in place.objects.names("found"))


def _until(is_so: Callable[[], object], run: Started) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        check(run.process.poll() is None and time.monotonic() < deadline, f"it was too quick: {run.text}")
        time.sleep(0.02)


def _kill(processes: Sequence[int]) -> None:
    check(processes, "there is no process to kill")
    os.kill(processes[-1], signal.SIGKILL)


def _check_plain(ended: Ended) -> None:
    [*_, last] = ended.text.splitlines() or [""]
    is_plain = ended.status == 1 and last.startswith("turnwise: ") and "Traceback" not in ended.text
    check(is_plain, f"exit status {ended.status}: {ended.text[-3000:]}")


def _far_case(engine: Engine, what: str, run: Callable[[Engine, Tools, Path, int], str]) -> Case:
    return Case(
        f"{engine.name}: {what} is killed",
        lambda tools: engine.lacks(tools) or tools.lacks_servers(),
        lambda tools, folder, turns: run(engine, tools, folder, turns),
    )


FAULTS = (
    Case("several processes: a worker is killed", lambda tools: "", _several),
    _far_case(find_engine("prism"), "a worker elsewhere", _in_pool),
    _far_case(find_engine("flink"), "a worker elsewhere", _in_pool),
    _far_case(FLINK_WITH_RESTARTS, "a worker elsewhere", _in_pool),
    _far_case(find_engine("flink"), "the launcher", _launcher),
)
