"""The pytest plugin in a repository of its own, run by a pytest of its own."""

import json
import os
import re
import subprocess
import sys
from importlib.metadata import entry_points
from typing import NamedTuple

import pytest

from tests import forked
from tests.documentation import blocks

PASSING = {"user": "Hi", "agent": "Hello", "expected": {"response": "Hello"}}
FAILING = {"user": "Hi", "agent": "Go away", "expected": {"response": "Hello"}}
_CHANGES_PYTEST = ("PYTEST_", "CI", "BUILD_NUMBER")
TEST = "def test_it(turnwise_recording, turnwise_check):\n    turnwise_check(turnwise_recording)\n"


def log(name, turn, **more):
    return {"conversation_id": name, "turns": [turn], **more}


class Ended(NamedTuple):
    """A pytest that came to its end."""

    status: int
    out: str

    def counts(self):
        """Returns how many tests had which outcome, by the last line."""
        found = re.findall(r"(\d+) (passed|failed|errors?|skipped|warnings?)", self.out.splitlines()[-1])
        return {word.rstrip("s") if word != "passed" else word: int(number) for number, word in found}


class Repository:
    """A repository with packages of its own that have the names of turnwise's folders."""

    def __init__(self, path):
        self.path = path
        for name in ("schemas", "pipeline", "transforms"):
            self.write(f"{name}/__init__.py", f"NAME = 'my {name}'\n")
        self.write("schemas/config.py", "raise ImportError('this is not the config of turnwise')\n")
        self.write("pytest.ini", "[pytest]\n")
        self.write(
            "test_own.py",
            "import pipeline, schemas, transforms\n\ndef test_own():\n"
            "    assert [m.NAME for m in (pipeline, schemas, transforms)] == "
            "['my pipeline', 'my schemas', 'my transforms']\n",
        )

    def write(self, name, text):
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def record(self, name, *logs):
        return self.write(name, "".join(json.dumps(one) + "\n" for one in logs))

    def pytest(self, *arguments, folder=".", is_forked=True):
        # Plugins of this environment that a repository need not have, and that take longer than its tests.
        absent = [f"no:{name}" for name in ("cacheprovider", "hypothesispytest", "anyio")]
        absent += [] if "-n" in arguments else ["no:xdist", "no:xdist.looponfail"]
        without = [option for name in absent for option in ("-p", name)]
        command = ["-q", *without, *arguments]
        # A fork has imported what pytest would rewrite the assertions of.
        command += ["-W", "ignore::pytest.PytestAssertRewriteWarning"] if is_forked else []
        # pytest shows a whole difference, whatever -v says, where CI or BUILD_NUMBER is set
        inherited = {key: value for key, value in os.environ.items() if not key.startswith(_CHANGES_PYTEST)}
        if is_forked:
            done = forked.run_text(command, self.path / folder, inherited, module="pytest")
        else:
            command = [sys.executable, "-m", "pytest", *command]
            done = subprocess.run(command, cwd=self.path, env=inherited, capture_output=True, text=True)
        return Ended(done.returncode, done.stdout + done.stderr)


@pytest.fixture
def repository(tmp_path):
    names = [point.name for point in entry_points(group="pytest11")]
    assert "turnwise" in names, "the entry points are older than pyproject.toml: pip install -e ."
    return Repository(tmp_path)


@pytest.mark.parametrize(
    ("more", "has_conftest"),
    [((), False), (("-n", "2"), True), (("--import-mode=importlib", "-o", "pythonpath=."), True)],
)
def test_each_conversation_is_a_test(repository, more, has_conftest):
    repository.write("test_recordings.py", TEST)
    repository.record(
        "recordings/a.jsonl", log("c1", PASSING), log("c2", FAILING), log("c3", {"user": "Hi", "agent": "A"})
    )
    repository.record("recordings/b.jsonl", log("c4", PASSING), {"no": "log"})
    if has_conftest:
        repository.write("conftest.py", "import schemas, pipeline\n")
    done = repository.pytest("-rA", "--turnwise-recordings", "recordings", *more)
    assert (done.status, done.counts()) == (1, {"passed": 3, "failed": 2, "error": 1}), done.out
    summary = set(re.findall(r"^(\w+) test_recordings.py::(\S+?\])", done.out, re.MULTILINE))
    assert summary == {
        ("PASSED", "test_it[c1]"),
        ("FAILED", "test_it[c2]"),
        ("FAILED", "test_it[c3]"),
        ("PASSED", "test_it[c4]"),
        ("ERROR", "test_it[unreadable:recordings/b.jsonl:2]"),
    }
    assert "response_match_score: 0, threshold at least 0.8" in done.out
    assert "no criterion with a threshold applies" in done.out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "no recordings are named: use --turnwise-recordings"),
        (["-n", "1", "--turnwise-recordings", "nowhere"], "recordings REPOSITORY/nowhere: no such file"),
        (["--turnwise-recordings", "nothing.json"], "recordings REPOSITORY/nothing.json: there is no conv"),
        (["--turnwise-recordings", "ok.jsonl", "--turnwise-cases", "nothing.json"], "there is no eval case"),
    ],
)
def test_what_is_missing_is_an_error(repository, options, message):
    repository.write("test_recordings.py", TEST)
    repository.record("ok.jsonl", log("c1", PASSING))
    repository.write("nothing.json", "[]")
    (repository.path / "empty").mkdir()
    done = repository.pytest(*options)
    assert done.status in (1, 2) and message.replace("REPOSITORY", str(repository.path)) in done.out, done.out
    assert "error" in done.counts() and "skipped" not in done.counts()


def test_an_empty_file_among_recordings_is_an_error(repository):
    repository.write("test_recordings.py", TEST)
    repository.record("recordings/a.jsonl", log("c1", PASSING))
    empty = {"blank.ndjson": "\n \n", "cut.jsonl": "", "none.json": "[]"}
    for name, text in empty.items():
        repository.write(f"recordings/{name}", text)
    done = repository.pytest("test_recordings.py", "-rA", "--turnwise-recordings", "recordings")
    assert (done.status, done.counts()) == (1, {"passed": 1, "error": 3}), done.out
    for name in empty:
        assert f"ERROR test_recordings.py::test_it[unreadable:recordings/{name}]" in done.out
    assert done.out.count("the file holds no conversation") >= len(empty)


def test_cases_are_held_against_and_counted(repository):
    repository.write("test_recordings.py", TEST)
    plain = {"user": "Hi", "agent": "Hello"}
    repository.record(
        "recordings/a.jsonl",
        log("c1", plain, eval_id="good"),
        log("c2", plain, eval_id="bad"),
        log("c3", plain, eval_id="gone"),
    )
    cases = [
        {"eval_id": name, "turns": [{"user": "Hi", "response": said}]}
        for name, said in (("good", "Hello"), ("bad", "Bye"), ("spare", "Hello"))
    ]
    repository.record("cases/a.jsonl", *cases, {"no": "case"})
    paths = "turnwise_recordings = recordings\nturnwise_cases = cases\n"
    repository.write("pytest.ini", f"[pytest]\n{paths}")
    done = repository.pytest("-rA")
    assert (done.status, done.counts()) == (1, {"passed": 2, "failed": 1, "error": 2, "warning": 1}), done.out
    assert "no eval case is called 'gone'" in done.out
    assert "UnusedCaseWarning: 1 eval case has no recording: spare" in done.out
    strict = repository.pytest("-W", "error::turnwise.testing.UnusedCaseWarning")
    assert strict.status == 2 and "1 eval case has no recording: spare" in strict.out
    # Paths of the configuration file are relative to it, those of options to the current directory.
    (repository.path / "below").mkdir()
    repository.write("below/test_recordings.py", TEST)
    repository.record("below/own.jsonl", log("c9", plain, eval_id="good"))
    own = ("--turnwise-recordings", "own.jsonl", "test_recordings.py")
    below = repository.pytest("-rA", *own, folder="below")
    assert re.search(r"PASSED (below/)?test_recordings.py::test_it\[c9\]", below.out), below.out


def test_a_test_may_name_its_own_recordings(repository):
    repository.record("recordings/all.jsonl", log("c1", PASSING))
    repository.record("tests/refunds/a.jsonl", log("r1", {"user": "Hi", "agent": "Bye"}, eval_id="x"))
    repository.record(
        "tests/refunds/cases.json", {"eval_id": "x", "turns": [{"user": "Hi", "response": "Bye"}]}
    )
    mark = "@pytest.mark.turnwise_recordings"
    text = f"import pytest\n\n{mark}('refunds/*.jsonl', cases='refunds/cases.json')\n{TEST}"
    gone = f"\n{mark}('gone')\ndef test_gone(turnwise_recording):\n    pass\n"
    repository.write("tests/test_refunds.py", text + gone)
    arguments = ("-rA", "--strict-markers", "--turnwise-recordings", "recordings", "-k", "refunds")
    done = repository.pytest(*arguments)
    assert done.status == 2 and "tests/gone: no such file" in done.out
    repository.write("tests/test_refunds.py", text)
    done = repository.pytest(*arguments)
    assert (done.status, done.counts()["passed"]) == (0, 1) and "test_it[r1]" in done.out, done.out
    repository.write("tests/test_refunds.py", text.replace("cases=", "case="))
    assert "turnwise_recordings: unknown argument case" in repository.pytest().out


def test_repeated_ids_are_told_apart(repository):
    repository.write("test_recordings.py", TEST)
    for version in ("v1", "v2"):
        repository.record(f"recordings/{version}.jsonl", log("c1", PASSING, app_version=version))
    done = repository.pytest("-rA", "--turnwise-recordings", "recordings")
    assert done.status == 0 and {"test_it[c1@v1.jsonl:1]", "test_it[c1@v2.jsonl:1]"} <= set(
        re.findall(r"test_it\S+", done.out)
    )


def test_what_may_have_no_verdict_is_said_by_the_test(repository):
    repository.record("recordings/a.jsonl", log("c1", PASSING))
    criteria = {"response_match_score": 0.8, "final_response_match_v2": 0.5}
    repository.record("turnwise.json", {"criteria": criteria, "judge": {"backend": "none"}})
    paths = ("--turnwise-recordings", "recordings", "--turnwise-config", "turnwise.json")
    repository.write("test_recordings.py", TEST)
    refused = repository.pytest(*paths)
    assert refused.status == 1 and "final_response_match_v2: no score" in refused.out
    text = TEST.replace("recording)\n", "recording, allow_no_score=['final_response_match_v2'])\n")
    text += "def test_with_criteria(turnwise_recording, turnwise_check):\n"
    text += "    turnwise_check(turnwise_recording, criteria={'response_match_score': 0.8})\n"
    repository.write("test_recordings.py", text)
    allowed = repository.pytest(*paths)
    assert (allowed.status, allowed.counts()) == (0, {"passed": 3}), allowed.out


def of_page(language):
    return [block.text for block in blocks(language) if block.page == "docs/pytest.md"]


def test_a_difference_is_as_long_as_pytest_shows_it(repository):
    repository.write("test_calls.py", of_page("python")[0])
    short, long = repository.pytest("test_calls.py"), repository.pytest("-vv", "test_calls.py")
    shown = of_page("text")[0]
    printed = [" ".join(line.split()) for line in short.out.splitlines()]
    assert [line for line in shown.splitlines() if " ".join(line.split()) not in printed] == []
    assert "-     track(order=8)," not in short.out
    assert re.search(r"E +- +track\(order=8\),", long.out), long.out
    # A repository may explain comparisons in its own way.
    repository.write(
        "conftest.py",
        "def pytest_assertrepr_compare(config, op, left, right):\n    return [f'{op}: my own words']\n",
    )
    assert re.search(r"E +==: my own words", repository.pytest("test_calls.py").out)
    plain = repository.pytest("-p", "no:turnwise", "test_calls.py")
    assert plain.status == 1 and re.search(r"E +\+ track\(order=7\)", plain.out), plain.out


def test_the_repository_of_the_page_works(repository):
    for name, language in (("pytest.ini", "ini"), ("turnwise.json", "json")):
        repository.write(name, *of_page(language))
    for name, text in zip(("calls", "recordings", "refunds"), of_page("python"), strict=True):
        repository.write(f"test_{name}.py", text)
    call = {"name": "refund", "args": {"order": 8}}
    turn = {"user": "Refund order 8", "agent": "Done.", "tool_calls": [call]}
    case = {"eval_id": "refund", "turns": [{"user": "Refund order 8", "tool_calls": [call]}]}
    for folder in ("recordings", "refunds"):
        repository.record(f"{folder}/a.jsonl", log("c1", turn, eval_id="refund"))
    repository.record("cases/a.jsonl", case)
    repository.record("refunds/cases.json", case)
    done = repository.pytest("-rA", is_forked=False)
    assert (done.status, done.counts()) == (1, {"passed": 3, "failed": 1}), done.out
    assert "FAILED test_calls.py::test_the_order_is_tracked" in done.out


UNUSED = """
import sys

def test_nothing_heavy_is_loaded():
    heavy = ("pydantic", "msgspec", "apache_beam", "orjson", "aiohttp", "google.genai", "turnwise.schemas")
    assert [name for name in heavy if name in sys.modules] == []
    own = sorted(name for name in sys.modules if name.startswith("turnwise"))
    assert own == [
        "turnwise", "turnwise.pipeline", "turnwise.pipeline.python", "turnwise.pipeline.python.testing",
        "turnwise.pipeline.python.testing.explanation", "turnwise.pipeline.python.testing.plugin",
    ]
"""


def test_it_costs_nothing_where_it_is_not_used(repository):
    repository.write("test_unused.py", UNUSED)
    done = repository.pytest(is_forked=False)
    assert (done.status, done.counts()) == (0, {"passed": 2}), done.out
