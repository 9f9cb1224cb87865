"""Whole runs inside this process, and how their files are read back."""

import contextlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pipeline.main import main

SAMPLE = Path(__file__).parents[2] / "pipeline/sample_data"


class Finished(NamedTuple):
    """A command that came to its end."""

    status: int
    out: str
    err: str
    directory: Path

    def rows(self, table: str) -> list[dict[str, Any]]:
        """Returns the rows of a JSON Lines table, over all its files."""
        return [
            json.loads(line)
            for path in sorted(self.directory.glob(f"{table}*.jsonl"))
            for line in path.read_text(encoding="utf-8").split("\n")
            if line
        ]

    def document(self, name: str) -> dict[str, Any]:
        """Returns a JSON document."""
        document: dict[str, Any] = json.loads((self.directory / name).read_text(encoding="utf-8"))
        return document


@pytest.fixture(scope="session")
def sample() -> Path:
    """Returns the folder of the bundled sample data."""
    return SAMPLE


@pytest.fixture(scope="session")
def turnwise() -> Callable[..., Finished]:
    """Returns a function that runs the command `turnwise`; the keyword `output` becomes `--output`."""

    def command(*argv: str | Path, output: Path | None = None) -> Finished:
        out, err = io.StringIO(), io.StringIO()
        arguments = [str(argument) for argument in argv]
        if output is not None:
            arguments += ["--output", str(output)]
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main(arguments)
        return Finished(status, out.getvalue(), err.getvalue(), output or Path())

    return command


@pytest.fixture(scope="session")
def sample_arguments(sample: Path) -> list[str]:
    """Returns the arguments of the main job on the sample data."""
    return ["run", "--input", str(sample / "conversations"), "--eval_cases", str(sample / "cases")]


@pytest.fixture(scope="session")
def sample_run(
    turnwise: Callable[..., Finished],
    sample_arguments: list[str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Finished:
    """Returns the main job on the sample data, with the default criteria, as JSON Lines."""
    return turnwise(*sample_arguments, output=tmp_path_factory.mktemp("sample") / "out")
