from functools import cache
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


def test_there_are_criteria():
    assert len(SHIPPED) >= 20
