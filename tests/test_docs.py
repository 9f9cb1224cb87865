"""The pages are built without a warning, and agree with the code on options, formats, tools and criteria."""

import argparse
import ast
import re
import subprocess
import sys
from copy import deepcopy
from typing import get_args, get_type_hints

import pytest
from apache_beam.options.pipeline_options import PipelineOptions

from docs.generate import FILES as GENERATED
from docs.generate import field_meaning, own_fields, read_docstring, shipped
from tests.documentation import DOCS, PAGES, ROOT, TEXT, check_names, commands, page, table
from tests.test_doc_examples import PARSERS
from turnwise.pipeline.cli.arguments import add_arguments
from turnwise.pipeline.cli.decisions import LABEL_COMMANDS
from turnwise.pipeline.cli.main import main
from turnwise.pipeline.cli.store import COMMANDS
from turnwise.pipeline.io.sinks import SINKS
from turnwise.pipeline.service.mcp import TOOLS
from turnwise.pipeline.service.serve import serve_parser
from turnwise.pipeline.settings.options import subcommand_parser
from turnwise.schemas.config import AlertRule, EvalConfig, GateRule, JudgeConfig
from turnwise.schemas.rows import TABLES
from turnwise.schemas.score import CRITERION_SEVERITY_REASONS, Stage
from turnwise.transforms.criteria.base import GATES, UNITS
from turnwise.transforms.formats.registry import log_formats
from turnwise.transforms.judging.judges import JUDGES
from turnwise.transforms.scoring.config import build_criteria, parse_config


def test_the_pages_are_built_without_a_warning(tmp_path):
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-W", "-n", "--keep-going", "-q"]
    done = subprocess.run([*command, str(DOCS), str(tmp_path)], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    for html in tmp_path.glob("*.html"):
        loaded = re.findall(r'<(?:script|link|img)[^>]*(?:src|href)="(https?:[^"]+)"', html.read_text())
        assert loaded == [], f"{html.name} loads from the network"


def test_the_readme_is_short_and_counts_the_criteria():
    lines = PAGES["README.md"].splitlines()
    assert len(lines) <= 150
    begins = f"| {len(shipped())} criteria"
    assert any(line.startswith(begins) for line in lines), f"README.md: a row must begin with {begins!r}"


def test_no_paragraph_and_no_cell_of_a_table_is_long():
    for name, text in PAGES.items():
        prose = re.sub(r"^ *```.*?^ *```$", "", text, flags=re.DOTALL | re.MULTILINE)
        for part in re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )", prose):
            cells = re.split(r"(?<!\\)\|", part) if part.lstrip().startswith("|") else []
            assert all(len(cell.split()) <= 90 for cell in cells or [part]), f"{name}: {part}"


def test_the_index_names_every_page():
    listed = re.findall(r"^- \[.*?\]\(([\w-]+)\.md\)", page("index"), re.MULTILINE)
    assert sorted([*listed, "index"]) == sorted(path.stem for path in DOCS.glob("*.md"))


def anchors(text):
    """Returns the anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere_on_github(name):
    for target in re.findall(r"\]\((?!https?:)([^)]+)\)", PAGES[name]):
        path, _, anchor = target.partition("#")
        file = (ROOT / name).parent / path if path else ROOT / name
        assert file.exists(), target
        assert not anchor or anchor in anchors(file.read_text(encoding="utf-8")), target


def test_files_that_are_named_exist():
    named = set(re.findall(r"`((?:schemas|transforms|pipeline|tests|benchmarks|docs)/[\w./-]*)`", TEXT))
    assert len(named) > 20
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []


def test_every_option_that_is_named_exists_and_every_own_option_is_named():
    own = argparse.ArgumentParser(add_help=False)
    add_arguments(own)
    known = argparse.ArgumentParser(conflict_handler="resolve")
    parsers = (
        own,
        *PARSERS.values(),
        serve_parser(),
        *(subcommand_parser("store", *item) for item in COMMANDS.items()),
        *(subcommand_parser("labels", *item) for item in LABEL_COMMANDS.items()),
    )
    for parser in parsers:
        known._add_container_actions(deepcopy(parser))  # it takes options away that several have
    for group in (PipelineOptions, *PipelineOptions.__subclasses__()):
        group._add_argparse_args(known)
    text = re.sub(
        r"```(bash|yaml)\n.*?```",
        "",
        "".join(t for n, t in PAGES.items() if "benchmarks" not in n and "development" not in n),
        flags=re.DOTALL,
    )
    named = set(re.findall(r"--[a-z_]{2,}", text.replace("--turnwise-", "")))
    assert named - set(known._option_string_actions) == {"--version"}
    everywhere = set(re.findall(r"--[a-z_]{2,}", TEXT))
    ours = {option for parser in parsers for option in parser._option_string_actions} - {"-h", "--help"}
    assert {name for name in ours if name.startswith("--")} - everywhere == set()


def named_commands():
    """Returns the words after `turnwise` of every command in the pages, within a line and in blocks."""
    lines = [one.text for one in commands()]
    found = [
        re.search(r"^(?:.* \| |\w+=\S+ )?(?:turnwise|\./run_local\.sh) ([^|>]+)", line) for line in lines
    ]
    spans = [*re.findall(r"`turnwise ([^`\n]+)`", TEXT), *(one[1] for one in found if one)]
    return {tuple(span.split()) for span in spans}


def test_every_command_that_is_named_exists_and_takes_the_options_that_stand_with_it(capsys):
    helps = {}

    def help_of(*command):
        if command not in helps:
            assert main([*command, "--help"]) == 0, f"turnwise {' '.join(command)}: {capsys.readouterr().err}"
            helps[command] = capsys.readouterr().out
        return helps[command]

    of_beam = argparse.ArgumentParser(conflict_handler="resolve")
    for group in (PipelineOptions, *PipelineOptions.__subclasses__()):
        group._add_argparse_args(of_beam)
    found = named_commands()
    for name, *more in sorted(found):
        if name in ("--help", "--version", "COMMAND", "test", "stream"):  # the last two are the script's
            continue
        has_subcommand = name in ("store", "labels") and more and re.fullmatch(r"[a-z]\w*", more[0])
        known = help_of(name, more[0]) if has_subcommand else help_of(name)
        options = {word.split("=")[0] for word in more if re.match(r"--[a-z]", word)} - {"--help"}
        if has_subcommand or name != "store":
            beams = set(of_beam._option_string_actions) if name == "run" else set()
            assert options - set(re.findall(r"--[\w-]+", known)) - beams == set(), f"turnwise {name} {more}"
    assert {("store", name) for name in COMMANDS} <= {tuple(words[:2]) for words in found}


def test_every_log_format_has_its_row():
    rows = table(page("input-formats"), "log record")
    check_names((row[1].strip("`") for row in rows), log_formats(), "docs/input-formats.md, the first table")


def test_every_judge_and_sink_is_described():
    listed = (name for row in table(page("judges"), "`--judge`") for name in re.findall(r"`(\w+)`", row[0]))
    check_names(listed, JUDGES, "docs/judges.md, the first table")
    for name, kind in SINKS.items():
        file = "docs/warehouse.md" if kind.schemes else "docs/outputs.md"
        words = [f"{scheme}:" for scheme in kind.schemes] or [name]
        assert any(word in PAGES[file] + page("store") for word in words), f"{file}: describe {name}"


GATE_RULES = get_args(get_args(GateRule)[0])
KEYS = [
    ("store", "tool", TOOLS),
    ("judges", "key", JudgeConfig.model_fields),
    ("streaming", "key of a rule", AlertRule.model_fields),
    ("ci", "key of a rule", {key for kind in GATE_RULES for key in kind.model_fields}),
]


@pytest.mark.parametrize(("name", "header", "known"), KEYS)
def test_every_tool_and_every_key_has_its_row(name, header, known):
    rows = table(page(name), header)
    check_names((key for row in rows for key in re.findall(r"`(\w+)`", row[0])), known, f"docs/{name}.md")


def test_every_key_of_the_config_has_its_row():
    keys = {key for row in table(page("config"), "key") for key in re.findall(r"`([\w.]+)`", row[0])}
    assert {key.split(".")[0] for key in keys} == set(EvalConfig.model_fields)
    for section in ("ces", "discovery_engine"):
        inner = {key.split(".")[1] for key in keys if key.startswith(f"{section}.")}
        assert inner == set(type(getattr(EvalConfig(), section)).model_fields)


def test_the_values_of_what_a_criterion_states_are_named():
    values = {
        row[0].strip("`"): set(re.findall(r"`(\w+)`", row[1]))
        for row in table(page("extending"), "attribute")
    }
    assert values["unit"] == set(UNITS) and values["gate"] == set(GATES)
    assert values["severity_reason"] == set(CRITERION_SEVERITY_REASONS)


def test_every_rule_of_a_gate_is_named():
    rows = table(page("ci"), "key of a rule")
    named = set(re.findall(r"`(\w+)`", rows[0][1]))
    assert named == {get_args(kind.model_fields["rule"].annotation)[0] for kind in GATE_RULES}


def test_every_column_has_its_row():
    sections = {part.split("\n")[0]: part for part in page("columns").split("\n## ")}
    shared = [row[0] for row in table(sections["Metrics"], "column")]
    for name, kind in TABLES.items():
        found = [row[0] for row in table(sections[name], "column")]
        known = found if "(#metrics)" not in sections[name] else [*shared, *found]
        assert [column.strip("`") for column in known] == list(get_type_hints(kind)), name


def test_every_file_and_every_stage_of_a_failure_has_its_row():
    files = {row[0].strip("`").removesuffix("-*") for row in table(page("outputs"), "file")}
    assert files == {*TABLES, "aggregated_metrics.json", "run.json"}
    stages = [row[0].strip("`") for row in table(page("outputs"), "stage")]
    assert stages == list(get_args(Stage))


def test_the_default_criteria_are_the_ones_that_are_named():
    sentence = page("config").split("Without `--config`")[1].split("\n\n")[0]
    named = set(re.findall(r"`([a-z_0-9]+)`", sentence))
    assert named == {criterion.name for criterion in build_criteria(parse_config("{}"))}


@pytest.mark.parametrize("path", GENERATED)
def test_a_file_is_generated_anew_when_its_source_changes(path):
    assert (ROOT / path).read_text() == GENERATED[path](), "run: python docs/generate.py"


@pytest.mark.parametrize("name", shipped())
def test_every_criterion_is_described(name):
    kind = shipped()[name]
    assert read_docstring(kind).when, "its docstring has no paragraph `When to use: ...`"
    assert [field for field in own_fields(kind) if not field_meaning(kind, field)] == []


def messages():
    """Returns every text of the code, with NUL for what changes in it."""
    found = []
    for layer in ("schemas", "transforms", "pipeline"):
        for path in (ROOT / layer).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.JoinedStr):
                    found.append(
                        "".join(str(p.value) if isinstance(p, ast.Constant) else "\0" for p in node.values)
                    )
                elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                    found.append(node.value)
    return "\n".join(found)


def test_the_messages_of_troubleshooting_are_those_of_the_code():
    known = messages()
    rows = [row for part in page("troubleshooting").split("\n## ")[1:] for row in table(part, "message")]
    assert len(rows) > 50
    for message, _ in rows:
        parts = re.split(r"<[^>]*>", message.split("`")[1])
        assert [part for part in parts if part.strip(" :") and part not in known] == [], message
