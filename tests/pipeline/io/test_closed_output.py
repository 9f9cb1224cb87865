"""Commands whose standard output is closed by its reader, as by `head`."""

import json
import subprocess
import sys

import pytest

from turnwise.pipeline.cli.main import main

TURN = {"user": "Hi", "agent": "Hello", "expected": {"response": "Hello"}}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Returns a directory with the output of two versions."""
    place = tmp_path_factory.mktemp("closed")
    rows = [
        {"conversation_id": f"{version}-{i}", "eval_id": f"e{i}", "app_version": version, "turns": [TURN]}
        for version in ("v1", "v2")
        for i in range(10)
    ]
    (place / "logs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(["run", "--input", str(place / "logs.jsonl"), "--output", str(place / "out")]) == 0
    return place


@pytest.mark.parametrize(
    "command, status",
    [
        (["compare", "out", "--baseline", "v1", "--candidate", "v2", "--fail_on", "not_noninferior"], 1),
        (["report", "out"], 0),
        (["run", "--input", "logs.jsonl", "--output", "again", "--overwrite"], 0),
        (["--help"], 0),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_it_ends_quietly_with_its_own_status(place, command, status):
    code = "import os, signal; signal.signal(signal.SIGPIPE, signal.SIG_IGN)\n"
    code += "from turnwise.pipeline.cli.main import run_command; run_command()"
    child = subprocess.Popen(
        [sys.executable, "-c", code, *command],
        cwd=place,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        child.stdout.close()
        errors = child.stderr.read()
        assert child.wait(timeout=240) == status
    finally:
        child.kill()
        child.wait()
    assert "Broken pipe" not in errors and "Traceback" not in errors and "Exception ignored" not in errors
    assert all(line.startswith("turnwise: ") for line in errors.splitlines())


def test_streams_that_were_closed_before_take_nothing():
    code = "import sys; from turnwise.pipeline.cli.main import run_command\n"
    code += "try: run_command()\nfinally: sys.stderr.write('dropped')"
    command = ["sh", "-c", 'exec "$@" >&- 2>&-', "sh", sys.executable, "-c", code, "--version"]
    assert subprocess.run(command, timeout=240).returncode == 0
