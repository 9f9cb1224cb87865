"""What the command sets before it starts."""

import json
import os
import subprocess
import sys

import pytest

from turnwise.pipeline.cli.store import COMMANDS

_CODE = """
import atexit, os, sys
from turnwise.pipeline.cli.main import run_command
assert "numpy" not in sys.modules  # which reads the setting when it is loaded
sys.argv = ["turnwise", "--version"]
atexit.register(lambda: print(os.environ["OPENBLAS_THREAD_TIMEOUT"]))
run_command()
"""


@pytest.mark.parametrize(("given", "expected"), [({}, "4"), ({"OPENBLAS_THREAD_TIMEOUT": "20"}, "20")])
def test_idle_threads_of_numpy_sleep_at_once(given, expected):
    rest = {key: value for key, value in os.environ.items() if key != "OPENBLAS_THREAD_TIMEOUT"}
    command, env = [sys.executable, "-c", _CODE], rest | given
    ran = subprocess.run(command, env=env, capture_output=True, text=True, check=True, timeout=300)
    assert ran.stdout.splitlines()[-1] == expected


_RUN = """
import sys
from turnwise.pipeline.cli.main import main
status = main(sys.argv[1:])
print(status, "nltk" in sys.modules)
"""


@pytest.mark.parametrize(
    ("criterion", "is_loaded"), [("tool_call_count_v1", False), ("response_match_score", True)]
)
def test_nltk_is_loaded_only_where_words_are_stemmed(tmp_path, criterion, is_loaded):
    log, config = tmp_path / "log.jsonl", tmp_path / "config.json"
    turn = {"user": "Hi", "agent": "The flight is booked.", "expected": {"response": "It is booked."}}
    log.write_text(json.dumps({"conversation_id": "c", "turns": [turn]}))
    config.write_text(json.dumps({"criteria": {criterion: {}}}))
    options = ["--input", log, "--config", config, "--output", tmp_path / "out", "--judge", "none"]
    command = [sys.executable, "-c", _RUN, "run", *map(str, options)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    assert ran.stdout.splitlines()[-1] == f"0 {is_loaded}"


@pytest.mark.parametrize(("arguments", "status"), [([], 2), (["--help"], 0)])
def test_help_names_every_subcommand(turnwise, arguments, status):
    done = turnwise("store", *arguments)
    assert done.status == status and done.out.startswith("usage: turnwise store COMMAND")
    assert [name for name in COMMANDS if f"\n  {name} " not in done.out] == []


WRONG = [("tidy", "unknown command store tidy"), *((name, "--store") for name in COMMANDS)]


@pytest.mark.parametrize(("name", "problem"), WRONG)
def test_an_unknown_subcommand_or_one_without_a_store_is_refused_in_one_line(turnwise, name, problem):
    done = turnwise("store", name)
    assert done.status == 2 and problem in done.err and done.err.count("\n") == 1
