"""The examples of the pages work: command lines, JSON, and Python."""

import doctest
import json
import re
import shlex
import shutil
import subprocess
import sys
from contextlib import chdir
from datetime import date, timedelta
from pathlib import Path

import pytest

from tests.documentation import ROOT, SAMPLE, blocks, commands
from turnwise.pipeline.cli.decisions import (
    CALIBRATE_PARSER,
    COMPARE_PARSER,
    GATE_PARSER,
    REPORT_PARSER,
    STATUS_PARSER,
)
from turnwise.pipeline.cli.main import main
from turnwise.pipeline.cli.run_options import dates_of, parse_options
from turnwise.pipeline.cli.store import COMMANDS
from turnwise.pipeline.cli.tools import cases_parser, convert_parser, inspect_parser, judge_check_parser
from turnwise.pipeline.service.evaluations import create_evaluation
from turnwise.pipeline.service.runs import Service
from turnwise.pipeline.service.serve import parse_serve_options
from turnwise.pipeline.settings.options import subcommand_parser
from turnwise.pipeline.store.database import open_store
from turnwise.schemas.ces.tools import CreateEvaluationRequest
from turnwise.schemas.config import CesConfig
from turnwise.schemas.conversation import Record
from turnwise.transforms.decisions.gate import check_gate
from turnwise.transforms.formats.reading import CaseReader, LogReader
from turnwise.transforms.scoring.config import build_criteria, parse_config

OWN = re.compile(r"^(?:tail .* \| |\w+=\S+ )?(?:turnwise|\./run_local\.sh) (?P<arguments>.*)$")
TURNWISE = [
    one
    for one in commands()
    if (found := OWN.match(one.text)) and not found["arguments"].startswith(("stream", "test"))
]
PARSERS = {
    "report": REPORT_PARSER,
    "calibrate": CALIBRATE_PARSER,
    "judge-check": judge_check_parser(),
    "cases": cases_parser(),
    "convert": convert_parser(),
    "inspect": inspect_parser(),
    "compare": COMPARE_PARSER,
    "gate": GATE_PARSER,
    "status": STATUS_PARSER,
}
LABELS = next(block for block in blocks("jsonl") if block.page == "docs/calibration.md")
RUN_HERE = [
    one
    for one in TURNWISE
    if " serve " not in one.text
    and not re.search(r"--streaming|DataflowRunner|GOOGLE_API_KEY|--judge gemini|compare --store", one.text)
    and not re.search(r"gs://|bigquery://|otlp://", one.text)
]


def arguments(command):
    found = OWN.match(command.text)
    assert found
    return shlex.split(found["arguments"].replace("$PWD", str(ROOT)).split(" > ")[0])


@pytest.fixture
def place(tmp_path, unchanged):
    """Returns a directory with what the examples name: logs, eval cases, a config, a plugin, an ADK agent."""
    shutil.copytree(SAMPLE / "conversations", tmp_path / "logs")
    shutil.copytree(SAMPLE / "cases", tmp_path / "cases")
    shutil.copy(SAMPLE / "config.json", tmp_path)
    (tmp_path / "conversations.jsonl").write_text(canonical_conversation())
    for name in ("labels", "ana", "bo"):
        (tmp_path / f"{name}.jsonl").write_text(LABELS.text)
    (tmp_path / "daily.sql").write_text("SELECT * FROM logs.turns WHERE day = '{date}'")
    plugin = next(block for block in blocks("python") if block.page == "docs/extending.md")
    (tmp_path / "my_criteria.py").write_text(plugin.text)
    alerts = next(block for block in blocks("json") if block.page == "docs/nightly.md")
    (tmp_path / "alerts.json").write_text(alerts.text)
    history = tmp_path / "waiter/.adk/eval_history"
    history.mkdir(parents=True)
    said = {"user_content": {"role": "user", "parts": [{"text": "Hi"}]}}
    said |= {"final_response": {"role": "model", "parts": [{"text": "Hello"}]}}
    per_turn = [{"actual_invocation": said, "expected_invocation": said}]
    ended = {"eval_set_id": "desk", "eval_id": "greeting", "final_eval_status": 1, "session_id": "s1"}
    ended |= {"overall_eval_metric_results": [], "eval_metric_result_per_invocation": per_turn}
    result = {"eval_set_result_id": "app_desk_1.0", "eval_set_id": "desk", "eval_case_results": [ended]}
    (history / "waiter_1.evalset_result.json").write_text(json.dumps(result))
    cases = {"eval_set_id": "desk", "eval_cases": [{"eval_id": "greeting", "conversation": [said]}]}
    (tmp_path / "waiter/desk.evalset.json").write_text(json.dumps(cases))
    return tmp_path


def canonical_conversation():
    return next(block.text for block in blocks("jsonl") if block.page == "README.md")


def test_there_are_commands():
    assert len(TURNWISE) >= 12 and len(RUN_HERE) >= 6


@pytest.mark.parametrize("command", TURNWISE, ids=repr)
def test_every_command_line_is_accepted(command, place):
    name, *rest = arguments(command)
    with chdir(place):
        if name == "serve":
            assert parse_serve_options(rest, {}) is not None
        elif name == "run":
            # Beam looks up a bucket for Dataflow; batch jobs need a key, unless estimated.
            words = [word.replace("DataflowRunner", "DirectRunner") for word in rest]
            settings, _ = parse_options([*words, *(["--estimate"] if "--judge_batch" in rest else [])])
            assert settings.input
        elif name in PARSERS:
            assert PARSERS[name].parse_args(rest)
        elif name == "store":
            assert subcommand_parser("store", rest[0], COMMANDS[rest[0]]).parse_args(rest[1:]).store
        else:
            assert name in ("tools", "labels", "--version")


def fill_store(address):
    """Puts one eval case into a new store."""
    content = {"displayName": "x", "golden": {"turns": [{"steps": [{"userInput": {"text": "hi"}}]}]}}
    request = {"parent": "projects/p/locations/l/apps/a", "evaluationId": "one", "evaluation": content}
    store = open_store(address, create=True)
    try:
        create_evaluation(Service(store, "tester"), CreateEvaluationRequest.from_value(request))
    finally:
        store.close()


@pytest.fixture(scope="module")
def scored(tmp_path_factory):
    """Returns a directory for the runs that several commands begin with."""
    return tmp_path_factory.mktemp("scored")


def make_runs(directories, scored):
    """Makes runs, or copies those that an earlier command began with."""
    kept = [scored / f"{number}_of_{len(directories)}" for number in range(len(directories))]
    if not kept[0].exists():
        score(directories)
        for directory, copy in zip(directories, kept, strict=True):
            shutil.copytree(directory, copy)
        return
    for directory, copy in zip(directories, kept, strict=True):
        shutil.copytree(copy, directory)


def score(directories):
    """Scores the sample into one directory, or one conversation of two versions into two."""
    if len(directories) == 1:
        options = ["--input", "logs", "--eval_cases", "cases", "--config", "config.json"]
        assert main(["run", *options, "--output", directories[0]]) == 0
        return
    for version, directory in enumerate(directories, 1):
        log = json.loads(canonical_conversation()) | {"app_version": f"v{version}"}
        Path(f"v{version}.jsonl").write_text(json.dumps(log))
        assert main(["run", "--input", f"v{version}.jsonl", "--output", directory]) == 0


def make_gated_run(directory, scored):
    """Makes a run of the sample, or of a date, with one of the date before it."""
    if not re.search(r"\d{4}-\d\d-(\d\d)$", directory):
        make_runs([directory], scored)
        return
    day = date.fromisoformat(Path(directory).name)
    dates = ["--date", f"{day - timedelta(1)}..{day}"]
    options = ["--input", "logs/dt={date}/", "--config", "config.json", "--output", "out/{date}", *dates]
    make_logs_of_dates(options)
    assert main(["run", *options, "--overwrite", "--store", "sqlite:///nights.db"]) == 0


def make_logs_of_dates(argv):
    """Puts logs of every date of a command line where it reads them."""
    named, before = dates_of(argv)
    assert named
    for day in (*named, *before):
        place = Path(f"logs/dt={day}")
        place.mkdir(parents=True, exist_ok=True)
        (place / "log.jsonl").write_text(canonical_conversation())


@pytest.mark.parametrize("command", RUN_HERE, ids=repr)
def test_what_runs_here_runs(command, place, scored, capsys):
    with chdir(place):
        if "sqlite:///evals.db" in command.text:
            fill_store("sqlite:///evals.db")
        name, *rest = arguments(command)
        if name == "calibrate":
            make_runs([CALIBRATE_PARSER.parse_args(rest).out], scored)
        if name == "compare":
            make_runs(COMPARE_PARSER.parse_args(rest).runs, scored)
        if name == "report":
            make_runs(REPORT_PARSER.parse_args(rest).out, scored)
        if name == "gate":
            make_gated_run(GATE_PARSER.parse_args(rest).output, scored)
            Path("gate.json").write_text('{"gate": {"rules": [{"rule": "coverage", "at_least": 0.1}]}}')
        if re.search("(--from|convert|labels queue) out/sample", command.text):
            make_runs(["out/sample"], scored)
        if name == "labels":
            Path(rest[rest.index("--output") + 1]).unlink(missing_ok=True)
        if "--date" in rest:
            make_logs_of_dates(rest)
        # The logs of the sample hold a record that cannot be read; a new store has nothing to delete, and
        # not the cases of the logs.
        lost = "--fail_on|inspect logs|--from logs|store delete|--eval_cases sqlite"
        has_lost = re.search(lost, command.text)
        assert main(arguments(command)) == (1 if has_lost else 0)
    assert capsys.readouterr().out


def test_other_commands_name_modules_and_scripts_that_exist():
    for command in commands():
        for module in re.findall(r"-m ([\w.]+)", command.text):
            path = ROOT / module.replace(".", "/")
            is_there = path.with_suffix(".py").is_file() or (path / "__main__.py").is_file()
            assert module in ("sphinx", "turnwise", "pytest") or is_there
        for script in re.findall(r"python (\S+\.py)", command.text):
            assert (ROOT / script).is_file()


@pytest.mark.parametrize("block", blocks("json"), ids=repr)
def test_every_json_example_is_accepted(block):
    value = json.loads(block.text)
    if "criteria" in value:
        config = parse_config(block.text)
        criteria = build_criteria(config)
        assert criteria
        check_gate(config.gate, criteria)
    elif "mcpServers" in value:
        check_client(value["mcpServers"]["turnwise"])
    else:
        found = CaseReader(CesConfig()).read(Record("example", 1, block.text.encode()))
        assert found and not any(isinstance(one, ValueError) for one in found)


def check_client(client):
    if "command" in client:
        options = parse_serve_options(client["args"][1:], {})
        assert (client["command"], client["args"][0]) == ("turnwise", "serve") and options and options.stdio
    else:
        default = parse_serve_options(["--store", "sqlite:///s.db"], {})
        assert default and client["url"] == f"http://{default.host}:{default.port}/mcp"


@pytest.mark.parametrize("block", [one for one in blocks("jsonl") if one != LABELS], ids=repr)
def test_every_log_example_is_read(block):
    for number, line in enumerate(block.text.splitlines(), 1):
        found = LogReader().read(Record("example", number, line.encode()))
        assert found and not any(isinstance(one, ValueError) for one in found)


def test_examples_import_public_names_only():
    assert [
        b for b in blocks("python") if re.search(r"turnwise\.(schemas|transforms|pipeline)", b.text)
    ] == []


@pytest.mark.parametrize("name", sorted({block.page for block in blocks("python")}))
def test_the_python_of_a_page_runs_from_top_to_bottom(name, place):
    scope = {}
    with chdir(place):
        for block in blocks("python"):
            if block.page == name:
                scope.update(run_session(block, scope) if is_session(block) else run_alone(block))


def test_the_cells_of_the_notebook_run_and_hold_no_output(place):
    notebook = json.loads((ROOT / "docs/notebook.ipynb").read_text())
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    scope = {}
    with chdir(place):
        for cell in cells:
            assert cell["outputs"] == []
            exec("".join(cell["source"]), scope)
    assert (place / "report.html").is_file()
    assert [row["conversation_id"] for row in scope["failing"]] == ["order-9-v2"]


def is_session(block):
    return block.text.startswith(">>>")


def run_session(block, scope):
    session = doctest.DocTestParser().get_doctest(block.text, scope, block.page, block.page, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert runner.run(session, clear_globs=False).failed == 0
    return session.globs


def run_alone(block):
    """Runs an example as a file of its own, without the names of earlier examples."""
    scope = {"__name__": "example"}
    exec(block.text, scope)
    return scope


@pytest.mark.parametrize("block", [one for one in blocks("python") if not is_session(one)], ids=repr)
def test_an_example_imports_what_its_functions_use(block):
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "F", "-"]
    done = subprocess.run(command, input=block.text, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


SHOWN = [block for block in blocks("text") if block.page == "README.md"]


def test_the_sample_prints_what_the_pages_show(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "110")
    script = (ROOT / "run_local.sh").read_text(encoding="utf-8")
    names = {"input": "conversations", "eval_cases": "cases", "config": "config.json"}
    assert all(f"--{name} $data/{path}" in script for name, path in names.items())
    assert "--judge local" in script
    options = [word for name, path in names.items() for word in (f"--{name}", str(SAMPLE / path))]
    with chdir(tmp_path):
        assert main(["run", *options, "--judge", "local", "--output", "out/sample"]) == 0
        assert 'turnwise" report out/sample' in script and main(["report", "out/sample"]) == 0
        check_shown(SHOWN[0], capsys.readouterr().out)
        assert main(["compare", "out/sample", "--baseline", "v1", "--candidate", "v2"]) == 0
    (shown,) = (block for block in blocks("text") if block.page == "docs/comparison.md")
    check_shown(shown, capsys.readouterr().out)


def test_a_first_conversation_prints_what_the_readme_shows(place, capsys):
    (log,) = (block for block in blocks("jsonl") if block.page == "README.md")
    (place / "conversations.jsonl").write_text(log.text)
    with chdir(place):
        assert main(["run", "--input", "conversations.jsonl", "--output", "out/first"]) == 0
    check_shown(SHOWN[1], capsys.readouterr().out)


def test_labels_print_what_the_page_shows(place, scored, capsys):
    with chdir(place):
        make_runs(["out/sample"], scored)
        capsys.readouterr()
        assert main(["calibrate", "out/sample", "--labels", "labels.jsonl"]) == 0
    (shown,) = (block for block in blocks("text") if block.page == LABELS.page)
    check_shown(shown, capsys.readouterr().out)


def test_tools_print_what_the_page_shows(place, capsys):
    inspected, converted = (block for block in blocks("text") if block.page == "docs/tools.md")
    with chdir(place):
        assert main(["inspect", "conversations.jsonl"]) == 0
        check_shown(inspected, capsys.readouterr().out)
        assert main(["convert", "conversations.jsonl", "messages.jsonl", "--to", "openai_chat"]) == 0
        check_shown(converted, capsys.readouterr().out, 2)


def check_shown(block, out, most=6):
    """Compares rows but for their spaces, because columns are as wide as their widest row."""
    printed = [" ".join(line.split()) for line in out.splitlines()]
    rows = [
        " ".join(line.split()) for line in block.text.splitlines() if not line.startswith(("...", "files:"))
    ]
    assert len(rows) >= most and [row for row in rows if row not in printed] == []
