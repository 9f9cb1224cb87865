"""Reads lines beside a test, and the tables of a run in its output directory."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


def lines_beside(test: str, pattern: str) -> dict[str, Any]:
    """Returns the lines of a JSON Lines file beside a test by their names; of several, behind the file's."""
    named = [
        ((f"{path.stem}: " if "*" in pattern else "") + line["name"], line)
        for path in sorted(Path(test).parent.glob(pattern))
        for line in map(json.loads, path.read_text(encoding="utf-8").split("\n")[:-1])
    ]
    lines = dict(named)
    assert lines, f"no line in {pattern}"
    assert len(lines) == len(named), f"lines of one name in {pattern}, of which only the last would be read"
    return lines


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


def item_of(items: list[Any], name: str) -> Any:
    """Returns an item of a list by its place, or by what holds of it; or the number of items."""
    if name == "#":
        return len(items)
    key, is_condition, value = name.partition("=")
    if not is_condition:
        return items[int(name)]
    return next((item for item in items if str(item.get(key)) == value), "absent")


def part(value: Any, wanted: Any) -> Any:
    """Returns what of a value is compared: the fields that are wanted; of one that is to be there, `{}`.

    A field that is wanted to be "absent" is not there; a text that ends in "…" is the beginning of another;
    decimals agree in as many places as are written, with one place exactly.
    """
    if wanted == {} and value not in (None, "absent"):
        return {}
    if isinstance(value, dict) and isinstance(wanted, dict):
        return {
            key: len(value) if key == "#" else part(value.get(key, "absent"), item)
            for key, item in wanted.items()
        }
    if isinstance(value, list) and isinstance(wanted, dict):
        return {key: part(item_of(value, key), item) for key, item in wanted.items()}
    if isinstance(value, list) and isinstance(wanted, list) and len(value) == len(wanted):
        return [part(item, own) for item, own in zip(value, wanted, strict=True)]
    if isinstance(value, str) and isinstance(wanted, str) and wanted.endswith("…"):
        return wanted if value.startswith(wanted[:-1]) else value
    if isinstance(value, float) and isinstance(wanted, float):
        places = len(repr(wanted).partition(".")[2])
        is_close = math.isclose(value, wanted, rel_tol=1e-9, abs_tol=1e-12)
        return wanted if is_close else round(value, places) if places > 1 else value
    return value


def stated(key: str, names: str, **options: Any) -> Callable[[Any], Any]:
    """Gives a test the values of its key, `{key: values}`, in the lines of `rows/MODULE.jsonl` beside it."""

    def mark(test: Any) -> Any:
        path = Path(test.__globals__["__file__"])
        rows = path.parent / "rows" / f"{path.stem.removeprefix('test_')}.jsonl"
        lines = map(json.loads, rows.read_text(encoding="utf-8").split("\n")[:-1])
        values = [line[key] for line in lines if key in line]
        assert values, f"{rows} has no line of {key}"
        return pytest.mark.parametrize(names, values, **options)(test)

    return mark


def value_at(root: Any, path: str) -> Any:
    for name in path.split("."):
        if name.isdecimal():
            root = root[int(name)]
        else:
            root = root[name] if isinstance(root, dict) else getattr(root, name)
    return root


def is_inside(interval: Any, figure: float, low: float, high: float) -> bool:
    return low <= interval.low < figure < interval.high <= high


def is_as_wanted(value: Any, wanted: Any) -> bool:
    """Returns whether a value is the wanted one, or what it must be."""
    if not isinstance(wanted, dict) or isinstance(value, dict):
        return value == (pytest.approx(wanted) if isinstance(wanted, float) else wanted)
    rules = {
        "some": lambda stated: bool(value) is stated,
        "starts": lambda text: value.startswith(text),
        "ends": lambda text: value.endswith(text),
        "parts": lambda texts: all(text in str(value) for text in texts),
        "lacks": lambda texts: not any(text in value for text in texts),
        "above": lambda limit: value > limit,
        "below": lambda limit: value < limit,
        "between": lambda limits: limits[0] <= value <= limits[1],
        "inside": lambda limits: is_inside(
            value.interval, getattr(value, "ratio", None) or value.difference, *limits
        ),
        "holds": lambda figure: value.low < figure < value.high,
        "none_or": lambda fields: value is None or all(value_at(value, key) == fields[key] for key in fields),
    }
    return all(rules[rule](stated) for rule, stated in wanted.items())


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
