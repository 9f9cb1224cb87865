"""Help, and what the user must put right: one line, exit 2, and nothing is written or deleted."""

import argparse
import os
import re
import subprocess
import sys
from importlib.metadata import version

import pytest

from tests.pipeline.logs import write
from turnwise.pipeline.cli.arguments import add_arguments

HEAVY = ("apache_beam", "numpy", "google.genai", "pyarrow", "pandas", "fastavro", "grpc", "nltk")
UNUSED = ("turnwise.transforms.criteria", "turnwise.transforms.scoring", "turnwise.pipeline.batch.run")


def test_help_names_commands_and_every_option(turnwise):
    done = turnwise("--help")
    assert done.status == 0 and done.err == "" and turnwise().status == 2
    assert all(name in done.out for name in ("run", "tools", "-h, --help", "--version"))
    parser = argparse.ArgumentParser(add_help=False)
    add_arguments(parser)
    own = {name for action in parser._actions for name in action.option_strings}
    named = set(re.findall(r"^  (--\w+)", turnwise("run", "--help").out, flags=re.MULTILINE))
    assert named == {*own, "--streaming"}, "its own, and the one of Beam's that makes it a stream"
    assert turnwise("--version").out == f"{version('turnwise')}\n"
    assert turnwise("score").status == 2 and "score" in turnwise("score").err


@pytest.mark.parametrize(
    ("command", "needed"), [("run", ["--input", "--output"]), ("serve", ["--store"])], ids=str
)
def test_help_says_what_is_required(turnwise, command, needed):
    entries = re.split(r"^  (?=-)", turnwise(command, "--help").out, flags=re.MULTILINE)[1:]
    assert any(entry.startswith("-h, --help") for entry in entries)
    assert [entry.split()[0] for entry in entries if "(required" in entry] == needed


@pytest.mark.parametrize("arguments", [[], ["--version"], ["run", "--help"]])
def test_help_imports_nothing_heavy(arguments):
    code = (
        "import sys; from turnwise.pipeline.cli.main import main; main(sys.argv[1:]);"
        f"print([name for name in {HEAVY + UNUSED} if name in sys.modules], file=sys.stderr)"
    )
    command = [sys.executable, "-c", code, *arguments]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stderr == "[]\n"


@pytest.mark.parametrize("named", ["", "0.jsonl", "*.jsonl"])
def test_what_is_no_regular_file_is_a_problem_and_does_not_block(turnwise, named, tmp_path):
    write(tmp_path / "a.jsonl", {"eval_id": "1", "turns": [{"tool_calls": [{"name": "cancel_x"}]}]})
    os.mkfifo(tmp_path / "0.jsonl")
    done = turnwise("tools", tmp_path / named)
    assert "0.jsonl: is a FIFO; only regular files are read" in done.err
    assert done.status == {"0.jsonl": 2}.get(named, 1)
    assert ("cancel_x" in done.out) == (named != "0.jsonl")
