"""A run that dies leaves nothing that looks like a whole run."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from shutil import which
from signal import SIGSTOP
from socket import gethostname
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import PipelineOptions

from tests import forked
from tests.tables import folder_of, rows_of
from turnwise.pipeline.batch.build import build
from turnwise.pipeline.batch.run import conclude
from turnwise.pipeline.cli.main import main
from turnwise.pipeline.io.files import file_patterns
from turnwise.pipeline.io.run_writer import RunSink, check_directory, clear_unfinished, earlier_files
from turnwise.pipeline.io.sources import FileSource
from turnwise.pipeline.runs.directory import open_run, write_whole
from turnwise.pipeline.settings.run import RunSettings
from turnwise.schemas.config import ConfigError, EvalConfig
from turnwise.schemas.run import RunInfo
from turnwise.transforms.scoring.config import build_criteria

ROOT = Path(__file__).parents[3]
CONFIG = EvalConfig()
SETTINGS = RunSettings(
    run=RunInfo("run-1", "2026-11-21T00:00:00.000Z"), config=CONFIG, criteria=build_criteria(CONFIG)
)


def fail(rows: tuple[str, Any], table: str) -> tuple[str, Any]:
    if rows[0] == table:
        raise OSError("no space left on device")
    return rows


class BrokenSink(RunSink):
    """Files, until one table cannot be written."""

    def __init__(self, directory: str, broken: str) -> None:
        super().__init__(directory, "jsonl", partial(conclude, SETTINGS, inputs=None))
        self._broken = broken

    def write_tables(self, rows: Any, tables: Sequence[str], part: str = "") -> None:
        lost = rows | f"Break_{tables[0]}{part}" >> beam.Map(fail, self._broken)
        super().write_tables(lost, tables, part)


@pytest.fixture(scope="module", params=["scores", "results", "failures"])
def crashed(request: Any, sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("crashed") / "out"
    out.mkdir()
    root = beam.Pipeline(options=PipelineOptions(["--runner=FnApiRunner"]))
    logs = FileSource(file_patterns("--input", (str(sample / "conversations"),)), 1 << 26, "unread_records")
    build(root, logs, None, SETTINGS, BrokenSink(str(out), request.param))
    with pytest.raises(OSError, match="no space left"):
        root.run().wait_until_finish()
    return out


def test_nothing_stands_under_a_final_name(crashed):
    assert [path.name for path in crashed.rglob("*") if path.is_file() and path.suffix != ".partial"] == []


def test_what_is_left_is_in_no_way_of_the_next_run(crashed):
    check_directory(str(crashed), overwrite=False)
    if earlier_files(str(crashed)):
        with pytest.raises(ConfigError, match=r"holds a run that has not ended .*; --overwrite replaces it"):
            check_directory(str(crashed), overwrite=False, may_go_on=True)
    clear_unfinished(str(crashed))
    assert [path for path in crashed.rglob("*") if path.is_file()] == []


def test_the_run_that_it_should_have_replaced_stays(sample, tmp_path):
    """Its tables are current until the new ones are whole; the next run removes what was left."""
    run = ["run", "--input", str(sample / "conversations"), "--output", str(tmp_path), "--judge", "none"]
    assert main(run) == 0
    (tmp_path / "notes.txt").write_text("mine")
    earlier = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    root = beam.Pipeline(options=PipelineOptions(["--runner=FnApiRunner"]))
    logs = FileSource(file_patterns("--input", (str(sample / "conversations"),)), 1 << 26, "unread_records")
    build(root, logs, None, SETTINGS, BrokenSink(str(tmp_path), "failures"))
    with pytest.raises(OSError, match="no space left"):
        root.run().wait_until_finish()
    assert earlier.items() <= {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}.items()
    assert len(list(open_run(str(tmp_path)).results())) == 60 and main(["status", str(tmp_path)]) == 0
    assert main([*run, "--overwrite"]) == 0
    [folder] = (path for path in tmp_path.iterdir() if path.is_dir())
    assert folder == folder_of(tmp_path) and folder not in {path.parent for path in earlier}
    assert (tmp_path / "notes.txt").exists()


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log that takes some seconds."""
    path = tmp_path_factory.mktemp("many") / "log.jsonl"
    turn = {"user": "Where is my order?", "agent": "It comes on Monday.", "expected": {"response": "Monday."}}
    rows = ({"conversation_id": f"c{n}", "app_version": "v1", "turns": [turn]} for n in range(12_000))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def parts_of(out: Path) -> list[Path]:
    return [path for path in out.rglob("*.partial") if path.stat().st_size]


@contextmanager
def killed(command: Sequence[object], out: Path) -> Iterator[Callable[[], int]]:
    """A run that is killed at the end of the body, after it has begun to write."""
    process = forked.Process(command, ROOT)
    try:
        while not parts_of(out):
            assert process.poll() is None
            time.sleep(0.01)
        yield process.poll
        assert process.poll() is None, "it was alive all the time"
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("options", [[], ["--workers", "2"], ["--store", "sqlite:///{}/store.db"]], ids=str)
def test_the_same_command_goes_on_after_a_kill(turnwise, many, tmp_path, options):
    out = tmp_path / "out"
    options = [option.format(tmp_path) for option in options]
    command = ["run", "--input", many, "--judge", "none", *options, "--output", out]
    with killed(command, out):
        second = turnwise(*command)
        assert second.status == 2 and "another run is writing into it" in second.err
        assert turnwise(*command, "--overwrite").status == 2 and parts_of(out)
    assert parts_of(out)
    done = turnwise(*command)
    assert (done.status, done.err) == (0, "")
    assert len(rows_of(out, "results")) == 12_000
    assert [path.name for path in out.iterdir()].count(".turnwise.lock") == 0 == len(parts_of(out))
    assert len([path for path in out.iterdir() if path.is_dir()]) == 1
    if options[:1] == ["--store"]:
        listed = turnwise("store", "runs", "--store", options[1]).out
        assert [line.split()[0] for line in listed.splitlines()[2:4]] == ["COMPLETED", "ERROR"]


def test_whole_tables_without_their_run_json_stay_unless_a_run_was_killed(turnwise, sample, tmp_path):
    """A kill between the names of the tables and `run.json` leaves them, and so does a person."""
    command = ["run", "--input", sample / "conversations", "--judge", "none", "--output", tmp_path / "out"]
    assert turnwise(*command).status == 0
    (tmp_path / "out/run.json").unlink()
    before = sorted(tmp_path.rglob("*"))
    refused = turnwise(*command)
    assert refused.status == 2 and "holds an earlier run (run-" in refused.err
    assert sorted(tmp_path.rglob("*")) == before
    (tmp_path / "out/.turnwise.lock").write_text(json.dumps(["here", 1, "run", "2026-11-21T00:00:00Z"]))
    assert turnwise(*command).status == 0
    assert len([path for path in (tmp_path / "out").iterdir() if path.is_dir()]) == 1


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A filesystem of 1 MB."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("no filesystem can be mounted here")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.mark.skipif(which("mount") is None, reason="there is no mount")
@pytest.mark.parametrize("options", [[], ["--workers", "2"]], ids=str)
def test_a_full_disk_is_named_and_freed(turnwise, many, small_disk, options):
    out = small_disk / "out"
    command = ["run", "--input", many, "--judge", "none", *options, "--output", out]
    done = turnwise(*command)
    assert (done.status, done.err) == (1, f"turnwise: [Errno 28] No space left on device: '{out}'\n")
    with pytest.raises(OSError, match=r"report\.html"):
        write_whole(out / "report.html", "x" * 2**21)
    assert [path.name for path in out.rglob("*")] == []
    subprocess.run(["mount", "-o", "remount,size=100m", str(small_disk)], check=True)
    assert turnwise(*command).status == 0 and len(list(open_run(str(out)).results())) == 12_000


@pytest.mark.skipif(which("cc") is None, reason="there is no compiler")
def test_a_filesystem_without_locks_holds_one_run_at_a_time(many, tmp_path):
    """A library in which `flock` answers as such a filesystem does stands for it."""
    (tmp_path / "none.c").write_text(
        "#include <errno.h>\nint flock(int f, int o) { errno = ENOLCK; return -1; }"
    )
    subprocess.run(["cc", "-shared", "-fPIC", "-o", "none.so", "none.c"], cwd=tmp_path, check=True)
    out = tmp_path / "out"
    command = [sys.executable, "-m", "turnwise", "run", "--judge", "none", "--output", out, "--input"]
    process = {"cwd": ROOT, "env": {**os.environ, "LD_PRELOAD": str(tmp_path / "none.so")}}
    first = subprocess.Popen([*command, many], **process, stdout=subprocess.DEVNULL)
    try:
        while not parts_of(out):
            assert first.poll() is None
            time.sleep(0.01)
        first.send_signal(SIGSTOP)  # it does not end while the second one starts
        second = subprocess.run([*command, many], **process, capture_output=True, text=True, check=False)
        said = f"another run is writing into it: process {first.pid} of {gethostname()}; remove {out}/"
        assert second.returncode == 2 and said in second.stderr and first.poll() is None
    finally:
        first.kill()
        first.wait()
    lease = json.loads((out / ".turnwise.lease").read_text())
    (out / ".turnwise.lease").write_text(json.dumps(["elsewhere", *lease[1:]]))
    other = subprocess.run([*command, many], **process, capture_output=True, text=True, check=False)
    assert other.returncode == 2 and f"process {first.pid} of elsewhere; remove" in other.stderr
    (out / ".turnwise.lease").write_text(json.dumps(lease))
    assert subprocess.run([*command, many], **process, capture_output=True, check=False).returncode == 0
    assert sorted(path.suffix for path in out.iterdir() if path.is_file()) == [".json"] and not parts_of(out)
