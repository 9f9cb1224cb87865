"""Rows in JSON Lines: each line of `rows/*.jsonl` is `{check: arguments}`."""

import json
from pathlib import Path

import pytest


def rows_beside(test: str, *names: str) -> pytest.MarkDecorator:
    """Gives a test the lines of `rows/` beside it, or of these files there: check and arguments."""
    folder = Path(test).with_name("rows")
    paths = [folder / f"{name}.jsonl" for name in names] or sorted(folder.glob("*.jsonl"))
    lines = [
        pytest.param(*next(iter(json.loads(line).items())), id=f"{path.stem}, line {number}")
        for path in paths
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n")[:-1], 1)
    ]
    return pytest.mark.parametrize(("check", "arguments"), lines)
