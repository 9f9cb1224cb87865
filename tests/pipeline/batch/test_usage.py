"""Help, and what the user must put right: one line, exit 2, and nothing is written or deleted."""

import argparse
import gzip
import json
import os
import re
import subprocess
import sys
from importlib.metadata import version

import pytest

from tests.pipeline.logs import log, write
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


@pytest.fixture
def refused(turnwise, tmp_path):
    """Returns a function that checks that a run over a log is refused in one line with these words."""
    path = write(tmp_path / "log.jsonl", log(response=None))

    def check(*arguments, words=()):
        done = turnwise("run", "--input", path, *arguments, output=tmp_path / "out")
        assert (done.status, done.out, done.err.count("\n")) == (2, "", 1) and done.err.startswith(
            "turnwise: "
        )
        assert [word for word in words if word not in done.err] == []
        assert not (tmp_path / "out").exists()

    return check


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--inptu=x"], ["--inptu", "did you mean --input?"]),
        (["--out=x"], ["--out"]),
        (["--max_failure_ratio=1.5"], ["--max_failure_ratio", "1.5"]),
        (["--max_record_mb=inf"], ["--max_record_mb"]),
        (["--output_format=xml"], ["--output_format", "xml"]),
        (["--fail_on", "tool_trajectory"], ["--fail_on tool_trajectory", "tool_trajectory_avg_score"]),
        (["--fail_on", "evaluation_status"], ["it can be verdict, tool_trajectory_avg_score, "]),
        (["--fail_on", "turn_latency"], ["--fail_on turn_latency", "no threshold"]),
        (["--eval_cases", "no/such/file.json"], ["no/such/file.json", "no such file"]),
        (["--eval_cases", ""], ["--eval_cases", "an empty path"]),
        (["--input", ""], ["--input", "an empty path"]),
        (["--input", "missing/*.jsonl"], ["missing/*.jsonl"]),
        (["--config", "no/such/config.json"], ["--config no/such/config.json"]),
        (
            ["--store", "sqlite:///a.db", "--store", "postgresql://u:secret@h/d"],
            ["--store is given twice, and takes one value; a second store or warehouse needs a second"],
        ),
        (
            ["--baseline", "previous"],
            ["--baseline previous: is the last run of a --store that is a database"],
        ),
        (["--baseline=a", "--baseline", "b"], ["--baseline is given twice, and takes one value"]),
        (["--runner=DirectRunner", "--runner=FlinkRunner"], ["--runner is given twice"]),
        (["--baseline", "no/such/run"], ["no/such/run: is no output directory of a run: there is no such"]),
        (["--baseline", "out/{date}"], ["--baseline out/{date}: {date} needs --date"]),
        (["--runner=NopeRunner"], ["NopeRunner"]),
        (["--runner=DataflowRunner"], ["--output", "is on this machine"]),
    ],
)
def test_wrong_options(refused, arguments, words):
    refused(*arguments, words=words)


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ("{", ["config.json"]),
        ('{"criteria": {}}', ["criteria"]),
        ('{"criteria": {"response_match": 1}}', ["response_match", "did you mean response_match_score?"]),
        ('{"criteria": {"response_match_score": NaN}}', ["response_match_score"]),
        ('{"criteria": {"response_match_score": {"treshold": 1}}}', ["treshold", "did you mean threshold?"]),
        ('{"criteria": {"tool_trajectory_avg_score": {"match_type": "EXCAT"}}}', ["match_type"]),
        ('{"criteria": {"response_match_score": 1, "response_match_score": 0}}', ["duplicate key"]),
        ('{"ces": {"evaluation_metrics_thresholds": {"golden": {}}}}', ["golden"]),
        ("\xff\xfe", ["config.json", "not UTF-8"]),
    ],
)
def test_wrong_configs(refused, tmp_path, config, words):
    (tmp_path / "config.json").write_bytes(config.encode("latin-1"))
    refused("--config", tmp_path / "config.json", words=words)


def test_a_criterion_by_rubrics_needs_one_where_records_bring_none(refused, tmp_path):
    config = write(tmp_path / "config.json", {"criteria": {"rubric_based_tool_use_quality_v1": 0.5}})
    words = ["criteria.rubric_based_tool_use_quality_v1", "no rubric", "--eval_cases"]
    refused("--config", config, "--input_format", "openai_chat", words=words)


def test_places_that_hold_nothing_to_read(refused, turnwise, tmp_path):
    write(tmp_path / "log.tsv", log())
    for option in ("--input", "--eval_cases"):
        refused(option, tmp_path / "log.tsv", words=[f"{option} {tmp_path / 'log.tsv'}", "divided by tabs"])
    tables = {
        "table.jsonl": ("id,user,agent\n1,Hi,Ho", "is a CSV file with the columns id, user, agent; its name"),
        "bom.json": ('\ufeff"id","user"\n', "is a CSV file with the columns id, user; its name must end"),
        "tabs.txt": ("id\tuser\n1\tHi", "is a table divided by tabs; save it as CSV, divided by commas"),
        "book.xlsx": ("PK", "is a spreadsheet; save it as CSV, divided by commas"),
        "rows.parquet": ("id,user\n1,Hi", "is no Parquet file, although its name ends in .parquet"),
        "rows.jsonl": ("PAR1", "is a Parquet file; its name must end in .parquet"),
    }
    for name, (text, problem) in tables.items():
        write(tmp_path / name, text)
        refused("--input", tmp_path / name, words=[f"--input {tmp_path / name}: {problem}"])
        assert problem in turnwise("inspect", tmp_path / name).err
    write(tmp_path / "rows.csv", "id,text\n1,Hi\n2,Ho")
    done = turnwise("run", "--input", tmp_path / "rows.csv", output=tmp_path / "of_rows")
    told = " ".join(done.out.split())
    assert done.status == 1 and "a CSV file, keys id, text: nothing says what its columns hold; " in told
    assert "a `mapping` of the config that does" in told, "the sentence is whole"
    write(tmp_path / "folder/readme.txt", "none here")
    assert "no file in it" in turnwise("run", "--input", tmp_path / "folder", output=tmp_path / "out").err
    refused(
        "--input", tmp_path / "missing.jsonl", words=[f"--input {tmp_path / 'missing.jsonl'}", "no such file"]
    )
    assert "--input is missing" in turnwise("run", output=tmp_path / "out").err
    assert "--output is missing" in turnwise("run", "--input", tmp_path / "log.jsonl").err
    done = turnwise("run", "--input", tmp_path / "log.jsonl", output=tmp_path / "log.tsv")
    assert done.status == 2 and done.err.count("\n") == 1 and "c1" in (tmp_path / "log.tsv").read_text()


def test_a_wrong_option_leaves_the_earlier_run_in_place(turnwise, tmp_path):
    earlier = write(tmp_path / "out/run.json", {"run_id": "earlier"}).read_text()
    path = write(tmp_path / "log.jsonl", log())
    assert turnwise("run", "--input", path, "--overwrite", "--runner=No", output=tmp_path / "out").status == 2
    assert (tmp_path / "out/run.json").read_text() == earlier


CHAT = {
    "id": "c",
    "messages": [
        {"role": "user", "content": "q"},
        {"role": "assistant", "tool_calls": [{"function": {"name": name}} for name in ("get_x", "cancel_x")]},
    ],
    "tools": [{"name": "zork", "annotations": {"readOnlyHint": True}}],
    "info": {"task": {"actions": [{"name": "send_x"}, {"name": "toggle", "requestor": "user"}]}},
}
MESSAGES = [{"role": "a", "chunks": [{"toolCall": {"displayName": "book_x"}}]}]
ENTRY = {
    "jsonPayload": {"turnIndex": 1, "diagnosticInfo": {"messages": MESSAGES}},
    "labels": {"session_id": "s"},
}
OWN = {"name": "own", "effect": "handoff"}
CASE = {"eval_id": "e", "turns": [{"tool_calls": [{"name": "pay_x"}]}], "tools": [OWN]}
WRITE = {"effect": "write", "idempotent": False, "destructive": False, "source": "guess"}
TOOLS = {
    "book_x": WRITE,
    "cancel_x": {**WRITE, "idempotent": True, "destructive": True},
    "get_x": {"effect": "read", "source": "guess"},
    "own": {"effect": "handoff", "idempotent": True, "destructive": False, "source": "declared"},
    **dict.fromkeys(("pay_x", "send_x", "toggle"), WRITE),
    "zork": {"effect": "read", "source": "mcp"},
}


@pytest.fixture
def logs(tmp_path):
    write(tmp_path / "logs/a.jsonl", CHAT, "not json")
    write(tmp_path / "logs/c.json", CASE)
    write(tmp_path / "logs/deep/notes.txt", "no log")
    (tmp_path / "logs/deep/b.json.gz").write_bytes(gzip.compress(json.dumps([ENTRY]).encode()))
    return tmp_path / "logs"


@pytest.fixture
def tools(turnwise):
    """Returns a function that lists the tools of logs: status, tools and errors."""

    def listed(*arguments):
        done = turnwise("tools", *arguments)
        return done.status, json.loads(done.out)["tools"], done.err

    return listed


def test_tools_of_which_nothing_is_known_are_listed_to_be_filled_in(tools, tmp_path):
    calls = [{"tool_calls": [{"name": name} for name in ("zorp", "frobnicate", "pay_x")]}]
    zorp = {"name": "zorp", "description": "Returns a thing."}
    path = write(
        tmp_path / "log.jsonl",
        {"eval_id": "1", "turns": calls},
        {"eval_id": "2", "turns": [{"tool_calls": []}], "tools": [zorp]},
    )
    unknown = {"effect": None, "source": "guess"}
    status, found, err = tools(path)
    assert (status, found["frobnicate"]) == (0, unknown)
    assert found["zorp"] == {"effect": "read", "source": "guess"}
    assert err == "3 tools, 2 of them guessed by name\nunknown, set `effect`: frobnicate\n"
    for stated in (unknown, {**unknown, "effect": "handoff"}):
        config = write(tmp_path / "config.json", {"tools": {**found, "frobnicate": stated}})
        assert tools(path, "--config", config)[1]["frobnicate"]["effect"] == stated["effect"]


def test_every_tool_is_listed_with_its_effect_as_a_config(tools, logs, tmp_path):
    status, found, err = tools(logs)
    assert (status, found) == (0, TOOLS)
    assert "8 tools, 6 of them guessed by name\n1 record not read: " in err and "a.jsonl:2: " in err
    config = write(tmp_path / "config.json", {"tools": found})
    _, again, err = tools(logs, "--config", config)
    assert again == {name: {**tool, "source": "config"} for name, tool in TOOLS.items()}
    assert "8 tools, 0 of them guessed" in err
    assert set(tools(logs / "*.json")[1]) == {"pay_x", "own"}
    assert {"cancel_x", "own"} <= set(tools(logs / "a.jsonl", "--eval_cases", logs / "c.json")[1])


def test_a_name_with_the_marks_of_a_glob_is_only_itself(tools, tmp_path):
    path = write(tmp_path / "a.json", {**CHAT, "tools": [{**CHAT["tools"][0], "name": "*"}]})
    _, again, _ = tools(path, "--config", write(tmp_path / "config.json", {"tools": tools(path)[1]}))
    assert again["[*]"] == {"effect": "read", "source": "config"} and again["cancel_x"]["effect"] == "write"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "nowhere: no such file"),
        (["{logs}", "--inptu"], "unrecognized arguments: --inptu"),
        (["{logs}/../t.tsv"], "t.tsv: is a table divided by tabs; save it as CSV"),
    ],
)
def test_mistakes_are_told_in_one_line(turnwise, arguments, message, logs):
    write(logs.parent / "t.tsv", "a,b")
    done = turnwise("tools", *(text.format(logs=logs) for text in arguments))
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1) and message in done.err


def test_nothing_readable_is_a_failure(tools, tmp_path):
    write(tmp_path / "a.jsonl", "nothing")
    (tmp_path / "b.jsonl.gz").write_bytes(b"\x1f\x8bbroken")
    status, found, err = tools(tmp_path)
    assert (status, found) == (1, {}) and "2 records not read" in err


@pytest.mark.parametrize("named", ["", "0.jsonl", "*.jsonl"])
def test_what_is_no_regular_file_is_a_problem_and_does_not_block(turnwise, named, logs):
    os.mkfifo(logs / "0.jsonl")
    done = turnwise("tools", logs / named)
    assert "0.jsonl: is a FIFO; only regular files are read" in done.err
    assert done.status == (2 if named == "0.jsonl" else 1)
    assert ("cancel_x" in done.out) == (named != "0.jsonl")
