import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from turnwise.pipeline.cli.main import main

CHAT = {
    "id": "c",
    "messages": [
        {"role": "user", "content": "q"},
        {
            "role": "assistant",
            "tool_calls": [{"function": {"name": "get_x"}}, {"function": {"name": "cancel_x"}}],
        },
    ],
    "tools": [{"name": "zork", "annotations": {"readOnlyHint": True}}],
    "info": {
        "task": {"actions": [{"name": "send_x", "kwargs": {}}, {"name": "toggle", "requestor": "user"}]}
    },
}
ENTRY = {
    "jsonPayload": {
        "turnIndex": 1,
        "diagnosticInfo": {"messages": [{"role": "a", "chunks": [{"toolCall": {"displayName": "book_x"}}]}]},
    },
    "labels": {"session_id": "s"},
}
CASE = {
    "eval_id": "e",
    "turns": [{"tool_calls": [{"name": "pay_x"}]}],
    "tools": [{"name": "own", "effect": "handoff"}],
}


@pytest.fixture
def logs(tmp_path):
    folder = tmp_path / "logs"
    (folder / "deep").mkdir(parents=True)
    (folder / "a.jsonl").write_text(json.dumps(CHAT) + "\nnot json\n")
    (folder / "deep" / "b.json.gz").write_bytes(gzip.compress(json.dumps([ENTRY]).encode()))
    (folder / "c.json").write_text(json.dumps(CASE))
    (folder / "notes.txt").write_text("no log")
    return folder


def listed(capsys, *arguments):
    status = main(["tools", *map(str, arguments)])
    out, err = capsys.readouterr()
    return status, json.loads(out)["tools"], err


WRITE = {"effect": "write", "idempotent": False, "destructive": False, "source": "guess"}


def test_tools_of_which_nothing_is_known_are_listed_to_be_filled_in(tmp_path, capsys):
    log = tmp_path / "log.jsonl"
    cases = [
        {"eval_id": "1", "turns": [{"tool_calls": [{"name": n} for n in ("zorp", "frobnicate", "pay_x")]}]},
        {
            "eval_id": "2",
            "turns": [{"tool_calls": []}],
            "tools": [{"name": "zorp", "description": "Returns a thing."}],
        },
    ]
    log.write_text("\n".join(map(json.dumps, cases)))
    status, tools, err = listed(capsys, log)
    unknown = {"effect": None, "source": "guess"}
    assert (status, tools["frobnicate"]) == (0, unknown)
    assert tools["zorp"] == {"effect": "read", "source": "guess"}
    assert err == "3 tools, 2 of them guessed by name\nunknown, set `effect`: frobnicate\n"
    config = tmp_path / "config.json"
    for stated in (unknown, {**unknown, "effect": "handoff"}):
        config.write_text(json.dumps({"tools": {**tools, "frobnicate": stated}}))
        assert listed(capsys, log, "--config", config)[1]["frobnicate"]["effect"] == stated["effect"]


def test_every_tool_with_its_effect_and_where_that_is_from(logs, capsys):
    status, tools, err = listed(capsys, logs)
    assert status == 0
    assert tools == {
        "book_x": WRITE,
        "cancel_x": {**WRITE, "idempotent": True, "destructive": True},
        "get_x": {"effect": "read", "source": "guess"},
        "own": {"effect": "handoff", "idempotent": True, "destructive": False, "source": "declared"},
        "pay_x": WRITE,
        "send_x": WRITE,
        "toggle": WRITE,
        "zork": {"effect": "read", "source": "mcp"},
    }
    assert "8 tools, 6 of them guessed by name\n1 record not read: " in err
    assert "a.jsonl:2: " in err


def test_what_it_prints_is_a_config(logs, tmp_path, capsys):
    assert main(["tools", str(logs)]) == 0
    config = tmp_path / "config.json"
    config.write_text(capsys.readouterr().out)
    _, again, err = listed(capsys, logs, "--config", config)
    assert {tool["source"] for tool in again.values()} == {"config"}
    assert "8 tools, 0 of them guessed" in err
    _, before, _ = listed(capsys, logs)
    for tool in (*again.values(), *before.values()):
        del tool["source"]
    assert again == before


def test_a_name_with_the_marks_of_a_glob_is_only_itself(tmp_path, capsys):
    log, config = tmp_path / "a.json", tmp_path / "config.json"
    log.write_text(json.dumps({**CHAT, "tools": [{"name": "*", "annotations": {"readOnlyHint": True}}]}))
    config.write_text(json.dumps({"tools": listed(capsys, log)[1]}))
    _, again, _ = listed(capsys, log, "--config", config)
    assert again["[*]"] == {"effect": "read", "source": "config"}
    assert again["cancel_x"]["effect"] == "write"


def test_files_globs_and_formats(logs, capsys):
    assert set(listed(capsys, logs / "c.json")[1]) == {"pay_x", "own"}
    assert set(listed(capsys, logs / "*.json")[1]) == {"pay_x", "own"}
    assert "cancel_x" in listed(capsys, logs / "a.jsonl", "--input_format", "openai_chat")[1]
    assert {"cancel_x", "own"} <= set(listed(capsys, logs / "a.jsonl", "--eval_cases", logs / "c.json")[1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "the following arguments are required: LOG"),
        (["nowhere"], "nowhere: no such file"),
        (["{logs}/notes.txt", "--config", "nowhere"], "--config nowhere: No such file"),
        (["{logs}", "--inptu"], "unrecognized arguments: --inptu"),
        (["{logs}", "--input_format", "x"], "--input_format x: unknown input format"),
        (["{folder}/table.tsv"], "table.tsv: is none of .json"),
    ],
)
def test_mistakes_are_told_in_one_line(arguments, message, logs, tmp_path, capsys):
    (tmp_path / "table.tsv").write_text("a,b")
    assert main(["tools", *(text.format(logs=logs, folder=tmp_path) for text in arguments)]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and message in err


def test_nothing_readable_is_a_failure(tmp_path, capsys):
    (tmp_path / "a.jsonl").write_text("nothing\n")
    (tmp_path / "b.jsonl.gz").write_bytes(b"\x1f\x8bbroken")
    status, tools, err = listed(capsys, tmp_path)
    assert (status, tools) == (1, {})
    assert "2 records not read" in err


@pytest.mark.parametrize("named", ["", "0.jsonl", "*.jsonl"])
def test_what_is_no_regular_file_is_a_problem_and_does_not_block(named, logs):
    os.mkfifo(logs / "0.jsonl")
    root = Path(__file__).parents[3]
    command = [sys.executable, "-m", "turnwise", "tools", str(logs / named)]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=120)
    assert "0.jsonl: is a FIFO; only regular files are read" in done.stderr
    assert done.returncode == (2 if named == "0.jsonl" else 1)
    assert ("cancel_x" in done.stdout) == (named != "0.jsonl")


def test_help_names_the_command(capsys):
    assert main(["tools", "--help"]) == 0
    assert "usage: turnwise tools" in capsys.readouterr().out
    assert main([]) == 2
    assert "  tools " in capsys.readouterr().out


def test_it_does_without_beam(logs):
    command = f"main(['tools', {str(logs)!r}])"
    check = "assert 'apache_beam' not in sys.modules"
    code = f"import sys; from turnwise.pipeline.cli.main import main; {command}; {check}"
    root = Path(__file__).parents[3]
    assert subprocess.run([sys.executable, "-c", code], cwd=root, stdout=subprocess.DEVNULL).returncode == 0
