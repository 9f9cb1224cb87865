"""What the command sets before it starts."""

import os
import subprocess
import sys

import pytest

_CODE = """
import atexit, os, sys
from turnwise.pipeline.cli.main import run_command
assert "numpy" not in sys.modules  # which reads the setting when it is loaded
sys.argv = ["turnwise", "--version"]
atexit.register(lambda: print(os.environ["OPENBLAS_THREAD_TIMEOUT"]))
run_command()
"""


@pytest.mark.parametrize(("given", "expected"), [({}, "4"), ({"OPENBLAS_THREAD_TIMEOUT": "20"}, "20")])
def test_idle_threads_of_numpy_sleep_at_once(given: dict[str, str], expected: str) -> None:
    rest = {key: value for key, value in os.environ.items() if key != "OPENBLAS_THREAD_TIMEOUT"}
    ran = subprocess.run(
        [sys.executable, "-c", _CODE],
        env=rest | given,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    assert ran.stdout.splitlines()[-1] == expected
