"""Runs commands as child processes and measures their cost."""

import argparse
import json
import os
import subprocess
import sys
import time
import venv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.figures import NotMeasured

ROOT = Path(__file__).resolve().parents[1]
ADK_VERSION = "2.13.0"
ADK_ENVIRONMENT = Path.home() / ".cache" / "turnwise-benchmarks" / "adk"
_PEER = Path(__file__).with_name("adk_peer.py")


class Cost(NamedTuple):
    """Cost of a process: user and system CPU seconds, seconds on the clock, largest memory in MB."""

    cpu: float
    wall: float
    peak_mb: float


def measured(command: Sequence[str], log: Path, environ: Mapping[str, str] | None = None) -> Cost:
    """Runs a command in the repository's root to its end; exits with its output if it fails.

    Args:
        command: What is run.
        log: Where its output goes.
        environ: Variables of its environment besides this process's.
    """
    start = time.perf_counter()
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=ROOT, env=os.environ | (environ or {}), stdout=output, stderr=subprocess.STDOUT
        )
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - start
    if process.returncode:
        sys.exit(f"{' '.join(command)}\nexit status {process.returncode}\n{log.read_text(errors='replace')}")
    peak = usage.ru_maxrss / (1024 * 1024 if sys.platform == "darwin" else 1024)
    return Cost(usage.ru_utime + usage.ru_stime, wall, peak)


def yardstick() -> float:
    """Returns the CPU seconds of a fixed piece of work, as a measure of the load of the machine."""
    start = time.process_time()
    sum(number % 7 for number in range(4_000_000))
    return time.process_time() - start


def add_adk_option(parser: argparse.ArgumentParser) -> None:
    """Adds the option for google-adk's environment."""
    parser.add_argument(
        "--adk_env",
        type=Path,
        default=ADK_ENVIRONMENT,
        metavar="DIR",
        help=f"environment of google-adk, made if missing (default: {ADK_ENVIRONMENT})",
    )


def adk_python(environment: Path) -> str:
    """Returns the Python of an environment that holds google-adk, made first where it is not there.

    Raises:
        NotMeasured: google-adk cannot be installed, for instance without a network.
    """
    python = environment / "bin" / "python"
    if not python.exists():
        print(f"making {environment} with google-adk {ADK_VERSION} (once; some minutes)", file=sys.stderr)
        venv.create(environment, with_pip=True)
    install = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    run = subprocess.run([str(python), *install, f"google-adk[eval]=={ADK_VERSION}"])
    if run.returncode:
        raise NotMeasured(f"google-adk {ADK_VERSION}, which cannot be installed into {environment}")
    return str(python)


def adk_report(python: str, cases: Path) -> dict[str, Any]:
    """Scores cases with google-adk; returns what `adk_peer.py` prints."""
    run = subprocess.run([python, str(_PEER), str(cases)], capture_output=True, text=True)
    if run.returncode:
        sys.exit(f"google-adk failed\n{run.stderr}")
    return json.loads(run.stdout)
