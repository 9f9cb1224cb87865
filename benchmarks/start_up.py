"""Measures what a small run costs beside the import of Beam, in an environment of requirements.lock alone.

Usage: python -m benchmarks.start_up [--rounds N] [--base_env DIR] [--json FILE]

The bundled sample (60 conversations, six criteria, the local judge, two app versions to compare) is scored,
and its first conversation alone.
All commands take turns, so that each meets the same load.
"""

import argparse
import subprocess
import sys
import tempfile
import venv
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from benchmarks.children import ROOT, measured
from benchmarks.figures import Check, Found, NotMeasured, Table, run_benchmark

BASE_ENVIRONMENT = Path.home() / ".cache" / "turnwise-benchmarks" / "base"
IMPORT, HELP, RUN = "import apache_beam", "turnwise --help", "turnwise run, sample"
RUN_ONE = "turnwise run, one conversation"
MOST_FOR_HELP_S, MOST_TIMES = 0.3, 1.9
_DATA = ROOT / "pipeline" / "sample_data"
_RUN = (
    *("run", "--eval_cases", str(_DATA / "cases"), "--config", str(_DATA / "config.json")),
    *("--judge", "local", "--overwrite"),
)


def base_python(environment: Path) -> str:
    """Returns the Python of an environment of turnwise and what requirements.lock names, made if missing.

    Raises:
        NotMeasured: The packages cannot be installed, for instance without a network.
    """
    python = environment / "bin" / "python"
    if not python.exists():
        print(f"making {environment} of requirements.lock (once; a minute)", file=sys.stderr)
        venv.create(environment, with_pip=True)
    install = (str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    for what in (("-r", "requirements.lock"), ("--no-deps", "-e", ".")):
        if subprocess.run([*install, *what], cwd=ROOT).returncode:
            raise NotMeasured(f"{what[-1]}, which cannot be installed into {environment}")
    return str(python)


def measure(options: argparse.Namespace) -> Found:
    python = base_python(options.base_env)
    turnwise = (python, "-m", "turnwise")
    with tempfile.TemporaryDirectory() as place:
        log, one, output = Path(place) / "log", Path(place) / "one.jsonl", Path(place) / "out"
        first = min(path for path in (_DATA / "conversations").iterdir() if path.suffix == ".jsonl")
        one.write_bytes(first.read_bytes().splitlines(keepends=True)[0])
        run = (*turnwise, *_RUN, "--output", str(output), "--input")
        commands = {
            IMPORT: (python, "-c", "import apache_beam"),
            HELP: (*turnwise, "--help"),
            "turnwise run --help": (*turnwise, "run", "--help"),
            RUN_ONE: (*run, str(one)),
            RUN: (*run, str(_DATA / "conversations")),
        }
        costs: dict[str, list[float]] = {name: [] for name in commands}
        for name in commands:  # compiled modules are written, files are in memory
            measured(commands[name], log, _ENVIRONMENT)
        for _ in range(options.rounds):
            for name, command in commands.items():
                costs[name].append(measured(command, log, _ENVIRONMENT).cpu)
    beam = median(costs[IMPORT])
    rows = [[name, median(cpu), min(cpu), max(cpu), median(cpu) / beam] for name, cpu in costs.items()]
    columns = ("", "CPU s", "least", "most", f"times {IMPORT}")
    times = median(costs[RUN_ONE]) / beam
    checks = [
        Check(f"{HELP} takes less than {MOST_FOR_HELP_S} CPU s", median(costs[HELP]) < MOST_FOR_HELP_S),
        Check(f"{RUN_ONE} takes at most {MOST_TIMES} times {IMPORT}", times <= MOST_TIMES),
    ]
    return Found([Table(f"start-up, median of {options.rounds} interleaved rounds", columns, rows)], checks)


_ENVIRONMENT = {"PYTHONDONTWRITEBYTECODE": ""}


def main(argv: Sequence[str]) -> int:
    """Returns 1 if the help or one conversation takes too long, 3 if nothing could be measured."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.start_up", allow_abbrev=False)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--base_env",
        type=Path,
        default=BASE_ENVIRONMENT,
        metavar="DIR",
        help=f"environment of requirements.lock, made if missing (default: {BASE_ENVIRONMENT})",
    )
    return run_benchmark(parser, measure, argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
