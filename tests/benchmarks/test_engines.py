"""The command that tries other engines: what cannot be run, or fails, is no success."""

import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest

from benchmarks.engines.__main__ import cell, main, run_cases
from benchmarks.engines.cases import Case
from benchmarks.engines.engines import Engine, Tools
from benchmarks.engines.runs import CaseError

NO_TOOLS = Tools(None, None, None, Path("/nowhere"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--engine", "zzz"], "--engine zzz: is in none of: several processes; Beam's job service; prism"),
        (["--case", "kafka", "--case", "zzz"], "--case zzz: is in none of: "),
        (["--turns", "0"], "must be a number of 1 or more, not 0"),
        (["--turns", "-5"], "must be a number of 1 or more, not -5"),
    ],
)
def test_a_wrong_use_runs_nothing(arguments, said, capsys):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    printed = capsys.readouterr()
    assert ended.value.code == 2 and said in printed.err and not printed.out


def test_that_nothing_could_be_run_is_no_success(tmp_path, capsys):
    assert main(["--jars", str(tmp_path), "--engine", "Flink", "--case", "KAFKA"]) == 3
    rows = [line for line in capsys.readouterr().out.splitlines() if "not run: no " in line]
    assert rows[0].startswith("| flink | ") and len(rows) >= 2


ERRORS = [
    CaseError("x"),
    RuntimeError("x"),
    OSError("x"),
    SystemExit("x"),
    subprocess.TimeoutExpired("x", 1),
    subprocess.CalledProcessError(1, "x"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_what_fails_ends_no_other_run(error, tmp_path, capsys):
    @contextmanager
    def breaking(tools, folder):
        raise error
        yield ()

    def fail(tools, folder, turns):
        raise error

    engine = Engine("e", lambda tools: "", breaking)
    assert cell(engine, NO_TOOLS, (), {}, tmp_path) == "failed"
    cases = [
        Case("bad", lambda tools: "", fail),
        Case("good", lambda tools: "", lambda tools, folder, turns: "same"),
        Case("absent", lambda tools: "java", fail),
    ]
    assert list(run_cases(cases, NO_TOOLS, 1, tmp_path)) == ["failed", "same", "not run: no java"]
    told = capsys.readouterr().err
    assert told.startswith("e: ") and "\nbad: " in told
