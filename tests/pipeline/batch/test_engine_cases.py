"""The cases of benchmarks/engines that take seconds, where their programs are installed."""

import pytest

from benchmarks.engines.engines import find_tools
from benchmarks.engines.every_case import CASES

TOOLS = find_tools()
SHORT = ("prism: workers elsewhere, objects", "Dataflow's API")


@pytest.mark.parametrize("case", [case for case in CASES if case.name in SHORT], ids=lambda case: case.name)
def test_case(case, tmp_path):
    if lack := case.lacks(TOOLS):
        pytest.skip(f"no {lack}")
    case.run(TOOLS, tmp_path, 0)
