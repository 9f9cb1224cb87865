"""Reads lines beside a test, and the tables of a run in its output directory."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


def lines_beside(test: str, name: str) -> dict[str, Any]:
    """Returns the lines of a JSON Lines file beside a test, by their names."""
    text = Path(test).with_name(name).read_text(encoding="utf-8")
    return {line["name"]: line for line in map(json.loads, text.splitlines())}


def rows_beside(test: str, name: str = "*") -> pytest.MarkDecorator:
    """Gives a test the lines of `rows/*.jsonl` beside it: `{check: arguments}`, the last may say why.

    Several tests of one folder name a file each.
    """
    lines = [
        pytest.param(*next(iter(json.loads(line).items())), id=f"{path.stem}, line {number}")
        for path in sorted(Path(test).parent.glob(f"rows/{name}.jsonl"))
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n")[:-1], 1)
    ]
    return pytest.mark.parametrize(("check", "arguments"), lines)


def rows_test(module: dict[str, Any], name: str = "*") -> Callable[..., None]:
    """Returns the test of a module over the lines beside it; each names a function of the module."""

    @rows_beside(module["__file__"], name)
    def test_rows(check: str, arguments: list[Any]) -> None:
        module[check](*arguments)

    return test_rows


def folder_of(directory: Path) -> Path:
    """Returns the folder that holds the tables of the run in an output directory."""
    run = directory / "run.json"
    return directory / (json.loads(run.read_text()).get("folder", ".") if run.exists() else ".")


def files_of(directory: Path, table: str) -> list[Path]:
    """Returns the files of a table, in order."""
    folder = folder_of(directory)
    found = [*folder.glob(f"{table}-*"), *folder.glob(f"{table}.*")]
    return sorted(path for path in found if path.suffix != ".partial")


def file_of(directory: Path, table: str) -> Path:
    """Returns the only file of a table."""
    [path] = files_of(directory, table)
    return path


def rows_of(directory: Path, table: str) -> list[dict[str, Any]]:
    """Returns the rows of a JSON Lines table, over all its files."""
    return [
        json.loads(line)
        for path in files_of(directory, table)
        if path.suffix == ".jsonl"
        for line in path.read_text(encoding="utf-8").split("\n")
        if line
    ]


def document_of(directory: Path, name: str) -> dict[str, Any]:
    """Returns `run.json`, or another JSON document of the run."""
    folder = directory if name == "run.json" else folder_of(directory)
    document: dict[str, Any] = json.loads((folder / name).read_text(encoding="utf-8"))
    return document


def as_earlier_version(directory: Path) -> Path:
    """Gives an output directory the layout of turnwise 0.1: tables beside a `run.json` that names none."""
    folder = folder_of(directory)
    for path in folder.iterdir():
        path.rename(directory / path.name)
    folder.rmdir()
    document = json.loads((directory / "run.json").read_text())
    kept = {key: value for key, value in document.items() if key not in ("folder", "files", "end_time")}
    (directory / "run.json").write_text(json.dumps(kept))
    return directory
