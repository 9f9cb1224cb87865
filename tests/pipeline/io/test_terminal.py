"""Nothing that comes from logs, names or errors steers the terminal."""

import json
import logging
import os
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import forked
from turnwise.pipeline.io.terminal import PrintableFormatter, clipped, columns, padded, printable
from turnwise.pipeline.report.terminal import version_table
from turnwise.pipeline.streaming.local.run import tables


@given(st.text(st.characters()), st.integers(1, 40))
def test_no_text_steers_or_is_too_wide(text, width):
    for shown in (printable(text), printable(text, width), clipped(printable(text), width)):
        assert not [char for char in shown if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp")]
    assert columns(printable(text, width)) <= width
    assert columns(clipped(printable(text), width)) <= width
    assert columns(padded(clipped(printable(text), width), width)) == width


EVIL = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202e\u200b\r\nforged  100%"


def metric(version):
    row = dict.fromkeys(("no_score", "scored", "pass_count", "conversations", "turns", "sampled_out"), 1)
    rest = {"pass_rate": None, "mean": None, "repeats": None}
    return {**row, **rest, "app_version": version, "criterion": "verdict", "level": "conversation"}


def test_versions_that_look_alike_are_told_apart_and_stand_in_columns():
    long = [f"agent-{'x' * 500}-{number}-{'y' * 500}" for number in (1, 2)]
    text = version_table([metric(version) for version in (EVIL, *long, "서울")], [], {}, width=300)
    lines = text.split("\n")
    assert len(lines) == len(version_table([metric("v")], [], {}).split("\n"))
    assert "-1-" in lines[0] and "-2-" in lines[0] and columns(lines[0]) < 250
    assert printable(text.replace("\n", "")) == text.replace("\n", "")


def test_many_versions_are_the_last_columns_and_one_line_about_the_others():
    rows = [metric(f"v{number}") for number in range(2_000)]
    *table, others = version_table(rows, [], {"v3": 2, "v1999": 1}).split("\n")
    assert table[0].split() == [f"v{number}" for number in range(1_992, 2_000)]
    assert table[-1].split()[3:] == ["0"] * 7 + ["1"]
    assert others == (
        "1992 other app versions: 1992 conversations, 1992 of 1992 passed, "
        "rejected conversations, errors 2 (see metrics_by_app_version)"
    )
    assert len(version_table(rows[:8], [], {}).split("\n")) == len(table)
    head = version_table(rows, [], {}, sides=("v3", "v1999")).split("\n")[0]
    assert head.split()[2:] == ["v3", "v1999", *(f"v{number}" for number in range(1_993, 1_999))]


def test_the_live_screen_is_printable():
    window = {"window_start": "2026", "window_end": "2027"}
    rows = [{**metric(EVIL), **window}]
    lines = tables([EVIL], rows, rows, ["response_match_score"], {"failures_by_version": {EVIL: 1}}, 80)
    assert lines and all(line == printable(line) for line in lines)


def test_logs_are_printable():
    record = logging.LogRecord("x", logging.WARNING, "f", 1, "rejected: %s", (EVIL,), None)
    assert PrintableFormatter("%(message)s").format(record) == f"rejected: {printable(EVIL)}"
    try:
        raise ValueError(EVIL)
    except ValueError:
        record.exc_info = sys.exc_info()
    lines = PrintableFormatter("%(message)s").format(record).split("\n")
    assert len(lines) > 3 and all(line == printable(line) for line in lines)


def test_a_request_that_beam_repeats_is_one_line():
    said = (
        "waiting for 4 s before retrying list because: OSError: no route\n Traceback for above exception:\n%s"
    )
    record = logging.LogRecord("apache_beam.utils.retry", logging.WARNING, "retry.py", 1, said, ("x",), None)
    shown = "waiting for 4 s before retrying list because: OSError: no route"
    assert PrintableFormatter("%(message)s").format(record) == shown


@pytest.fixture(scope="module")
def evil(tmp_path_factory):
    """Returns a directory whose names, and whose logs, hold what steers a terminal."""
    root = tmp_path_factory.mktemp("evil") / "\x1b[31mred\u202e\nlogs"
    root.mkdir()
    turn = {"user": "u", "agent": "a", "latency_ms": 5, "expected": {"response": "b"}}
    call = {"name": EVIL, "args": {EVIL: EVIL}}
    rows = [
        {"conversation_id": EVIL, "app_version": EVIL, "turns": [{**turn, "tool_calls": [call]}]},
        {"conversation_id": "\ud83d", "app_version": "\ud83d", "turns": [turn]},
        {"conversation_id": "rejected", "app_version": EVIL, "eval_id": EVIL, "turns": [turn]},
        {"conversation_id": EVIL, "turns": EVIL},
    ]
    (root / f"{EVIL[:9]}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows) + EVIL)
    (root / "config.json5").write_text(json.dumps({"criteria": {EVIL: 1}}))
    (root / "cases.jsonl").write_text(json.dumps({"eval_id": "e", "turns": [{"user": "u"}]}) + "\n")
    (root / "good.json5").write_text('{"criteria": {"response_match_score": 0.8, "turn_latency": {}}}')
    return root


COMMANDS = {
    "stream": ("run", "--streaming", "--max_run_time", "6", "--input", "."),
    "tools": ("tools", "."),
    "option": ("run", f"--{EVIL}"),
    "config": ("run", "--input", ".", "--config", "config.json5"),
    "store": ("run", "--input", ".", "--store", "postgresql:///db?host=/none/\x1b[31m"),
    "not UTF-8": ("run", "--input", os.fsdecode(b"caf\xe9.jsonl")),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_prints_no_control_byte_but_line_ends(evil, tmp_path, name):
    command = list(COMMANDS[name])
    encoding = "ascii" if name in ("stream", "config") else "utf-8"
    if COMMANDS[name][0] == "run":
        command += ["--output", str(tmp_path / "out\x1b[31m"), "--judge", "none"]
        command += [] if name == "config" else ["--config", "good.json5"]
    done = forked.run(command, evil, {**os.environ, "PYTHONIOENCODING": encoding})
    for printed in (done.stdout, done.stderr):
        text = printed.decode(encoding)
        assert printable(text.replace("\n", ""), sys.maxsize) == text.replace("\n", ""), printed
        assert "\nforged" not in text
        assert "Traceback" not in text
    assert done.returncode in (0, 1, 2) and done.stdout + done.stderr
