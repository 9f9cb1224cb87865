"""Help and version come at once and say everything."""

import argparse
import re
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import pytest

from turnwise.pipeline.cli.arguments import add_arguments
from turnwise.schemas.config import DEFAULT_CRITERIA, DEFAULT_MODEL

HEAVY = ("apache_beam", "numpy", "google.genai", "pyarrow", "pandas", "fastavro", "grpc", "nltk")
UNUSED = ("turnwise.transforms.criteria", "turnwise.transforms.scoring", "turnwise.pipeline.batch.run")


def own_options() -> list[str]:
    parser = argparse.ArgumentParser(add_help=False)
    add_arguments(parser)
    return [name for action in parser._actions for name in action.option_strings]


def test_help_names_the_command(turnwise: Callable[..., Any]) -> None:
    done = turnwise("--help")
    assert done.status == 0
    assert all(name in done.out for name in ("run", "-h, --help", "--version")) and done.err == ""
    assert turnwise().status == 2


def test_help_of_run_names_every_own_option(turnwise: Callable[..., Any]) -> None:
    done = turnwise("run", "--help")
    named = set(re.findall(r"^  (--\w+)", done.out, flags=re.MULTILINE))
    assert done.status == 0
    assert named == {*own_options(), "--streaming"}, "its own, and the one of Beam's that makes it a stream"


@pytest.mark.parametrize(
    ("command", "needed"), [("run", ["--input", "--output"]), ("serve", ["--store"])], ids=str
)
def test_help_says_what_is_required(turnwise: Callable[..., Any], command: str, needed: list[str]) -> None:
    entries = re.split(r"^  (?=-)", turnwise(command, "--help").out, flags=re.MULTILINE)[1:]
    assert any(entry.startswith("-h, --help") for entry in entries)
    assert [entry.split()[0] for entry in entries if "(required" in entry] == needed


def test_help_gives_defaults_and_the_group_of_streaming(turnwise: Callable[..., Any]) -> None:
    text = " ".join(turnwise("run", "--help").out.split())
    assert all(name in text.split("--config FILE")[-1].split("--max")[0] for name in DEFAULT_CRITERIA)
    assert (
        f"--judge_model NAME model of criteria that name none (default with gemini: {DEFAULT_MODEL})" in text
    )
    assert "times in seconds: --streaming" in text


@pytest.mark.parametrize("option", ["--input", "--eval_cases", "--config", "--output", "--max_record_mb"])
def test_every_option_is_explained(option: str) -> None:
    parser = argparse.ArgumentParser(add_help=False)
    add_arguments(parser)
    action = next(action for action in parser._actions if option in action.option_strings)
    assert action.help


def test_version(turnwise: Callable[..., Any]) -> None:
    assert turnwise("--version").out == f"{version('turnwise')}\n"


@pytest.mark.parametrize("arguments", [[], ["--help"], ["--version"], ["run", "--help"]])
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    code = (
        "import sys; from turnwise.pipeline.cli.main import main; main(sys.argv[1:]);"
        f"print([name for name in {HEAVY + UNUSED} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True
    )
    assert done.stderr == "[]\n"


def test_unknown_command(turnwise: Callable[..., Any]) -> None:
    done = turnwise("score")
    assert done.status == 2
    assert done.err.count("\n") == 1 and "score" in done.err
