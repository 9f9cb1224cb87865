"""A plugin whose functions raise, end the process or return nothing: one line, and never a pass."""

import os
from pathlib import Path

import pytest

from tests import forked
from tests.tables import files_of, rows_of

TURN = '{"user": "Hi", "agent": "Hello", "expected": {"response": "Hello"}}'
LOG = f'{{"conversation_id": "c1", "turns": [{TURN}]}}\n'
START = """
from typing import ClassVar
from turnwise.pipeline.io.sinks import SinkKind, register_sink
from turnwise.pipeline.io.sinks import JsonLinesWriter
from turnwise.transforms.criteria.base import JudgedCriterion, MeasuredCriterion
from turnwise.transforms.formats.registry import Format, register_format
from turnwise.transforms.judging.judges import JudgeKind, register_judge
class Client:
    async def generate(self, request, count): NOW()
    async def aclose(self): open("closed", "w").close()
def leave(*given): raise SystemExit(0)
def fail(*given): raise RuntimeError("it\\nbroke")
def nothing(*given): return None
def connect(*given): return Client()
"""
SINK = "register_sink(SinkKind(name='mine', help='', schemes=('mine',), open={}))"
JUDGE = "register_judge(JudgeKind(name='mine', help='', model='m', {}))"
STORE, OWN = ["--store", "mine://x"], ["--judge", "mine", "--judge_cache", "none"]
REFUSED = [
    (SINK.format("leave"), STORE, "sink mine: open: SystemExit: 0"),
    (SINK.format("fail"), STORE, "sink mine: open: RuntimeError: it broke"),
    (SINK.format("nothing"), STORE, "sink mine: open returned NoneType, which has no method write_table"),
    (JUDGE.format("connect=connect, check=leave"), OWN, "judge mine: check: SystemExit: 0"),
    (JUDGE.format("connect=connect, is_available=leave"), [], "judge mine: is_available: SystemExit: 0"),
    (JUDGE.format("connect=leave"), OWN, "judge mine: connect: SystemExit: 0"),
    (JUDGE.format("connect=nothing"), OWN, "judge mine: connect returned no Backend: "),
    (JUDGE.format("connect=connect, access=leave"), OWN, "judge mine: access: SystemExit: 0"),
]


def run(
    folder: Path,
    plugin: str,
    *arguments: str,
    command: str = "run",
    criterion: str = "final_response_match_v2",
):
    (folder / "own.py").write_text(START + plugin)
    (folder / "log.jsonl").write_text(LOG)
    (folder / "config.json").write_text(f'{{"criteria": {{"{criterion}": 0.5}}}}')
    given = ["log.jsonl"]
    if command == "run":
        given = ["--input", "log.jsonl", "--output", "out", "--config", "config.json"]
    start = [command, *given, "--plugin", "own.py"]
    secrets = ("GOOGLE_API_KEY", "GEMINI_API_KEY")
    environ = {name: value for name, value in os.environ.items() if name not in secrets}
    return forked.run_text([*start, *arguments], folder, environ)


@pytest.mark.parametrize(("plugin", "arguments", "message"), REFUSED)
def test_is_refused_before_the_run(plugin, arguments, message, tmp_path):
    done = run(tmp_path, plugin, *arguments)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith(f"turnwise: {message}")
    assert not (tmp_path / "out").exists()


def test_a_sink_that_cannot_be_reached_is_named(tmp_path):
    done = run(
        tmp_path, "def refuse(*given): raise TimeoutError('no answer')\n" + SINK.format("refuse"), *STORE
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "turnwise: sink mine: open: TimeoutError: no answer\n"


def test_a_format_that_ends_the_process_is_a_record_not_read(tmp_path):
    plugin = "register_format(Format(name='mine', help='', recognises=leave, read_log=nothing))"
    tools = run(tmp_path, plugin, command="tools")
    assert tools.returncode == 1 and "1 record not read" in tools.stderr
    done = run(tmp_path, plugin, "--judge", "none")
    assert done.returncode == 1 and "1 record could not be read as a conversation (SystemExit)" in done.stdout
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("kind", ["Measured", "Judged"])
def test_a_criterion_that_ends_the_process_is_a_failure(kind, tmp_path):
    method = (
        "def score(self, sample, pair)" if kind == "Measured" else "async def judge(self, sample, pair, ask)"
    )
    plugin = f"class Own({kind}Criterion):\n    name: ClassVar[str] = 'own'\n    {method}: leave()\n"
    plugin += JUDGE.format("connect=connect")
    done = run(tmp_path, plugin, *OWN, criterion="own")
    assert (
        done.returncode == 1 and "1 score could not be made, because of an error (SystemExit)" in done.stdout
    )
    assert "Traceback" not in done.stderr


def test_details_with_numpy_values_are_written(tmp_path):
    plugin = (
        "import numpy\nclass Own(MeasuredCriterion):\n    name: ClassVar[str] = 'own'\n"
        "    def score(self, sample, pair):\n"
        "        return Score(1.0, details={'a': numpy.bool_(True), 'b': numpy.int64(2)})\n"
        "from turnwise.schemas.score import Score\n"
    )
    done = run(tmp_path, plugin, "--judge", "none", criterion="own")
    assert (done.returncode, done.stderr) == (0, "")
    rows = rows_of(tmp_path / "out", "scores")
    assert [row["details"] for row in rows if row["turn_index"] == 0] == [{"a": True, "b": 2}]


@pytest.mark.parametrize("error", ["SystemExit(0)", "GeneratorExit()", "type('Odd', (BaseException,), {})()"])
def test_a_judge_that_ends_the_process_leaves_conversations_without_a_score(error, tmp_path):
    plugin = f"def NOW(): raise {error}\n" + JUDGE.format("connect=connect")
    done = run(tmp_path, plugin, *OWN)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "5 answers" in done.stdout and "unusable: other" in done.stdout
    said = "".join(path.read_text() for path in files_of(tmp_path / "out", "scores"))
    assert error[:4] in said or "Odd" in error
    assert (tmp_path / "closed").exists()


SERVICE = (
    "class Sink:\n    def __init__(self, *given): pass\n    def write_table(self, rows, table, part=''): "
)
WRITER = "register_sink(SinkKind(name='mine', help='', read=nothing, writer={}))"
FORMAT = ["--output_format", "mine"]
WITHOUT_A_GUARD = [
    (SERVICE + "leave()\n" + SINK.format("Sink"), STORE),
    (
        "import apache_beam\n"
        + SERVICE
        + "rows | table + part >> apache_beam.Map(leave)\n"
        + SINK.format("Sink"),
        STORE,
    ),
    (WRITER.format("leave"), FORMAT),
    (
        "class Writer:\n    def __init__(self, *given): pass\n    write = leave\n" + WRITER.format("Writer"),
        FORMAT,
    ),
]


@pytest.mark.parametrize(("plugin", "arguments"), WITHOUT_A_GUARD)
def test_a_hook_without_a_guard_ends_the_command_with_its_place(plugin, arguments, tmp_path):
    done = run(tmp_path, plugin, *arguments, "--judge", "none")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert "own.py:" in done.stderr and done.stderr.endswith(": SystemExit: 0\n")


@pytest.mark.parametrize("read", ["leave", "fail", "nothing"])
def test_a_sink_whose_rows_cannot_be_read_back_is_an_error(read, tmp_path):
    plugin = f"register_sink(SinkKind(name='mine', help='', writer=JsonLinesWriter, read={read}))"
    done = run(tmp_path, plugin, "--output_format", "mine", "--judge", "none")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert ": cannot be read: sink mine: read: " in done.stderr
