"""A run that dies leaves nothing that looks like a whole run."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import PipelineOptions

from tests import forked
from tests.tables import folder_of
from turnwise.pipeline.batch.build import build
from turnwise.pipeline.batch.summary import conclude
from turnwise.pipeline.cli.main import main
from turnwise.pipeline.io.directory import check_directory, clear_directory, earlier_files
from turnwise.pipeline.io.files import file_patterns
from turnwise.pipeline.io.run_files import RunSink
from turnwise.pipeline.io.run_reader import open_run
from turnwise.pipeline.io.sources import FileSource
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
        super().__init__(directory, "jsonl", partial(conclude, SETTINGS))
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


def test_nothing_stands_under_a_final_name(crashed: Path) -> None:
    assert [path.name for path in crashed.rglob("*") if path.is_file() and path.suffix != ".partial"] == []


def test_the_next_run_is_told_and_may_clear_up(crashed: Path) -> None:
    left = earlier_files(str(crashed))
    if left:
        with pytest.raises(ConfigError, match="--overwrite"):
            check_directory(str(crashed), overwrite=False)
    clear_directory(str(crashed))
    assert list(crashed.rglob("*")) == []


def test_the_run_that_it_should_have_replaced_stays(sample: Path, tmp_path: Path) -> None:
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


def test_a_full_disk_is_said_in_one_line(sample: Path, tmp_path: Path) -> None:
    """A limit on the size of files stands for the disk: the system refuses to write on in the same way."""
    out = tmp_path / "out"
    command = ["run", "--input", sample / "conversations", "--output", out, "--judge", "none"]
    done = forked.run_text(command, ROOT, file_size=4096)
    assert (done.returncode, done.stderr) == (1, "turnwise: [Errno 27] File too large\n")
    assert [path.name for path in out.rglob("*") if path.is_file() and path.suffix != ".partial"] == []
