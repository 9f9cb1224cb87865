from functools import cache
from itertools import takewhile
from pathlib import Path

import pytest

from turnwise.transforms.criteria import CRITERIA

ROOT = Path(__file__).parents[1]
SHIPPED = sorted(
    name for name, kind in CRITERIA.items() if kind.__module__.startswith("turnwise.transforms.criteria.")
)


@cache
def all_tests():
    this = Path(__file__)
    return "\n".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py") if path != this)


@pytest.mark.parametrize("name", SHIPPED)
def test_every_criterion_is_tested(name):
    assert f'"{name}"' in all_tests()


@pytest.mark.parametrize("name", SHIPPED)
def test_every_criterion_has_its_row_in_the_readme(name):
    readme = (ROOT / "README.md").read_text()
    rows = [line for line in readme.splitlines() if line.startswith(f"| `{name}` |")]
    assert len(rows) == 1
    assert CRITERIA[name].__doc__


def test_the_readme_names_no_other_criterion():
    lines = (ROOT / "README.md").read_text().splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("| `tool_trajectory_avg_score` |"))
    rows = [line.split("`")[1] for line in takewhile(lambda line: line.startswith("| `"), lines[first:])]
    assert set(rows) <= set(SHIPPED)


def test_there_are_criteria():
    assert len(SHIPPED) >= 20
