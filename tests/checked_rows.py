"""Rows in JSON Lines: each line of `rows/*.jsonl` is `{check: arguments}`, the last of which may say why."""

import json
from pathlib import Path

import pytest


def rows_beside(test: str) -> pytest.MarkDecorator:
    """Gives a test the lines of `rows/` beside it, as the name of a check and its arguments."""
    lines = [
        pytest.param(*next(iter(json.loads(line).items())), id=f"{path.stem}, line {number}")
        for path in sorted(Path(test).parent.glob("rows/*.jsonl"))
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n")[:-1], 1)
    ]
    return pytest.mark.parametrize(("check", "arguments"), lines)
