"""The README says what is true: its config, its options, its table, its example of a criterion."""

import argparse
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from apache_beam.options.pipeline_options import PipelineOptions

from turnwise.pipeline.cli.arguments import LOG_FORMATS, add_arguments
from turnwise.pipeline.cli.main import main
from turnwise.pipeline.service.arguments import add_serve_arguments, parse_serve_options
from turnwise.pipeline.service.tools import TOOLS
from turnwise.schemas.conversation import Conversation, Turn
from turnwise.schemas.record import Record
from turnwise.transforms.criteria import CRITERIA
from turnwise.transforms.matching.sample import Sample
from turnwise.transforms.scoring.config import build_criteria, parse_config

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_the_config_is_accepted() -> None:
    text, with_alerts, *_ = blocks("json")
    assert len(parse_config(with_alerts).alerts) == 2
    names = [criterion.name for criterion in build_criteria(parse_config(text))]
    assert names == ["tool_trajectory_avg_score", "response_match_score", "turn_latency"]


def test_the_default_criteria_are_the_ones_it_names() -> None:
    sentence = README.split("Without `--config`:")[1].split("\n\n")[0]
    assert set(re.findall(r"`([a-z_0-9]+)`", sentence)) == {
        c.name for c in build_criteria(parse_config("{}"))
    }


def test_every_option_exists() -> None:
    parser = argparse.ArgumentParser(conflict_handler="resolve")
    add_arguments(parser)
    add_serve_arguments(parser)
    for group in (PipelineOptions, *PipelineOptions.__subclasses__()):
        group._add_argparse_args(parser)  # type: ignore[arg-type]
    known = {name for action in parser._actions for name in action.option_strings}
    commands = [line for line in README.splitlines() if "benchmarks" not in line]
    assert set(re.findall(r"--[a-z_]+", "\n".join(commands))) - known == set()


def test_clients_of_the_server_are_set_up_as_it_is_started() -> None:
    stdio, http = (json.loads(text)["mcpServers"]["turnwise"] for text in blocks("json")[2:])
    options = parse_serve_options(stdio["args"][1:], {})
    assert (stdio["command"], stdio["args"][0]) == ("turnwise", "serve") and options and options.stdio
    default = parse_serve_options(["--store", "sqlite:///s.db"], {})
    assert default and http["url"] == f"http://{default.host}:{default.port}/mcp"


def test_every_tool_has_its_row() -> None:
    table = README.split("| tool | does |")[1].split("\n\n")[0]
    named = [name for line in table.splitlines()[2:] for name in re.findall(r"`(\w+)`", line.split("|")[1])]
    assert sorted(named) == sorted(TOOLS)


def test_every_log_format_has_its_row() -> None:
    table = README.split("| log record |")[1].split("\n\n")[0]
    assert set(re.findall(r"\| `([a-z_]+)` \|$", table, re.MULTILINE)) == set(LOG_FORMATS) - {"auto"}


def test_the_sample_prints_the_quoted_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], sample_run_arguments: list[str]
) -> None:
    assert main([*sample_run_arguments, "--output", str(tmp_path / "out")]) == 0
    printed = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    quoted = README.split("```\n                           (no version)")[1].split("```")[0].splitlines()
    rows = [" ".join(line.split()) for line in quoted[1:] if not line.startswith(("...", "files:"))]
    assert len(rows) > 5 and [row for row in rows if row not in printed] == []


@pytest.fixture
def sample_run_arguments() -> list[str]:
    data = ROOT / "pipeline/sample_data"
    script = (ROOT / "run_local.sh").read_text(encoding="utf-8")
    names = ("input $data/conversations", "eval_cases $data/cases", "config $data/config.json", "judge local")
    assert all(f"--{name}" in script for name in names), "the sample runs with other arguments now"
    paths = [
        "--input",
        data / "conversations",
        "--eval_cases",
        data / "cases",
        "--config",
        data / "config.json",
    ]
    return ["run", *map(str, paths), "--judge", "local"]


def test_the_example_of_a_criterion_works() -> None:
    (code,) = blocks("python")
    imports = (
        "from typing import ClassVar\n"
        "from turnwise.schemas.score import Score\n"
        "from turnwise.transforms.matching.sample import Sample, TurnPair\n"
        "from turnwise.transforms.criteria.base import MeasuredCriterion\n"
    )
    scope: dict[str, Any] = {"__name__": "example"}
    exec(imports + code, scope)
    try:
        score: Callable[..., Any] = scope["Politeness"]().score
        conversation = Conversation(conversation_id="a", turns=[Turn(agent="Thanks!"), Turn(agent="No.")])
        case = Sample(conversation, None, Record("log", 1, b""))
        assert [score(case, pair).value for pair in case.pairs] == [1.0, 0.0]
    finally:
        CRITERIA.pop("politeness", None)
